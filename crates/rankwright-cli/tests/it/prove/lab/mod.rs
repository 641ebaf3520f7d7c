//! Emulated clusters: made, used, removed, and nothing left behind, whatever happens in between.
//! Every test keeps its labs in a folder of its own, so that tests run side by side.

mod calibrate;
mod counters;
mod delay;
mod devices;
mod mpi;
mod slurm;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::command::{rankwright, say, signal};

/// A folder of labs; they go with it.
struct Labs {
    folder: TempDir,
    links: Vec<String>,
}

impl Labs {
    /// `None` where namespaces are not permitted; the reason is printed.
    fn new() -> Option<Self> {
        for user in [&[][..], &["--user", "--map-root-user"]] {
            let mut unshare = Command::new("unshare");
            unshare.args(["--net", "--uts", "--ipc", "--mount"]).args(user).arg("true");
            let permitted = unshare.stderr(Stdio::null()).status();
            if permitted.is_ok_and(|status| status.success()) {
                let folder = tempfile::tempdir().expect("a folder can be made");
                return Some(Self { folder, links: host_links() });
            }
        }
        say("SKIPPED: namespaces are not permitted here");
        None
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = rankwright(&["lab"]);
        command.args(arguments).env("RANKWRIGHT_LAB_FOLDER", self.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Standard output of a command that succeeds.
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Standard error of a command that ends with `code`.
    fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).expect("text")
    }

    fn up(&self, name: &str, nodes: &str) -> String {
        let options = ["--nodes", nodes, "--cores", "4", "--nic", "1 Gbit/s", "--name", name];
        self.ok(&[&["up"][..], &options].concat())
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("labs")
    }

    /// The processes in any lab of the folder.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("rankwright-lab:{}", self.path().display());
        let pid = |entry: fs::DirEntry| {
            let mounts = fs::read_to_string(entry.path().join("mountinfo")).ok()?;
            entry.file_name().to_str()?.parse().ok().filter(|_| mounts.contains(&mark))
        };
        fs::read_dir("/proc").expect("it exists").filter_map(|entry| pid(entry.ok()?)).collect()
    }

    fn assert_nothing_left(&self) {
        assert_eq!(self.processes(), Vec::<u32>::new());
        assert!(!self.path().exists(), "the folder of labs is left");
        assert_eq!(host_links(), self.links, "network devices of the host changed");
    }

    /// A folder of programs that stand before the system's; `tc` does what `script` says.
    fn path_with_tc(&self, script: &str) -> std::ffi::OsString {
        let programs = self.folder.path().join("programs");
        fs::create_dir_all(&programs).unwrap();
        fs::write(programs.join("tc"), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(programs.join("tc"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut path = programs.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").expect("there is a path"));
        path
    }
}

impl Drop for Labs {
    fn drop(&mut self) {
        self.run(&["down", "--all"]);
    }
}

fn host_links() -> Vec<String> {
    let links = fs::read_dir("/sys/class/net").expect("it exists");
    let mut names: Vec<String> =
        links.map(|link| link.unwrap().file_name().to_string_lossy().into()).collect();
    names.sort();
    names
}

/// Waits until something is so; the bound is far above what any machine needs.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(5));
    }
}

/// Bytes out and in of each node.
fn counters(labs: &Labs, name: &str) -> Vec<(u64, u64)> {
    let text = labs.ok(&["counters", "--name", name, "--format", "csv"]);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("node,nic,bytes_in,packets_in,bytes_out,packets_out"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[4].parse().unwrap(), cells[2].parse().unwrap())
    };
    lines.map(row).collect()
}

