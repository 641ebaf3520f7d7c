//! Scripts for Flux: the options of the first `flux run`. Lines `#flux:` are options of `flux batch`: they
//! say which nodes the script has, and `flux run` takes none of them.

use std::path::Path;

use super::affinity::Affinity;
use super::taskmap;
use crate::files::{InputError, read_text};
use crate::launch::launchers::craympich::block_counts;
use crate::launch::shell::split;
use crate::lint::read::job_script::lexer;
use crate::lint::read::job_script::shell::Shell;
use crate::lint::read::{slurm, wrapper};
use crate::lint::{Arguments, MOST_RANKS, Place, Reading, Source, program_of};
use crate::units::counted;

const EXPECTED: &str = "a line like `flux run -N 2 -n 8 ./a`";

/// Options of `flux run` with a value.
const WITH_VALUE: [&str; 40] = [
    "-n",
    "--ntasks",
    "-N",
    "--nodes",
    "-c",
    "--cores-per-task",
    "-g",
    "--gpus-per-task",
    "-t",
    "--time-limit",
    "-o",
    "--setopt",
    "-S",
    "--setattr",
    "--env",
    "--env-file",
    "--rlimit",
    "--job-name",
    "--queue",
    "-q",
    "--bank",
    "-B",
    "--output",
    "--error",
    "--input",
    "--tasks-per-node",
    "--tasks-per-core",
    "--cwd",
    "--requires",
    "--taskmap",
    "--add-file",
    "--begin-time",
    "--cores",
    "--dependency",
    "--env-remove",
    "--flags",
    "--gpus-per-node",
    "--signal",
    "--urgency",
    "--wait-event",
];

/// Whether the text is such a script.
pub(in crate::lint) fn is_one(text: &str) -> bool {
    text.starts_with("#!") && text.lines().any(|line| directive(line).is_some() || starts(line))
}

/// The options of a line `#flux: ..`, whatever marks it as a comment.
fn directive(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
    if text.len() == line.len() {
        return None;
    }
    text.strip_prefix("flux:").or_else(|| text.strip_prefix("FLUX:"))
}

fn starts(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|word| program_of(word) == "flux")
        && words.next().is_some_and(|word| ["run", "submit"].contains(&word))
}

/// Reads as flux does.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    let granted = granted_nodes(source)?;
    let mut words: Vec<String> = source.arguments.words().map(str::to_owned).collect();
    let commands = lexer::commands(source.text).map_err(|(line, found)| {
        source.wrong(Some(line), &found, "a script that a shell can read")
    })?;
    let mut launches =
        Shell::new(std::collections::BTreeMap::new()).launches(&commands).into_iter();
    let launch = launches.find(|launch| {
        let first = launch.words.first().map(|word| word.text.as_str());
        launch.launcher == "flux" && first.is_some_and(|word| ["run", "submit"].contains(&word))
    });
    let launch = launch.ok_or_else(|| source.wrong(None, "no flux run", EXPECTED))?;
    let of_run: Vec<String> = launch.words.iter().skip(1).map(|word| word.text.clone()).collect();
    let program = program(&of_run);
    let unknown = launch.words.iter().skip(1).take(program).find_map(|word| word.unknown.as_ref());
    if let Some(unknown) = unknown {
        let found = format!("`{unknown}`, which only a shell can know");
        let error = source.wrong(Some(launch.line), &found, "options of the launch");
        return Err(error.with_advice("write its value"));
    }
    words.extend(of_run[..program].iter().flat_map(|word| apart(word)));
    let part = Source { arguments: Arguments::new(&words), ..*source };
    let run = Run { source: &part, line: launch.line, granted };
    let mut reading = Reading::default();
    let order = run.order(&mut reading)?;
    let hosts = run.hosts(&order)?;
    reading
        .notes
        .push("the nodes of the job are taken to be the first ones of the cluster".to_owned());
    let affinity = Affinity::of(&part)?;
    let hosts: Vec<(String, usize)> =
        order.into_iter().map(|node| (hosts[node].clone(), launch.line)).collect();
    affinity.place(&hosts, &part, &mut reading);
    if let Some(Place::Pus(pus)) = wrapper::place(&of_run[program..]) {
        for rank in &mut reading.ranks {
            (rank.cores, rank.pus, rank.bound) = (None, Some(pus.clone()), true);
        }
    }
    Ok(reading)
}

