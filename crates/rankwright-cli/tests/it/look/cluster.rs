//! `rankwright cluster`: what it shows of the recorded machines and the examples, and that what it
//! writes it reads.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::command::{rankwright, repository, say, transcript};

/// The snapshot of a command that must succeed, in `testdata/golden/cluster/`.
fn golden(name: &str, arguments: &[&str]) {
    let output = rankwright(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(arguments, &output));
    insta::with_settings!({snapshot_path => repository().join("testdata/golden/cluster"), prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, transcript(arguments, &output));
    });
}

#[test]
fn show_tells_recorded_machines() {
    let folder = std::fs::read_dir(repository().join("testdata/machines")).expect("it exists");
    let mut names: Vec<String> =
        folder.map(|entry| entry.expect("readable").file_name().to_string_lossy().into()).collect();
    names.sort();
    assert!(!names.is_empty());
    for name in names {
        let path = format!("testdata/machines/{name}");
        golden(&format!("show-{}", name.replace('.', "-")), &["cluster", "show", &path]);
    }
}

#[test]
fn show_tells_example_clusters() {
    for name in ["four-nodes", "dual-rail", "epyc-slingshot", "mixed-tree"] {
        let path = format!("examples/clusters/{name}.toml");
        golden(&format!("show-{name}"), &["cluster", "show", &path]);
    }
    golden(
        "show-mixed-tree-csv",
        &["cluster", "show", "examples/clusters/mixed-tree.toml", "--format", "csv"],
    );
    golden(
        "show-four-nodes-json",
        &["cluster", "show", "examples/clusters/four-nodes.toml", "--format", "json"],
    );
}

#[test]
fn show_tells_devices_that_carry_no_mpi() {
    let show = ["cluster", "show", "testdata/nics/management.toml"];
    golden("show-management", &show);
    let picture =
        rankwright(&[&show[..], &["--format", "svg"]].concat()).output().expect("it runs");
    let picture = String::from_utf8(picture.stdout).expect("UTF-8");
    assert_eq!(picture.matches("carries no MPI").count(), 3, "{picture}");
}

#[test]
fn show_prints_the_machine_matrix_of_the_2009_paper() {
    golden("matrix-of-2009", &["cluster", "show", "paper:2009-placement", "--matrix"]);
}

#[test]
fn check_says_what_was_read_and_what_is_doubtful() {
    golden("check-mixed-tree", &["cluster", "check", "examples/clusters/mixed-tree.toml"]);
    golden("check-management", &["cluster", "check", "testdata/nics/management.toml"]);
    golden("check-sparse", &["cluster", "check", "testdata/machines/sparse-numbers.xml"]);
}

#[test]
fn imported_descriptions_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("c.toml");
    let path = path.to_str().expect("plain text");
    let machine = "testdata/machines/infiniband-2s-8ports.xml";
    let arguments = ["cluster", "import", machine, "--nodes", "n[00-15]", "-o", path];
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let shown = |arguments: &[&str]| {
        let output = rankwright(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(arguments, &output));
        let text = String::from_utf8(output.stdout).expect("text");
        // The header and the line with the names differ.
        text.lines().skip(4).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(shown(&["cluster", "show", path]), shown(&["cluster", "show", machine]));
    golden("import-infiniband", &["cluster", "import", machine, "--nodes", "n[00-15]"]);
}

/// The machine in an XML file, as the JSON of `cluster show`.
fn machine_in(path: &str) -> String {
    let arguments = ["cluster", "show", path, "--format", "json"];
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let cluster: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    format!("{:#}", cluster["groups"][0]["machine"])
}

/// What hwloc writes after it read a file: version 2, or 1 with flags `1`.
fn through_hwloc(from: &str, flags: &str, to: &str) -> bool {
    let _ = std::fs::remove_file(to);
    let mut lstopo = Command::new("timeout");
    lstopo.args(["20", "lstopo-no-graphics", "-i", from, "--whole-io", "--disallowed"]);
    lstopo.args(["--no-collapse", "--export-xml-flags", flags, to]);
    lstopo.output().is_ok_and(|output| output.status.success())
}

