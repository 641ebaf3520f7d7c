"""Runs of exchange.c in a lab: what the benchmarks of this folder share."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def default_program():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "rankwright"


def called(arguments, limit=120):
    done = subprocess.run([str(word) for word in arguments], capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


class Lab:
    """A lab of its own in which exchange runs; what it needs is in `folder`."""

    def __init__(self, program, folder, up):
        self.program, self.folder, self.name = program, folder, f"benchmark-{os.getpid()}"
        called(["mpicc.openmpi", "-O2", "-o", folder / "exchange", HERE / "exchange.c"])
        called([program, "-q", "lab", "up", "--name", self.name, *up, "-o", folder / "lab.toml"])

    def close(self):
        called([self.program, "-q", "lab", "down", "--name", self.name])

    def counters(self):
        return json.loads(called([self.program, "lab", "counters", "--name", self.name, "--format", "json"]))

    def run(self, words):
        """Standard output of a run; a run that hangs is tried once more."""
        for attempt in (1, 2):
            run = [self.program, "lab", "exec", "--name", self.name, "head", "--", *map(str, words)]
            before = self.counters()
            done = subprocess.run(run, capture_output=True, text=True, cwd=self.folder, check=False)
            if done.returncode == 0:
                return done.stdout, before, self.counters()
            print(f"attempt {attempt} ended with {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        raise SystemExit("failed twice")


def write_traffic(folder, name, pairs, rounds, ranks, rate=None):
    """Writes pairs (source, destination, bytes of a round) as exchange and as rankwright read them."""
    (folder / f"{name}.pairs").write_text("".join(f"{a} {b} {length}\n" for a, b, length in pairs))
    lines = [f"exchange,{a},{b},{rounds},{length * rounds},{length}\n" for a, b, length in pairs]
    (folder / f"{name}.csv").write_text("job,source,destination,messages,bytes,largest\n" + "".join(lines))
    (folder / f"{name}.toml").write_text(f'[[job]]\nprocesses = {ranks}\ngraph = "{name}.csv"\n' + (f'rate = "{rate}"\n' if rate else ""))


def seconds_of(output):
    return float(next(line.split()[1] for line in output.splitlines() if line.startswith("seconds")))