/// The number of nodes that `#flux:` lines ask for.
fn granted_nodes(source: &Source<'_>) -> Result<Option<usize>, InputError> {
    let mut words = Vec::new();
    let mut last = 0;
    for (line, text) in (1..).zip(source.text.lines()) {
        let Some(options) = directive(text) else { continue };
        let options =
            split(options).map_err(|open| source.wrong(Some(line), &open.to_string(), EXPECTED))?;
        words.extend(options.into_iter().take_while(|word| !word.starts_with('#')));
        last = line;
    }
    let part = Source { arguments: Arguments::new(&words), ..*source };
    Run { source: &part, line: last, granted: None }.number("-N", "--nodes")
}

/// `-xN4` as `-x` and `-N4`: options without a value may stand before another in one word.
fn apart(word: &str) -> Vec<String> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    let value = letters.trim_start_matches(['x', 'u', 'l', 'v', 'h']);
    let flags = letters[..letters.len() - value.len()].chars().map(|flag| format!("-{flag}"));
    match value {
        "" if !letters.is_empty() => flags.collect(),
        "" => vec![word.to_owned()],
        value => flags.chain([format!("-{value}")]).collect(),
    }
}

/// The position of the program behind the options.
fn program(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += 1 + usize::from(WITH_VALUE.contains(&word.as_str()));
    }
    at.min(words.len())
}

/// One `flux run`.
struct Run<'a> {
    source: &'a Source<'a>,
    line: usize,
    /// The number of nodes of the script, if it tells.
    granted: Option<usize>,
}

