"""Runs of exchange.c: what both benchmarks of this folder share."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lab_runs import Lab, called, compiled, default_program  # noqa: E402, F401 (found by the line above; passed on to `run` and `tiers`)


def write_traffic(folder, name, pairs, rounds, ranks, rate=None):
    """Writes pairs (source, destination, bytes of a round) as exchange and as rankwright read them."""
    (folder / f"{name}.pairs").write_text("".join(f"{a} {b} {length}\n" for a, b, length in pairs))
    lines = [f"exchange,{a},{b},{rounds},{length * rounds},{length}\n" for a, b, length in pairs]
    (folder / f"{name}.csv").write_text("job,source,destination,messages,bytes,largest\n" + "".join(lines))
    (folder / f"{name}.toml").write_text(f'[[job]]\nprocesses = {ranks}\ngraph = "{name}.csv"\n' + (f'rate = "{rate}"\n' if rate else ""))


def seconds_of(output):
    return float(next(line.split()[1] for line in output.splitlines() if line.startswith("seconds")))
