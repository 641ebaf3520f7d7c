"""A use of the interface as a user's type checker sees it; it is checked, not run."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import rankwright


def uses(path: Path) -> float:
    profile: rankwright.Profile = rankwright.open(path)
    amounts, edges = profile.comm_over_time(bins=10)
    plan = rankwright.place(profile, "cluster.toml", strategies=["kway", "blocked"], seed=3)
    also: rankwright.Plan = rankwright.map_(np.ones((4, 4)), rankwright.Cluster("paper:2013"), "cyclic")
    also.save(path)
    simulation = rankwright.simulate(profile, plan.cluster, plan, replications=3)
    with ProcessPoolExecutor() as executor:
        sweep = rankwright.sweep({"workload": [profile], "cluster": ["paper:2013"]}, executor=executor)
    first: rankwright.Plan = sweep[0]
    gain: float | None = first.gain
    return simulation.finish + float(amounts.sum() / edges[-1]) + (gain or 0.0)