impl Run<'_> {
    fn wrong(&self, found: &str, expected: &str) -> InputError {
        self.source.wrong(Some(self.line), found, expected)
    }

    /// A number of an option; `-n8` has it behind the letter.
    fn number(&self, short: &str, long: &str) -> Result<Option<usize>, InputError> {
        let arguments = self.source.arguments;
        let joined = arguments.words().filter_map(|word| word.strip_prefix(short)).last();
        let joined = joined.filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        let Some(text) = arguments.value(&[short, long]).or(joined) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (1..=MOST_RANKS).contains(number));
        let found = format!("{long}={text}");
        number.map(Some).ok_or_else(|| self.wrong(&found, "one number"))
    }

    /// The node of every task.
    fn order(&self, reading: &mut Reading) -> Result<Vec<usize>, InputError> {
        let nodes = self.number("-N", "--nodes")?.or(self.granted.filter(|nodes| *nodes == 1));
        let each = self.number("", "--tasks-per-node")?;
        let tasks = self.number("-n", "--ntasks")?;
        let Some(nodes) = nodes else {
            let advice = "add -N NODES";
            let found = "flux run without -N, whose nodes depend on what is free";
            return Err(self.wrong(found, "the number of nodes").with_advice(advice));
        };
        if let Some(granted) = self.granted.filter(|granted| *granted < nodes) {
            let found = format!("{}, but the script has {granted}", counted(nodes, "node"));
            return Err(self.wrong(&found, "no more nodes than `#flux:` asks for"));
        }
        let tasks = tasks.or(each.map(|each| each.saturating_mul(nodes))).unwrap_or(nodes);
        if tasks > MOST_RANKS || tasks < nodes {
            let found = format!("{} on {}", counted(tasks, "task"), counted(nodes, "node"));
            return Err(self.wrong(&found, "at least a task for every node"));
        }
        let counts: Vec<usize> = block_counts(tasks, nodes).collect();
        let arguments = self.source.arguments;
        let behind = |word| str::strip_prefix(word, "taskmap=");
        let scheme =
            arguments.value(&["--taskmap"]).or(arguments.words().filter_map(behind).last());
        let (scheme, value) =
            scheme.map_or(("block", ""), |it| it.split_once(':').unwrap_or((it, "")));
        match scheme {
            "block" => {
                let counts = counts.into_iter().enumerate();
                Ok(counts.flat_map(|(node, count)| std::iter::repeat_n(node, count)).collect())
            }
            "cyclic" => {
                let stride = if value.is_empty() { Some(1) } else { value.parse().ok() };
                let stride = stride.filter(|stride| *stride > 0);
                let expected = "cyclic, or cyclic:STRIDE";
                let stride = stride
                    .ok_or_else(|| self.wrong(&format!("taskmap=cyclic:{value}"), expected))?;
                if let Some(fewest) = counts.iter().min().filter(|fewest| **fewest < stride) {
                    let found =
                        format!("cyclic:{stride} with {} on a node", counted(*fewest, "task"));
                    return Err(
                        self.wrong(&found, "a stride that every node has tasks for, as Flux 0.88")
                    );
                }
                Ok(cyclic(counts, stride))
            }
            "manual" => {
                let map = taskmap::nodes_of_tasks(value);
                let expected = "a task map such as [[0,2,4,1]], for all tasks and nodes";
                let fits =
                    |map: &Vec<usize>| map.len() == tasks && map.iter().all(|node| *node < nodes);
                map.filter(fits)
                    .ok_or_else(|| self.wrong(&format!("taskmap=manual:{value}"), expected))
            }
            "hostfile" => self.by_hostfile(value, tasks, reading),
            other => {
                let expected = "block, cyclic, manual or hostfile";
                Err(self.wrong(&format!("taskmap={other}"), expected))
            }
        }
    }

    /// The nodes of the tasks as positions in the list of hosts that `hosts` gives.
    fn by_hostfile(
        &self,
        name: &str,
        tasks: usize,
        reading: &mut Reading,
    ) -> Result<Vec<usize>, InputError> {
        let path = Path::new(self.source.file).parent().unwrap_or(Path::new("")).join(name);
        let text = read_text(&path, "the file of taskmap=hostfile:, with a host for every task")
            .map_err(|error| error.with_advice("copy it beside the script"))?;
        let file = path.display().to_string();
        reading.notes.push(format!("read: {file}, the hosts of the tasks"));
        let list = Source { text: &text, file: &file, ..*self.source };
        let listed = slurm::host_per_rank(&list)?;
        super::refuse_words(&list, reading);
        let Some(cluster) = self.source.machines.cluster() else {
            return Err(self.wrong("taskmap=hostfile: without the hosts", "the cluster with --on"));
        };
        let find = |host: &String| {
            let node = self.source.machines.find(host).map(crate::ids::NodeId::index);
            node.ok_or_else(|| {
                self.wrong(&format!("{file}: {host}"), &format!("a node of {}", cluster.name))
            })
        };
        listed.iter().map(|(host, _)| find(host)).cycle().take(tasks).collect()
    }

    /// The names of the nodes: those of the cluster in their order.
    fn hosts(&self, order: &[usize]) -> Result<Vec<String>, InputError> {
        let count = order.iter().max().map_or(0, |node| node + 1);
        let Some(cluster) = self.source.machines.cluster() else {
            return Ok((0..count).map(|node| format!("node{node}")).collect());
        };
        if cluster.nodes.len() < count {
            let found = format!("{} of {}", counted(count, "node"), cluster.nodes.len());
            return Err(self.wrong(&found, "nodes that the cluster has"));
        }
        Ok(cluster.nodes.iter().map(|node| node.name.clone()).collect())
    }
}

