//! The file with hosts, or with the place of every rank, that a launch line names.

use super::launch_line::LaunchLine;
use crate::files::{InputError, read_text};
use crate::lint::guess::{self, SAY};
use crate::lint::read::launch_options::program;
use crate::lint::{Arguments, Reading, audit};

/// Options of launchers that name such a file.
const NAMES: [&str; 12] = [
    "--hostfile",
    "-hostfile",
    "--machinefile",
    "-machinefile",
    "--default-hostfile",
    "-f",
    "-rf",
    "--rankfile",
    "-rankfile",
    "-configfile",
    "--configfile",
    "--host-file",
];

/// Reads the file that the launch line names, as its launcher does, and adds its ranks. Returns whether
/// there is such a file; `list` stands for the batch system's own list of hosts, which is none.
pub(super) fn read(
    line: &LaunchLine<'_>,
    list: Option<&str>,
    reading: &mut Reading,
) -> Result<bool, InputError> {
    let mut words = line.words();
    let program = program(&words);
    words.truncate(program);
    let Some(name) = named(&words).filter(|name| Some(name.as_str()) != list) else {
        return Ok(false);
    };
    line.refuse_several_programs("a file with hosts")?;
    line.check_known(program)?;
    let path = line.beside(&name);
    let text = read_text(&path, "the file that the launch line names").map_err(|error| {
        error.with_advice(
            "copy it beside the script, or lint it alone with this line in --launcher-args",
        )
    })?;
    let file = path.display().to_string();
    let mut arguments = vec![line.launch.launcher.clone()];
    arguments.extend(words);
    let cluster = line.source.machines.cluster();
    let guessed = guess::read_for(&text, &file, &arguments, cluster, line.mpi());
    let guessed = guessed.map_err(|error| {
        // The MPI library can also be given for the script, with --from.
        let says_mpi = |advice: &String| advice.contains("--from") && !advice.starts_with(SAY);
        if error.advice.as_ref().is_some_and(says_mpi) {
            return error.with_advice(
                "lint this file itself, with --from and this launch line in --launcher-args",
            );
        }
        error
    })?;
    let alike = guessed.alike.iter().map(|format| format.name);
    let names: Vec<&str> = std::iter::once(guessed.format.name).chain(alike).collect();
    reading.notes.push(format!("read: {file}, as for {}", names.join(", ")));
    let mut its = guessed.reading;
    // The hosts and PUs of all ranks are checked again, as wrapper scripts may change them.
    its.warnings.retain(|warning| !audit::TRAPS.contains(&warning.trap));
    for mut warning in its.warnings {
        let at = warning.line.take().map_or(String::new(), |line| format!(":{line}"));
        warning.text = format!("{file}{at}: {}", warning.text);
        reading.warnings.push(warning);
    }
    for rank in &mut its.ranks {
        rank.line = line.launch.line;
    }
    reading.ranks.extend(its.ranks);
    reading.notes.extend(its.notes);
    reading.overlap_is_refused = its.overlap_is_refused;
    reading.objects_are_shared = its.objects_are_shared;
    Ok(true)
}

/// The name of the file.
fn named(words: &[String]) -> Option<String> {
    let arguments = Arguments::new(words);
    if let Some(name) = arguments.value(&NAMES) {
        return Some(name.to_owned());
    }
    let policy = arguments.value(&["--map-by", "-map-by"])?;
    let modifier = policy.strip_prefix("rankfile:").or_else(|| policy.strip_prefix("seq:"))?;
    let file = modifier.split(':').find_map(|part| part.strip_prefix("file="))?;
    Some(file.to_owned())
}
