//! The jobs that may share nodes, and what is known of them.

use std::collections::BTreeSet;

use super::{PairOptions, Slowdowns};
use crate::units::Bytes;

/// What is known of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFacts {
    /// Its name.
    pub name: String,
    /// Its run time alone on whole nodes, in seconds.
    pub seconds: Option<f64>,
    /// The number of its ranks: jobs share the cores of a node in proportion to it.
    pub ranks: u32,
    /// Its run time alone on half of the cores of twice as many nodes, in percent of that on whole
    /// nodes.
    pub half: Option<f64>,
    /// The memory that each of its ranks needs.
    pub memory_per_rank: Bytes,
}

impl JobFacts {
    /// A job of which only the name is known.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), seconds: None, ranks: 1, half: None, memory_per_rank: Bytes(0) }
    }
}

/// The cores and the memory of each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeMemory {
    /// The number of its cores.
    pub cores: u32,
    /// The memory that jobs may use.
    pub memory: Bytes,
}

/// Jobs that may share nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSet {
    facts: Vec<JobFacts>,
    /// By job: its row and column in the table; copies of a job have the same.
    kinds: Vec<usize>,
    slowdowns: Slowdowns,
    /// By kind.
    half: Vec<f64>,
    /// Kinds, the smaller first.
    never: BTreeSet<(usize, usize)>,
    /// Jobs, the smaller first.
    apart: BTreeSet<(usize, usize)>,
    node: Option<NodeMemory>,
}

impl JobSet {
    /// The jobs of a table, in its order.
    ///
    /// # Panics
    /// If the table has another number of jobs.
    #[must_use]
    pub fn new(facts: Vec<JobFacts>, slowdowns: Slowdowns) -> Self {
        assert_eq!(facts.len(), slowdowns.count(), "a row of the table per job");
        let half = |(kind, job): (usize, &JobFacts)| job.half.unwrap_or(slowdowns.best_of(kind));
        let half = facts.iter().enumerate().map(half).collect();
        let kinds = (0..facts.len()).collect();
        let (never, apart) = (BTreeSet::new(), BTreeSet::new());
        Self { facts, kinds, slowdowns, half, never, apart, node: None }
    }

    /// These two must not share nodes.
    #[must_use]
    pub fn never(mut self, a: usize, b: usize) -> Self {
        let (a, b) = (self.kinds[a], self.kinds[b]);
        self.never.insert((a.min(b), a.max(b)));
        self
    }

    /// Jobs share nodes only if their memory suffices for them.
    #[must_use]
    pub fn on_nodes(mut self, node: Option<NodeMemory>) -> Self {
        self.node = node;
        self
    }

    /// These two must not share nodes; of copies of a job only these.
    #[must_use]
    pub fn apart(mut self, a: usize, b: usize) -> Self {
        self.apart.insert((a.min(b), a.max(b)));
        self
    }

    /// Each job as often as this.
    #[must_use]
    pub fn copies(self, count: usize) -> Self {
        let jobs: Vec<usize> =
            (0..self.len()).flat_map(|job| std::iter::repeat_n(job, count)).collect();
        self.chosen(&jobs)
    }

    /// These jobs, each as often as it is named, in this order. What [`JobSet::apart`] said is
    /// forgotten.
    #[must_use]
    pub fn chosen(&self, jobs: &[usize]) -> Self {
        Self {
            facts: jobs.iter().map(|job| self.facts[*job].clone()).collect(),
            kinds: jobs.iter().map(|job| self.kinds[*job]).collect(),
            slowdowns: self.slowdowns.clone(),
            half: self.half.clone(),
            never: self.never.clone(),
            apart: BTreeSet::new(),
            node: self.node,
        }
    }

    /// The jobs with other numbers of ranks, one for each.
    #[must_use]
    pub fn with_ranks(mut self, ranks: &[u32]) -> Self {
        for (job, ranks) in self.facts.iter_mut().zip(ranks) {
            job.ranks = *ranks;
        }
        self
    }

    /// The jobs.
    #[must_use]
    pub fn facts(&self) -> &[JobFacts] {
        &self.facts
    }

    /// The table.
    #[must_use]
    pub fn slowdowns(&self) -> &Slowdowns {
        &self.slowdowns
    }

    /// The number of jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether there is no job.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// The run time of a job alone on half of the cores of twice as many nodes, in percent of that on
    /// whole nodes; if it was not given, its best in the table.
    #[must_use]
    pub fn half(&self, job: usize) -> f64 {
        self.half[self.kinds[job]]
    }

    /// The run time of `measured` beside `background` alone, each on half of the cores, in percent of
    /// that on whole nodes.
    #[must_use]
    pub fn percent(&self, background: usize, measured: usize) -> f64 {
        self.slowdowns.percent(self.kinds[background], self.kinds[measured])
    }

    /// The share of the cores of each node that a job of a group has.
    #[must_use]
    pub fn share_in(&self, job: usize, group: &[usize]) -> f64 {
        let ranks = |job: usize| f64::from(self.facts[job].ranks);
        ranks(job) / group.iter().map(|other| ranks(*other)).sum::<f64>()
    }

    /// The run time of a job that shares nodes with the others of a group, in percent of that alone on
    /// whole nodes.
    ///
    /// Of two jobs with equal shares it is the number of the table. Otherwise to first order: the time
    /// in communication is in proportion to the ranks of the job on a node, and grows by what each of
    /// the others takes of the network, which is in proportion to its ranks there. With shares *s*:
    /// 100 - 2 (100 - half) (1 - s) + sum over others of 4 s s' (T\[other\] - half).
    #[must_use]
    pub fn percent_in(&self, job: usize, group: &[usize]) -> f64 {
        let others = || group.iter().copied().filter(|other| *other != job);
        match group {
            [_] => return 100.0,
            [a, b] if self.facts[*a].ranks == self.facts[*b].ranks => {
                return self.percent(a ^ b ^ job, job);
            }
            _ => {}
        }
        let (half, share) = (self.half(job), self.share_in(job, group));
        let added = |other: usize| {
            4.0 * share * self.share_in(other, group) * (self.percent(other, job) - half)
        };
        let alone = 100.0 - 2.0 * (100.0 - half) * (1.0 - share);
        // The line does not hold for ever: nothing runs in no time.
        (alone + others().map(added).sum::<f64>()).max(half.min(100.0) / 2.0)
    }

    /// Whether jobs may share nodes, and fit there.
    #[must_use]
    pub fn may_share(&self, group: &[usize]) -> bool {
        let kind = |job: &usize| self.kinds[*job];
        let parted = |a: &usize, b: &usize| {
            self.apart.contains(&(*a.min(b), *a.max(b)))
                || self.never.contains(&(kind(a).min(kind(b)), kind(a).max(kind(b))))
        };
        let agree = (1..group.len()).all(|at| group[..at].iter().all(|a| !parted(a, &group[at])));
        agree && self.fits(group)
    }

    fn fits(&self, group: &[usize]) -> bool {
        let Some(NodeMemory { cores, memory }) = self.node else { return true };
        let needed = |job: &usize| {
            let ranks = self.share_in(*job, group) * f64::from(cores);
            ranks * self.facts[*job].memory_per_rank.0 as f64
        };
        group.len() == 1 || group.iter().map(needed).sum::<f64>() <= memory.0 as f64
    }

    /// What a group adds to the objective.
    pub(super) fn cost(&self, options: &PairOptions, group: &[usize]) -> f64 {
        options.objective.of_group(self, group, options.per_node.get())
    }
}
