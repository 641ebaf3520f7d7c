//! Scripts for sbatch: what `lint` says of them, held against a Slurm whose nodes have two packages of
//! four cores with two hardware threads.

use std::collections::BTreeMap;
use std::fmt::Write;

use rankwright::ids::parse_index_list;

use crate::command::{rankwright, repository, transcript};
use crate::every_day::slurm::Slurm;

/// What `lint` says of a script on nodes n0 and n1, as JSON.
fn read(folder: &std::path::Path, script: &str, arguments: &[&str]) -> serde_json::Value {
    let path = folder.join("job.sh");
    std::fs::write(&path, script).expect("the folder is writable");
    let xml = repository().join("testdata/lint/two-packages.xml");
    let mut cluster = "name = \"c\"\nrates = \"paper-2013\"\n".to_owned();
    let _ = writeln!(cluster, "[[node]]\nnames = \"n[0-1]\"\nxml = \"{}\"", xml.display());
    let on = folder.join("cluster.toml");
    std::fs::write(&on, cluster).expect("the folder is writable");
    let (path, on) = (path.display().to_string(), on.display().to_string());
    let arguments = [&["lint", &path, "--on", &on, "--format", "json"], arguments].concat();
    let output = rankwright(&arguments).output().expect("the program starts");
    let json = serde_json::from_slice(&output.stdout);
    json.unwrap_or_else(|_| panic!("{script}{}", transcript(&arguments, &output)))
}

/// Host and PUs of every rank; no PUs if it is unbound.
pub(crate) type Places = BTreeMap<u64, (String, Option<u64>)>;

fn predicted(reading: &serde_json::Value) -> Places {
    let place = |rank: &serde_json::Value| {
        let pus = rank["pus"].as_array().expect("they are known");
        let mask = pus.iter().map(|pu| 1 << pu.as_u64().expect("a number")).sum();
        let bound = rank["bound"].as_bool().expect("it is told");
        let host = rank["host"].as_str().expect("a name").to_owned();
        (rank["rank"].as_u64().expect("a number"), (host, bound.then_some(mask)))
    };
    reading["ranks"].as_array().expect("ranks").iter().map(place).collect()
}

/// Where Slurm puts the ranks: the hosts from what `srun -v` says, the masks from the logs,
/// because the CPUs need not exist here.
pub(crate) fn found(slurm: &Slurm, job: Option<&str>, script: &str) -> Places {
    let at = |name: &str| slurm.folder.path().join(name);
    std::fs::write(at("run.sh"), script).expect("the folder is writable");
    let logs = ["n0", "n1"].map(|node| (node, at(&format!("{node}.log"))));
    let log = |path: &std::path::Path| std::fs::read_to_string(path).expect("a log");
    let before = logs.each_ref().map(|(_, path)| log(path).len());
    let (output, run) = (at("output").display().to_string(), at("run.sh").display().to_string());
    // A script in an allocation by salloc has the same variables, and does not wait for the scheduler.
    let start = job.map_or("sbatch -o \"$1\" \"$2\"".to_owned(), |job| {
        format!("salloc -Q -N 2 --exclusive {job} bash \"$2\" >\"$1\" 2>&1")
    });
    let wait = format!("rm -f \"$1\"; {start} && until grep -qs ^done \"$1\"; do sleep 0.05; done");
    let told = slurm.told("exec", &["sh", "-c", &wait, "sh", &output, &run]);
    let text = std::fs::read_to_string(&output).unwrap_or_default();
    let mut masks: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for ((node, path), before) in logs.iter().zip(before) {
        let text = log(path)[before..].to_owned();
        let Some(line) = text.lines().find(|line| line.contains("_lllp_generate_cpu_bind jobid"))
        else {
            continue;
        };
        let list = line.rsplit(' ').next().unwrap_or_default().split(',');
        let mask = |mask: &str| u64::from_str_radix(mask.trim_start_matches("0x"), 16);
        masks.insert(node, list.map(|text| mask(text).expect("a mask")).collect());
    }
    let mut places = Places::new();
    // srun: launching StepId=7.0 on host n0, 2 tasks: [0,2]
    for line in text.lines().filter(|line| line.contains("launching StepId=")) {
        let words: Vec<&str> = line.split([' ', ',']).collect();
        let place = words.iter().position(|word| *word == "host").expect("a host") + 1;
        let list = line.rsplit(' ').next().unwrap_or_default().trim_matches(['[', ']']);
        let ranks = parse_index_list(list).expect("a list of ranks");
        for (local, rank) in ranks.into_iter().enumerate() {
            let mask = masks.get(words[place]).map(|masks| masks[local]);
            places.insert(rank.into(), (words[place].to_owned(), mask));
        }
    }
    assert!(!places.is_empty(), "{script}{text}{told:?}");
    places
}

