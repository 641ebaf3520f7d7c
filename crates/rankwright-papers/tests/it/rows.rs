//! Every number and statement that needs no simulation, with its verdict.

use rankwright_papers::{Paper, Results, Row, Verdict};

/// A line for each row that the paper has a number or a statement for.
fn compared(paper: Paper) -> String {
    let rows = paper.rows(&Results::default()).unwrap();
    let compared = rows.iter().filter(|row| row.verdict != Verdict::NotPrinted);
    let line = |row: &Row| {
        let Row { item, what, ours, unit, verdict, .. } = row;
        let paper = row.paper.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let ours = format!("{ours:.4} {unit}");
        format!("{item} | {what} | {paper} | {} | {verdict}\n", ours.trim_end())
    };
    compared.map(line).collect()
}

#[cfg(feature = "scotch")]
#[test]
fn process_placement_2009() {
    insta::assert_snapshot!(compared(Paper::ProcessPlacement2009));
}

#[test]
fn contention_2013_without_simulations() {
    insta::assert_snapshot!(compared(Paper::Contention2013));
}

#[test]
fn only_calibrated_papers_have_assumptions() {
    for paper in Paper::ALL {
        let count = paper.assumptions().unwrap().len();
        let calibrated = [Paper::MixedWorkloads2009, Paper::DeviceAffinity2017].contains(&paper);
        assert_eq!(count > 0, calibrated, "{paper:?}");
        assert_eq!(paper.caveat().is_empty(), count == 0, "{paper:?}");
    }
}
