#!/usr/bin/env python3
"""Runs the commands of the guide and of the read-me files as a reader would, and checks every option they name.

    python3 scripts/guide/check_commands.py [--program target/debug/rankwright] [--python PYTHON] [PAGE..]

Blocks marked `console` (commands behind `$ `, what they print below) and `sh` are run, those marked `python` if
PYTHON has the package. The blocks of a page run in order in one folder, which begins with `app` (an MPI program),
its profile `app.rwp`, and its `cluster.toml` and `placement.json`; pages run beside each other. In it are also `docs`,
`examples`, `papers` and `testdata`. The home folder is `/home/me` in what is printed, the programs lie in `/usr/bin`.

A command must succeed and print what stands below it, where anything does: `...` stands for any lines. Comments
on the lines before a block say more:

    <!-- run: needs lab, slurm -->      left out where these are missing
    <!-- run: on head -->               on the head of the page's lab, as on the login node of a cluster
    <!-- run: numbers vary -->          not compared are numbers, their units, the width of columns, and which
                                        strategy is `best`
    <!-- run: order varies -->          nor is the order of lines
    <!-- run: takes long -->            left out with a debug build
    <!-- run: exits 5 -->               the exit code of the last command of the block; `exits 5, 0`: of each
    <!-- before: COMMAND -->            run first, unseen by the reader
    <!-- after: COMMAND -->             run last, likewise, such as `cmp` of a picture with that of the guide
    <!-- not run: REASON -->            only its options are checked

Options are checked in all blocks and in `code` within the text: `rankwright COMMAND --option`, `COMMAND --option`
and `--option` alone must be what the manual pages have, or an option of another program in FOREIGN of options.py.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile

import manual_pages
from blocks import PageError
from machine import ROOT, Machine
from options import Options, wrong_options
from reading import Reading

SLOW = 4.0  # seconds of a page that is named at the end


def pages():
    found = sorted((ROOT / "docs" / "src").rglob("*.md")) + [
        ROOT / name for name in ("README.md", "python/README.md", "examples/README.md")
    ]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in found}


def run_pages(given, texts, program):
    """Reads the pages, some at a time; none where there is no Open MPI."""
    # Outputs say how many PUs there are for the ranks: two everywhere.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pages-")).resolve()
    try:
        machine = Machine(folder, program, given.python)
        if "openmpi" in machine.missing:
            print("SKIPPED: the commands of the guide: no Open MPI")
            return []
        begin = machine.prepare()
        chosen = {page: text for page, text in texts.items() if page in given.pages or not given.pages}
        # Most of a page's time is waiting for launchers. The longest texts first.
        order = sorted(chosen, key=lambda page: -len(chosen[page]))
        with concurrent.futures.ThreadPoolExecutor(4) as executor:
            return list(executor.map(lambda page: Reading(page, chosen[page], machine, begin).read(), order))
    finally:
        if given.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    arguments = argparse.ArgumentParser(description="Runs the commands of the guide")
    arguments.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "debug" / "rankwright")
    arguments.add_argument("--python", type=pathlib.Path, help="a Python that has the package")
    arguments.add_argument("--options-only", action="store_true", help="run nothing")
    arguments.add_argument("--keep", action="store_true", help="keep the folders of the pages")
    arguments.add_argument("pages", nargs="*", metavar="PAGE")
    given = arguments.parse_args()
    program = given.program.resolve()
    if not program.exists():
        sys.exit(f"{program}: not built: `cargo build -p rankwright-cli`, or name another with --program")

    texts = pages()
    unknown = [page for page in given.pages if page not in texts]
    if unknown:
        sys.exit(f"{unknown[0]}: no such page; pages are named like docs/src/lab.md")
    options = Options(manual_pages.of(program))
    wrong = [line for page, text in texts.items() for line in wrong_options(page, text, options)]
    readings = [] if given.options_only else run_pages(given, texts, program)
    for reading in sorted(readings, key=lambda reading: reading.page):
        wrong += reading.wrong
    if readings:
        summarise(readings)
    # At the end: who reads a log of an hour ago may have no more than that.
    sys.stdout.flush()
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def summarise(readings):
    counts = [("commands run", sum(reading.ran for reading in readings))]
    left_out = sum((reading.left_out for reading in readings), collections.Counter())
    skipped = {why: number for why, number in left_out.items() if why.startswith("SKIPPED: ")}
    counts += [(why, number) for why, number in left_out.most_common() if why not in skipped]
    counts += list(skipped.items())
    for what, number in counts:
        print(f"{number:6}  {what}")
    slow = sorted((reading for reading in readings if reading.seconds > SLOW), key=lambda reading: -reading.seconds)
    if slow:
        print("slow: " + ", ".join(f"{reading.page} {reading.seconds:.0f} s" for reading in slow))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageError as error:
        sys.exit(str(error))
