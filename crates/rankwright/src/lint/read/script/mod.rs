//! Wrapper scripts, which a launcher starts for each rank and which start the program: the GPUs, network
//! devices, memory and cores that each rank gets by them.
//!
//! | file | what it has |
//! |---|---|
//! | `syntax` | the statements of a script |
//! | `run` | a script as one rank runs it |
//! | `expansion` | what a shell makes of words |
//! | `arithmetic`, `conditions` | `$((..))`; `[ .. ]`, `[[ .. ]]` and patterns |
//! | `environment` | the variables by which a rank knows itself |
//! | `chosen` | what the variables and options of a rank name on its machine |
//! | `locality` | warnings of what is far, shared or missing |

pub(in crate::lint) mod arithmetic;
mod chosen;
mod conditions;
mod environment;
mod expansion;
mod locality;
mod run;
mod syntax;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::files::InputError;
use crate::launch::MPI_LAUNCHERS;
use crate::lint::machines::{Machines, short};
use crate::lint::{MOST_RANKS, Place, RankReading, Reading, Source, listed, program_of, traps};
use crate::units::counted;
pub(in crate::lint) use chosen::NICS;
use environment::Position;
pub(in crate::lint) use environment::{Starter, of_a_rank};
use run::{Shell, Started};

/// Options of launchers for the number of ranks on a node.
const PER_NODE: [&str; 9] = [
    "--ntasks-per-node",
    "-N",
    "--npernode",
    "-npernode",
    "-ppn",
    "--ppn",
    "-perhost",
    "--tasks-per-node",
    "--ranks-per-node",
];

/// Whether a program starts the ranks of an MPI library: Open MPI has two more names for its own.
pub(in crate::lint) fn is_mpi_launcher(program: &str) -> bool {
    MPI_LAUNCHERS.contains(&program) || ["orterun", "prterun"].contains(&program)
}

/// Whether the text is such a script.
pub(in crate::lint) fn is_one(text: &str) -> bool {
    let starts_program = ["\"$@\"", "$@", "$*"].iter().any(|all| text.contains(all));
    text.starts_with("#!") && starts_program && environment::has_any(text)
}

/// Reads a script that is started for each rank, on the first nodes of the cluster.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    let mut reading = Reading::default();
    let (hosts, per_node, ranks) = layout(source, &mut reading)?;
    for rank in 0..ranks {
        reading.add(rank, &hosts[rank / per_node], Place::Unbound, 1);
    }
    let words: Vec<&str> = source.arguments.words().collect();
    let program = |is: fn(&str) -> bool| words.iter().any(|word| is(program_of(word)));
    let starter = match () {
        () if program(|name| name == "srun") => Starter::Srun,
        () if program(is_mpi_launcher) => Starter::Mpirun { in_slurm: false },
        () => Starter::Any,
    };
    let given = words.iter().filter_map(|word| word.split_once('='));
    let mut given: BTreeMap<String, Result<String, String>> =
        given.map(|(name, value)| (name.to_owned(), Ok(value.to_owned()))).collect();
    if let Some(each) =
        asked_per_node(source).filter(|_| starter != (Starter::Mpirun { in_slurm: false }))
    {
        given.insert("SLURM_NTASKS_PER_NODE".to_owned(), Ok(each.to_owned()));
    }
    let script = Script {
        text: source.text,
        file: source.file,
        starter,
        given,
        arguments: &[],
        is_source: true,
    };
    script.apply(&mut reading, source.machines)?;
    Ok(reading)
}

/// The number of ranks on a node, as the launcher or its variable has it.
fn asked_per_node<'a>(source: &Source<'a>) -> Option<&'a str> {
    let arguments = source.arguments;
    arguments.value(&PER_NODE).or_else(|| arguments.variable("SLURM_NTASKS_PER_NODE"))
}

