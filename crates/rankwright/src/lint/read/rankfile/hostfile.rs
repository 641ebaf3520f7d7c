//! Hostfiles of Open MPI: `n0 slots=4 max_slots=8`. They say how many ranks a host takes, not which.

use std::collections::HashMap;

use super::map_by::{self, MapBy, Unread};
use super::slot_list::Version;
use super::slots;
use crate::files::InputError;
use crate::lint::machines::natural;
use crate::lint::{MOST_RANKS, NO_ORDER, Reading, Source, traps};
use crate::units::counted;

const EXPECTED: &str = "a line like `n0`, or `n0 slots=4 max_slots=8`";

const NOT_PREDICTED: &str = "--map-by slot, node, package (4.1: socket), numa, l3cache, core, hwthread or \
                             ppr:N:RESOURCE; the hosts under others are not predicted";

/// A host, in the order of the first lines of the hosts.
struct Host<'a> {
    name: &'a str,
    line: usize,
    /// As given by `slots=`, or else by `max_slots=`.
    slots: Option<usize>,
    /// The number of lines that name it.
    lines: usize,
}

/// Whether the file has no line of a rankfile.
pub(in crate::lint) fn is_one(text: &str) -> bool {
    let mut words = text.lines().filter_map(|line| line.split_whitespace().next());
    let first = words.by_ref().find(|word| !word.starts_with('#'));
    let is_rank = |word: &str| word.split('=').next() == Some("rank");
    first.is_some_and(|word| word.starts_with(char::is_alphanumeric))
        && !first.into_iter().chain(words).any(is_rank)
}

/// Reads as mpirun does: most mappings fill the slots of one host after the other.
pub(in crate::lint) fn read(source: &Source<'_>, version: Version) -> Result<Reading, InputError> {
    let mut reading = Reading::default();
    let arguments = source.arguments;
    let map_by = match MapBy::of(arguments, version) {
        Ok(map_by) => map_by,
        Err(Unread::Unpredicted(found)) => {
            return Err(source.wrong_argument(&found, NOT_PREDICTED));
        }
        // Of a mapping that mpirun refuses, the hosts in their order.
        Err(Unread::Refused(trap, text)) => {
            reading.refuse(trap, None, text);
            MapBy::by_default(version)
        }
    };
    let hosts = chosen(source, hosts(source, &mut reading)?)?;
    let slots =
        hosts.iter().map(|host| slots_of(source, host, &map_by)).collect::<Result<Vec<_>, _>>()?;
    if version == Version::Four && hosts.len() > 1 {
        tell_order(&hosts, &mut reading);
    }
    let total = slots.iter().copied().fold(0, usize::saturating_add);
    let parts = hosts.iter().zip(slots).map(|(host, slots)| map_by::Host {
        name: host.name,
        slots,
        line: host.line,
        machine: source.machines.machine(host.name),
    });
    let parts: Vec<_> = parts.collect();
    let ranks = arguments.ranks_of_open_mpi(version).unwrap_or_else(|| map_by.ranks(&parts));
    if ranks > MOST_RANKS {
        return Err(source.wrong(None, &counted(ranks, "rank"), &format!("at most {MOST_RANKS}")));
    }
    let mut started = ranks;
    if ranks > total && !map_by.is_per_part() {
        let (ranks, slots) = (counted(ranks, "rank"), counted(total, "slot"));
        if map_by.oversubscribes() {
            let expected = "a slot for every rank; the hosts of more ranks are not predicted";
            return Err(source.wrong_argument(&format!("{ranks} for {slots}"), expected));
        }
        let text = format!("{ranks} are started, but the hosts have {slots}");
        reading.refuse(&traps::SLOTS_FEW, None, text);
        started = total;
    }
    map_by.add(&parts, started, &mut reading).map_err(|found| {
        let error = source.wrong_argument(&found, "hosts whose parts are known");
        error.with_advice("give --on CLUSTER with these hosts")
    })?;
    Ok(reading)
}

/// Warns that a hostfile does not set the order of ranks, if its hosts are not in ascending order: then its
/// author seems to expect that.
fn tell_order(hosts: &[Host<'_>], reading: &mut Reading) {
    let is_before = |pair: &&[Host<'_>]| natural(pair[1].name) < natural(pair[0].name);
    let Some(pair) = hosts.windows(2).find(is_before) else {
        reading.notes.push(NO_ORDER.to_owned());
        return;
    };
    let text = format!(
        "{} is behind {}: if mpirun runs on one of these hosts, that host has the first ranks; for an order \
         of your own use a rankfile, or the seq mapper with a line per rank",
        pair[1].name, pair[0].name
    );
    reading.warn(&traps::NO_ORDER, pair[1].line, text);
}

/// The hosts, with what mpirun refuses.
fn hosts<'a>(source: &Source<'a>, reading: &mut Reading) -> Result<Vec<Host<'a>>, InputError> {
    let mut hosts: Vec<Host<'a>> = Vec::new();
    let mut positions: HashMap<&str, usize> = HashMap::new();
    for (line, text) in (1..).zip(source.text.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        let mut words = text.split_whitespace();
        let Some(name) = words.next() else { continue };
        let wrong = |text: &str| source.wrong(Some(line), text, EXPECTED);
        let name = name.rsplit('@').next().unwrap_or_default();
        if name.starts_with(['+', '^']) {
            let advice = "name the hosts themselves";
            let text = format!("`{name}`, which depends on the allocation");
            return Err(wrong(&text).with_advice(advice));
        }
        let (slots, most) = fields(words).map_err(|word| wrong(&format!("`{word}`")))?;
        let (name, slots) = match of_hydra(name) {
            Some((host, count)) => {
                let text = format!(
                    "mpirun takes all of `{name}` for a host name; write `{host} slots={count}`"
                );
                reading.refuse(&traps::COLON_IN_HOST, line, text);
                (host, slots.or(Some(count)))
            }
            None => (name, slots),
        };
        if let (Some(slots), Some(most)) = (slots, most)
            && most < slots
        {
            let text = format!("{name} has max_slots={most}, but slots={slots}");
            reading.refuse(&traps::MAX_SLOTS, line, text);
        }
        let slots = slots.or(most);
        match positions.get(name) {
            None => {
                positions.insert(name, hosts.len());
                hosts.push(Host { name, line, slots, lines: 1 });
            }
            Some(&position) => {
                let host = &mut hosts[position];
                host.lines += 1;
                if slots.is_some() {
                    let text = format!("{name} is on line {} already", host.line);
                    reading.refuse(&traps::SLOTS_TWICE, line, text);
                }
                // A line without a number is one slot more.
                let before = host.slots.or(slots.is_some().then_some(1));
                host.slots = before.map(|before| before + slots.unwrap_or(1));
            }
        }
    }
    Ok(hosts)
}

