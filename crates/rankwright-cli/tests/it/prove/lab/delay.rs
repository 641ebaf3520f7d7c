//! Latency.

use std::fs;

use serde_json::Value;

use super::devices::has_python;
use super::{Labs, wait_until};
use crate::command::{say, signal};

/// The shortest of ten connections to an address, in seconds: one round trip.
const CONNECT: &str = "import socket, sys, time
def connect():
    start = time.monotonic()
    socket.create_connection((sys.argv[2], 7000), 20, (sys.argv[1], 0)).close()
    return time.monotonic() - start
connect()
print(min(connect() for _ in range(10)))
";

/// `None` where there is neither netem nor TUN; the reason is printed.
fn with_delay() -> Option<Labs> {
    let labs = Labs::new().filter(|_| has_python())?;
    let options = ["--cores", "2", "--nic", "1 Gbit/s", "--nics", "2", "--tiers", "2x1"];
    let output = labs.run(&[&["up", "--name", "a", "--delay", "3 ms"][..], &options].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if error.contains("/dev/net/tun") {
        say(format_args!("SKIPPED: {error}"));
        return None;
    }
    assert!(output.status.success(), "{error}");
    let description = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(description.matches("latency = \"3 ms\"\n").count(), 2, "{description}");
    Some(labs)
}

#[test]
fn round_trips_take_twice_the_delay_through_every_device_and_switch() {
    let Some(labs) = with_delay() else { return };
    let mut echo = labs.echo("a", "node1");
    let round_trip = |from: &str, to: &str| -> f64 {
        let arguments = ["exec", "--name", "a", "node0", "python3", "-c", CONNECT, from, to];
        labs.ok(&arguments).trim().parse().expect("seconds")
    };
    for (from, to) in [("10.98.0.1", "10.98.1.2"), ("10.98.1.1", "10.98.0.2")] {
        let mut seconds = round_trip(from, to);
        if seconds > 12e-3 {
            say(format_args!("RETRIED: a round trip of 6 ms took {seconds} s"));
            seconds = round_trip(from, to);
        }
        // It may be shorter by what the host is taken to need, and is longer on a busy one.
        assert!((5.6e-3..12e-3).contains(&seconds), "{seconds} s from {from} to {to}");
    }
    drop(echo.stdin.take());
    echo.wait().expect("it ended");
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
}

#[test]
fn a_lab_whose_relay_has_died_says_so_and_goes_down() {
    let Some(labs) = with_delay() else { return };
    let record = fs::read_to_string(labs.path().join("a/lab.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let Some(relay) = record["services"].get(0) else {
        say("SKIPPED: this kernel has netem, so there is no relay");
        return;
    };
    assert_eq!(relay["name"], "relay");
    signal("KILL", relay["pid"].as_i64().expect("a number"));
    wait_until("the lab is broken", || {
        labs.ok(&["status", "--format", "csv"]).contains("\na,broken,2,2,")
    });
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
}
