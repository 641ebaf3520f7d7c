//! `rankwright nic`, the selections of `map` and `place`, and the variables of network stacks: on
//! machines that copy the shapes of real ones.

use std::path::Path;

use crate::command::{rankwright, repository, transcript};

/// The snapshot of a command that must succeed, in `testdata/golden/nic/`.
fn golden(name: &str, arguments: &[&str]) {
    let output = rankwright(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(arguments, &output));
    insta::with_settings!({snapshot_path => repository().join("testdata/golden/nic"), prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, transcript(arguments, &output));
    });
}

/// Two devices per socket with shuffled numbering, four NUMA nodes with four devices, all on one
/// socket, four HFIs on two sockets, one of them down, devices without MPI, none.
#[test]
fn nic_tells_of_every_shape_of_machine() {
    for (name, ranks, fabric) in [
        ("two-per-socket", "8", "ucx"),
        ("four-numa", "16", "craympich"),
        ("one-socket", "8", "mvapich2"),
        ("four-hfis", "8", "psm2"),
        ("one-hfi-down", "4", "psm2"),
        ("management", "8", "ucx"),
    ] {
        let cluster = format!("testdata/nics/{name}.toml");
        let ring = format!("pattern:ring:{ranks}");
        let arguments = ["nic", &ring, "--on", &cluster, "--fabric", fabric, "--explain"];
        golden(name, &arguments);
    }
    let none = ["nic", "pattern:ring:4", "--on", "testdata/nics/none.toml", "--selection", "none"];
    golden("none", &none);
}

#[test]
fn recorded_machines_have_devices_too() {
    for name in ["omni-path-2s", "slingshot-4numa", "infiniband-2s-8ports"] {
        golden(name, &["nic", "--on", &format!("testdata/machines/{name}.xml")]);
    }
    let machine = "testdata/machines/infiniband-2s-8ports.xml";
    golden("infiniband-2s-8ports-csv", &["nic", "--on", machine, "--format", "csv"]);
}

#[test]
fn every_selection_on_four_hfis() {
    for selection in [
        "by-load",
        "device-affinity",
        "device-affinity:rails=near",
        "paper-2017",
        "round-robin",
        "packed",
        "round-robin-all",
        "psm2-default",
    ] {
        let on = ["nic", "pattern:ring:8", "--on", "testdata/nics/four-hfis.toml"];
        let how = ["--selection", selection, "--strategy", "cyclic", "--format", "csv"];
        let name = format!("four-hfis-{}", selection.replace([':', '='], "-"));
        golden(&name, &[&on[..], &how].concat());
    }
}

/// The devices of a placement arrive in the map that the ranks' shim reads, unless the user's
/// environment says otherwise there (`exec.rs` tests that).
#[test]
fn devices_go_from_place_through_launch_to_the_ranks() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let output = rankwright(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(arguments, &output));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let file = folder.path().join("p.json").display().to_string();
    let files = folder.path().join("files").display().to_string();
    let on = ["--on", "testdata/nics/four-numa.toml"];
    let place = ["map", "pattern:ring:8", "--strategy", "blocked", "--nics", "device-affinity"];
    run(&[&place[..], &on, &["--gpus", "one-per-rank", "-o", &file]].concat());
    let launch = ["launch", &file, "--for", "openmpi4", "-o", &files];
    run(&[&launch[..], &["--fabric", "cxi", "--", "./app"]].concat());
    let map = std::fs::read_to_string(Path::new(&files).join("ranks.map")).expect("it is written");
    let line = map.lines().nth(1).unwrap_or_default();
    assert!(line.ends_with("ROCR_VISIBLE_DEVICES=4 FI_CXI_DEVICE_NAME=cxi2"), "{line}");
    // Several stacks drive Slingshot: without --fabric the user is asked, and GPUs are shown.
    let said = run(&[&launch[..], &["--", "./app"]].concat());
    assert!(said.contains("say --fabric with one of cxi, tcp, craympich, mpich-ofi"), "{said}");
    // `place` does as `map` and `launch` together, with the same note.
    let place = ["place", "pattern:ring:8", "--strategies", "blocked", "--nics", "device-affinity"];
    let files = ["--for", "openmpi4", "-o", &file, "--launch-files", &files];
    let place = [&place[..], &on, &["--gpus", "one-per-rank"], &files].concat();
    let said = run(&[&place[..], &["--", "./app"]].concat());
    assert!(said.contains("say --fabric with one of cxi, tcp, craympich, mpich-ofi"), "{said}");
    let said = run(&[&place[..], &["--fabric", "cxi", "--", "./app"]].concat());
    assert!(!said.contains("--fabric"), "{said}");
    let map = std::fs::read_to_string(folder.path().join("files/ranks.map")).expect("written");
    let line = map.lines().nth(1).unwrap_or_default();
    assert!(line.ends_with("ROCR_VISIBLE_DEVICES=4 FI_CXI_DEVICE_NAME=cxi2"), "{line}");
}

