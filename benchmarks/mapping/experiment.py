"""Measures what is missing: every tool on every instance that suits it."""

import pathlib
import sys
import tempfile

import numpy

import libraries
import measure
import programs
from results import Result, Results

OURS = [tool for tool in programs.RANKWRIGHT if tool not in ("blocked", "treematch")]
# `blocked` only shows what reading a graph and writing an answer take.
PEERS = [*libraries.LIBRARIES, *programs.VIEM, "treematch"]

GROUPS = {"peers": PEERS, "ours": [*OURS, "blocked"]}


def named(tools):
    return [tool for name in tools.split(",") for tool in GROUPS.get(name, [name])]


def run(options, instances):
    available = programs.Programs(options.rankwright.resolve(), options.viem and options.viem.resolve())
    # Those that take the time of others run after them.
    tools = [*libraries.LIBRARIES, *available.tools()]
    if options.tools:
        wanted = named(options.tools)
        missing = set(options.tools.split(",")) - set(tools) - set(GROUPS)
        if missing:
            sys.exit(f"{', '.join(sorted(missing))}: cannot run here; known are {', '.join(tools)}")
        tools = [tool for tool in tools if tool in wanted]
    ours, peers = Results(options.results), Results(options.peers)
    for number, instance in enumerate(instances, 1):
        suiting = [tool for tool in tools if libraries.suits(tool, instance) and programs.suits(tool, instance)]

        def kept(tool):
            return (peers if tool in PEERS else ours).get(instance, tool)

        if all(kept(tool) and not options.again for tool in suiting):
            continue
        print(f"{number}/{len(instances)} {instance.name}", file=sys.stderr, flush=True)
        graph = instance.graph()
        digest = graph.digest()
        with tempfile.TemporaryDirectory() as folder:
            graph.write_metis(pathlib.Path(folder) / "graph.metis")
            for tool in suiting:
                if kept(tool) and kept(tool).graph == digest and not options.again:
                    continue

                def seconds_of(other):
                    found = peers.get(instance, other)
                    return found.cpu_s if found and found.valid else None

                if tool in libraries.LIBRARIES:
                    outcome = measure.call(libraries.LIBRARIES[tool], instance, graph, options.limit)
                else:
                    outcome = available.run(tool, instance, folder, options.limit, seconds_of)
                result = judge(instance, graph, digest, tool, outcome)
                (peers if tool in PEERS else ours).add(result)
                print(f"    {tool}: {describe(result)}", file=sys.stderr, flush=True)
                if result.status == "failed":
                    print(outcome.said, file=sys.stderr, flush=True)


def judge(instance, graph, digest, tool, outcome):
    """Validity and J, the same way for all."""
    status, moved, cost = outcome.status, 0, 0
    if status == "ok":
        machine, core_of = instance.machine, numpy.asarray(outcome.answer, numpy.int64)
        if machine.has_cores(core_of, graph.count):
            limit = machine.limit(graph.count, instance.imbalance)
            core_of, moved = machine.repair(graph, core_of, limit)
            status = "repaired" if moved else "ok"
            cost = machine.cost(graph, core_of)
        else:
            status = "failed"
    return Result(instance.kind, instance.family, instance.count, graph.edge_count, instance.hierarchy,
                  instance.distances, instance.seed, digest, tool, status, moved, cost, outcome.cpu_s,
                  outcome.memory_mib)


def describe(result):
    if not result.valid:
        return result.status
    moved = f", {result.moved} vertices moved to be valid" if result.moved else ""
    return f"J = {result.cost}, {result.cpu_s:.3g} s, {result.memory_mib:.1f} MiB{moved}"
