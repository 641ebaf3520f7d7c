//! Scripts for sbatch: the `#SBATCH` options, and the first command that starts ranks.

mod arbitrary;
mod binding;
mod job;
mod layout;
pub(in crate::lint) mod multi_prog;
mod option_names;
mod options;
mod warnings;

use std::collections::BTreeMap;

use super::allocation::{Allocation, Granted};
use super::launch_line::{self, LaunchLine, wrong};
use super::shell::{Expanded, Launch, Shell, Value};
use super::{directives, hostfile, mpirun, warn_of_late_directives};
use crate::files::{InputError, read_text};
use crate::launch::launchers::craympich::block_counts;
use crate::launch::shell::split;
use crate::lint::read::script::{Starter, is_mpi_launcher};
use crate::lint::{RankReading, Reading, Source, program_of, traps};
use crate::units::counted;
use job::{Counts, Room};
use multi_prog::Programs;
use option_names::Program;
use options::Options;

/// A script while it is read.
struct Script<'a> {
    source: &'a Source<'a>,
    job: Options,
    of_job: Counts,
    launch: Launch,
}

/// Reads as sbatch and the launcher in the script do.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    if source.text.contains('\0') {
        return Err(source.wrong(None, "a binary file", "a script for sbatch"));
    }
    let (job, given) = job_options(source)?;
    let of_job = Counts::of(source, &job)?;
    let variables = variables(&job, &of_job);
    let mut reading = Reading::default();
    let shell = Shell::new(variables).with_given(given);
    let is_read = |launcher: &str| launcher == "srun" || is_mpi_launcher(launcher);
    let expected = "a line with srun, mpirun or mpiexec";
    let launch = launch_line::first(source, shell, is_read, expected, &mut reading)?;
    let script = Script { source, job, of_job, launch };
    let is_srun = script.launch.launcher == "srun";
    if is_srun {
        script.srun(&mut reading)?;
    } else if !hostfile::read(&script.line(), None, &mut reading)? {
        let allocation = script.allocation(&mut reading)?;
        mpirun::read(&script.line(), &allocation, &mut reading)?;
        script.note_shared_cores(&mut reading);
        script.warn_of_switches(&allocation.names(), &mut reading);
    }
    warn_of_late_directives(source, "#SBATCH", &mut reading);
    warnings::of_unknown_options(&script.job, &mut reading);
    warnings::of_exports(&script, &mut reading);
    let starter = if is_srun { Starter::Srun } else { Starter::Mpirun { in_slurm: true } };
    let of_job = [
        ("SLURM_CPUS_PER_TASK", script.of_job.cpus),
        ("SLURM_NTASKS_PER_NODE", script.of_job.per_node),
    ];
    script.line().apply_wrapper(starter, of_job, &mut reading)?;
    launch_line::drop_needless_notes(&mut reading);
    Ok(reading)
}

/// Reads a file of `srun --multi-prog`, with the options of srun in `--launcher-args`.
pub(in crate::lint) fn read_multi_prog(source: &Source<'_>) -> Result<Reading, InputError> {
    let (job, _) = job_options(source)?;
    let of_job = Counts::of(source, &job)?;
    let words = ["--multi-prog", source.file];
    let words =
        words.map(|word| Expanded { text: word.to_owned(), unknown: None }).into_iter().collect();
    let exported = BTreeMap::new();
    let launch = Launch { line: 0, launcher: "srun".to_owned(), words, exported, loaded: None };
    let mut reading = Reading::default();
    Script { source, job, of_job, launch }.srun(&mut reading)?;
    Ok(reading)
}

/// A name and its value.
type Variable = (String, String);

/// The options of the `#SBATCH` lines before the first command, and then those of `--launcher-args`
/// with its variables.
fn job_options(source: &Source<'_>) -> Result<(Options, Vec<Variable>), InputError> {
    let mut job = Options::default();
    for (line, options) in directives(source.text, "#SBATCH") {
        let words = split(options)
            .map_err(|open| wrong(source, line, &open.to_string(), "closed quotes"))?;
        if let Some("hetjob" | "packjob") = words.first().map(String::as_str) {
            let expected = "a job of one component; heterogeneous jobs are not read";
            return Err(wrong(source, line, &format!("#SBATCH {}", words[0]), expected));
        }
        job.read(&words, line, Program::Sbatch);
        if job.get("cpu-bind").is_some() {
            let advice = "give it to srun, in its line or as SLURM_CPU_BIND";
            let found = "--cpu-bind, which sbatch refuses";
            return Err(wrong(source, line, found, "options of sbatch").with_advice(advice));
        }
    }
    let (given, mut words) = launch_line::given(source, &[]);
    if words.first().is_some_and(|word| program_of(word) == "srun") {
        words.remove(0);
    }
    // As salloc and sbatch --ntasks-per-node set it.
    if let Some((_, each)) = given.iter().rev().find(|(name, _)| name == "SLURM_NTASKS_PER_NODE") {
        words.push(format!("--ntasks-per-node={each}"));
    }
    job.read(&words, 0, Program::Either);
    Ok((job, given))
}

