//! `mpirun` and `mpiexec` of any MPI in a job: the ranks fill the slots of one host after the other.

use super::allocation::Allocation;
use super::launch_line::LaunchLine;
use crate::files::InputError;
use crate::lint::read::rankfile::map_by::{self, MapBy};
use crate::lint::read::rankfile::slot_list::Version;
use crate::lint::{Arguments, MOST_RANKS, Place, Reading, traps};
use crate::units::counted;

/// Options with which another rule says where ranks run.
const OTHERS: [&str; 6] = ["-rankmap", "-rr", "-H", "-host", "-hosts", "-bynode"];

/// Options for the number of ranks on a host.
const PER_HOST: [&str; 7] =
    ["-ppn", "--ppn", "-perhost", "--perhost", "-npernode", "--npernode", "-N"];

/// Options of Open MPI, Hydra and PALS with a value in the next word, without their dashes.
const WITH_VALUE: [&str; 46] = [
    "n",
    "np",
    "c",
    "H",
    "host",
    "hosts",
    "hostfile",
    "machinefile",
    "default-hostfile",
    "host-file",
    "rf",
    "rankfile",
    "map-by",
    "bind-to",
    "rank-by",
    "x",
    "wdir",
    "wd",
    "prefix",
    "path",
    "N",
    "npernode",
    "npersocket",
    "ppn",
    "perhost",
    "f",
    "configfile",
    "rankmap",
    "binding",
    "launcher",
    "launcher-exec",
    "iface",
    "cpu-set",
    "cpu-list",
    "cpus-per-proc",
    "cpus-per-rank",
    "display",
    "output",
    "output-filename",
    "timeout",
    "d",
    "depth",
    "cpu-bind",
    "mem-bind",
    "gpu-bind",
    "pmi",
];

/// Options with two values.
const WITH_TWO: [&str; 6] = ["mca", "gmca", "prtemca", "pmixmca", "genv", "am"];

/// The position of the program behind the options.
pub(super) fn program(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        let name = word.trim_start_matches('-');
        // `-env NAME VALUE` of Hydra, `-env NAME=VALUE` of PALS.
        let env = ["env", "envlist"].contains(&name);
        let assigns = words.get(at + 1).is_some_and(|value| value.contains('='));
        at += match name {
            name if WITH_TWO.contains(&name) || env && name == "env" && !assigns => 3,
            name if WITH_VALUE.contains(&name) || env => 2,
            _ => 1,
        };
    }
    at.min(words.len())
}

/// Reads the launch: the hosts, and the PUs as far as the options say them.
pub(super) fn read(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    reading: &mut Reading,
) -> Result<(), InputError> {
    let words = own_options(line, allocation)?;
    let arguments = Arguments::new(&words);
    if allocation.hosts.len() > 1 {
        refuse_others(line, &words)?;
    }
    let is_unknown = map_by::warn_of_unknown(arguments, (None, Some(line.launch.line)), reading);
    let slots = allocation.slots();
    let per_host = number(line, arguments, &PER_HOST)?;
    let ranks = number(line, arguments, &["-n", "-np", "--np", "--n"])?;
    let room = per_host.map_or(slots, |each| each.saturating_mul(allocation.hosts.len()));
    let ranks = ranks.unwrap_or(room);
    if ranks > room || room > MOST_RANKS {
        return Err(too_many(line, allocation, (ranks, room, per_host)));
    }
    let is_mapped = [
        "--map-by",
        "-map-by",
        "--bynode",
        "-bynode",
        "--npersocket",
        "-npersocket",
        "--rank-by",
        "-rank-by",
    ];
    let names_mapping =
        |it: &&str| arguments.has(it) || arguments.values(&[it]).any(|value| !value.is_empty());
    let is_per_part = arguments.value(&is_mapped[..2]).is_some_and(|policy| {
        policy.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("ppr:"))
    });
    if !is_unknown && (per_host.is_none() || is_per_part) && is_mapped.iter().any(names_mapping) {
        return add_mapped(line, arguments, allocation, reading);
    }
    let binding = arguments.value(&["--bind-to", "-bind-to"]);
    let unbound = binding.is_some_and(|binding| binding.split(':').next() == Some("none"));
    if !unbound {
        reading.notes.push(format!("{}: {}", crate::lint::PUS_UNKNOWN, depends(binding)));
    }
    let order = allocation
        .hosts
        .iter()
        .flat_map(|host| std::iter::repeat_n(&host.name, per_host.unwrap_or(host.slots)));
    for (rank, host) in order.take(ranks).enumerate() {
        let place = if unbound { Place::Unbound } else { Place::Unknown };
        reading.add(rank, host, place, line.launch.line);
    }
    if let Some(each) = per_host {
        warn_of_slots(line, allocation, each, reading);
    }
    Ok(())
}

