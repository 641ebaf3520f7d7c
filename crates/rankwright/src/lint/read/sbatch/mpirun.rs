//! `mpirun` and `mpiexec` in a job: the ranks fill the tasks of one node after the other.

use super::Script;
use super::job::{self, Counts};
use super::options::Options;
use crate::files::InputError;
use crate::lint::read::rankfile::map_by::MapBy;
use crate::lint::read::rankfile::ppr::{self, Ppr};
use crate::lint::read::rankfile::slot_list::Version;
use crate::lint::{Arguments, MOST_RANKS, Place, Reading};
use crate::units::counted;

/// Options with which another file, or another rule, says where ranks run.
const OTHERS: [&str; 16] = [
    "-hostfile",
    "-machinefile",
    "-f",
    "-rf",
    "-rankfile",
    "-rankmap",
    "-ppn",
    "-perhost",
    "-rr",
    "-H",
    "-host",
    "-hosts",
    "-npernode",
    "-N",
    "-bynode",
    "-configfile",
];

/// Reads the launch; hosts only, as the PUs are by the launcher's own rules.
pub(super) fn read(script: &Script<'_>, reading: &mut Reading) -> Result<(), InputError> {
    let words: Vec<String> = script.launch.words.iter().map(|word| word.text.clone()).collect();
    if let Some(unknown) = script.launch.words.first().and_then(|word| word.unknown.as_ref()) {
        let advice = "write its value, or give it in --launcher-args as NAME=VALUE";
        let found = format!("`{unknown}`, which only a shell can know");
        return Err(script.wrong(&found, "options of the launch").with_advice(advice));
    }
    let arguments = Arguments::new(&words);
    let counts = &script.of_job;
    let none = Options::default();
    let of_step = Counts::default();
    let nodes = job::nodes(script.source, (&script.job, &none), (counts, &of_step), reading)?;
    if nodes.len() > 1 {
        refuse_others(script, &words)?;
    }
    let is_unknown = ppr::warn_of_unknown(arguments, (None, Some(script.launch.line)), reading);
    let by_resource = Ppr::of(arguments, None).filter(|_| !is_unknown);
    let slots = slots(script, nodes.len())?;
    let ranks =
        match arguments.values(&["-n", "-np", "--np", "--n"]).next() {
            None => slots,
            Some(text) => text.parse().ok().filter(|ranks| *ranks > 0).ok_or_else(|| {
                script.wrong(&format!("-n {text}"), "a number of ranks, written out")
            })?,
        };
    if ranks > slots || slots > MOST_RANKS {
        let found = format!("{} for {}", counted(ranks, "rank"), counted(slots, "task of the job"));
        return Err(script.wrong(&found, "a task of the job for every rank"));
    }
    if let Some(by_resource) = by_resource {
        let expected = "--map-by ppr:N:RESOURCE of a node, package, NUMA node, cache or core";
        let by_resource = by_resource.map_err(|found| script.wrong(&found, expected))?;
        add_by_resource(script, by_resource, (&nodes, slots), arguments.ranks(), reading)?;
        super::warnings::of_switches(script, &nodes, reading);
        return Ok(());
    }
    let is_mapped = ["--map-by", "-map-by", "--bynode", "-bynode"];
    if !is_unknown
        && is_mapped.into_iter().any(|it| arguments.has(it) || arguments.value(&[it]).is_some())
    {
        add_mapped(script, arguments, (&nodes, slots), ranks, reading)?;
        super::warnings::of_switches(script, &nodes, reading);
        return Ok(());
    }
    let binding = arguments.value(&["--bind-to", "-bind-to"]);
    let unbound = binding.is_some_and(|binding| binding.split(':').next() == Some("none"));
    if binding.is_none() {
        let text = "they depend on the MPI of mpirun: by default Open MPI 5.0 binds to cores, 4.1 with \
                    more than two ranks to NUMA nodes, Intel MPI to shares of the node, MPICH not at all";
        reading.notes.push(format!("{}: {text}", crate::lint::PUS_UNKNOWN));
    }
    let order = job::node_of_rank(slots, nodes.len(), false);
    for (rank, node) in order.into_iter().take(ranks).enumerate() {
        let place = if unbound { Place::Unbound } else { Place::Unknown };
        reading.add(rank, &nodes[node], place, script.launch.line);
    }
    super::warnings::of_switches(script, &nodes, reading);
    Ok(())
}

