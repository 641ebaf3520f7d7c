//! The launchers on PATH.

use std::path::{Path, PathBuf};
use std::thread;

use rankwright::launch::MPI_LAUNCHERS;

use super::Mpi;
use crate::host::find_program;

/// The launchers on PATH.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    pub(crate) launchers: Vec<Mpi>,
    /// A description of each program that was asked.
    pub(super) seen: Vec<String>,
    /// The programs with the name of a launcher that are none of a known MPI, and what they print.
    pub(crate) others: Vec<(PathBuf, String)>,
}

impl Installed {
    /// Asks the launchers what they are, the one with the name `first` before all others; only the first
    /// one if it is `enough`.
    pub(crate) fn until(first: &str, enough: &dyn Fn(&Mpi) -> bool) -> Self {
        let others = MPI_LAUNCHERS.into_iter().filter(|name| *name != first);
        let names = std::iter::once(first).chain(others);
        let mut programs = names.filter_map(|name| find_program(Path::new(name)));
        let mut installed = Self::default();
        let Some(first) = programs.next() else { return installed };
        installed.add(&first, Mpi::ask(first.clone()));
        if installed.launchers.iter().any(enough) {
            return installed;
        }
        // Most of a launcher's answer is the loading of its libraries.
        let others: Vec<PathBuf> = programs.collect();
        let answers = thread::scope(|scope| {
            let ask = |program: &PathBuf| {
                let program = program.clone();
                scope.spawn(|| Mpi::ask(program))
            };
            let asked: Vec<_> = others.iter().map(ask).collect();
            asked.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        for (program, answer) in others.iter().zip(answers) {
            installed.add(program, answer.unwrap_or_else(|_| Err("nothing".to_owned())));
        }
        installed
    }

    fn add(&mut self, program: &Path, answer: Result<Mpi, String>) {
        let name = program.display();
        match answer {
            Ok(mpi) => {
                let (major, minor) = mpi.version;
                self.seen.push(format!("{name} ({} {major}.{minor})", mpi.family));
                self.launchers.push(mpi);
            }
            Err(said) => {
                self.seen.push(format!("{name} (prints {said})"));
                self.others.push((program.to_owned(), said));
            }
        }
    }
}