/// The variables that sbatch sets.
fn variables(job: &Options, counts: &Counts) -> BTreeMap<String, Value> {
    let per_node =
        counts.per_node.zip(counts.nodes).map(|(each, nodes)| each.saturating_mul(nodes));
    let tasks = counts.tasks.or(per_node).map(|tasks| tasks.to_string());
    let nodes = counts.nodes.map(|nodes| nodes.to_string());
    let text = |count: Option<usize>| count.map(|count| count.to_string());
    // Those that are always set, as far as the script tells them.
    let always = [
        ("SLURM_JOB_NUM_NODES", nodes.clone()),
        ("SLURM_NNODES", nodes),
        ("SLURM_JOB_NODELIST", None),
        ("SLURM_NODELIST", None),
    ];
    // The job starts in the folder of the script, as far as is known.
    let folder = Value::Known(".".to_owned());
    let folders = ["PWD", "SLURM_SUBMIT_DIR"].map(|name| (name.to_owned(), folder.clone()));
    let only_if_given = [
        ("SLURM_NTASKS", tasks.clone()),
        ("SLURM_NPROCS", tasks),
        ("SLURM_CPUS_PER_TASK", text(counts.cpus)),
        ("SLURM_NTASKS_PER_NODE", text(counts.per_node)),
        ("SLURM_DISTRIBUTION", job.value("distribution").map(str::to_owned)),
        ("SLURM_HINT", job.value("hint").map(str::to_owned)),
    ];
    let set = |(name, value): (&str, Option<String>), or: Value| {
        (name.to_owned(), value.map_or(or, Value::Known))
    };
    let always = always.into_iter().map(|entry| set(entry, Value::Unknown));
    let all = always.chain(only_if_given.into_iter().map(|entry| set(entry, Value::Unset)));
    all.chain(folders).collect()
}

