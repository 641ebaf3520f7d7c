//! The traps of scripts.

use std::path::Path;

use super::Script;
use super::job::Counts;
use super::options::{Options, Unknown};
use crate::lint::read::script::{NICS, of_a_rank};
use crate::lint::{Arguments, Reading, traps};
use crate::units::counted;

const METHOD: &str = "MPICH_RANK_REORDER_METHOD";
/// The file that Cray MPICH looks for in the folder where the job starts.
const ORDER_FILE: &str = "MPICH_RANK_ORDER";

/// Traps of the options of srun.
pub(super) fn of_srun(script: &Script<'_>, step: &Options, counts: &Counts, reading: &mut Reading) {
    let exported = script.exported("SRUN_CPUS_PER_TASK").is_some();
    if let Some(cpus) =
        script.of_job.cpus.filter(|cpus| *cpus > 1 && counts.cpus.is_none() && !exported)
    {
        let text = format!(
            "srun does not take --cpus-per-task={cpus} from the job: every task has 1; \
             give -c {cpus} to srun, or export SRUN_CPUS_PER_TASK={cpus}"
        );
        reading.warn(&traps::CPUS_IGNORED, script.launch.line, text);
    }
    of_step_cpus(script, counts, reading);
    let option = step.get("cpu-bind").map(|given| (given.value.as_str(), given.line));
    let variable = script.exported("SLURM_CPU_BIND").and_then(|(value, line)| Some((value?, line)));
    if let Some((value, line)) = option.or(variable)
        && ["none", "no"].contains(&value.rsplit(',').next().unwrap_or_default())
    {
        let text = format!(
            "--cpu-bind={value}: ranks may move to any PU of the job; if nothing else \
                            binds them, use --cpu-bind=cores"
        );
        reading.warn(&traps::BIND_OFF, line, text);
    }
}

/// A step with more CPUs than the job has, where it does not have its nodes alone.
fn of_step_cpus(script: &Script<'_>, of_step: &Counts, reading: &mut Reading) {
    let of_job = &script.of_job;
    let by_nodes =
        of_job.per_node.zip(of_job.nodes).map(|(each, nodes)| each.saturating_mul(nodes));
    let Some(tasks) = of_job.tasks.or(by_nodes).filter(|_| !script.whole_nodes()) else { return };
    let granted = tasks.saturating_mul(of_job.cpus.unwrap_or(1));
    let wanted = of_step.tasks.unwrap_or(tasks).saturating_mul(of_step.cpus.unwrap_or(1));
    // Slurm may round the allocation up to whole cores.
    if wanted > granted.saturating_mul(MOST_THREADS) {
        let text = format!(
            "srun asks for {}, the job has {granted}: srun refuses; raise --ntasks or --cpus-per-task of the job",
            counted(wanted, "CPU")
        );
        reading.warn(&traps::STEP_BEYOND, script.launch.line, text);
    }
}

/// Hardware threads per core with SMT.
const MOST_THREADS: usize = 2;

/// Variables that are set once for all ranks, from a variable by which ranks should differ.
fn of_rank_variables(script: &Script<'_>, reading: &mut Reading) {
    for (name, (_, line)) in &script.launch.exported {
        let text = script.source.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let value = text.split_once(&format!("{name}=")).map_or("", |(_, value)| value);
        let value = value.split(char::is_whitespace).next().unwrap_or_default();
        let Some(variable) = of_a_rank(value).filter(|_| !value.starts_with('\'')) else {
            continue;
        };
        let text = format!(
            "{name} is set from ${variable} of the batch script, so that all ranks get the same; set it in a \
             script that the launcher starts for each rank"
        );
        reading.warn(&traps::FOREIGN_VARIABLE, *line, text);
    }
}

