"""Runs of real programs in a lab of emulated nodes: what several benchmarks share."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Runs of benchmarks say nothing about the user's clusters. Open MPI asks root twice.
ENVIRONMENT = dict(
    os.environ,
    RANKWRIGHT_SITE="",
    RANKWRIGHT_RECORD="off",
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
)


def default_program():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "rankwright"


def called(words, folder=None, limit=120):
    """Standard output of a command that must succeed."""
    words = [str(word) for word in words]
    done = subprocess.run(
        words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=limit, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def compiled(source, folder):
    """The MPI program that a C file is, compiled into the folder."""
    program = pathlib.Path(folder) / pathlib.Path(source).stem
    called(["mpicc.openmpi", "-O2", "-o", program, source, "-lm"])
    return program


class Lab:
    """A lab of its own, described in `lab.toml` of the folder, until the end of the `with`."""

    def __init__(self, program, folder, up):
        self.program, self.folder, self.up = str(program), pathlib.Path(folder), up
        self.name = f"benchmark-{os.getpid()}"

    def __enter__(self):
        self.rankwright("lab", "up", "--name", self.name, *self.up, "-o", "lab.toml")
        return self

    def __exit__(self, *_):
        self.rankwright("lab", "down", "--name", self.name)

    def rankwright(self, *words, limit=120):
        return called([self.program, "-q", *words], self.folder, limit)

    def counters(self):
        return json.loads(self.rankwright("lab", "counters", "--name", self.name, "--format", "json"))

    def on(self, node, *words):
        """The command line of a command on a node."""
        return [self.program, "lab", "exec", "--name", self.name, node, "--", *map(str, words)]

    def attempt(self, words, limit=60):
        """Runs a command on the head, to its end or the limit in seconds."""
        return subprocess.run(
            self.on("head", "timeout", limit, *words), cwd=self.folder, env=ENVIRONMENT,
            capture_output=True, text=True, check=False,
        )

    def run(self, words, limit=60):
        """Standard output of a run on the head, and the counters before and after; a run that fails is tried once
        more: Open MPI 4.1.4 hangs in one of a hundred starts on a busy machine."""
        for attempt in (1, 2):
            before = self.counters()
            done = self.attempt(words, limit)
            if done.returncode == 0:
                return done.stdout, before, self.counters()
            print(f"attempt {attempt} ended with {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        raise SystemExit("failed twice")
