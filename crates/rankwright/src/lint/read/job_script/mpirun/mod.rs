//! `mpirun` and `mpiexec` in a job, of the MPI that the script loads or of any: the ranks fill the slots of one
//! host after the other.

mod open_mpi;

use super::allocation::Allocation;
use super::launch_line::LaunchLine;
use super::mpi::Mpi;
use crate::files::InputError;
use crate::lint::read::launch_options::{self, Unknown, program};
use crate::lint::read::rankfile::map_by;
use crate::lint::read::wrapper;
use crate::lint::{Arguments, MOST_RANKS, Place, Reading, similar, traps};
use crate::units::counted;

/// Options with which another rule says where ranks run.
const OTHERS: [&str; 6] = ["-rankmap", "-rr", "-H", "-host", "-hosts", "-bynode"];

/// Options for the number of ranks.
const RANKS: [&str; 4] = ["-n", "-np", "--np", "--n"];

/// Options for the number of ranks on a host; the first four are not of Open MPI.
const PER_HOST: [&str; 7] =
    ["-ppn", "--ppn", "-perhost", "--perhost", "-npernode", "--npernode", "-N"];

/// Reads the launch: the hosts, and the PUs as far as the options say them.
pub(super) fn read(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    reading: &mut Reading,
) -> Result<(), InputError> {
    if line.launch.words.iter().any(|word| wrapper::binds(&word.text)) {
        line.refuse_several_programs("a program that binds them")?;
    }
    let words = own_options(line, allocation)?;
    warn_of_unknown(line, &words, reading);
    let arguments = Arguments::new(&words);
    if allocation.hosts.len() > 1 {
        refuse_others(line, &words)?;
    }
    let slots = allocation.slots();
    let per_host = number(line, arguments, &PER_HOST)?;
    if per_host.is_some() {
        line.refuse_several_programs("a number of ranks on each host")?;
    }
    let ranks = match line.has_several_programs() {
        true => Some(of_all_programs(line, &words)?),
        false => number(line, arguments, &RANKS)?,
    };
    let room = per_host.map_or(slots, |each| each.saturating_mul(allocation.hosts.len()));
    let ranks = ranks.unwrap_or(room);
    if ranks > room && per_host.is_some() || ranks.max(room) > MOST_RANKS {
        return Err(too_many(line, allocation, (ranks, room, per_host)));
    }
    if ranks > room {
        let text = format!(
            "{} for {}: Open MPI refuses this, Hydra starts again at the first host{}",
            counted(ranks, "rank"),
            allocation.counted(room),
            what_counts(allocation).map_or(String::new(), |what| format!("; {what}"))
        );
        reading.warn(&traps::SLOTS_OF_JOB, line.launch.line, text);
    }
    let mpi = line.mpi();
    if is_mapped(line, arguments, reading) {
        return open_mpi::add(line, arguments, allocation, reading);
    }
    let binding = arguments.value(&["--bind-to", "-bind-to"]);
    let unbound = match binding {
        Some(binding) => binding.split(':').next() == Some("none"),
        None => mpi.is_some_and(Mpi::is_mpich),
    };
    if let Some(binding) = binding {
        warn_of_binding(line, binding, reading);
    }
    if !unbound {
        reading.notes.push(format!("{}: {}", crate::lint::PUS_UNKNOWN, depends(binding, mpi)));
    }
    let order = allocation
        .hosts
        .iter()
        .flat_map(|host| std::iter::repeat_n(&host.name, per_host.unwrap_or(host.slots)));
    for (rank, host) in order.cycle().take(ranks).enumerate() {
        let place = if unbound { Place::Unbound } else { Place::Unknown };
        reading.add(rank, host, place, line.launch.line);
    }
    if let Some(each) = per_host {
        warn_of_slots(line, allocation, each, reading);
    }
    Ok(())
}

/// Whether the ranks are mapped as by Open MPI: if `mpirun` is its own, or has options of it alone. Tells what
/// its `mpirun` refuses.
fn is_mapped(line: &LaunchLine<'_>, arguments: Arguments<'_>, reading: &mut Reading) -> bool {
    let is_given = |option: &&str| arguments.values(&[*option]).next().is_some();
    let of_hydra = PER_HOST[..4].iter().copied().find(is_given);
    let Some(mpi) = line.mpi() else { return of_hydra.is_none() && map_by::has_own(arguments) };
    let is_open_mpi = !mpi.open_mpi().is_empty();
    if let Some(option) = of_hydra.filter(|_| is_open_mpi) {
        let text = format!("{option}, which Hydra has; with Open MPI it is -N");
        reading.refuse(&traps::OPTION_UNKNOWN, line.launch.line, text);
    }
    is_open_mpi
}

