//! Bad input: every case of `testdata/broken/` with the message it must cause, as a snapshot in
//! `testdata/golden/broken/`. Nothing may be written.

use crate::command::{rankwright, repository, transcript};

/// A graph that is right: eight vertices in two groups.
const GRAPH: &str = "testdata/workloads/two-groups.graph";

/// What is wrong (the name of the case and of its file), and the command that meets it.
const CASES: &[(&str, &[&str])] = &[
    ("missing-profile", &["traffic", "show", "testdata/no-such.rwp"]),
    ("truncated-profile", &["traffic", "show", "testdata/broken/truncated-profile.rwp"]),
    ("newer-profile", &["traffic", "show", "testdata/broken/newer-profile.rwp"]),
    ("other-database", &["traffic", "show", "testdata/broken/other-database.rwp"]),
    ("no-ranks", &["traffic", "export", "testdata/broken/no-ranks.rwp"]),
    ("rank-out-of-range", &["traffic", "show", "testdata/broken/rank-out-of-range.rwp"]),
    ("text-profile", &["traffic", "show", "testdata/broken/text-profile.rwp"]),
    ("missing-cell", &["traffic", "import", "testdata/broken/missing-cell.csv"]),
    ("negative-bytes", &["traffic", "import", "testdata/broken/negative-bytes.csv"]),
    ("unknown-columns", &["traffic", "import", "testdata/broken/unknown-columns.csv"]),
    ("asymmetric-graph", &["traffic", "show", "testdata/broken/asymmetric-graph.graph"]),
    ("missing-vertex", &["traffic", "show", "testdata/broken/missing-vertex.graph"]),
    ("not-square", &["traffic", "show", "testdata/broken/not-square.mtx"]),
    ("unknown-format", &["traffic", "import", "testdata/broken/unknown-format.txt"]),
    ("openmpi-missing-rank", &["traffic", "show", "testdata/broken/openmpi-missing-rank.0.prof"]),
    ("openmpi-cut-off", &["traffic", "import", "testdata/broken/openmpi-cut-off.0.prof"]),
    (
        "openmpi-other-rank-count",
        &["traffic", "import", "testdata/broken/openmpi-other-rank-count.0.prof"],
    ),
    (
        "openmpi-other-rank-count-by-name",
        &[
            "traffic",
            "import",
            "testdata/broken/openmpi-other-rank-count.1.prof",
            "--from",
            "openmpi-monitoring",
        ],
    ),
    ("openmpi-several-runs", &["traffic", "import", "testdata/broken"]),
    (
        "dense-missing-cell",
        &["traffic", "import", "testdata/broken/dense-missing-cell.txt", "--from", "dense"],
    ),
    ("dense-not-square", &["traffic", "show", "testdata/broken/dense-not-square.csv"]),
    ("ipm-without-calls", &["traffic", "show", "testdata/broken/ipm-without-calls.xml"]),
    (
        "merge-of-other-rank-counts",
        &["traffic", "merge", "pattern:ring:4", "pattern:ring:5", "-o", "testdata/broken/x.rwp"],
    ),
    ("absurd-matrix", &["traffic", "show", "testdata/broken/absurd-matrix.mtx"]),
    ("absurd-rank-count", &["traffic", "import", "testdata/broken/absurd-rank-count.csv"]),
    ("absurd-weight-count", &["traffic", "show", "testdata/broken/absurd-weight-count.graph"]),
    ("negative-weight", &["traffic", "show", "testdata/broken/negative-weight.graph"]),
    ("unknown-shape", &["traffic", "generate", "star", "--ranks", "8"]),
    ("zero-ranks", &["traffic", "generate", "ring", "--ranks", "0"]),
    ("wrong-grid", &["traffic", "generate", "halo-2d", "--ranks", "8", "--grid", "3x3"]),
    ("unknown-expansion", &["traffic", "export", "pattern:ring:4", "--collectives", "magic"]),
    (
        "unknown-strategy",
        &[
            "map",
            "pattern:ring:4",
            "--on",
            "examples/clusters/four-nodes.toml",
            "--strategy",
            "treematch",
        ],
    ),
    (
        "unknown-strategy-option",
        &[
            "map",
            "pattern:ring:4",
            "--on",
            "examples/clusters/four-nodes.toml",
            "--strategy",
            "kway:sed=1",
        ],
    ),
    (
        "absurd-seed",
        &[
            "compare",
            "pattern:ring:4",
            "--on",
            "examples/clusters/four-nodes.toml",
            "--strategies",
            "kway:seed=-1",
        ],
    ),
    (
        "unknown-judge",
        &[
            "compare",
            "pattern:ring:4",
            "--on",
            "examples/clusters/four-nodes.toml",
            "--by",
            "model",
        ],
    ),
    (
        "zero-cores-per-rank",
        &[
            "compare",
            "pattern:ring:4",
            "--on",
            "examples/clusters/four-nodes.toml",
            "--cores-per-rank",
            "0",
        ],
    ),
    (
        "more-ranks-than-cores",
        &[
            "place",
            "pattern:ring:17",
            "--on",
            "examples/clusters/four-nodes.toml",
            "-o",
            "testdata/broken/x.json",
        ],
    ),
    (
        "placement-to-standard-output",
        &["place", "pattern:ring:4", "--on", "examples/clusters/four-nodes.toml", "-o", "-"],
    ),
    (
        "more-ranks-than-core-pairs",
        &[
            "compare",
            "pattern:ring:9",
            "--on",
            "examples/clusters/four-nodes.toml",
            "--cores-per-rank",
            "2",
        ],
    ),
    (
        "missing-workload",
        &["place", "testdata/no-such.rwp", "--on", "examples/clusters/four-nodes.toml"],
    ),
    ("no-cluster", &["map", "pattern:ring:4", "--strategy", "kway"]),
    (
        "hierarchy-shorter-than-distances",
        &[
            "map",
            "--graph",
            GRAPH,
            "--hierarchy",
            "4:8",
            "--distances",
            "1:10:100",
            "--strategy",
            "kway",
        ],
    ),
    (
        "hierarchy-with-zero",
        &[
            "map",
            "--graph",
            GRAPH,
            "--hierarchy",
            "4:0",
            "--distances",
            "1:10",
            "--strategy",
            "kway",
        ],
    ),
    (
        "distances-not-growing",
        &[
            "map",
            "--graph",
            GRAPH,
            "--hierarchy",
            "4:8",
            "--distances",
            "10:10",
            "--strategy",
            "kway",
        ],
    ),
    ("graph-without-hierarchy", &["map", "--graph", GRAPH, "--strategy", "kway"]),
    (
        "graph-as-table",
        &[
            "map",
            "--graph",
            GRAPH,
            "--hierarchy",
            "4",
            "--distances",
            "1",
            "--strategy",
            "kway",
            "--format",
            "table",
        ],
    ),
    (
        "negative-imbalance",
        &[
            "map",
            "--graph",
            GRAPH,
            "--hierarchy",
            "4",
            "--distances",
            "1",
            "--strategy",
            "kway",
            "--imbalance",
            "-0.1",
        ],
    ),
    (
        "more-vertices-than-cores",
        &[
            "map",
            "--graph",
            GRAPH,
            "--hierarchy",
            "2:2",
            "--distances",
            "1:10",
            "--strategy",
            "kway",
            "-o",
            "testdata/broken/x",
        ],
    ),
    (
        "no-vertex-weight",
        &[
            "map",
            "--graph",
            "testdata/broken/no-vertex-weight.graph",
            "--hierarchy",
            "2",
            "--distances",
            "1",
            "--strategy",
            "kway",
            "--imbalance",
            "0.1",
        ],
    ),
    (
        "cluster-absurd-bandwidth",
        &["cluster", "check", "testdata/broken/cluster-absurd-bandwidth.toml"],
    ),
    ("cluster-absurdly-slow", &["cluster", "check", "testdata/broken/cluster-absurdly-slow.toml"]),
    ("cluster-bad-synthetic", &["cluster", "check", "testdata/broken/cluster-bad-synthetic.toml"]),
    ("cluster-cut-off", &["cluster", "check", "testdata/broken/cluster-cut-off.toml"]),
    (
        "cluster-free-pu-missing",
        &["cluster", "check", "testdata/broken/cluster-free-pu-missing.toml"],
    ),
    ("cluster-million-names", &["cluster", "check", "testdata/broken/cluster-million-names.toml"]),
    (
        "cluster-negative-bandwidth",
        &["cluster", "check", "testdata/broken/cluster-negative-bandwidth.toml"],
    ),
    (
        "cluster-nic-near-missing-numa",
        &["cluster", "check", "testdata/broken/cluster-nic-near-missing-numa.toml"],
    ),
    (
        "cluster-node-in-two-switches",
        &["cluster", "check", "testdata/broken/cluster-node-in-two-switches.toml"],
    ),
    ("cluster-switch-circle", &["cluster", "check", "testdata/broken/cluster-switch-circle.toml"]),
    (
        "cluster-topology-and-xml",
        &["cluster", "check", "testdata/broken/cluster-topology-and-xml.toml"],
    ),
    (
        "cluster-two-nodes-one-name",
        &["cluster", "check", "testdata/broken/cluster-two-nodes-one-name.toml"],
    ),
    ("cluster-unknown-field", &["cluster", "check", "testdata/broken/cluster-unknown-field.toml"]),
    ("cluster-unknown-rates", &["cluster", "check", "testdata/broken/cluster-unknown-rates.toml"]),
    ("cluster-without-nodes", &["cluster", "check", "testdata/broken/cluster-without-nodes.toml"]),
    ("cluster-xml-missing", &["cluster", "check", "testdata/broken/cluster-xml-missing.toml"]),
    ("hwloc-cut-off", &["cluster", "check", "testdata/broken/hwloc-cut-off.xml"]),
    ("hwloc-entity-bomb", &["cluster", "check", "testdata/broken/hwloc-entity-bomb.xml"]),
    ("hwloc-other-xml", &["cluster", "check", "testdata/broken/hwloc-other-xml.xml"]),
    ("hwloc-version-9", &["cluster", "check", "testdata/broken/hwloc-version-9.xml"]),
    (
        "hostfile-zero-slots",
        &[
            "cluster",
            "import",
            "testdata/broken/hostfile-zero-slots.hosts",
            "--node-type",
            "paper:2013",
        ],
    ),
    (
        "hostfile-of-unknown-type",
        &[
            "cluster",
            "import",
            "testdata/clusters/hydra.hosts",
            "--node-type",
            "examples/clusters/mixed-tree.toml",
        ],
    ),
    (
        "topology-circle",
        &["cluster", "import", "testdata/broken/topology-circle.conf", "--node-type", "paper:2013"],
    ),
    (
        "topology-unknown-switch",
        &[
            "cluster",
            "import",
            "testdata/broken/topology-unknown-switch.conf",
            "--node-type",
            "paper:2013",
        ],
    ),
    (
        "topology-with-names",
        &["cluster", "import", "testdata/clusters/topology-tree.conf", "--nodes", "n[0-3]"],
    ),
    (
        "cluster-import-two-types",
        &["cluster", "import", "testdata/machines/hbm-2die.xml", "--node-type", "paper:2013"],
    ),
    ("cluster-file-missing", &["cluster", "check", "no-such-cluster.toml"]),
    ("cluster-name-unknown", &["cluster", "show", "paper:1999"]),
    ("cluster-zero-nodes", &["cluster", "show", "synthetic:core:4 pu:1", "--nodes", "0"]),
    ("cluster-import-no-xml", &["cluster", "import", "examples/clusters/four-nodes.toml"]),
    ("cluster-import-bad-hostlist", &["cluster", "import", "--synthetic", "4", "--nodes", "n[0-"]),
    (
        "placement-of-a-newer-format",
        &[
            "launch",
            "testdata/broken/placement-of-a-newer-format.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-truncated",
        &[
            "launch",
            "testdata/broken/placement-truncated.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-0-ranks",
        &[
            "launch",
            "testdata/broken/placement-with-0-ranks.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-a-blank-in-a-host-name",
        &[
            "launch",
            "testdata/broken/placement-with-a-blank-in-a-host-name.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-a-core-beyond-the-node",
        &[
            "launch",
            "testdata/broken/placement-with-a-core-beyond-the-node.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-a-core-taken-twice",
        &[
            "launch",
            "testdata/broken/placement-with-a-core-taken-twice.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-a-node-listed-twice",
        &[
            "launch",
            "testdata/broken/placement-with-a-node-listed-twice.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-a-pu-taken-twice",
        &[
            "launch",
            "testdata/broken/placement-with-a-pu-taken-twice.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-a-rank-without-a-core",
        &[
            "launch",
            "testdata/broken/placement-with-a-rank-without-a-core.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-an-unlisted-node",
        &[
            "launch",
            "testdata/broken/placement-with-an-unlisted-node.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-with-no-job",
        &[
            "launch",
            "testdata/broken/placement-with-no-job.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-without-a-rank",
        &[
            "launch",
            "testdata/broken/placement-without-a-rank.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "placement-missing",
        &[
            "launch",
            "testdata/broken/placement-missing.json",
            "--for",
            "openmpi4",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "native-binding-on-an-emulated-cluster",
        &[
            "launch",
            "testdata/broken/placement-on-an-emulated-cluster.json",
            "--for",
            "openmpi4",
            "--binding",
            "native",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "numactl-on-an-emulated-cluster",
        &[
            "launch",
            "testdata/broken/placement-on-an-emulated-cluster.json",
            "--for",
            "numactl",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "native-binding-by-mpich-4-0",
        &[
            "launch",
            "testdata/broken/placement-on-an-emulated-cluster.json",
            "--for",
            "mpich:4.0",
            "--binding",
            "native",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "launch-of-an-unknown-job",
        &[
            "launch",
            "testdata/broken/placement-of-two-jobs.json",
            "--for",
            "openmpi4",
            "--job",
            "pre",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "launcher-that-is-unknown",
        &[
            "launch",
            "testdata/broken/placement-on-an-emulated-cluster.json",
            "--for",
            "openmpi9",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    (
        "launcher-arguments-with-an-open-quote",
        &[
            "launch",
            "testdata/broken/placement-on-an-emulated-cluster.json",
            "--for",
            "openmpi4",
            "--launcher-args",
            "-x 'A=b",
            "-o",
            "testdata/broken/never",
            "--",
            "./app",
        ],
    ),
    ("check-of-two-jobs", &["check", "testdata/broken/placement-of-two-jobs.json"]),
];

#[test]
fn bad_input_is_named_with_file_place_and_way_out() {
    let before = files();
    for (name, arguments) in CASES {
        let output = rankwright(arguments).output().expect("the program starts");
        let code = output.status.code().unwrap_or_default();
        assert!((2..=5).contains(&code), "{name}: exit code {code}");
        assert!(output.stdout.is_empty(), "{name}: wrote to standard output");
        insta::with_settings!({snapshot_path => repository().join("testdata/golden/broken"), prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(*name, transcript(arguments, &output));
        });
    }
    assert_eq!(files(), before, "a command that failed wrote a file");
}

#[test]
fn every_broken_file_has_a_case() {
    let named =
        |file: &str| CASES.iter().any(|(_, arguments)| arguments.iter().any(|a| a.contains(file)));
    for file in files() {
        assert!(named(&file), "testdata/broken/{file} is in no case");
    }
}

fn files() -> Vec<String> {
    let folder = std::fs::read_dir(repository().join("testdata/broken")).expect("it exists");
    let mut names: Vec<String> = folder
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into())
        .collect();
    names.sort();
    names
}
