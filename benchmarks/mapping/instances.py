"""The graphs and machines that are compared: all from seeds, nothing is read."""

import dataclasses
import math

import numpy
from scipy.spatial import Delaunay, cKDTree

from graph import Graph
from machine import Machine


@dataclasses.dataclass(frozen=True)
class Instance:
    kind: str  # one-to-one, many-to-one
    family: str
    count: int
    hierarchy: str
    distances: str
    seed: int

    @property
    def machine(self):
        return Machine.parse(self.hierarchy, self.distances)

    @property
    def node(self):
        """The hierarchy inside of a node."""
        return self.hierarchy.rpartition(":")[0]

    @property
    def imbalance(self):
        return 0.0 if self.kind == "one-to-one" else 0.03

    @property
    def name(self):
        return f"{self.family} {self.count} on {self.hierarchy}, seed {self.seed}"

    def graph(self):
        """Ranks are renumbered at random: their order tells a mapper nothing."""
        number = FAMILIES.index(self.family)
        random = numpy.random.default_rng([self.seed, self.count, number])
        made = GENERATORS[self.family](self.count, random)
        return made.renumbered(random.permutation(made.count))


def sides(count, dimensions):
    """The factors of `count` that lie closest together, largest first."""
    if dimensions == 1:
        return (count,)
    fits = [side for side in range(1, count + 1) if count % side == 0 and side ** dimensions <= count]
    choices = [(*sides(count // side, dimensions - 1), side) for side in fits[-4:]]
    return min(choices, key=lambda choice: max(choice) / min(choice))


def stencil(count, dimensions, corners, weight=lambda step: 1):
    """A grid; with `corners`, also neighbours that differ in several directions."""
    shape = sides(count, dimensions)
    places = numpy.indices(shape).reshape(dimensions, -1).T
    number = numpy.arange(count).reshape(shape)
    ends, weights = [], []
    for code in range(3 ** dimensions // 2):
        step = numpy.array([code // 3 ** axis % 3 - 1 for axis in range(dimensions)])
        if not corners and abs(step).sum() != 1:
            continue
        there = places + step
        inside = ((there >= 0) & (there < shape)).all(axis=1)
        ends.append(numpy.stack([number[tuple(places[inside].T)], number[tuple(there[inside].T)]], axis=1))
        weights.append(numpy.full(len(ends[-1]), weight(step)))
    return Graph.from_edges(count, numpy.concatenate(ends), numpy.concatenate(weights))


def lu(count, _):
    """Pencils that pass on faces of two sizes."""
    return stencil(count, 2, False, lambda step: 2 + int(step[0] != 0))


def cg(count, _):
    """A reduction over the rows of a process grid by hypercube, and the transpose."""
    power = count.bit_length() - 1
    if count != 1 << power:
        raise ValueError("CG runs on powers of two")
    rows, columns = 1 << power // 2, 1 << (power + 1) // 2
    rank = numpy.arange(count)
    row, column = rank // columns, rank % columns
    partners = [row * columns + (column ^ (1 << bit)) for bit in range(columns.bit_length() - 1)]
    if rows == columns:
        partners.append(column * columns + row)
    else:  # twice as many columns: pairs of ranks are transposed
        partners.append(2 * (column // 2 * rows + row) + column % 2)
    ends = numpy.concatenate([numpy.stack([rank, partner], axis=1) for partner in partners])
    return Graph.from_edges(count, ends)


def mg(count, _):
    """A periodic 3D grid whose coarser levels reach farther and send less."""
    shape = sides(count, 3)
    places = numpy.indices(shape).reshape(3, -1).T
    ends, weights = [], []
    for level in range(4):
        for axis in range(3):
            if shape[axis] >> level < 2:
                continue
            takes_part = (places % (1 << level) == 0).all(axis=1)
            there = places[takes_part].copy()
            there[:, axis] = (there[:, axis] + (1 << level)) % shape[axis]
            ends.append(numpy.stack([numpy.ravel_multi_index(places[takes_part].T, shape),
                                     numpy.ravel_multi_index(there.T, shape)], axis=1))
            weights.append(numpy.full(len(there), 64 >> 2 * level))
    return Graph.from_edges(count, numpy.concatenate(ends), numpy.concatenate(weights))


def ft(count, _):
    """Two transposes: everyone with everyone in the rows and in the columns of a process grid."""
    rows, columns = sorted(sides(count, 2))
    rank = numpy.arange(count)
    in_rows = [(rank, rank // columns * columns + (rank % columns + step) % columns) for step in range(1, columns)]
    in_columns = [(rank, (rank + step * columns) % count) for step in range(1, rows)]
    ends = numpy.concatenate([numpy.stack(pair, axis=1) for pair in in_rows + in_columns])
    return Graph.from_edges(count, ends)


def connected(graph, random):
    """Vertices without neighbours get one."""
    alone = numpy.flatnonzero(numpy.diff(graph.offsets) == 0)
    one, other, weights = graph.edges()
    new = numpy.stack([alone, (alone + random.integers(1, graph.count, len(alone))) % graph.count], axis=1)
    return Graph.from_edges(graph.count, numpy.concatenate([numpy.stack([one, other], axis=1), new]),
                            numpy.concatenate([weights, numpy.ones(len(alone), numpy.int64)]))


def power_law(count, random):
    """Chung and Lu 2002, exponent 2.5, about eight neighbours; weights from 1 to 100, small ones more often."""
    share = (numpy.arange(count) + 10.0) ** (-1 / 1.5)
    ends = random.choice(count, (4 * count, 2), p=share / share.sum())
    weights = (100 ** random.random(len(ends))).astype(numpy.int64)
    return connected(Graph.from_edges(count, ends, weights), random)


def geometric(count, random):
    """Points in the unit square that are close, about nine neighbours; those nearer have more to do."""
    points = random.random((count, 2))
    radius = math.sqrt(9 / (math.pi * count))
    ends = cKDTree(points).query_pairs(radius, output_type="ndarray")
    far = numpy.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1) / radius
    return connected(Graph.from_edges(count, ends, 1 + (10 * (1 - far)).astype(numpy.int64)), random)


def delaunay(count, random):
    corners = Delaunay(random.random((count, 2))).simplices
    ends = numpy.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    found = Graph.from_edges(count, ends)
    return Graph(found.offsets, found.neighbours, numpy.ones_like(found.weights))


GENERATORS = {
    "grid-5": lambda count, _: stencil(count, 2, False),
    "grid-9": lambda count, _: stencil(count, 2, True),
    "grid-7": lambda count, _: stencil(count, 3, False),
    "grid-27": lambda count, _: stencil(count, 3, True),
    "cg": cg,
    "mg": mg,
    "lu": lu,
    "ft": ft,
    "power-law": power_law,
    "geometric": geometric,
    "delaunay": delaunay,
}
FAMILIES = list(GENERATORS)
IRREGULAR = ["power-law", "geometric", "delaunay"]
GRIDS = ["grid-5", "grid-9", "grid-7", "grid-27", "lu"]

DISTANCES = {"4:8": "1:10:100", "2:8:4": "1:10:40:100", "8:12:2": "1:4:16:100", "8:8:2": "1:4:16:100"}
NODES = {
    "4:8": [2, 3, 8, 15, 30, 32, 125, 128, 512],
    "2:8:4": [2, 4, 15, 16, 60, 64, 256],
    "8:12:2": [2, 4, 8, 16, 64],
    "8:8:2": [2, 4, 8, 25, 32, 128],
}
QUICK_NODES = {"4:8": [2, 8, 30, 32], "2:8:4": [4, 15], "8:12:2": [2, 4], "8:8:2": [8]}
# Vertices and machine.
MANY = [(1 << 17, "4:8:4"), (1 << 17, "4:8:16"), (1 << 18, "8:8:2:8"), (1 << 18, "4:8:2"), (1 << 20, "4:8:32"),
        (110592, "8:12:2:2"), (442368, "8:12:2:4")]
QUICK_MANY = [(1 << 17, "4:8:16"), (110592, "8:12:2:2")]
MANY_FAMILIES = ["grid-5", "grid-7", "grid-27", "power-law", "geometric", "delaunay"]


def runs_on(family, count):
    if family in ("cg", "mg"):
        return count & (count - 1) == 0
    # All-to-all: its edges grow with count^1.5.
    return family != "ft" or count <= 4096


def all_instances(quick):
    """Smallest first, so that an interrupted run has whole sizes."""
    found = []
    for seed in [1] if quick else [1, 2, 3]:
        for node, counts in (QUICK_NODES if quick else NODES).items():
            per_node = math.prod(map(int, node.split(":")))
            for nodes in counts:
                count = per_node * nodes
                found += [Instance("one-to-one", family, count, f"{node}:{nodes}", DISTANCES[node], seed)
                          for family in FAMILIES if runs_on(family, count)]
        for count, hierarchy in QUICK_MANY if quick else MANY:
            distances = DISTANCES[hierarchy.rpartition(":")[0]]
            found += [Instance("many-to-one", family, count, hierarchy, distances, seed)
                      for family in (["grid-27", "delaunay"] if quick else MANY_FAMILIES)]
    return sorted(found, key=lambda one: (one.kind != "one-to-one", one.count, one.seed))
