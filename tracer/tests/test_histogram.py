"""One-sided communication of a whole program: examples/histogram.c against transfers that are computed here from its
arguments, and against Open MPI's monitoring."""

import collections
import unittest

from harness import MPIS, c_program, matrix_of, traced, traced_and_monitored

RANKS, KEYS, BINS, ROUNDS = 7, 2000, 61, 2
ARGUMENTS = ("--keys", KEYS, "--bins", BINS, "--rounds", ROUNDS)
KEYS_PER_BIN = 65536


def scramble(number):
    word = (1 << 64) - 1
    number = number + 0x9e3779b97f4a7c15 & word
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9 & word
    number = (number ^ number >> 27) * 0x94d049bb133111eb & word
    return number ^ number >> 31


def key_at(index, turn):
    span = BINS * KEYS_PER_BIN
    random = scramble(turn << 32 | index)
    offset = (random >> 32) % (span // 8) + (random & 0xffffffff) % (span // 8)
    return (index * span // KEYS + span - span // 8 + offset) % span


def first(things, rank):
    return things * rank // RANKS


def checksum():
    return sum(place * key for turn in range(ROUNDS)
               for place, key in enumerate(sorted(key_at(index, turn) for index in range(KEYS)), 1)) % (1 << 64)


def expected():
    """Puts, gets: (source, destination) -> (messages, bytes)."""
    drawn = collections.Counter()
    for turn in range(ROUNDS):
        for rank in range(RANKS):
            for index in range(first(KEYS, rank), first(KEYS, rank + 1)):
                owner = ((key_at(index, turn) // KEYS_PER_BIN + 1) * RANKS - 1) // BINS
                drawn[turn, rank, owner] += 1
    puts, gets = collections.defaultdict(lambda: (0, 0)), collections.defaultdict(lambda: (0, 0))

    def add(matrix, pair, messages, size):
        matrix[pair] = (matrix[pair][0] + messages, matrix[pair][1] + size)

    for (_, rank, owner), keys in drawn.items():
        add(puts, (rank, owner), 3, 8 * (first(BINS, owner + 1) - first(BINS, owner)) + 8 + 8 * keys)
        add(gets, (owner, rank), 1, 8)
    for rank in range(RANKS):
        for before in range(rank):
            add(gets, (before, rank), ROUNDS, 8 * ROUNDS)
    return dict(puts), dict(gets)


class Histogram(unittest.TestCase):
    maxDiff = None

    def check(self, trace):
        puts, gets = expected()
        self.assertLess(len(puts), RANKS * RANKS)
        self.assertEqual(matrix_of(trace, "put"), puts)
        self.assertEqual(matrix_of(trace, "get"), gets)
        self.assertEqual(matrix_of(trace), {})

    def test_as_computed(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                trace, result = traced(mpi, RANKS, c_program(mpi, "examples/histogram.c"), *ARGUMENTS)
                self.check(trace)
                self.assertIn(f"checksum {checksum():016x},", result.output)

    def test_as_monitored(self):
        trace, monitored = traced_and_monitored(RANKS, c_program("openmpi", "examples/histogram.c"), *ARGUMENTS)
        self.check(trace)
        self.assertEqual(monitored["E"], {})
        # S: what is put, and an empty message for each MPI_Get (not for MPI_Fetch_and_op). R: what is got.
        sent, gets = expected()
        for rank in range(RANKS):
            for before in range(rank):
                messages, size = sent.get((rank, before), (0, 0))
                sent[rank, before] = (messages + ROUNDS, size)
        self.assertEqual(monitored["S"], sent)
        self.assertEqual(monitored["R"], {(rank, other): total for (other, rank), total in gets.items()})


if __name__ == "__main__":
    unittest.main()
