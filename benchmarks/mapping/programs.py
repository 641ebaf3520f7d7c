"""How mappers that are programs are run: rankwright, and VieM where the user has it."""

import dataclasses
import pathlib
import subprocess

import numpy

import measure

# Strategy, its options on the command line, and where its time comes from: seconds, or so many times what another tool
# needed on the same instance. A time takes the place of an effort.
RANKWRIGHT = {
    "blocked": ("blocked", [], None),
    "treematch": ("treematch", [], None),
    "kway": ("kway", [], None),
    "drb": ("drb", [], None),
    "fast": ("multisection", ["--effort", "fast"], None),
    "normal": ("multisection", ["--effort", "normal"], None),
    "best": ("multisection", ["--effort", "best"], None),
    "best-as-sharedmap-eco": ("multisection", [], (1, "sharedmap-eco")),
    "best-2-metis": ("multisection", [], (2, "metis")),
    "best-10-metis": ("multisection", [], (10, "metis")),
    "best-10s": ("multisection", [], (10, None)),
}
VIEM = {"viem-fast": "fast", "viem-eco": "eco"}


@dataclasses.dataclass
class Programs:
    rankwright: pathlib.Path
    viem: pathlib.Path | None

    def tools(self):
        """Those that can run here."""
        known = self.strategies()
        ours = [tool for tool, (strategy, _, _) in RANKWRIGHT.items() if strategy in known]
        return ours + (list(VIEM) if self.viem else [])

    def strategies(self):
        said = subprocess.run([self.rankwright, "map", "--help"], capture_output=True, text=True, timeout=60,
                              check=True).stdout
        words = (line.split() for line in said.partition("Strategies, ")[2].splitlines())
        return {line[0] for line in words if line}

    def run(self, tool, instance, folder, limit_s, seconds_of):
        """`folder` has the graph as graph.metis; `seconds_of` says what another tool needed, or None."""
        answer = pathlib.Path(folder) / "answer"
        answer.unlink(missing_ok=True)
        if tool in VIEM:
            # Its matrix of distances has n^2 entries: above, the distances are computed each time.
            construction = "hierarchy" if instance.count <= 4096 else "hierarchyonline"
            command = [self.viem, "graph.metis", f"--preconfiguration_mapping={VIEM[tool]}", f"--seed={instance.seed}",
                       f"--hierarchy_parameter_string={instance.hierarchy}",
                       f"--distance_parameter_string={instance.distances}",
                       f"--distance_construction_algorithm={construction}", "--output_filename=answer"]
        else:
            command = self.rankwright_command(tool, instance, seconds_of)
            if command is None:
                return measure.Outcome("failed", said="the tool whose time it takes has not run")
        outcome = measure.execute(list(map(str, command)), limit_s, folder)
        if outcome.status == "ok":
            outcome.answer = numpy.loadtxt(answer, numpy.int64, ndmin=1)
        return outcome

    def rankwright_command(self, tool, instance, seconds_of):
        strategy, options, budget = RANKWRIGHT[tool]
        command = [self.rankwright, "map", "--graph", "graph.metis", "--hierarchy", instance.hierarchy, "--distances",
                   instance.distances, "--strategy", strategy, *options, "--threads", 1, "--format", "list",
                   "-o", "answer"]
        if strategy not in ("blocked", "treematch"):
            command += ["--seed", instance.seed]
        if instance.imbalance:
            command += ["--imbalance", instance.imbalance]
        if budget:
            times, other = budget
            seconds = 1 if other is None else seconds_of(other)
            if seconds is None:
                return None
            command += ["--time", f"{times * seconds:.3f}s"]
        return command


def suits(tool, instance):
    if tool in VIEM or tool in ("best-as-sharedmap-eco", "treematch"):
        return instance.kind == "one-to-one"
    if tool in ("best-2-metis", "best-10-metis"):
        return instance.kind == "many-to-one"
    return True
