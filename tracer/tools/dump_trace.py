#!/usr/bin/env python3
"""Prints a gathered trace, or the spool files of ranks, as text or JSON. src/format/trace_format.h describes them."""

import argparse
import json
import math
import struct
import sys
import zlib

TRACE_MAGIC, TAIL_MAGIC, IMAGE_MAGIC = b"RWTRACE\n", b"RWTREND\n", b"RWRANK2\n"
VERSION = 2
TAIL_BYTES = 16
STATES = ["running", "finalized", "aborted", "exited"]
CLASSES = ["point_to_point", "wait", "collective", "one_sided", "other"]
PAIR_CLASSES = ["point_to_point", "put", "get"]
LEVELS = ["single", "funneled", "serialized", "multiple"]
WAITING = ["unknown", "run_delay", "processor"]
CLOCKS = ["clock_gettime", "tsc", "off"]
TOPOLOGIES = [None, "cartesian", "graph", "distributed_graph"]
OPERATIONS = [
    "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter",
    "reduce_scatter_block", "scan", "exscan", "neighbor_allgather", "neighbor_allgatherv",
    "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
]
TEXT, BINDING, MEMBERS, COMMUNICATOR, PAIR, COLLECTIVE, ROW, TOPOLOGY, SETTING = range(2, 11)


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

    def values(self, codes):
        return struct.unpack("<" + codes, self.take(struct.calcsize("<" + codes)))

    def list(self, code, count):
        return list(self.values(f"{count}{code}"))


def read_head(cursor):
    names = ["rank", "world_size", "run", "state", "flags", "thread_level", "clock", "length", "start_unix_ns",
             "begin_ticks", "begin_ns", "latest_ticks", "latest_ns", "peak_memory", "outside_messages",
             "outside_bytes"]
    start = cursor.position
    if cursor.take(8) != IMAGE_MAGIC:
        raise TraceError("not the image of a rank")
    version, head_bytes = cursor.values("II")
    if version != VERSION:
        raise TraceError(f"format version {version}, this program reads {VERSION}")
    head = dict(zip(names, cursor.values("IIQIIIIQqQQQQQQQ")))
    head["classes"] = {name: cursor.values("QQ") for name in CLASSES}
    names = ["waited_ticks", "processor_ns", "other_threads_ns", "waiting", "zero"]
    head |= dict(zip(names, cursor.values("QQQII")))
    if cursor.position - start != head_bytes:
        raise TraceError(f"a head of {head_bytes} bytes")
    return head


def seconds_per_tick(head):
    ticks, nanoseconds = head["latest_ticks"] - head["begin_ticks"], head["latest_ns"] - head["begin_ns"]
    return nanoseconds * 1e-9 / ticks if CLOCKS[head["clock"]] == "tsc" and ticks > 0 else 1e-9