/// Why the PUs of ranks that are bound are unknown.
fn depends(binding: Option<&str>, mpi: Option<&Mpi>) -> String {
    match (binding, mpi) {
        (Some(binding), Some(mpi)) => {
            format!("which ones --bind-to {binding} of {} takes is not predicted", mpi.name)
        }
        (None, Some(mpi)) => {
            format!("which ones {} binds to by default is not predicted", mpi.name)
        }
        (Some(binding), None) => {
            format!("which ones --bind-to {binding} takes depends on the MPI of mpirun")
        }
        (None, None) => "they depend on the MPI of mpirun: by default Open MPI 5.0 binds to cores, 4.1 with \
                 more than two ranks to NUMA nodes, Intel MPI to shares of the node, MPICH not at all"
            .to_owned(),
    }
}

/// The options without the batch system's own list of hosts, which mpirun reads anyway.
fn own_options(line: &LaunchLine<'_>, allocation: &Allocation) -> Result<Vec<String>, InputError> {
    let mut words = line.words();
    if line.has_several_programs() {
        line.check_known(words.len())?;
        words = Arguments::new(&words).without_programs();
    } else {
        let program = program(&words);
        line.check_known(program)?;
        words.truncate(program);
    }
    while let Some(at) = words.iter().position(|word| Some(word.as_str()) == allocation.list) {
        words.drain(at.saturating_sub(1)..=at);
    }
    // Variables of Open MPI are options too.
    let variables = line.launch.exported.iter().filter(|(name, _)| name.contains("_MCA_"));
    for (name, (value, _)) in variables {
        let unknown = || line.wrong(&format!("${name}, which only a shell can know"), "its value");
        let value = value.as_ref().ok_or_else(unknown)?;
        words.insert(0, format!("{name}={value}"));
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

/// The ranks of several programs together; each has its own number.
fn of_all_programs(line: &LaunchLine<'_>, words: &[String]) -> Result<usize, InputError> {
    let mut ranks = 0_usize;
    for part in words.split(|word| word == ":") {
        let found = "one of several programs without its number of ranks";
        let of_part = number(line, Arguments::new(part), &RANKS)?;
        let of_part = of_part.ok_or_else(|| line.wrong(found, "-n RANKS before each program"))?;
        ranks = ranks.saturating_add(of_part);
    }
    Ok(ranks)
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
    match what_counts(allocation) {
        Some(advice) => error.with_advice(advice),
        None => error,
    }
}

/// What says how many ranks a job is meant to have.
fn what_counts(allocation: &Allocation) -> Option<&'static str> {
    match allocation.list? {
        "$PBS_NODEFILE" => Some(
            "mpiprocs= of the chunks (ppn= of Torque) is the number of their ranks, 1 without it",
        ),
        _ => Some("#BSUB -n is the number of ranks of the job"),
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

/// What Hydra and Open MPI 4.1 bind to, without a count behind `:`.
const BIND_TO: [&str; 17] = [
    "none", "user", "rr", "cpu", "hwthread", "core", "socket", "package", "numa", "numanode",
    "board", "machine", "l1cache", "l2cache", "l3cache", "l4cache", "l5cache",
];

/// A mistyped `--bind-to` (`cores`): Open MPI 5.0 takes what begins alike, Intel MPI ignores the option.
fn warn_of_binding(line: &LaunchLine<'_>, binding: &str, reading: &mut Reading) {
    let name = binding.split(':').next().unwrap_or_default();
    let refuses = match line.mpi() {
        None => "Open MPI 4.1 and MPICH refuse",
        Some(mpi) if mpi.is_mpich() => "MPICH refuses",
        Some(_) => return,
    };
    if BIND_TO.contains(&name) {
        return;
    }
    let Some(similar) = similar::to(name, BIND_TO.into_iter()) else { return };
    let text = format!("{refuses} --bind-to {binding}: is {similar} meant?");
    reading.warn(&traps::POLICY, line.launch.line, text);
}

/// Options that no `mpirun` has: those that look like a known one are mistyped.
fn warn_of_unknown(line: &LaunchLine<'_>, words: &[String], reading: &mut Reading) {
    for Unknown { word, similar } in launch_options::unknown(words) {
        let number = line.launch.line;
        let has_none = format!("{} has no option {word}", line.launch.launcher);
        match similar {
            Some(similar) => {
                let dashes = &word[..word.len() - word.trim_start_matches('-').len()];
                let text = format!("{has_none}, and refuses it: is {dashes}{similar} meant?");
                reading.refuse(&traps::OPTION_UNKNOWN, number, text);
            }
            None => {
                let text = "of Open MPI, MPICH, Intel MPI or PALS";
                reading.notes.push(format!("line {number}: {has_none} {text} that is known here"));
            }
        }
    }
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
