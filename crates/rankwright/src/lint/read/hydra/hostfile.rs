//! The hostfiles of Hydra, the launcher of MPICH and Intel MPI: `n0:4`, a line per host.

use crate::files::InputError;
use crate::lint::{MOST_RANKS, Reading, Source, leading_number, traps};
use crate::units::counted;

/// The most characters of a line: Hydra's buffer has 1024 bytes, with the terminating zero.
const LONGEST_LINE: usize = 1023;

/// Consecutive lines of one host, which Hydra joins.
#[derive(Debug)]
pub(in crate::lint) struct HostLine<'a> {
    pub(in crate::lint) host: &'a str,
    pub(in crate::lint) slots: usize,
    /// The text behind `binding=`.
    pub(in crate::lint) binding: Option<&'a str>,
    pub(in crate::lint) line: usize,
}

/// Reads the hosts; `knows_binding` is whether the launcher has the field `binding=`.
pub(in crate::lint) fn hosts<'a>(
    source: &Source<'a>,
    reading: &mut Reading,
    knows_binding: bool,
) -> Result<Vec<HostLine<'a>>, InputError> {
    let mut hosts: Vec<HostLine<'a>> = Vec::new();
    for (number, text) in (1..).zip(source.text.split('\n')) {
        if text.len() > LONGEST_LINE {
            let text = format!("the line has {} characters", text.len());
            reading.refuse(&traps::HOST_LINE, number, text);
        }
        let mut words = text.split(|letter: char| letter.is_ascii_whitespace() || letter == '\x0b');
        let mut words = words.by_ref().filter(|word| !word.is_empty());
        let Some(first) = words.next().filter(|first| !first.starts_with('#')) else { continue };
        let mut parts = first.split(':').filter(|part| !part.is_empty());
        let expected = "a line like `n0:4`";
        let host = parts.next().ok_or_else(|| source.wrong(Some(number), first, expected))?;
        let slots = match parts.next().map(leading_number) {
            None => 1,
            Some((slots, _)) if slots > MOST_RANKS => {
                return Err(source.wrong(Some(number), first, expected));
            }
            Some((0, _)) => {
                reading.refuse(&traps::NO_SLOTS, number, format!("`{first}`"));
                0
            }
            Some((slots, _)) => slots,
        };
        match hosts.last_mut().filter(|last| last.host == host) {
            Some(last) => last.slots = (last.slots + slots).min(MOST_RANKS),
            None => hosts.push(HostLine { host, slots, binding: None, line: number }),
        }
        for word in words {
            let Some(last) = hosts.last_mut() else { continue };
            match word.split_once('=') {
                Some(("binding", binding)) if knows_binding => {
                    if last.binding.replace(binding).is_some() {
                        let text = format!("a second binding for {host}");
                        reading.refuse(&traps::BINDING_TWICE, number, text);
                    }
                }
                Some(("user", _)) => {}
                _ if word.starts_with('#') => {
                    reading.refuse(&traps::HOST_COMMENT, number, format!("behind {host}"));
                    break;
                }
                _ => {
                    let word: String = word.chars().take(40).collect();
                    reading.refuse(&traps::HOST_FIELD, number, format!("`{word}` behind {host}"));
                }
            }
        }
    }
    Ok(hosts)
}

/// The position of the line of each of `ranks` ranks. Every line takes as many ranks as it has
/// slots; behind the last line the first one follows again.
pub(in crate::lint) fn fill(
    hosts: &[HostLine<'_>],
    ranks: usize,
    reading: &mut Reading,
) -> Vec<usize> {
    let slots: usize = hosts.iter().map(|host| host.slots).sum();
    if ranks > slots {
        let text =
            format!("{ranks} ranks are started, but the hosts have {}", counted(slots, "slot"));
        reading.warn(&traps::WRAPS, None, text);
    }
    let once = hosts.iter().enumerate().flat_map(|(i, host)| std::iter::repeat_n(i, host.slots));
    if slots == 0 { Vec::new() } else { once.cycle().take(ranks).collect() }
}

/// The number of ranks to start: that of the arguments, else one per slot.
pub(in crate::lint) fn rank_count(
    source: &Source<'_>,
    hosts: &[HostLine<'_>],
) -> Result<usize, InputError> {
    let slots = hosts.iter().map(|host| host.slots).fold(0, usize::saturating_add);
    let ranks = source.arguments.ranks().unwrap_or(slots);
    if ranks > MOST_RANKS {
        return Err(source.wrong(
            None,
            &format!("{ranks} ranks"),
            &format!("at most {MOST_RANKS}"),
        ));
    }
    Ok(ranks)
}
