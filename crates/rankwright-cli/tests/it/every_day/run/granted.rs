//! `rankwright run` inside an allocation. The launcher and `scontrol` are scripts that say what they
//! were told; `slurm/` has the real ones.

use std::process::Command;

use rankwright::placement::PlacementFile;

use super::site::{PLACED, Site};
use crate::command::{on_this_host, pus_here, repository, say};
use crate::placements::{device, placement};

#[test]
fn a_job_is_placed_for_the_nodes_granted() {
    let site = Site::new();
    let (output, text) = site.run(Some(("n[1,3]", "4(x2)")), &PLACED);
    assert!(output.status.success(), "{text}");
    insta::assert_snapshot!(text);
    // Slurm names the CPUs: two of each node, the others belong to somebody else.
    let ids = "#!/bin/sh\necho '     Nodes=n[0-3] CPU_IDs=1,3 Mem=0 GRES='\n";
    site.program("scontrol", ids);
    let dry = [&["run", "--dry-run"], &PLACED[..]].concat();
    let (output, text) = site.output(site.command(Some(("n[0-3]", "2(x4)")), &dry), &dry);
    assert!(output.status.success(), "{text}");
    insta::assert_snapshot!(text);
    // It does not: no PU is taken that may be another job's.
    site.program("scontrol", "#!/bin/sh\nexit 1\n");
    let (output, text) = site.output(site.command(Some(("n[0-3]", "2(x4)")), &dry), &dry);
    assert!(output.status.success(), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn with_more_effort_the_answer_is_simulated() {
    let site = Site::new();
    for effort in ["fast", "normal"] {
        let traffic = "pattern:halo-2d:16:rate=2000,length=256KiB,messages=20,renumber";
        let placed = ["--profile", traffic, "--on", "cluster.toml", "--effort", effort];
        let arguments = [&["--dry-run", "-n", "16"], &placed[..], &["--", "./app"]].concat();
        let (output, text) = site.run(Some(("n[0-3]", "4(x4)")), &arguments);
        assert!(output.status.success(), "{text}");
        let (_, said) = text.split_once("--- standard error").expect("a transcript");
        insta::assert_snapshot!(said);
    }
}

#[test]
fn whatever_is_wrong_the_job_starts_unless_strict() {
    let site = Site::new();
    site.file("broken.rwp", "SQLite format 3, said no one");
    let job = Some(("n[0-3]", "4(x4)"));
    let mut all = String::new();
    let with = |job: Option<(&str, &str)>, profile: &str, more: &[&str], tasks: Option<&str>| {
        let first = ["run", "--profile", profile, "--on", "cluster.toml"];
        let arguments = [&first[..], more, &["--", "./app"]].concat();
        let mut command = site.command(job, &arguments);
        tasks.into_iter().for_each(|tasks| {
            command.env("SLURM_NTASKS", tasks);
        });
        site.output(command, &arguments)
    };
    for (job, profile, more, tasks) in [
        (job, "none.rwp", &[][..], None),
        (job, "broken.rwp", &[], Some("8")),
        (job, "app.rwp", &[], Some("6")),
        (job, "app.rwp", &["-n", "6"], None),
        (Some(("x[0-1]", "4(x2)")), "app.rwp", &[], None),
        (Some(("n0", "4")), "app.rwp", &[], None),
        (Some(("n[0-3", "4")), "app.rwp", &[], None),
        (Some(("f[0-3]", "3(x4)")), "app.rwp", &[], None),
        (job, "app.rwp", &["--shim", "/none", "--strategy", "best"], None),
        (job, "app.rwp", &["--cores-per-rank", "3"], None),
        (job, "app.rwp", &["--nics", "by-load"], None),
    ] {
        let (output, text) = with(job, profile, more, tasks);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("warning: not placed").count(), 1, "{text}");
        all += &text;
        let strict = [more, &["--strict"]].concat();
        let (output, text) = with(job, profile, &strict, tasks);
        // A strategy that does not exist is wrong in every job.
        let code = if more.contains(&"best") { 2 } else { 125 };
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(!text.contains("started:") && text.contains("error: "), "{text}");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_placement_that_does_not_fit_starts_nothing() {
    let site = Site::new();
    let here = on_this_host();
    let on_hosts = [("n0", 0), ("n1", 0), ("n2", 1)];
    let mut all = String::new();
    let mut gone = placement(1, false, &[(&here, 0)]);
    gone.jobs[0].ranks[0].nics = vec!["mlx5_77".to_owned()];
    gone.nodes[0].nics = vec![device("mlx5_77")];
    for (placement, job, more) in [
        (placement(4, false, &on_hosts), Some(("n[0-1]", "4(x2)")), &[][..]),
        (placement(4, false, &on_hosts), Some(("x[0-9]", "4(x10)")), &[]),
        (placement(4, false, &[("n0", 0), ("n0", 1), ("n0", 2)]), Some(("n0", "2")), &[]),
        (placement(60_001, false, &[(&here, 60_000)]), None, &[]),
        (placement(4, false, &on_hosts), None, &["--on", "cluster.toml"]),
        (gone, None, &[]),
    ] {
        site.placement(&placement);
        let arguments = [&["placement.json"], more, &["--", "./app"]].concat();
        let (output, text) = site.run(job, &arguments);
        assert_eq!(output.status.code(), Some(125), "{text}");
        assert!(!text.contains("started:"), "{text}");
        all += &text;
        if text.contains(" not granted: n") || text.contains(" not granted: x") {
            let check = ["check", "placement.json"];
            let (output, checked) = site.output(site.command(job, &check), &check);
            assert_eq!(output.status.code(), Some(4), "{checked}");
            assert!(
                checked.contains(" of the placement ") && !checked.contains("started:"),
                "{checked}"
            );
        }
        let forced = [&["placement.json", "--force"], more, &["--", "./app"]].concat();
        let (output, text) = site.run(job, &forced);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("started:") && text.contains("warning: "), "{text}");
    }
    // What is granted and how wide this machine is differ from host to host.
    let all = all.replace(&here, "[HERE]");
    let mut all: Vec<String> = all.lines().map(str::to_owned).collect();
    for line in &mut all {
        if let Some((before, after)) = line.split_once("this job may use P#") {
            let rest = after.split_once(' ').map_or("", |(_, rest)| rest);
            *line = format!("{before}this job may use P#[..] {rest}");
        }
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn options_without_effect_are_a_wrong_command_line() {
    let site = Site::new();
    site.placement(&placement(4, false, &[("n0", 0), ("n1", 0)]));
    for option in [["--format", "csv"], ["--output", "x"], ["--nics", "packed"]] {
        let (output, text) =
            site.run(None, &[&["placement.json"], &option[..], &["--", "./app"]].concat());
        assert_eq!(output.status.code(), Some(2), "{text}");
    }
}

#[test]
fn ranks_per_node_are_those_of_the_job_or_of_the_options() {
    let site = Site::new();
    let hosts_of = |job: (&str, &str), variables: &[(&str, &str)], more: &[&str]| {
        let first = ["run", "--profile", "app.rwp", "--on", "cluster.toml", "--strategy=blocked"];
        let end = ["--strict", "--binding", "exec", "--dry-run", "--", "./app"];
        let arguments = [&first[..], more, &end].concat();
        let mut command = site.command(Some(job), &arguments);
        command.envs(variables.iter().copied());
        let (output, text) = site.output(command, &arguments);
        if !output.status.success() {
            return text.lines().last().unwrap_or_default().to_owned();
        }
        let is_rank = |line: &&str| line.contains(" bound ");
        let place = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            format!("{}:{}", words[1], words[2])
        };
        text.lines().filter(is_rank).map(place).collect::<Vec<_>>().join(" ")
    };
    let whole = ("n[0-3]", "4(x4)");
    assert_eq!(
        hosts_of(whole, &[("SLURM_TASKS_PER_NODE", "3,1,2(x2)")], &[]),
        "n0:0 n0:1 n0:2 n1:0 n2:0 n2:2 n3:0 n3:2"
    );
    // Two cores for each: half of a node.
    let two = [("SLURM_TASKS_PER_NODE", "2(x4)"), ("SLURM_CPUS_PER_TASK", "2")];
    let in_pairs = "n0:0-1 n0:2-3 n1:0-1 n1:2-3 n2:0-1 n2:2-3 n3:0-1 n3:2-3";
    assert_eq!(hosts_of(whole, &two, &[]), in_pairs);
    assert_eq!(hosts_of(whole, &[("SLURM_TASKS_PER_NODE", "2(x4)")], &[]), in_pairs);
    // Variables of another set of hosts or of another number of ranks say nothing.
    let packed = "n0:0 n0:1 n0:2 n0:3 n1:0 n1:1 n1:2 n1:3";
    for other in ["1", "1(x4)", "4(x4)", "2(x", ""] {
        assert_eq!(hosts_of(whole, &[("SLURM_TASKS_PER_NODE", other)], &[]), packed, "{other}");
    }
    let one = [("SLURM_TASKS_PER_NODE", "2(x4)")];
    assert_eq!(hosts_of(whole, &one, &["--ranks-per-node", "4"]), packed);
    assert_eq!(
        hosts_of(whole, &one, &["--nodes", "n[2-3]"]),
        packed.replace("n1", "n3").replace("n0", "n2")
    );
    assert_eq!(
        hosts_of(whole, &one, &["--nodes", "1"]),
        "error: --nodes 1 (job 7 of Slurm has n[0-3]): 8 ranks need 8 free cores, but cluster `site` \
         offers 4"
    );
    assert_eq!(
        hosts_of(whole, &one, &["--nodes", "f0"]),
        "error: --nodes: f0 is not granted; job 7 of Slurm has n[0-3]"
    );
}

#[test]
fn a_placement_for_a_lab_says_how_to_enter_it() {
    let site = Site::new();
    let lab = "name = \"mine\"\nemulated = true\n[[node]]\nnames = \"n[0-1]\"\ntopology = \"core:4 pu:1\"\n";
    site.file("lab.toml", lab);
    let entry = "made for the lab `mine`, whose hosts are known only inside it: `rankwright lab exec \
                 --name mine head -- rankwright ...`";
    let told = |arguments: &[&str], code: i32, adapt: fn(&mut Command)| {
        let mut command = site.outside(arguments);
        adapt(&mut command);
        let (output, text) = site.output(command, arguments);
        assert_eq!(output.status.code(), Some(code), "{text}");
        text
    };
    let place = ["place", "app.rwp", "--on", "lab.toml", "-o", "lab.json", "--report", "lab.md"];
    let text = told(&place, 0, |_| ());
    assert!(text.contains(entry), "{text}");
    assert!(text.contains("\nrankwright lab exec --name mine head -- mpi"), "{text}");
    let report = std::fs::read_to_string(site.path().join("lab.md")).unwrap();
    let typed = "rankwright lab exec --name mine head -- rankwright run lab.json -- ";
    assert!(report.contains(typed), "{report}");
    let run = ["run", "lab.json", "--", "./app"];
    for (arguments, code) in [(&run[..], 125), (&["check", "lab.json"], 4)] {
        let text = told(arguments, code, |_| ());
        assert!(text.contains(entry) && !text.contains("started:"), "{text}");
    }
    let text = told(&["calibrate", "--on", "lab.toml"], 4, |_| ());
    assert!(text.contains(entry), "{text}");
    let text = told(&run, 0, |command| {
        command.env("RANKWRIGHT_LAB", "mine");
    });
    assert!(text.contains("started:") && !text.contains("lab exec"), "{text}");
}

#[test]
fn a_host_without_an_address_does_not_reach_ssh() {
    let site = Site::new();
    site.program("getent", "#!/bin/sh\ncase $* in *n1*) exit 2 ;; esac\n");
    site.program("ssh", "#!/bin/sh\necho \"hostname ${OTHER_NAME:-$3}\"\n");
    site.placement(&placement(4, false, &[("n0", 0), ("n1", 0)]));
    let run = |options: &[&str], other_name: &str| {
        let arguments = [&["run", "placement.json"], options, &["--", "./app"]].concat();
        let mut command = site.outside(&arguments);
        command.env_remove("OMPI_MCA_plm_rsh_agent").env_remove("HYDRA_LAUNCHER_EXEC");
        if !other_name.is_empty() {
            command.env("OTHER_NAME", other_name);
        }
        let (output, text) = site.output(command, &arguments);
        (output.status.code(), text)
    };
    let told = "1 of the 2 hosts of the placement has no address here: n1; start it on the cluster";
    let (code, text) = run(&[], "");
    assert_eq!(code, Some(125), "{text}");
    assert!(text.contains(&format!("error: placement.json: {told}")), "{text}");
    assert!(text.contains("`rankwright cluster discover`"), "{text}");
    assert!(!text.contains("started:"), "{text}");
    let (code, text) = run(&["--force"], "");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(&format!("warning: {told}")) && text.contains("started:"), "{text}");
    // `check` starts nothing there either.
    let check = ["check", "placement.json"];
    let mut command = site.outside(&check);
    command.env_remove("OMPI_MCA_plm_rsh_agent").env_remove("HYDRA_LAUNCHER_EXEC");
    let (output, text) = site.output(command, &check);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains(&format!("error: placement.json: {told}")), "{text}");
    assert!(!text.contains("started:"), "{text}");
    // Nothing is started; ssh knows the host by another name; something else than ssh is called.
    let args = "--launcher-args=-launcher slurm";
    for (options, other_name) in
        [(&["--dry-run"][..], ""), (&[], "10.0.0.5"), (&["--agent=rsh"], ""), (&[args], "")]
    {
        let (code, text) = run(options, other_name);
        assert_eq!(code, Some(0), "{options:?}: {text}");
        assert!(!text.contains("no address"), "{options:?}: {text}");
    }
}

#[test]
fn a_placement_for_invented_hosts_does_not_reach_ssh() {
    let site = Site::new();
    for on in ["synthetic:core:8 pu:1", "paper:2013"] {
        let made = ["-q", "map", "app.rwp", "--on", on, "--strategy=blocked", "-o", "p.json"];
        assert!(site.outside(&made).status().expect("it starts").success());
        let (output, text) = site.run(None, &["p.json", "--", "./app"]);
        assert_eq!(output.status.code(), Some(125), "{text}");
        assert!(text.contains("error: p.json: made for invented hosts ("), "{text}");
        let (_, text) = site.run(None, &["p.json", "--force", "--", "./app"]);
        assert!(text.contains("warning: made for invented hosts ("), "{text}");
        assert!(text.contains("started:"), "{text}");
        let check = ["check", "p.json"];
        let (output, text) = site.output(site.outside(&check), &check);
        assert_eq!(output.status.code(), Some(4), "{text}");
        assert!(text.contains("error: p.json: made for invented hosts ("), "{text}");
        let launch = ["launch", "p.json", "--for", "mpich", "-o", "out", "--", "./app"];
        let (output, text) = site.output(site.outside(&launch), &launch);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("warning: p.json: made for invented hosts ("), "{text}");
        let place = ["place", "app.rwp", "--on", on, "-o", "placed.json"];
        let (output, text) = site.output(site.outside(&place), &place);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("placed.json: made for invented hosts ("), "{text}");
    }
    // Hosts stand in the order of the cluster, not in that of their letters.
    let many = ["place", "pattern:ring:12", "--on", "synthetic:core:1 pu:1", "--nodes", "12"];
    let many = [&many[..], &["-o", "many.json"]].concat();
    let (_, text) = site.output(site.outside(&many), &many);
    assert!(text.contains("made for invented hosts (node[0-11]): "), "{text}");
    let named = ["-q", "map", "app.rwp", "--on", "synthetic:core:8 pu:1", "--nodes", "n0"];
    let more = ["--strategy=blocked", "-o", "p.json"];
    assert!(site.outside(&[&named[..], &more].concat()).status().expect("it starts").success());
    let (_, text) = site.run(None, &["p.json", "--", "./app"]);
    assert!(text.contains("started:"), "{text}");
}