/// A Slurm whose nodes n0 and n1 have two packages of four cores with two hardware threads.
pub(crate) fn slurm_with_packages() -> Option<Slurm> {
    let xml = repository().join("testdata/lint/two-packages.xml").display().to_string();
    let shape = ("NODE_SHAPE", "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CPUs=16");
    Slurm::start_with(&[shape, ("HWLOC_XMLFILE", &xml)])
}

/// The options of the job that sbatch itself starts.
const FIRST: &str = "-n 4";

#[test]
fn slurm_places_and_binds_as_read() {
    let Some(slurm) = slurm_with_packages() else { return };
    for (job, step) in [
        // Packages, cores, threads, and none of them.
        (FIRST, ""),
        ("-n 16", "-m cyclic"),
        ("--ntasks-per-node=16", ""),
        ("-n 5", ""),
        ("-n 16 -m block:block", ""),
        ("--ntasks-per-node=3 --nodelist=n1,n0", "-c 4"),
        ("-n 10", "-c 2"),
        ("-n 6", "-c4 -m block:block"),
        ("-n 4 -c 8", "-c $SLURM_CPUS_PER_TASK"),
        ("-n 24", "--cpu-bind=verbose,cores -m block:block"),
        ("-n 20", "--cpu-bind=verbose,sockets"),
        ("--hint=nomultithread", "-n 6"),
        ("-c 4", "-n 8"),
        ("--ntasks-per-node=4", "-n 7"),
    ] {
        let script = format!(
            "#!/bin/bash\n#SBATCH -N 2 --exclusive {job}\nsrun -v {step} true\necho done\n"
        );
        let reading = read(slurm.folder.path(), &script, &[]);
        assert_eq!(
            found(&slurm, Some(job).filter(|job| *job != FIRST), &script),
            predicted(&reading),
            "{script}{reading:#}"
        );
    }
}

#[test]
fn slurm_fills_shared_nodes_as_read() {
    let Some(slurm) = slurm_with_packages() else { return };
    for (job, step) in [("-n 4", ""), ("-n 20", "-m cyclic"), ("-n 10 -c 2", "-c 2 -n 9")] {
        let script = format!("#!/bin/bash\n#SBATCH -N 2 {job}\nsrun -v {step} true\necho done\n");
        let reading = read(slurm.folder.path(), &script, &[]);
        let mut warnings = reading["warnings"].as_array().expect("warnings").iter();
        let is_told = warnings.any(|warning| warning["code"] == "tasks-by-what-is-free");
        assert!(is_told, "{reading:#}");
        let ranks = reading["ranks"].as_array().expect("ranks").iter();
        let hosts = ranks.map(|rank| rank["host"].as_str().expect("a name").to_owned());
        let found = found(&slurm, None, &script).into_values().map(|(host, _)| host);
        assert_eq!(found.collect::<Vec<_>>(), hosts.collect::<Vec<_>>(), "{script}");
    }
}

#[test]
fn sbatch_refuses_the_options_that_it_is_said_to_refuse() {
    let Some(slurm) = slurm_with_packages() else { return };
    for (option, accepted) in [
        ("--ntask-per-node=2", false),
        ("--exclu", false),
        ("--foobar", false),
        ("--cpus-per-t=1", true),
        ("--wait-all-nodes=1", true),
        ("--get-user-env", true),
    ] {
        let script =
            format!("#!/bin/bash\n#SBATCH -N1 -n2 --exclusive\n#SBATCH {option}\nsrun true\n");
        let reading = read(slurm.folder.path(), &script, &[]);
        let said = format!("{}{}", reading["warnings"], reading["notes"]);
        let is_known = !said.contains("unknown-option") && !said.contains("has no option");
        std::fs::write(slurm.folder.path().join("try.sh"), &script)
            .expect("the folder is writable");
        let file = slurm.folder.path().join("try.sh").display().to_string();
        let submit = "sbatch --test-only -o /dev/null \"$1\" 2>&1 || true";
        let told = slurm.told("exec", &["sh", "-c", submit, "sh", &file]).stdout;
        let told = String::from_utf8_lossy(&told);
        let starts = !told.contains("unrecognized option") && !told.contains("ambiguous");
        assert_eq!((is_known, starts), (accepted, accepted), "{script}{told}{reading:#}");
    }
}

/// Checks code and line of the first warning of a script.
fn first_warning(folder: &std::path::Path, script: &str, code: &str, line: u32) {
    let script = format!("#!/bin/bash\n{script}");
    let reading = read(folder, &script, &[]);
    let warning = &reading["warnings"][0];
    assert_eq!((&warning["code"], &warning["line"]), (&code.into(), &line.into()), "{reading:#}");
}

