//! What commands take from `site.toml` and from variables when options do not say it.

use std::process::Command;

use super::site::Site;
use crate::placements::{placement, write};

/// The description of a site: `thin` has the nodes of `cluster.toml`, `fat` two wide ones.
const SITE: &str = r#"launcher = "mpich"

[[partition]]
name = "thin"
default = true
cluster = "cluster.toml"

[[partition]]
name = "fat"
cluster = "synthetic:core:16 pu:1"
fabric = "ucx"
rates = { nic_bandwidth = "25 GB/s" }
"#;

impl Site {
    /// `rankwright ...` in the site's folder, with its `site.toml` and these variables.
    fn with_defaults(&self, variables: &[(&str, &str)], arguments: &[&str]) -> (bool, String) {
        let mut command = self.outside(arguments);
        command.env("RANKWRIGHT_SITE", "site.toml").envs(variables.iter().copied());
        self.told(command, arguments)
    }

    fn told(&self, command: Command, arguments: &[&str]) -> (bool, String) {
        let (output, text) = self.output(command, arguments);
        (output.status.success(), text)
    }
}

/// A job of Slurm on two nodes, in a partition.
fn job(partition: &str) -> [(&str, &str); 4] {
    [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_NODELIST", "n[0-1]"),
        ("SLURM_JOB_CPUS_PER_NODE", "4(x2)"),
        ("SLURM_JOB_PARTITION", partition),
    ]
}

#[test]
fn the_partition_has_cluster_launcher_stack_and_rates() {
    let site = Site::new();
    site.file("site.toml", SITE);
    let map = ["-v", "map", "pattern:ring:8", "--strategy", "blocked", "--format", "list"];
    let (ok, text) = site.with_defaults(&[], &map);
    assert!(ok && text.contains("note: cluster: cluster.toml by site.toml:6 (--on "), "{text}");
    let (ok, text) = site.with_defaults(&[("RANKWRIGHT_PARTITION", "fat")], &map);
    let told = ["cluster: synthetic:core:16 pu:1 by site.toml:10", "rates: own by site.toml:12"];
    assert!(ok && told.iter().all(|told| text.contains(told)), "{text}");
    // A cluster of the user's has its own rates.
    let own = [("SLURM_JOB_PARTITION", "fat"), ("RANKWRIGHT_CLUSTER", "cluster.toml")];
    let (ok, text) = site.with_defaults(&own, &["-v", "cluster", "check"]);
    assert!(ok && !text.contains("note: rates: "), "{text}");
    // Options precede; rates of the site are those of its own cluster.
    let other = [&map[..], &["--on", "paper:2013"]].concat();
    let (ok, text) = site.with_defaults(&[], &other);
    assert!(ok && !text.contains("site.toml"), "{text}");
    let (ok, text) = site.with_defaults(&[], &["cluster", "check", "--format", "json"]);
    assert!(ok && text.contains("\"rates\": \"typical\""), "{text}");
    let fat = [("SLURM_JOB_PARTITION", "fat")];
    let (ok, text) = site.with_defaults(&fat, &["cluster", "check", "--format", "json"]);
    assert!(ok && text.contains("\"rates\": \"own\""), "{text}");
}

#[test]
fn variables_precede_files_and_the_users_file_that_of_the_site() {
    let site = Site::new();
    site.file("site.toml", SITE);
    let check = ["-v", "cluster", "check"];
    let cluster = |variables: &[(&str, &str)]| {
        let (ok, text) = site.with_defaults(variables, &check);
        assert!(ok, "{text}");
        let told = text.lines().find_map(|line| line.strip_prefix("note: cluster: "));
        told.expect("it is told").to_owned()
    };
    let own = site.file_in("own/rankwright", "site.toml", "cluster = \"mine.toml\"\n");
    site.file_in(
        "own/rankwright",
        "mine.toml",
        "[[node]]\nnames = \"m\"\ntopology = \"core:2 pu:1\"\n",
    );
    let own =
        own.parent().and_then(std::path::Path::parent).expect("a folder").display().to_string();
    let config = ("XDG_CONFIG_HOME", own.as_str());
    assert!(cluster(&[config]).contains("own/rankwright/mine.toml by "), "the user's own");
    let variable = ("RANKWRIGHT_CLUSTER", "synthetic:core:4 pu:1");
    let expected =
        "synthetic:core:4 pu:1 by RANKWRIGHT_CLUSTER (the argument CLUSTER overrides it)";
    assert_eq!(cluster(&[config, variable]), expected);
}

