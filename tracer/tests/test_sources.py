"""The sources: generated files are current, and folders and files include one another in one direction."""

import graphlib
import re
import subprocess
import unittest

from harness import TRACER, compile_with, need, new_folder

SRC = TRACER / "src"


def folders():
    """The folders of src/ in the order of the table in README.md: each includes only those before it."""
    table = (TRACER / "README.md").read_text().split("| folder of `src/` |")[1].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)


def includes():
    """(file, included file) below src/."""
    for path in sorted(SRC.rglob("*.[ch]")):
        for name in re.findall(r'^#include "(.+)"$', path.read_text(), re.MULTILINE):
            target = (path.parent / name).resolve()
            if target.is_relative_to(SRC):
                yield path.relative_to(SRC), target.relative_to(SRC)


class Sources(unittest.TestCase):
    def test_generated_files_are_current(self):
        result = subprocess.run(["python3", TRACER / "tools/generate.py", "--check"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_folder_includes_only_those_above_it_in_the_table(self):
        order = folders()
        self.assertEqual(sorted(order), sorted(path.name for path in SRC.iterdir()))
        for path, target in includes():
            self.assertLessEqual(order.index(target.parts[0]), order.index(path.parts[0]), f"{path} includes {target}")

    def test_files_do_not_include_each_other(self):
        """A source and its header count as one file."""
        graph = {}
        for path, target in includes():
            if path.with_suffix("") != target.with_suffix(""):
                graph.setdefault(path.with_suffix(""), set()).add(target.with_suffix(""))
        graphlib.TopologicalSorter(graph).prepare()  # raises CycleError

    def test_no_folder_has_more_than_15_entries(self):
        for folder in (TRACER, *(path for path in TRACER.rglob("*") if path.is_dir() and path.name != "__pycache__")):
            entries = [path for path in folder.iterdir() if path.name != "__pycache__"]
            self.assertLessEqual(len(entries), 15, folder)

    def test_hash_table(self):
        need("cc")
        with new_folder() as folder:
            compile_with("cc", "-O1", "-std=c11", "-Wall", "-Wextra", "-Werror",
                         TRACER / "tests/programs/hash_table_test.c", SRC / "storage/hash_table.c",
                         SRC / "storage/allocate.c", "-o", folder / "test")
            result = subprocess.run([folder / "test"], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.stdout, "fine\n")