#[test]
fn every_trap_of_scripts_is_told_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (script, code, line) in [
        ("#SBATCH -N2 --exclusive -c 4\n\nsrun ./a\n", "cpus-per-task-ignored", 4),
        ("#SBATCH -N2 --exclusive\n\nsrun --cpu-bind=none ./a\n", "cpu-bind-none", 4),
        ("#SBATCH -N2\nsrun -n 4 a\n", "tasks-by-what-is-free", 3),
        ("#SBATCH -N2 -n 4\n\nmpirun a\n", "tasks-by-what-is-free", 4),
        ("#SBATCH -N2 --ntasks-per-node=3 -n 5\nsrun a\n", "ntasks-per-node-and-ntasks", 2),
        ("#SBATCH -N2 --ntasks-per-node=3 -n 8\nsrun a\n", "ntasks-per-node-and-ntasks", 2),
        (
            "#SBATCH -N2 --exclusive\nexport MPICH_RANK_REORDER_FILE=order\nsrun a\n",
            "rank-order-not-used",
            3,
        ),
        (
            "#SBATCH -N2 --exclusive\nexport MPICH_RANK_REORDER_METHOD=0\ncp $F MPICH_RANK_ORDER\nsrun a\n",
            "rank-order-not-used",
            3,
        ),
        (
            "#SBATCH -N1 -w n0 -n 4\nexport UCX_NET_DEVICES=mlx5_0:1\nmpirun --map-by device=nic a\n",
            "one-device-for-all-ranks",
            3,
        ),
    ] {
        first_warning(folder.path(), script, code, line);
    }
    // The way out of the first one, and a loop whose variable is unknown but does not matter.
    let script = "#!/bin/bash\n#SBATCH -N2 --exclusive -c 4\nexport SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n\
                  for i in 1 2; do srun -n ${RANKS} ./a $i; done\n";
    let reading = read(folder.path(), script, &["--launcher-args", "RANKS=4"]);
    assert_eq!(reading["warnings"], serde_json::json!([]), "{reading:#}");
    assert_eq!(reading["ranks"][1]["pus"], serde_json::json!([1, 3, 5, 7]), "{reading:#}");
}

#[test]
fn mistakes_of_options_and_variables_are_told_with_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    for (script, code, line) in [
        ("#SBATCH -N2 -n4 --exclusive\n#SBATCH --ntask-per-node=2\nsrun a\n", "unknown-option", 3),
        ("#SBATCH -N2 -n4 --exclu\nsrun a\n", "unknown-option", 2),
        ("#SBATCH -N2 --exclusive\nsrun --label --cpus-per-tasks=1 -n 4 a\n", "unknown-option", 3),
        (
            "#SBATCH -N2 -n16 --exclusive\nexport OMP_NUM_THREADS=3,2\nsrun -c 2 a\n",
            "more-threads-than-pus",
            4,
        ),
        (
            "#SBATCH -N1 -w n0 --exclusive -n 4\nmpirun -x OMP_NUM_THREADS=5 --bind-to none a\n",
            "more-threads-than-pus",
            3,
        ),
        (
            "#SBATCH -N2 -n4 --exclusive\nset -e\n#SBATCH -c 2\nsrun a\n",
            "directive-after-command",
            4,
        ),
        ("#SBATCH -N1 -w n0 -n 2 -c 2\nsrun -n 8 -c 4 a\n", "step-beyond-job", 3),
        (
            "#SBATCH -N2 -n4 --exclusive\nexport CUDA_VISIBLE_DEVICES=$SLURM_LOCALID\nsrun a\n",
            "variable-of-another-launcher",
            3,
        ),
        ("#SBATCH -N2 -n4 --exclusive\nmpirun --oversubscirbe a\n", "unknown-option", 3),
        ("#SBATCH -N2 -n4 --exclusive\nmpirun --bind-to cores a\n", "unknown-policy", 3),
    ] {
        first_warning(folder.path(), script, code, line);
    }
}

/// The launch script names the file with the host of every task and the binding.
#[test]
fn the_script_of_launch_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (placement, cluster) = (at("p.json"), "examples/clusters/four-nodes.toml");
    let run = |arguments: &[&str]| {
        let output = rankwright(arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(arguments, &output));
        output.stdout
    };
    let map = ["map", "pattern:ring:8", "--on", cluster, "--strategy", "cyclic", "-o", &placement];
    run(&map);
    run(&["launch", &placement, "--for", "slurm", "-o", &at("files"), "--", "./a"]);
    let script = at("files/launch.sh");
    let found = run(&["lint", &script, "--on", cluster, "--format", "json"]);
    let found: serde_json::Value = serde_json::from_slice(&found).expect("JSON");
    let places = |ranks: &serde_json::Value, host: &str, cores: &str| -> Vec<(String, String)> {
        let ranks = ranks.as_array().expect("ranks").iter();
        ranks.map(|rank| (rank[host].to_string(), rank[cores].to_string())).collect()
    };
    let text = std::fs::read_to_string(&placement).expect("it was written");
    let placed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        places(&found["ranks"], "host", "pus"),
        places(&placed["jobs"][0]["ranks"], "node", "pus")
    );
}
