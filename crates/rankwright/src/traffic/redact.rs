//! Redaction: profiles without names that identify the user, for sharing.

use std::collections::HashMap;

use super::profile::Profile;

/// Replaces the names of hosts, program and communicators, and paths among the settings of the MPI library;
/// everything else stays.
///
/// Hosts become `host-1`, `host-2`, ... in rank order, communicators `communicator-1`, ... in list
/// order; equal names stay equal. Names predefined by MPI (`MPI_COMM_WORLD`) and empty names stay.
pub fn redact(profile: &mut Profile) {
    "job".clone_into(&mut profile.run.program);
    let mut hosts = Neutral::new("host");
    for rank in &mut profile.ranks {
        hosts.replace(&mut rank.host);
    }
    for value in profile.library_settings.values_mut().filter(|value| value.contains('/')) {
        "path".clone_into(value);
    }
    let mut communicators = Neutral::new("communicator");
    for communicator in &mut profile.communicators {
        if !["MPI_COMM_WORLD", "MPI_COMM_SELF"].contains(&communicator.name.as_str()) {
            communicators.replace(&mut communicator.name);
        }
    }
}

/// Replaces names of one kind by numbered ones; equal names get equal numbers.
struct Neutral {
    kind: &'static str,
    numbers: HashMap<String, usize>,
}

impl Neutral {
    fn new(kind: &'static str) -> Self {
        Self { kind, numbers: HashMap::new() }
    }

    fn replace(&mut self, name: &mut String) {
        if name.is_empty() {
            return;
        }
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(std::mem::take(name)).or_insert(next);
        *name = format!("{}-{number}", self.kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::communicator::Communicator;
    use crate::traffic::profile::{RankRecord, Run};

    #[test]
    fn names_go_and_everything_else_stays() {
        let rank = |host: &str| RankRecord {
            host: host.to_owned(),
            start_unix_ns: 7,
            outside_bytes: 5,
            ..RankRecord::default()
        };
        let communicator = |name: &str| Communicator {
            name: name.to_owned(),
            created: 2,
            ..Communicator::default()
        };
        let profile = |program: &str, hosts: [&str; 4], names: [&str; 5], rules: &str| Profile {
            run: Run { program: program.to_owned(), mpi_library: "MPI".into(), ..Run::default() },
            ranks: hosts.map(rank).into(),
            communicators: names.map(communicator).into(),
            library_settings: [("rules".to_owned(), rules.to_owned())].into(),
            ..Profile::default()
        };
        let names = ["MPI_COMM_WORLD", "secret", "", "rows", "secret"];
        let mut redacted = profile("app", ["b7", "a", "", "b7"], names, "/home/me/rules");
        redact(&mut redacted);
        let names = ["MPI_COMM_WORLD", "communicator-1", "", "communicator-2", "communicator-1"];
        assert_eq!(redacted, profile("job", ["host-1", "host-2", "", "host-1"], names, "path"));
    }
}