#[test]
fn a_lab_is_made_used_and_removed() {
    let Some(labs) = Labs::new() else { return };
    let description = labs.up("a", "12");
    for line in [
        "emulated = true",
        "names = \"node[00-11]\"",
        "topology = \"pack:1 core:4 pu:1\"",
        "bandwidth = \"1 Gbit/s\"",
    ] {
        assert!(description.contains(line), "{description}");
    }
    let status = labs.ok(&["status", "--format", "csv"]);
    assert_eq!(status, "lab,state,nodes,cores,nic,processes\na,up,12,4,1 Gbit/s,0\n");

    let inside = labs.ok(&["exec", "--name", "a", "node03", "--", "sh", "-c", "hostname; pwd"]);
    let here = crate::command::repository();
    assert_eq!(inside, format!("node03\n{}\n", here.display()));
    assert_eq!(labs.ok(&["exec", "--name", "a", "10.98.0.1", "hostname"]), "node00\n");
    assert!(labs.ok(&["exec", "--name", "a", "head", "--", "env"]).contains("RANKWRIGHT_AGENT=/"));
    labs.fails(&["exec", "--name", "a", "head", "--", "sh", "-c", "exit 7"], 7);
    labs.fails(&["exec", "--name", "a", "head", "--", "no-such-program"], 127);
    let error = labs.fails(&["exec", "--name", "a", "node77", "--", "true"], 125);
    assert!(error.contains("no node `node77`; the lab has `head` and node00 to node11"), "{error}");

    assert_eq!(counters(&labs, "a"), [(0, 0); 12], "an idle network is silent");
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
    let again = labs.fails(&["down", "--name", "a"], 0);
    assert!(again.contains("lab `a` was not up"), "{again}");
    let error = labs.fails(&["counters", "--name", "a"], 1);
    assert!(error.contains("no lab `a` is up; start one with `rankwright lab up`"), "{error}");
}

