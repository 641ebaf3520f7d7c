#!/usr/bin/env python3
"""Prints a rankwright trace as JSON or as text. Reads the file as trace_format.h describes it."""

import argparse
import json
import math
import struct
import sys
import zlib

MAGIC = b"RWTRACE\n"
VERSION = 1
OUTSIDE = 0xFFFFFFFF
CLASSES = ["point_to_point", "wait", "collective", "other"]
LEVELS = ["single", "funneled", "serialized", "multiple"]
CLOCKS = ["clock_gettime", "tsc"]
OPERATIONS = [
    "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter",
    "reduce_scatter_block", "scan", "exscan", "neighbor_allgather", "neighbor_allgatherv",
    "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
]


class TraceError(Exception):
    """The file is not a whole trace."""


class Cursor:
    """Reads little-endian values one after the other."""

    def __init__(self, data, position=0, end=None):
        self.data, self.position = data, position
        self.end = len(data) if end is None else end

    def take(self, size):
        if self.position + size > self.end:
            raise TraceError(f"cut short at byte {self.position}")
        start, self.position = self.position, self.position + size
        return self.data[start:self.position]

    def value(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def u16(self):
        return self.value("H")

    def u32(self):
        return self.value("I")

    def i32(self):
        return self.value("i")

    def u64(self):
        return self.value("Q")

    def i64(self):
        return self.value("q")

    def f64(self):
        return self.value("d")

    def string(self):
        return self.take(self.u32()).decode("utf-8", "replace")

    def u32_list(self):
        count = self.u32()
        return list(struct.unpack(f"<{count}I", self.take(4 * count)))

    def ranks(self):
        return [None if rank == OUTSIDE else rank for rank in self.u32_list()]


def read_facts(cursor):
    return {
        "world_size": cursor.u32(),
        "thread_level": LEVELS[cursor.u32()],
        "clock": CLOCKS[cursor.u32()],
        "mpi_library": cursor.string(),
        "tracer_version": cursor.string(),
    }


def read_rank(cursor):
    return {
        "rank": cursor.u32(),
        "host": cursor.string(),
        "pus": cursor.u32_list(),
        "start_unix_ns": cursor.i64(),
        "wall_s": cursor.f64(),
        "classes": {name: {"calls": cursor.u64(), "seconds": cursor.f64()} for name in CLASSES},
        "outside_messages": cursor.u64(),
        "outside_bytes": cursor.u64(),
    }


def read_communicator(cursor):
    return {
        "id": cursor.u32(),
        "kind": ["intra", "inter"][cursor.u32()],
        "slot": cursor.u32(),
        "created": cursor.u32(),
        "name": cursor.string(),
        "members": cursor.ranks(),
        "second_group": cursor.ranks(),
    }


def read_pair(cursor):
    pair = {
        "source": cursor.u32(),
        "destination": cursor.u32(),
        "messages": cursor.u64(),
        "bytes": cursor.u64(),
        "largest": cursor.u64(),
        "first_s": cursor.f64(),
        "last_s": cursor.f64(),
        "gap_mean_s": cursor.f64(),
        "gap_m2": cursor.f64(),
    }
    first, count = cursor.u32(), cursor.u32()
    pair["histogram"] = {first + i: n for i in range(count) if (n := cursor.u64())}
    gaps = pair["messages"] - 1
    if gaps > 0 and pair["gap_mean_s"] > 0:
        pair["gap_cv"] = math.sqrt(pair["gap_m2"] / gaps) / pair["gap_mean_s"]
    return pair


def read_collective(cursor):
    record = {
        "rank": cursor.u32(),
        "communicator": cursor.u32(),
        "operation": OPERATIONS[cursor.u16()],
        "nonblocking": bool(cursor.u16() & 1),
        "root": cursor.i32(),
        "calls": cursor.u64(),
        "bytes": cursor.u64(),
        "seconds": cursor.f64(),
        "first_s": cursor.f64(),
        "last_s": cursor.f64(),
    }
    record["row"] = [
        {"destination": cursor.u32(), "messages": cursor.u64(), "bytes": cursor.u64()}
        for _ in range(cursor.u32())
    ]
    return record


RECORDS = {
    b"RANK": ("ranks", read_rank),
    b"COMM": ("communicators", read_communicator),
    b"PAIR": ("pairs", read_pair),
    b"COLL": ("collectives", read_collective),
}


def parse(data):
    """The trace as a dictionary; TraceError if it is not whole."""
    file = Cursor(data)
    if file.take(8) != MAGIC:
        raise TraceError("not a rankwright trace")
    version = file.u32()
    if version != VERSION:
        raise TraceError(f"format version {version}, this program reads {VERSION}")
    trace = {}
    for _ in range(file.u32()):
        start = file.position
        tag = file.take(4)
        file.u32()
        length = file.u64()
        section = Cursor(data, file.position, file.position + length)
        file.take(length)
        if tag == b"END ":
            if section.u32() != zlib.crc32(data[:start]):
                raise TraceError("the checksum does not fit")
            if file.position != len(data):
                raise TraceError("bytes after the end")
            return trace
        if tag == b"FACT":
            trace["facts"] = read_facts(section)
        elif tag in RECORDS:
            name, read = RECORDS[tag]
            trace[name] = [read(section) for _ in range(section.u64())]
        if (tag == b"FACT" or tag in RECORDS) and section.position != section.end:
            raise TraceError(f"section {tag.decode()} is longer than its records")
    raise TraceError("no end section")


def load(path):
    with open(path, "rb") as file:
        return parse(file.read())


def print_text(trace):
    facts = trace["facts"]
    print(f"{facts['world_size']} ranks, {facts['mpi_library'].splitlines()[0].rstrip()}, "
          f"threads {facts['thread_level']}, clock {facts['clock']}")
    for rank in trace["ranks"]:
        times = " ".join(f"{name} {c['seconds']:.6f} s in {c['calls']}"
                         for name, c in rank["classes"].items())
        print(f"rank {rank['rank']} on {rank['host']} P#{rank['pus']} wall {rank['wall_s']:.6f} s, {times}")
    for c in trace["communicators"]:
        second = f" and {c['second_group']}" if c["kind"] == "inter" else ""
        print(f"communicator {c['id']} {c['name'] or '(unnamed)'} slot {c['slot']} "
              f"created {c['created']}: {c['members']}{second}")
    for p in trace["pairs"]:
        print(f"pair {p['source']} -> {p['destination']}: {p['messages']} messages {p['bytes']} bytes "
              f"largest {p['largest']} from {p['first_s']:.6f} to {p['last_s']:.6f} s "
              f"gaps {p['gap_mean_s']:.9f} s cv {p.get('gap_cv', 0):.3f}")
    for c in trace["collectives"]:
        row = "".join(f" {e['destination']}:{e['bytes']}/{e['messages']}" for e in c["row"])
        print(f"collective rank {c['rank']} communicator {c['communicator']} "
              f"{'i' if c['nonblocking'] else ''}{c['operation']} root {c['root']}: {c['calls']} calls "
              f"{c['bytes']} bytes {c['seconds']:.6f} s{' to' if row else ''}{row}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    try:
        trace = load(options.file)
    except (OSError, TraceError) as error:
        sys.exit(f"{options.file}: {error}")
    try:
        if options.format == "json":
            json.dump(trace, sys.stdout, indent=1)
            print()
        else:
            print_text(trace)
    except BrokenPipeError:  # `dump_trace.py FILE | head`
        sys.stderr.close()


if __name__ == "__main__":
    main()
