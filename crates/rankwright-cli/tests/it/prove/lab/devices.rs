//! Several network devices per node, and tiers of switches.

use std::process::{Child, Stdio};

use serde_json::Value;

use super::Labs;
use crate::command::say;

/// Sends `bytes` to the echo of an address and back: from the device of the first address to that of
/// the second.
const SEND: &str = "import socket, sys
line = socket.create_connection((sys.argv[2], 7000), 20, (sys.argv[1], 0))
line.sendall(bytes(int(sys.argv[3])))
line.shutdown(socket.SHUT_WR)
left = int(sys.argv[3])
while left:
    left -= len(line.recv(left)) or sys.exit('closed early')
";

/// Sends back what it has received when the other end has sent all, until its input ends.
const ECHO: &str = "import os, socket, sys, threading
listener = socket.create_server(('', 7000))
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print('ready', flush=True)
while True:
    line, _ = listener.accept()
    parts = iter(lambda: line.recv(65536), b'')
    line.sendall(b''.join(parts))
    line.close()
";

impl Labs {
    /// An echo on a node that listens; it ends with its input.
    pub(super) fn echo(&self, lab: &str, node: &str) -> Child {
        use std::io::BufRead;
        let mut command = self.command(&["exec", "--name", lab, node, "python3", "-c", ECHO]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        std::io::BufReader::new(output).read_line(&mut line).expect("text");
        assert_eq!(line, "ready\n");
        child
    }

    fn send(&self, lab: &str, node: &str, from: &str, to: &str, bytes: u64) {
        let bytes = bytes.to_string();
        self.ok(&["exec", "--name", lab, node, "python3", "-c", SEND, from, to, &bytes]);
    }

    /// Bytes in and out of each device or uplink, in order.
    fn bytes(&self, lab: &str, kind: &str) -> Vec<(String, u64, u64)> {
        let text = self.ok(&["counters", "--name", lab, "--format", "json"]);
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let of = |row: &Value| {
            let text = |name: &str| row[name].as_str().expect("text").to_owned();
            let name = format!("{} {}", text("node"), text("nic"));
            (name, row["bytes_in"].as_u64().unwrap(), row["bytes_out"].as_u64().unwrap())
        };
        report[kind].as_array().expect("a list").iter().map(of).collect()
    }

    /// What passed each device or uplink while something was done, if it was more than `least`.
    pub(super) fn passed(
        &self,
        lab: &str,
        kind: &str,
        least: u64,
        act: impl FnOnce(),
    ) -> Vec<(String, u64)> {
        let before = self.bytes(lab, kind);
        act();
        let rise = |((name, in0, out0), (_, in1, out1)): (&(String, u64, u64), &(_, u64, u64))| {
            (name.clone(), (in1 - in0).min(out1 - out0))
        };
        let after = self.bytes(lab, kind);
        before.iter().zip(&after).map(rise).filter(|(_, bytes)| *bytes > least).collect()
    }
}

pub(super) fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output().is_ok();
    if !found {
        say("SKIPPED: python3 is missing, which sends between chosen devices");
    }
    found
}

#[test]
fn every_pair_of_devices_talks_through_these_two_only() {
    let Some(labs) = Labs::new().filter(|_| has_python()) else { return };
    let options = ["--nodes", "2", "--cores", "4", "--nic", "1 Gbit/s", "--nics", "3"];
    let description = labs.ok(&[&["up", "--name", "a"][..], &options].concat());
    assert!(description.contains("topology = \"pack:2 numa:1 core:2 pu:1\""), "{description}");
    for (device, numa) in [0, 0, 1].iter().enumerate() {
        let nic = format!("name = \"eth{device}\"\nnear = \"numa:{numa}\"\n");
        assert!(description.contains(&nic), "{description}");
    }
    assert!(labs.bytes("a", "nodes").iter().all(|(_, sent, received)| sent + received == 0));
    // Libraries look for devices there.
    assert!(labs.ok(&["exec", "--name", "a", "node1", "ls", "/sys/class/net"]).contains("eth2\n"));
    let mut echo = labs.echo("a", "node1");
    for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
        let addresses = [format!("10.98.{from}.1"), format!("10.98.{to}.2")];
        let passed = labs.passed("a", "nodes", 20_000, || {
            labs.send("a", "node0", &addresses[0], &addresses[1], 200_000);
        });
        let names: Vec<&str> = passed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [format!("node0 eth{from}"), format!("node1 eth{to}")]);
        for (name, bytes) in &passed {
            assert!((200_000..220_000).contains(bytes), "{name}: {bytes} bytes of 200000");
        }
    }
    drop(echo.stdin.take());
    echo.wait().expect("it ended");
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
}

#[test]
fn traffic_passes_the_uplinks_between_two_leaves_only() {
    let Some(labs) = Labs::new().filter(|_| has_python()) else { return };
    let options = ["--cores", "2", "--nic", "1 Gbit/s", "--tiers", "2x2x1:1 Gbit/s,500 Mbit/s"];
    let description = labs.ok(&[&["up", "--name", "a"][..], &options].concat());
    for part in [
        "name = \"spine\"\nswitches = \"pod0,pod1\"\n",
        "name = \"pod1\"\nswitches = \"leaf2,leaf3\"\nuplink = \"1 Gbit/s\"\n",
        "name = \"leaf2\"\nnodes = \"node2\"\nuplink = \"500 Mbit/s\"\n",
    ] {
        assert!(description.contains(part), "{description}");
    }
    let mut echo = labs.echo("a", "node1");
    let near = labs.passed("a", "switches", 20_000, || {
        labs.send("a", "node0", "10.98.0.1", "10.98.0.2", 200_000);
    });
    let far = labs.passed("a", "switches", 20_000, || {
        labs.send("a", "node2", "10.98.0.3", "10.98.0.2", 200_000);
    });
    let names = |passed: &[(String, u64)]| -> String {
        passed.iter().map(|(name, _)| name.split(' ').next().unwrap_or_default()).collect()
    };
    assert_eq!(names(&near), "leaf0leaf1");
    assert_eq!(names(&far), "pod0pod1leaf1leaf2");
    for (name, bytes) in near.iter().chain(&far) {
        assert!((200_000..220_000).contains(bytes), "{name}: {bytes} bytes of 200000");
    }
    drop(echo.stdin.take());
    echo.wait().expect("it ended");
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
}
