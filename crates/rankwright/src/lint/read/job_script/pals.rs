//! `mpiexec` of Cray's PALS, and `aprun`: ranks per node, and their CPUs by depth or by list. Follows their
//! manuals and the guides of computing centres; not tested with either.

use super::allocation::Allocation;
use super::launch_line::LaunchLine;
use super::mpi::Mpi;
use crate::cluster::Machine;
use crate::files::InputError;
use crate::ids::{PuId, PuSet};
use crate::lint::read::cpu_bind::CpuBind;
use crate::lint::read::launch_options::program;
use crate::lint::{Arguments, MOST_RANKS, PUS_UNKNOWN, Place, Reading, pu, traps};
use crate::units::counted;

/// Options that only PALS has.
const OF_PALS: [&str; 10] = [
    "--ppn",
    "--cpu-bind",
    "--depth",
    "-d",
    "--mem-bind",
    "--gpu-bind",
    "--line-buffer",
    "--no-transfer",
    "--no-vni",
    "--pmi",
];

/// Options that say in another way where ranks run.
const OTHERS: [&str; 9] =
    ["--hosts", "-hosts", "--host", "--hostfile", "--hostlist", "-L", "-S", "-sn", "--rankmap"];

/// Options of aprun with a value in the next word.
const APRUN: [&str; 25] = [
    "-n", "-N", "-d", "-cc", "-j", "-S", "-sn", "-sl", "-L", "-l", "-m", "-e", "-E", "-p", "-P",
    "-r", "-t", "-D", "-F", "-a", "-M", "-R", "--pes", "--depth", "--wdir",
];

/// Whether the command is aprun, or `mpiexec` with options that only PALS has; if the MPI of `mpiexec` is known,
/// whether that is Cray's.
pub(super) fn is_one(line: &LaunchLine<'_>) -> bool {
    let words = line.words();
    let options = &words[..program(&words)];
    let is_of_pals = |word: &String| OF_PALS.contains(&word.split('=').next().unwrap_or_default());
    let is_mpiexec = ["mpiexec", "mpirun"].contains(&line.launch.launcher.as_str());
    let is_pals = line.mpi().map_or_else(|| options.iter().any(is_of_pals), Mpi::is_cray);
    line.launch.launcher == "aprun" || is_mpiexec && is_pals
}

/// How the ranks of a node are bound.
enum Binding {
    /// To so many CPUs each, one rank behind the other.
    Depth(usize),
    List(CpuBind),
    /// By the launcher's own rules.
    Unknown(String),
}

/// Reads the launch. `names_ranks` is whether the job says how many ranks each host is meant to have.
pub(super) fn read(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    names_ranks: bool,
    reading: &mut Reading,
) -> Result<(), InputError> {
    line.refuse_several_programs("mpiexec of PALS")?;
    let is_aprun = line.launch.launcher == "aprun";
    let words = own_options(line, allocation, is_aprun)?;
    let arguments = Arguments::new(&words);
    let other = |word: &&str| OTHERS.contains(&word.split('=').next().unwrap_or_default());
    if let Some(other) = arguments.words().find(other) {
        let expected = "ranks that fill one node after the other";
        return Err(line.wrong(&format!("`{other}`, whose effect is not predicted"), expected));
    }
    let number = |names: &[&str]| {
        let Some(text) = arguments.values(names).last() else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (1..=MOST_RANKS).contains(number));
        let found = format!("{} {text}", names[0]);
        number.map(Some).ok_or_else(|| line.wrong(&found, "a number, written out"))
    };
    let depth = number(&["-d", "--depth"])?;
    let ranks = number(&["-n", "-np", "--np", "--pes"])?;
    let per_host = number(if is_aprun { &["-N"] } else { &["--ppn", "-ppn"] })?;
    let per_host = per_host
        .or_else(|| by_cores(line, allocation, depth).filter(|_| is_aprun))
        .or(ranks.filter(|_| allocation.hosts.len() == 1));
    if per_host.is_none() && (is_aprun || !names_ranks) {
        let option = if is_aprun { "-N" } else { "--ppn" };
        let found = format!("{} without {option}", line.launch.launcher);
        let expected = "the number of ranks on a node";
        let advice = format!("add {option}, or mpiprocs= to the chunks of the job");
        return Err(line.wrong(&found, expected).with_advice(advice));
    }
    let of_host: Vec<usize> =
        allocation.hosts.iter().map(|host| per_host.unwrap_or(host.slots)).collect();
    let room = of_host.iter().fold(0, |sum: usize, it| sum.saturating_add(*it));
    let ranks = ranks.unwrap_or(if is_aprun { 1 } else { room });
    if ranks > room || room > MOST_RANKS {
        let hosts = counted(allocation.hosts.len(), "node");
        let found = format!("{} on {hosts} with room for {room}", counted(ranks, "rank"));
        return Err(line.wrong(&found, "a place for every rank"));
    }
    let binding = binding(line, arguments, is_aprun, depth, reading)?;
    if let Binding::Unknown(why) = &binding {
        reading.notes.push(format!("{PUS_UNKNOWN}: {why}"));
    }
    let (mut first, mut checked) = (0, Checked::default());
    for (host, each) in allocation.hosts.iter().zip(of_host) {
        let machine = line.source.machines.machine(&host.name);
        let places = binding.places(machine, is_aprun, each.min(ranks - first));
        if checked.is_new(machine, places.len()) {
            warn(line, &host.name, machine, (&binding, &places), first, reading);
        }
        for place in places {
            reading.add(first, &host.name, place, line.launch.line);
            first += 1;
        }
    }
    Ok(())
}

