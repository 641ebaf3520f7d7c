use std::fs;
use std::path::Path;

use super::*;

fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/memory-traffic");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn read(name: &str) -> MeasuredTraffic {
    memory_traffic(&recorded(name), name).unwrap()
}

/// The error of a text, in one line.
fn error(text: &str) -> String {
    memory_traffic(text, "f").unwrap_err().to_string()
}

#[track_caller]
fn assert_rate(found: &MeasuredTraffic, expected: f64) {
    let found = found.rate.0;
    assert!((found / expected - 1.0).abs() < 1e-6, "found {found}, expected {expected}");
}

#[test]
fn likwid_sums_the_sockets() {
    let found = read("likwid-mem.csv");
    assert_rate(&found, (76288.0 + 78336.0) * 1e6);
    assert_eq!((found.bound, found.source.as_str()), (Bound::Exact, "likwid-perfctr, group MEM"));
    assert_eq!((found.date, found.cache), (None, None));
}

#[test]
fn likwid_regions_count_by_their_time() {
    let text = recorded("likwid-regions.csv");
    let found = memory_traffic(&text, "f").unwrap();
    assert_rate(&found, 193_280e6);
    assert_eq!(found.source, "likwid-perfctr, group MEM, region solve");
    assert!(found.of_regions && !read("likwid-mem.csv").of_regions);
    // A second region, three times as long, without traffic.
    let second =
        text.replace("Region solve", "Region wait").replace(",20,20,20,20", ",60,60,60,60");
    let second = second.replace(",95360,0,97920,0", ",0,0,0,0");
    assert_ne!(second, text.replace("Region solve", "Region wait"));
    let found = memory_traffic(&format!("{text}{second}"), "f").unwrap();
    assert_rate(&found, 193_280e6 / 4.0);
    assert_eq!(found.source, "likwid-perfctr, group MEM, region solve, wait");
}

#[test]
fn likwid_groups_that_see_only_a_part_say_so() {
    let half = |channels: &str, value: f64| {
        format!(
            "TABLE,Group 1 Metric,MEM,2\nMetric,HWThread 0,HWThread 1\nRuntime (RDTSC) [s],5,5\n\
             Memory bandwidth (channels {channels}) [MBytes/s],{value},-\n"
        )
    };
    let found = memory_traffic(&half("0-3", 1000.0), "f").unwrap();
    assert!(matches!(found.bound, Bound::AtLeast(_)));
    let both = format!("{}{}", half("0-3", 1000.0), half("4-7", 500.0));
    let found = memory_traffic(&both, "f").unwrap();
    assert_rate(&found, 1.5e9);
    assert_eq!(found.bound, Bound::Exact);
    let of_cache = half("0-3", 1000.0).replace("Memory bandwidth (channels 0-3)", "L3 bandwidth");
    assert!(matches!(memory_traffic(&of_cache, "f").unwrap().bound, Bound::AtMost(_)));
}

#[test]
fn likwid_timelines_count_by_their_intervals() {
    let found = read("likwid-timeline.txt");
    assert_rate(&found, (150_000.0 * 4.0004 + 30_000.0 * (6.0002 - 4.0004)) / 6.0002 * 1e6);
    assert_eq!(found.source, "likwid-perfctr -t, 3 intervals");
    let commas =
        recorded("likwid-timeline.txt").replace('|', ",").replace("HWThreads: ", "HWThreads,");
    let rows = commas.lines().map(|line| match line.starts_with("1 ") {
        true => line.replace(' ', ","),
        false => line.to_owned(),
    });
    let commas = rows.collect::<Vec<_>>().join("\n");
    assert_eq!(memory_traffic(&commas, "f").unwrap().rate, found.rate);
}

#[test]
fn pcp_sums_means_of_counters_that_stop() {
    let found = read("pmrep.csv");
    assert_rate(&found, (400e6 + 405e6 + 250e6 + 255e6) * 64.0);
    assert_eq!(found.date.as_deref(), Some("2025-11-25 09:00:00"));
    assert_eq!((found.bound, found.source.as_str()), (Bound::Exact, "PCP, memory controllers"));
    assert_eq!(read("pmdumptext.txt").rate, found.rate);
    // With prefixes, as pmdumptext -F prints them, and a socket that has no value at all.
    let text = "Time;a__UNC_M_CAS_COUNT_RD.value-cpu0;a__UNC_M_CAS_COUNT_RD.value-cpu24\n\
                09:00:00;?;?\n09:00:01; 0.40G;?\n";
    let found = memory_traffic(text, "f").unwrap();
    assert_rate(&found, 0.4e9 * 64.0);
    assert_eq!(found.bound, Bound::AtLeast("writes were not counted"));
    assert_eq!(found.left_out, ["no value of a__UNC_M_CAS_COUNT_RD.value-cpu24"]);
}