/// Why the PUs of ranks that are bound are unknown.
fn depends(binding: Option<&str>) -> String {
    match binding {
        Some(binding) => {
            format!("which ones --bind-to {binding} takes depends on the MPI of mpirun")
        }
        None => "they depend on the MPI of mpirun: by default Open MPI 5.0 binds to cores, 4.1 with \
                 more than two ranks to NUMA nodes, Intel MPI to shares of the node, MPICH not at all"
            .to_owned(),
    }
}

/// The options without the batch system's own list of hosts, which mpirun reads anyway.
fn own_options(line: &LaunchLine<'_>, allocation: &Allocation) -> Result<Vec<String>, InputError> {
    let mut words = line.words();
    let program = program(&words);
    line.check_known(program)?;
    words.truncate(program);
    while let Some(at) = words.iter().position(|word| Some(word.as_str()) == allocation.list) {
        words.drain(at.saturating_sub(1)..=at);
    }
    Ok(words)
}

/// The number that one of these options has.
fn number(
    line: &LaunchLine<'_>,
    arguments: Arguments<'_>,
    names: &[&str],
) -> Result<Option<usize>, InputError> {
    let Some(text) = arguments.values(names).next() else { return Ok(None) };
    let number = text.parse().ok().filter(|number| (1..=MOST_RANKS).contains(number));
    number.map(Some).ok_or_else(|| {
        line.wrong(&format!("{} {text}", names[0]), "a number of ranks, written out")
    })
}

/// More ranks than the job has room for.
fn too_many(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    (ranks, room, per_host): (usize, usize, Option<usize>),
) -> InputError {
    if let Some(each) = per_host {
        let hosts = counted(allocation.hosts.len(), "host");
        let found = format!("{}, {each} on each of {hosts}", counted(ranks, "rank"));
        return line.wrong(&found, &format!("at most {}", counted(room, "rank")));
    }
    let found = format!("{} for {}", counted(ranks, "rank"), allocation.counted(room));
    let error = line.wrong(&found, &format!("a {} of the job for every rank", allocation.slot));
    match allocation.list {
        Some("$PBS_NODEFILE") => error.with_advice(
            "mpiprocs= of the chunks (ppn= of Torque) is the number of their ranks, 1 without it",
        ),
        Some(_) => error.with_advice("#BSUB -n is the number of ranks of the job"),
        None => error,
    }
}

/// More ranks on a host than the batch system has in mind for it.
fn warn_of_slots(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    each: usize,
    reading: &mut Reading,
) {
    let Some(host) = allocation.hosts.iter().find(|host| host.slots < each) else { return };
    let text = format!(
        "{} on {}, which has {}: Open MPI refuses this, Hydra does not",
        counted(each, "rank"),
        host.name,
        allocation.counted(host.slots),
    );
    reading.warn(&traps::SLOTS_OF_JOB, line.launch.line, text);
}

/// Options with which another rule says where ranks run are an error.
fn refuse_others(line: &LaunchLine<'_>, words: &[String]) -> Result<(), InputError> {
    let one = |word: &str| format!("-{}", word.trim_start_matches('-'));
    let other = words.iter().find(|word| {
        word.starts_with('-')
            && OTHERS.contains(&one(word.split('=').next().unwrap_or_default()).as_str())
    });
    let Some(other) = other else { return Ok(()) };
    let advice =
        "write the hosts to a hostfile and lint that file, with this line in --launcher-args";
    let expected = "ranks that fill one node after the other";
    Err(line.wrong(&format!("`{other}`"), expected).with_advice(advice))
}

