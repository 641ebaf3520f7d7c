//! The command of a job script that starts ranks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::mpi::Mpi;
use super::shell::{Launch, Shell, Value};
use super::{lexer, line_ends};
use crate::files::{InputError, read_text};
use crate::lint::read::arguments::Arguments;
use crate::lint::read::script::{self as wrapper_script, Starter, is_mpi_launcher};
use crate::lint::{Reading, Source, program_of, traps};

/// A command that starts ranks, in its script.
#[derive(Clone, Copy)]
pub(super) struct LaunchLine<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) launch: &'a Launch,
}

/// What is found where several programs are not read.
const SEVERAL_PROGRAMS: &str = "a launch of several programs (`:`)";

/// An error about a line of the script; about the whole script for line 0.
pub(super) fn wrong(source: &Source<'_>, line: usize, found: &str, expected: &str) -> InputError {
    source.wrong((line > 0).then_some(line), found, expected)
}

/// The first command of the script that starts ranks, of those whose launcher `is_read`.
pub(super) fn first(
    source: &Source<'_>,
    mut shell: Shell,
    is_read: impl Fn(&str) -> bool,
    expected: &str,
    reading: &mut Reading,
) -> Result<Launch, InputError> {
    let commands = lexer::commands(source.text)
        .map_err(|(line, found)| wrong(source, line, &found, "a script that a shell can read"))?;
    let launches = shell.launches(&commands).into_iter();
    let mut launches = launches.filter(|launch| is_read(&launch.launcher));
    let launch = launches.next().ok_or_else(|| {
        if let Some(line) = line_of_run(source.text) {
            let found = "the ranks are started by `rankwright run`, which binds them itself";
            let advice = "see where they go with `rankwright run --dry-run`, and check them in the job with \
                          `rankwright run --check`";
            return wrong(source, line, found, expected).with_advice(advice);
        }
        let advice = "if another file starts the ranks, lint that file";
        source.wrong(None, "no command that starts ranks", expected).with_advice(advice)
    })?;
    let line = LaunchLine { source, launch: &launch };
    if line.has_several_programs() && !is_mpi_launcher(&launch.launcher) {
        let advice = "lint a script that has only this line and begins with #!, if each component names its \
                      hosts (-w)";
        return Err(line.wrong(SEVERAL_PROGRAMS, "one program").with_advice(advice));
    }
    let others: Vec<u32> = launches.filter_map(|launch| u32::try_from(launch.line).ok()).collect();
    if !others.is_empty() {
        let lines = crate::lint::listed("line", &others);
        let verb = if others.len() == 1 { "starts" } else { "start" };
        let first = launch.line;
        reading.notes.push(format!("read: the launch of line {first}; {lines} {verb} ranks too"));
    }
    if is_mpi_launcher(&launch.launcher) {
        note_mpi(source, &launch, reading);
    }
    reading.threads = threads(&launch).map(|threads| (threads, launch.line));
    Ok(launch)
}

/// The line of a script with `rankwright run`.
fn line_of_run(script: &str) -> Option<usize> {
    let runs = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        !line.starts_with('#')
            && words.windows(2).any(|pair| program_of(pair[0]) == "rankwright" && pair[1] == "run")
    };
    (1..).zip(script.lines()).find(|(_, line)| runs(line)).map(|(number, _)| number)
}

/// The threads of each rank by `OMP_NUM_THREADS`, of the script or among the options of the launcher; the first of
/// nested levels (`4,2`).
fn threads(launch: &Launch) -> Option<usize> {
    const NAME: &str = "OMP_NUM_THREADS";
    let words: Vec<String> = launch.words.iter().map(|word| word.text.clone()).collect();
    let of_script = || launch.exported.get(NAME)?.0.as_deref();
    let value = Arguments::new(&words).variable(NAME).or_else(of_script)?;
    value.split(',').next()?.trim().parse().ok()
}

/// Notes whose `mpirun` is taken, if the user or the script says so.
fn note_mpi(source: &Source<'_>, launch: &Launch, reading: &mut Reading) {
    let loaded = launch.loaded.as_ref();
    let of_script = loaded.map(|loaded| format!("line {} loads `{}`", loaded.line, loaded.word));
    let text = match (source.mpi, of_script) {
        (None, None) => return,
        (None, Some(of_script)) => {
            let name = loaded.map_or("", |loaded| loaded.mpi.name);
            format!("{of_script}: {} is taken for that of {name}", launch.launcher)
        }
        (Some(mpi), of_script) => {
            let other = of_script.filter(|_| {
                let formats = loaded.map_or(&[][..], |loaded| loaded.mpi.formats);
                !mpi.formats.iter().any(|format| formats.contains(format))
            });
            let other = other.map_or(String::new(), |other| format!(", although {other}"));
            format!("{} is taken for that of {}{other}", launch.launcher, mpi.name)
        }
    };
    reading.notes.push(text);
}

