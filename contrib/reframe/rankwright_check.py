"""A ReFrame check: every rank of a placement runs where the placement says.

    reframe -c contrib/reframe/rankwright_check.py -r [-S RanksGetTheirPlaces.ranks=N]

Needs rankwright and an MPI launcher on PATH of the nodes. `rankwright check` starts one small process in
place of each rank, so no program is built.
"""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher


@rfm.simple_test
class RanksGetTheirPlaces(rfm.RunOnlyRegressionTest):
    descr = "rankwright: every rank gets its place on this node"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "rankwright"
    executable_opts = ["check", "placement.json", "--format", "csv"]
    ranks = variable(int, value=2)

    @run_after("init")
    def ask_for_a_core_per_rank(self):
        self.num_tasks = self.ranks
        self.num_tasks_per_node = self.ranks

    @run_before("run")
    def place(self):
        # `rankwright check` starts the launcher: that of the partition would start it once per rank.
        self.job.launcher = getlauncher("local")()
        self.prerun_cmds = [
            "rankwright doctor -q || true",
            "rankwright cluster discover -q -o cluster.toml",
            f"rankwright place pattern:ring:{self.ranks} --on cluster.toml -q -o placement.json",
        ]

    @sanity_function
    def every_rank_is_there(self):
        return sn.all([sn.assert_eq(self.job.exitcode, 0), sn.assert_found(r"^rank,host_wanted,", self.stdout)])