#[test]
fn what_a_stack_does_by_itself_is_explained_without_devices_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.json").display().to_string();
    let on = ["--on", "testdata/nics/four-numa.toml", "--nics", "none"];
    let arguments =
        [&["map", "pattern:ring:8", "--strategy", "blocked", "-o", &file], &on[..]].concat();
    assert!(rankwright(&arguments).output().expect("the program starts").status.success());
    let arguments = ["nic", &file, "--explain", "--fabric", "ucx"];
    let output = rankwright(&arguments).output().expect("the program starts");
    let text = transcript(&arguments, &output);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("ucx by default: ") && text.contains("differs for 0 of 8 ranks"),
        "{text}"
    );
    assert!(
        text.contains("none of 8 ranks is given a network device: the library chooses"),
        "{text}"
    );
}

/// MPICH before 4.1 counts local ranks anew behind ranks of other hosts; a map by local rank would
/// give all ranks the first device.
#[test]
fn devices_are_told_by_rank_where_local_ranks_are_miscounted() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let output = rankwright(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(arguments, &output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let at = |name: &str| folder.path().join(name).display().to_string();
    let placement = |strategy: &str| {
        let file = at(strategy);
        let place = ["map", "pattern:ring:4", "--strategy", strategy, "-o", &file];
        let on = ["--on", "testdata/nics/two-per-socket.toml", "--cores-per-rank", "4"];
        run(&[&place[..], &on, &["--nics", "device-affinity"]].concat());
        file
    };
    let launch = |file: &str, launcher: &str, binding: &str| {
        let to = at("files");
        let how = ["--for", launcher, "--binding", binding, "--fabric", "mvapich2", "-o", &to];
        run(&[&["launch", file], &how[..], &["--", "./app"]].concat());
        std::fs::read_to_string(folder.path().join("files/ranks.map")).expect("it is written")
    };
    let (cyclic, blocked) = (placement("cyclic"), placement("blocked"));
    let by_local_rank = "MV2_PROCESS_TO_RAIL_MAPPING=";
    assert!(launch(&cyclic, "mpich", "exec").contains(by_local_rank));
    assert!(launch(&blocked, "mpich:4.0", "exec").contains(by_local_rank));
    let map = launch(&cyclic, "mpich:4.0", "exec");
    assert!(!map.contains(by_local_rank), "{map}");
    assert_eq!(map.matches("MV2_IBA_HCA=").count(), 4, "{map}");
}

/// Of `place` on three nodes whose rails serve two ranks each: the table as JSON and what it notes.
fn placed_on_rails(strategies: &str) -> (serde_json::Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.json").display().to_string();
    let on = "testdata/broken/nic-rails-exhausted.toml";
    let place = ["place", "pattern:all-to-all:6", "--on", on, "--nics", "by-load", "-o", &file];
    let how = ["--strategies", strategies, "--for", "openmpi5", "--format", "json"];
    let arguments = [&place[..], &how].concat();
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    (serde_json::from_slice(&output.stdout).expect("JSON"), notes)
}

#[test]
fn strategies_whose_ranks_get_no_devices_are_named_once_with_the_reason() {
    let (comparison, notes) = placed_on_rails("blocked,cyclic,kway,contention:moves=100");
    let names = comparison["strategies"].as_array().expect("a list").iter();
    let names: Vec<&str> = names.filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["cyclic", "contention:moves=100"]);
    let left_out: Vec<&str> = notes.lines().filter(|line| line.contains("left out")).collect();
    assert_eq!(left_out.len(), 1, "{notes}");
    let wanted = "left out: blocked, kway; under blocked: network devices chosen by `by-load`: node n0: 4 of";
    assert!(left_out[0].contains(wanted), "{notes}");
}