impl LaunchLine<'_> {
    /// Whether it starts several programs as one job (`mpirun .. : ..`).
    pub(super) fn has_several_programs(&self) -> bool {
        self.launch.words.iter().any(|word| word.text == ":")
    }

    /// An error if it starts several programs, with which `beside` is not read.
    pub(super) fn refuse_several_programs(&self, beside: &str) -> Result<(), InputError> {
        if !self.has_several_programs() {
            return Ok(());
        }
        let advice =
            "lint a hostfile with the hosts of the job, and give this line in --launcher-args";
        let found = format!("{SEVERAL_PROGRAMS}, with {beside}");
        Err(self.wrong(&found, "one program").with_advice(advice))
    }

    /// The MPI library of `mpirun`, if the user or the script says it.
    pub(super) fn mpi(&self) -> Option<&'static Mpi> {
        self.source.mpi.or(self.launch.loaded.as_ref().map(|loaded| loaded.mpi))
    }

    /// An error about the launch.
    pub(super) fn wrong(&self, found: &str, expected: &str) -> InputError {
        wrong(self.source, self.launch.line, found, expected)
    }

    /// The words behind the launcher; parts that only a shell knows are as they are written.
    pub(super) fn words(&self) -> Vec<String> {
        self.launch.words.iter().map(|word| word.text.clone()).collect()
    }

    /// An error if one of the first words has a part that only a shell knows.
    pub(super) fn check_known(&self, words: usize) -> Result<(), InputError> {
        let unknown = self.launch.words.iter().take(words).find_map(|word| word.unknown.as_ref());
        unknown.map_or(Ok(()), |unknown| {
            let advice = "write its value, or give it in --launcher-args as NAME=VALUE";
            let found = format!("`{unknown}`, which only a shell can know");
            Err(self.wrong(&found, "options of the launch").with_advice(advice))
        })
    }

    /// The path of a file that the script names: from its folder, where the job starts.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        let folder = Path::new(self.source.file).parent().unwrap_or(Path::new(""));
        folder.join(name.trim_start_matches("./"))
    }

    /// Where a script beside this one starts the program for each rank: what it gives them. `of_job` are
    /// variables that the batch system sets for all ranks.
    pub(super) fn apply_wrapper(
        &self,
        starter: Starter,
        of_job: impl IntoIterator<Item = (&'static str, Option<usize>)>,
        reading: &mut Reading,
    ) -> Result<(), InputError> {
        let words = self.words();
        let found = words.iter().enumerate().filter(|(_, word)| !word.starts_with('-'));
        let found = found.filter_map(|(at, word)| {
            let path = self.beside(word);
            // Programs are no text; a file that is not there may be elsewhere on the nodes.
            let text = path.is_file().then(|| read_text(&path, "a script").ok())??;
            wrapper_script::is_one(&text).then_some((at, path, text))
        });
        let Some((at, path, mut text)) = found.into_iter().next() else { return Ok(()) };
        self.refuse_several_programs("a script that starts one of them")?;
        let file = path.display().to_string();
        if let Some(unix) = line_ends::of_unix(&text) {
            let line = line_ends::first(&text).unwrap_or(1);
            let effect = format!("{file}:{line}: {}", line_ends::effect(&text, &file));
            reading.refuse(&traps::CARRIAGE_RETURN, None, effect);
            text = unix;
        }
        let given = self.launch.exported.iter().map(|(name, (value, _))| {
            (name.clone(), value.clone().ok_or_else(|| format!("${name} of the job")))
        });
        let of_job = of_job
            .into_iter()
            .filter_map(|(name, count)| Some((name.to_owned(), Ok(count?.to_string()))));
        let given = of_job.chain(given);
        let wrapper = wrapper_script::Script {
            text: &text,
            file: &file,
            starter,
            given: given.collect(),
            arguments: &words[at + 1..],
            is_source: false,
        };
        reading.notes.push(format!("read: {file}, which starts the program of each rank"));
        wrapper.apply(reading, self.source.machines)
    }
}

/// `NAME=VALUE` of `--launcher-args`, which count whatever the script does; and the other words. A word
/// behind one of the options `with_value` is its value: `-l select=2`.
pub(super) fn given(
    source: &Source<'_>,
    with_value: &[&str],
) -> (Vec<(String, String)>, Vec<String>) {
    let mut variables = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut is_value = false;
    for word in source.arguments.words() {
        let variable = word.split_once('=').filter(|(name, _)| lexer::is_variable(name));
        match variable.filter(|_| !is_value) {
            Some((name, value)) => variables.push((name.to_owned(), value.to_owned())),
            None => words.push(word.to_owned()),
        }
        is_value = !is_value && with_value.contains(&word);
    }
    (variables, words)
}

/// The variables of a job: the folders are that of the script, where jobs start as far as is known.
pub(super) fn variables<'a>(
    folders: &[&'static str],
    others: impl IntoIterator<Item = (&'a str, Option<String>)>,
) -> BTreeMap<String, Value> {
    let folder = |name: &&str| ((*name).to_owned(), Value::Known(".".to_owned()));
    let others = others.into_iter();
    let others =
        others.map(|(name, value)| (name.to_owned(), value.map_or(Value::Unknown, Value::Known)));
    folders.iter().map(folder).chain(others).collect()
}

/// Notes that PUs are unknown only where some are.
pub(super) fn drop_needless_notes(reading: &mut Reading) {
    if reading.ranks.iter().all(|rank| rank.pus.is_some() || !rank.bound) {
        reading.notes.retain(|note| !note.starts_with(crate::lint::PUS_UNKNOWN));
    }
}
