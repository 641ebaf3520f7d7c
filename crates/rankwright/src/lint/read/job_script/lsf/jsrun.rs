//! `jsrun -n SETS -a TASKS -c CORES -g GPUS -r SETS_PER_HOST -b BINDING -d ORDER`.

use super::super::launch_line::LaunchLine;
use super::resource_sets::{self, Sets, Size};
use crate::files::InputError;
use crate::ids::CoreId;
use crate::lint::{Arguments, MOST_RANKS, PUS_UNKNOWN, Place, RankDevices, Reading, traps};
use crate::units::counted;

/// Short options and their long forms, with values.
const NUMBERS: [(&str, &str); 6] = [
    ("-n", "--nrs"),
    ("-a", "--tasks_per_rs"),
    ("-p", "--np"),
    ("-c", "--cpu_per_rs"),
    ("-g", "--gpu_per_rs"),
    ("-r", "--rs_per_host"),
];

/// Other options with a value in the next word.
const WITH_VALUE: [&str; 22] = [
    "-b",
    "--bind",
    "-d",
    "--launch_distribution",
    "-l",
    "--latency_priority",
    "-m",
    "--memory_per_rs",
    "-E",
    "--env",
    "-D",
    "--env_eval",
    "-h",
    "--chdir",
    "-M",
    "--smpiargs",
    "-o",
    "--stdio_stdout",
    "-k",
    "--stdio_stderr",
    "-t",
    "--stdio_input",
];

/// Options that give every resource set a place of its own.
const OTHERS: [&str; 7] =
    ["-U", "--use_resources", "--erf_input", "-K", "--rs_per_socket", "-A", "--appfile"];

/// How the tasks of a resource set are bound to its cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binding {
    None,
    /// To all cores of the set.
    Set,
    /// To so many cores each.
    Packed(usize),
    Unknown,
}

/// What jsrun is asked for.
struct Step {
    sets: Option<usize>,
    tasks: usize,
    size: Size,
    per_host: Option<usize>,
    binding: Binding,
    /// Whether `-b` is given.
    is_asked: bool,
}

/// Reads the launch on these hosts.
pub(super) fn read(
    line: &LaunchLine<'_>,
    hosts: &[String],
    reading: &mut Reading,
) -> Result<(), InputError> {
    let words = line.words();
    let program = program(&words);
    line.check_known(program)?;
    let words: Vec<String> = words[..program].iter().flat_map(|word| separated(word)).collect();
    let arguments = Arguments::new(&words);
    if let Some(other) =
        arguments.words().find(|word| OTHERS.contains(&word.split('=').next().unwrap_or_default()))
    {
        let expected = "resource sets by -n, -a, -c, -g and -r";
        return Err(line.wrong(&format!("`{other}`, whose effect is not predicted"), expected));
    }
    let step = Step::of(line, arguments)?;
    let sets_of_hosts = step.sets_of_hosts(line, hosts);
    let room = sets_of_hosts.iter().map(|(count, _)| *count).fold(0, usize::saturating_add);
    let sets = step.sets.unwrap_or(room);
    step.check_whole(line, &sets_of_hosts, sets)?;
    let ranks = sets.saturating_mul(step.tasks);
    if ranks > MOST_RANKS || ranks == 0 {
        return Err(line.wrong(
            &format!("{} of {}", counted(sets, "resource set"), counted(step.tasks, "task")),
            "fewer ranks, and at least one",
        ));
    }
    if sets > room {
        let text = format!(
            "{} of {} and {}, but the job has room for {room} on {}",
            counted(sets, "resource set"),
            counted(step.size.cores, "core"),
            counted(step.size.gpus, "GPU"),
            counted(hosts.len(), "host"),
        );
        reading.refuse(&traps::SETS_BEYOND, line.launch.line, text);
    }
    step.warn(line, reading);
    let places = step.places(hosts, &sets_of_hosts, sets);
    let order = order(line, arguments, (sets, step.tasks))?;
    let is_unknown = places.iter().flatten().any(|(_, place, _)| *place == Place::Unknown);
    for (rank, (set, task)) in order.into_iter().enumerate() {
        let Some((host, place, gpus)) = places.get(set).and_then(|tasks| tasks.get(task)) else {
            continue;
        };
        reading.add(rank, host, place.clone(), line.launch.line);
        if let Some(last) = reading.ranks.last_mut().filter(|_| !gpus.is_empty()) {
            last.devices = Some(RankDevices { gpus: Some(gpus.clone()), ..RankDevices::default() });
        }
    }
    if is_unknown {
        reading.notes.push(format!(
            "{PUS_UNKNOWN}: jsrun's choice of cores is predicted where whole resource sets fit on packages, \
             beside their GPUs, with -b packed:N, rs or none"
        ));
    }
    Ok(())
}

