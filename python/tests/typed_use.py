"""A use of the interface as a user's type checker sees it; it is checked, not run."""

import os
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
    rankwright.place(["a.rwp", "b.rwp"], "c.toml", share="shared:2", time="10s", nodes="n[0-3]")
    rankwright.place(profile, "c.toml", programs=["-n", "2", "./a", ":", "./b"], own_nodes=True, time=2.5)
    job: rankwright.BatchJob | None = rankwright.BatchJob.around(os.environ)
    rankwright.place(profile, "c.toml", job=job, balance=0.1, keep_node_groups=True, loop="open")
    granted: rankwright.Cluster = rankwright.Cluster("c.toml").granted(rankwright.BatchJob({"A": "b"}), cpu="core")
    rankwright.place(profile, granted, keep_node_groups="block")
    pairing = rankwright.pair([profile], "c.toml", copies=2, memory_traffic={"app": 2e9, "b": path})
    assert pairing.notes and profile.to_networkx() and profile.to_xarray("count", collectives="ring")
    simulation = rankwright.simulate(profile, plan.cluster, plan, replications=3)
    with ProcessPoolExecutor() as executor:
        sweep = rankwright.sweep({"workload": [profile], "cluster": ["paper:2013"]}, executor=executor)
    first: rankwright.Plan = sweep[0]
    gain: float | None = first.gain
    return simulation.finish + float(amounts.sum() / edges[-1]) + (gain or 0.0)
