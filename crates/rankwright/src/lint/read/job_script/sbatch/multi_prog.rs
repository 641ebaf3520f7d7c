//! Configuration files of `srun --multi-prog`: the program of every task, by its number.

use std::collections::BTreeMap;

use crate::files::InputError;
use crate::ids::parse_index_list;
use crate::launch::shell::split;
use crate::lint::read::wrapper;
use crate::lint::{MOST_RANKS, Place, Reading, listed, traps};

const EXPECTED: &str = "lines like `0-3,5 ./program %t %o`, or `* ./program` for all other tasks";

/// A line: its tasks in order (`None` for `*`), and the words of the program.
struct Line {
    number: usize,
    tasks: Option<Vec<u32>>,
    words: Vec<String>,
}

/// Such a file.
pub(super) struct Programs {
    lines: Vec<Line>,
    /// The file's name, if it is not the one that is linted.
    file: Option<String>,
}

/// Whether a text is such a file: a host list has no blanks.
pub(in crate::lint) fn is_one(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_line = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(|tasks| tasks == "*" || parse_index_list(tasks).is_ok())
            && words.next().is_some()
    };
    lines.next().is_some_and(is_line)
}

impl Programs {
    /// Reads the file; `beside` says that another file names it.
    pub(super) fn read(text: &str, file: &str, beside: bool) -> Result<Self, InputError> {
        let mut lines = Vec::new();
        let mut open: Option<(usize, String)> = None;
        for (number, text) in (1..).zip(text.lines()) {
            // A line that ends with a backslash goes on.
            let (number, text) = match open.take() {
                Some((first, before)) => (first, before + text),
                None => (number, text.to_owned()),
            };
            if let Some(before) = text.strip_suffix('\\') {
                open = Some((number, before.to_owned()));
                continue;
            }
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let wrong = |found: &str| InputError::new(file, found, EXPECTED).at_line(number);
            let (tasks, program) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            let tasks = match tasks {
                "*" => None,
                list => {
                    Some(parse_index_list(list).map_err(|_| wrong(&format!("tasks `{list}`")))?)
                }
            };
            let too_high = |task: &&u32| **task as usize >= MOST_RANKS;
            if let Some(task) = tasks.iter().flatten().find(too_high) {
                return Err(wrong(&format!("task {task}")));
            }
            let words = split(program).map_err(|open| wrong(&open.to_string()))?;
            if words.is_empty() {
                return Err(wrong("tasks without a program"));
            }
            lines.push(Line { number, tasks, words });
        }
        Ok(Self { lines, file: beside.then(|| file.to_owned()) })
    }

    /// The number of tasks that srun starts without `-n`.
    pub(super) fn tasks(&self) -> usize {
        let highest = self.lines.iter().flat_map(|line| line.tasks.iter().flatten()).max();
        highest.map_or(0, |task| *task as usize + 1)
    }

    /// The line of a task: the first one that names it, or else that of `*`.
    fn line(&self, task: u32) -> Option<&Line> {
        let names = |line: &&Line| line.tasks.as_ref().is_some_and(|tasks| tasks.contains(&task));
        let rest = |line: &&Line| line.tasks.is_none();
        self.lines.iter().find(names).or_else(|| self.lines.iter().find(rest))
    }

    /// The binding by the program of a task, such as `taskset -c 1 ./a`.
    pub(super) fn place(&self, task: usize) -> Option<Place> {
        wrapper::place(&self.line(u32::try_from(task).ok()?)?.words)
    }