/// The host of each node, the ranks on a node, and all ranks.
fn layout(
    source: &Source<'_>,
    reading: &mut Reading,
) -> Result<(Vec<String>, usize, usize), InputError> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    let (asked, ranks) = (asked_per_node(source), source.arguments.ranks());
    let cluster = source.machines.cluster();
    let machine = cluster.and_then(|it| it.node_ids().next().map(|node| it.machine(node)));
    let usual = machine.map(|machine| match machine.gpus.len() {
        0 => (machine.numa_nodes.len().max(1), "one rank per NUMA node"),
        gpus => (gpus, "one rank per GPU"),
    });
    let per_node = match (asked.and_then(number), ranks, usual) {
        (Some(each), ..) => each,
        (None, ranks, Some((each, what))) => {
            let each = ranks.map_or(each, |ranks| ranks.min(each));
            reading.notes.push(format!(
                "read for {what}: {each} on a node; give others as --launcher-args \"-n RANKS \
                 --ntasks-per-node RANKS\""
            ));
            each
        }
        (None, Some(ranks), None) => ranks,
        (None, None, None) => {
            let advice =
                "give --on CLUSTER, or --launcher-args \"-n RANKS --ntasks-per-node RANKS\"";
            let error =
                source.wrong(None, "a script for each rank", "the number of ranks on a node");
            return Err(error.with_advice(advice));
        }
    };
    let ranks = ranks.unwrap_or(per_node);
    if ranks > MOST_RANKS {
        return Err(source.wrong_argument(&counted(ranks, "rank"), "fewer ranks"));
    }
    let nodes = ranks.div_ceil(per_node);
    let hosts: Vec<String> = match cluster {
        Some(cluster) => cluster.nodes.iter().take(nodes).map(|node| node.name.clone()).collect(),
        None => (0..nodes).map(|node| format!("node{node}")).collect(),
    };
    if hosts.len() < nodes {
        let found = format!("{}, {per_node} on a node", counted(ranks, "rank"));
        return Err(source.wrong_argument(&found, &format!("ranks for {} nodes", hosts.len())));
    }
    Ok((hosts, per_node, ranks))
}

/// A script that the launcher starts for each rank.
pub(in crate::lint) struct Script<'a> {
    pub(in crate::lint) text: &'a str,
    /// The file's name, for errors and notes.
    pub(in crate::lint) file: &'a str,
    pub(in crate::lint) starter: Starter,
    /// Variables that are set before the launcher starts; those that are not known have a reason.
    pub(in crate::lint) given: BTreeMap<String, Result<String, String>>,
    /// The program and its arguments.
    pub(in crate::lint) arguments: &'a [String],
    /// Whether it is the file that is read, so that warnings have its lines.
    pub(in crate::lint) is_source: bool,
}

impl Script<'_> {
    /// Adds to the ranks what they get by the script, and warns of what is wrong with it.
    pub(in crate::lint) fn apply(
        &self,
        reading: &mut Reading,
        machines: &Machines<'_>,
    ) -> Result<(), InputError> {
        let list = syntax::parse(self.text).map_err(|(line, found)| {
            InputError::new(self.file, found, "a script that a shell can read").at_line(line)
        })?;
        let mut found = Found::default();
        for (at, position) in positions(reading).iter().enumerate() {
            self.run(&list, &mut reading.ranks[at], position, (machines, &mut found));
        }
        found.tell(self, reading);
        for name in environment::foreign(self.text, self.starter) {
            let text = match self.starter {
                Starter::Srun => format!("srun does not set {name}"),
                _ => format!("mpirun does not set {name} for each rank"),
            };
            let line = line_of(self.text, name).and_then(|line| self.line(line));
            reading.warn(&traps::FOREIGN_VARIABLE, line, text);
        }
        locality::check(reading, machines);
        Ok(())
    }

    /// Runs it as a rank.
    fn run(
        &self,
        list: &syntax::List,
        rank: &mut RankReading,
        position: &Position,
        (machines, found): (&Machines<'_>, &mut Found),
    ) {
        let number = position.rank as u32;
        let group = machines.group(&rank.host);
        let mut shell = self.shell(&rank.host, position, group.map(|group| &group.machine));
        let ended = shell.run(list);
        found.sourced.append(&mut shell.sourced);
        match ended {
            Ok(Some(started)) => {
                let (why, twice) = chosen::choose(rank, &started, group);
                for why in why {
                    found.unevaluated.entry((started.line, why)).or_default().push(number);
                }
                if let Some(twice) = twice {
                    found.filtered.entry((started.line, twice)).or_default().push(number);
                }
            }
            Ok(None) => found.idle.push(number),
            Err(why) => {
                if self.text.split_whitespace().any(run::binds) {
                    chosen::bound_somewhere(rank);
                }
                found.unevaluated.entry(why).or_default().push(number);
            }
        }
    }

    fn line(&self, line: usize) -> Option<usize> {
        self.is_source.then_some(line)
    }

    fn shell(
        &self,
        host: &str,
        position: &Position,
        machine: Option<&crate::cluster::Machine>,
    ) -> Shell {
        let mut variables: BTreeMap<String, Result<String, String>> =
            environment::variables(self.starter, position)
                .into_iter()
                .map(|(name, value)| (name, Ok(value)))
                .collect();
        variables.extend(self.given.clone());
        variables.insert("HOSTNAME".to_owned(), Ok(host.to_owned()));
        variables.insert("SLURMD_NODENAME".to_owned(), Ok(short(host).to_owned()));
        let mut shell = Shell::new(variables);
        shell.arguments = match self.arguments {
            [] => vec!["PROGRAM".to_owned()],
            arguments => arguments.to_vec(),
        };
        shell.printed.insert("hostname", host.to_owned());
        shell.printed.insert("hostname -s", short(host).to_owned());
        if let Some(machine) = machine {
            let gpus = machine.gpus.len().to_string();
            for command in ["nvidia-smi -L | wc -l", "nvidia-smi --list-gpus | wc -l"] {
                shell.printed.insert(command, gpus.clone());
            }
        }
        shell
    }
}

