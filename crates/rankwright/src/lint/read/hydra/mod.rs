//! Hostfiles of MPICH: `n0:2 binding=user:0,1+3`, with `-rankmap` for the order of the ranks.

pub(crate) mod hostfile;
pub(crate) mod rankmap;
pub(crate) mod user_binding;

use std::collections::HashSet;

use crate::files::InputError;
use crate::lint::{Arguments, Place, Reading, Source, listed, traps};
use crate::units::counted;
use hostfile::HostLine;
use user_binding::UserBinding;

/// Reads as MPICH 4.1 and newer do.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    read_as(source, false)
}

/// Reads as MPICH 4.0 does.
pub(in crate::lint) fn read_4_0(source: &Source<'_>) -> Result<Reading, InputError> {
    read_as(source, true)
}

fn read_as(source: &Source<'_>, old: bool) -> Result<Reading, InputError> {
    let words = source.arguments.without_programs();
    let source = &Source { arguments: Arguments::new(&words), ..*source };
    let mut reading = Reading::default();
    let hosts = hostfile::hosts(source, &mut reading, true)?;
    let ranks = hostfile::rank_count(source, &hosts)?;
    let map = source.arguments.value(&["-rankmap", "--rankmap"]);
    if old && map.is_some() {
        reading.refuse(&traps::RANKMAP_OLD, None, "this mpiexec has no -rankmap".to_owned());
    }
    let lines = match map {
        Some(map) => mapped(source, &mut reading, map, &hosts, ranks)?,
        None => hostfile::fill(&hosts, ranks, &mut reading),
    };
    warn_of_split_hosts(&hosts, &mut reading);
    warn_of_settings(source, &mut reading);
    let mut binder = Binder::new(source, &hosts, old, &mut reading);
    for (rank, &line) in lines.iter().enumerate() {
        let Some(host) = hosts.get(line) else { continue };
        let place = binder.next_place(line);
        reading.add(rank, host.host, place, host.line);
    }
    binder.warn_of_unbound(&hosts, &mut reading);
    Ok(reading)
}

/// The line of every rank, from `-rankmap`.
fn mapped(
    source: &Source<'_>,
    reading: &mut Reading,
    map: &str,
    hosts: &[HostLine<'_>],
    ranks: usize,
) -> Result<Vec<usize>, InputError> {
    let mut lines = rankmap::read(source, map, ranks)?;
    if lines.len() < ranks {
        let text = format!(
            "-rankmap has {} entries for {ranks} ranks; the other ranks go to {}",
            lines.len(),
            hosts.first().map_or("no host", |host| host.host)
        );
        reading.warn(&traps::RANKMAP_SHORT, None, text);
        lines.resize(ranks, 0);
    }
    if let Some(line) = lines.iter().find(|line| **line >= hosts.len()) {
        let text = format!(
            "-rankmap names line {line} (from 0), but the hostfile has {}",
            counted(hosts.len(), "host")
        );
        reading.refuse(&traps::RANKMAP_LINE, None, text);
    }
    Ok(lines)
}

fn warn_of_split_hosts(hosts: &[HostLine<'_>], reading: &mut Reading) {
    let mut seen = HashSet::new();
    let mut warned = HashSet::new();
    for host in hosts {
        if !seen.insert(host.host) && warned.insert(host.host) {
            let text = format!("{} appears again after other hosts", host.host);
            reading.warn(&traps::HOST_SPLIT, host.line, text);
        }
    }
}

/// Hydra accepts options of the whole job only once.
fn warn_of_settings(source: &Source<'_>, reading: &mut Reading) {
    for name in ["bind-to", "f"] {
        let names = [format!("-{name}"), format!("--{name}")];
        let count =
            source.arguments.options().filter(|word| names.iter().any(|n| n == word)).count();
        if count > 1 {
            let text = format!("-{name} is given {count} times");
            reading.refuse(&traps::SETTING_TWICE, None, text);
        }
    }
}

/// The binding of a line of the hostfile.
enum Binding {
    User(UserBinding),
    None,
    /// By Hydra's own rules.
    Own,
}

/// Binds the ranks of each line in turn.
struct Binder {
    bindings: Vec<Binding>,
    /// Number of ranks that each line has so far.
    counts: Vec<usize>,
    old: bool,
}

impl Binder {
    fn new(source: &Source<'_>, hosts: &[HostLine<'_>], old: bool, reading: &mut Reading) -> Self {
        let names = ["-bind-to", "--bind-to", "-binding", "--binding"];
        let general = source.arguments.value(&names);
        let general = general.or_else(|| source.arguments.variable("HYDRA_BINDING"));
        let mut binding = |host: &HostLine<'_>| {
            let text = host.binding.or(general);
            match text.map(|text| text.split_once(':').unwrap_or((text, ""))) {
                None | Some(("none", _)) => Binding::None,
                Some(("user", entries)) => {
                    let binding = UserBinding::read(entries);
                    for (trap, text) in &binding.problems {
                        let text = format!("{}: {text}", host.host);
                        if *trap == &traps::BAD_ENTRY && !old {
                            reading.refuse(trap, host.line, text);
                        } else {
                            reading.warn(trap, host.line, text);
                        }
                    }
                    Binding::User(binding)
                }
                Some(_) => Binding::Own,
            }
        };
        let bindings = hosts.iter().map(&mut binding).collect();
        Self { bindings, counts: vec![0; hosts.len()], old }
    }

    fn next_place(&mut self, line: usize) -> Place {
        let local = self.counts[line];
        self.counts[line] += 1;
        match &self.bindings[line] {
            Binding::User(binding) => {
                let empty = if self.old { Place::Unbound } else { Place::Unknown };
                binding.place(local).unwrap_or(empty)
            }
            Binding::None => Place::Unbound,
            Binding::Own => Place::Unknown,
        }
    }

    fn warn_of_unbound(&self, hosts: &[HostLine<'_>], reading: &mut Reading) {
        for ((host, binding), count) in hosts.iter().zip(&self.bindings).zip(&self.counts) {
            let Binding::User(binding) = binding else { continue };
            if *count > binding.len() {
                let beyond: Vec<u32> =
                    (0..).zip(0..*count).skip(binding.len()).map(|(local, _)| local).collect();
                let text = format!(
                    "{} has {}, but its binding has entries for {}: local {} not bound",
                    host.host,
                    counted(*count, "rank"),
                    binding.len(),
                    listed("rank", &beyond) + if beyond.len() == 1 { " is" } else { " are" }
                );
                reading.warn(&traps::BINDING_SHORT, host.line, text);
            }
        }
    }
}
