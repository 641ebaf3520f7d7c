//! The files written for a launcher are read back as the placement, for every launcher and binding,
//! unless the launcher refuses the placement with a reason.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::cluster::read::synthetic;
use crate::cluster::{Cluster, ClusterDescription, NodeGroup};
use crate::ids::{CoreId, PuId, PuSet};
use crate::launch::testing::random_cluster::{Placed, unlike_nodes};
use crate::launch::testing::random_placement::{native, placements};
use crate::launch::{Binding, LAUNCHERS, Launch, LaunchError, ProgramLine, Request, Task};
use crate::lint::{Format, Reading, find};
use crate::placement::{JobEntry, PlacementFile, RankEntry};

/// The cluster of a random placement: the second PU of a core has P# core + cores.
fn cluster_of(placement: &PlacementFile) -> Cluster {
    let node = &placement.nodes[0];
    let threads = node.pus / node.cores;
    let mut machine =
        synthetic::parse(&format!("pack:1 core:{} pu:{threads}", node.cores)).unwrap();
    for (position, pu) in (0..).zip(&mut machine.pus) {
        pu.id = PuId(position / threads + position % threads * node.cores);
    }
    for (number, core) in (0..).zip(&mut machine.cores) {
        core.pus = (0..threads).map(|thread| PuId(number + thread * node.cores)).collect();
    }
    let names = placement.nodes.iter().map(|node| node.name.clone()).collect();
    ClusterDescription::uniform("c", names, NodeGroup::all_free(machine)).build().unwrap()
}

/// The ranks in block order and with equal cores on every node, as for launchers with one list for
/// all nodes.
fn regular(mut placement: PlacementFile) -> PlacementFile {
    let cores = placement.nodes[0].cores;
    let threads = placement.nodes[0].pus / cores;
    let each = (cores as usize).min(4);
    let mut ranks = Vec::new();
    for node in &placement.nodes {
        for local in 0..each {
            let core = CoreId::from_index(each - 1 - local);
            let pus = (0..threads).map(|thread| PuId(core.0 + thread * cores)).collect();
            let rank = crate::ids::Rank::from_index(ranks.len());
            let node = node.name.clone();
            let first = placement.jobs[0].ranks[0].clone();
            ranks.push(RankEntry { rank, node, cores: vec![core], pus, ..first });
        }
    }
    placement.jobs[0].ranks = ranks;
    placement
}

/// Per launcher, the numbers of launches with native binding, with binding by the shim, and
/// refused.
#[derive(Debug, Default)]
struct Tally(BTreeMap<(&'static str, &'static str), usize>);

impl Tally {
    fn count(&mut self, launcher: &'static str, what: &'static str) {
        *self.0.entry((launcher, what)).or_default() += 1;
    }

    fn of(&self, launcher: &'static str, what: &'static str) -> usize {
        self.0.get(&(launcher, what)).copied().unwrap_or(0)
    }
}

/// The file of a launch that says where ranks run; the script if no file does.
fn read(format: &Format, launch: &Launch, cluster: &Cluster, folder: &str) -> Option<Reading> {
    let variables = launch.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let arguments: Vec<String> = variables.chain(launch.command.iter().cloned()).collect();
    let order = ["rankfile", "configfile", "MPICH_RANK_ORDER", "bind.sh", "hosts"];
    let file = order.iter().find_map(|name| launch.files.iter().find(|file| file.name == *name));
    let (name, text) = match file {
        Some(file) => (file.name, file.contents.clone()),
        // Open MPI needs no file for ranks that are all on one host.
        None if format.name.starts_with("openmpi") => return None,
        None => ("launch.sh", launch.script()),
    };
    let read = format.read(&text, name, &arguments, Some(cluster));
    Some(read.unwrap_or_else(|error| panic!("{}: {error}\n{folder}\n{text}", format.name)))
}

/// A program line with one program, or with two.
fn programs(ranks: usize, mpmd: bool) -> ProgramLine {
    let words = if mpmd && ranks > 1 { "-n 1 ./a x : ./b -v" } else { "./app" };
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    ProgramLine::parse(&words).unwrap()
}

/// The reasons for which launchers may refuse placements.
const REASONS: [&str; 7] = [
    // Open MPI.
    "has part of a core, a rankfile names whole cores",
    // MPICH before 4.1.
    "takes every rank for a separate host",
    // Lists for all hosts: Slurm, Flux, Cray MPICH.
    "has one list for all hosts",
    "srun in block order gives hosts as many tasks as each other",
    "a task learns its rank only inside MPI",
    "flux run refuses",
    // numactl.
    "here numactl binds",
];

