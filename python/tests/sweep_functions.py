"""Functions that tests hand to worker processes, and a program for mpirun."""

import sys

import rankwright


def waiting(strategy, seed):
    """The waiting of a strategy, seconds."""
    found = rankwright.simulate("nas:cg.A.16", "paper:2013", strategy=strategy, seed=seed, threads=1)
    return {"waiting_s": found.total_waiting}


def dies(strategy):
    """Ends its process."""
    import os

    os._exit(3)


GRID = {"strategy": ["blocked", "cyclic"], "seed": [1, 2]}

if __name__ == "__main__":
    # mpirun -n 3 python -m mpi4py.futures sweep_functions.py
    from mpi4py import MPI
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as executor:
        found = rankwright.sweep(waiting, GRID, executor=executor)
        plans = rankwright.sweep(
            {"workload": [rankwright.Workload("nas:cg.A.16")], "cluster": ["paper:2013"],
             "strategies": ["blocked", "cyclic"]},
            executor=executor,
        )
    here = rankwright.sweep(waiting, GRID)
    print("same" if list(found) == list(here) else f"differ: {list(found)} {list(here)}")
    print([plan.best for plan in plans], MPI.COMM_WORLD.Get_size())
    sys.stdout.flush()
