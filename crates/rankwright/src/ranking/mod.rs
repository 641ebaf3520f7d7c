//! Which of several mappings is best.
//!
//! Evaluations give a [`Score`] each: from bytes alone, from the fluid, from a simulation. [`rank`]
//! is the one function that compares scores, and [`TOLERANCE`] the one number that says which
//! differences count. Strategies that search follow the [`SmoothObjective`], which stands here too.

mod objective;
mod rule;
mod score;
mod smooth;
#[cfg(test)]
mod tests;

pub use objective::{OBJECTIVES, Objective, ObjectiveRule};
pub use rule::Rule;
pub use score::{Score, Waiting};
pub use smooth::SmoothObjective;

/// Two numbers count as equal if the larger is larger by at most this share: 2 %. No evaluation is
/// exact enough to tell more of a real machine.
pub const TOLERANCE: f64 = 0.02;

/// Whether a number counts as equal to the least: [`TOLERANCE`].
#[must_use]
pub fn counts_as_equal(number: f64, least: f64) -> bool {
    number <= least * (1.0 + TOLERANCE)
}

/// Which of several mappings is best, and which count as equal to it. Mappings are positions in the
/// list that was ranked.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    order: Vec<usize>,
    losses: Vec<f64>,
    equal: Vec<usize>,
    excluded: Vec<usize>,
    on_more_nodes: Vec<usize>,
    launcher_default: Option<usize>,
    matters: bool,
}

/// Ranks mappings by their scores.
///
/// Those that are [excluded](Score::excluded) are left out unless all are; then, by
/// [`Rule::Static`], those on more nodes than others. What is best among the rest, the [`Rule`] says.
///
/// # Panics
/// If there is no score.
#[must_use]
pub fn rank(scores: &[Score], rule: &Rule) -> Ranking {
    assert!(!scores.is_empty(), "a mapping to rank");
    let (mut compared, mut excluded): (Vec<usize>, Vec<usize>) =
        (0..scores.len()).partition(|at| !scores[*at].excluded);
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
        (_, Some(default)) if default != best => !equal.contains(&default),
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

    /// All that were compared, the best first.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// How many times worse than the best a mapping is: 1 for the best. Infinite for those that were
    /// not compared.
    #[must_use]
    pub fn loss(&self, position: usize) -> f64 {
        self.losses[position]
    }

    /// The `count` mappings with the least losses, of equal ones the first; in ascending order.
    #[must_use]
    pub fn survivors(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.losses.len()).collect();
        order.sort_by(|a, b| self.losses[*a].total_cmp(&self.losses[*b]));
        order.truncate(count);
        order.sort_unstable();
        order
    }

    /// Whether a mapping counts as equal to the best; the best does.
    #[must_use]
    pub fn is_equal_to_best(&self, position: usize) -> bool {
        self.equal.contains(&position)
    }

    /// Whether all that were compared count as equal.
    #[must_use]
    pub fn all_equal(&self) -> bool {
        self.equal.len() == self.order.len()
    }

    /// Those that were left out because they are [excluded](Score::excluded).
    #[must_use]
    pub fn excluded(&self) -> &[usize] {
        &self.excluded
    }

    /// Those that were left out because they occupy more nodes than others, which only times can
    /// justify.
    #[must_use]
    pub fn on_more_nodes(&self) -> &[usize] {
        &self.on_more_nodes
    }

    /// The launcher's default, if it is among those that were compared.
    #[must_use]
    pub fn launcher_default(&self) -> Option<usize> {
        self.launcher_default
    }

    /// Whether the choice makes a difference: it does not where the launcher's default counts as
    /// equal to the best, or, where that was not tried, all do.
    #[must_use]
    pub fn matters(&self) -> bool {
        self.matters
    }
}