/// The hosts that `-H` chooses, in its order and with its slots; without it all.
fn chosen<'a>(source: &Source<'a>, hosts: Vec<Host<'a>>) -> Result<Vec<Host<'a>>, InputError> {
    let mut chosen: Vec<Host<'a>> = Vec::new();
    for (name, count) in slots::of_option(source.arguments) {
        let wrong = |found: &str| {
            let expected =
                "hosts of the file, each with a number of slots; others are not predicted";
            source.wrong_argument(&format!("-H {found}"), expected)
        };
        let host = hosts.iter().find(|host| host.name == name).ok_or_else(|| wrong(name))?;
        let count = count.parse().ok().filter(|count| (1..=MOST_RANKS).contains(count));
        let count: usize = count.ok_or_else(|| wrong(&format!("{name} with these slots")))?;
        if source.arguments.words().any(|word| word == ":") {
            return Err(wrong("of one of several programs"));
        }
        match chosen.iter_mut().find(|it| it.name == name) {
            Some(before) => before.slots = before.slots.map(|it| it.saturating_add(count)),
            None => chosen.push(Host { slots: Some(count), ..*host }),
        }
    }
    Ok(if chosen.is_empty() { hosts } else { chosen })
}

/// The host and the number of `n0:4`, the form of Hydra.
fn of_hydra(name: &str) -> Option<(&str, usize)> {
    // An address of IPv6 has more colons.
    let (host, count) = name.split_once(':').filter(|(_, count)| !count.contains(':'))?;
    // What has no number is shown with one rank: the file is refused all the same.
    let count = count.parse().ok().filter(|count| (1..=MOST_RANKS).contains(count));
    Some((host, count.unwrap_or(1)))
}

/// `slots=` and `max_slots=` of a line; the error is a word that is neither.
fn fields<'a>(
    words: impl Iterator<Item = &'a str>,
) -> Result<(Option<usize>, Option<usize>), &'a str> {
    let (mut slots, mut most) = (None, None);
    for word in words {
        let (key, value) = word.split_once('=').ok_or(word)?;
        let number = value.parse().ok().filter(|number| *number <= MOST_RANKS).ok_or(word)?;
        match key.to_ascii_lowercase().replace('-', "_").as_str() {
            "slots" => slots = Some(number),
            "max_slots" => most = Some(number),
            _ => return Err(word),
        }
    }
    Ok((slots, most))
}

/// The slots of a host: as given, or one for each of its lines, or one per core (hardware thread) if it has
/// one line.
fn slots_of(source: &Source<'_>, host: &Host<'_>, map_by: &MapBy<'_>) -> Result<usize, InputError> {
    if let Some(slots) = host.slots {
        return Ok(slots);
    }
    if host.lines > 1 {
        return Ok(host.lines);
    }
    let machine = source.machines.machine(host.name).ok_or_else(|| {
        let text = format!("{} without slots=, which has a slot per core", host.name);
        let wrong = source.wrong(Some(host.line), &text, "the number of its cores");
        wrong.with_advice("give --on CLUSTER with this host")
    })?;
    Ok(if map_by.counts_threads() { machine.pus.len() } else { machine.cores.len() })
}

#[cfg(test)]
mod tests {
    use crate::lint::find;

    #[test]
    fn only_an_order_of_hosts_that_seems_meant_is_a_trap() {
        let format = find("openmpi4").unwrap();
        let read = |text: &str| format.read(text, "hosts", &[], None).unwrap();
        for text in ["n9 slots=2\nn10 slots=2\n", "a slots=1\nb slots=1\n# c\nc slots=1\n"] {
            let reading = read(text);
            assert_eq!(reading.warnings, [], "{text}");
            assert!(reading.notes.iter().any(|note| note == crate::lint::NO_ORDER), "{text}");
        }
        let reading = read("n0 slots=2\nn2 slots=2\nn1 slots=2\n");
        let [warning] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
        assert_eq!((warning.trap.code, warning.line), ("hostfile-is-no-order", Some(3)));
        assert!(warning.text.starts_with("n1 is behind n2: "), "{}", warning.text);
        assert_eq!(
            read("n0 slots=2\n").notes.iter().find(|note| *note == crate::lint::NO_ORDER),
            None
        );
    }
}