/// Long options that neither Slurm has nor its plugin for containers: those that look like one of Slurm's are mistyped.
pub(super) fn of_unknown_options(options: &Options, reading: &mut Reading) {
    for (Unknown { name, program, begins }, line) in &options.unknown {
        if name.strip_prefix("no-").unwrap_or(name).starts_with(CONTAINER_PLUGIN) {
            continue;
        }
        let program_name = program.name();
        let line = Some(*line).filter(|line| *line > 0);
        if begins.len() > 1 {
            let all = begins.join(", --");
            let text = format!("{program_name} refuses --{name}: it may mean --{all}");
            reading.refuse(&traps::OPTION_UNKNOWN, line, text);
            continue;
        }
        let has_none = format!("{program_name} has no option --{name}");
        match program.similar(name) {
            Some(similar) => {
                let text = format!("{has_none}, and refuses it: is --{similar} meant?");
                reading.refuse(&traps::OPTION_UNKNOWN, line, text);
            }
            // Options of plugins are as good as any other where they are installed.
            None => {
                let place = line.map_or(String::new(), |line| format!("line {line}: "));
                let only_if = "and refuses it unless a plugin (SPANK) of your site adds it";
                reading.notes.push(format!("{place}{has_none}, {only_if}"));
            }
        }
    }
}

/// What the options of pyxis, which runs containers, begin with.
const CONTAINER_PLUGIN: &str = "container-";

/// More CPUs than a node has.
pub(super) fn of_cpus(script: &Script<'_>, nodes: &[String], reading: &mut Reading) {
    let (Some(each), Some(cpus)) = (script.of_job.per_node, script.of_job.cpus) else { return };
    let wanted = each.saturating_mul(cpus);
    let machine = |node: &String| Some((node.clone(), script.source.machines.machine(node)?));
    let small = nodes.iter().filter_map(machine).find(|(_, machine)| machine.pus.len() < wanted);
    let Some((node, machine)) = small else { return };
    let text = format!(
        "--ntasks-per-node={each} times --cpus-per-task={cpus} is {}, but {node} has {}; sbatch \
         refuses the job",
        counted(wanted, "CPU"),
        machine.pus.len()
    );
    let line = script.job.get("cpus-per-task").map(|given| given.line).filter(|line| *line > 0);
    reading.refuse(&traps::CPUS_OF_NODE, line, text);
}

/// Traps of exported variables.
pub(super) fn of_exports(script: &Script<'_>, reading: &mut Reading) {
    of_rank_variables(script, reading);
    let named = (1..).zip(script.source.text.lines()).find(|(_, line)| {
        let line = line.split(" #").next().unwrap_or_default();
        !line.starts_with('#')
            && [ORDER_FILE, "MPICH_RANK_REORDER_FILE"].iter().any(|name| line.contains(name))
    });
    let method = script.exported(METHOD);
    // srun starts the job from the script's folder, as far as is known.
    let beside = script.launch.launcher == "srun"
        && Path::new(script.source.file).with_file_name(ORDER_FILE).is_file();
    let named = named.map(|(line, _)| line).or(beside.then_some(script.launch.line));
    if let Some(line) = named {
        match method {
            Some((Some("3"), line)) => {
                let text = "the ranks shown are tasks; for those in the order of the file: \
                            lint the file with --from craympich";
                reading.notes.push(format!("line {line}: {text}"));
            }
            Some((None, _)) => {}
            None | Some((Some(_), _)) => {
                let value =
                    method.and_then(|(value, _)| value).map_or("not set".to_owned(), str::to_owned);
                let text = format!("{METHOD} is {value}: the order is not read; export {METHOD}=3");
                reading.warn(&traps::ORDER_UNUSED, method.map_or(line, |(_, line)| line), text);
            }
        }
    }
    let device =
        script.launch.words.iter().any(|word| {
            word.text.starts_with("device=") || word.text.starts_with("--map-by=device=")
        });
    if device && script.launch.launcher != "srun" {
        let words: Vec<String> = script.launch.words.iter().map(|word| word.text.clone()).collect();
        for name in NICS {
            let of_options = Arguments::new(&words).variable(name).map(|_| script.launch.line);
            let Some(line) = script.exported(name).map(|(_, line)| line).or(of_options) else {
                continue;
            };
            let text = format!(
                "{name} is the same for all ranks, whatever device --map-by device= of later versions of \
                 PRRTE places them next to; leave one of them out"
            );
            reading.warn(&traps::DEVICE_FIXED, line, text);
        }
    }
}