class Image:
    """One rank."""

    def __init__(self, data, start):
        cursor = Cursor(data, start)
        self.head = read_head(cursor)
        self.end = start + self.head["length"]
        self.tick = seconds_per_tick(self.head)
        self.texts, self.settings, self.pus, self.numa = {}, {}, [], []
        self.members, self.communicators, self.pairs = {}, {}, []
        self.collectives, self.topologies = {}, {}
        readers = {TEXT: self.text, BINDING: self.binding, MEMBERS: self.member_lists, PAIR: self.pair,
                   COMMUNICATOR: self.communicator, COLLECTIVE: self.collective, ROW: self.row,
                   TOPOLOGY: self.topology, SETTING: self.setting}
        while cursor.position < self.end:
            begin = cursor.position
            kind, length = cursor.values("II")
            if length < 8 or length % 8 or begin + length > min(self.end, len(data)):
                raise TraceError(f"a record of {length} bytes at byte {begin}")
            if kind in readers:
                readers[kind](Cursor(data, begin + 8, begin + length))
            cursor.take(length - 8)

    def time(self, ticks):
        return max(ticks - self.head["begin_ticks"], 0) * self.tick if ticks else 0.0

    def text(self, record):
        which, size = record.values("II")
        self.texts[which] = record.take(size).decode("utf-8", "replace")

    def setting(self, record):
        name, value = record.values("II")
        name = record.take(name).decode("utf-8", "replace")
        self.settings[name] = record.take(value).decode("utf-8", "replace")

    def binding(self, record):
        pus, nodes = record.values("II")
        self.pus, self.numa = record.list("I", pus), record.list("I", nodes)

    def member_lists(self, record):
        number, inter, first, second = record.values("IIII")

        def ranks(runs):
            members = []
            for _ in range(runs):
                start, stride, count = record.values("iiI")
                members += [None if rank < 0 else rank for rank in (start + i * stride for i in range(count))]
            return members
        self.members[number] = ("inter" if inter else "intra", ranks(first), ranks(second))

    def communicator(self, record):
        number, members, slot, created = record.values("IIII")
        name = record.take(128).split(b"\0")[0].decode("utf-8", "replace")
        self.communicators[number] = (members, slot, created, name)

    def pair(self, record):
        peer, kind, first_bin, bins = record.values("IBBH")
        messages, size, largest, first, last, mean, m2 = record.values("QQQQQdd")
        rank = self.head["rank"]
        source, destination = (peer, rank) if PAIR_CLASSES[kind] == "get" else (rank, peer)
        pair = {"source": source, "destination": destination, "class": PAIR_CLASSES[kind],
                "messages": messages, "bytes": size, "largest": largest, "first_s": self.time(first),
                "last_s": self.time(last), "gap_mean_s": mean * self.tick,
                "gap_m2": m2 * self.tick * self.tick,
                "histogram": {first_bin + i: n for i, n in enumerate(record.list("Q", bins)) if n}}
        if messages > 1 and mean > 0:
            pair["gap_cv"] = math.sqrt(m2 / (messages - 1)) / mean
        self.pairs.append(pair)

    def collective(self, record):
        number, communicator, operation, flags, root, calls, size, ticks, first, last = record.values("IIHHiQQQQQ")
        self.collectives[number] = {
            "rank": self.head["rank"], "communicator": communicator, "operation": OPERATIONS[operation],
            "nonblocking": bool(flags & 1), "persistent": bool(flags & 2), "root": root, "calls": calls,
            "bytes": size, "seconds": ticks * self.tick, "first_s": self.time(first), "last_s": self.time(last),
            "row": []}

    def row(self, record):
        collective, destination, messages, size = record.values("IIQQ")
        self.collectives[collective]["row"].append(
            {"destination": destination, "messages": messages, "bytes": size})

    def topology(self, record):
        communicator, kind, dimensions, neighbours = record.values("IIII")
        extents, links = record.list("i", 2 * dimensions), record.list("i", 2 * neighbours)
        self.topologies[communicator] = {
            "rank": self.head["rank"], "kind": TOPOLOGIES[kind],
            "dimensions": extents[::2], "periodic": [bool(periodic) for periodic in extents[1::2]],
            "neighbours": [{"destination": None if rank < 0 else rank, "weight": weight}
                           for rank, weight in zip(links[::2], links[1::2])]}

    def rank_record(self):
        head = self.head
        return {"rank": head["rank"], "state": STATES[head["state"]], "whole": head["flags"] == 0,
                "host": self.texts.get(0, ""),
                "pus": self.pus, "numa": self.numa, "start_unix_ns": head["start_unix_ns"],
                "wall_s": max(head["latest_ns"] - head["begin_ns"], 0) * 1e-9, "peak_memory": head["peak_memory"],
                "classes": {name: {"calls": calls, "seconds": ticks * self.tick}
                            for name, (calls, ticks) in head["classes"].items()},
                "outside_messages": head["outside_messages"], "outside_bytes": head["outside_bytes"],
                "waited_s": head["waited_ticks"] * self.tick, "waiting": WAITING[head["waiting"]],
                "processor_s": head["processor_ns"] * 1e-9, "other_threads_s": head["other_threads_ns"] * 1e-9}


def combine(images):
    """One trace of the images of one run, in ascending order of ranks; communicators get common numbers."""
    first = images[0]
    trace = {"facts": {"world_size": first.head["world_size"], "thread_level": LEVELS[first.head["thread_level"]],
                       "clock": CLOCKS[first.head["clock"]], "mpi_library": first.texts.get(1, ""),
                       "tracer_version": first.texts.get(2, ""), "program": first.texts.get(3, ""),
                       "beside_mpi": first.texts.get(4, ""), "called_through": first.texts.get(5, "")},
             "library_settings": first.settings, "ranks": [], "communicators": [], "pairs": [], "collectives": [], "topologies": []}
    numbers = {}
    for image in images:
        if image.head["run"] != first.head["run"]:
            raise TraceError("ranks of different runs")
        common = {}
        for number, (members, slot, created, name) in image.communicators.items():
            kind, group, second = image.members[members]
            identity = (kind, tuple(group), tuple(second), slot)
            if identity not in numbers:
                numbers[identity] = len(numbers)
                trace["communicators"].append({"id": numbers[identity], "kind": kind, "slot": slot, "created": created,
                                               "name": name, "members": group, "second_group": second})
            common[number] = numbers[identity]
        trace["ranks"].append(image.rank_record())
        trace["pairs"] += image.pairs
        trace["collectives"] += [{**c, "communicator": common[c["communicator"]]} for c in image.collectives.values()]
        trace["topologies"] += [{**t, "communicator": common[number]} for number, t in image.topologies.items()]
    trace["pairs"].sort(key=lambda p: (p["source"], p["destination"], PAIR_CLASSES.index(p["class"])))
    trace["collectives"].sort(key=lambda c: (c["rank"], c["communicator"], OPERATIONS.index(c["operation"]),
                                             c["nonblocking"], c["persistent"], c["root"]))
    for collective in trace["collectives"]:
        collective["row"].sort(key=lambda entry: entry["destination"])
    return trace


