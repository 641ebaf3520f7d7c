use super::*;

fn ours(rows: &[Row], what: &str) -> f64 {
    let mut found = rows.iter().filter(|row| row.what.starts_with(what));
    let row = found.next().unwrap_or_else(|| panic!("no row `{what}`"));
    row.ours
}

#[track_caller]
fn assert_near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
}

#[test]
fn the_pairs_of_table_3_are_those_that_can_be_checked_by_hand() {
    let rows = pairs::rows().unwrap();
    for (what, expected) in [
        ("sum: best, BT-SP CG-EP FT-LU IS-MG", 733.1),
        ("sum: random, mean", 750.1),
        ("sum: worst", 760.7),
        ("sum: best of two copies of each", 1466.2),
        ("sum: greedy", 752.2),
        ("runtime: best, BT-LU CG-EP FT-MG IS-SP", 677.5),
        ("runtime: random, mean", 684.9),
        ("worst: best, BT-MG CG-IS EP-LU FT-SP", 388.2),
        ("sum: pairs chosen by fitted pressures, BT-SP CG-EP FT-LU IS-MG", 733.1),
    ] {
        assert_near(ours(&rows, what), expected, 0.05);
    }
    assert_near(
        ours(&rows, "one pressure per benchmark, fitted to the table (calibrated): error"),
        2.1,
        0.05,
    );
    assert_near(ours(&rows, "predicted from Table II alone: error"), 4.04, 0.05);
}

#[test]
fn sharing_gains_only_where_ranks_sleep() {
    let cluster = built_in::cluster(CLUSTER).unwrap();
    let rows = microbenchmark::rows(&cluster).unwrap();
    assert!(rows.iter().all(|row| row.verdict != Verdict::NotReproduced), "{rows:#?}");
    assert_eq!(rows.len(), 8);
}

#[test]
fn two_of_the_printed_ratios_are_not_those_of_the_printed_times() {
    let rows = benchmarks::contradictions().unwrap();
    // LU only in the last digit.
    let wrong = rows.iter().filter(|row| row.what.contains("Half / Full"));
    let wrong = wrong.filter(|row| row.verdict == Verdict::NotReproduced);
    assert_eq!(wrong.map(|row| &row.what[..2]).collect::<Vec<_>>(), ["EP", "LU"]);
}

#[test]
fn bandwidth_explains_what_ft_gains_and_not_what_cg_does() {
    let cluster = built_in::cluster(CLUSTER).unwrap();
    let verdicts = |name: &str| {
        let rows = benchmarks::of_benchmark(&cluster, name).unwrap();
        rows.iter().map(|row| row.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts("FT"), [Verdict::Calibrated, Verdict::SameOrdering]);
    assert_eq!(verdicts("CG"), [Verdict::Calibrated, Verdict::NotReproduced]);
}

#[test]
fn figures_have_a_row_for_each_process_of_the_first_node() {
    let figures = figures().unwrap();
    assert_eq!(figures.len(), 6);
    for (file, text) in figures {
        let rows = text.matches(">rank ").count();
        assert_eq!(rows, 16, "{file}");
        assert!(text.contains("class=\"send4\"") && text.ends_with("</svg>\n"), "{file}");
    }
}