/// Tasks in turns over the nodes, `stride` at a time, until each has its number.
fn cyclic(mut counts: Vec<usize>, stride: usize) -> Vec<usize> {
    let mut order = Vec::new();
    while counts.iter().any(|count| *count > 0) {
        for (node, count) in counts.iter_mut().enumerate() {
            let some = stride.min(*count);
            order.extend(std::iter::repeat_n(node, some));
            *count -= some;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use crate::lint::read_guessed;

    fn hosts(script: &str) -> Result<Vec<String>, String> {
        let guessed =
            read_guessed(script, "job.sh", &[], None).map_err(|error| error.to_string())?;
        assert_eq!(guessed.format.name, "flux");
        Ok(guessed.reading.ranks.into_iter().map(|rank| rank.host).collect())
    }

    #[test]
    fn the_tasks_of_flux_run_are_placed() {
        for (script, expected) in [
            ("#flux: -N 2\nflux run -N2 -n3 ./a -n 9\n", "0 0 1"),
            ("# flux: -N1 -n4 # a node\nflux run -n3 -o cpu-affinity=off ./a\n", "0 0 0"),
            ("#FLUX: -N1\nflux run ./a\n", "0"),
            ("flux run -N2 --tasks-per-node=2 --taskmap=cyclic ./a\n", "0 1 0 1"),
            ("flux run -N 2 -n 4 -o taskmap=cyclic:2 ./a\n", "0 0 1 1"),
            ("flux run -N2 -n4 --taskmap='manual:[[1,1,2],[0,1,2]]' ./a\n", "1 1 0 0"),
            ("flux run -N2 -n4 -o taskmap='manual:1-2;0,3' ./a\n", "1 0 0 1"),
        ] {
            let expected: Vec<String> =
                expected.split(' ').map(|node| format!("node{node}")).collect();
            assert_eq!(hosts(&format!("#!/bin/bash\n{script}")), Ok(expected), "{script}");
        }
    }

    /// The task maps that `flux job taskmap` of Flux 0.88 printed for these jobs on nodes with 8 cores.
    #[test]
    fn tasks_are_where_flux_had_them() {
        for (options, map) in [
            ("-N2 -n3", "[[0,1,2,1],[1,1,1,1]]"),
            ("-N3 -n4", "[[0,1,2,1],[1,2,1,1]]"),
            ("-N4 -n7", "[[0,3,2,1],[3,1,1,1]]"),
            ("-xN4 -n7", "[[0,3,2,1],[3,1,1,1]]"),
            ("-N2 -n4 --taskmap=cyclic", "[[0,2,1,2]]"),
            ("-N3 -n8 --taskmap=cyclic:2", "[[0,3,2,1],[0,2,1,1]]"),
            ("-N2 --tasks-per-node=3 --taskmap=cyclic", "[[0,2,1,3]]"),
            ("-N3 -n6 --taskmap='manual:1-2;0,3;4-5'", "[[1,1,1,1],[0,1,2,1],[1,1,1,1],[2,1,2,1]]"),
        ] {
            let nodes = super::taskmap::nodes_of_tasks(map).unwrap();
            let expected: Vec<String> = nodes.iter().map(|node| format!("node{node}")).collect();
            let read = hosts(&format!("#!/bin/bash\nflux run {options} ./a\n"));
            assert_eq!(read, Ok(expected), "{options}");
        }
    }

    #[test]
    fn what_is_not_known_is_an_error_with_its_line() {
        for (script, found) in [
            ("flux run -n4 ./a\n", "job.sh:2: found flux run without -N"),
            ("#flux: -N2 -n4\nflux run -n4 ./a\n", "job.sh:3: found flux run without -N"),
            ("#flux: -N2\nflux run -N4 ./a\n", "job.sh:3: found 4 nodes, but the script has 2"),
            ("flux run -N $NODES ./a\n", "`$NODES`, which only a shell can know"),
            (
                "flux run -N2 -n4 --taskmap='manual:[[0,2,1]]' ./a\n",
                "found taskmap=manual:[[0,2,1]]",
            ),
            ("flux run -N2 -n4 --taskmap=dragon ./a\n", "found taskmap=dragon"),
            ("flux run -N2 -n4 --taskmap=cyclic:3 ./a\n", "found cyclic:3 with 2 tasks on a node"),
            ("flux run -N2 -n1 ./a\n", "1 task on 2 nodes"),
        ] {
            let error = hosts(&format!("#!/bin/bash\n{script}")).unwrap_err();
            assert!(error.contains(found), "{error}");
        }
    }
}
