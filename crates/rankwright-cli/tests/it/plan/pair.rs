//! `pair`: the check values of the paper's Table III, as users get them.

use std::fs;

use serde_json::Value;

use crate::command::rankwright;

const TABLE: &str = "papers/2009-mixed/table-3.csv";
const RUNTIMES: &str = "papers/2009-mixed/runtimes.csv";

fn output(arguments: &[&str]) -> String {
    let output = rankwright(&[&["pair"], arguments].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(&[arguments, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn the_answer_stands_in_the_first_line() {
    insta::assert_snapshot!(output(&["--table", TABLE, "--runtimes", RUNTIMES]));
    insta::assert_snapshot!(output(&["--table", TABLE, "--format", "csv"]));
}

#[test]
fn every_objective_has_the_pairs_and_costs_of_the_paper() {
    for (objective, first, cost, baseline, mean) in [
        ("sum", ["BT", "SP"], 733.1, 800.0, 750.1),
        ("runtime", ["BT", "LU"], 677.5, 700.75, 684.9),
        ("worst", ["BT", "MG"], 388.2, 400.0, 396.3),
        ("weighted-speedup", ["BT", "SP"], 1.1076, 1.0, 1.0761),
    ] {
        let with = ["--table", TABLE, "--runtimes", RUNTIMES, "--objective", objective];
        let found = json(&with);
        assert_eq!(found["version"], 1);
        assert_eq!((&found["objective"], &found["answer"]), (&objective.into(), &"share".into()));
        assert_eq!(found["pairs"][0], serde_json::json!(first), "{objective}");
        assert_eq!(found["alone"], serde_json::json!([]));
        let near = |field: &str, expected: f64| {
            let value = found[field].as_f64().unwrap();
            assert!((value / expected - 1.0).abs() < 2e-4, "{objective} {field}: {value}");
        };
        near("cost", cost);
        near("baseline", baseline);
        near("random_mean", mean);
    }
}

#[test]
fn rules_and_pressures_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let never = file("never.toml", "never = [[\"CG\", \"EP\"]]\n");
    let found = json(&["--table", TABLE, "--jobs", &never]);
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 4);
    assert!(!pairs.contains(&serde_json::json!(["CG", "EP"])));

    let job = |name: &str, half: f64, pressure: f64| {
        format!("[[job]]\nname = \"{name}\"\nhalf = {half:.1}\npressure = {pressure:.2}\n")
    };
    let jobs = [job("cg", 75.0, 0.8), job("ep", 100.0, 0.0), job("ft", 88.0, 0.4)].concat();
    let found = output(&["--jobs", &file("pressures.toml", &jobs)]);
    assert!(found.starts_with("Share: cg with ep, ft alone: 8.3 % less"), "{found}");

    let heavy = [job("a", 75.0, 1.2), job("b", 75.0, 1.2)].concat();
    let found = output(&["--jobs", &file("heavy.toml", &heavy)]);
    assert!(found.starts_with("Do not share: each job is better alone"), "{found}");
    let light = [job("a", 99.9, 0.1), job("b", 99.9, 0.1)].concat();
    let found = output(&["--jobs", &file("light.toml", &light)]);
    assert!(found.starts_with("No difference: the best is a with b: 0.1 % less"), "{found}");
}