#[test]
fn devices_are_placed_with_the_cores() {
    let site = Site::new();
    let cluster = std::fs::read_to_string(repository().join("testdata/nics/four-numa.toml"));
    site.file("four-numa.toml", &cluster.expect("it is there"));
    let placed = ["--profile", "app.rwp", "--on", "four-numa.toml", "--cores-per-rank", "4"];
    let devices = ["--nics", "device-affinity", "--fabric", "cxi", "--dry-run", "--", "./app"];
    let (output, text) = site.run(Some(("t[0-1]", "16(x2)")), &[&placed[..], &devices].concat());
    assert!(output.status.success(), "{text}");
    insta::assert_snapshot!(text);
}

/// Of the eight GPUs of a node Slurm grants the last four, in the order of the bus.

#[test]
fn gpus_are_those_that_are_granted() {
    let site = Site::new();
    let cluster = std::fs::read_to_string(repository().join("testdata/nics/four-numa.toml"));
    site.file("four-numa.toml", &cluster.expect("it is there"));
    let line = "Nodes=t[0-1] CPU_IDs=0-15 Mem=0 GRES=gpu:mi250:4(IDX:4-7)";
    site.program("scontrol", &format!("#!/bin/sh\necho '   {line}'\n"));
    let variables = |gpus: &[&str], preset: &[(&str, &str)]| {
        let placed = ["run", "--profile", "app.rwp", "--on", "four-numa.toml", "--dry-run"];
        let how = ["--strategy", "blocked", "--cores-per-rank", "4"];
        let arguments = [&placed[..], &how, gpus, &["--", "./app"]].concat();
        let mut command = site.command(Some(("t[0-1]", "16(x2)")), &arguments);
        command.env("SLURM_GPUS_ON_NODE", "4").envs(preset.iter().copied());
        let (output, text) = site.output(command, &arguments);
        assert!(output.status.success(), "{text}");
        text
    };
    // The third and the first core of a node are beside its GPUs.
    let near = variables(&[], &[]);
    assert!(near.contains("ranks are ordered by GPU") && !near.contains("VISIBLE"), "{near}");
    let own = |preset: &[(&str, &str)]| -> Vec<String> {
        let text = variables(&["--gpus", "one-per-rank"], preset);
        let values = text.split("ROCR_VISIBLE_DEVICES=").skip(1);
        values.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect()).collect()
    };
    let within = own(&[]);
    let mut sorted = within[..4].to_vec();
    sorted.sort();
    assert_eq!(sorted, ["0", "1", "2", "3"]);
    assert_eq!(within[..4], within[4..]);
    assert_eq!(own(&[("ROCR_VISIBLE_DEVICES", "0,1,2,3")]), within);
    // Without a cgroup the GPUs keep their numbers.
    let numbers = own(&[("ROCR_VISIBLE_DEVICES", "4,5,6,7")]);
    let higher: Vec<String> =
        within.iter().map(|own| (own.parse::<u32>().expect("a number") + 4).to_string()).collect();
    assert_eq!(numbers, higher);
    // What somebody chose before is not undone, but not without a word.
    let other = variables(&["--gpus", "one-per-rank"], &[("ROCR_VISIBLE_DEVICES", "7")]);
    let warning = "warning: rank 0: ROCR_VISIBLE_DEVICES=7 is kept: GPU 0, which the rank should get, is \
                   not in it";
    assert!(other.contains(warning), "{other}");
}

