//! Built-in workloads: those of the papers, by name.

use std::path::Path;

use crate::files::InputError;
use crate::traffic::Workload;
use crate::traffic::read::jobs_file;

/// A built-in workload.
pub struct BuiltIn {
    /// Name on the command line.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    text: &'static str,
}

macro_rules! built_in {
    ($($name:literal $summary:literal $file:literal),* $(,)?) => {
        /// All built-in workloads.
        pub const BUILT_IN: &[BuiltIn] = &[$(
            BuiltIn { name: $name, summary: $summary, text: include_str!(concat!($file, ".toml")) }
        ),*];
    };
}
built_in! {
    "paper:2013/mixed-1" "4 jobs of 64 processes, 64 KiB at 100 /s (Mixed_1)"
        "2013/mixed-1",
    "paper:2013/mixed-2" "4 jobs of 64 processes, 64 KiB at 1000 /s (Mixed_2)"
        "2013/mixed-2",
    "paper:2013/mixed-3" "4 jobs of 64 processes, 2 MiB at 10 /s (Mixed_3)"
        "2013/mixed-3",
    "paper:2013/mixed-4" "4 jobs of 64 processes, 2 MiB at 100 /s (Mixed_4)"
        "2013/mixed-4",
    "paper:2013/mixed-5" "8 jobs of 32 processes, 2 MiB and 64 KiB at 10 /s (Mixed_5)"
        "2013/mixed-5",
    "paper:2013/mixed-6" "8 jobs of 24 processes, 2 MiB and 64 KiB at 10 /s (Mixed_6)"
        "2013/mixed-6",
    "paper:2013/all-to-all" "8 jobs of 32 processes, every rank to every other, 1 KiB to 2 MiB at 10 to 1000 /s"
        "2013/all-to-all",
    "paper:2013/bcast" "8 jobs of 32 processes, rank 0 to every other, 1 KiB to 2 MiB at 10 to 1000 /s"
        "2013/bcast",
    "paper:2013/gather" "8 jobs of 32 processes, every rank to rank 0, 1 KiB to 2 MiB at 10 to 1000 /s"
        "2013/gather",
    "paper:2013/linear" "8 jobs of 32 processes, rank r to rank r + 1, 1 KiB to 2 MiB at 10 to 1000 /s"
        "2013/linear",
    "paper:2013/hw-1" "9 NAS benchmarks with much communication (HW_1)"
        "2013/hw-1",
    "paper:2013/hw-2" "9 NAS benchmarks with much communication (HW_2)"
        "2013/hw-2",
    "paper:2013/mw" "all 8 NAS benchmarks, class B (MW)"
        "2013/mw",
    "paper:2013/lw-1" "SP, CG, EP, MG of class B (LW_1)"
        "2013/lw-1",
    "paper:2013/lw-2" "SP, CG, EP, MG of class C (LW_2)"
        "2013/lw-2",
    "paper:2012/high-throughput" "128 processes that answer requests from outside the cluster (section 7)"
        "2012/high-throughput",
    "paper:2012/synt-1" "the same as paper:2013/mixed-1"
        "2013/mixed-1",
    "paper:2012/synt-2" "the same as paper:2013/mixed-3"
        "2013/mixed-3",
    "paper:2012/synt-3" "the same as paper:2013/mixed-5"
        "2013/mixed-5",
    "paper:2012/synt-4" "the same as paper:2013/mixed-6"
        "2013/mixed-6",
    "paper:2012/real-1" "the same as paper:2013/hw-1"
        "2013/hw-1",
    "paper:2012/real-2" "the same as paper:2013/hw-2"
        "2013/hw-2",
    "paper:2012/real-3" "the same as paper:2013/mw"
        "2013/mw",
    "paper:2012/real-4" "the same as paper:2013/lw-2"
        "2013/lw-2",
}

impl BuiltIn {
    /// Reads the workload.
    ///
    /// # Errors
    /// Never: a test reads all of them.
    pub fn workload(&self) -> Result<Workload, InputError> {
        let workload = jobs_file::parse(self.text, self.name, Path::new(""))?;
        Ok(Workload { name: self.name.to_owned(), ..workload })
    }
}

