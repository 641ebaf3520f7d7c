//! `rankwright run --compare`.

use super::site::Site;
use crate::command::on_this_host;
use crate::placements::placement;

#[test]
fn ways_are_compared_in_turn() {
    let site = Site::new();
    site.placement(&placement(4, false, &[("n0", 0), ("n1", 0)]));
    let compare =
        ["placement.json", "--compare", "default,placement", "--repeat=3", "--binding=exec"];
    let timed = ["--time-regex", r"time: ([\d.]+)", "--", "./app"];
    let (output, text) = site.run(None, &[&compare[..], &timed].concat());
    assert!(output.status.success(), "{text}");
    insta::assert_snapshot!(text);
    // A run that fails is no data; its code is passed on.
    let arguments = [&["run"], &compare[..], &timed].concat();
    let mut command = site.command(None, &arguments);
    command.env("LAUNCHER_CODE", "9");
    let (output, text) = site.output(command, &arguments);
    assert_eq!(output.status.code(), Some(9), "{text}");
    insta::assert_snapshot!(text);
    // By strategies, in an allocation.
    let compare = ["--profile", "app.rwp", "--on", "cluster.toml", "--compare"];
    let ways = ["blocked,random:seed=3,effort=fast,default", "--repeat", "1", "--format", "csv"];
    let (output, text) =
        site.run(Some(("n[0-3]", "4(x4)")), &[&compare[..], &ways[..3], &timed].concat());
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("`effort`"), "{text}");
    let ways = ["blocked,random:seed=3,default", "--repeat", "1", "--format", "csv", "-q"];
    let report = ["--report", "runs.json"];
    let (output, text) =
        site.run(Some(("n[0-3]", "4(x4)")), &[&compare[..], &ways, &report, &timed].concat());
    assert!(output.status.success(), "{text}");
    insta::assert_snapshot!(text);
    let report = std::fs::read_to_string(site.path().join("runs.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["kind"], &report["title"]), (&"run-times".into(), &"app, measured".into()));
    assert_eq!(report["measured"].as_array().map(Vec::len), Some(3));
    // Without a comparison there is nothing to report, and what cannot be written is told before the runs.
    let (output, text) = site.run(None, &["placement.json", "--report", "x.md", "--", "./app"]);
    assert!(output.status.code() == Some(2) && text.contains("of the runs of --compare"), "{text}");
    let compare = ["placement.json", "--compare", "default,placement", "--report", "no/x.md"];
    let (output, text) = site.run(None, &[&compare[..], &timed].concat());
    assert!(!output.status.success() && !text.contains("started: "), "{text}");
}

#[test]
fn a_comparison_that_nobody_reads_leaves_nothing_behind() {
    let site = Site::new();
    site.placement(&placement(4, false, &[("n0", 0), ("n1", 0)]));
    let compare = ["run", "placement.json", "--compare", "default,placement", "--binding=exec"];
    let repeat = ["--repeat=1", "--time-regex", r"time: ([\d.]+)", "--", "./app"];
    let (reader, output) = std::io::pipe().unwrap();
    let mut command = site.command(None, &[&compare[..], &repeat].concat());
    command.stderr(output.try_clone().unwrap()).stdout(output);
    drop(reader);
    command.status().expect("it starts");
    let names = std::fs::read_dir(site.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let hidden: Vec<_> = names.filter(|name| name.as_encoded_bytes()[0] == b'.').collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

#[test]
fn a_dry_run_shows_all_ways() {
    let site = Site::new();
    let placed = ["--profile", "app.rwp", "--on", "cluster.toml", "--binding", "exec"];
    let compared = ["--compare", "default,blocked", "--dry-run", "--", "./app"];
    let (output, text) = site.run(Some(("n[0-3]", "4(x4)")), &[&placed[..], &compared].concat());
    assert!(output.status.success(), "{text}");
    let parts: Vec<&str> = text.split("# --compare ").collect();
    let [_, default, blocked] = parts[..] else { panic!("{text}") };
    assert!(default.starts_with("default\n") && default.contains("-n 8 ./app"), "{text}");
    assert!(blocked.starts_with("blocked\n") && blocked.contains("FOLDER/"), "{text}");
    assert!(!text.contains("started:"), "{text}");
}

#[test]
fn outside_of_a_job_the_default_runs_on_the_hosts_of_the_placement() {
    let site = Site::new();
    let default = |job, arguments: &[&str]| {
        let timed =
            ["--repeat=1", "--binding=exec", "--time-regex", r"time: ([\d.]+)", "--", "./app"];
        let (output, text) = site.run(job, &[arguments, &timed].concat());
        let started = text.lines().filter(|line| line.starts_with("started: "));
        let default =
            started.filter(|line| line.ends_with(" ./app") && !line.contains("ranks.map"));
        (output.status.success(), default.collect::<Vec<_>>().join("\n"), text)
    };
    let compare = ["--compare", "default,placement"];
    let placed = [&["--profile", "app.rwp", "--on", "cluster.toml"], &compare[..]].concat();
    let (ok, started, text) = default(None, &placed);
    assert!(ok && started.starts_with("started: -hosts "), "{text}");
    // In a job the hosts are those that were granted, of which a placement may use some.
    let (ok, started, text) = default(Some(("n[0-3]", "4(x4)")), &placed);
    assert!(ok && started == "started: -n 8 ./app", "{text}");
    let told = "hosts; default is what the launcher does with all of them";
    assert!(text.contains(told), "{text}");
    // On this host the launcher starts by itself.
    site.placement(&placement(1, false, &[(&on_this_host(), 0)]));
    let (ok, started, text) = default(None, &[&["placement.json"], &compare[..]].concat());
    assert!(ok && started == "started: -n 1 ./app", "{text}");
    // Two placements on other hosts.
    site.placement(&placement(4, false, &[("n0", 0), ("n1", 0)]));
    let other = placement(4, false, &[("n0", 0), ("n2", 0)]);
    site.file("other.json", &other.to_json());
    let both = ["--compare", "default,placement.json,other.json"];
    let (ok, _, text) = default(None, &both);
    assert!(!ok && !text.contains("started:"), "{text}");
    let told = "placement.json runs on n[0-1], other.json on n[0,2]: outside of a job";
    assert!(text.contains(told), "{text}");
}

#[test]
fn comparisons_that_make_no_sense_are_refused() {
    let site = Site::new();
    site.placement(&placement(4, false, &[("n0", 0), ("n1", 0)]));
    for (arguments, says) in [
        (&["--compare", "default"][..], "expected at least two ways"),
        (&["--compare", "default,default"], "found `default` twice"),
        (&["--compare", "default,placement"], "give the placement file, or --profile"),
        (&["--compare", "default,cyclic"], "if it is a strategy, give --profile"),
        (&["--compare", "default,none.json"], "none.json: no such file; give"),
        (&["--compare", "default,placement.json", "--time-regex", "x(y", "-q"], "--time-regex"),
        (&["placement.json", "-o", "out"], "--output applies to the result of --compare"),
        (&["placement.json", "--format", "json"], "--format applies to the result of --compare"),
        (
            &["placement.json", "--nics", "by-load"],
            "needs --profile; the devices of a placement file",
        ),
        (
            &["--compare", "default,placement.json", "--on", "cluster.toml"],
            "made for another cluster",
        ),
        (&["placement.json", "--profile", "app.rwp"], "both are for --compare"),
        (&["placement.json", "--strict"], "--profile <PROFILE>"),
        (
            &["--compare", "default,placement.json", "--profile", "app.rwp"],
            "2 ranks, but the ways before have 8",
        ),
    ] {
        let (output, text) = site.run(None, &[arguments, &["--", "./app"]].concat());
        assert!(matches!(output.status.code(), Some(2 | 125)), "{text}");
        // What is wrong with the command line alone is a usage error, as with other commands.
        let is_usage = says.starts_with("expected at least") || says.starts_with("found `default`");
        assert!(!is_usage || output.status.code() == Some(2), "{text}");
        assert!(text.contains(says), "expected `{says}` in {text}");
        assert!(!text.contains("started:"), "{text}");
    }
    let compare = ["--compare", "default,placement.json", "--time-regex", "seconds=(.*)"];
    let (output, text) = site.run(None, &[&compare[..], &["--", "./app"]].concat());
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("no match in the output of"), "{text}");
}
