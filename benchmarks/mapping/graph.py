"""Undirected graphs with weighted edges: compressed rows, METIS files."""

import hashlib

import numpy


class Graph:
    """`offsets`, `neighbours`, `weights`: row by row, every edge twice, neighbours ascending, no loops."""

    def __init__(self, offsets, neighbours, weights):
        self.offsets = numpy.ascontiguousarray(offsets, numpy.int32)
        self.neighbours = numpy.ascontiguousarray(neighbours, numpy.int32)
        self.weights = numpy.ascontiguousarray(weights, numpy.int32)

    @classmethod
    def from_edges(cls, count, ends, weights=1):
        """Adds up the weights of edges that occur several times, in either direction; drops loops."""
        ends = numpy.asarray(ends, numpy.int64).reshape(-1, 2)
        weights = numpy.broadcast_to(numpy.asarray(weights, numpy.int64), len(ends))
        real = ends[:, 0] != ends[:, 1]
        low, high = ends[real].min(axis=1), ends[real].max(axis=1)
        keys, place = numpy.unique(low * count + high, return_inverse=True)
        sums = numpy.bincount(place, weights[real], len(keys)).astype(numpy.int64)
        low, high = keys // count, keys % count
        rows, columns = numpy.concatenate([low, high]), numpy.concatenate([high, low])
        order = numpy.lexsort((columns, rows))
        offsets = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(rows, minlength=count))])
        return cls(offsets, columns[order], numpy.tile(sums, 2)[order])

    @property
    def count(self):
        return len(self.offsets) - 1

    @property
    def edge_count(self):
        return len(self.neighbours) // 2

    def rows(self):
        """The vertex at this end of every entry of `neighbours`."""
        return numpy.repeat(numpy.arange(self.count, dtype=numpy.int32), numpy.diff(self.offsets))

    def edges(self):
        """Both ends and the weight of every edge, once."""
        rows = self.rows()
        once = rows < self.neighbours
        return rows[once], self.neighbours[once], self.weights[once]

    def renumbered(self, new):
        """Vertex v is called new[v]."""
        one, other, weights = self.edges()
        return Graph.from_edges(self.count, numpy.stack([new[one], new[other]], axis=1), weights)

    def quotient(self, part_of, count):
        """The graph of the parts: how much they have to do with each other."""
        one, other, weights = self.edges()
        return Graph.from_edges(count, numpy.stack([part_of[one], part_of[other]], axis=1), weights)

    def divided(self, part_of, count):
        """The graph inside of each part, and its vertices; edges between parts are left out."""
        order = numpy.argsort(part_of, kind="stable").astype(numpy.int32)
        begins = numpy.searchsorted(part_of[order], numpy.arange(count + 1))
        number = numpy.empty(self.count, numpy.int32)
        number[order] = numpy.arange(self.count, dtype=numpy.int32) - numpy.repeat(begins[:-1], numpy.diff(begins))
        rows = self.rows()
        inside = part_of[rows] == part_of[self.neighbours]
        rows, neighbours, weights = rows[inside], number[self.neighbours[inside]], self.weights[inside]
        by_part = numpy.argsort(part_of[rows], kind="stable")
        rows, neighbours, weights = rows[by_part], neighbours[by_part], weights[by_part]
        degrees = numpy.bincount(rows, minlength=self.count)[order]
        ends = numpy.concatenate([[0], numpy.cumsum(degrees)])
        for part in range(count):
            begin, end = begins[part], begins[part + 1]
            offsets = ends[begin:end + 1]
            entries = slice(offsets[0], offsets[-1])
            yield Graph(offsets - offsets[0], neighbours[entries], weights[entries]), order[begin:end]

    def write_metis(self, path):
        lines = [f"{self.count} {self.edge_count} 001"]
        entries = numpy.stack([self.neighbours + 1, self.weights], axis=1).ravel().tolist()
        bounds = (2 * self.offsets.astype(numpy.int64)).tolist()
        for begin, end in zip(bounds, bounds[1:]):
            lines.append(" ".join(map(str, entries[begin:end])))
        path.write_text("\n".join(lines) + "\n")

    def digest(self):
        """Tells whether numbers that were kept belong to this graph."""
        parts = b"".join(array.tobytes() for array in (self.offsets, self.neighbours, self.weights))
        return hashlib.sha256(parts).hexdigest()[:12]
