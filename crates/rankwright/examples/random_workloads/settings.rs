//! What runs where, drawn at random: two to six jobs of all shapes, on clusters of up to three kinds
//! of nodes, from nearly idle to overloaded.

use std::fmt::Write;

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rankwright::traffic::generate::pattern::Pattern;

/// A workload and a cluster that holds it.
pub(crate) struct Setting {
    /// `cluster.toml`.
    pub(crate) cluster: String,
    /// `jobs.toml`.
    pub(crate) jobs: String,
    /// What the network devices have to send at the rates of the jobs, relative to what they can,
    /// if ranks are anywhere.
    pub(crate) load: f64,
}

/// Messages of a workload, about.
const MESSAGES: f64 = 300_000.0;

/// Messages to each destination, at least and at most.
const ROUNDS: (f64, f64) = (20.0, 20_000.0);

struct Machine {
    text: String,
    cores: u32,
    nodes: u32,
    /// Bytes per second of all network devices.
    bandwidth: f64,
}

struct RandomJob {
    lines: String,
    /// Pairs of ranks.
    pairs: f64,
    length: f64,
    /// Its part of all bytes per second.
    part: f64,
}

impl Setting {
    /// The setting of a seed.
    pub(crate) fn random(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let machine = Machine::random(&mut random);
        let load = 10_f64.powf(random.random_range(-1.3..0.6));
        let ranks = ranks_of_jobs(&mut random, machine.cores);
        let jobs: Vec<RandomJob> =
            ranks.into_iter().map(|ranks| RandomJob::random(&mut random, ranks)).collect();
        let parts: f64 = jobs.iter().map(|job| job.part).sum();
        // Of ranks anywhere so many messages stay inside a node.
        let crossing = 1.0 - 1.0 / f64::from(machine.nodes);
        let bytes_per_second = load * machine.bandwidth / crossing.max(0.5);
        let rate = |job: &RandomJob| bytes_per_second * job.part / parts / (job.length * job.pairs);
        let messages_per_second: f64 = jobs.iter().map(|job| rate(job) * job.pairs).sum();
        let duration = MESSAGES / messages_per_second;
        let mut text = String::new();
        for job in &jobs {
            let longer = random.random_range(0.5..1.5);
            let most = ROUNDS.1.min(MESSAGES / job.pairs).max(ROUNDS.0);
            let rounds = (rate(job) * duration * longer).clamp(ROUNDS.0, most).round();
            let _ = writeln!(text, "{}rate = \"{:.6} /s\"", job.lines, rate(job));
            let _ = writeln!(text, "messages = {rounds}\n");
        }
        Self { cluster: machine.text, jobs: text, load }
    }
}

/// Two to six jobs that take half of the cores or more.
fn ranks_of_jobs(random: &mut ChaCha8Rng, cores: u32) -> Vec<u32> {
    let jobs = random.random_range(2..=6);
    let parts: Vec<f64> = (0..jobs).map(|_| random.random_range(0.3..1.0)).collect();
    let sum: f64 = parts.iter().sum();
    let filled = f64::from(cores) * random.random_range(0.5..=1.0);
    let ranks = |part: f64| ((filled * part / sum) as u32).max(2);
    let mut free = cores;
    let fits = |ranks: &u32| {
        let fits = *ranks <= free;
        free -= if fits { *ranks } else { 0 };
        fits
    };
    parts.into_iter().map(ranks).filter(fits).collect()
}