impl Step {
    fn of(line: &LaunchLine<'_>, arguments: Arguments<'_>) -> Result<Self, InputError> {
        let number = |short: &str| {
            let names = NUMBERS.iter().find(|(name, _)| *name == short);
            let (_, long) = names.copied().unwrap_or((short, short));
            let Some(text) = arguments.values(&[short, long]).last() else { return Ok(None) };
            let number = text.parse::<usize>().ok().filter(|number| *number <= MOST_RANKS);
            let number = number.filter(|number| *number > 0 || short == "-g");
            let expected = "a number, written out";
            number.map(Some).ok_or_else(|| line.wrong(&format!("{short} {text}"), expected))
        };
        let (sets, tasks, total) = (number("-n")?, number("-a")?, number("-p")?);
        let tasks = match (tasks, total, sets) {
            (Some(tasks), ..) => tasks,
            (None, Some(total), Some(sets)) if total % sets == 0 => total / sets,
            (None, Some(total), Some(sets)) => {
                let found = format!("-p {total} for {}", counted(sets, "resource set"));
                return Err(line.wrong(&found, "as many tasks in every resource set"));
            }
            _ => 1,
        };
        let sets = sets.or(total.map(|total| total.div_ceil(tasks)));
        let size = Size { cores: number("-c")?.unwrap_or(1), gpus: number("-g")?.unwrap_or(0) };
        let asked = arguments.value(&["-b", "--bind"]);
        let binding = match asked.map(|text| text.split_once(':').unwrap_or((text, "1"))) {
            None => Binding::Packed(1),
            Some(("none", _)) => Binding::None,
            Some(("rs", _)) => Binding::Set,
            Some(("packed", cores)) => match cores.parse() {
                Ok(cores) if cores > 0 => Binding::Packed(cores),
                _ => Binding::Unknown,
            },
            Some(_) => Binding::Unknown,
        };
        // Another priority of latencies may choose other cores.
        let is_usual = arguments.value(&["-l", "--latency_priority"]).is_none();
        let binding = if is_usual || binding == Binding::None { binding } else { Binding::Unknown };
        let per_host = number("-r")?;
        Ok(Self { sets, tasks, size, per_host, binding, is_asked: asked.is_some() })
    }

    /// The number of resource sets that each host has room for, and which they are.
    fn sets_of_hosts(&self, line: &LaunchLine<'_>, hosts: &[String]) -> Vec<(usize, Option<Sets>)> {
        let of = |host: &String| {
            let sets =
                line.source.machines.group(host).map(|group| resource_sets::of(group, self.size));
            let room = match (&sets, self.per_host) {
                (Some(sets), Some(each)) if each > sets.room => 0,
                (_, Some(each)) => each,
                (Some(sets), None) => sets.room,
                // Of a host that is not known.
                (None, None) => self.sets.unwrap_or(1).div_ceil(hosts.len().max(1)),
            };
            (room, sets)
        };
        hosts.iter().map(of).collect()
    }

    /// An error if it is not known how many resource sets jsrun puts on the first host.
    fn check_whole(
        &self,
        line: &LaunchLine<'_>,
        hosts: &[(usize, Option<Sets>)],
        sets: usize,
    ) -> Result<(), InputError> {
        let Some((room, Some(first))) = hosts.first() else { return Ok(()) };
        if self.per_host.is_some() || first.whole == *room || sets <= first.whole {
            return Ok(());
        }
        let cores = counted(self.size.cores, "core");
        let found =
            format!("resource sets of {cores}, of which a host has {} or {room}", first.whole);
        let expected = "their number on a host; one may be on two packages";
        Err(line.wrong(&found, expected).with_advice("add -r"))
    }

