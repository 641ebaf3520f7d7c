"""Tests of compare_with_hwloc: it sees what differs, and says what is only supposed."""

import pathlib
import types
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "compare_with_hwloc"
script = types.ModuleType("compare_with_hwloc")
script.__file__ = str(SCRIPT)
# Not imported: the name of the script ends as no module's does.
exec(compile(SCRIPT.read_text(encoding="utf-8"), SCRIPT, "exec"), vars(script))


def machine():
    """Two packages with a core, a memory and a device each."""
    return {
        "packages": 2,
        "numa_nodes": [{"os_index": 0, "kind": None}, {"os_index": 8, "kind": None}],
        "cores": [
            {"package": 0, "numa": 0, "pus": [0, 2]},
            {"package": 1, "numa": 1, "pus": [1, 3]},
        ],
        "pus": [{"id": number} for number in (0, 2, 1, 3)],
        "nics": [{"name": "mlx5_0", "aliases": ["ib0"], "near": [1], "pci": "0000:c1:00.0"}],
        "gpus": [{"name": "cuda0", "near": [0], "pci": "0000:41:00.0"}],
    }


def hwloc():
    """The same as hwloc has it."""
    left, right = frozenset([0, 2]), frozenset([1, 3])
    gpu = (0, 0x41, 0, 0)
    return types.SimpleNamespace(
        packages=[left, right],
        cores=[left, right],
        pus=[0, 2, 1, 3],
        numa_nodes=[0, 8],
        memories={0: left, 8: right},
        networks={"mlx5_0": [{8}], "ib0": [{8}]},
        near={gpu: {0}},
        coprocessors={gpu},
    )


def compared(ours, theirs):
    wrong, supposed = [], []
    script.cores(ours, theirs, wrong, supposed)
    script.memories(ours, theirs, wrong, supposed)
    script.devices(ours, theirs, wrong)
    return wrong, supposed


class Comparison(unittest.TestCase):
    def test_the_same_agrees(self):
        self.assertEqual(compared(machine(), hwloc()), ([], []))

    def test_every_difference_is_seen(self):
        changes = {
            "packages": lambda m: m.update(packages=3),
            "PUs P#": lambda m: m["pus"].reverse(),
            "PUs of cores": lambda m: m["cores"][0].update(pus=[0]),
            "cores by L#": lambda m: m["cores"].reverse(),
            "NUMA nodes P#": lambda m: m["numa_nodes"].reverse(),
            "others are closer": lambda m: m["cores"][0].update(numa=1),
            "near mlx5_0": lambda m: m["nics"][0].update(near=[0]),
            "near ib0": lambda m: m["nics"][0].update(aliases=[]),
            "near cuda0": lambda m: m["gpus"][0].update(near=[]),
            "no GPU": lambda m: m["gpus"].clear(),
        }
        for words, change in changes.items():
            ours = machine()
            change(ours)
            self.assertIn(words, " ".join(compared(ours, hwloc())[0]))

    def test_what_hwloc_has_none_of_is_supposed(self):
        ours, theirs = machine(), hwloc()
        theirs.packages, theirs.cores = [], []
        ours["packages"] = 1
        ours["cores"] = [{"package": 0, "numa": n % 2, "pus": [n]} for n in (0, 2, 1, 3)]
        wrong, supposed = compared(ours, theirs)
        self.assertEqual((wrong, len(supposed)), ([], 2))

    def test_what_the_import_loses_is_seen(self):
        group = {"machine": machine(), "free": [True] * 4}
        other = {"machine": machine(), "free": [True, True, True, False]}
        wrong, supposed = [], []
        script.same_when_imported(group, group, wrong, supposed)
        self.assertEqual((wrong, supposed), ([], []))
        script.same_when_imported(group, other, wrong, supposed)
        self.assertEqual(len(wrong), 1)


class Texts(unittest.TestCase):
    def test_bitmaps_and_numbers_are_read(self):
        self.assertEqual(script.bits("0x00000001,,0x80000003"), {0, 1, 31, 64})
        self.assertEqual(script.bits(None), set())
        text = "NUMANode L#1 (P#0 4GB)\nNUMANode(HBM) L#0 (P#8 1GB)\n"
        self.assertEqual(script.in_order(text), [8, 0])
        self.assertEqual(script.address("0001:c1:00.1"), (1, 0xC1, 0, 1))


if __name__ == "__main__":
    unittest.main()