/// What is said of a script, with the ranks concerned.
#[derive(Default)]
struct Found {
    /// By line and reason.
    unevaluated: BTreeMap<(usize, String), Vec<u32>>,
    /// By line and text.
    filtered: BTreeMap<(usize, String), Vec<u32>>,
    idle: Vec<u32>,
    /// Lines with the files that they read.
    sourced: BTreeSet<(usize, String)>,
}

impl Found {
    fn tell(self, script: &Script<'_>, reading: &mut Reading) {
        let file = script.file;
        for (line, other) in self.sourced {
            reading.notes.push(format!("{file}:{line}: not read: {other}"));
        }
        for ((line, why), ranks) in self.unevaluated {
            let ranks = listed("rank", &ranks);
            let what = "what they get is not known";
            reading.notes.push(format!("{file}:{line}: {why} is not evaluated: {ranks}, {what}"));
        }
        for ((line, text), ranks) in self.filtered {
            let text = format!("{}: {text}", listed("rank", &ranks));
            reading.warn(&traps::NO_GPU, script.line(line), text);
        }
        if !self.idle.is_empty() {
            let text = format!("{} start no program (`\"$@\"`)", listed("rank", &self.idle));
            reading.warn(&traps::NO_START, None, text);
        }
    }
}

/// The first line with a word, from 1.
fn line_of(text: &str, word: &str) -> Option<usize> {
    (1..).zip(text.lines()).find(|(_, line)| line.contains(word)).map(|(number, _)| number)
}

/// The position of each rank of a reading.
fn positions(reading: &Reading) -> Vec<Position> {
    let mut nodes: Vec<&str> = Vec::new();
    let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for rank in &reading.ranks {
        let locals = on_node.entry(&rank.host).or_insert_with(|| {
            nodes.push(&rank.host);
            0
        });
        found.push((rank.rank.index(), *locals));
        *locals += 1;
    }
    let node_of: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(node, host)| (*host, node)).collect();
    let with = |((rank, local), reading_of): ((usize, usize), &RankReading)| Position {
        rank,
        ranks: reading.ranks.len(),
        local,
        locals: on_node[reading_of.host.as_str()],
        node: node_of[reading_of.host.as_str()],
        nodes: nodes.len(),
    };
    found.into_iter().zip(&reading.ranks).map(with).collect()
}

impl Started {
    /// The text of an exported variable; `None` if it is not exported.
    fn variable(&self, name: &str) -> Option<&Result<String, String>> {
        self.exported.get(name)
    }
}