#[test]
fn the_remote_shell_behaves_as_ssh() {
    let Some(labs) = Labs::new() else { return };
    labs.up("a", "2");
    let agent = labs.path().join("a/agent");
    let shell = |arguments: &[&str]| {
        let mut command = Command::new(&agent);
        command.args(arguments).env("RANKWRIGHT_TEST", "1").env("PATH", "/usr/bin:/bin");
        command.output().expect("the agent starts")
    };
    let output = shell(&["-x", "-l", "root", "node1", "hostname;", "echo", "$((1+1))", "'a  b'"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "node1\n2 a  b\n");
    let output = shell(&["node0", "env"]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("RANKWRIGHT_TEST"), "{output:?}");
    assert_eq!(shell(&["node1", "exit 3"]).status.code(), Some(3));
    let output = shell(&["node5", "true"]);
    assert_eq!(output.status.code(), Some(255), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no node `node5`"));
}

#[test]
fn two_labs_are_up_at_once_but_not_two_of_one_name() {
    let Some(labs) = Labs::new() else { return };
    labs.up("a", "2");
    labs.up("b", "1");
    let error =
        labs.fails(&["up", "--nodes", "1", "--cores", "1", "--nic", "1 Gbit/s", "--name", "a"], 1);
    assert!(error.contains("lab `a` exists already"), "{error}");
    assert!(error.contains("lab down --name a"), "{error}");
    labs.ok(&["down", "--name", "a"]);
    assert_eq!(labs.ok(&["exec", "--name", "b", "node0", "hostname"]), "node0\n");
    labs.up("c", "1");
    labs.ok(&["down", "--all"]);
    labs.assert_nothing_left();
}

#[test]
fn down_ends_the_programs_inside_and_no_others() {
    let Some(labs) = Labs::new() else { return };
    labs.up("a", "2");
    labs.up("b", "1");
    let mut inside = labs.command(&["exec", "--name", "a", "node1", "sleep", "300"]);
    let mut inside = inside.spawn().expect("it starts");
    let mut outside = labs.command(&["exec", "--name", "b", "node0", "sleep", "300"]);
    let mut outside = outside.spawn().expect("it starts");
    let running = || labs.ok(&["status", "--format", "csv"]);
    wait_until("both programs are inside", || {
        running().matches(",1\n").count() == 2 && labs.processes().contains(&inside.id())
    });
    labs.ok(&["down", "--name", "a"]);
    assert_eq!(inside.wait().expect("it ended").code(), None, "it was killed");
    assert!(outside.try_wait().expect("it can be asked").is_none(), "it still runs");
    labs.ok(&["down", "--name", "b"]);
    outside.wait().expect("it ended");
    labs.assert_nothing_left();
}

#[test]
fn a_lab_whose_holders_were_killed_says_so_and_goes_down() {
    let Some(labs) = Labs::new() else { return };
    labs.up("a", "3");
    let mut left = labs.command(&["exec", "--name", "a", "node2", "sleep", "300"]);
    let mut left = left.spawn().expect("it starts");
    wait_until("it is inside", || labs.processes().contains(&left.id()));
    let record = fs::read_to_string(labs.path().join("a/lab.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    for node in record["nodes"].as_array().unwrap() {
        signal("KILL", node["holder"].as_i64().expect("a number"));
    }
    wait_until("only head and program are left", || labs.processes().len() == 2);
    assert!(labs.ok(&["status", "--format", "csv"]).contains("a,broken,3,"));
    let error = labs.fails(&["exec", "--name", "a", "node0", "true"], 125);
    assert!(error.contains("the process that holds node0 has ended"), "{error}");
    labs.fails(&["counters", "--name", "a"], 1);
    labs.ok(&["down", "--name", "a"]);
    left.wait().expect("it ended");
    labs.assert_nothing_left();
}

const UP: [&str; 9] = ["up", "--nodes", "2", "--cores", "1", "--nic", "1 Gbit/s", "--name", "a"];

#[test]
fn an_up_that_fails_leaves_nothing() {
    let Some(labs) = Labs::new() else { return };
    let path = labs.path_with_tc("echo no such qdisc >&2; exit 1");
    let output = labs.command(&UP).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no such qdisc"), "{output:?}");
    assert!(output.stdout.is_empty());
    labs.assert_nothing_left();

    let mut up = labs.command(&UP).stdout(Stdio::piped()).spawn().expect("it starts");
    drop(up.stdout.take());
    assert_eq!(up.wait().expect("it ends").code(), Some(1), "nobody reads the description");
    labs.assert_nothing_left();

    let error = labs.fails(&[&UP[..], &["-o", "/no/such/folder/c.toml"]].concat(), 1);
    assert!(error.contains("/no/such/folder/c.toml"), "{error}");
    labs.assert_nothing_left();
}

#[test]
fn an_up_that_is_interrupted_leaves_nothing() {
    let Some(labs) = Labs::new() else { return };
    let seen = labs.folder.path().join("seen");
    let path = labs.path_with_tc(&format!("touch {}; exec sleep 50", seen.display()));
    let mut up = labs.command(&UP);
    up.env("PATH", path).stderr(Stdio::piped()).process_group(0);
    let up = up.spawn().expect("it starts");
    wait_until("it is at work", || seen.exists());
    // As a terminal does: to the whole group.
    signal("INT", -i64::from(up.id()));
    let output = up.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    labs.assert_nothing_left();
}

#[test]
fn what_an_up_leaves_that_was_killed_goes_down() {
    let Some(labs) = Labs::new() else { return };
    let seen = labs.folder.path().join("seen");
    // It is only in the network namespace of the switch.
    let path = labs
        .path_with_tc(&format!("echo $$ >{0}.new; mv {0}.new {0}; exec sleep 50", seen.display()));
    let mut up = labs.command(&UP).env("PATH", path).spawn().expect("it starts");
    wait_until("it is at work", || seen.exists());
    up.kill().expect("it runs");
    up.wait().expect("it ended");
    assert!(labs.ok(&["status", "--format", "csv"]).contains("a,unfinished,2,"));
    let error = labs.fails(&["exec", "--name", "a", "head", "true"], 125);
    assert!(error.contains("its start was interrupted"), "{error}");
    let error = labs.fails(&UP, 1);
    assert!(error.contains("exists already"), "{error}");
    // Half of a record, as no lab of ours writes it.
    fs::write(labs.path().join("a/partial"), "{").unwrap();
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
    let pid = fs::read_to_string(&seen).unwrap();
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "still runs: {state}");
}

#[test]
fn a_lab_without_a_readable_record_goes_down() {
    let Some(labs) = Labs::new() else { return };
    labs.up("a", "2");
    fs::write(labs.path().join("a/lab.json"), "{\"format\": 1, \"comp").unwrap();
    let error = labs.fails(&["counters", "--name", "a"], 3);
    assert!(error.contains("lab.json:1"), "{error}");
    assert!(labs.ok(&["status", "--format", "csv"]).contains("a,unfinished,0,"));
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
    labs.up("a", "2");
    fs::remove_dir_all(labs.path()).unwrap();
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
}

#[test]
fn where_namespaces_are_not_permitted_it_says_so() {
    // A user that the namespace around it does not know may make no other.
    let program = env!("CARGO_BIN_EXE_rankwright");
    let labs = tempfile::tempdir().unwrap();
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", program, "lab"]).args(UP).env("NO_COLOR", "1");
    let output = unshare.env("RANKWRIGHT_LAB_FOLDER", labs.path()).output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    if !error.starts_with("error:") {
        say("SKIPPED: user namespaces are not permitted here");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("a lab needs namespaces, which are not permitted here"), "{error}");
    assert!(error.contains("run it as root"), "{error}");
    assert_eq!(fs::read_dir(labs.path()).unwrap().count(), 0);
}

#[test]
fn sizes_and_rates_without_sense_are_refused() {
    let labs = Path::new("/nonexistent");
    let enough = ["--nodes", "4", "--cores", "4", "--nic", "1 Gbit/s"];
    let tree = ["--cores", "4", "--nic", "1 Gbit/s", "--tiers"];
    let cases = [
        (vec!["--nodes", "0"], "from 1 to 250"),
        (vec!["--nodes", "300"], "from 1 to 250"),
        (vec!["--cores", "0"], "from 1 to 1024"),
        (vec!["--nic", "0"], "expected a rate from 1 B/s"),
        (vec!["--nic", "0 Mbit/s"], "expected a rate from 1 B/s"),
        (vec!["--nic", "1 kbit/s"], "from 1 Mbit/s to 100 Gbit/s"),
        (enough[..4].to_vec(), "--nic <RATE>"),
        (tree[..4].to_vec(), "--nodes <NODES>"),
        ([&enough[..], &["--name", "../x"]].concat(), "expected up to 40 of a-z, 0-9 and -"),
        ([&enough[..], &["--nics", "0"]].concat(), "expected a number from 1 to 4"),
        ([&enough[..], &["--nics", "5"]].concat(), "expected a number from 1 to 4"),
        (
            vec!["--nodes", "4", "--cores", "3", "--nic", "1 Gbit/s", "--nics", "2"],
            "--nics 2: --cores 3 cannot be split into two NUMA nodes; give an even number",
        ),
        (
            [&tree[..], &["4x4", "--nodes", "15"]].concat(),
            "--tiers 4x4 has 16 nodes, --nodes says 15; leave --nodes out",
        ),
        ([&tree[..], &["4x64"]].concat(), "found 256 nodes, expected at most 250 in all"),
        ([&tree[..], &["4"]].concat(), "expected switches x nodes like 4x4:200Mbit/s"),
        ([&tree[..], &["4x4:fast"]].concat(), "expected a rate"),
        ([&enough[..], &["--delay", "2 s"]].concat(), "found 2 s, expected a latency from 500 us"),
        ([&enough[..], &["--delay", "1"]].concat(), "expected a time"),
    ];
    for (options, message) in cases {
        let mut command = rankwright(&["lab", "up"]);
        let output = command.args(&options).env("RANKWRIGHT_LAB_FOLDER", labs).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {error}");
        assert!(error.contains(message), "{options:?}: {error}");
    }
    assert!(!labs.exists());
}