#[test]
#[expect(clippy::print_stdout, reason = "a test says what it skips")]
fn hwloc_reads_versions_1_and_2_as_we_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("plain text").to_owned();
    let (old, new) = (path("version1.xml"), path("version2.xml"));
    for entry in std::fs::read_dir(repository().join("testdata/machines")).expect("it exists") {
        let recorded = entry.expect("readable").path();
        let recorded = recorded.to_str().expect("plain text");
        if recorded.contains("version-3") {
            // The hwloc of most systems is older.
            continue;
        }
        if !through_hwloc(recorded, "0", &new) {
            println!("SKIPPED: lstopo-no-graphics is not installed");
            return;
        }
        assert_eq!(machine_in(recorded), machine_in(&new), "{recorded}");
        assert!(through_hwloc(recorded, "1", &old) && through_hwloc(&old, "0", &new), "{recorded}");
        assert_eq!(machine_in(&old), machine_in(&new), "{recorded} as version 1");
    }
}

#[test]
fn hostfiles_and_switches_are_imported() {
    let type_of = "examples/clusters/mixed-tree.toml";
    let openmpi = "testdata/clusters/openmpi.hosts";
    golden("import-hostfile", &["cluster", "import", openmpi, "--node-type", type_of]);
    let hydra = "testdata/clusters/hydra.hosts";
    let synthetic = "synthetic:pack:2 core:2 pu:2";
    golden("import-hydra", &["cluster", "import", hydra, "--node-type", synthetic]);
    for name in ["tree", "block"] {
        let file = format!("testdata/clusters/topology-{name}.conf");
        let arguments = ["cluster", "import", &file, "--node-type", synthetic, "--name", name];
        golden(&format!("import-topology-{name}"), &arguments);
    }
}

#[test]
fn an_infiniband_fabric_is_imported_as_a_tree() {
    let fabric = "testdata/clusters/fat-tree.ibnetdiscover";
    let hosts = "synthetic:pack:2 numa:1 core:4 pu:2";
    golden("import-ibnetdiscover", &["cluster", "import", fabric, "--node-type", hosts]);
    let only = ["--only", "n[00-01,04]", "--name", "part"];
    let arguments = [&["cluster", "import", fabric, "--node-type", hosts], &only[..]].concat();
    golden("import-ibnetdiscover-part", &arguments);
}

#[test]
fn a_job_of_slurm_is_imported() {
    // The variables are those of a job of Slurm 22.05.
    let import = |variables: &[(&str, &str)], more: &[&str]| {
        let arguments =
            [&["cluster", "import", "slurm:", "--on", "examples/clusters/mixed-tree.toml"], more];
        let arguments = arguments.concat();
        let mut command = rankwright(&arguments);
        let output = command.envs(variables.iter().copied()).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let whole = [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_NODELIST", "fat1,thin[02-03]"),
        ("SLURM_JOB_CPUS_PER_NODE", "128,16(x2)"),
    ];
    let (written, warnings) = import(&whole, &[]);
    assert!(written.starts_with("format = 2\nname = \"job-7\"\n"), "{written}");
    let names: Vec<&str> = written.lines().filter(|line| line.starts_with("names")).collect();
    assert_eq!(names, ["names = \"fat1\"", "names = \"thin[02-03]\""]);
    assert!(!written.contains("free = ") && warnings.is_empty(), "{written}{warnings}");
    assert!(written.contains("nodes = \"fat1,thin[02-03]\""), "{written}");

    let part = [("SLURM_JOB_NODELIST", "fat1"), ("SLURM_JOB_CPUS_PER_NODE", "64")];
    let (written, warnings) = import(&part, &[]);
    assert!(written.contains("free = \"0-63\""), "{written}");
    assert!(warnings.contains("use --cpu core"), "{warnings}");
    let (written, warnings) = import(&part, &["--cpu", "core"]);
    assert!(!written.contains("free = ") && warnings.is_empty(), "{written}{warnings}");
}

#[test]
fn a_node_file_of_pbs_is_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("nodes");
    std::fs::write(&list, "n0\nn0\nn1\n").expect("written");
    let arguments = ["cluster", "import", "pbs:", "--node-type", "synthetic:core:4 pu:1"];
    let output =
        rankwright(&arguments).env("PBS_NODEFILE", list).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("free = \"0-1\""), "{output:?}");
}

