"""RANKWRIGHT_TRACE_OPTIONS=events: the calls in their order, compared with the totals of the same run."""

import collections
import json
import struct
import subprocess
import unittest

from harness import MPIS, SAMPLER, UCX, c_program, fortran_program, mount_tmpfs, mpirun, new_folder, variables

import dump_events
import dump_trace

PERSISTENT = 8
MANY = ["--iterations", 20000, "--cells", 8, "--fields", 1]


def recorded(mpi, ranks, program, *arguments, may_fail=False, **keywords):
    """Runs with events; returns those of each rank, the trace if there is one, and the output."""
    with new_folder() as folder:
        path, spool = folder / "trace.rwt", folder / "spool"
        environment = {**variables(mpi, path), "RANKWRIGHT_TRACE_SPOOL": spool,
                       "RANKWRIGHT_TRACE_OPTIONS": "events"}
        arguments = [folder if argument == "FOLDER" else argument for argument in arguments]
        result = mpirun(mpi, ranks, program, *arguments, environment=environment, **keywords)
        if result.code != 0 and not may_fail:
            raise AssertionError(f"{program} under {mpi}: exit code {result.code}\n{result.output}{result.errors}")
        events = [dump_events.Events(spool / f"rank-{rank}.events") for rank in range(ranks)]
        return events, dump_trace.load(path) if path.exists() else None, result


def sent(ranks):
    """(source, destination) -> (messages, bytes)."""
    matrix = collections.defaultdict(lambda: (0, 0))
    for rank in ranks:
        for event in rank.events:
            peer, size = None, 0
            if event["event"] == "send":
                peer, size = event["peer"], event["bytes"]
            elif event["event"] == "sendrecv":
                peer, _, size = event["sent"]
            if isinstance(peer, int):
                messages, total = matrix[rank.rank, peer]
                matrix[rank.rank, peer] = (messages + 1, total + size)
    return dict(matrix)


def received(ranks):
    """As `sent`, from the receives."""
    matrix = collections.defaultdict(lambda: (0, 0))

    def add(peer, rank, size):
        if isinstance(peer, int):
            messages, total = matrix[peer, rank]
            matrix[peer, rank] = (messages + 1, total + size)

    for rank in ranks:
        for event in rank.events:
            if event["event"] == "receive" and "request" not in event:
                add(event["peer"], rank.rank, event["bytes"])
            elif event["event"] == "sendrecv" and "request" not in event:
                add(event["received"][0], rank.rank, event["received"][2])
            elif event["event"] == "completion":
                for completed in event["completed"]:
                    if "peer" in completed:
                        add(completed["peer"], rank.rank, completed["bytes"])
    return dict(matrix)


def collective_totals(ranks):
    """(rank, operation, members) -> (calls, bytes)."""
    totals = collections.Counter(), collections.Counter()
    for rank in ranks:
        for event in rank.events:
            if event["event"] == "collective":
                members = rank.communicators[event["communicator"]]
                key = (rank.rank, dump_trace.OPERATIONS[event["operation"]], tuple(members["first"]),
                       tuple(members["second"]))
                totals[0][key] += 1
                totals[1][key] += event["bytes"]
    return totals


def collective_totals_of(trace):
    totals = collections.Counter(), collections.Counter()
    for c in trace["collectives"]:
        members = trace["communicators"][c["communicator"]]
        key = (c["rank"], c["operation"], tuple(members["members"]), tuple(members["second_group"]))
        totals[0][key] += c["calls"]
        totals[1][key] += c["bytes"]
    return totals


class Check(unittest.TestCase):
    maxDiff = None

    def check(self, ranks, trace):
        """The events add up to the trace, and every request completes."""
        pairs = {(p["source"], p["destination"]): (p["messages"], p["bytes"]) for p in trace["pairs"]
                 if p["class"] == "point_to_point"}
        self.assertEqual(sent(ranks), pairs)
        self.assertEqual(collective_totals(ranks), collective_totals_of(trace))
        for rank in ranks:
            self.assertTrue(rank.whole)
            over = [completed["request"] for event in rank.events if event["event"] == "completion"
                    for completed in event["completed"]]
            over += [event["request"] for event in rank.events if event["event"] == "free"]
            self.assertEqual(sorted(over), list(range(rank.requests)), f"requests of rank {rank.rank}")


