use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn run(text: &str) -> NasJob {
    parse(text).unwrap()
}

#[test]
fn names_say_benchmark_class_processes_and_options() {
    let plain = run("cg.B.32");
    assert_eq!(plain, NasJob::new(Benchmark::Cg, Class::B, 32));
    assert_eq!(run("CG.b.32"), plain);
    assert_eq!(parse_for("cg.B", 32).unwrap(), plain);
    assert_eq!(plain.name(), "cg.B.32");
    let with_options = run("cg.B.32:time=12s,rate=0.5,cv=0.2,iterations=3");
    assert_eq!(with_options, parse_for("cg.B:time=12 s,rate=0.5,cv=0.2,iterations=3", 32).unwrap());
    assert_eq!(with_options.run_time(), Seconds(24.0));
    assert_eq!((with_options.cv, with_options.iterations()), (0.2, 3));
}

#[test]
fn an_invalid_run_says_why() {
    for (text, message) in [
        ("cg", "nas: name: found `cg`, expected benchmark, class and processes, like cg.B.32"),
        ("cg.B", "nas: name: found `cg.B`, expected benchmark, class and processes"),
        ("dt.B.32", "nas: benchmark: found `dt`, expected one of bt, cg, ep, ft, is, lu, mg, sp"),
        ("cg.E.32", "nas: class: found `E`, expected one of S, W, A, B, C, D"),
        ("cg.B.x", "nas: processes: found `x`, expected a number of processes"),
        ("cg.B.32:speed=1", "nas: option: found `speed`, expected one of time, rate, cv, iter"),
        ("cg.B.32:time=12", "nas: time: found `12`, expected a time"),
        ("cg.B.32:time=0s", "nas: time: found 0, expected a number above 0"),
        ("cg.B.32:rate=0", "nas: rate: found 0, expected a number above 0"),
        ("cg.B.32:rate=-1", "expected a number above 0"),
        ("cg.B.32:rate=nan", "expected a number above 0"),
        ("cg.B.32:cv=-1", "nas: cv: found -1, expected a number from 0 to 100"),
        ("cg.B.32:iterations=0", "nas: iterations: found 0, expected 1 to 1000000"),
        ("bt.B.24", "BT class B needs a square number of processes: 16 or 25, found 24"),
        ("bt.S.25", "BT class S needs a square number of processes: at most 16, found 25"),
        ("cg.B.0", "CG class B needs a power of two of processes: at least 1, found 0"),
        (
            "lu.A.26",
            "LU class A needs a grid with sides at most twice each other: 25 or 28, found 26",
        ),
        ("is.D.2", "IS class D needs a power of two of processes: at least 4, found 2"),
        ("ft.S.8192", "at most 4096, found 8192"),
        ("ep.D.4000000000", "at most 16384, found 4000000000"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn process_counts_are_those_on_which_the_programs_run() {
    let taken = |benchmark, class| -> Vec<u32> {
        let takes = |ranks: &u32| NasJob::new(benchmark, class, *ranks).check_ranks().is_ok();
        (1..=70).filter(takes).collect()
    };
    let powers = [1, 2, 4, 8, 16, 32, 64];
    for benchmark in [Benchmark::Cg, Benchmark::Ft, Benchmark::Is, Benchmark::Mg] {
        assert_eq!(taken(benchmark, Class::A), powers, "{benchmark:?}");
    }
    assert_eq!(taken(Benchmark::Bt, Class::A), [1, 4, 9, 16, 25, 36, 49, 64]);
    assert_eq!(taken(Benchmark::Sp, Class::S), [1, 4, 9, 16]);
    assert_eq!(taken(Benchmark::Lu, Class::S), [1, 2, 4, 6, 8, 9, 12, 16]);
    assert_eq!(taken(Benchmark::Ep, Class::A).len(), 70);
}

#[test]
fn clocks_tick_as_fast_as_the_iterations_pass() {
    let job = run("cg.B.32:time=10s").job().unwrap();
    // 26 products in each of 75 iterations, and in one that is not timed.
    assert!((job.sources[0].rate.0 - 26.0 * 7.5).abs() < 1e-9);
    assert_eq!(job.sources[0].rounds, 26 * 76);
    let half = run("cg.B.32:time=10s,rate=0.5").job().unwrap();
    assert!((half.sources[0].rate.0 - 26.0 * 3.75).abs() < 1e-9);
    assert_eq!(job.flows, half.flows);
}

#[test]
fn run_times_are_those_of_2009_scaled() {
    for (name, benchmark, _) in BENCHMARKS {
        let time = |class, ranks| NasJob::new(*benchmark, class, ranks).default_run_time().0;
        assert!((time(Class::C, 64) - benchmark.model().seconds).abs() < 1e-9, "{name}");
        assert!((time(Class::C, 16) - 4.0 * benchmark.model().seconds).abs() < 1e-9, "{name}");
        for pair in CLASSES.windows(2) {
            assert!(time(pair[0], 64) < time(pair[1], 64), "{name}");
        }
    }
}

#[test]
fn keys_of_class_d_are_all_shared_out() {
    let job = run("is.D.4:iterations=1").job().unwrap();
    let of_rank_0 = job.flows.iter().filter(|flow| flow.source.0 == 0);
    // All but what it keeps: a quarter, more or less.
    let sent: u64 = of_rank_0.map(|flow| flow.bytes / 2).sum();
    let made = 4 * (1_u64 << 31) / 4;
    assert!((sent as f64 / made as f64 - 0.75).abs() < 0.01, "{sent} of {made}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_count_is_taken_or_refused_and_traffic_is_linear_in_iterations(
        (benchmark, class, ranks) in (0..BENCHMARKS.len(), 0..3_usize, 1..80_u32),
    ) {
        let (_, benchmark, _) = BENCHMARKS[benchmark];
        // The keys of larger classes take long to make.
        let class = if benchmark == Benchmark::Is { Class::S } else { CLASSES[class] };
        let bytes = |iterations| {
            let run = NasJob {
                iterations: Some(iterations),
                ..NasJob::new(benchmark, class, ranks)
            };
            run.job().map(|job| job.flows.iter().map(|flow| flow.bytes).sum::<u64>())
        };
        let legal = NasJob::new(benchmark, class, ranks).check_ranks().is_ok();
        prop_assert_eq!(bytes(2).is_ok(), legal);
        if legal && benchmark != Benchmark::Is {
            let [two, three, ten] = [2, 3, 10].map(|n| bytes(n).unwrap());
            prop_assert_eq!(ten, two + 8 * (three - two));
            prop_assert_eq!(ranks == 1, ten == 0);
        }
    }
}

#[test]
fn ranks_pass_their_phases_in_step_but_for_the_sweeps_of_lu() {
    let in_step = |name: &str| {
        let job = parse(name).unwrap().job().unwrap();
        let groups: BTreeSet<_> = job.sources.iter().map(|source| source.in_step).collect();
        let alike = job.sources.iter().all(|source| {
            let same = |other: &&crate::traffic::Source| {
                other.in_step == source.in_step && other.in_step.is_some()
            };
            job.sources
                .iter()
                .filter(same)
                .all(|other| (other.rate, other.rounds) == (source.rate, source.rounds))
        });
        assert!(alike, "{name}");
        (groups.contains(&None), groups.iter().flatten().count())
    };
    assert!(!in_step("ft.A.8").0);
    assert!(in_step("bt.A.16").1 > 6);
    assert!(in_step("lu.A.8").0);
}