#[test]
fn cores_that_are_not_granted_start_nothing_or_the_default() {
    if pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let site = Site::new();
    let here = on_this_host();
    let pair = ["-q", "traffic", "generate", "ring:2", "-o", "pair.rwp"];
    assert!(site.outside(&pair).status().expect("it starts").success());
    site.placement(&placement(2, false, &[(&here, 0), (&here, 1)]));
    // Of this host the job has both CPUs by its variables, but only one by the kernel.
    let confined = |arguments: &[&str]| {
        let ours = site.command(Some((&here, "2")), arguments);
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(ours.get_program()).args(ours.get_args());
        command.current_dir(site.path());
        for (name, value) in ours.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        site.output(command, arguments)
    };
    let (output, text) = confined(&["run", "placement.json", "--", "./app"]);
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("PUs P#1 of ") && text.contains("may use P#0 there"), "{text}");
    assert!(!text.contains("started:"), "{text}");
    let (output, text) =
        confined(&["run", "--profile", "pair.rwp", "--on", "synthetic:core:2 pu:1", "--", "./app"]);
    assert!(output.status.success() && text.contains("started: -n 2 ./app"), "{text}");
    assert!(text.contains("warning: not placed") && text.contains("may use P#0 there"), "{text}");
}

/// How many ranks of the site's `placement.json` are on each of these nodes.
fn ranks_on<const NODES: usize>(site: &Site, nodes: [&str; NODES]) -> [usize; NODES] {
    let file = std::fs::read_to_string(site.path().join("placement.json")).expect("written");
    let file = PlacementFile::parse(&file, "placement.json").expect("a placement");
    nodes.map(|node| file.jobs[0].ranks.iter().filter(|rank| rank.node == node).count())
}

