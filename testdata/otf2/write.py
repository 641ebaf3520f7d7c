#!/usr/bin/python3
"""Writes the OTF2 archive that the tests read, a run of four ranks on two hosts:

    rm -r testdata/otf2/halo && testdata/otf2/write.py testdata/otf2
    otf2-print --show-all testdata/otf2/halo/traces.otf2 >testdata/otf2/halo.txt

Needs python3-otf2 and otf2-tools.
"""

import pathlib
import sys

import otf2
from otf2.enums import (
    CollectiveOp,
    GroupType,
    LocationGroupType,
    LocationType,
    Paradigm,
    RegionRole,
    RmaAtomicType,
    RmaSyncLevel,
)
from otf2 import events

# The bindings let InterComm inherit the fields of Comm, some of which it does not have.
INTER_COMM = {field.name: field for field in otf2.definitions.InterComm._fields}
otf2.definitions.InterComm._fields = tuple(
    INTER_COMM[name] for name in ("name", "groupA", "groupB", "parent", "flags")
)

TICKS_PER_SECOND = 1_000_000
START = 5_000_000


class Run:
    """The definitions of a run of four ranks; rank 1 has a second thread."""

    def __init__(self, trace):
        self.writers = {}
        definitions = trace.definitions
        machine = definitions.system_tree_node("cluster", class_name="machine")
        # Score-P counts locations by process and thread, not by rank.
        threads = []
        for rank in range(4):
            host = f"n{rank // 2}"
            node = definitions.system_tree_node(host, class_name="node", parent=machine)
            process = definitions.location_group(
                f"MPI Rank {rank}", location_group_type=LocationGroupType.PROCESS, system_tree_parent=node
            )
            threads.append(
                definitions.location("Master thread", type=LocationType.CPU_THREAD, group=process)
            )
            self.writers[rank] = trace.event_writer_from_location(threads[rank])
            if rank == 1:
                worker = definitions.location(
                    'OMP "worker" <3>', type=LocationType.CPU_THREAD, group=process
                )
                self.writers["worker of 1"] = trace.event_writer_from_location(worker)
        # The world is numbered against the order of the locations.
        world = [threads[rank] for rank in (3, 2, 1, 0)]
        definitions.group(
            "", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=world
        )

        def group(*members):
            return definitions.group(
                "",
                group_type=GroupType.COMM_GROUP,
                paradigm=Paradigm.MPI,
                members=[world[rank] for rank in members],
            )

        self.world = definitions.comm("MPI_COMM_WORLD", group=group(0, 1, 2, 3))
        itself = definitions.group(
            "", group_type=GroupType.COMM_SELF, paradigm=Paradigm.MPI, members=()
        )
        self.itself = definitions.comm("MPI_COMM_SELF", group=itself)
        odd = group(3, 1)
        self.odd = definitions.comm('odd "ones", Tag: 5 <9>', group=odd, parent=self.world)
        self.between = definitions.inter_comm("", groupA=group(0, 2), groupB=odd)
        self.window = definitions.rma_win("Win 1", comm=self.odd)
        self.regions = {
            name: definitions.region(name, paradigm=Paradigm.MPI, region_role=RegionRole.FUNCTION)
            for name in (
                "MPI_Init",
                "MPI_Finalize",
                "MPI_Send",
                "MPI_Isend",
                "MPI_Irecv",
                "MPI_Recv",
                "MPI_Waitall",
                "MPI_Allreduce",
                "MPI_Bcast",
                "MPI_Ibarrier",
                "MPI_Alltoallv",
                "MPI_Put",
                "MPI_Comm_split",
            )
        }
        self.regions["main"] = definitions.region("main", paradigm=Paradigm.COMPILER)

    def writer(self, rank):
        """The master thread of a rank of MPI_COMM_WORLD."""
        return self.writers[3 - rank]


def at(microseconds):
    return START + microseconds


def inside(writer, run, name, begin, end, *between):
    """A call of `name`, with the records that stand inside."""
    writer(events.Enter(at(begin), run.regions[name]))
    for record in between:
        writer(record)
    writer(events.Leave(at(end), run.regions[name]))


