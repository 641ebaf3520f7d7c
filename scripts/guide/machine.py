"""What this machine has for the commands of the guide, and the folder in which each page begins."""

import os
import pathlib
import shutil
import subprocess
import sys

from shell import run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# What `run: needs` may say: the programs behind it, and what is missing without them.
NEEDS = {
    "openmpi": (["mpirun", "mpicc", "orted"], "no Open MPI 4"),
    "lstopo": (["lstopo"], "no lstopo"),
    "slurm": (["slurmctld", "slurmd", "srun", "munged"], "no Slurm"),
    "simgrid": (["smpirun"], "no SimGrid"),
    "otf2": (["otf2-print"], "no otf2-print"),
}



class Machine:
    """The folder of all, and what this machine has."""

    def __init__(self, folder, program, python):
        self.folder = folder
        self.program = program
        self.python = python
        tools = folder / "bin"
        tools.mkdir()
        for name in (program.name, "rankwright-exec"):
            (tools / name).symlink_to(program.with_name(name))
        self.environment = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            # The tracer is built once; all else of the home folder is each page's own.
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder / "begin"),
            "TMPDIR": str(folder / "tmp"),
            "LC_ALL": "C.UTF-8",
            "USER": os.environ.get("USER", "root"),
            "SHELL": "/bin/sh",
            "RANKWRIGHT_SITE": "",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            # Readers have a core for each rank; this machine need not.
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        }
        for name in ("OMPI_CC", "CCACHE_DIR"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        for name in ("cache", "tmp", "labs", "pages"):
            (folder / name).mkdir()
        (folder / "tmp").chmod(0o1777)
        self.missing = {name: why for name, (programs, why) in NEEDS.items() if not all(map(shutil.which, programs))}
        if not self.has_lab():
            self.missing["lab"] = "no lab here"
        if python is None:
            self.missing["python"] = "no Python with the package"

    def has_lab(self):
        environment = self.environment | {"RANKWRIGHT_LAB_FOLDER": str(self.folder / "labs" / "trial")}
        for words in (["up", "--nodes", "1", "--cores", "1", "--nic", "100Mbit/s"], ["down"]):
            done = subprocess.run(
                [self.program, "-q", "lab", *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True
            )
            if done.returncode != 0:
                return False
        return True

    def prepare(self):
        """The folder in which each page begins."""
        begin = self.folder / "begin"
        begin.mkdir()
        for name in ("docs", "examples", "papers", "testdata"):
            (begin / name).symlink_to(ROOT / name)
        (begin / "cluster.toml").write_text(
            'name = "lab"\nemulated = true\n\n[[node]]\nnames = "node[0-3]"\ntopology = "pack:1 core:4 pu:1"\n\n'
            '[[node.nic]]\nname = "eth0"\nbandwidth = "100 Mbit/s"\n',
            encoding="utf-8",
        )
        for command in (
            "mpicc -O1 -o heat2d examples/heat2d.c -lm",
            'printf \'#!/bin/sh\\nexec "$(dirname "$0")"/heat2d --iterations 20 --cells 128\\n\' >app && chmod +x app',
            "rankwright -q profile --events --name app -o app.rwp -- mpirun -np 16 ./app",
            "rankwright -q place app.rwp --on cluster.toml --for openmpi4 -o placement.json -- ./app",
        ):
            done = run(command, begin, self.environment)
            if done.code != 0:
                sys.exit(f"before all pages: {command}: exit code {done.code}\n{done.both}")
        shutil.rmtree(begin / "placement.launch", ignore_errors=True)
        return begin