class Sampler(Check):
    def check_sampler(self, mpi):
        ranks, trace, _ = recorded(mpi, 4, c_program(mpi, *SAMPLER), "FOLDER", timeout=120)
        self.check(ranks, trace)
        if mpi == "mpich":  # reports no size for MPI_Isendrecv: the events have that of the buffer
            self.assertEqual({pair: n for pair, (n, _) in received(ranks).items()},
                             {pair: n for pair, (n, _) in sent(ranks).items()})
        else:
            self.assertEqual(received(ranks), sent(ranks))
        kinds = {event["event"] for rank in ranks for event in rank.events}
        self.assertLessEqual({"send", "receive", "sendrecv", "completion", "probe", "collective", "creation",
                              "other"}, kinds)
        self.assertTrue(any(event.get("how", 0) & PERSISTENT for event in ranks[0].events))

    def test_openmpi(self):
        self.check_sampler("openmpi")

    def test_mpich(self):
        self.check_sampler("mpich")

    def test_fortran(self):
        for mpi in MPIS:
            for dialect in ("MPI", "MPI_F08", "MPIF_H"):
                with self.subTest(mpi=mpi, dialect=dialect):
                    program = fortran_program(mpi, "tracer/tests/sampler/fortran_sampler.F90", dialect)
                    ranks, trace, _ = recorded(mpi, 4, program)
                    self.check(ranks, trace)
                    self.assertEqual(received(ranks), sent(ranks))


class WaitingForAPu(unittest.TestCase):
    """Each of four ranks on one PU computes three times for 60 ms of processor time, then sleeps for 60 ms: what it
    computed does not depend on who shares its PU."""

    def check(self, mpi):
        ranks, trace, _ = recorded(mpi, 4, c_program(mpi, "tracer/tests/programs/gaps.c"))
        outside = 0
        for rank, record in zip(ranks, trace["ranks"]):
            if record["waiting"] != "run_delay":
                self.skipTest("SKIPPED: this kernel does not keep the time that a thread waits for a PU")
            inside = sum(c["seconds"] for c in record["classes"].values())
            outside += record["wall_s"] - inside
            self.assertAlmostEqual(record["wall_s"] - inside - record["waited_s"], 0.24, delta=0.03)
            self.assertGreater(record["processor_s"], 0.18)
            tick = record["waited_s"] / max(rank.waited, 1)
            gaps = {event["gap"] - event["waited"] for event in rank.events}
            computed = [gap * tick for gap in gaps if gap * tick > 0.03]
            self.assertEqual(len(computed), 4)
            for gap in computed:
                self.assertAlmostEqual(gap, 0.06, delta=0.015)
        self.assertGreater(outside, 1.5)  # alone 0.96

    def test_openmpi(self):
        self.check("openmpi")

    def test_mpich(self):
        self.check("mpich")