    /// Host, place and GPUs of every task of every resource set.
    fn places(
        &self,
        hosts: &[String],
        rooms: &[(usize, Option<Sets>)],
        sets: usize,
    ) -> Vec<Vec<(String, Place, Vec<String>)>> {
        // Of resource sets that do not fit, all on the hosts in turn.
        let room: usize = rooms.iter().map(|(room, _)| room).sum();
        let each = if sets > room { sets.div_ceil(hosts.len().max(1)) } else { 0 };
        let places = hosts.iter().zip(rooms).flat_map(|(host, (room, known))| {
            (0..each.max(*room)).map(move |at| {
                let known = known.as_ref().and_then(|it| it.known.get(at));
                let task = move |task: usize| {
                    let place = self.place(known.map(|(cores, _)| cores.as_slice()), task);
                    let gpus = known.map_or(Vec::new(), |(_, gpus)| gpus.clone());
                    (host.clone(), place, gpus)
                };
                (0..self.tasks).map(task).collect()
            })
        });
        places.take(sets).collect()
    }

    /// The place of a task within the cores of its set.
    fn place(&self, cores: Option<&[CoreId]>, task: usize) -> Place {
        match (self.binding, cores) {
            (Binding::None, _) => Place::Unbound,
            (Binding::Unknown, _) | (_, None) => Place::Unknown,
            (Binding::Set, Some(cores)) => Place::Cores(cores.to_vec()),
            (Binding::Packed(each), Some(cores)) => {
                let first = task.saturating_mul(each);
                let own = cores.get(first..first.saturating_add(each));
                own.map_or(Place::Unknown, |own| Place::Cores(own.to_vec()))
            }
        }
    }

    fn warn(&self, line: &LaunchLine<'_>, reading: &mut Reading) {
        let Binding::Packed(each) = self.binding else { return };
        let (cores, tasks) = (self.size.cores, self.tasks);
        if each.saturating_mul(tasks) > cores {
            let text = format!(
                "packed:{each} for {} is {}, but -c gives a resource set {cores}",
                counted(tasks, "task"),
                counted(each.saturating_mul(tasks), "core")
            );
            reading.refuse(&traps::PACKED_BEYOND, line.launch.line, text);
        } else if !self.is_asked && cores / tasks > 1 {
            let text = format!(
                "each rank has one of the {cores} cores of its resource set; for its threads add -b \
                 packed:{}, or -b rs",
                cores / tasks
            );
            reading.warn(&traps::PACKED, line.launch.line, text);
        }
    }
}

/// The resource set of every rank and its position there.
fn order(
    line: &LaunchLine<'_>,
    arguments: Arguments<'_>,
    (sets, tasks): (usize, usize),
) -> Result<Vec<(usize, usize)>, InputError> {
    let text = arguments.value(&["-d", "--launch_distribution"]).unwrap_or("packed");
    let (kind, value) = text.split_once(':').unwrap_or((text, ""));
    let block = match kind {
        "packed" => tasks,
        "cyclic" => 1,
        "plane" => value.parse().ok().filter(|block| (1..=tasks).contains(block)).unwrap_or(0),
        _ => 0,
    };
    if block == 0 {
        let expected = "-d packed, cyclic, or plane:N with at most the tasks of a resource set";
        return Err(line.wrong(&format!("-d {text}"), expected));
    }
    let mut order = Vec::with_capacity(sets * tasks);
    for first in (0..tasks).step_by(block) {
        let block = first..(first + block).min(tasks);
        order.extend((0..sets).flat_map(|set| block.clone().map(move |task| (set, task))));
    }
    Ok(order)
}

/// The position of the program behind the options.
fn program(words: &[String]) -> usize {
    let has_value = |word: &str| {
        let is_number = NUMBERS.iter().any(|(short, long)| [*short, *long].contains(&word));
        is_number || WITH_VALUE.contains(&word) || OTHERS.contains(&word)
    };
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += 1 + usize::from(has_value(word));
    }
    at.min(words.len())
}

/// `-n12` and `-bpacked:7` as two words.
fn separated(word: &str) -> Vec<String> {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    match word.char_indices().nth(2).filter(|_| is_short) {
        Some((at, _)) => vec![word[..at].to_owned(), word[at..].trim_start_matches('=').to_owned()],
        None => vec![word.to_owned()],
    }
}