/// As many ranks as fit on the cores of a node: the default of aprun.
fn by_cores(line: &LaunchLine<'_>, allocation: &Allocation, depth: Option<usize>) -> Option<usize> {
    let machine = line.source.machines.machine(&allocation.hosts.first()?.name)?;
    Some((machine.cores.len() / depth.unwrap_or(1)).max(1))
}

/// The machines that were checked, each with the most ranks: nodes that are alike are not told twice.
#[derive(Default)]
struct Checked<'a>(Vec<(Option<&'a Machine>, usize)>);

impl<'a> Checked<'a> {
    fn is_new(&mut self, machine: Option<&'a Machine>, ranks: usize) -> bool {
        let same = |other: Option<&Machine>| match (machine, other) {
            (Some(machine), Some(other)) => std::ptr::eq(machine, other),
            (machine, other) => machine.is_none() && other.is_none(),
        };
        match self.0.iter_mut().find(|(other, _)| same(*other)) {
            Some((_, most)) => ranks > std::mem::replace(most, ranks.max(*most)),
            None => {
                self.0.push((machine, ranks));
                true
            }
        }
    }
}

/// The options without the batch system's own list of hosts.
fn own_options(
    line: &LaunchLine<'_>,
    allocation: &Allocation,
    is_aprun: bool,
) -> Result<Vec<String>, InputError> {
    let mut words = line.words();
    words.truncate(if is_aprun { aprun_program(&words) } else { program(&words) });
    line.check_known(words.len())?;
    let mut words: Vec<String> =
        if is_aprun { words.iter().flat_map(|word| separated(word)).collect() } else { words };
    while let Some(at) = words.iter().position(|word| Some(word.as_str()) == allocation.list) {
        words.drain(at.saturating_sub(1)..=at);
    }
    Ok(words)
}

/// The position of the program behind the options of aprun.
fn aprun_program(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += 1 + usize::from(APRUN.contains(&word.as_str()));
    }
    at.min(words.len())
}

/// `-n16` and `-N8` of aprun as two words.
fn separated(word: &str) -> Vec<String> {
    let letters = ["-n", "-N", "-d", "-j"];
    let joined = letters.into_iter().find_map(|name| {
        let value = word.strip_prefix(name)?;
        value.starts_with(|first: char| first.is_ascii_digit()).then_some([name, value])
    });
    joined.map_or_else(|| vec![word.to_owned()], |pair| pair.map(str::to_owned).to_vec())
}

fn binding(
    line: &LaunchLine<'_>,
    arguments: Arguments<'_>,
    is_aprun: bool,
    depth: Option<usize>,
    reading: &mut Reading,
) -> Result<Binding, InputError> {
    let each = depth.unwrap_or(1);
    let names = if is_aprun { &["-cc", "--cpu-binding"][..] } else { &["--cpu-bind"] };
    let Some(text) = arguments.value(names) else {
        if is_aprun && ["1", "0"].contains(&arguments.value(&["-j"]).unwrap_or("1")) {
            return Ok(Binding::Depth(each));
        }
        let advice = if is_aprun { "-cc" } else { "--cpu-bind depth or list:" };
        let launcher = &line.launch.launcher;
        return Ok(Binding::Unknown(format!(
            "what {launcher} binds to by default is not predicted; {advice} says it"
        )));
    };
    // `verbose,depth`.
    let text = text.rsplit_once("verbose,").map_or(text, |(_, text)| text);
    let list = match text.strip_prefix("list:") {
        Some(list) => Some(list),
        None => Some(text).filter(|it| is_aprun && it.starts_with(|c: char| c.is_ascii_digit())),
    };
    if let Some(list) = list {
        // aprun takes commas for separators where no colon is one.
        let separator = if is_aprun && !list.contains(':') { ',' } else { ':' };
        let sets: Option<Vec<PuSet>> = list
            .split(separator)
            .map(|entry| entry.parse::<PuSet>().ok().filter(|pus| !pus.is_empty()))
            .collect();
        let expected = "lists of CPUs for the ranks of a node, such as list:0-7:8-15";
        let sets = sets.ok_or_else(|| line.wrong(&format!("{} {text}", names[0]), expected))?;
        return Ok(Binding::List(CpuBind::List(sets)));
    }
    Ok(match text {
        "none" => {
            let text = format!("{} none: ranks may move to any CPU of the node", names[0]);
            reading.warn(&traps::BIND_OFF, line.launch.line, text);
            Binding::List(CpuBind::None)
        }
        "depth" => Binding::Depth(each),
        "cpu" if is_aprun => Binding::Depth(each),
        _ => Binding::Unknown(format!("what {} {text} binds to is not predicted", names[0])),
    })
}