impl Machine {
    fn random(random: &mut ChaCha8Rng) -> Self {
        let memory = [4, 8, 16].choose(random).copied().unwrap_or(4);
        let mut text = format!(
            "[rates]\nname = \"random\"\nbase = \"paper-2013\"\nmemory_bandwidth = \"{memory} GB/s\"\n\n"
        );
        let (mut cores, mut nodes, mut bandwidth) = (0, 0, 0.0);
        let mut names = Vec::new();
        let kinds = random.random_range(1..=3);
        for kind in ["a", "b", "c"].into_iter().take(kinds) {
            let count = random.random_range(2..=6);
            let packages = random.random_range(1..=2);
            let numa = random.random_range(1..=2);
            let each = random.random_range(2..=6);
            let own = packages * numa * each;
            let most = (own - 2).min(2);
            let taken =
                if most > 0 && random.random_bool(0.2) { random.random_range(1..=most) } else { 0 };
            let nic = [0.5, 1.0, 1.0, 2.0, 4.0].choose(random).copied().unwrap_or(1.0);
            let devices = if random.random_bool(0.2) { 2 } else { 1 };
            let _ = writeln!(text, "[[node]]\nnames = \"{kind}[0-{}]\"", count - 1);
            let _ = writeln!(text, "topology = \"pack:{packages} numa:{numa} core:{each} pu:1\"");
            if taken > 0 {
                let _ = writeln!(text, "free = \"{taken}-{}\"", own - 1);
            }
            for device in 0..devices {
                let _ = writeln!(text, "[[node.nic]]\nname = \"nic{device}\"");
                let _ = writeln!(text, "bandwidth = \"{nic} GB/s\"");
            }
            text.push('\n');
            cores += count * (own - taken);
            nodes += count;
            bandwidth += f64::from(count * devices) * nic * 1e9;
            names.push(format!("{kind}[0-{}]", count - 1));
        }
        if names.len() > 1 && random.random_bool(0.4) {
            switches(random, &mut text, &names);
        }
        Self { text, cores, nodes, bandwidth }
    }
}

/// A switch for each kind of node, and one above them.
fn switches(random: &mut ChaCha8Rng, text: &mut String, names: &[String]) {
    for (index, nodes) in names.iter().enumerate() {
        let uplink = [2, 4, 8].choose(random).copied().unwrap_or(4);
        let _ = writeln!(text, "[[switch]]\nname = \"leaf{index}\"\nnodes = \"{nodes}\"");
        let _ = writeln!(text, "uplink = \"{uplink} GB/s\"\n");
    }
    let last = names.len() - 1;
    let _ = writeln!(text, "[[switch]]\nname = \"top\"\nswitches = \"leaf[0-{last}]\"");
}

impl RandomJob {
    fn random(random: &mut ChaCha8Rng, ranks: u32) -> Self {
        let shapes = [
            "all-to-all",
            "all-to-all",
            "bcast",
            "gather",
            "linear",
            "ring",
            "halo-2d",
            "halo-3d",
            "random",
        ];
        let shape = *shapes.choose(random).unwrap_or(&"ring");
        let length = [1, 16, 64, 64, 256, 1024, 2048].choose(random).copied().unwrap_or(64);
        let cv = [0.0, 0.5, 1.0, 1.0, 1.0, 2.0].choose(random).copied().unwrap_or(1.0);
        let degree = random.random_range(1..=6).min(ranks - 1);
        let renumber = random.random_bool(0.5);
        let seed = random.random_range(1..1000);
        let mut options = format!("renumber={renumber},seed={seed}");
        let mut lines = format!(
            "[[job]]\nprocesses = {ranks}\npattern = \"{shape}\"\nlength = \"{length} KiB\"\ncv = {cv:?}\nrenumber = {renumber}\nseed = {seed}\n"
        );
        if shape == "random" {
            options += &format!(",degree={degree}");
            let _ = writeln!(lines, "degree = {degree}");
        }
        let pattern = Pattern::parse(&format!("{shape}:{ranks}:{options}"));
        let job = pattern.and_then(|pattern| pattern.job()).expect("a pattern of our own");
        Self {
            lines,
            pairs: job.flows.len() as f64,
            length: f64::from(length) * 1024.0,
            part: 10_f64.powf(random.random_range(-1.0..0.0)),
        }
    }
}