#[test]
fn node_types_are_merged() {
    let arguments = [
        "cluster",
        "import",
        "node[00-15]=testdata/machines/hbm-2die.xml",
        "gpu[0-1]=synthetic:pack:2 core:2 pu:1",
        "examples/clusters/mixed-tree.toml",
        "--name",
        "all",
    ];
    golden("import-parts", &arguments);
}

#[test]
fn the_picture_in_the_guide_is_the_one_that_is_drawn() {
    let arguments = ["cluster", "show", "examples/clusters/mixed-tree.toml", "--format", "svg"];
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let path = repository().join("docs/src/clusters-mixed-tree.svg");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(&path, &output.stdout).expect("written");
    }
    let known = std::fs::read(&path).expect("the picture");
    assert!(known == output.stdout, "INSTA_UPDATE=always cargo test writes {}", path.display());
}

#[test]
fn imported_switches_read_back() {
    let written = rankwright(&[
        "cluster",
        "import",
        "testdata/clusters/topology-block.conf",
        "--node-type",
        "synthetic:4",
    ])
    .output()
    .expect("the program starts");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("c.toml");
    std::fs::write(&path, &written.stdout).expect("written");
    let arguments = ["cluster", "check", path.to_str().expect("plain text")];
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("switch"), "{output:?}");
}

#[test]
fn hosts_are_like_this_machine_if_nobody_says() {
    let arguments = ["cluster", "import", "testdata/clusters/hydra.hosts", "--name", "c"];
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("all hosts are assumed to be like this one"), "{error}");
}

