#!/usr/bin/env python3
"""Checks that every dependency may be used under a licence that fits this project.

    scripts/check_licences.py                 name each dependency that does not fit
    scripts/check_licences.py --notices FILE  write the licence texts of all of them to FILE

The licences stand in deny.toml. Works from `cargo metadata`; needs nothing but Python's standard
library (3.11 or newer).
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
ALLOWED = set(RULES["licenses"]["allow"])
PLATFORMS = RULES["graph"]["targets"]
LGPL = ROOT / "contrib/licences/LGPL-2.1.txt"
# What `cargo metadata` does not tell, or tells under the licence of the package around it.
PARTS_BESIDE = """\
These parts stand in no package of their own, or under another licence than the package around them:

- METIS (in metis-sys) sorts by macros of GKlib's gk_mksort.h, which are from the GNU C Library: LGPL-2.1-or-later.
- Programs that need no shared libraries contain the GNU C Library: LGPL-2.1-or-later, as below.
- All programs contain Rust's standard library: MIT OR Apache-2.0.
- Report pages contain packages of npm, whose licences stand at the end of each page.

rankwright's source, with what builds these programs, is public: they can be linked anew with a changed C library or
GKlib."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--notices", metavar="FILE", type=pathlib.Path)
    notices = arguments.parse_args().notices
    metadata = cargo_metadata()
    wrong = offenders(metadata)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    dependencies = third_party(metadata)
    if notices is not None:
        notices.write_text(notices_text(dependencies), encoding="utf-8")
    print(f"{len(dependencies)} dependencies, each under a licence that fits")
    return 0


def cargo_metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += [word for platform in PLATFORMS for word in ("--filter-platform", platform)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def third_party(metadata):
    """The packages that are not this project's own, by name and version."""
    own = set(metadata["workspace_members"])
    packages = [package for package in metadata["packages"] if package["id"] not in own]
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def offenders(metadata):
    """One line for each dependency whose licence does not fit, with how it comes in."""
    lines = []
    for package in third_party(metadata):
        why = objection(package.get("license"))
        if why:
            path = " > ".join(path_to(metadata, package["id"]))
            lines.append(f"{package['name']} {package['version']}: {why} (comes in by {path})")
    return lines


def objection(expression):
    """Why a licence expression does not fit; None if it does."""
    if not expression:
        return "states no licence expression, expected one like `MIT OR Apache-2.0`"
    try:
        fits = Expression(expression).fits()
    except ValueError as error:
        return f"licence `{expression}` cannot be read: {error}"
    return None if fits else f"licence `{expression}` is not covered by the allowed ones"


class Expression:
    """An SPDX licence expression; `/` is read as the `OR` it meant before SPDX."""

    def __init__(self, text):
        self.tokens = re.findall(r"[()/]|[^\s()/]+", text)
        self.at = 0

    def fits(self):
        result = self.any_of()
        if self.at != len(self.tokens):
            raise ValueError(f"found `{self.tokens[self.at]}`, expected the end")
        return result

    def any_of(self):
        result = self.all_of()
        while self.next_is("OR", "/"):
            result |= self.all_of()
        return result

    def all_of(self):
        result = self.one()
        while self.next_is("AND"):
            result &= self.one()
        return result

    def one(self):
        if self.next_is("("):
            result = self.any_of()
            if not self.next_is(")"):
                raise ValueError("a `(` is not closed")
            return result
        name = self.take("a licence")
        # An exception only adds to what the licence permits.
        if self.next_is("WITH"):
            self.take("an exception")
        return name in ALLOWED or name.removesuffix("+") in ALLOWED

    def next_is(self, *words):
        found = self.at < len(self.tokens) and self.tokens[self.at].upper() in words
        self.at += found
        return found

    def take(self, expected):
        if self.at == len(self.tokens) or self.tokens[self.at] in ("(", ")", "/", "OR", "AND", "WITH"):
            raise ValueError(f"expected {expected} at `{' '.join(self.tokens[self.at:])}`")
        self.at += 1
        return self.tokens[self.at - 1]


def path_to(metadata, wanted):
    """The shortest way from a package of this project to a dependency, as names."""
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    uses = {node["id"]: sorted(node["dependencies"]) for node in metadata["resolve"]["nodes"]}
    came_from = {member: None for member in sorted(metadata["workspace_members"])}
    queue = collections.deque(came_from)
    while queue:
        package = queue.popleft()
        for dependency in uses.get(package, []):
            if dependency not in came_from:
                came_from[dependency] = package
                queue.append(dependency)
    path = []
    while wanted is not None:
        path.append(names.get(wanted, wanted))
        wanted = came_from.get(wanted)
    return path[::-1]


def notices_text(dependencies):
    """The licence texts that come with the dependencies; what several share is written once."""
    packages = {}
    for package in dependencies:
        name = f"{package['name']} {package['version']} ({package['license']})"
        folder = pathlib.Path(package["manifest_path"]).parent
        # What a package contains of others has its licence deeper.
        for path in filter(is_licence, sorted(folder.rglob("*"))):
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            packages.setdefault(text, []).append(name)
    parts = [PARTS_BESIDE, "-" * 80, LGPL.read_text(encoding="utf-8").strip(), "=" * 80]
    parts += ["rankwright contains or links these packages, each under the licence below its name."]
    for text, names in packages.items():
        parts += ["=" * 80, "\n".join(names), "-" * 80, text]
    return "\n".join(parts) + "\n"


def is_licence(path):
    return path.is_file() and re.match(r"(licen[cs]e|copying|notice|unlicense)", path.name, re.I)


if __name__ == "__main__":
    sys.exit(main())