    /// Adds the programs to the ranks, and warns of what srun refuses.
    pub(super) fn apply(&self, reading: &mut Reading) {
        let mut of_line: BTreeMap<u32, (String, usize)> = BTreeMap::new();
        for rank in &mut reading.ranks {
            let task = rank.rank.0;
            let Some(line) = self.line(task) else { continue };
            let at = line.tasks.as_ref().and_then(|tasks| tasks.iter().position(|it| *it == task));
            let offset = at.map_or(task, |at| u32::try_from(at).unwrap_or(task));
            let program = line.words.join(" ");
            let program = program.replace("%t", &task.to_string());
            of_line.insert(task, (program.replace("%o", &offset.to_string()), line.number));
        }
        for rank in &mut reading.ranks {
            if let Some((program, line)) = of_line.remove(&rank.rank.0) {
                rank.program = Some(program);
                if self.file.is_none() {
                    rank.line = line;
                }
            }
        }
        self.warn(reading);
    }

    fn warn(&self, reading: &mut Reading) {
        let count = u32::try_from(reading.ranks.len()).unwrap_or(u32::MAX);
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        let mut refusals: Vec<(Option<usize>, String)> = Vec::new();
        for line in &self.lines {
            let tasks = line.tasks.as_deref().unwrap_or_default();
            let beyond: Vec<u32> = tasks.iter().copied().filter(|task| *task >= count).collect();
            if !beyond.is_empty() {
                let text =
                    format!("{}, but only {count} are started, from 0", listed("task", &beyond));
                refusals.push((Some(line.number), text));
            }
            let twice: Vec<u32> =
                tasks.iter().copied().filter(|task| seen.contains_key(task)).collect();
            if let Some(before) = twice.first().and_then(|task| seen.get(task)) {
                let text = format!("{} on line {before} already", listed("task", &twice));
                refusals.push((Some(line.number), text));
            }
            seen.extend(tasks.iter().map(|task| (*task, line.number)));
        }
        let missing: Vec<u32> = (0..count).filter(|task| self.line(*task).is_none()).collect();
        if !missing.is_empty() {
            refusals.push((None, format!("no line for {}", listed("task", &missing))));
        }
        for (line, text) in refusals {
            match &self.file {
                None => reading.refuse(&traps::MULTI_PROG, line, text),
                Some(file) => {
                    let line = line.map_or(String::new(), |line| format!(":{line}"));
                    reading.refuse(&traps::MULTI_PROG, None, format!("{file}{line}: {text}"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The programs of four tasks, and what is refused.
    fn applied(text: &str) -> (Vec<String>, Vec<String>) {
        let programs = Programs::read(text, "conf", false).unwrap();
        let mut reading = Reading::default();
        (0..4).for_each(|rank| reading.add(rank, "n0", Place::Unknown, 0));
        programs.apply(&mut reading);
        let program = |rank: crate::lint::RankReading| rank.program.unwrap_or_default();
        let told = reading.warnings.into_iter().map(|warning| warning.text).collect();
        (reading.ranks.into_iter().map(program).collect(), told)
    }

    #[test]
    fn tasks_have_their_programs() {
        let (programs, told) = applied("# all\n0,2 ./a \\\n  %t %o\n* b '%t c'\n");
        assert_eq!(programs, ["./a 0 0", "b 1 c", "./a 2 1", "b 3 c"]);
        assert_eq!(told, [""; 0]);
        assert_eq!(Programs::read("1-6 a\n0 b", "conf", false).unwrap().tasks(), 7);
    }

    #[test]
    fn what_srun_refuses_is_told() {
        assert_eq!(applied("0 a\n2-3 b\n").1, ["no line for task 1"]);
        assert_eq!(applied("0-2 a\n2-3 b\n").1, ["task 2 on line 1 already"]);
        assert_eq!(applied("0-7 a\n").1, ["tasks 4-7, but only 4 are started, from 0"]);
        assert!(Programs::read("0:2 a\n", "conf", false).is_err());
        assert!(Programs::read("0-2\n", "conf", false).is_err());
    }

    #[test]
    fn host_lists_are_no_such_files() {
        assert!(is_one("# x\n0-3 ./a\n") && is_one("* ./a\n"));
        assert!(!is_one("n0\nn1\n") && !is_one("0,1,2\n") && !is_one("") && !is_one("#!/bin/sh\n"));
    }
}
