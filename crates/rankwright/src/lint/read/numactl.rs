//! The files of `launch --for numactl`: the wrapper `bind.sh`, or the list of the ranks' commands.

use std::collections::HashMap;

use super::wrapper;
use crate::files::InputError;
use crate::lint::{MOST_RANKS, Place, Reading, Source, listed, traps};

/// Reads the wrapper, or the list.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    let mut reading = Reading::default();
    if source.text.starts_with("#!") {
        read_wrapper(source, &mut reading)?;
    } else {
        read_commands(source, &mut reading)?;
    }
    check_ranks(&mut reading);
    Ok(reading)
}

/// Lines like `3) host=n0 options='--physcpubind=1 --membind=0' ;;`.
fn read_wrapper(source: &Source<'_>, reading: &mut Reading) -> Result<(), InputError> {
    for (number, text) in (1..).zip(source.text.lines()) {
        let Some((rank, settings)) = text.split_once(") ") else { continue };
        if rank.is_empty() || !rank.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let expected = "a line like `3) host=n0 options='--physcpubind=1' ;;`";
        let wrong = || source.wrong(Some(number), text, expected);
        let rank = rank.parse().ok().filter(|rank| *rank < MOST_RANKS).ok_or_else(wrong)?;
        // Variables come before `host=`.
        let (_, settings) = settings.rsplit_once("host=").ok_or_else(wrong)?;
        let (host, options) = settings.split_once(" options='").ok_or_else(wrong)?;
        let options = options.split('\'').next().unwrap_or_default();
        let words: Vec<&str> = options.split_whitespace().collect();
        let place = wrapper::numactl(&words).unwrap_or(Place::Unbound);
        reading.add(rank, host, place, number);
    }
    Ok(())
}

/// Lines like `numactl --physcpubind=1 ./app  # rank 3` below `# n0`.
fn read_commands(source: &Source<'_>, reading: &mut Reading) -> Result<(), InputError> {
    let mut host = None;
    for (number, text) in (1..).zip(source.text.lines()) {
        if let Some(name) = text.strip_prefix('#') {
            host = Some(name.trim());
            continue;
        }
        if text.trim().is_empty() {
            continue;
        }
        let wrong = || {
            let expected = "`# HOST`, then lines like `numactl --physcpubind=1 ./app  # rank 3`";
            source.wrong(Some(number), text, expected)
        };
        let (command, rank) = text.rsplit_once("# rank ").ok_or_else(wrong)?;
        let rank = rank.trim().parse().ok().filter(|rank| *rank < MOST_RANKS).ok_or_else(wrong)?;
        let words = crate::launch::shell::split(command).map_err(|_| wrong())?;
        let place = wrapper::place(&words).unwrap_or(Place::Unbound);
        reading.add(rank, host.ok_or_else(wrong)?, place, number);
    }
    Ok(())
}

/// Checks that no rank is missing and none has two lines; the first line of a rank wins.
fn check_ranks(reading: &mut Reading) {
    let mut lines: HashMap<crate::ids::Rank, usize> = HashMap::new();
    for rank in std::mem::take(&mut reading.ranks) {
        if let Some(before) = lines.get(&rank.rank) {
            let text = format!("ignored: rank {} is on line {before} already", rank.rank);
            reading.warn(&traps::RANK_TWICE, rank.line, text);
            continue;
        }
        lines.insert(rank.rank, rank.line);
        reading.ranks.push(rank);
    }
    let end = lines.keys().max().map_or(0, |rank| rank.0 + 1);
    let missing: Vec<u32> =
        (0..end).filter(|rank| !lines.contains_key(&crate::ids::Rank(*rank))).collect();
    if !missing.is_empty() {
        let text = format!("the file has no {}", listed("rank", &missing));
        reading.warn(&traps::RANK_MISSING, None, text);
    }
}
