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
        components = sbom.document(METADATA)["components"]
        names = [entry["name"] for entry in components if entry["purl"].startswith("pkg:cargo")]
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

    def test_what_is_no_package_of_cargo_is_listed_too(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "sqlite3/sqlite3.h"
            header.parent.mkdir()
            header.write_text('#define SQLITE_VERSION        "3.1.2"\n', encoding="utf-8")
            sqlite = {"name": "libsqlite3-sys", "manifest_path": f"{folder}/Cargo.toml"}
            found = {entry["bom-ref"]: entry for entry in sbom.beside([sqlite])}
        self.assertEqual(found["pkg:generic/sqlite@3.1.2"]["licenses"], [{"expression": "blessing"}])
        plot = [entry for name, entry in found.items() if name.startswith("pkg:npm/%40observablehq/plot@")]
        self.assertEqual((len(plot), plot[0]["licenses"]), (1, [{"expression": "ISC"}]))
        self.assertTrue(any(name.startswith("pkg:generic/glibc@") for name in found))

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
