//! `rankwright lint`: what it says of hand-written files, and what it makes of them.

macro_rules! assert_golden {
    ($name:expr, $text:expr) => {
        insta::with_settings!({snapshot_path => repository().join("testdata/golden/lint"), prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!($name, $text);
        });
    };
}

mod hostfile;
mod intel;
mod jobs;
pub(crate) mod launchers;
mod mappings;
pub(crate) mod sbatch;
mod slurm;
mod wrapper;

use std::fmt::Write;

use rankwright::launch::LAUNCHERS;
use rankwright::lint::{FORMATS, TRAPS};

use crate::command::{rankwright, repository, transcript};

const CLUSTER: [&str; 2] = ["--on", "testdata/lint/cluster.toml"];

fn lint(arguments: &[&str]) -> String {
    let arguments = [&["lint"], arguments].concat();
    let output = rankwright(&arguments).output().expect("the program starts");
    transcript(&arguments, &output)
}

#[test]
fn every_format_is_read_and_its_traps_are_told() {
    for (name, file, from, arguments) in [
        ("rankfile-4", "odd.rankfile", "openmpi4", ""),
        ("rankfile-5", "odd.rankfile", "openmpi5", "--bind-to :overload-allowed"),
        ("hostfile", "odd.hostfile", "mpich", "-rankmap 0,0,0,0,0,0,1,1,2,2,1"),
        ("hostfile-4-0", "odd.hostfile", "mpich:4.0", "-n 14"),
        ("configfile", "odd.configfile", "intelmpi", ""),
        ("machinefile", "odd.machinefile", "intelmpi", "-genv I_MPI_PIN_DOMAIN [0x3,0xc] -n 5"),
        ("slurm", "odd.slurm", "slurm", "--cpu-bind=map_cpu:0x3,1"),
        (
            "rank-order",
            "odd.rank_order",
            "craympich",
            "--nodelist nodeA[00-01] --ntasks-per-node=4 --cpu-bind=mask_cpu:0x1,2,4,108",
        ),
        ("sbatch", "odd.sbatch", "slurm", ""),
        ("flux", "odd.slurm", "flux", "-o cpu-affinity=map:0-1;2,3"),
    ] {
        let file = format!("testdata/lint/{file}");
        let arguments = [&file[..], "--from", from, "--launcher-args", arguments];
        assert_golden!(name, lint(&[&arguments[..], &CLUSTER].concat()));
    }
}

#[test]
fn without_a_cluster_cores_are_shown_where_the_file_counts_them() {
    let file = "testdata/lint/odd.rankfile";
    let mut text = lint(&[file, "--from", "openmpi4", "--format", "csv"]);
    text += &lint(&["testdata/lint/odd.hostfile", "--from", "mpich", "--format", "json"]);
    assert_golden!("without-cluster", text);
}

#[test]
fn the_chapter_has_every_trap_and_every_format() {
    let path = repository().join("docs/src/lint.md");
    let chapter = std::fs::read_to_string(path).expect("the chapter");
    let mut table = String::new();
    for trap in TRAPS {
        let _ = writeln!(table, "| `{}` | {} | {} |", trap.code, trap.versions, trap.summary);
    }
    assert!(chapter.contains(&table), "docs/src/lint.md must have these lines:\n{table}");
    let mut table = String::new();
    for format in FORMATS {
        let _ = writeln!(table, "| `{}` | {} |", format.name, format.summary);
    }
    assert!(chapter.contains(&table), "docs/src/lint.md must have these lines:\n{table}");
}

#[test]
fn a_rankfile_is_translated_for_every_launcher() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ranks");
    std::fs::write(&file, "rank 0=nodeA03 slot=0\nrank 1=nodeA01 slot=2\n").expect("it is ours");
    let file = file.to_str().expect("it is UTF-8");
    let read = [&["lint", file, "--from", "openmpi4"], &CLUSTER[..]].concat();
    for launcher in LAUNCHERS {
        let arguments = [&read[..], &["--to", launcher.name]].concat();
        let output = rankwright(&arguments).output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        // A launcher that cannot express it says so.
        let refused = output.status.code() == Some(4) && told.contains("cannot launch");
        assert!(output.status.success() || refused, "{}: {text}{told}", launcher.name);
        assert!(refused || text.contains("nodeA03"), "{}: {text}", launcher.name);
    }
    let out = folder.path().join("out");
    let write = ["--to", "mpich", "-o", out.to_str().expect("it is UTF-8"), "--", "./app", "x"];
    let output = rankwright(&[&read[..], &write].concat()).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("-rankmap 1,0") && text.ends_with("./app x\n"), "{text}");
    let hosts = std::fs::read_to_string(out.join("hosts")).expect("it is written");
    // Core L#2 has the PUs P#8 and P#10.
    assert_eq!(hosts, "nodeA01:1 binding=user:8+10\nnodeA03:1 binding=user:0+2\n");
}

#[test]
fn a_hundred_thousand_lines_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hosts");
    let line = |line| format!("n{line}:1 binding=user:p{line}\n");
    std::fs::write(&file, (0..100_000).map(line).collect::<String>()).expect("it is ours");
    let file = file.to_str().expect("it is UTF-8");
    let read = ["lint", file, "--from", "mpich:4.0"];
    let output = rankwright(&[&["-v"], &read[..]].concat()).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("binding-not-a-number: 99990 more"), "{told}");
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 200_005);
    let output = rankwright(&read).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for more in [
        "63  n63   not bound   not bound\nand 99936 more ranks (-v: all)\n\nhost",
        "n63       1  ?      ?\nand 99936 more hosts",
    ] {
        assert!(text.contains(more), "{text}");
    }
}

#[test]
fn a_rankfile_is_compared_with_the_default_by_the_placement_that_it_means() {
    let folder = tempfile::tempdir().unwrap();
    let (file, placement) = (folder.path().join("mine.rankfile"), folder.path().join("mine.json"));
    let (file, placement) = (file.to_str().unwrap(), placement.to_str().unwrap());
    let line = |rank| format!("rank {rank}=node{} slot={}\n", rank % 2, rank / 2);
    std::fs::write(file, (0..4).map(line).collect::<String>()).unwrap();
    let on = ["--on", "testdata/timeline/cluster.toml"];
    let lint = [&["lint", file, "--from", "openmpi4", "--placement", placement], &on[..]].concat();
    let output = rankwright(&lint).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&lint, &output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&format!("`rankwright report {placement} --profile app.rwp`")), "{said}");
    let report = |profile| {
        let report = ["-q", "report", placement, "--format", "json", "--profile", profile];
        rankwright(&[&report, &on[..]].concat()).output().expect("the program starts")
    };
    // The calls were recorded, so they are replayed as `place` does.
    let of_run = report("testdata/timeline/bursts.rwp");
    let data: serde_json::Value = serde_json::from_slice(&of_run.stdout).expect("JSON");
    assert_eq!(data["strategies"]["by"], "replay");
    assert_eq!(data["verdict"]["outcome"], "no-gain");
    let other = String::from_utf8(report("pattern:ring:8").stderr).unwrap();
    assert!(other.contains("the placement has jobs of [4] ranks, `ring-8` has [8]"), "{other}");
}