/// Compares the files of every launcher for a job with its placement, for every kind of binding.
fn check(
    cluster: &Cluster,
    (placement, job): (&PlacementFile, &JobEntry),
    mpmd: bool,
    tally: &mut Tally,
) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let line = programs(job.ranks.len(), mpmd);
    for launcher in LAUNCHERS {
        for binding in [Binding::Auto, Binding::Native, Binding::Exec] {
            let task = Task::Programs(&line);
            let request = Request { job, binding, task, folder: path, ..native(placement) };
            let launch = match launcher.write(&request) {
                Ok(launch) => launch,
                Err(error) => {
                    let may = match error {
                        LaunchError::NotNative { .. } => binding == Binding::Native,
                        LaunchError::Impossible { .. } => {
                            ["craympich", "flux", "numactl"].contains(&launcher.name)
                        }
                        LaunchError::RankCount(_) => false,
                    };
                    let said = error.to_string();
                    prop_assert!(may && REASONS.iter().any(|why| said.contains(why)), "{said}");
                    tally.count(launcher.name, "refused");
                    continue;
                }
            };
            for file in &launch.files {
                std::fs::write(folder.path().join(file.name), &file.contents).unwrap();
            }
            let format = find(launcher.name).expect("every launcher's files can be read");
            let Some(reading) = read(format, &launch, cluster, path) else {
                let host = &job.ranks[0].node;
                prop_assert!(launch.by_exec && job.ranks.iter().all(|rank| rank.node == *host));
                continue;
            };
            compare(launcher.name, &reading, &job.ranks)?;
            tally.count(launcher.name, if launch.by_exec { "exec" } else { "native" });
        }
    }
    Ok(())
}

/// Checks that a reading equals the placement and has no warning.
fn compare(launcher: &str, reading: &Reading, ranks: &[RankEntry]) -> Result<(), TestCaseError> {
    prop_assert_eq!(reading.ranks.len(), ranks.len(), "{}", launcher);
    for (read, wanted) in reading.ranks.iter().zip(ranks) {
        let pus: PuSet = wanted.pus.iter().copied().collect();
        prop_assert_eq!(read.rank, wanted.rank);
        prop_assert_eq!(&read.host, &wanted.node, "{}", launcher);
        prop_assert_eq!(read.pus.as_ref(), Some(&pus), "{}", launcher);
        prop_assert_eq!(read.cores.as_ref(), Some(&wanted.cores), "{}", launcher);
        prop_assert!(read.bound);
    }
    // One PU per rank was requested. For MPICH before 4.1, a note warns of split hosts.
    let may = |code: &str| {
        ["shared-core", "more-ranks-than-cores"].contains(&code)
            || launcher == "mpich:4.0" && code == "host-in-several-lines"
    };
    let codes = reading.warnings.iter().map(|warning| warning.trap.code);
    let traps: Vec<&str> = codes.filter(|code| !may(code)).collect();
    prop_assert!(reading.starts() && traps.is_empty(), "{launcher}: {traps:?}");
    Ok(())
}

fn check_all(placed: &Placed, mpmd: bool, tally: &mut Tally) -> Result<(), TestCaseError> {
    let Placed { cluster, placement } = placed;
    placement.jobs.iter().try_for_each(|job| check(cluster, (placement, job), mpmd, tally))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_launchers_files_read_back_are_the_placement(placement in placements(), mpmd: bool) {
        let job = &placement.jobs[0];
        check(&cluster_of(&placement), (&placement, job), mpmd, &mut Tally::default())?;
    }

    #[test]
    fn so_are_those_for_unlike_nodes_and_several_jobs(placed in unlike_nodes(), mpmd: bool) {
        check_all(&placed, mpmd, &mut Tally::default())?;
    }

    #[test]
    fn launchers_with_one_list_for_all_nodes_bind_regular_placements(placement in placements()) {
        let placement = regular(placement);
        let mut tally = Tally::default();
        check(&cluster_of(&placement), (&placement, &placement.jobs[0]), false, &mut tally)?;
        for launcher in LAUNCHERS {
            // MPICH before 4.1 cannot bind.
            let native = if launcher.name == "mpich:4.0" { 0 } else { 2 };
            prop_assert_eq!(tally.of(launcher.name, "native"), native, "{}", launcher.name);
        }
    }
}

/// Guards against launchers that pass the test by refusing every placement.
#[test]
fn enough_placements_are_not_refused() {
    let mut runner = TestRunner::deterministic();
    let strategy = unlike_nodes();
    let mut tally = Tally::default();
    for case in 0..60 {
        let placed = strategy.new_tree(&mut runner).unwrap().current();
        check_all(&placed, case % 3 == 0, &mut tally).unwrap();
    }
    for (launcher, native, exec) in [
        ("openmpi4", 150, 80),
        ("openmpi5", 150, 80),
        ("mpich", 200, 100),
        ("mpich:4.0", 0, 200),
        ("intelmpi", 150, 150),
        ("slurm", 100, 150),
        ("flux", 80, 150),
        ("craympich", 60, 60),
        ("numactl", 200, 0),
    ] {
        let counts = (tally.of(launcher, "native"), tally.of(launcher, "exec"));
        assert!(counts.0 >= native && counts.1 >= exec, "{launcher}: {counts:?} of {tally:#?}");
    }
}
