//! `rankwright-exec --map FILE` before the program: the shim binds, whatever the launcher does.

use std::collections::HashMap;
use std::path::Path;

use rankwright_shim_format::ranks_map::{Header, Line};
use rankwright_shim_format::{SHIM, shim_options};

use crate::files::{self, InputError};
use crate::ids::{PuId, Rank};
use crate::lint::machines::short;
use crate::lint::{Arguments, MOST_RANKS, RankReading, Reading, program_of, traps};
use crate::units::counted;

const EXPECTED: &str = "a ranks.map as `rankwright launch` writes it";

/// The map of the shim, if the arguments contain a shim.
fn map<'a>(arguments: Arguments<'a>) -> Option<&'a str> {
    let words: Vec<&str> = arguments.words().collect();
    let name = |word: &&str| program_of(word) == SHIM;
    let exec = |pair: &[&str]| program_of(pair[0]) == "rankwright" && pair[1] == "exec";
    let shim = words.iter().position(name).or_else(|| words.windows(2).position(exec))?;
    let options = words[shim + 1..].iter().take_while(|word| **word != "--").copied();
    let joined = |word: &'a str| word.strip_prefix(shim_options::MAP)?.strip_prefix('=');
    options
        .clone()
        .zip(options.clone().skip(1))
        .find_map(|(name, value)| (name == shim_options::MAP).then_some(value))
        .or_else(|| options.clone().find_map(joined))
}

/// Binds the ranks as the shim does, if the arguments contain it. With `by_slot`, the shim knows
/// task numbers, which are positions in the reading, instead of ranks.
pub(in crate::lint) fn bind(
    arguments: Arguments<'_>,
    by_slot: bool,
    reading: &mut Reading,
) -> Result<(), InputError> {
    let Some(file) = map(arguments) else { return Ok(()) };
    let advice = "leave --map out of --launcher-args to lint without it";
    let text = files::read_text(Path::new(file), EXPECTED);
    let lines = lines(&text.map_err(|error| error.with_advice(advice))?, file)?;
    let Reading { ranks, warnings, .. } = reading;
    for (task, rank) in ranks.iter_mut().enumerate() {
        let task = if by_slot { Rank::from_index(task) } else { rank.rank };
        let Some(line) = lines.get(&task) else {
            let text = format!(
                "rank {} is not among the {} of {file}",
                rank.rank,
                counted(lines.len(), "rank")
            );
            warnings.push(crate::lint::LintWarning::refusal(&traps::SHIM_RANK, rank.line, text));
            continue;
        };
        if short(&line.host) != short(&rank.host) && line.host != "localhost" {
            let text = format!(
                "rank {} is on {}, but {file} places it on {}",
                rank.rank, rank.host, line.host
            );
            warnings.push(crate::lint::LintWarning::refusal(&traps::SHIM_HOST, rank.line, text));
        }
        bind_as(line, rank);
    }
    Ok(())
}

/// The lines of a map by their task.
fn lines(text: &str, file: &str) -> Result<HashMap<Rank, Line>, InputError> {
    let wrong = |number: usize, text: &str, expected: &str| {
        let shown: String = text.trim_end().chars().take(80).collect();
        InputError::new(file, format!("`{shown}`"), expected).at_line(number)
    };
    let mut all = (1..).zip(text.lines());
    let header = all.next().map_or("", |(_, line)| line);
    if header.parse::<Header>().is_err() {
        return Err(wrong(1, header, EXPECTED));
    }
    let mut lines = HashMap::new();
    for (number, text) in all {
        let line = Line::parse(text)
            .filter(|line| (line.rank as usize) < MOST_RANKS)
            .ok_or_else(|| wrong(number, text, "a line like `0 n0 0-1 preferred:0 bound -`"))?;
        lines.insert(Rank(line.rank), line);
    }
    Ok(lines)
}

/// Binds a rank as the shim does.
fn bind_as(line: &Line, rank: &mut RankReading) {
    rank.cores = None;
    rank.pus = line.bound.then(|| line.pus.iter().map(|pu| PuId(*pu)).collect());
    rank.bound = line.bound;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_is_found_behind_the_shim_only() {
        let map_of = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            map(Arguments::new(&words)).map(str::to_owned)
        };
        let map = Some("/f/ranks.map".to_owned());
        assert_eq!(map_of("mpiexec -n 2 /usr/bin/rankwright-exec --map /f/ranks.map -- ./a"), map);
        assert_eq!(map_of("mpiexec -n 2 rankwright exec --map=/f/ranks.map -- ./a"), map);
        assert_eq!(map_of("mpiexec rankwright-exec --trace x -- ./a --map /f/ranks.map"), None);
        assert_eq!(map_of("mpiexec ./a --map /f/ranks.map"), None);
    }

    #[test]
    fn damaged_maps_are_errors() {
        let header = "rankwright-ranks-map format=3 ranks=1 width=11 emulated=no\n";
        let error = |text: String| lines(&text, "ranks.map").err().map(|error| error.to_string());
        assert_eq!(error(format!("{header}0 n0 0-1 - bound - A=1  \n")), None);
        for (text, place) in [
            (String::new(), "ranks.map:1: found ``"),
            ("rank 0=n0 slot=0\n".to_owned(), "ranks.map:1: found `rank 0=n0 slot=0`"),
            (format!("{header}0 n0 0-1 - loosely\n"), "ranks.map:2: found `0 n0 0-1 - loosely`"),
            (format!("{header}0 n0\n"), "ranks.map:2: found `0 n0`"),
        ] {
            let said = error(text).unwrap_or_default();
            assert!(said.starts_with(place), "{said}");
        }
    }
}
