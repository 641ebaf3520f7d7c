//! The PUs of the tasks that srun starts.

use super::Script;
use super::job::Counts;
use super::layout::{Node, Order, Unit};
use super::options::Options;
use crate::files::InputError;
use crate::lint::PUS_UNKNOWN;
use crate::lint::read::cpu_bind::CpuBind;
use crate::lint::read::wrapper;
use crate::lint::{Arguments, Place, Reading, Source};
use crate::units::counted;

/// How srun binds the tasks of a node.
pub(super) enum Binding {
    /// The program binds itself.
    Program(Place),
    /// As `--cpu-bind` lists, or not at all.
    List(CpuBind),
    /// By Slurm's rules.
    Rules { unit: Option<Unit>, order: Order, cpus: Option<usize>, one_thread: bool },
    /// By rules that are not predicted.
    Unknown,
}

impl Binding {
    pub(super) fn of(
        script: &Script<'_>,
        (step, counts): (&Options, &Counts),
        order: Option<&str>,
        program: &[String],
        reading: &mut Reading,
    ) -> Result<Self, InputError> {
        if let Some(place) = wrapper::place(program) {
            return Ok(Self::Program(place));
        }
        let (value, line) = given(script, step)?;
        let words = value.as_ref().map(|value| vec![format!("--cpu-bind={value}")]);
        let words = words.unwrap_or_default();
        let source = Source { arguments: Arguments::new(&words), ..*script.source };
        let bind = CpuBind::of_srun(&source, reading)
            .map_err(|error| super::wrong(script.source, line, &error.found, &error.expected))?;
        if !matches!(bind, CpuBind::Own) {
            return Ok(Self::List(bind));
        }
        let cpus = match script.exported("SRUN_CPUS_PER_TASK") {
            _ if counts.cpus.is_some() => Ok(counts.cpus),
            None => Ok(None),
            Some((value, _)) => value.and_then(|value| value.parse().ok()).map(Some).ok_or(()),
        };
        let hint = step.value("hint").or_else(|| script.job.value("hint"));
        let unit = unit(value.as_deref(), hint);
        let order = match order {
            None | Some("cyclic" | "*") => Ok(Order::Cyclic),
            Some("block") => Ok(Order::Block),
            Some(_) => Err("the distribution, which is not predicted"),
        };
        let other = step.not_predicted().or_else(|| script.job.not_predicted());
        let shared = ["exact", "exclusive"].into_iter().find(|name| step.get(name).is_some());
        let why = if !script.whole_nodes() {
            "the job does not have its nodes alone: Slurm chooses the PUs by what is free; add --exclusive"
        } else if let Some(name) = other.or(shared) {
            reading.notes.push(unknown_pus(&format!("the effect of --{name} is not predicted")));
            return Ok(Self::Unknown);
        } else {
            match (unit, order, cpus) {
                (Ok(unit), Ok(order), Ok(cpus)) => {
                    return Ok(Self::Rules { unit, order, cpus, one_thread: hint.is_some() });
                }
                (Err(why), ..) | (_, Err(why), _) => why,
                _ => "the value of SRUN_CPUS_PER_TASK is not known",
            }
        };
        reading.notes.push(unknown_pus(why));
        Ok(Self::Unknown)
    }

    /// The places of the tasks of a node, in their order.
    pub(super) fn places(
        &self,
        host: &str,
        tasks: usize,
        source: &Source<'_>,
        reading: &mut Reading,
    ) -> Vec<Place> {
        let same = |place: Place| vec![place; tasks];
        match self {
            Self::Program(place) => same(place.clone()),
            Self::Unknown => same(Place::Unknown),
            Self::List(bind) => {
                bind.warn_if_short(host, tasks, reading);
                (0..tasks).map(|local| bind.place(local)).collect()
            }
            Self::Rules { unit, order, cpus, one_thread } => {
                let places = all_free(source, host)
                    .then(|| source.machines.machine(host))
                    .flatten()
                    .and_then(Node::new)
                    .and_then(|node| by_rules(&node, tasks, (*unit, *order), *cpus, *one_thread));
                places.unwrap_or_else(|| {
                    let asked = cpus.map_or(String::new(), |cpus| format!(" of {cpus} CPUs"));
                    let asked = counted(tasks, "task") + &asked;
                    let why = if all_free(source, host) {
                        format!("what srun does with {asked} on a node is not predicted")
                    } else {
                        "the cluster description excludes PUs of the nodes from jobs".to_owned()
                    };
                    let note = unknown_pus(&why);
                    if source.machines.machine(host).is_some() && !reading.notes.contains(&note) {
                        reading.notes.push(note);
                    }
                    same(Place::Unknown)
                })
            }
        }
    }
}

