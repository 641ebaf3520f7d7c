//! What the ranks of a job get at their start besides PUs: a memory policy and environment variables.

use std::fmt;

/// How a rank allocates from its NUMA node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// From this NUMA node first, from others when it is full.
    #[default]
    Preferred,
    /// From this NUMA node only: a rank that needs more is killed.
    Bind,
    /// As the system does by default.
    Unset,
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Preferred => "preferred",
            Self::Bind => "bind",
            Self::Unset => "unset",
        })
    }
}

/// Environment variables of a rank: name and value, in the order in which they were set.
pub type Variables = Vec<(String, String)>;

/// What the ranks of a job get at their start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The memory policy of all ranks.
    pub memory: MemoryPolicy,
    /// By rank of the job; may be shorter than the job.
    variables: Vec<Variables>,
}

impl Settings {
    /// The default memory policy and no variables.
    pub const NOTHING: Self = Self { memory: MemoryPolicy::Preferred, variables: Vec::new() };

    /// Sets a variable of a rank of the job, replacing one of the same name.
    pub fn set(&mut self, rank: usize, name: &str, value: impl Into<String>) {
        if self.variables.len() <= rank {
            self.variables.resize(rank + 1, Variables::new());
        }
        let variables = &mut self.variables[rank];
        variables.retain(|(other, _)| other != name);
        variables.push((name.to_owned(), value.into()));
    }

    /// Leaves out a variable of a rank of the job.
    pub fn unset(&mut self, rank: usize, name: &str) {
        if let Some(variables) = self.variables.get_mut(rank) {
            variables.retain(|(other, _)| other != name);
        }
    }

    /// The variables of a rank of the job.
    #[must_use]
    pub fn variables(&self, rank: usize) -> &[(String, String)] {
        self.variables.get(rank).map_or(&[], Vec::as_slice)
    }

    /// The variables of the first `ranks` ranks, if these are equal.
    #[must_use]
    pub(crate) fn variables_of_all(&self, ranks: usize) -> Option<&[(String, String)]> {
        let first = self.variables(0);
        (1..ranks).all(|rank| self.variables(rank) == first).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_each_variable_once() {
        let mut settings = Settings::default();
        assert_eq!(settings.variables_of_all(3), Some(&[][..]));
        settings.set(1, "A", "1");
        settings.set(1, "B", "2");
        settings.set(1, "A", "3");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(settings.variables(1), [pair("B", "2"), pair("A", "3")]);
        assert_eq!((settings.variables(0), settings.variables(7)), (&[][..], &[][..]));
        assert_eq!(settings.variables_of_all(2), None);
        settings.set(0, "B", "2");
        settings.set(0, "A", "3");
        settings.set(0, "C", "4");
        settings.unset(0, "C");
        settings.unset(9, "C");
        assert_eq!(settings.variables_of_all(2), Some(settings.variables(1)));
    }
}
