//! Random workloads on random clusters, as files for the command line.
//!
//! ```text
//! random_workloads FOLDER FIRST COUNT    FOLDER/random-N/jobs.toml and cluster.toml for each N
//! ```
//! `benchmarks/waiting/run` compares strategies on them.

#![expect(clippy::print_stdout, reason = "a program of its own")]

mod settings;

use std::fs;
use std::path::Path;

use settings::Setting;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, first, count] = &arguments[..] else {
        println!("usage: random_workloads FOLDER FIRST COUNT");
        std::process::exit(2);
    };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    for seed in number(first)..number(first) + number(count) {
        let setting = Setting::random(seed);
        let folder = Path::new(folder).join(format!("random-{seed}"));
        fs::create_dir_all(&folder).expect("a folder that can be made");
        for (file, text) in [("cluster.toml", &setting.cluster), ("jobs.toml", &setting.jobs)] {
            fs::write(folder.join(file), text).expect("a file that can be written");
        }
        println!("{} {:.2}", folder.display(), setting.load);
    }
}