/// Adds the ranks as Open MPI 4.1 and 5.0 map them; what differs between them is not known.
fn add_mapped(
    line: &LaunchLine<'_>,
    arguments: Arguments<'_>,
    allocation: &Allocation,
    reading: &mut Reading,
) -> Result<(), InputError> {
    let hosts = hosts(line, allocation);
    let of = |version: Version| {
        let map_by = MapBy::of(arguments, version).map_err(map_by::Unread::text);
        Ok::<_, InputError>(match map_by {
            Ok(map_by) => Ok(mapped(line, map_by, &hosts, arguments.ranks())?),
            Err(text) => Err(text),
        })
    };
    let mut its = match (of(Version::Four)?, of(Version::Five)?) {
        (Ok(four), Ok(five)) => both(line, four, five)?,
        (Ok(its), Err(_)) | (Err(_), Ok(its)) => its,
        (Err(found), Err(_)) => {
            let advice = "mpirun itself shows what others do: with --display-map (Open MPI 4) or \
                          --display map (5)";
            let found = format!("{found}, which is not predicted");
            let expected = "--map-by slot, node, package (4.1: socket), numa, l3cache, core or \
                            ppr:N:RESOURCE";
            return Err(line.wrong(&found, expected).with_advice(advice));
        }
    };
    reading.objects_are_shared = its.objects_are_shared;
    reading.ranks.append(&mut its.ranks);
    reading.warnings.append(&mut its.warnings);
    reading.notes.append(&mut its.notes);
    Ok(())
}

/// The ranks as one version maps them.
fn mapped(
    line: &LaunchLine<'_>,
    map_by: MapBy<'_>,
    hosts: &[map_by::Host<'_>],
    ranks: Option<usize>,
) -> Result<Reading, InputError> {
    let ranks = ranks.unwrap_or_else(|| map_by.ranks(hosts));
    if ranks > MOST_RANKS {
        let expected = format!("at most {MOST_RANKS}");
        return Err(line.wrong(&counted(ranks, "rank"), &expected));
    }
    let mut its = Reading::default();
    map_by.add(hosts, ranks, &mut its).map_err(|found| {
        let error = line.wrong(&found, "hosts whose parts are known");
        error.with_advice("give --on CLUSTER with these hosts")
    })?;
    Ok(its)
}

/// What two versions agree on, or what the one does that starts.
fn both(line: &LaunchLine<'_>, four: Reading, five: Reading) -> Result<Reading, InputError> {
    let (mut its, mut other, name) = match (four.starts(), five.starts()) {
        (true, false) => (four, five, "5.0"),
        _ => (five, four, "4.1"),
    };
    if its.starts() != other.starts() {
        for mut warning in other.warnings.drain(..).filter(|warning| warning.refused) {
            warning.refused = false;
            warning.text = format!("Open MPI {name}: {}", warning.text);
            its.warnings.push(warning);
        }
        return Ok(its);
    }
    if other.ranks == its.ranks {
        return Ok(its);
    }
    if !other.host_of_rank().eq(its.host_of_rank()) {
        let found = "a mapping for which Open MPI 4.1 and 5.0 use different hosts";
        let advice = "lint a hostfile with the slots of the job, with --from openmpi4 or openmpi5";
        return Err(line.wrong(found, "the same hosts with both").with_advice(advice));
    }
    its.drop_cores(
        "Open MPI 4.1 and 5.0 bind the ranks of a node differently here; a hostfile with --from \
         openmpi4 or openmpi5 and this line in --launcher-args shows each",
    );
    Ok(its)
}

/// The hosts with their slots.
fn hosts<'a>(line: &'a LaunchLine<'_>, allocation: &'a Allocation) -> Vec<map_by::Host<'a>> {
    let host = |host: &'a super::allocation::Granted| map_by::Host {
        name: &host.name,
        slots: host.slots,
        line: line.launch.line,
        machine: line.source.machines.machine(&host.name),
    };
    allocation.hosts.iter().map(host).collect()
}