/// The built-in workload with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|built_in| built_in.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::generate::nas;
    use crate::units::{Bytes, PerSecond};

    fn workload(name: &str) -> Workload {
        find(name).unwrap().workload().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The messages, and the bytes, of all jobs.
    fn amounts(workload: &Workload) -> (u64, u64) {
        let flows = || workload.jobs.iter().flat_map(|job| &job.flows);
        (flows().map(|flow| flow.messages).sum(), flows().map(|flow| flow.bytes).sum())
    }

    #[test]
    fn synthetic_workloads_are_those_of_the_tables() {
        // All-to-All among n: n (n - 1) pairs; the three others: n - 1 each.
        let mixed_64 = 2000 * (64 * 63 + 3 * 63);
        for (name, rate, length) in [
            ("mixed-1", 100.0, 65536),
            ("mixed-2", 1000.0, 65536),
            ("mixed-3", 10.0, 1 << 21),
            ("mixed-4", 100.0, 1 << 21),
        ] {
            let workload = workload(&format!("paper:2013/{name}"));
            assert_eq!(amounts(&workload), (mixed_64, mixed_64 * length), "{name}");
            let mut sources = workload.jobs.iter().flat_map(|job| &job.sources);
            assert!(sources.all(|source| source.rate == PerSecond(rate) && source.cv == 1.0));
        }
        for (name, processes) in [("mixed-5", 32), ("mixed-6", 24)] {
            let per_length = 2000 * (processes * (processes - 1) + 3 * (processes - 1));
            let workload = workload(&format!("paper:2013/{name}"));
            assert_eq!(
                amounts(&workload),
                (2 * per_length, per_length * ((1 << 21) + 65536)),
                "{name}"
            );
        }
        let per_pair = 4 * (1 << 21) + 3 * 65536 + 1024;
        for (name, pairs) in
            [("all-to-all", 32 * 31 * 1500), ("bcast", 31 * 2000), ("linear", 31 * 2000)]
        {
            let workload = workload(&format!("paper:2013/{name}"));
            assert_eq!(amounts(&workload), (8 * pairs, per_pair * pairs), "{name}");
        }
        let gather = workload("paper:2013/gather");
        let source = &gather.jobs[4].sources[0];
        assert_eq!((source.rate, source.sends[0].length), (PerSecond(1000.0), Bytes(65536)));
    }

    #[test]
    fn workloads_of_2012_are_among_those_of_2013() {
        for (name, other) in [("synt-1", 1), ("synt-2", 3), ("synt-3", 5), ("synt-4", 6)] {
            let old = workload(&format!("paper:2012/{name}"));
            assert_eq!(old.jobs, workload(&format!("paper:2013/mixed-{other}")).jobs);
            assert_eq!(old.name, format!("paper:2012/{name}"));
        }
    }

    #[test]
    fn real_workloads_are_those_of_the_table() {
        for (name, expected) in [
            ("hw-1", "sp.C.25 is.C.32 ft.B.32 ft.B.16 is.C.16 cg.C.32 is.B.8 bt.C.25 cg.B.16"),
            ("hw-2", "is.B.8 ft.B.32 is.C.32 mg.C.32 cg.C.32 is.B.32 mg.B.32 cg.B.32 bt.C.16"),
            ("mw", "bt.B.25 cg.B.32 ep.B.32 ft.B.32 is.B.32 lu.B.25 mg.B.32 sp.B.25"),
            ("lw-1", "sp.B.25 cg.B.32 ep.B.32 mg.B.32"),
            ("lw-2", "sp.C.25 cg.C.32 ep.C.32 mg.C.32"),
        ] {
            let built_in = find(&format!("paper:2013/{name}")).unwrap();
            let tables: toml::Table = built_in.text.parse().unwrap();
            let job = |table: &toml::Value| {
                let ranks = table["processes"].as_integer().unwrap();
                let run = nas::parse_for(table["nas"].as_str().unwrap(), ranks as u32);
                run.unwrap_or_else(|error| panic!("{name}: {error}")).name()
            };
            let jobs: Vec<String> = tables["job"].as_array().unwrap().iter().map(job).collect();
            assert_eq!(jobs.join(" "), expected, "{name}");
        }
        for (old, new) in [(1, "hw-1"), (2, "hw-2"), (3, "mw"), (4, "lw-2")] {
            let text = |name: &str| find(name).unwrap().text;
            assert_eq!(text(&format!("paper:2012/real-{old}")), text(&format!("paper:2013/{new}")));
        }
        let light = workload("paper:2013/lw-2");
        assert!(light.jobs.iter().all(|job| !job.sources.is_empty()));
        assert_eq!(light.rank_count(), 121);
    }
}
