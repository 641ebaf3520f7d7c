//! `rankwright calibrate` finds a rate that the description does not tell. Ten draws, and what else it
//! finds: `benchmarks/calibrate`.

use std::fs;

use super::Labs;
use crate::command::say;

/// What no load of the test machine explains. The accuracy on a machine with nothing else to do is
/// measured in `benchmarks/calibrate`.
const FACTOR: f64 = 1.25;

#[test]
fn a_hidden_rate_is_found() {
    let Some(labs) = Labs::new() else { return };
    let rate = 83.0;
    let options = ["--nodes", "2", "--cores", "1", "--nic", "83 Mbit/s", "--name", "a"];
    labs.ok(&[&["up"][..], &options].concat());
    let text = "# ours\nemulated = true\n[[node]]\nnames = \"node[0-1]\"\ntopology = \"core:1 pu:1\"\n\
                [[node.nic]]\nname = \"eth0\" # rate unknown\n";
    let file = labs.folder.path().join("c.toml");
    let mut found = Vec::new();
    for attempt in 1..=2 {
        fs::write(&file, text).unwrap();
        let us = env!("CARGO_BIN_EXE_rankwright");
        let mut run = labs.command(&["exec", "--name", "a", "head", us, "calibrate", "--force"]);
        run.args(["--for", "openmpi4", "--time-per-item", "600 ms", "--format", "json", "--on"]);
        run.arg(&file)
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        let output = run.env("XDG_CACHE_HOME", cache).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.contains("no compiler to build it") || said.contains("not found") {
            say(format_args!("SKIPPED: Open MPI 4 is missing: {said}"));
            return;
        }
        assert!(output.status.success(), "{output:?}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rates = json["rates"].as_array().expect("rates");
        let measured = |name: &str| rates.iter().find(|row| row["rate"] == name);
        let bandwidth = measured("nic_bandwidth").expect("measured")["value"].as_f64().unwrap();
        assert_eq!(measured("memory_bandwidth"), None, "its cores do not exist");
        let edited = fs::read_to_string(&file).unwrap();
        assert!(edited.starts_with(text.trim_end()), "{edited}");
        for line in ["calibrated = true", "names = [\"eth0\"]", "level = \"cluster\""] {
            assert!(edited.contains(line), "{edited}");
        }
        found.push(bandwidth * 8e-6 / rate);
        if (1.0 / FACTOR..FACTOR).contains(&found[found.len() - 1]) {
            return;
        }
        say(format_args!("attempt {attempt}: {found:?} of the hidden rate"));
    }
    panic!("{found:?} of the hidden rate");
}
