#!/usr/bin/env python3
"""Writes a profile with the events of a bulk-synchronous program: in every step each rank exchanges
halos with its neighbours on a periodic 3D grid, computes, and takes part in an allreduce of 8 bytes.

    ./events.py RANKWRIGHT OUTPUT.rwp --ranks 16384 --steps 20 --bytes 8192
"""

import argparse
import random
import sqlite3
import subprocess

SEND, RECEIVE, COMPLETION, COLLECTIVE = 3, 4, 6, 9
HOW_REQUEST, WAITALL, ALLREDUCE, PEER_FIRST = 4, 1, 12, 3
TICK = 1e-9  # seconds


def varint(number: int) -> bytes:
    coded = bytearray()
    while number >= 0x80:
        coded.append(number & 0x7F | 0x80)
        number >>= 7
    coded.append(number)
    return bytes(coded)


def record(kind: int, *numbers: int) -> bytes:
    return bytes([kind]) + b"".join(map(varint, numbers))


def extents(ranks: int) -> tuple[int, int, int]:
    """The most cubic grid of this many ranks."""
    best = min(
        (x + y + ranks // (x * y), x, y)
        for x in range(1, ranks + 1)
        if ranks % x == 0
        for y in range(x, ranks // x + 1)
        if ranks // x % y == 0
    )
    return best[1], best[2], ranks // (best[1] * best[2])


def neighbours(rank: int, grid: tuple[int, int, int]) -> list[int]:
    x, y, z = grid
    i, j, k = rank // (y * z), rank // z % y, rank % z
    near = [
        ((i + 1) % x, j, k), ((i - 1) % x, j, k), (i, (j + 1) % y, k),
        (i, (j - 1) % y, k), (i, j, (k + 1) % z), (i, j, (k - 1) % z),
    ]
    return [(a * y + b) * z + c for a, b, c in near]


def step(partners: list[int], size: int, compute: int) -> tuple[bytes, int]:
    """The events of one step of a rank, and their number."""
    events = []
    for number, partner in enumerate(partners):
        # The message that comes from direction d was sent into the opposite one.
        events.append(record(RECEIVE, 10, 100, HOW_REQUEST, partner + PEER_FIRST, 2 * (number ^ 1), 0, size))
    for number, partner in enumerate(partners):
        events.append(record(SEND, 10, 100, HOW_REQUEST, partner + PEER_FIRST, 2 * number, 0, size))
    done = []
    last = 2 * len(partners) - 1
    for number, partner in enumerate(partners):
        done += [(last - number) * 8 + 1, partner + PEER_FIRST, 2 * (number ^ 1), size]
    for number in range(len(partners)):
        done.append((last - len(partners) - number) * 8)
    events.append(record(COMPLETION, compute, 1000, WAITALL, 2 * len(partners), 2 * len(partners), *done))
    events.append(record(COLLECTIVE, compute // 4, 1000, ALLREDUCE, 0, 0, 0, 8))
    return b"".join(events), len(events)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("rankwright")
    options.add_argument("output")
    options.add_argument("--ranks", type=int, default=16384)
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--bytes", type=int, default=8192)
    options.add_argument("--compute", type=float, default=2e-4, help="seconds per step, the mean")
    given = options.parse_args()
    command = [given.rankwright, "-q", "traffic", "generate", f"halo-3d:{given.ranks}", "-o", given.output]
    subprocess.run(command, check=True)
    grid = extents(given.ranks)
    draw = random.Random(1)
    file = sqlite3.connect(given.output)
    file.executescript(
        "CREATE TABLE event_streams (rank INTEGER PRIMARY KEY, events INTEGER NOT NULL, whole INTEGER NOT NULL,"
        " seconds_per_tick REAL NOT NULL, start_unix_ns INTEGER NOT NULL);"
        "CREATE TABLE event_blocks (rank INTEGER NOT NULL, part INTEGER NOT NULL, payload BLOB NOT NULL,"
        " PRIMARY KEY (rank, part));"
    )
    world = record(2, 0, 0, 1, 1, 0, 2, given.ranks, 0)
    for rank in range(given.ranks):
        # A few computing times per rank, so that ranks are not in step to the last bit.
        times = [int(given.compute / TICK * draw.uniform(0.9, 1.1)) for _ in range(4)]
        kinds = [step(neighbours(rank, grid), given.bytes, time) for time in times]
        chosen = [kinds[number % len(kinds)] for number in range(given.steps)]
        payload = world + b"".join(events for events, _ in chosen)
        count = sum(number for _, number in chosen)
        file.execute("INSERT INTO event_streams VALUES (?, ?, 1, ?, 0)", (rank, count, TICK))
        file.execute("INSERT INTO event_blocks VALUES (?, 0, ?)", (rank, payload))
    file.commit()


if __name__ == "__main__":
    main()
