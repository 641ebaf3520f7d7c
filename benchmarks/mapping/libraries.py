"""How the mappers of Python packages are called. Each is imported only by the process that runs it.

A mapper takes an instance and its graph, gets ready (copies the graph into the library's own form), and returns what is
to be measured: a function without arguments that returns the core of each vertex.
"""

import ctypes
import dataclasses
import math
import pathlib
import tempfile

import numpy

from machine import Machine


def metis(instance, graph):
    """From the root of the machine down, each part divided by METIS on its own."""
    import pymetis

    def divide(part, count, most):
        imbalance = most * count / part.count - 1
        options = pymetis.Options(seed=instance.seed, ufactor=max(1, int(1000 * imbalance)))
        # METIS's k-way method is better above eight parts, but not where parts must be exactly equal.
        _, found = pymetis.part_graph(count, xadj=part.offsets, adjncy=part.neighbours, eweights=part.weights,
                                      recursive=count <= 8 or not instance.imbalance, options=options)
        # METIS only aims at balance.
        return Machine([count], [1]).repair(part, numpy.asarray(found, numpy.int64), most)[0]

    return lambda: multisection(instance, graph, divide)


def multisection(instance, graph, divide):
    machine = instance.machine
    core_of = numpy.zeros(graph.count, numpy.int64)
    most = machine.limit(graph.count, instance.imbalance)

    def descend(part, vertices, level, first):
        count = machine.sizes[level]
        below = machine.cores_below(level)
        if level == 0 and part.count == count:
            core_of[vertices] = first + numpy.arange(count)  # equally far from each other
            return
        # What is left of the imbalance is spread over the levels to come.
        share = (most * count * below / part.count) ** (1 / (level + 1))
        most_of_part = min(int(math.ceil(part.count / count) * share + 1e-9), most * below)
        found = divide(part, count, most_of_part)
        if level == 0:
            core_of[vertices] = first + found
            return
        for number, (inner, own) in enumerate(part.divided(found, count)):
            descend(inner, vertices[own], level - 1, first + number * below)

    descend(graph, numpy.arange(graph.count), len(machine.sizes) - 1, 0)
    return core_of


def scotch(instance, graph):
    """Static mapping onto `tleaf`; the costs of its links are the differences of the distances."""
    from pyscotch.arch import Architecture
    from pyscotch.graph import Graph as ScotchGraph
    from pyscotch.strategy import Strategy
    from pyscotch import random_seed

    machine = instance.machine
    links = numpy.diff([0, *machine.distances])[::-1].copy()
    target = Architecture()
    target.tree_leaf(len(machine.sizes), numpy.array(machine.sizes[::-1]), links)
    source = ScotchGraph()
    source.build(graph.offsets, graph.neighbours, None, graph.weights)
    random_seed(instance.seed)
    return lambda: source.map(target, Strategy())


def sharedmap(mode):
    def ready(instance, graph):
        from chszlablib import Decomposition
        from chszlablib import Graph as SharedGraph

        shared = SharedGraph.from_csr(graph.offsets, graph.neighbours, edge_weights=graph.weights)
        machine = instance.machine
        return lambda: Decomposition.process_map(shared, machine.sizes, machine.distances, mode=mode,
                                                 imbalance=instance.imbalance, seed=instance.seed).assignment
    return ready


def kahip(mode):
    """Integrated process mapping; the package exports it as a C symbol only."""
    def ready(instance, graph):
        import kahip.kahip

        library = ctypes.CDLL(kahip.kahip.__file__)
        machine = instance.machine
        vertices = numpy.ones(graph.count, numpy.int32)
        sizes, distances = (numpy.array(values, numpy.int32) for values in (machine.sizes, machine.distances))
        found = numpy.zeros(graph.count, numpy.int32)
        cut, cost = ctypes.c_int(0), ctypes.c_int(0)

        def address(array):
            return array.ctypes.data_as(ctypes.POINTER(ctypes.c_int))

        def run():
            multisection_mapping = 0
            library.process_mapping(
                ctypes.byref(ctypes.c_int(graph.count)), address(vertices), address(graph.offsets),
                address(graph.weights), address(graph.neighbours), address(sizes), address(distances),
                ctypes.c_int(len(sizes)), ctypes.c_int(mode), ctypes.c_int(multisection_mapping),
                ctypes.byref(ctypes.c_double(instance.imbalance)), ctypes.c_bool(True), ctypes.c_int(instance.seed),
                ctypes.byref(cut), ctypes.byref(cost), address(found))
            return found
        return run
    return ready


def kaminpar(instance, graph):
    """As many blocks as cores; the graph of the blocks is then placed by METIS multisection."""
    import kaminpar as library

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.metis"
        graph.write_metis(path)
        loaded = library.load_graph(str(path), library.GraphFileFormat.METIS)
    library.reseed(instance.seed)
    solver = library.KaMinPar(1, library.default_context())

    def run():
        cores = instance.machine.cores
        block_of = numpy.array(solver.compute_partition(loaded, cores, instance.imbalance), numpy.int64)
        return place_blocks(instance, graph.quotient(block_of, cores))[block_of]
    return run


def place_blocks(instance, blocks):
    return metis(dataclasses.replace(instance, kind="one-to-one", count=blocks.count), blocks)()


def mtkahypar(instance, graph):
    """Steiner trees on the complete graph of the cores; that of two cores is the distance."""
    import mtkahypar as library

    machine = instance.machine
    library.set_seed(instance.seed)
    solver = library.initialize(1, False)
    context = solver.context_from_preset(library.PresetType.QUALITY)
    context.logging = False
    context.set_mapping_parameters(machine.cores, instance.imbalance)
    one, other, weights = (array.tolist() for array in graph.edges())
    source = solver.create_graph(context, graph.count, len(one), list(zip(one, other)), [1] * graph.count, weights)
    low, high = numpy.triu_indices(machine.cores, 1)
    target = solver.create_target_graph(context, machine.cores, len(low), list(zip(low.tolist(), high.tolist())),
                                        machine.distance(low, high).tolist())
    return lambda: source.map_onto_graph(target, context).get_partition()


LIBRARIES = {
    "metis": metis,
    "scotch": scotch,
    "sharedmap-fast": sharedmap("fast"),
    "sharedmap-eco": sharedmap("eco"),
    "sharedmap-strong": sharedmap("strong"),
    "kahip-fast": kahip(0),
    "kahip-eco": kahip(1),
    "kaminpar": kaminpar,
    "mtkahypar": mtkahypar,
}


def suits(tool, instance):
    """What a tool cannot do, or not usefully."""
    if tool == "mtkahypar":
        return instance.machine.cores <= 64
    if tool.startswith(("kaminpar", "kahip")):  # KaHIP's one-to-one mappings are none
        return instance.kind == "many-to-one"
    return True