/// The warnings of an import that succeeds.
fn warnings_of_import(file: &str, text: &str, node_type: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(file);
    std::fs::write(&path, text).expect("written");
    let path = path.to_str().expect("plain text");
    let arguments = ["cluster", "import", path, "--node-type", node_type];
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_hostfile_that_contradicts_the_hardware_is_told() {
    let hosts = "n0 slots=16\nn1 slots=16\nn2 slots=2\n";
    let text = warnings_of_import("hosts", hosts, "synthetic:core:2 pu:1");
    let told = "n[0-1]: 16 slots, but synthetic:core:2 pu:1 has 2 PUs";
    assert!(text.contains(told) && text.contains("discover --all-nodes"), "{text}");
    assert_eq!(warnings_of_import("hosts", hosts, "synthetic:core:8 pu:2"), "");
}

#[test]
fn hosts_that_the_description_of_the_others_lacks_are_told() {
    let switches = "SwitchName=s0 Nodes=n[0-1],login[1-2]\n";
    let folder = tempfile::tempdir().expect("a folder");
    let all = folder.path().join("all.toml");
    std::fs::write(&all, "[[node]]\nnames = \"n[0-3]\"\ntopology = \"core:4 pu:1\"\n").unwrap();
    let text = warnings_of_import("topology.conf", switches, all.to_str().expect("plain text"));
    assert!(text.contains("2 hosts not in ") && text.contains(" (login[1-2]): assumed"), "{text}");
    // A type of nodes without names of its own is meant for all.
    let nodes = "SwitchName=s0 Nodes=node[0-3]\n";
    assert_eq!(warnings_of_import("topology.conf", nodes, "synthetic:core:4 pu:1"), "");
}

#[test]
fn hosts_without_a_device_of_the_fabric_are_told() {
    let fabric = repository().join("testdata/clusters/fat-tree.ibnetdiscover");
    let fabric = std::fs::read_to_string(fabric).expect("it is there");
    let folder = tempfile::tempdir().expect("a folder");
    let like = folder.path().join("like.toml");
    let warnings = |nic: &str| {
        let text = format!("[[node]]\nnames = \"x\"\ntopology = \"core:4 pu:1\"\n{nic}");
        std::fs::write(&like, text).expect("written");
        warnings_of_import("fabric.txt", &fabric, like.to_str().expect("plain text"))
    };
    let nic = |name: &str| format!("nic = [{{ name = \"{name}\" }}]\n");
    let text = warnings(&nic("eth0"));
    assert!(text.contains("(eth0) is one of this fabric"), "{text}");
    for nic in [nic("mlx5_0"), String::new()] {
        let text = warnings(&nic);
        assert!(!text.contains("is one of this fabric"), "{nic} {text}");
    }
}

#[test]
fn calibrated_rates_are_not_called_assumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("c.toml");
    let text = |calibrated: bool| {
        format!(
            "[rates]\nnic_bandwidth = \"20 GB/s\"\ncalibrated = {calibrated}\n[[node]]\n\
             names = \"n0\"\ntopology = \"pack:2 core:2 pu:1\"\nnic = [{{ name = \"mlx5_0\" }}]\n"
        )
    };
    let print = |calibrated: bool, command: &[&str]| {
        std::fs::write(&path, text(calibrated)).expect("written");
        let arguments = [command, &[path.to_str().expect("plain text")]].concat();
        let output = rankwright(&arguments).output().expect("the program starts");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    for command in [&["cluster", "check"][..], &["cluster", "show"], &["nic", "--on"]] {
        assert!(!print(true, command).contains("20 GB/s assumed"), "{command:?}");
        assert!(print(false, command).contains("20 GB/s assumed"), "{command:?}");
    }
    let shown = print(true, &["cluster", "show"]);
    // One NUMA node for both packages: they are in the lines of their cores.
    assert!(!shown.contains("\n  package L#") && shown.contains("    package L#1, "), "{shown}");
    assert!(!print(true, &["nic", "--on"]).contains("ranks"));
}

#[test]
fn a_description_is_read_from_standard_input() {
    let written = rankwright(&["cluster", "import", "--synthetic", "pack:2 numa:1 core:2 pu:2"])
        .output()
        .expect("the program starts");
    let mut show = rankwright(&["cluster", "check", "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    show.stdin.take().expect("piped").write_all(&written.stdout).expect("written");
    let output = show.wait_with_output().expect("it ends");
    let line = "node0: 1 node of 2 packages, 2 NUMA nodes, 4 cores, 8 PUs, 0 NICs; all PUs free\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), line);
}

#[test]
fn this_machine_is_discovered_and_agrees_with_lstopo() {
    let output = rankwright(&["cluster", "discover"]).output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let Ok(lstopo) = Command::new("lstopo-no-graphics").args(["--of", "xml"]).output() else {
        say("SKIPPED: lstopo-no-graphics is not installed");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let count = |name: &str, contents: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).expect("written");
        let path = path.to_str().expect("plain text");
        let arguments = ["cluster", "show", path, "--format", "csv"];
        let output = rankwright(&arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        let text = String::from_utf8(output.stdout).expect("text");
        // Without the names, and without what depends on which PUs are allowed here.
        let row: Vec<&str> = text.lines().nth(1).expect("a row").rsplit(',').collect();
        [row[6].to_owned(), row[5].to_owned(), row[1].to_owned(), row[0].to_owned()]
    };
    assert_eq!(count("ours.toml", &output.stdout), count("theirs.xml", &lstopo.stdout));
}