impl Script<'_> {
    /// An error about the launch.
    fn wrong(&self, found: &str, expected: &str) -> InputError {
        self.line().wrong(found, expected)
    }

    /// An exported variable with its line; the value is `None` if it is unknown.
    fn exported(&self, name: &str) -> Option<(Option<&str>, usize)> {
        self.launch.exported.get(name).map(|(value, line)| (value.as_deref(), *line))
    }

    /// Whether the job has its nodes alone.
    fn whole_nodes(&self) -> bool {
        self.job.value("exclusive").is_some_and(str::is_empty)
    }

    /// The words up to the program, all known; and those of the program.
    fn step(&self, reading: &mut Reading) -> Result<(Options, Vec<String>), InputError> {
        let line = self.launch.line;
        let words: Vec<String> = self.launch.words.iter().map(|word| word.text.clone()).collect();
        let mut step = Options::default();
        let program = step.read(&words, line, Program::Srun);
        let options = self.launch.words.iter().take(program);
        for word in options {
            let name = word.text.split('=').next().unwrap_or_default();
            let harmless = ["--output", "--error", "--input", "--job-name", "--chdir", "--export"];
            if let Some(unknown) = word.unknown.as_ref().filter(|_| !harmless.contains(&name)) {
                let advice = "write its value, or give it in --launcher-args as NAME=VALUE";
                let found = format!("`{unknown}`, which only a shell can know");
                return Err(self.wrong(&found, "options of the launch").with_advice(advice));
            }
        }
        let first = self.launch.words.get(program);
        if let Some(unknown) = first.and_then(|word| word.unknown.as_ref()) {
            reading.notes.push(format!(
                "line {line}: `{unknown}` is taken for the program, not for options"
            ));
        }
        Ok((step, words.into_iter().skip(program).collect()))
    }

    fn line(&self) -> LaunchLine<'_> {
        LaunchLine { source: self.source, launch: &self.launch }
    }

    /// The nodes of the job with its tasks.
    fn allocation(&self, reading: &mut Reading) -> Result<Allocation, InputError> {
        let options = (&self.job, &Options::default());
        let nodes = job::nodes(self.source, options, (&self.of_job, &Counts::default()), reading)?;
        let per_node = self.of_job.per_node.map(|each| each.saturating_mul(nodes.len()));
        let slots = self.of_job.tasks.or(per_node).ok_or_else(|| {
            let advice = "add #SBATCH --ntasks-per-node";
            self.wrong("a job without --ntasks", "the tasks of every node").with_advice(advice)
        })?;
        let counts = self.counts(slots, &nodes, reading);
        let hosts = nodes.into_iter().zip(counts).map(|(name, slots)| Granted { name, slots });
        Ok(Allocation { hosts: hosts.collect(), slot: "task", list: None })
    }

    /// The tasks of each node: even numbers, or on nodes that jobs share those of Slurm where all is free, with a
    /// warning.
    fn counts(&self, tasks: usize, nodes: &[String], reading: &mut Reading) -> Vec<usize> {
        let even = block_counts(tasks, nodes.len());
        if self.of_job.per_node.is_some() || self.whole_nodes() {
            return even.collect();
        }
        let each = self.of_job.cpus.unwrap_or(1);
        let room = |node: &String| match self.source.machines.machine(node) {
            Some(it) => {
                let cpus = it.pus.len().max(1);
                Room { cpus, threads: cpus.div_ceil(it.cores.len().max(1)) }
            }
            None => Room { cpus: usize::MAX, threads: 1 },
        };
        let room: Vec<Room> = nodes.iter().map(room).collect();
        let of_job = self.of_job.tasks.unwrap_or(tasks).max(tasks);
        let counts = job::filled(tasks, of_job, each, &room);
        let all = room.iter().fold(0_usize, |sum, node| sum.saturating_add(node.cpus));
        // One task per node, or a request for all CPUs, leaves only one distribution.
        if nodes.len() > 1 && tasks > nodes.len() && tasks.saturating_mul(each) < all {
            let shown: Vec<String> = counts.iter().take(4).map(ToString::to_string).collect();
            let more = if counts.len() > shown.len() { " + .." } else { "" };
            let per_node = match tasks % nodes.len() {
                0 => format!("--ntasks-per-node={}, or ", tasks / nodes.len()),
                _ => String::new(),
            };
            let text = format!(
                "{} on {} shared nodes: Slurm starts {}{more} if all is free, else others; for even \
                 numbers add #SBATCH {per_node}--exclusive",
                counted(tasks, "task"),
                nodes.len(),
                shown.join(" + ")
            );
            let line = Some(self.launch.line).filter(|line| *line > 0);
            reading.warn(&traps::TASKS_UNKNOWN, line, text);
        }
        counts
    }

    /// Notes that `mpirun` takes other cores than those shown where the job does not have all.
    fn note_shared_cores(&self, reading: &mut Reading) {
        let is_known =
            |rank: &RankReading| rank.bound && (rank.cores.is_some() || rank.pus.is_some());
        if !self.whole_nodes() && reading.ranks.iter().any(is_known) {
            reading.notes.push(
                "the cores are those of a job that has its nodes alone; others depend on what is free: add \
                 --exclusive"
                    .to_owned(),
            );
        }
    }

    fn warn_of_switches(&self, nodes: &[String], reading: &mut Reading) {
        let line = self.job.get("nodelist").map(|given| given.line).filter(|line| *line > 0);
        let remedy = |needed| format!("ask for #SBATCH --switches={needed}");
        super::allocation::warn_of_switches(self.source, nodes, line, remedy, reading);
    }

    fn srun(&self, reading: &mut Reading) -> Result<(), InputError> {
        let (step, program) = self.step(reading)?;
        let of_step = Counts::of(self.source, &step)?;
        let programs = self.programs(&step, &program, reading)?;
        let (nodes, order) = self.layout(&step, &of_step, programs.as_ref(), reading)?;
        let distribution = self.distribution(&step);
        let on_node = distribution.split(':').nth(1);
        let binding = binding::Binding::of(self, (&step, &of_step), on_node, &program, reading)?;
        let mut places: Vec<_> = (0..nodes.len())
            .map(|node| {
                let count = order.iter().filter(|other| **other == node).count();
                binding.places(&nodes[node], count, self.source, reading).into_iter()
            })
            .collect();
        for (rank, node) in order.into_iter().enumerate() {
            let place = places[node].next().unwrap_or(crate::lint::Place::Unknown);
            let by_program = programs.as_ref().and_then(|programs| programs.place(rank));
            reading.add(rank, &nodes[node], by_program.unwrap_or(place), self.launch.line);
        }
        if let Some(programs) = programs {
            programs.apply(reading);
        }
        warnings::of_cpus(self, &nodes, reading);
        warnings::of_srun(self, &step, &of_step, reading);
        warnings::of_unknown_options(&step, reading);
        self.warn_of_switches(&nodes, reading);
        Ok(())
    }

    fn distribution(&self, step: &Options) -> String {
        let given = step.get("distribution").or_else(|| self.job.get("distribution"));
        given.map_or("block", |given| given.value.as_str()).to_ascii_lowercase()
    }

    /// The programs of the tasks with `--multi-prog`.
    fn programs(
        &self,
        step: &Options,
        program: &[String],
        reading: &mut Reading,
    ) -> Result<Option<Programs>, InputError> {
        if step.get("multi-prog").is_none() {
            return Ok(None);
        }
        let Some(name) = program.first() else {
            return Err(self.wrong("--multi-prog without a file", "the file with the programs"));
        };
        if *name == self.source.file {
            return Programs::read(self.source.text, name, false).map(Some);
        }
        let path = self.line().beside(name);
        let text =
            read_text(&path, "the file of srun --multi-prog, with the program of every task")
                .map_err(|error| error.with_advice("copy it beside the script"))?;
        let file = path.display().to_string();
        reading.notes.push(format!("read: {file}, the programs of the tasks"));
        Programs::read(&text, &file, true).map(Some)
    }

    /// The nodes, and the position of the node of every rank.
    fn layout(
        &self,
        step: &Options,
        of_step: &Counts,
        programs: Option<&Programs>,
        reading: &mut Reading,
    ) -> Result<(Vec<String>, Vec<usize>), InputError> {
        if let Some(hosts) = self.arbitrary(step, reading)? {
            let mut nodes: Vec<String> = Vec::new();
            let mut positions: BTreeMap<String, usize> = BTreeMap::new();
            let mut position = |host: String| {
                *positions.entry(host).or_insert_with_key(|host| {
                    nodes.push(host.clone());
                    nodes.len() - 1
                })
            };
            let order: Vec<usize> = hosts.into_iter().map(&mut position).collect();
            return Ok((nodes, order));
        }
        let (of_job, options) = ((&self.of_job, of_step), (&self.job, step));
        let nodes = job::nodes(self.source, options, of_job, reading)?;
        let tasks = self.tasks(of_step, (nodes.len(), programs), reading)?;
        let distribution = self.distribution(step);
        let cyclic = match distribution.split(':').next() {
            Some("block" | "*" | "nopack") => false,
            Some("cyclic") => true,
            _ => {
                let expected =
                    "block, cyclic or arbitrary; the nodes under others are not predicted";
                return Err(self.wrong(&format!("--distribution={distribution}"), expected));
            }
        };
        if tasks < nodes.len() {
            let found = format!("{} on {}", counted(tasks, "task"), counted(nodes.len(), "node"));
            return Err(self.wrong(&found, "at least a task for every node"));
        }
        let order = job::node_of_rank(&self.counts(tasks, &nodes, reading), cyclic);
        Ok((nodes, order))
    }

    /// The number of tasks.
    fn tasks(
        &self,
        step: &Counts,
        (nodes, programs): (usize, Option<&Programs>),
        reading: &mut Reading,
    ) -> Result<usize, InputError> {
        let Counts { tasks, per_node, .. } = self.of_job;
        let product = |each: usize| each.saturating_mul(nodes);
        let wanted = step.tasks.or(tasks).or(per_node.map(product)).or(step.per_node.map(product));
        let ranks = wanted.unwrap_or(programs.map_or(nodes, |it| it.tasks().max(1)));
        if ranks > crate::lint::MOST_RANKS {
            return Err(self.wrong(&counted(ranks, "rank"), "fewer ranks"));
        }
        let each = per_node.or(step.per_node);
        if let Some(each) = each.filter(|each| product(*each) != ranks) {
            let line = self.job.get("ntasks-per-node").map_or(self.launch.line, |given| given.line);
            let text = format!(
                "--ntasks-per-node={each} on {} is {}, but {ranks} are asked for; \
                 leave out --ntasks or make them equal",
                counted(nodes, "node"),
                counted(product(each), "task")
            );
            let line = Some(line).filter(|line| *line > 0);
            if tasks.is_some_and(|tasks| per_node.is_some_and(|each| tasks > product(each))) {
                reading.refuse(&traps::TASKS_PER_NODE, line, text + "; sbatch refuses the job");
            } else {
                reading.warn(&traps::TASKS_PER_NODE, line, text);
            }
        }
        Ok(ranks)
    }
}