class Runs(Check):
    def test_wildcards_polls_and_cancelled_receives(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                ranks, trace, _ = recorded(mpi, 3, c_program(mpi, "tracer/tests/programs/wildcards.c"))
                self.check(ranks, trace)
                first = ranks[0].events
                self.assertIn("polls", [event["event"] for event in first])
                posted = [event for event in first if event["event"] == "receive" and event["how"] & 16]
                self.assertEqual({event["peer"] for event in posted if "request" in event}, {"any"})
                came = [completed for event in first if event["event"] == "completion"
                        for completed in event["completed"]]
                self.assertEqual([c["cancelled"] for c in came].count(True), 1)
                self.assertEqual({(c["peer"], c["tag"], c["bytes"]) for c in came if "peer" in c},
                                 {(1, 11, 40), (2, 12, 80)})

    def test_threads(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                ranks, trace, result = recorded(mpi, 2, c_program(mpi, "tracer/tests/programs/threads.c"), 4, 40,
                                                may_fail=True)
                if result.code == 77:
                    self.skipTest("SKIPPED: this library gives no MPI_THREAD_MULTIPLE")
                self.assertEqual(result.code, 0, result.errors)
                self.check(ranks, trace)
                self.assertGreaterEqual(len({event["thread"] for event in ranks[0].events}), 4)

    def test_time_of_the_whole_run_is_accounted_for(self):
        ranks, trace, _ = recorded("openmpi", 4, c_program("openmpi", "examples/heat2d.c"))
        for rank, record in zip(ranks, trace["ranks"]):
            inside = sum(event["ticks"] for event in rank.events)
            classes = sum(c["seconds"] for c in record["classes"].values())
            last = rank.events[-1]
            share = inside / (last["begin"] + last["ticks"] - rank.begin_ticks)
            self.assertAlmostEqual(share, classes / record["wall_s"], delta=0.05)

    def test_many_blocks(self):
        """More than fits into the first piece of the file."""
        ranks, trace, _ = recorded("openmpi", 2, c_program("openmpi", "examples/heat2d.c"), *MANY, timeout=120)
        self.check(ranks, trace)
        self.assertGreater(len(ranks[0].events), 60000)

    def test_a_killed_rank_leaves_all_that_it_did(self):
        for way in ("kill", "abort"):
            with self.subTest(way=way):
                ranks, _, result = recorded("openmpi", 2, c_program("openmpi", "tracer/tests/programs/killed.c"), way,
                                            may_fail=True)
                self.assertNotEqual(result.code, 0)
                self.assertFalse(ranks[1].whole)
                self.assertEqual([event["bytes"] for event in ranks[1].events if event["event"] == "send"],
                                 list(range(100)))

    def test_a_full_disk_ends_the_events_and_not_the_program(self):
        """Space for the first pieces of both ranks and for one larger piece."""
        with new_folder() as folder:
            mount_tmpfs(self, folder, "460k")
            try:
                environment = {**variables("openmpi", folder / "trace.rwt"), "RANKWRIGHT_TRACE_SPOOL": folder,
                               "RANKWRIGHT_TRACE_OPTIONS": "events"}
                result = mpirun("openmpi", 2, c_program("openmpi", "examples/heat2d.c"), *MANY,
                                environment=environment, timeout=120)
                self.assertEqual(result.code, 0, result.errors)
                self.assertIn("the events end here: No space left on device", result.errors)
                ranks = [dump_events.Events(folder / f"rank-{rank}.events") for rank in range(2)]
                self.assertFalse(all(rank.whole for rank in ranks))
                for rank in ranks:
                    self.assertGreater(len(rank.events), 1000)
            finally:
                subprocess.run(["umount", folder], check=True)

    def test_without_a_spool_folder_there_are_none(self):
        program = c_program("openmpi", "examples/heat2d.c")
        with new_folder() as folder:
            environment = {**variables("openmpi", folder / "t"), "RANKWRIGHT_TRACE_OPTIONS": "events"}
            result = mpirun("openmpi", 2, program, environment=environment)
            self.assertEqual(result.code, 0)
            self.assertEqual(result.errors.count("no events: they need a spool folder"), 1)


class Network(unittest.TestCase):
    """The options transport and counters: what goes over TCP connections, to UCX and to Open MPI's PML, and what network
    devices count."""

    CONNECTION, RECEIVED, UCX, PML = 2**32 - 1, 2**31, 2**16, 2**16 + 1

    def transport(self, path):
        """The two ends of each connection of a rank, and the bytes (sent, received) on each."""
        data = path.read_bytes()
        self.assertEqual(data[:8], b"RWTRANS\n")
        at, ends, totals, last = struct.unpack_from("I", data, 12)[0], [], [], 0
        while at + 16 <= len(data):
            time, connection, size = struct.unpack_from("QII", data, at)
            at += 16
            if time == 0:
                break
            if size == self.CONNECTION:
                self.assertEqual(connection, len(ends))
                own_port, other_port, own, other = struct.unpack_from("II16s16s", data, at)
                ends.append(((own, own_port), (other, other_port)))
                totals.append([0, 0])
                at += 48
                continue
            received = bool(connection & self.RECEIVED)
            totals[connection & ~self.RECEIVED][received] += size
            last = max(last, time)
        self.assertLess(last, 60e9)
        return dict(zip(ends, totals))

    def test_ucx_tells_what_it_is_given(self):
        """Of UCX over shared memory, which passes no call of the kernel: all that calls of MPI send, and collectives."""
        for mpi in MPIS:
            with self.subTest(mpi), new_folder() as folder:
                program = c_program(mpi, "examples/heat2d.c")
                spool = folder / "spool"
                environment = {**variables(mpi, folder / "trace.rwt"), "RANKWRIGHT_TRACE_SPOOL": spool,
                               "RANKWRIGHT_TRACE_OPTIONS": "events,transport", "UCX_TLS": "posix,sysv,self"}
                result = mpirun(mpi, 2, program, "--iterations", 50, "--cells", 64, "--fields", 8,
                                environment=environment, over=UCX)
                if "was not available" in result.errors or "No components were able" in result.errors:
                    self.skipTest(f"SKIPPED: {mpi} has no UCX")
                self.assertEqual((result.code, result.errors), (0, ""))
                events = [dump_events.Events(spool / f"rank-{rank}.events") for rank in range(2)]
                ranks = [self.transport(spool / f"rank-{rank}.transport") for rank in range(2)]
                nobody = bytes(16)
                of_ucx = [{ends: total for ends, total in rank.items() if ends[0][1] == self.UCX} for rank in ranks]
                workers = [{own[0] for own, other in rank if other[0] == nobody} for rank in of_ucx]
                for here, there in ((0, 1), (1, 0)):
                    passed = sum(total[0] for (_, other), total in of_ucx[here].items() if other[0] in workers[there])
                    traced = sent(events)[here, there][1]
                    self.assertTrue(traced <= passed < 1.01 * traced + 1000, f"{passed} for {traced}")

    def test_the_pml_tells_what_it_is_given(self):
        """Of Open MPI over shared memory: all that calls of MPI send, persistent ones too, and collectives."""
        for mpi in ("openmpi", "openmpi5"):
            with self.subTest(mpi), new_folder() as folder:
                program = c_program(mpi, "tracer/tests/programs/through_pml.c")
                spool = folder / "spool"
                environment = {**variables(mpi, folder / "trace.rwt"), "RANKWRIGHT_TRACE_SPOOL": spool,
                               "RANKWRIGHT_TRACE_OPTIONS": "events,transport"}
                result = mpirun(mpi, 4, program, environment=environment)
                self.assertEqual((result.code, result.errors), (0, ""))
                sent_to = [{struct.unpack_from("I", other)[0]: total for ((_, port), (other, _)), total
                            in self.transport(spool / f"rank-{rank}.transport").items() if port == self.PML}
                           for rank in range(4)]
                for rank, row in enumerate(json.loads(result.output)):
                    for other, expected in enumerate(row):
                        found = sent_to[rank].get(other, [0, 0])[0]
                        self.assertTrue(expected <= found < expected + 10000, f"{rank} to {other}: {found} for {expected}")

    def test_both_ends_of_connections_tell_the_same_bytes(self):
        program = c_program("openmpi", "examples/heat2d.c")
        options = ["--mca", "btl", "self,tcp"]
        with new_folder() as folder:
            spool = folder / "spool"
            environment = {**variables("openmpi", folder / "trace.rwt"), "RANKWRIGHT_TRACE_SPOOL": spool,
                           "RANKWRIGHT_TRACE_OPTIONS": "events,transport,counters"}
            result = mpirun("openmpi", 2, program, "--iterations", 50, "--cells", 64, "--fields", 8, environment=environment, options=options)
            self.assertEqual((result.code, result.errors), (0, ""))
            events = [dump_events.Events(spool / f"rank-{rank}.events") for rank in range(2)]
            ranks = [self.transport(spool / f"rank-{rank}.transport") for rank in range(2)]
            counters = (spool / "rank-0.counters").read_bytes()
            self.assertFalse((spool / "rank-1.counters").exists(), "one rank of a node reads")
        for here, there in ((0, 1), (1, 0)):
            between = [(total, ranks[there][other, own]) for (own, other), total in ranks[here].items()
                       if own[1] != self.PML and (other, own) in ranks[there]]
            self.assertTrue(between)
            # A library need not read what the other one sent last, in MPI_Finalize: less than two headers.
            for (out, into), (other_out, other_in) in between:
                self.assertIn(out - other_in, range(100))
                self.assertIn(other_out - into, range(100))
            traced = sent(events)[here, there][1]
            passed = sum(total[0] for total, _ in between)
            self.assertTrue(traced < passed < 1.1 * traced + 100000, f"{passed} for {traced}")
        columns, names_bytes = struct.unpack_from("II", counters, 72)
        names = counters[80:80 + names_bytes].split(b"\0")[:columns]
        self.assertTrue(all(name.split(b"/")[0] in (b"net", b"infiniband", b"cxi") for name in names), names)
        self.assertEqual(columns, len(names))
        times = [row[0] for row in struct.iter_unpack(f"{columns + 1}Q", counters[80 + names_bytes:])]
        self.assertEqual(times, sorted(set(times)))
        self.assertGreater(len(times), 1)


if __name__ == "__main__":
    unittest.main()
