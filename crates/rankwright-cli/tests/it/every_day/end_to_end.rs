//! End to end, compared with the kernel: real programs are profiled, placed, and run as placed
//! in a lab; the bytes that profile and placement predict for each node's network device must be
//! those that the device counted, but for the headers of the protocol.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::Value;

use crate::command::{rankwright, repository, say, transcript};

/// How much more a device may count than is predicted: headers and acknowledgements.
const HEADERS: f64 = 0.08;

/// A lab that is removed at the end.
struct Lab {
    name: String,
    folder: tempfile::TempDir,
}

impl Lab {
    /// Four nodes; `None` (and said so) where that is not permitted.
    fn up() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let name = format!("e2e-{}", std::process::id());
        let lab = Self { name, folder };
        let cluster = lab.file("cluster.toml");
        let shape = ["--nodes", "4", "--cores", "4", "--nic", "200 Mbit/s", "-o", &cluster];
        let output = lab.rankwright(&[&["lab", "up", "--name", &lab.name], &shape[..]].concat());
        if output.status.success() {
            return Some(lab);
        }
        say(format_args!("SKIPPED: no lab: {}", String::from_utf8_lossy(&output.stderr)));
        None
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn rankwright(&self, arguments: &[&str]) -> Output {
        let labs = self.folder.path().join("labs");
        let mut command = rankwright(arguments);
        command.env("RANKWRIGHT_LAB_FOLDER", labs).env("XDG_CACHE_HOME", self.file("cache"));
        command.current_dir(self.folder.path()).output().expect("the program starts")
    }

    /// Standard output of a command that succeeds; one more try, because launchers on a loaded
    /// machine do hang now and then.
    fn ok(&self, arguments: &[&str]) -> String {
        let mut output = self.rankwright(arguments);
        if !output.status.success() {
            say(format_args!("retried: {}", transcript(arguments, &output)));
            output = self.rankwright(arguments);
        }
        assert!(output.status.success(), "{}", transcript(arguments, &output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs `rankwright` on the head node, for at most a minute.
    fn on_head(&self, arguments: &[&str]) -> String {
        let program = env!("CARGO_BIN_EXE_rankwright");
        let exec = ["lab", "exec", "--name", &self.name, "head", "--", "timeout", "60", program];
        self.ok(&[&exec[..], arguments].concat())
    }

    /// Bytes (out, in) of each node's device since it was made.
    fn counters(&self) -> BTreeMap<String, (f64, f64)> {
        let json = self.ok(&["lab", "counters", "--name", &self.name, "--format", "json"]);
        let json: Value = serde_json::from_str(&json).expect("json");
        let row = |row: &Value| {
            let bytes = |field: &str| row[field].as_f64().expect("a number");
            (
                row["node"].as_str().expect("a name").to_owned(),
                (bytes("bytes_out"), bytes("bytes_in")),
            )
        };
        json["nodes"].as_array().expect("a list").iter().map(row).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.rankwright(&["lab", "down", "--name", &self.name]);
    }
}

/// Bytes (out, in) of each node as the profile and the placement predict them, and the mean message.
fn predicted(lab: &Lab, profile: &str, placement: &str) -> (BTreeMap<String, (f64, f64)>, f64) {
    let placement = std::fs::read_to_string(placement).expect("it was written");
    let placement: Value = serde_json::from_str(&placement).expect("json");
    let ranks = placement["jobs"][0]["ranks"].as_array().expect("a list");
    let node = |rank: &str| {
        let rank: usize = rank.parse().expect("a rank");
        ranks[rank]["node"].as_str().expect("a name").to_owned()
    };
    let csv = lab.ok(&["traffic", "export", profile, "--collectives", "default"]);
    let mut bytes: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let (mut all_bytes, mut messages) = (0.0, 0.0);
    for line in csv.lines().filter(|line| !line.starts_with(['#', 'j'])) {
        let fields: Vec<&str> = line.split(',').collect();
        let (from, to) = (node(fields[1]), node(fields[2]));
        if from != to {
            let amount: f64 = fields[4].parse().expect("bytes");
            bytes.entry(from).or_default().0 += amount;
            bytes.entry(to).or_default().1 += amount;
            all_bytes += amount;
            messages += fields[3].parse::<f64>().expect("messages");
        }
    }
    (bytes, all_bytes / messages)
}

fn compile(compiler: &str, source: &str, program: &str) -> bool {
    let source = repository().join(source);
    let output =
        Command::new(compiler).arg("-O1").arg(&source).args(["-o", program, "-lm"]).output();
    match output {
        Ok(output) if output.status.success() => true,
        Ok(output) => panic!("{}: {}", source.display(), String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            say(format_args!("SKIPPED: {compiler}: {error}"));
            false
        }
    }
}

#[test]
fn what_is_predicted_for_each_network_device_is_what_it_counts() {
    let Some(lab) = Lab::up() else { return };
    let (heat, transpose) = (lab.file("heat2d"), lab.file("transpose"));
    let programs: [(&str, &[&str], &str); 2] = [
        ("mpicc.openmpi", &[&heat, "--cells", "256", "--fields", "16", "--iterations", "60"], "16"),
        ("mpif90.openmpi", &[&transpose, "768", "4"], "8"),
    ];
    let sources = ["examples/heat2d.c", "examples/transpose.F90"];
    for ((compiler, program, ranks), source) in programs.into_iter().zip(sources) {
        if !compile(compiler, source, program[0]) {
            return;
        }
        let profile = lab.file("app.rwp");
        let launch = ["profile", "-o", &profile, "--", "mpirun", "-np", ranks, "--oversubscribe"];
        lab.on_head(&[&launch[..], program].concat());
        for strategy in ["cyclic", "drb"] {
            let placement = lab.file("placement.json");
            let cluster = lab.file("cluster.toml");
            let map = ["map", &profile, "--on", &cluster, "--strategy", strategy, "-o", &placement];
            lab.ok(&map);
            lab.on_head(&["check", &placement]);
            let before = lab.counters();
            lab.on_head(&[&["run", &placement, "--"], program].concat());
            let after = lab.counters();
            let (predicted, mean_message) = predicted(&lab, &profile, &placement);
            assert!(mean_message >= 4096.0, "{source}: mean message of {mean_message} bytes");
            for (node, (out, incoming)) in predicted {
                let counted = (after[&node].0 - before[&node].0, after[&node].1 - before[&node].1);
                for (way, wanted, found) in [("out", out, counted.0), ("in", incoming, counted.1)] {
                    let more = found / wanted - 1.0;
                    say(format_args!(
                        "{source} {strategy} {node} {way}: predicted {wanted}, counted {found}: {:+.1} %",
                        100.0 * more
                    ));
                    assert!(
                        (0.0..=HEADERS).contains(&more),
                        "{source}, {strategy}: {node} {way}: predicted {wanted}, counted {found}"
                    );
                }
            }
        }
    }
}