/// What `--cpu-bind` and `--hint` bind to; `None`: Slurm's choice.
fn unit(cpu_bind: Option<&str>, hint: Option<&str>) -> Result<Option<Unit>, &'static str> {
    let kind = cpu_bind.and_then(|value| value.rsplit(',').next());
    // `verbose` alone says nothing of the binding.
    let kind = kind.filter(|kind| !["verbose", "v", "quiet", "q"].contains(kind));
    match (kind, hint) {
        (None, None) => Ok(None),
        (None, Some("nomultithread")) | (Some("threads" | "thread"), None) => {
            Ok(Some(Unit::Thread))
        }
        (Some("cores" | "core"), None) => Ok(Some(Unit::Core)),
        (Some("sockets" | "socket"), None) => Ok(Some(Unit::Package)),
        _ => Err("the binding, which is not predicted"),
    }
}

fn unknown_pus(why: &str) -> String {
    format!("{PUS_UNKNOWN}: {why}")
}

/// `--cpu-bind` of the line, or else of `--launcher-args`, or else `SLURM_CPU_BIND`.
fn given(script: &Script<'_>, step: &Options) -> Result<(Option<String>, usize), InputError> {
    if let Some(given) = step.get("cpu-bind").or_else(|| script.job.get("cpu-bind")) {
        return Ok((Some(given.value.clone()), given.line));
    }
    match script.exported("SLURM_CPU_BIND") {
        None => Ok((None, 0)),
        Some((Some(value), line)) => Ok((Some(value.to_owned()), line)),
        Some((None, line)) => {
            let found = "SLURM_CPU_BIND with a value that only a shell can know";
            Err(super::wrong(script.source, line, found, "a value that is written out"))
        }
    }
}

fn all_free(source: &Source<'_>, host: &str) -> bool {
    let node = source.machines.cluster().zip(source.machines.find(host));
    node.is_some_and(|(cluster, node)| !cluster.group(node).free.contains(&false))
}

/// The places by Slurm's rules; `None` where they are not predicted.
fn by_rules(
    node: &Node<'_>,
    tasks: usize,
    (unit, order): (Option<Unit>, Order),
    cpus: Option<usize>,
    one_thread: bool,
) -> Option<Vec<Place>> {
    let each = cpus.unwrap_or(1);
    let total = tasks.checked_mul(each)?;
    let step = if one_thread { node.threads() } else { 1 };
    if total.checked_mul(step)? > node.pus() {
        return None;
    }
    let all = total * step == node.pus();
    // srun -c gives the step only as many cores as its tasks need. Where these are whole cores and
    // are not widened to packages, that changes nothing.
    let whole_cores = each > 1 && each.is_multiple_of(node.threads()) && !one_thread;
    let unit = match (cpus, unit) {
        (Some(_), Some(Unit::Package)) if !all => return None,
        (Some(_), _) if !all && !whole_cores => return None,
        (Some(_), None) if !all => Unit::Thread,
        (_, Some(unit)) => unit,
        (_, None) => match node.unit_for(total) {
            Some(unit) => unit,
            None => return Some(vec![Place::Unbound; tasks]),
        },
    };
    let places = node.places((tasks, each), unit, order, step);
    Some(places.into_iter().map(Place::Pus).collect())
}
