//! `rankwright reproduce`.

use std::fs;

use crate::command::rankwright;

/// The standard output of a command that must succeed.
fn output(arguments: &[&str]) -> String {
    let output = rankwright(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_numbers_of_the_calibration_are_printed_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let text = output(&["reproduce", "2017", "--data", &folder.path().display().to_string()]);
    for assumption in
        ["for a message up to 512 B                0.4400 us", "other socket's device   0.1760 us"]
    {
        assert!(text.contains(assumption), "`{assumption}`: {text}");
    }
    assert!(text.contains("are calibrated, so they are not findings"), "{text}");
    let summary = "Of 4 numbers and statements of the paper: 3 reproduced, 1 same ordering, 0 not \
                   reproduced. 2 more are calibrated: ours was fitted to them.";
    assert!(text.contains(summary), "{text}");
    let csv = fs::read_to_string(folder.path().join("assumptions.csv")).unwrap();
    assert!(csv.contains("\na device,12.5,GB/s,that of the product\n"), "{csv}");
    assert!(!folder.path().join("figure-7.csv").exists());
}

#[cfg(feature = "scotch")]
#[test]
fn rows_are_the_same_in_every_format() {
    use serde_json::Value;

    let reproduce = |more: &[&str]| output(&[&["reproduce", "2009-placement"], more].concat());
    let json: Value = serde_json::from_str(&reproduce(&["--format", "json"])).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows[0]["item"], "Fig. 3");
    assert_eq!((&rows[0]["paper"], &rows[0]["verdict"]), (&64.0.into(), &"reproduced".into()));
    assert_eq!(json["simulations"], Value::Array(Vec::new()));
    assert!(json.get("assumptions").is_none());
    let csv = reproduce(&["--format", "csv"]);
    assert!(csv.starts_with("item,what,paper,ours,unit,difference,verdict,why\nFig. 3,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + rows.len());
    let table = reproduce(&["--all"]);
    assert!(table.starts_with("where "), "{table}");
    assert!(
        table.ends_with(
            "Of 34 numbers and statements of the paper: 20 reproduced, 10 same ordering, 4 not \
             reproduced. `--all` shows 50 numbers that the paper does not print.\n"
        ),
        "{table}"
    );
}

#[cfg(not(feature = "scotch"))]
#[test]
fn without_scotch_the_missing_strategy_is_named() {
    let output = rankwright(&["reproduce", "2009-placement"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("the paper needs `placed`, which needs Scotch"), "{message}");
}
