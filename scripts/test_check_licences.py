"""Tests of check_licences.py."""

import pathlib
import tempfile
import unittest

import check_licences
from check_licences import objection


def metadata(**licences):
    """A project `app` that uses `first`, which uses all packages named here."""
    packages = {"app": "MIT", "first": "MIT", **licences}
    return {
        "workspace_members": ["app"],
        "packages": [
            {"id": name, "name": name, "version": "1.0.0", "license": licence}
            for name, licence in packages.items()
        ],
        "resolve": {
            "nodes": [
                {"id": "app", "dependencies": ["first"]},
                {"id": "first", "dependencies": sorted(licences)},
            ]
        },
    }


class Expressions(unittest.TestCase):
    def test_one_of_several_is_enough(self):
        for text in (
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ):
            self.assertIsNone(objection(text), text)

    def test_all_of_several_are_needed(self):
        for text in (
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT OR Apache-2.0) AND GPL-2.0-or-later",
            # AND binds more tightly than OR.
            "GPL-2.0-only AND MIT OR LGPL-3.0-only",
        ):
            self.assertIn("not covered", objection(text), text)

    def test_a_missing_or_broken_expression_is_an_objection(self):
        self.assertIn("states no licence", objection(None))
        self.assertIn("states no licence", objection(""))
        for text in ("MIT OR", "(MIT", "MIT Apache-2.0", "OR MIT", "MIT WITH"):
            self.assertIn("cannot be read", objection(text), text)


class Offenders(unittest.TestCase):
    def test_an_offender_is_named_with_its_path(self):
        self.assertEqual(
            check_licences.offenders(metadata(fine="MIT", odd="AGPL-3.0-only")),
            [
                "odd 1.0.0: licence `AGPL-3.0-only` is not covered by the allowed ones"
                " (comes in by app > first > odd)"
            ],
        )

    def test_the_project_itself_is_not_checked(self):
        self.assertEqual(check_licences.offenders(metadata()), [])


class Notices(unittest.TestCase):
    def test_licences_of_vendored_parts_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            deeper = pathlib.Path(folder) / "vendor/part"
            deeper.mkdir(parents=True)
            (deeper / "LICENSE.txt").write_text("the licence of the part\n", encoding="utf-8")
            manifest = str(pathlib.Path(folder) / "Cargo.toml")
            package = {"name": "whole", "version": "1.0.0", "license": "MIT", "manifest_path": manifest}
            text = check_licences.notices_text([package])
        self.assertIn("whole 1.0.0 (MIT)", text)
        self.assertIn("the licence of the part", text)
        self.assertIn("GNU LESSER GENERAL PUBLIC LICENSE", text)


if __name__ == "__main__":
    unittest.main()
