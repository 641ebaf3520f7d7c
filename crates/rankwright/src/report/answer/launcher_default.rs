//! The launcher's default among the strategies of a plan, with which the best placement is compared.

use super::Answer;
use crate::choose::{PermutationEffects, Plan, Planner};
use crate::cluster::Cluster;
use crate::launch::Launcher;
use crate::map::{Strategy, StrategyError, StrategyId};
use crate::placement::{Granularity, PlacementError};
use crate::report::{Comparison, PermutationReport};
use crate::traffic::Workload;

/// The launcher's default among the strategies of a plan.
#[derive(Debug)]
pub struct LauncherDefault {
    launcher: &'static Launcher,
    strategy: StrategyId,
    /// Whether it is for comparison only and cannot win.
    reference: bool,
}

impl LauncherDefault {
    /// Adds the strategy `default`, which places as `launcher` does by default
    /// ([`Launcher::default_strategy`]), if it is not among the strategies. Beside strategies that the user `named` it is for comparison only.
    ///
    /// # Errors
    /// If the launcher's default is not a strategy.
    pub fn add(
        strategies: &mut Vec<Strategy>,
        launcher: &'static Launcher,
        default: &str,
        named: bool,
    ) -> Result<Self, StrategyError> {
        let default = default.parse::<Strategy>()?;
        let strategy = default.id().clone();
        let is_new = strategies.iter().all(|other| *other.id() != strategy);
        strategies.extend(is_new.then_some(default));
        Ok(Self { launcher, strategy, reference: is_new && named })
    }

    /// It as a strategy.
    #[must_use]
    pub fn strategy(&self) -> &StrategyId {
        &self.strategy
    }

    /// The planner that compares with it.
    #[must_use]
    pub fn planner<'a>(&'a self, planner: Planner<'a>) -> Planner<'a> {
        planner.launcher_default(&self.strategy, self.reference)
    }

    /// The comparison of the candidates of a plan by such a planner, with the answer.
    ///
    /// # Errors
    /// If the side effects of the best placement cannot be told.
    pub fn comparison(
        &self,
        plan: &Plan,
        cluster: &Cluster,
        workload: &Workload,
        granularity: &Granularity,
    ) -> Result<Comparison, PlacementError> {
        let mut comparison = Comparison::of_plan(cluster, plan);
        let placement = &plan.best().placement;
        let effects = PermutationEffects::new(cluster, workload, granularity.clone(), placement)?;
        let effects = PermutationReport::new(&effects);
        comparison.answer =
            Some(Answer::new(cluster, workload, plan, self.launcher, Some(&effects)));
        comparison.permutation = Some(effects);
        Ok(comparison)
    }
}
