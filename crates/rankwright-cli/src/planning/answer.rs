//! What the best placement gains against the launcher's default: the answer of `place`, and of `run`
//! before it starts a job.

use rankwright::choose::{PermutationEffects, Plan, Planner};
use rankwright::cluster::Cluster;
use rankwright::launch::Launcher;
use rankwright::map::{Strategy, StrategyId};
use rankwright::placement::Granularity;
use rankwright::report::{Answer, Comparison, PermutationReport};
use rankwright::traffic::Workload;

use super::plan;

/// The launcher's default among the strategies of a plan.
#[derive(Debug)]
pub(crate) struct LauncherDefault {
    launcher: &'static Launcher,
    strategy: StrategyId,
    /// Whether it is for comparison only and cannot win.
    reference: bool,
}

impl LauncherDefault {
    /// Adds the strategy that places as `launcher` does by default, if it is not among the strategies.
    /// Beside strategies that the user `named` it is for comparison only.
    pub(crate) fn add(
        strategies: &mut Vec<Strategy>,
        launcher: &'static Launcher,
        ranks: usize,
        named: bool,
    ) -> anyhow::Result<Self> {
        let default = launcher.default_strategy(ranks).parse::<Strategy>()?;
        let strategy = default.id().clone();
        let is_new = strategies.iter().all(|other| *other.id() != strategy);
        strategies.extend(is_new.then_some(default));
        Ok(Self { launcher, strategy, reference: is_new && named })
    }

    /// The planner that compares with it.
    pub(crate) fn planner<'a>(&'a self, planner: Planner<'a>) -> Planner<'a> {
        planner.launcher_default(&self.strategy, self.reference)
    }

    /// The comparison of the candidates of a plan by such a planner, with the answer.
    ///
    /// # Errors
    /// If the side effects of the best placement cannot be told.
    pub(crate) fn comparison(
        &self,
        plan: &Plan,
        cluster: &Cluster,
        workload: &Workload,
        granularity: &Granularity,
    ) -> anyhow::Result<Comparison> {
        let mut comparison = plan::comparison(plan, cluster);
        let placement = &plan.best().placement;
        let effects = PermutationEffects::new(cluster, workload, granularity.clone(), placement)?;
        let effects = PermutationReport::new(&effects);
        comparison.answer =
            Some(Answer::new(cluster, workload, plan, self.launcher, Some(&effects)));
        comparison.permutation = Some(effects);
        Ok(comparison)
    }
}
