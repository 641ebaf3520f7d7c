//! Programs that bind and then start another: `taskset -c 0-3 ./a`, `numactl --physcpubind=0 ./a`.

use crate::ids::{PuSet, parse_index_list};
use crate::lint::Place;
use crate::lint::program_of;

/// The binding by the wrapper of a command; `None` without a wrapper that binds.
pub(in crate::lint) fn place<S: AsRef<str>>(words: &[S]) -> Option<Place> {
    let words = words.iter().map(AsRef::as_ref);
    // Variables may come first.
    let words: Vec<&str> = words.skip_while(|word: &&str| word.contains('=')).collect();
    let program = program_of(words.first()?);
    match program {
        "taskset" => taskset(&words[1..]),
        "numactl" => numactl(&words[1..]),
        "env" => place(&words[1..]),
        _ => None,
    }
}

/// Whether a word is a program that binds the one behind it.
pub(in crate::lint) fn binds(word: &str) -> bool {
    ["taskset", "numactl"].contains(&program_of(word))
}

fn taskset(words: &[&str]) -> Option<Place> {
    let list = words.iter().position(|word| ["-c", "--cpu-list", "-ac", "-ca"].contains(word));
    if let Some(list) = list {
        return Some(words.get(list + 1).map_or(Place::Unknown, |text| cpu_list(text)));
    }
    let mask = words.iter().find(|word| !word.starts_with('-'))?;
    Some(super::cpu_bind::mask(mask).map_or(Place::Unknown, Place::Pus))
}

/// The binding by numactl's options; `None` if they bind to no PU.
pub(in crate::lint) fn numactl(words: &[&str]) -> Option<Place> {
    let names = ["--physcpubind", "-C"];
    let value = |index: usize| {
        let word = words[index];
        if names.contains(&word) {
            return words.get(index + 1).copied();
        }
        word.strip_prefix("--physcpubind=").or_else(|| {
            word.strip_prefix("-C").filter(|value| value.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    let list = (0..words.len()).rev().find_map(value)?;
    Some(cpu_list(list))
}

/// A list of PUs (P#) in the syntax of taskset and numactl; a stride (0-8:2) is not supported.
fn cpu_list(text: &str) -> Place {
    let pus = parse_index_list(text).ok().filter(|pus| !pus.is_empty());
    pus.map_or(Place::Unknown, |pus| {
        Place::Pus(pus.into_iter().map(crate::ids::PuId).collect::<PuSet>())
    })
}
