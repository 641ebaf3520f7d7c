//! Intel MPI: machinefiles (`n0:2`), and configfiles whose lines are `-n 1 -host n0 -env .. ./app`.

mod pinning;

use std::collections::{BTreeMap, HashMap};

use super::hydra::hostfile;
use super::wrapper;
use crate::files::InputError;
use crate::launch::shell;
use crate::lint::{Arguments, MOST_RANKS, Place, Reading, Source, traps};
use crate::units::counted;
use pinning::Pinning;

const EXPECTED: &str = "a line like `-n 2 -host n0 -env I_MPI_PIN_PROCESSOR_LIST 0,1 ./app`";

/// Reads a configfile if its lines begin with options, else a machinefile.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    let mut lines = source.text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    if first.is_some_and(|line| line.starts_with('-')) {
        read_configfile(source)
    } else {
        read_machinefile(source)
    }
}

fn read_machinefile(source: &Source<'_>) -> Result<Reading, InputError> {
    let words = source.arguments.without_programs();
    let source = &Source { arguments: Arguments::new(&words), ..*source };
    let mut reading = Reading::default();
    let hosts = hostfile::hosts(source, &mut reading, false)?;
    let ranks = hostfile::rank_count(source, &hosts)?;
    let pinning = Pinning::new(|name| source.arguments.variable(name));
    pinning.warn(None, &mut reading);
    let lines = hostfile::fill(&hosts, ranks, &mut reading);
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &lines {
        *totals.entry(hosts[*line].host).or_default() += 1;
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (rank, line) in lines.into_iter().enumerate() {
        let host = &hosts[line];
        let count = counts.entry(host.host).or_default();
        let place = match pinning.is_off() {
            true => Place::Unbound,
            false => pinning.place(*count, totals[host.host]),
        };
        reading.add(rank, host.host, place, host.line);
        *count += 1;
    }
    for (host, ranks) in totals.into_iter().filter(|_| !pinning.is_off()) {
        pinning.warn_of_count(host, ranks, None, &mut reading);
    }
    Ok(reading)
}

/// A line of a configfile that starts ranks.
struct Block {
    ranks: usize,
    host: String,
    pinning: Pinning,
    /// The binding by a wrapper before the program (`taskset`, `numactl`).
    wrapper: Option<Place>,
}

/// A host: the pinning of its first block, and the number of ranks of all its blocks.
struct Pinned<'a> {
    pinning: &'a Pinning,
    line: usize,
    ranks: usize,
}

fn read_configfile(source: &Source<'_>) -> Result<Reading, InputError> {
    let mut reading = Reading::default();
    let mut blocks: Vec<(usize, Block)> = Vec::new();
    let mut ranks = 0;
    for (line, text) in (1..).zip(source.text.lines()) {
        if text.trim().is_empty() || text.trim_start().starts_with('#') {
            continue;
        }
        let Some(block) = block(source, line, text, &mut reading)? else { continue };
        ranks += block.ranks;
        if ranks > MOST_RANKS {
            return Err(source.wrong(Some(line), &counted(block.ranks, "rank"), EXPECTED));
        }
        blocks.push((line, block));
    }
    place_blocks(&blocks, &mut reading);
    Ok(reading)
}

fn place_blocks(blocks: &[(usize, Block)], reading: &mut Reading) {
    let with_pinning = || blocks.iter().filter(|(_, block)| block.pinning.is_set());
    let off = with_pinning().find(|(_, block)| block.pinning.is_off());
    if let Some((line, _)) =
        off.filter(|_| with_pinning().any(|(_, block)| !block.pinning.is_off()))
    {
        let text = "I_MPI_PIN=0 here turns pinning off on all hosts".to_owned();
        reading.warn(&traps::PIN_OFF, *line, text);
    }
    let hosts = if off.is_some() { BTreeMap::new() } else { pinned_hosts(blocks, reading) };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut rank = 0;
    for (line, block) in blocks {
        let host = hosts.get(block.host.as_str());
        let count = counts.entry(&block.host).or_default();
        for _ in 0..block.ranks {
            let pinned = || match host {
                Some(host) => host.pinning.place(*count, host.ranks),
                None => Place::Unbound,
            };
            let place = block.wrapper.clone().unwrap_or_else(pinned);
            reading.add(rank, &block.host, place, *line);
            *count += 1;
            rank += 1;
        }
    }
}