#[test]
fn the_busiest_device_is_as_busy_in_the_table_as_in_the_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.json").display().to_string();
    let on = ["--on", "testdata/nics/four-hfis.toml", "--nics", "by-load", "-o", &file];
    let place = ["place", "pattern:all-to-all:12", "--strategies", "blocked", "-v"];
    let arguments = [&place[..], &on].concat();
    let output = rankwright(&arguments).output().expect("the program starts");
    let text = transcript(&arguments, &output);
    let remark = "the launcher's default is compared with chosen network devices too";
    assert_eq!(text.matches(remark).count(), 1, "{text}");
    // Two of the four ranks of h1 are far from their device: 10 % more than 4.19 ms.
    assert!(text.contains("h1 hfi1_2 out  52.4 MB  52.4 MB  4.61 ms"), "{text}");
    assert!(text.contains(
        "the busiest needs 4.61 ms; with the ranks on these cores it needs at least 4.19 ms"
    ));
}

#[test]
fn rates_of_devices_are_numbers_for_programs() {
    let arguments = ["nic", "--on", "testdata/nics/four-hfis.toml", "--format", "json"];
    let output = rankwright(&arguments).output().expect("the program starts");
    let nics: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(nics["devices"][0]["bandwidth"], "12.5 GB/s");
    assert_eq!(nics["devices"][0]["bytes_per_s"], 12_500_000_000_u64);
}

