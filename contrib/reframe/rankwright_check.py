"""A ReFrame check: every rank of a placement runs where the placement says.

    reframe -c contrib/reframe/rankwright_check.py -r

Needs rankwright and an MPI launcher on PATH of the nodes. `rankwright check` starts one small process in
place of each rank, so no program is built.
"""

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class RanksGetTheirPlaces(rfm.RunOnlyRegressionTest):
    descr = "rankwright: every rank gets its place on this node"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    # The launcher is started by `rankwright check`.
    executable = "rankwright"
    executable_opts = ["check", "placement.json", "--format", "csv"]
    ranks = variable(int, value=2)
    num_tasks = 1

    @run_before("run")
    def place(self):
        self.job.launcher.options = []
        self.prerun_cmds = [
            "rankwright doctor -q || true",
            "rankwright cluster discover -q -o cluster.toml",
            f"rankwright place pattern:ring:{self.ranks} --on cluster.toml -q -o placement.json",
        ]

    @sanity_function
    def every_rank_is_there(self):
        return sn.all([sn.assert_eq(self.job.exitcode, 0), sn.assert_found(r"^rank,host_wanted,", self.stdout)])
