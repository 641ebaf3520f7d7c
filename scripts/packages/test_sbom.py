"""Tests of the list of packages."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import sbom


def package(name, licence="MIT"):
    return {"id": name, "name": name, "version": "1.0.0", "license": licence, "description": "a\n b"}


def dependency(name, *kinds):
    return {"pkg": name, "dep_kinds": [{"kind": kind} for kind in kinds]}


METADATA = {
    "packages": [package(name) for name in (sbom.PROGRAM, "used", "deep", "tests", "build")],
    "resolve": {
        "nodes": [
            {
                "id": sbom.PROGRAM,
                "deps": [dependency("used", None, "dev"), dependency("tests", "dev"), dependency("build", "build")],
            },
            {"id": "used", "deps": [dependency("deep", None)]},
            {"id": "deep", "deps": []},
            {"id": "tests", "deps": []},
            {"id": "build", "deps": []},
        ]
    },
}


class Sbom(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "86400"})
        patch.start()
        self.addCleanup(patch.stop)

    def test_what_only_tests_and_build_scripts_use_is_not_listed(self):
        names = [entry["name"] for entry in sbom.document(METADATA)["components"]]
        self.assertEqual(names, ["deep", "used"])

    def test_the_same_packages_give_the_same_list(self):
        document = sbom.document(METADATA)
        self.assertEqual(document, sbom.document(METADATA))
        self.assertEqual(document["metadata"]["timestamp"], "1970-01-02T00:00:00Z")
        self.assertEqual(document["metadata"]["component"]["name"], "rankwright")
        self.assertIn(
            {"ref": "pkg:cargo/used@1.0.0", "dependsOn": ["pkg:cargo/deep@1.0.0"]},
            document["dependencies"],
        )

    def test_a_slash_is_an_or(self):
        entry = sbom.component(package("old", "MIT/Apache-2.0"), "library")
        self.assertEqual(entry["licenses"], [{"expression": "MIT OR Apache-2.0"}])
        self.assertEqual(entry["description"], "a b")

    def test_the_file_is_json(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "sbom.json"
            with mock.patch("sbom.metadata", return_value=METADATA), mock.patch("sys.argv", ["sbom", str(file)]):
                self.assertEqual(sbom.main(), 0)
            self.assertEqual(json.loads(file.read_text(encoding="utf-8"))["bomFormat"], "CycloneDX")


if __name__ == "__main__":
    unittest.main()