/// `map` of four ranks with these arguments, outside of all batch jobs but with these variables: the GPU
/// and the first core of each rank, and what is said.
fn gpus(more: &[&str], variables: &[(&str, &str)]) -> (Vec<String>, String) {
    let on = ["map", "pattern:ring:4", "--on", "testdata/nics/four-numa.toml"];
    let how = ["--strategy", "blocked", "--cores-per-rank", "4", "--format", "json"];
    let arguments = [&on[..], &how, more].concat();
    let mut command = rankwright(&arguments);
    let output = command.envs(variables.iter().copied()).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let file: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let ranks = file["jobs"][0]["ranks"].as_array().expect("ranks");
    let rank = |rank: &serde_json::Value| format!("{} at {}", rank["gpus"], rank["cores"][0]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (ranks.iter().map(rank).collect(), said)
}

#[test]
fn ranks_are_ordered_by_gpu_where_gpus_are_granted_or_wanted() {
    let none = ["[] at 0", "[] at 4", "[] at 8", "[] at 12"].map(str::to_owned).to_vec();
    // GPUs 0 and 1 are beside the last cores, 2 and 3 beside the second four.
    let near =
        [r#"["rsmi0"] at 0"#, r#"["rsmi1"] at 12"#, r#"["rsmi2"] at 8"#, r#"["rsmi3"] at 4"#];
    let near = near.map(str::to_owned).to_vec();
    assert_eq!(gpus(&[], &[]), (none.clone(), String::new()));
    let wanted = gpus(&["--gpus", "near"], &[]);
    assert_eq!(wanted.0, near);
    assert!(
        wanted.1.contains("local rank i of a node is as near as possible to GPU i"),
        "{}",
        wanted.1
    );
    let slurm = ("SLURM_JOB_ID", "7");
    assert_eq!(gpus(&[], &[slurm]).0, none);
    assert_eq!(gpus(&[], &[slurm, ("SLURM_GPUS_ON_NODE", "8")]).0, near);
    let flux = [("FLUX_JOB_ID", "f"), ("ROCR_VISIBLE_DEVICES", "0,1,2,3")];
    assert_eq!(gpus(&[], &flux).0, near);
    assert_eq!(gpus(&["--gpus", "none"], &flux).0, none);
    let fewer = "warning: this job has 4 GPUs here, the nodes of four-numa have 8: which of them are \
                 granted is not known";
    assert!(gpus(&[], &flux).1.contains(fewer));
    let own = [r#"["rsmi4"] at 0"#, r#"["rsmi2"] at 4"#, r#"["rsmi6"] at 8"#, r#"["rsmi0"] at 12"#];
    let one = gpus(&["--gpus", "one-per-rank"], &[]);
    assert_eq!(one.0, own);
    assert!(one.1.contains("(GPU IPC): `--gpus near` hides none"), "{}", one.1);
    assert_eq!(gpus(&["--gpus", "one-per-rank", "--nics", "device-affinity"], &[]).0, own);
}

/// Below the answer, once, with the way out; not where it helps nothing, nor where GPUs are not used.
#[test]
fn ranks_on_another_socket_than_their_gpus_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("p.json").display().to_string();
    let place = |gpus: &[&str]| {
        let on =
            ["place", "pattern:halo-2d:4", "--on", "testdata/nics/four-gpus.toml", "-o", &file];
        let how = ["--strategies", "blocked", "--for", "openmpi5"];
        let arguments = [&on[..], &how, gpus].concat();
        let output = rankwright(&arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let weakness = "- 2 of 4 ranks are on another socket than their GPU (rank 0 on socket L#0 of g0 has \
                    nvml0 on socket L#1): `--ranks-per-gpu 1` puts each rank on cores beside its GPU\n";
    for gpus in ["near", "one-per-rank"] {
        let text = place(&["--gpus", gpus]);
        let told = "ranks are on another socket than their GPU";
        assert_eq!(text.matches(told).count(), 1, "{text}");
        for way_out in ["--ranks-per-gpu=1", "--cores-per-rank=4"] {
            let spread = place(&["--gpus", gpus, way_out]);
            assert!(!spread.contains(told), "{spread}");
        }
    }
    let text = place(&["--gpus", "near"]);
    assert!(text.contains(weakness), "{text}");
    assert!(!place(&[]).contains("GPU"));
}

#[test]
fn gpus_that_the_description_lacks_are_missed() {
    let on = ["map", "pattern:ring:4", "--strategy", "blocked", "--on", "testdata/nics/none.toml"];
    let said = |more: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&on[..], more].concat();
        let output = rankwright(&arguments).envs(variables.iter().copied()).output();
        String::from_utf8_lossy(&output.expect("the program starts").stderr).into_owned()
    };
    assert_eq!(said(&[], &[]), "");
    let lists_none = ": no node of none has one in its description (`cluster discover` finds GPUs; \
                      [[node.gpu]] in a cluster.toml)\n";
    let wanted = said(&["--gpus", "near"], &[]);
    assert_eq!(wanted, format!("warning: --gpus has no effect{lists_none}"));
    let granted = said(&[], &[("PBS_JOBID", "7"), ("CUDA_VISIBLE_DEVICES", "GPU-aa")]);
    assert!(granted.contains("the batch system granted GPUs, which are left to"), "{granted}");
}

/// A CPU program, and one that counts GPUs itself, need neither variables nor the shim.
#[test]
fn ranks_that_are_only_near_their_gpus_are_started_by_the_launcher_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let run = |arguments: &[&str]| {
        let output = rankwright(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(arguments, &output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let launched = |gpus: &[&str]| {
        let (file, to) = (at("p.json"), at("files"));
        let on = ["map", "pattern:ring:4", "--on", "testdata/nics/four-numa.toml", "-o", &file];
        run(&[&on[..], &["--strategy", "blocked"], gpus].concat());
        run(&["launch", &file, "--for", "openmpi4", "-o", &to, "--", "./app"])
    };
    let plain = launched(&[]);
    assert!(plain.contains("-rf ") || plain.contains("rankfile"), "{plain}");
    assert_eq!(launched(&["--gpus", "near"]), plain);
    let one = launched(&["--gpus", "one-per-rank"]);
    assert!(one.contains("rankwright-exec"), "{one}");
}
