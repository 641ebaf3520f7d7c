"""Machines as trees: how far apart cores are, what a mapping costs, whether it is valid."""

import math

import numpy


class Machine:
    """`sizes`: how many parts each part has, from the core up; `distances`: of cores that first meet at each level."""

    def __init__(self, sizes, distances):
        self.sizes, self.distances = tuple(sizes), tuple(distances)
        self.cores = math.prod(self.sizes)

    @classmethod
    def parse(cls, hierarchy, distances):
        return cls(map(int, hierarchy.split(":")), map(int, distances.split(":")))

    def distance(self, one, other):
        """Between arrays of cores."""
        one, other = numpy.broadcast_arrays(one, other)
        far, width, below = numpy.zeros(one.shape, numpy.int64), 1, 0
        for size, distance in zip(self.sizes, self.distances):
            far += (one // width != other // width) * (distance - below)
            width, below = width * size, distance
        return far

    def cores_below(self, level):
        """How many cores each part of a level has."""
        return math.prod(self.sizes[:level])

    def cost(self, graph, core_of):
        """J: the sum over all edges of weight times distance."""
        one, other, weights = graph.edges()
        return int((weights * self.distance(core_of[one], core_of[other])).sum())

    def limit(self, count, imbalance):
        """How many of `count` vertices a core may hold."""
        return int(math.ceil(count / self.cores) * (1 + imbalance) + 1e-9)

    def has_cores(self, core_of, count):
        """Whether each of `count` vertices has a core that exists."""
        return len(core_of) == count and core_of.min() >= 0 and core_of.max() < self.cores

    def repair(self, graph, core_of, limit):
        """Moves vertices out of cores that hold too many, each to where it costs least; and says how many it moved."""
        core_of = core_of.copy()
        load = numpy.bincount(core_of, minlength=self.cores)
        moved = 0
        for core in numpy.flatnonzero(load > limit):
            vertices = numpy.flatnonzero(core_of == core)
            # What it has to do with its own core keeps a vertex where it is.
            ties = [self._pull(graph, core_of, vertex, core) for vertex in vertices]
            for vertex in vertices[numpy.argsort(ties, kind="stable")][:load[core] - limit]:
                open_cores = numpy.flatnonzero(load < limit)
                entries = slice(graph.offsets[vertex], graph.offsets[vertex + 1])
                others = core_of[graph.neighbours[entries]]
                cost = self.distance(open_cores[:, None], others[None, :]) @ graph.weights[entries].astype(numpy.int64)
                target = open_cores[numpy.argmin(cost)]
                core_of[vertex], moved = target, moved + 1
                load[core] -= 1
                load[target] += 1
        return core_of, moved

    def _pull(self, graph, core_of, vertex, core):
        entries = slice(graph.offsets[vertex], graph.offsets[vertex + 1])
        return graph.weights[entries][core_of[graph.neighbours[entries]] == core].sum()