def ring(run, rank):
    """Every rank sends 100, 200 and 400 bytes to the next; then they add something up."""
    write = run.writer(rank)
    write(events.ProgramBegin(at(rank), "/home/someone/halo", []))
    write(events.Enter(at(rank), run.regions["main"]))
    inside(write, run, "MPI_Init", 10, 1000)
    for step in range(3):
        begin = 2000 + 1000 * step
        request = step + 1
        inside(
            write,
            run,
            "MPI_Isend",
            begin,
            begin + 10,
            events.MpiIsend(at(begin + 5), (rank + 1) % 4, run.world, 7, 100 << step, request),
        )
        inside(
            write,
            run,
            "MPI_Irecv",
            begin + 20,
            begin + 30,
            events.MpiIrecvRequest(at(begin + 25), request + 100),
        )
        inside(
            write,
            run,
            "MPI_Waitall",
            begin + 100,
            begin + 300,
            events.MpiIsendComplete(at(begin + 250), request),
            events.MpiIrecv(at(begin + 260), (rank + 3) % 4, run.world, 7, 100 << step, request + 100),
        )
    sum_of_all = (CollectiveOp.ALLREDUCE, run.world, 2**32 - 1)
    inside(
        write,
        run,
        "MPI_Allreduce",
        6000,
        6100,
        events.MpiCollectiveBegin(at(6000)),
        events.MpiCollectiveEnd(at(6100), *sum_of_all, 32, 32),
    )


def end(run, rank):
    write = run.writer(rank)
    inside(write, run, "MPI_Finalize", 11_000, 12_000)
    write(events.Leave(at(12_001 + rank), run.regions["main"]))
    write(events.ProgramEnd(at(12_001 + rank), 0))


def halo(trace):
    run = Run(trace)
    for rank in range(4):
        ring(run, rank)
    for rank in (1, 3):
        write = run.writer(rank)
        # Rank 3 is rank 0 of `odd`, and the root.
        sent, received = (80, 40) if rank == 3 else (0, 40)
        inside(
            write,
            run,
            "MPI_Bcast",
            7000,
            7050,
            events.MpiCollectiveBegin(at(7000)),
            events.MpiCollectiveEnd(at(7050), CollectiveOp.BCAST, run.odd, 0, sent, received),
        )
    one, two, three = run.writer(1), run.writer(2), run.writer(3)
    # Rank 1 is rank 1 of `odd`: 64 bytes to its rank 0, which is rank 3.
    inside(one, run, "MPI_Send", 7100, 7110, events.MpiSend(at(7105), 0, run.odd, 1, 64))
    # To itself.
    inside(one, run, "MPI_Send", 7150, 7160, events.MpiSend(at(7155), 0, run.itself, 1, 5))
    # Between groups: the receiver is a rank of the other group. Rank 2 (group A) to rank 1 of B.
    inside(two, run, "MPI_Send", 7200, 7210, events.MpiSend(at(7205), 1, run.between, 1, 33))
    inside(three, run, "MPI_Send", 7300, 7310, events.MpiSend(at(7305), 0, run.between, 1, 44))
    inside(
        three,
        run,
        "MPI_Put",
        7400,
        7410,
        events.RmaPut(at(7401), run.window, 1, 4096, 0),
        events.RmaGet(at(7402), run.window, 1, 512, 1),
        events.RmaAtomic(at(7403), run.window, 1, RmaAtomicType.FETCH_AND_ADD, 8, 8, 2),
    )
    world = (run.world, 2**32 - 1)
    for rank in range(4):
        write = run.writer(rank)
        inside(
            write,
            run,
            "MPI_Ibarrier",
            8000,
            8010,
            events.NonBlockingCollectiveRequest(at(8005), 9),
        )
        inside(
            write,
            run,
            "MPI_Waitall",
            8100,
            8200,
            events.NonBlockingCollectiveComplete(
                at(8190), CollectiveOp.BARRIER, *world, 0, 0, 9
            ),
        )
        inside(
            write,
            run,
            "MPI_Alltoallv",
            8300,
            8400,
            events.MpiCollectiveBegin(at(8300)),
            events.MpiCollectiveEnd(at(8400), CollectiveOp.ALLTOALLV, *world, 400, 400),
        )
        inside(
            write,
            run,
            "MPI_Comm_split",
            8500,
            8600,
            events.MpiCollectiveBegin(at(8500)),
            events.MpiCollectiveEnd(at(8600), CollectiveOp.CREATE_HANDLE, *world, 0, 0),
        )
        write(events.RmaCollectiveBegin(at(8700)))
        write(
            events.RmaCollectiveEnd(
                at(8710),
                CollectiveOp.CREATE_HANDLE,
                RmaSyncLevel.PROCESS,
                run.window,
                2**32 - 1,
                0,
                0,
            )
        )
    # The second thread of the process of location 1 sends too (rank 2 of the world).
    worker = run.writers["worker of 1"]
    inside(worker, run, "MPI_Send", 9000, 9020, events.MpiSend(at(9010), 3, run.world, 1, 1000))
    for rank in range(4):
        end(run, rank)


def main():
    folder = pathlib.Path(sys.argv[1])
    with otf2.writer.open(str(folder / "halo"), timer_resolution=TICKS_PER_SECOND) as trace:
        halo(trace)


if __name__ == "__main__":
    main()