/// Options with which another file, or another rule, says where ranks run, are an error.
fn refuse_others(script: &Script<'_>, words: &[String]) -> Result<(), InputError> {
    let one = |word: &str| format!("-{}", word.trim_start_matches('-'));
    let other = words.iter().find(|word| {
        word.starts_with('-')
            && OTHERS.contains(&one(word.split('=').next().unwrap_or_default()).as_str())
    });
    let Some(other) = other else { return Ok(()) };
    let advice = "if it names a file, lint that file, with this line in --launcher-args";
    let expected = "ranks that fill one node after the other";
    Err(script.wrong(&format!("`{other}`"), expected).with_advice(advice))
}

/// Adds the ranks as Open MPI 4.1 and 5.0 map them; what differs between them is not known.
fn add_mapped(
    script: &Script<'_>,
    arguments: Arguments<'_>,
    (nodes, slots): (&[String], usize),
    ranks: usize,
    reading: &mut Reading,
) -> Result<(), InputError> {
    let hosts = hosts(script, nodes, slots);
    let of = |version: Version| {
        let mut its = Reading::default();
        MapBy::of(arguments, version)?.add(&hosts, ranks, &mut its);
        Ok::<Reading, String>(its)
    };
    let (mut its, other) = match (of(Version::Four), of(Version::Five)) {
        (Ok(four), Ok(five)) => (five, Some(four)),
        (Ok(its), Err(_)) | (Err(_), Ok(its)) => (its, None),
        (Err(found), Err(_)) => {
            let advice = "mpirun itself shows what others do: with --display-map (Open MPI 4) or \
                          --display map (5)";
            let found = format!("{found}, which is not predicted");
            let expected = "--map-by slot, node, package (4.1: socket), numa, l3cache, core or \
                            ppr:N:RESOURCE";
            return Err(script.wrong(&found, expected).with_advice(advice));
        }
    };
    if let Some(other) = other.filter(|other| other.ranks != its.ranks) {
        if !other.host_of_rank().eq(its.host_of_rank()) {
            let found = "a mapping for which Open MPI 4.1 and 5.0 use different hosts";
            let advice =
                "lint a hostfile with the slots of the job, with --from openmpi4 or openmpi5";
            return Err(script.wrong(found, "the same hosts with both").with_advice(advice));
        }
        its.drop_cores(
            "Open MPI 4.1 and 5.0 bind the ranks of a node differently here; a hostfile with --from \
             openmpi4 or openmpi5 and this line in --launcher-args shows each",
        );
    }
    reading.objects_are_shared = its.objects_are_shared;
    reading.ranks.extend(its.ranks);
    reading.warnings.extend(its.warnings);
    reading.notes.extend(its.notes);
    Ok(())
}

/// The slots of the job: its tasks, the same number on every node.
fn slots(script: &Script<'_>, nodes: usize) -> Result<usize, InputError> {
    let counts = &script.of_job;
    let per_node = counts.per_node.map(|each| each.saturating_mul(nodes));
    let slots = counts.tasks.or(per_node).ok_or_else(|| {
        let advice = "add #SBATCH --ntasks-per-node";
        script.wrong("a job without --ntasks", "the tasks of every node").with_advice(advice)
    })?;
    if nodes > 1 && counts.per_node.is_none() && !script.whole_nodes() {
        let expected = "the number of tasks of every node, which Slurm chooses by what is free";
        let found = format!("{} on shared nodes", counted(slots, "task"));
        return Err(script.wrong(&found, expected).with_advice("add #SBATCH --ntasks-per-node"));
    }
    Ok(slots)
}

/// Adds the ranks of `--map-by ppr:`.
fn add_by_resource(
    script: &Script<'_>,
    ppr: Ppr<'_>,
    (nodes, slots): (&[String], usize),
    ranks: Option<usize>,
    reading: &mut Reading,
) -> Result<(), InputError> {
    let hosts = hosts(script, nodes, slots);
    ppr.add(&hosts, ranks, reading).map_err(|found| {
        let error = script.wrong(&found, "hosts whose parts are known");
        error.with_advice("give --on CLUSTER with these hosts")
    })
}

/// The nodes with their slots.
fn hosts<'a>(script: &'a Script<'_>, nodes: &'a [String], slots: usize) -> Vec<ppr::Host<'a>> {
    let host = |name: &'a String| ppr::Host {
        name,
        slots: slots / nodes.len(),
        line: script.launch.line,
        machine: script.source.machines.machine(name),
    };
    nodes.iter().map(host).collect()
}
