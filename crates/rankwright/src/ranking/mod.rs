//! Ranks mappings by their scores.
//!
//! An evaluation gives each mapping a [`Score`]: by bytes alone, by the fluid, or by simulation.
//! [`rank`] is the only function that says which score is best, and by [`TOLERANCE`] scores count as
//! equal. Searches minimise the `SmoothObjective`.
//!
//! | file | what it has |
//! |---|---|
//! | `score` | the numbers that mappings are ranked by |
//! | `objective` | the formulas of waiting, finish and balanced |
//! | `rule` | the order of mappings: by objective, by bytes, by run time, by node-hours |
//! | `smooth` | the objective as a smooth function for local search |
//!
//! ```
//! use rankwright::ranking::{Rule, Score, rank};
//! use rankwright::units::Seconds;
//!
//! let busiest_nic = |seconds| Score { busiest_nic: Some(Seconds(seconds)), ..Score::default() };
//! let ranking = rank(&[busiest_nic(0.3), busiest_nic(0.2)], &Rule::Static);
//! assert_eq!(ranking.order(), [1, 0]);
//! assert_eq!(ranking.best(), 1);
//! ```

mod objective;
mod rule;
mod score;
mod smooth;
#[cfg(test)]
mod tests;

pub(crate) use objective::CLOSED_LOOP_FINISH;
pub use objective::{OBJECTIVES, Objective, ObjectiveRule};
pub use rule::Rule;
pub use score::{Score, Waiting};

// For searches; may change in any version.
#[doc(hidden)]
pub use smooth::SmoothObjective;

/// Two numbers count as equal if they differ by at most this share of the smaller: 2 %. No evaluation
/// predicts a real machine more accurately.
pub const TOLERANCE: f64 = 0.02;

/// Whether a number counts as equal to the least, by [`TOLERANCE`].
#[must_use]
pub fn counts_as_equal(number: f64, least: f64) -> bool {
    number <= least * (1.0 + TOLERANCE)
}

/// The ranking of several mappings: the best, and which count as equal to it. Mappings are indices in
/// the list that was ranked.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The mappings that were compared, the best first.
    order: Vec<usize>,
    /// By mapping: the ratio to the best, at least 1; infinite if it was not compared.
    losses: Vec<f64>,
    /// The mappings that count as equal to the best, and the best.
    equal: Vec<usize>,
    excluded: Vec<usize>,
    on_more_nodes: Vec<usize>,
    launcher_default: Option<usize>,
    matters: bool,
}

/// Ranks mappings by their scores.
///
/// Mappings that are [excluded](Score::excluded) are left out unless all are; with [`Rule::Static`]
/// also those on more nodes than others; [references](Score::reference) always. The [`Rule`] orders
/// the rest. The launcher's default wins if it counts as equal to the best.
///
/// # Panics
/// If there is no score other than references.
#[must_use]
pub fn rank(scores: &[Score], rule: &Rule) -> Ranking {
    assert!(!scores.is_empty(), "a mapping to rank");
    let eligible = (0..scores.len()).filter(|at| !scores[*at].reference);
    let (mut compared, mut excluded): (Vec<usize>, Vec<usize>) =
        eligible.partition(|at| !scores[*at].excluded);
    if compared.is_empty() {
        compared = std::mem::take(&mut excluded);
    }
    let is_default = |at: &usize| scores[*at].launcher_default;
    let default_was_tried = compared.iter().any(is_default);
    let on_more_nodes = match rule {
        Rule::Static => rule::on_more_nodes(scores, &mut compared),
        _ => Vec::new(),
    };
    let (order, losses, equal) = rule.order(scores, &compared);
    let (best, launcher_default) = (order[0], compared.iter().copied().find(is_default));
    let all_equal = equal.len() == compared.len();
    let matters = match (rule, launcher_default) {
        (Rule::Static, default) => {
            !all_equal || compared.len() == 1 || (default.is_none() && default_was_tried)
        }
        (_, Some(default)) if default != best || losses[best] > 1.0 => !equal.contains(&default),
        _ => compared.len() == 1 || !all_equal,
    };
    let matters = matters || excluded.iter().any(is_default);
    Ranking { order, losses, equal, excluded, on_more_nodes, launcher_default, matters }
}

impl Ranking {
    /// The best mapping.
    #[must_use]
    pub fn best(&self) -> usize {
        self.order[0]
    }

    /// The mappings that were compared, the best first.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The ratio of a mapping to the best: 1 for the best, infinite if it was not compared.
    #[must_use]
    pub fn loss(&self, position: usize) -> f64 {
        self.losses[position]
    }

    /// The `count` mappings with the least losses, the first of equals; in ascending order.
    #[must_use]
    pub fn survivors(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.losses.len()).collect();
        order.sort_by(|a, b| self.losses[*a].total_cmp(&self.losses[*b]));
        order.truncate(count);
        order.sort_unstable();
        order
    }

    /// Whether a mapping is the best or counts as equal to it.
    #[must_use]
    pub fn is_equal_to_best(&self, position: usize) -> bool {
        self.equal.contains(&position)
    }

    /// Whether all mappings that were compared count as equal.
    #[must_use]
    pub fn all_equal(&self) -> bool {
        self.equal.len() == self.order.len()
    }

    /// The mappings that were left out because they are [excluded](Score::excluded).
    #[must_use]
    pub fn excluded(&self) -> &[usize] {
        &self.excluded
    }

    /// The mappings that were left out because they occupy more nodes than others: only a comparison
    /// by times could justify these.
    #[must_use]
    pub fn on_more_nodes(&self) -> &[usize] {
        &self.on_more_nodes
    }

    /// The launcher's default, if it was compared.
    #[must_use]
    pub fn launcher_default(&self) -> Option<usize> {
        self.launcher_default
    }

    /// The ranking where nothing is gained by any mapping: the launcher's default is best, if it was
    /// compared.
    #[must_use]
    pub(crate) fn with_default_best(mut self) -> Self {
        let default = self
            .launcher_default
            .and_then(|default| self.order.iter().position(|at| *at == default));
        if let Some(default) = default {
            self.order[..=default].rotate_right(1);
            self.matters = false;
        }
        self
    }

    /// Whether the choice makes a difference: not if the launcher's default counts as equal to the
    /// best, or, if that was not tried, all mappings do.
    #[must_use]
    pub fn matters(&self) -> bool {
        self.matters
    }
}
