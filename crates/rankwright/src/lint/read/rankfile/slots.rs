//! The slots of the hosts of a rankfile for Open MPI 5, if the arguments set them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cluster::read::hostfile;
use crate::files::{self, InputError};
use crate::lint::machines::short;
use crate::lint::{Arguments, Reading, Source, traps};
use crate::units::counted;

/// The hosts that `-H` lists, and what it says of their slots.
pub(super) fn of_option(arguments: Arguments<'_>) -> impl Iterator<Item = (&str, &str)> {
    let lists = arguments.values(&["-H", "--host", "-host"]);
    let entry = |entry| str::split_once(entry, ':').unwrap_or((entry, "1"));
    lists.flat_map(move |list| list.split(',').map(entry))
}

/// Reports hosts that have more ranks than slots.
pub(super) fn check<'a>(
    source: &Source<'_>,
    reading: &mut Reading,
    hosts: impl Iterator<Item = &'a str>,
) -> Result<(), InputError> {
    let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
    for host in hosts {
        *ranks.entry(short(host)).or_default() += 1;
    }
    let slots = slots(source)?;
    for (host, ranks) in ranks {
        if let Some(slots) = slots.get(host).copied().flatten().filter(|slots| *slots < ranks) {
            let (ranks, slots) = (counted(ranks, "rank"), counted(slots, "slot"));
            let text = format!("{host} has {ranks}, but {slots}");
            reading.refuse(&traps::SLOTS_FEW, None, text);
        }
    }
    Ok(())
}

/// The slots of hosts by short name; `None` if mpirun uses the number of cores.
fn slots(source: &Source<'_>) -> Result<BTreeMap<String, Option<usize>>, InputError> {
    let mut slots: BTreeMap<String, Option<usize>> = BTreeMap::new();
    let files = ["--hostfile", "-hostfile", "--machinefile", "--default-hostfile"];
    if let Some(file) = source.arguments.value(&files) {
        let advice = "leave the option out of --launcher-args to lint without it";
        let text = files::read_text(Path::new(file), hostfile::EXPECTED);
        let text = text.map_err(|error| error.with_advice(advice))?;
        for host in hostfile::parse(&text, file)? {
            let count = host.slots.map(|slots| slots as usize);
            slots.insert(short(&host.name).to_owned(), count);
        }
    }
    // A host has one slot for each time that the list names it.
    for (host, count) in of_option(source.arguments) {
        let sum = slots.entry(short(host).to_owned()).or_insert(Some(0));
        *sum = sum
            .zip(count.parse().ok())
            .map(|(slots, more): (usize, usize)| slots.saturating_add(more));
    }
    Ok(slots)
}
