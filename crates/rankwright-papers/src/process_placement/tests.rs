use super::*;

#[cfg(feature = "scotch")]
#[test]
fn what_follows_from_the_traffic_is_reproduced() {
    use crate::row::Verdict;

    let rows = rows().unwrap();
    let of_item = |item: &'static str| rows.iter().filter(move |row| row.item == item);
    for item in ["Fig. 3", "Fig. 4", "Table 1"] {
        assert!(of_item(item).all(|row| row.verdict == Verdict::Reproduced), "{item}");
    }
    let cells = of_item("Table 3").filter(|row| !row.what.starts_with("MG"));
    assert_eq!(cells.clone().count(), 16);
    for row in cells {
        assert_eq!(row.verdict, Verdict::Reproduced, "{} {}", row.what, row.ours);
    }
    assert!(of_item("Table 2").all(|row| row.verdict == Verdict::SameOrdering));
}

#[cfg(not(feature = "scotch"))]
#[test]
fn without_scotch_the_missing_strategy_is_named() {
    let message = format!("{:#}", rows().unwrap_err());
    let expected = "the paper needs `placed`, which needs Scotch: no strategy is called `placed`";
    assert!(message.starts_with(expected), "{message}");
}
