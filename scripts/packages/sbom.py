#!/usr/bin/env python3
"""Writes the packages that the programs contain as a CycloneDX list (SBOM).

    scripts/packages/sbom.py [--target TRIPLE] FILE

From `cargo metadata`, for the command line without libhwloc and Scotch, as `scripts/packages/build-static` builds it:
what only tests, build scripts and other systems use is left out. Beside these packages: the C libraries inside some of
them, the C library of the system that builds, and the packages of npm in the report page. The same commit on the same
system gives the same file. Needs nothing but Python's standard library.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = "rankwright-cli"
PAGE = ROOT / "crates/rankwright/src/report/page/page.html"
# C libraries whose sources stand in a package: name, licence, and the file that has the numbers of their version.
INSIDE = {
    "libsqlite3-sys": [("sqlite", "blessing", "sqlite3/sqlite3.h", r'define SQLITE_VERSION +"([0-9.]+)"')],
    "metis-sys": [
        ("metis", "Apache-2.0", "vendor/metis/include/metis.h", r"define METIS_VER_\w+ +([0-9]+)"),
        ("gklib", "Apache-2.0 AND LGPL-2.1-or-later", None, None),
    ],
}


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
    parts = beside([packages[package] for package in others])
    # The identity of the list follows from what it lists.
    listed = sorted([*references.values(), *(entry["bom-ref"] for entry in parts)])
    identity = uuid.uuid5(uuid.NAMESPACE_URL, " ".join(listed))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(),
            "component": {**component(packages[root], "application"), "name": "rankwright"},
        },
        "components": [component(packages[package], "library") for package in others] + parts,
        "dependencies": [
            {"ref": references[package], "dependsOn": sorted(references[used] for used in uses[package])}
            for package in sorted(uses, key=references.get)
        ],
    }


def beside(packages):
    """Components that are not Cargo packages."""
    found = [
        part(
            f"pkg:generic/{name}", name, version_inside(package, file, pattern), licence, f"inside {package['name']}"
        )
        for package in packages
        for name, licence, file, pattern in INSIDE.get(package["name"], [])
    ]
    libc, version = os.confstr("CS_GNU_LIBC_VERSION").split()
    found.append(part(f"pkg:generic/{libc}", libc, version, "LGPL-2.1-or-later", "linked statically"))
    for name, version, licence in in_page():
        found.append(part(f"pkg:npm/{name.replace('@', '%40')}", name, version, licence, "in the report page"))
    return sorted(found, key=lambda entry: entry["bom-ref"])


def part(purl, name, version, licence, description):
    reference = f"{purl}@{version}" if version else purl
    entry = {"type": "library", "bom-ref": reference, "name": name, "purl": reference}
    if version:
        entry["version"] = version
    return {**entry, "licenses": [{"expression": licence}], "description": description}


def version_inside(package, file, pattern):
    """The version of a library as its header has it; None if it has none."""
    if file is None:
        return None
    header = pathlib.Path(package["manifest_path"]).parent / file
    numbers = re.findall(pattern, header.read_text(encoding="utf-8"))
    if not numbers:
        raise SystemExit(f"{header}: found no version, expected {pattern}")
    return ".".join(numbers)


def in_page():
    """Name, version and licence of each package of npm, as the end of the built page lists them."""
    text = PAGE.read_text(encoding="utf-8").partition("Licences of the software in this page")[2]
    return sorted(set(re.findall(r"((?:@[\w-]+/)?[\w.-]+) ([0-9]+\.[0-9]+\.[0-9]+) \(([\w.-]+)\)", text)))


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