#[test]
fn a_job_needs_no_option_where_the_site_is_prepared() {
    let site = Site::new();
    site.file("site.toml", SITE);
    let run = ["-v", "run", "--dry-run", "--profile", "app.rwp", "--binding=exec", "--", "./app"];
    let (ok, text) = site.with_defaults(&job("thin"), &run);
    assert!(ok && text.contains("launcher: mpich by site.toml:1"), "{text}");
    assert!(text.contains("cluster: cluster.toml by site.toml:6"), "{text}");
    assert!(!text.contains("assumed to be like this one"), "{text}");
    // Outside of a job the site has more nodes than a user may start on.
    let (_, text) = site.with_defaults(&[], &run);
    assert!(!text.contains("cluster.toml by"), "{text}");
    let import = ["cluster", "import", "slurm:"];
    let (ok, text) = site.with_defaults(&job("thin"), &import);
    assert!(
        ok && text.contains("names = \"n[0-1]\"\ntopology = \"pack:1 numa:1 core:4 pu:1\""),
        "{text}"
    );
    write(&placement(2, false, &[("n0", 0), ("n1", 0)]), site.path());
    let launch = ["-v", "launch", "placement.json", "-o", "files", "--", "./app"];
    let (ok, text) = site.with_defaults(&[], &launch);
    assert!(ok && text.contains("launcher: mpich by site.toml:1"), "{text}");
    let place = ["-v", "place", "app.rwp", "--strategies", "blocked", "--", "./app"];
    let (ok, text) = site.with_defaults(&[("SLURM_JOB_PARTITION", "fat")], &place);
    assert!(ok && text.contains("launch files for mpich\n"), "{text}");
    assert!(text.contains("network stack: ucx by site.toml:11"), "{text}");
}

#[test]
fn what_place_advises_names_the_cluster_of_the_site() {
    let site = Site::new();
    site.file("site.toml", &SITE.replace("cluster.toml", "ours.toml"));
    let (from, to) = (site.path().join("cluster.toml"), site.path().join("ours.toml"));
    std::fs::rename(from, to).expect("the folder is writable");
    let place = ["place", "pattern:ring:4:rate=100", "--strategies", "blocked"];
    let (ok, text) = site.with_defaults(&[], &place);
    assert!(ok && text.contains("`rankwright calibrate --on ours.toml`"), "{text}");
}

#[test]
fn run_starts_without_a_wrong_site_and_says_so() {
    let site = Site::new();
    let run = ["run", "--profile", "app.rwp", "-n", "8", "--", "./app"];
    let strict = ["run", "--strict", "--profile", "app.rwp", "--", "./app"];
    let twice = "[[partition]]\nname = \"a\"\n[[partition]]\nname = \"a\"\n";
    let missing = SITE.replace("cluster.toml", "none.toml");
    for (text, partition, told) in [
        (twice, "a", "site.toml:4: partition.name: found a second partition `a`"),
        ("launcher = 3\n", "a", "site.toml:1: "),
        (SITE, "debug", "site.toml:4: partition.name: found no partition `debug`, expected thin, "),
        (&missing, "thin", "site.toml:6: cluster: found none.toml: no such file"),
    ] {
        site.file("site.toml", text);
        let (ok, text) = site.with_defaults(&job(partition), &run);
        assert!(ok && text.contains("started:"), "{text}");
        let warned =
            text.lines().filter(|line| line.starts_with("warning: ") && line.contains(told));
        assert_eq!(warned.count(), 1, "{text}");
        let (ok, text) = site.with_defaults(&job(partition), &strict);
        assert!(!ok && text.contains("exit code: 125") && text.contains(told), "{text}");
    }
}

#[test]
fn run_takes_another_launcher_where_that_of_the_site_is_not_installed() {
    let site = Site::new();
    site.file("site.toml", &SITE.replace("mpich", "flux"));
    write(&placement(2, false, &[("n0", 0), ("n1", 0)]), site.path());
    let run = ["run", "--binding=exec", "placement.json", "--", "./app"];
    let (ok, text) = site.with_defaults(&[], &run);
    let told =
        "warning: the launcher of the site, flux, is not used but mpich: no flux of Flux on PATH";
    assert!(ok && text.contains(told) && text.contains("started:"), "{text}");
    let check = ["check", "placement.json"];
    let (ok, text) = site.with_defaults(&[], &check);
    let told = "note: launcher: flux by site.toml:1 (--for overrides it)";
    assert!(!ok && text.contains("no flux of Flux on PATH") && text.contains(told), "{text}");
}
