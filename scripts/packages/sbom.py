#!/usr/bin/env python3
"""Writes the packages that the programs contain as a CycloneDX list (SBOM).

    scripts/packages/sbom.py [--target TRIPLE] FILE

From `cargo metadata`, for the command line without libhwloc and Scotch, as `scripts/packages/build-static` builds it:
what only tests, build scripts and other systems use is left out. The same commit gives the same file.
Needs nothing but Python's standard library.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = "rankwright-cli"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--target", metavar="TRIPLE", default="x86_64-unknown-linux-gnu")
    arguments.add_argument("file", metavar="FILE", type=pathlib.Path)
    given = arguments.parse_args()
    text = json.dumps(document(metadata(given.target)), indent=2) + "\n"
    given.file.write_text(text, encoding="utf-8")
    print(f"{given.file}: {len(json.loads(text)['components'])} packages")
    return 0


def metadata(target):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    command += ["--no-default-features", "--manifest-path", ROOT / "crates" / PROGRAM / "Cargo.toml"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def linked(metadata):
    """The ids of the packages in the programs, and for each those that it uses directly."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    root = next(package for package in nodes if names[package] == PROGRAM)
    uses, queue = {}, [root]
    while queue:
        package = queue.pop()
        if package in uses:
            continue
        # Neither what tests use nor what build scripts use is in the programs.
        direct = [
            dependency["pkg"]
            for dependency in nodes[package]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
        uses[package] = sorted(direct)
        queue += direct
    return root, uses


def document(metadata):
    root, uses = linked(metadata)
    packages = {package["id"]: package for package in metadata["packages"]}
    references = {package: reference(packages[package]) for package in uses}
    others = sorted((package for package in uses if package != root), key=references.get)
    # The identity of the list follows from what it lists.
    identity = uuid.uuid5(uuid.NAMESPACE_URL, " ".join(sorted(references.values())))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(),
            "component": {**component(packages[root], "application"), "name": "rankwright"},
        },
        "components": [component(packages[package], "library") for package in others],
        "dependencies": [
            {"ref": references[package], "dependsOn": sorted(references[used] for used in uses[package])}
            for package in sorted(uses, key=references.get)
        ],
    }


def timestamp():
    """The time of the commit, so that the same commit gives the same file."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if seconds is None:
        command = ["git", "-C", ROOT, "log", "-1", "--format=%ct"]
        seconds = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    time = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def reference(package):
    """The package URL."""
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, kind):
    entry = {
        "type": kind,
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package.get("license"):
        # Before SPDX, a slash meant OR.
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package.get("description"):
        entry["description"] = " ".join(package["description"].split())
    return entry


if __name__ == "__main__":
    sys.exit(main())