impl Binding {
    /// The places of the ranks of a node.
    fn places(&self, machine: Option<&Machine>, by_core: bool, count: usize) -> Vec<Place> {
        match self {
            Self::Unknown(_) => vec![Place::Unknown; count],
            Self::List(bind) => (0..count).map(|local| bind.place(local)).collect(),
            Self::Depth(each) => {
                // aprun counts the first hardware thread of every core, PALS all in the system's order.
                let number = |at: usize| match machine {
                    Some(machine) if by_core => machine.cores.get(at)?.pus.first().copied(),
                    Some(machine) if at >= machine.pus.len() => None,
                    _ => pu(at),
                };
                let set = |local: usize| {
                    let pus = (local * each..(local + 1) * each).map(number);
                    pus.collect::<Option<Vec<PuId>>>()
                };
                let set = |local| {
                    set(local).map_or(Place::Unknown, |it| Place::Pus(it.into_iter().collect()))
                };
                (0..count).map(set).collect()
            }
        }
    }
}

/// Warns of what the binding does on a node; `first` is the number of its first rank.
fn warn(
    line: &LaunchLine<'_>,
    host: &str,
    machine: Option<&Machine>,
    (binding, places): (&Binding, &[Place]),
    first: usize,
    reading: &mut Reading,
) {
    if let Binding::List(bind) = binding {
        bind.warn_if_short(host, places.len(), reading);
    }
    let Some(machine) = machine else { return };
    if let Binding::Depth(each) = binding
        && places.len().saturating_mul(*each) > machine.pus.len()
    {
        let text = format!(
            "{} of {} on {host}, which has {}",
            counted(places.len(), "rank"),
            counted(*each, "CPU"),
            counted(machine.pus.len(), "CPU")
        );
        reading.warn(&traps::DEPTH, line.launch.line, text);
        let note = format!("{PUS_UNKNOWN} of the ranks beyond the CPUs of the nodes");
        if !reading.notes.contains(&note) {
            reading.notes.push(note);
        }
    }
    let split = (first..).zip(places).find(|(_, place)| is_split(machine, place));
    if let Some((rank, Place::Pus(pus))) = split {
        let text = format!(
            "rank {rank} has P#{pus} of {host}, on two packages; a list of CPUs for each rank keeps it on one"
        );
        reading.warn(&traps::TWO_PACKAGES, line.launch.line, text);
    }
}

/// Whether the PUs are on several packages, although one package has as many.
fn is_split(machine: &Machine, place: &Place) -> bool {
    let Place::Pus(pus) = place else { return false };
    let package = |pu: &PuId| {
        let core = machine.cores.iter().find(|core| core.pus.contains(pu))?;
        Some(core.package)
    };
    let mut packages: Vec<_> = pus.as_slice().iter().filter_map(package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages.len() > 1 && pus.as_slice().len() <= machine.pus.len() / machine.packages.max(1)
}

#[cfg(test)]
mod tests {
    use crate::cluster::read::synthetic;
    use crate::cluster::{Cluster, ClusterDescription, Node, NodeGroup};
    use crate::lint::{read_guessed, traps};

    /// Nodes with eight PUs, then nodes with four.
    fn cluster(large: usize, small: usize) -> Cluster {
        let group = |topology| NodeGroup::all_free(synthetic::parse(topology).unwrap());
        let names = (0..large).map(|node| format!("large{node}")).collect();
        let mut description = ClusterDescription::uniform("c", names, group("pack:2 core:4 pu:1"));
        description.groups.push(group("pack:2 core:2 pu:1"));
        let small = (0..small).map(|node| format!("small{node}"));
        description.nodes.extend(small.map(|name| Node { name, group: 1, switch: None }));
        description.build().unwrap()
    }

    /// The warnings of a job on all nodes.
    fn warnings(large: usize, small: usize, options: &str) -> Vec<String> {
        let nodes = large + small;
        let script = format!("#!/bin/bash\n#PBS -l select={nodes}\nmpiexec {options} ./a");
        let guessed = read_guessed(&script, "job", &[], Some(&cluster(large, small))).unwrap();
        let warnings = guessed.reading.warnings.iter();
        let of_binding = [&traps::DEPTH, &traps::LIST_AGAIN].map(|trap| trap.code);
        let warnings = warnings.filter(|it| of_binding.contains(&it.trap.code));
        warnings.map(|it| it.text.clone()).collect()
    }

    #[test]
    fn each_kind_of_node_is_checked_once() {
        let found = warnings(2, 2, "--ppn 8 --depth 1 --cpu-bind depth");
        assert_eq!(found, ["8 ranks of 1 CPU on small0, which has 4 CPUs"]);
        let found = warnings(2, 1, "--ppn 9 --cpu-bind depth");
        assert_eq!(found.len(), 2, "{found:?}");
        let found = warnings(2, 1, "--ppn 3 --cpu-bind list:0:1");
        assert_eq!(
            found,
            ["large0", "small0"]
                .map(|host| { format!("{host} has 3 ranks, but the list has entries for 2") })
        );
    }
}