/// The effective pinning of each host: that of its first block, else that of the first block of any
/// host that sets one.
fn pinned_hosts<'a>(
    blocks: &'a [(usize, Block)],
    reading: &mut Reading,
) -> BTreeMap<&'a str, Pinned<'a>> {
    let first = blocks.iter().find(|(_, block)| block.pinning.is_set());
    let mut hosts: BTreeMap<&str, Pinned<'_>> = BTreeMap::new();
    for (line, block) in blocks {
        let pinned_here = &block.pinning;
        let general = first.map_or(pinned_here, |(_, first)| &first.pinning);
        let pinning = if pinned_here.is_set() { pinned_here } else { general };
        let new = Pinned { pinning, line: *line, ranks: 0 };
        let pinned = hosts.entry(&block.host).or_insert(new);
        pinned.ranks += block.ranks;
        if pinned.line == *line {
            pinned_here.warn(Some(*line), reading);
            if pinned_here.is_set() && pinned_here.differs_in_kind(general) {
                let text = "a list for one host and masks for another".to_owned();
                reading.refuse(&traps::PIN_KINDS, *line, text);
            }
        } else if pinned_here.is_set() && pinned.pinning != pinned_here {
            let text = format!("ignored: line {} pins {}", pinned.line, block.host);
            reading.warn(&traps::LATER_PINNING, *line, text);
        }
    }
    for (host, Pinned { pinning, line, ranks }) in &hosts {
        pinning.warn_of_count(host, *ranks, Some(*line), reading);
    }
    hosts
}

/// Reads one line; `None` if it starts no program.
fn block(
    source: &Source<'_>,
    line: usize,
    text: &str,
    reading: &mut Reading,
) -> Result<Option<Block>, InputError> {
    let wrong = |text: &str| source.wrong(Some(line), text, EXPECTED);
    let words = shell::split(text).map_err(|open| wrong(&format!("a {open}")))?;
    let (mut ranks, mut host, mut variables) = (1, None, HashMap::new());
    let mut rest = &words[..];
    while let [option, behind @ ..] = rest {
        let Some(name) = option.strip_prefix('-') else { break };
        let value = || behind.first().ok_or_else(|| wrong(&format!("`{option}` without a value")));
        let taken = match name.trim_start_matches('-') {
            "n" | "np" => {
                let count = value()?.parse().ok().filter(|count| (1..=MOST_RANKS).contains(count));
                ranks = count.ok_or_else(|| wrong(&format!("`{option} {}`", behind[0])))?;
                1
            }
            "host" | "hosts" => {
                host = Some(value()?.clone());
                1
            }
            "env" | "genv" => match value()?.split_once('=') {
                Some((name, value)) => {
                    variables.insert(name.to_owned(), value.to_owned());
                    1
                }
                None => {
                    let value = behind.get(1).ok_or_else(|| wrong(&format!("`{option}`")))?;
                    variables.insert(behind[0].clone(), value.clone());
                    2
                }
            },
            "wdir" | "path" | "umask" | "envlist" | "genvlist" | "ppn" | "perhost" | "arch"
            | "file" => {
                value()?;
                1
            }
            _ => 0,
        };
        rest = &behind[taken..];
    }
    if rest.is_empty() {
        reading.refuse(&traps::NO_PROGRAM, line, format!("`{}`", text.trim()));
        return Ok(None);
    }
    let host = host.ok_or_else(|| wrong("a line without -host"))?;
    let variable = |name: &str| {
        let of_line = variables.get(name).map(String::as_str);
        of_line.or_else(|| source.arguments.variable(name))
    };
    let pinning = Pinning::new(variable);
    Ok(Some(Block { ranks, host, pinning, wrapper: wrapper::place(rest) }))
}
