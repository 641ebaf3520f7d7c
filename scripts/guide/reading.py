"""One page of the guide, read by a reader who types all that it says."""

import collections
import pathlib
import re
import shlex
import shutil
import time

from blocks import blocks_of, steps
from machine import NEEDS
from outputs import comparison, trimmed
from shell import run

# Whose console blocks a test in Rust runs, with their outputs to the letter.
RUN_ELSEWHERE = {
    "docs/src/launchers": "run by crates/rankwright-cli/tests/it/pages.rs",
    "docs/src/nics": "run by crates/rankwright-cli/tests/it/pages.rs",
}



class Reading:
    """One page, read by a reader who types all that it says."""

    def __init__(self, page, text, machine, begin):
        self.page, self.machine = page, machine
        self.blocks = blocks_of(page, text)
        self.folder = machine.folder / "pages" / page.replace("/", "_").removesuffix(".md")
        self.begin = begin
        self.labs = machine.folder / "labs" / self.folder.name
        self.environment = machine.environment | {"RANKWRIGHT_LAB_FOLDER": str(self.labs), "HOME": str(self.folder)}
        self.wrong = []
        self.ran = 0
        self.left_out = collections.Counter()
        self.seconds = 0.0
        self.python = []

    def read(self):
        if not any(block.kind in ("console", "sh", "python") for block in self.blocks):
            return self
        start = time.monotonic()
        shutil.copytree(self.begin, self.folder, symlinks=True)
        try:
            for block in self.blocks:
                if block.kind in ("console", "sh", "python"):
                    self.block(block)
        finally:
            if self.labs.exists():
                run("rankwright -q lab down --all", self.folder, self.environment)
        self.seconds = time.monotonic() - start
        return self

    def block(self, block):
        commands = steps(block) if block.kind != "python" else [(block.line + 1, "\n".join(block.text), None)]
        if block.kind == "sh":
            # Lines, for the count; they run as one script.
            count = sum(bool(re.match(r"[^\s#]", line)) for line in block.text)
        else:
            count = len(commands)
        settings = block.settings()
        reasons = block.note("not run")
        folder = str(pathlib.PurePath(block.page).parent)
        if folder in RUN_ELSEWHERE and block.kind == "console" and not reasons:
            reasons = [RUN_ELSEWHERE[folder]]
        needs = block.needs()
        if "takes long" in settings and self.machine.program.parent.name == "debug":
            reasons.append("takes long with a debug build")
        reasons += [f"SKIPPED: {self.machine.missing[name]}" for name in sorted(needs) if name in self.machine.missing]
        unknown = needs - set(NEEDS) - {"lab", "python"}
        for setting in settings:
            if not re.fullmatch(r"needs .*|on head|numbers vary|order varies|takes long|exits \d+(, \d+)*", setting):
                unknown.add(setting)
        if block.kind == "console" and not commands:
            self.wrong.append(f"{block.page}:{block.line}: no line begins with `$ `: mark it `text`")
        if unknown:
            self.wrong.append(f"{block.page}:{block.line}: unknown: {', '.join(sorted(unknown))}")
        if reasons:
            self.left_out[reasons[0]] += count
            return
        if not self.unseen(block, "before"):
            return
        codes = next(([int(code) for code in s[6:].split(",")] for s in settings if s.startswith("exits ")), [])
        codes = [0] * (len(commands) - len(codes)) + codes
        for expected, (line, command, below) in zip(codes, commands):
            done = self.step(block, command, "on head" in settings)
            self.ran += count if block.kind == "sh" else 1
            if done.code != expected:
                self.object(line, command, f"exit code {done.code} instead of {expected}", done.both)
                return
            if below and trimmed(below):
                why = comparison([self.as_shown(line) for line in below], done.changed(self.as_shown), block)
                if why:
                    self.object(line, command, why, done.both)

        self.unseen(block, "after")

    def unseen(self, block, when):
        """Runs what comments say; whether all of it succeeded."""
        for command in block.note(when):
            done = run(command, self.folder, self.environment)
            if done.code != 0:
                self.object(block.line, f"{when} it: {command}", f"exit code {done.code}", done.both)
                return False
        return True

    def step(self, block, command, on_head):
        if block.kind == "python":
            self.python.append(command)
            return run(
                "\n".join(self.python), self.folder, self.environment, (str(self.machine.python.absolute()), "-c")
            )
        if on_head:
            command = f"rankwright -q lab exec head -- /bin/sh -ec {shlex.quote(command)}"
        return run(command, self.folder, self.environment)

    def as_shown(self, text):
        for path, shown in (
            (self.folder, "/home/me"),
            (self.machine.folder / "bin", "/usr/bin"),
            (self.machine.program.parent, "/usr/bin"),
        ):
            text = text.replace(str(path), shown)
        # Debian's names of programs that there are several of.
        return re.sub(r"\b(mpirun|mpiexec)\.(openmpi|mpich)\b", r"\1", text)

    def object(self, line, command, why, output):
        shown = "\n".join("    | " + line for line in self.as_shown(output).splitlines()[-60:])
        self.wrong.append(f"{self.page}:{line}: {command}\n    {why}; printed:\n{shown}")
