//! The synthetic workloads of Soryani et al. 2013.

use rankwright::traffic::Workload;
use rankwright::traffic::pattern::Pattern;

/// `mixed-1` to `mixed-6`, `all-to-all`, `bcast`, `gather` or `linear` (Tables 3 to 5).
pub(crate) fn workload(name: &str) -> Workload {
    let four = ["all-to-all", "bcast", "gather", "linear"];
    let mixed = |ranks: u32, rate: u32, length: &str| {
        four.map(|pattern| format!("{pattern}:{ranks}:rate={rate},length={length},messages=2000"))
    };
    let patterns = match name {
        "mixed-1" => mixed(64, 100, "64KiB").to_vec(),
        "mixed-2" => mixed(64, 1000, "64KiB").to_vec(),
        "mixed-3" => mixed(64, 10, "2MiB").to_vec(),
        "mixed-4" => mixed(64, 100, "2MiB").to_vec(),
        "mixed-5" => [mixed(32, 10, "2MiB"), mixed(32, 10, "64KiB")].concat(),
        "mixed-6" => [mixed(24, 10, "2MiB"), mixed(24, 10, "64KiB")].concat(),
        _ => {
            let messages = if name == "all-to-all" { 1500 } else { 2000 };
            let job = |(rate, length): (u32, &str)| {
                format!("{name}:32:rate={rate},length={length},messages={messages}")
            };
            let large = [(500, "2MiB"), (500, "2MiB"), (100, "2MiB"), (10, "2MiB")];
            let small = [(1000, "64KiB"), (100, "64KiB"), (10, "64KiB"), (1000, "1KiB")];
            large.into_iter().chain(small).map(job).collect()
        }
    };
    of_patterns(&patterns)
}

/// One job of each pattern.
pub(crate) fn of_patterns(patterns: &[String]) -> Workload {
    let job = |(number, pattern): (usize, &String)| {
        let mut job = Pattern::parse(pattern).unwrap().job().unwrap();
        job.name = format!("{number}");
        job
    };
    Workload { name: "test".to_owned(), jobs: patterns.iter().enumerate().map(job).collect() }
}