#[test]
fn place_takes_the_ranks_per_node_of_the_job_unless_an_option_says_otherwise() {
    let site = Site::new();
    let placed = |tasks: &str, more: &[&str]| {
        let place = ["place", "app.rwp", "--on", "cluster.toml", "--for", "mpich"];
        let arguments = [&place[..], more].concat();
        let mut command = site.command(Some(("n[1-3]", "4(x3)")), &arguments);
        command.env("SLURM_TASKS_PER_NODE", tasks);
        let (output, text) = site.output(command, &arguments);
        assert!(output.status.success(), "{text}");
        (ranks_on(&site, ["n0", "n1", "n2", "n3"]), text)
    };
    let line = "ranks per node as job 7 of Slurm has tasks (SLURM_TASKS_PER_NODE=3(x2),2)";
    let (ranks, text) = placed("3(x2),2", &[]);
    assert_eq!(ranks, [0, 3, 3, 2], "{text}");
    assert!(text.contains(line), "{text}");
    for more in [&["--ranks-per-node", "4"][..], &["--nodes", "2"]] {
        let (ranks, text) = placed("3(x2),2", more);
        assert!(ranks.contains(&4) && !text.contains("ranks per node as"), "{text}");
    }
    // Tasks of another number than the ranks say nothing about them.
    let (_, text) = placed("1(x3)", &[]);
    assert!(!text.contains("ranks per node as"), "{text}");
}