def parse(data):
    """A gathered trace as a dictionary; TraceError if it is not whole."""
    file = Cursor(data)
    if file.take(8) != TRACE_MAGIC:
        raise TraceError("not a rankwright trace")
    version, world_size = file.values("II")
    if version != VERSION:
        raise TraceError(f"format version {version}, this program reads {VERSION}")
    images, position = [], file.position
    for _ in range(world_size):
        images.append(Image(data, position))
        position = images[-1].end
    tail = Cursor(data, position)
    if tail.take(8) != TAIL_MAGIC or tail.values("II") != (zlib.crc32(data[:position]), 0):
        raise TraceError("the checksum does not fit")
    if tail.position != len(data):
        raise TraceError("bytes after the end")
    return combine(images)


def load(path):
    with open(path, "rb") as file:
        return parse(file.read())


def load_spools(paths):
    """The ranks that left a spool file."""
    images = []
    for path in paths:
        with open(path, "rb") as file:
            images.append(Image(file.read(), 0))
    return combine(sorted(images, key=lambda image: image.head["rank"]))


def print_text(trace):
    facts = trace["facts"]
    print(f"{facts['world_size']} ranks, {facts['mpi_library'].splitlines()[0].rstrip()}, "
          f"threads {facts['thread_level']}, clock {facts['clock']}")
    for name, value in sorted(trace["library_settings"].items()):
        print(f"setting {name} = {value}")
    for rank in trace["ranks"]:
        times = " ".join(f"{name} {c['seconds']:.6f} s in {c['calls']}"
                         for name, c in rank["classes"].items())
        print(f"rank {rank['rank']} on {rank['host']} P#{rank['pus']} NUMA P#{rank['numa']} {rank['state']} "
              f"wall {rank['wall_s']:.6f} s, waited {rank['waited_s']:.6f} s ({rank['waiting']}), peak {rank['peak_memory']} bytes, {times}")
    for c in trace["communicators"]:
        second = f" and {c['second_group']}" if c["kind"] == "inter" else ""
        print(f"communicator {c['id']} {c['name'] or '(unnamed)'} slot {c['slot']} "
              f"created {c['created']}: {c['members']}{second}")
    for t in trace["topologies"]:
        links = " ".join(f"{n['destination']}:{n['weight']}" for n in t["neighbours"])
        print(f"topology rank {t['rank']} communicator {t['communicator']} {t['kind']} {t['dimensions']} to {links}")
    for p in trace["pairs"]:
        print(f"{p['class']} {p['source']} -> {p['destination']}: {p['messages']} messages {p['bytes']} bytes "
              f"largest {p['largest']} from {p['first_s']:.6f} to {p['last_s']:.6f} s "
              f"gaps {p['gap_mean_s']:.9f} s cv {p.get('gap_cv', 0):.3f}")
    for c in trace["collectives"]:
        row = "".join(f" {e['destination']}:{e['bytes']}/{e['messages']}" for e in c["row"])
        form = f"{'i' if c['nonblocking'] else ''}{c['operation']}{'_init' if c['persistent'] else ''}"
        print(f"collective rank {c['rank']} communicator {c['communicator']} {form} root {c['root']}: "
              f"{c['calls']} calls {c['bytes']} bytes {c['seconds']:.6f} s{' to' if row else ''}{row}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", metavar="FILE", nargs="+", help="a gathered trace, or spool files (rank-N.rwr)")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    try:
        spools = all(path.endswith(".rwr") for path in options.files)
        trace = load_spools(options.files) if spools else load(*options.files)
    except (OSError, TraceError, TypeError) as error:
        sys.exit(f"{' '.join(options.files)}: {error}")
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
