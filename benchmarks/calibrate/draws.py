#!/usr/bin/env python3
"""Hides a random rate in each of several labs and lets `rankwright calibrate` find it; with --delay also a latency.

    benchmarks/calibrate/draws.py [--draws 10] [--seed 1] [--nodes 4] [--cores 2] [--time-per-item "2 s"] [--delay]

Prints a table and ends with 1 if a rate is off by more than 5 %, or a latency by more than 10 %. Needs what
`rankwright lab` needs, Open MPI, and a built rankwright (RANKWRIGHT, by default target/debug/rankwright or
target/release/rankwright, the newer one; LAB_PROGRAM: one that makes the labs, by default the same).
"""
import argparse
import json
import os
import pathlib
import random
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lab_runs import ROOT, Lab  # noqa: E402 (found by the line above)

WITHIN = 0.05
LATENCY_WITHIN = 0.10


def program():
    built = [ROOT / "target" / kind / "rankwright" for kind in ("debug", "release")]
    built = sorted((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime)
    return os.environ.get("RANKWRIGHT") or (str(built[-1]) if built else "rankwright")


def draw(rankwright, rate, delay, options, folder):
    """The rates that calibrate finds in a lab whose devices have this many Mbit/s and this latency in us."""
    up = ["--nodes", options.nodes, "--cores", options.cores, "--nic", f"{rate} Mbit/s"]
    up += ["--delay", f"{delay} us"] if delay else []
    with Lab(os.environ.get("LAB_PROGRAM") or rankwright, folder, up) as lab:
        file = folder / "lab.toml"
        lines = file.read_text().splitlines(keepends=True)
        # The description must not tell the rate.
        file.write_text("".join(line for line in lines if not line.startswith(("bandwidth", "latency"))))
        calibrate = [rankwright, "calibrate", "--on", "lab.toml", "--for", options.launcher, "--format", "json"]
        calibrate += ["--time-per-item", options.time_per_item, "--force"]
        result = json.loads(lab.run(calibrate, limit=600)[0])
    return {row["rate"]: row for row in result["rates"]}, result["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--launcher", default="openmpi4")
    parser.add_argument("--time-per-item", default="2 s")
    parser.add_argument("--delay", action="store_true", help="hide a latency of 1 to 5 ms too")
    options = parser.parse_args()
    numbers = random.Random(options.seed)
    failed = 0
    print("| draw | hidden, Mbit/s | payload found | of hidden | on the wire | spread | hidden, us | found | of hidden | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for number in range(1, options.draws + 1):
        rate, delay = numbers.randint(50, 200), numbers.randint(1000, 5000)
        delay = delay if options.delay else 0
        with tempfile.TemporaryDirectory() as folder:
            rates, seconds = draw(program(), rate, delay, options, pathlib.Path(folder))
        found = rates["nic_bandwidth"]["value"] * 8e-6
        wire = found * rates["wire_per_byte"]["value"] if "wire_per_byte" in rates else float("nan")
        latency = rates["nic_latency"]["value"] * 1e6
        of_delay = latency / delay if delay else float("nan")
        failed += abs(found / rate - 1) > WITHIN or (delay > 0 and abs(of_delay - 1) > LATENCY_WITHIN)
        spread = 100 * rates["nic_bandwidth"]["spread"]
        print(f"| {number} | {rate} | {found:.1f} | {found / rate:.3f} | {wire / rate:.3f} | {spread:.1f} % "
              f"| {delay or '-'} | {latency:.0f} | {of_delay:.3f} | {seconds:.0f} |".replace("nan", "-"),
              flush=True)
    print(f"\n{options.draws - failed} of {options.draws} within {WITHIN:.0%}" + (f" and {LATENCY_WITHIN:.0%}" if options.delay else ""))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