#[test]
fn place_takes_the_nodes_of_the_job_if_its_ranks_fit_there() {
    let site = Site::new();
    site.file("two", "n2\nn2\nn3\nn3\n");
    site.file("one", "n3\n");
    let placed = |nodes: &str| {
        let arguments = ["place", "app.rwp", "--on", "cluster.toml", "--for", "mpich"];
        let mut command = site.outside(&arguments);
        command.envs([("PBS_JOBID", "88.head"), ("PBS_NODEFILE", nodes)]);
        let (output, text) = site.output(command, &arguments);
        assert!(output.status.success(), "{text}");
        (ranks_on(&site, ["n2", "n3"]), text)
    };
    let (ranks, text) = placed("two");
    assert_eq!(ranks, [4, 4], "{text}");
    assert!(text.contains("only the nodes of job 88.head of PBS: n[2-3]"), "{text}");
    let (_, text) = placed("one");
    let warning = "warning: job 88.head of PBS has only n3, too few for 8 ranks: planned for all \
                   nodes of `site`";
    assert!(text.contains(warning), "{text}");
}

#[test]
fn place_warns_of_nodes_that_the_job_has_in_part() {
    let site = Site::new();
    let said = |cpus: &str, more: &[&str]| {
        let place = ["place", "app.rwp", "--on", "cluster.toml", "--for", "mpich"];
        let arguments = [&place[..], more].concat();
        let mut command = site.command(Some(("n[1-2]", cpus)), &arguments);
        command.env("SLURM_TASKS_PER_NODE", "4(x2)");
        let (output, text) = site.output(command, &arguments);
        assert!(output.status.success(), "{text}");
        text
    };
    let warning = "warning: job 7 of Slurm has n2 in part, but all their cores are planned with; for \
                   those granted: `rankwright cluster import slurm: --on CLUSTER -o job.toml`, then --on \
                   job.toml";
    for more in [&[][..], &["--nodes", "2"], &["--ranks-per-node", "4"]] {
        assert!(said("4,2", more).contains(warning), "{more:?}");
        assert!(!said("4(x2)", more).contains("in part"), "{more:?}");
    }
}

