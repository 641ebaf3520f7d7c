#!/usr/bin/env python3
"""Prints the events of one rank, one per line: ./dump_events.py rank-0.events"""

import pathlib
import struct
import sys
import zlib

HEAD = struct.Struct("<8sIIIIQIIqQQ")
BLOCK = struct.Struct("<IIQQQQQII")
BLOCK_MAGIC = 0x4B4C4256
CLOSED, LAST = 1, 2
CALLS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")
REQUEST, RECEIVED = 4, 1
PEERS = {0: "none", 1: "outside", 2: "any"}


class Events:
    """The contents of a file: `communicators`, and `events` as dictionaries."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        (magic, self.version, head_bytes, self.rank, self.world_size, self.run, self.clock, _, _,
         self.begin_ticks, _) = HEAD.unpack_from(data)
        if magic != b"RWEVENT\n" or self.version not in (1, 2):
            raise ValueError(f"{path}: no events of version 1 or 2")
        self.communicators, self.events, self.requests, self.waited = [], [], 0, 0
        self.whole, self.thread, self.clocks = False, 0, {}
        position = head_bytes
        while position + BLOCK.size <= len(data) and not self.whole:
            magic, flags, size, length, count, _, _, crc, _ = BLOCK.unpack_from(data, position)
            payload = data[position + BLOCK.size:position + BLOCK.size + length]
            if magic == 0:
                break
            if magic != BLOCK_MAGIC or len(payload) != length:
                raise ValueError(f"{path}: no block at byte {position}")
            if flags & CLOSED and zlib.crc32(payload) != crc:
                raise ValueError(f"{path}: a damaged block at byte {position}")
            self.read_block(payload, count)
            self.whole = bool(flags & LAST)
            position += size

    def read_block(self, payload, count):
        before, waited = len(self.events), 0
        self.payload, self.position = payload, 0
        while self.position < len(payload):
            kind = self.byte()
            if kind == 1:
                self.thread = self.number()
            elif kind == 2:
                self.communicators.append(self.communicator())
            elif kind == 13:
                waited = self.number()
                self.waited += waited
            else:
                self.events.append({**self.event(kind), "waited": waited})
                waited = 0
        if len(self.events) - before != count:
            raise ValueError(f"{len(self.events) - before} events in a block of {count}")

    def byte(self):
        self.position += 1
        return self.payload[self.position - 1]

    def number(self):
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self):
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def peer(self):
        code = self.number()
        return PEERS.get(code, code - 3)

    def runs(self):
        members = []
        for _ in range(self.number()):
            first, stride, count = self.signed(), self.signed(), self.number()
            members += [first + stride * i for i in range(count)]
        return members

    def communicator(self):
        return {"inter": self.number(), "slot": self.number(), "created": self.number(),
                "first": self.runs(), "second": self.runs()}

    def request(self):
        self.requests += 1
        return self.requests - 1

    def event(self, kind):
        gap = self.number()
        begin = self.clocks.get(self.thread, self.begin_ticks) + gap
        ticks = self.number()
        self.clocks[self.thread] = begin + ticks
        name, fields = getattr(self, f"kind_{kind}")()
        return {"event": name, "thread": self.thread, "gap": gap, "begin": begin, "ticks": ticks,
                **fields}

    def message(self):
        return {"peer": self.peer(), "tag": self.signed(), "communicator": self.number(), "bytes": self.number()}

    def with_request(self, fields, flag=REQUEST, name="how"):
        return {**fields, "request": self.request()} if fields[name] & flag else fields

    def kind_3(self):
        return "send", self.with_request({"how": self.number(), **self.message()})

    def kind_4(self):
        return "receive", self.with_request({"how": self.number(), **self.message()})

    def kind_5(self):
        fields = {"how": self.number(), "communicator": self.number()}
        fields["sent"] = (self.peer(), self.signed(), self.number())
        fields["received"] = (self.peer(), self.signed(), self.number())
        return "sendrecv", self.with_request(fields)

    def kind_6(self):
        fields = {"call": CALLS[self.number()], "active": self.number(), "completed": []}
        for _ in range(self.number()):
            code = self.number()
            completed = {"request": self.requests - 1 - (code >> 3), "cancelled": bool(code & 2)}
            if code & RECEIVED:
                completed |= {"peer": self.peer(), "tag": self.signed(), "bytes": self.number()}
            fields["completed"].append(completed)
        return "completion", fields

    def kind_7(self):
        return "polls", {"count": self.number(), "inside": self.number()}

    def kind_8(self):
        return "probe", self.message()

    def kind_9(self):
        fields = {"operation": self.number(), "flags": self.number(), "communicator": self.number(),
                  "root": self.peer(), "bytes": self.number()}
        if fields["flags"] & 2:
            fields["row"], destination = {}, 0
            for _ in range(self.number()):
                destination += self.signed()
                size = self.number()
                fields["row"][destination] = fields["row"].get(destination, 0) + size
        return "collective", self.with_request(fields, 1, "flags")

    def kind_10(self):
        return "creation", self.with_request({"flags": self.number(), "old": self.number() - 1,
                                      "new": self.number() - 1}, 1, "flags")

    def kind_11(self):
        return "free", {"request": self.requests - 1 - self.number()}

    def kind_12(self):
        return "other", {"class": self.number()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    events = Events(sys.argv[1])
    for number, communicator in enumerate(events.communicators):
        print("communicator", number, communicator)
    for event in events.events:
        print(event)
    print("whole" if events.whole else "the rank did not reach MPI_Finalize")


if __name__ == "__main__":
    main()
