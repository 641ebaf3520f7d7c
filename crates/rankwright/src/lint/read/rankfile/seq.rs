//! The `seq` mapper of Open MPI: a hostfile with the host of every rank in order.

use crate::files::InputError;
use crate::lint::read::slurm;
use crate::lint::{Arguments, MOST_RANKS, Place, Reading, Source};

/// Whether the arguments select the mapper: `--mca rmaps seq` or `--map-by seq`.
pub(in crate::lint) fn is_wanted(arguments: Arguments<'_>) -> bool {
    let is_seq = |policy: &str| policy.split(':').next() == Some("seq");
    let of_4 =
        arguments.words().zip(arguments.words().skip(1)).any(|pair| pair == ("rmaps", "seq"));
    of_4 || arguments.values(&["--map-by", "-map-by"]).any(is_seq)
}

/// Reads as versions 4.1 and 5.0 do; comments and empty lines are skipped.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    let mut reading = Reading::default();
    let mut hosts = Vec::new();
    for (number, text) in (1..).zip(source.text.lines()) {
        let name = text.trim();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        if name.contains(char::is_whitespace) || hosts.len() == MOST_RANKS {
            return Err(source.wrong(Some(number), &format!("`{name}`"), "the host of one rank"));
        }
        hosts.push((name.to_owned(), number));
    }
    slurm::check_rank_count(source, &mut hosts, &mut reading);
    let binding = source.arguments.value(&["--bind-to", "-bind-to"]);
    let none = binding.is_some_and(|binding| binding.split(':').next() == Some("none"));
    for (rank, (host, line)) in hosts.iter().enumerate() {
        reading.add(rank, host, if none { Place::Unbound } else { Place::Unknown }, *line);
    }
    Ok(reading)
}