#[test]
fn place_warns_of_gpus_that_the_job_has_in_part() {
    let site = Site::new();
    let gpus = |node: &str| {
        let gpu = |number: u32| format!("[[node.gpu]]\nname = \"cuda{number}\"\n");
        let gpus: String = (0..4).map(gpu).collect();
        format!("[[node]]\nnames = \"{node}\"\ntopology = \"core:4 pu:1\"\n{gpus}")
    };
    site.file("gpus.toml", &format!("format = 2\nname = \"gpus\"\n{}", gpus("n[1-2]")));
    let said = |granted: &[(&str, &str)]| {
        let arguments = ["place", "app.rwp", "--on", "gpus.toml", "--for", "mpich"];
        let mut command = site.command(Some(("n[1-2]", "4(x2)")), &arguments);
        command.env("SLURM_TASKS_PER_NODE", "4(x2)").envs(granted.iter().copied());
        let (output, text) = site.output(command, &arguments);
        assert!(output.status.success(), "{text}");
        text
    };
    let warning = |count: &str| {
        format!(
            "warning: this job has {count} here, the nodes of gpus have 4: which of them are granted is not \
             known, so ranks may be far from theirs: `rankwright cluster import slurm: --on CLUSTER -o \
             job.toml`, then --on job.toml"
        )
    };
    for (name, list, count) in [
        ("SLURM_JOB_GPUS", "2-3", "2 GPUs"),
        ("SLURM_GPUS_ON_NODE", "1", "1 GPU"),
        ("CUDA_VISIBLE_DEVICES", "0,1", "2 GPUs"),
    ] {
        let text = said(&[(name, list)]);
        assert!(text.contains(&warning(count)), "{text}");
    }
    assert!(!said(&[("SLURM_JOB_GPUS", "0-3")]).contains("granted"));
    assert!(!said(&[]).contains("granted"));
}
