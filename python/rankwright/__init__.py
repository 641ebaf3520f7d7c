"""Places MPI processes on cores, memories and network devices of clusters.

Profiles as frames and matrices, placements, simulations, and sweeps over many of them::

    import rankwright

    profile = rankwright.open("app.rwp")              # recorded with `rankwright profile`
    profile.comm_matrix()                             # bytes from each rank to each rank
    plan = rankwright.place(profile, "cluster.toml")
    print(plan.answer)
    plan.save("placement.json")                       # for `rankwright run`

Names of workloads and clusters are those of the command line. Times are seconds, amounts bytes; ranks count from 0.
Long work runs with the interpreter's lock released. Ctrl-C ends searches, simulations and replays; what reads a file
or pairs by a table ends first.
"""

from ._clusters import Cluster
from ._errors import Error, InfeasibleError, InputError
from ._frames import use_frames
from ._jobs import BatchJob
from ._native import VERSION as __version__
from ._pairing import Pairing, pair
from ._plans import Placement, Plan, map_, place, strategies
from ._predictions import Simulation, estimate, simulate
from ._profiles import Profile, trace
from ._profiles import open_profile as open
from ._sweeps import Sweep, sweep
from ._workloads import Workload

__all__ = [
    "BatchJob",
    "Cluster",
    "Error",
    "InfeasibleError",
    "InputError",
    "Pairing",
    "Placement",
    "Plan",
    "Profile",
    "Simulation",
    "Sweep",
    "Workload",
    "__version__",
    "estimate",
    "map_",
    "open",
    "pair",
    "place",
    "simulate",
    "strategies",
    "sweep",
    "trace",
    "use_frames",
]