#[test]
fn perf_counts_bytes_per_elapsed_second() {
    const MIB: f64 = 1_048_576.0;
    let found = read("perf-interval.csv");
    assert_rate(&found, 91_708.17 * MIB / 2.001_311_245);
    assert_eq!(found.date.as_deref(), Some("Tue Nov 25 09:00:00 2025"));
    assert_eq!(
        (found.bound, found.source.as_str()),
        (Bound::Exact, "perf stat, memory controllers")
    );
    // The run time of an event is the sum over all controllers, so it is not taken for the elapsed time.
    assert_rate(&read("perf-per-node.csv"), 2.0 * (61_035.15 + 30_517.57) * MIB / 2.0);
    let found = read("perf-cores.csv");
    assert_rate(&found, 375e6 * 64.0 / (8.0041 / 4.0));
    assert!(matches!(found.bound, Bound::AtLeast(_)), "cores see a part");
    let tabs = recorded("perf-interval.csv").replace(',', "\t");
    assert_rate(&memory_traffic(&tabs, "f").unwrap(), 91_708.17 * MIB / 2.001_311_245);
}

#[test]
fn perf_sums_over_intervals_are_not_counted_again() {
    let text = recorded("perf-interval.csv");
    let sums = "         summary,61035.15,MiB,uncore_imc/cas_count_read/,16010000000,100.00,,\n";
    let found = memory_traffic(&format!("{text}{sums}"), "f").unwrap();
    assert_eq!(found, read("perf-interval.csv"));
    // --no-csv-summary leaves out the mark.
    let found = error(&(text + &sums.replace("         summary,", "")));
    assert!(found.contains("uncore_imc/cas_count_read/ without a time"), "{found}");
    assert!(found.contains("--no-csv-summary"), "{found}");
}

#[test]
fn resctrl_leaves_out_what_is_no_number_and_counters_that_begin_again() {
    let found = read("resctrl.txt");
    assert_rate(&found, 20e9);
    assert_eq!(found.date.as_deref(), Some("2025-11-25 09:00:00 UTC"));
    assert_eq!(found.source, "resctrl, mbm_total_bytes");
    let occupied = Bytes(16_777_216 + 131_072 + 8_388_608);
    assert_eq!(found.cache, Some(CacheUse { occupied, size: Some(Bytes(32 << 20)) }));
    assert_eq!(
        found.left_out,
        ["mon_L3_00: mbm_total_bytes went back 1 time", "mon_L3_01: 1 reading without a number"]
    );
    let local = recorded("resctrl.txt").replace("mbm_total_bytes", "mbm_other");
    let found = memory_traffic(&local, "f").unwrap();
    assert_eq!(found.bound, Bound::AtLeast("only traffic to the local memory was counted"));
    assert_rate(&found, 18e9);
    // Parts of a domain are in its sum.
    let parts = recorded("resctrl.txt").replace("/mbm_local", "/mon_sub_L3_00/mbm_total");
    assert_rate(&memory_traffic(&parts, "f").unwrap(), 20e9);
}

#[test]
fn what_is_missing_is_said_with_its_line() {
    assert!(error("").contains("found no line"));
    assert!(error("hello\n").contains("found no hardware counters"));
    let text = recorded("resctrl.txt");
    assert!(
        error(&text.replace("mon_groups/cg/mon_data/mon_L3_01", "mon_data/mon_L3_01"))
            .contains("one group")
    );
    assert!(error(&text.replace("1764061202.25", "1764061201.25")).contains("f:17:"));
    let lines = |count: usize| text.lines().take(count).collect::<Vec<_>>().join("\n");
    assert!(error(&lines(9)).contains("found one reading"));
    assert!(error(&text.replace("1764061200.250000000\n", "")).contains("before a time"));
    let text = recorded("perf-per-node.csv");
    let text =
        text.lines().filter(|line| !line.contains("duration")).collect::<Vec<_>>().join("\n");
    assert!(error(&text).contains("found no elapsed time"));
    let text = recorded("likwid-timeline.txt");
    assert!(error(&text.replace("6.0002 2.0", "6.0002")).contains("f:6: found 39 values"));
    let threads = text.replace("1 10 4 6", "1 10 18446744073709551615 6");
    assert!(error(&threads).contains("of 18446744073709551615 hardware threads"));
    let text = recorded("pmrep.csv").replace("400000000.000", &format!("1{}", "0".repeat(300)));
    assert!(error(&text).contains("at most 10^18"));
}
