#!/usr/bin/env python3
"""Runs the commands of the guide and of the read-me files as a reader would, and checks every option they name.

    python3 scripts/check_commands.py [--program target/debug/rankwright] [--python PYTHON] [PAGE..]

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
and `--option` alone must be what the manual pages have, or an option of another program in FOREIGN.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import check_links
import manual_pages

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 100  # for one command; one that takes longer is tried once more
SLOW = 4.0  # seconds of a page that is named at the end

# What `run: needs` may say: the programs behind it, and what is missing without them.
NEEDS = {
    "openmpi": (["mpirun", "mpicc", "orted"], "no Open MPI 4"),
    "lstopo": (["lstopo"], "no lstopo"),
    "slurm": (["slurmctld", "slurmd", "srun", "munged"], "no Slurm"),
    "simgrid": (["smpirun"], "no SimGrid"),
    "otf2": (["otf2-print"], "no otf2-print"),
}

# Whose console blocks a test in Rust runs, with their outputs to the letter.
RUN_ELSEWHERE = {
    "docs/src/launchers": "run by crates/rankwright-cli/tests/it/pages.rs",
    "docs/src/nics": "run by crates/rankwright-cli/tests/it/pages.rs",
}

# Options of other programs that the text names alone.
FOREIGN = set(
    """
    --bind-to --map-by --rank-by --mca --prtemca --hostfile --default-hostfile --report-bindings --oversubscribe
    --cpu-bind --overlap --ntasks-per-node --ntasks --cpus-per-task --exclusive --oversubscribe --multi-prog
    --export --kill-on-bad-exit --wdir --app
    --cleanenv --bind --nodelist --no-default-features --node-name-map --taskmap --host --use-hwthread-cpus
    --exact --overcommit --preferred --membind --depth --ppn --appfile --map --trace --trace-options
    --npernode --npersocket --do-not-launch --display-devel-map --summary
    """.split()
)

# Names of options that the help does not list.
ALIASES = {("cluster", "import"): {"--on"}}


@dataclasses.dataclass
class Block:
    page: str
    line: int  # of the fence
    kind: str  # `console`, `sh`, `python`, or another
    text: list
    notes: list  # the comments before it, without `<!--` and `-->`

    def note(self, word):
        """What the comments say behind `word:`, one entry for each comment."""
        return [note[len(word) + 1 :].strip() for note in self.notes if note.startswith(word + ":")]

    def settings(self):
        return [part.strip() for note in self.note("run") for part in note.split(";")]

    def needs(self):
        needed = [s[len("needs") :].split(",") for s in self.settings() if s.startswith("needs ")]
        names = {name.strip() for names in needed for name in names}
        if "on head" in self.settings() or any("lab up" in command for command in self.note("before")):
            names.add("lab")
        return names | ({"python"} if self.kind == "python" else set())


def blocks_of(page, text):
    """The fenced blocks of a page."""
    found, notes, fence = [], [], None
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        mark = re.match(r"^\s*(```+)\s*(\w*)", line)
        if fence is None and mark:
            fence = mark[1]
            found.append(Block(page, number, mark[2], [], notes))
            notes = []
        elif fence is not None:
            if line.strip() == fence:
                fence = None
            else:
                found[-1].text.append(line)
        elif line.startswith("<!--"):
            comment = line
            while "-->" not in comment:
                comment += "\n" + next(lines)[1]
            notes.append(comment[len("<!--") : comment.index("-->")].strip())
        elif line.strip():
            notes = []
    return found


def steps(block):
    """The commands of a block, each with its line and what stands below it; of `sh` one with all lines."""
    if block.kind == "sh":
        return [(block.line + 1, "\n".join(block.text), None)]
    found, open_ = [], False
    for number, line in enumerate(block.text, block.line + 1):
        if line.startswith("$ "):
            found.append((number, line[2:], []))
            open_ = line.endswith("\\")
        elif open_:
            number, command, below = found[-1]
            found[-1] = (number, command + "\n" + line, below)
            open_ = line.endswith("\\")
        elif found:
            found[-1][2].append(line.rstrip())
    return found


# --- options -----------------------------------------------------------------------------------------------


class Options:
    """What the program knows, and what is wrong with a command or an option."""

    def __init__(self, pages):
        self.pages = pages
        self.all = set().union(*(page.options for page in pages.values()))
        self.above = self.pages[()].options

    def objection(self, words):
        """What is wrong with a command line without `rankwright`; None if nothing is."""
        words = list(words)
        while words and words[0] in self.above | {"-qv"}:
            words.pop(0)
        if not words or not re.fullmatch(r"[a-z-]+", words[0]) or words[0].startswith("-"):
            return None  # a placeholder, or `rankwright` alone
        if words[0] == "help":
            words = words[1:]
        command = ()
        while words and command + (words[0],) in self.pages:
            command += (words.pop(0),)
        if words and any(len(other) == len(command) + 1 and other[:-1] == command for other in self.pages):
            if re.fullmatch(r"[a-z][a-z-]*", words[0]):
                return f"there is no command `rankwright {' '.join(command + (words[0],))}`"
        known = self.pages[command].options | self.above | ALIASES.get(command, set())
        if command == ("exec",):
            return None  # what follows is a program with its own options
        for word in words:
            if word == "--":
                break
            option = re.match(r"--[a-z][\w-]*|-[a-zA-Z](?=$|[^a-zA-Z-])", word)
            if option and option[0] not in known:
                return f"`rankwright {' '.join(command)}` has no option {option[0]}"
        return None

    def in_shell(self, line):
        """What is wrong with the commands of rankwright in a line of shell."""
        line = re.split(r"\s#\s", line)[0]
        for part in re.split(r"\|\||&&|[|;&]\s|\$\(", line):
            found = re.match(r"^(?:.*\s)?rankwright\s+(.*)$", part.strip())
            if found and "=" != found[1][:1]:
                yield self.objection(words_of(found[1]))

    def in_code(self, code):
        """What is wrong with `code` within the text."""
        words = words_of(code)
        if not words:
            return None
        if words[0] == "rankwright":
            return self.objection(words[1:])
        if (words[0],) in self.pages and len(words) > 1 and any(word.startswith("--") for word in words):
            return self.objection(words)
        option = re.match(r"--[a-z][\w-]+(?![\w.-])", words[0])
        if option and option[0] not in self.all | FOREIGN:
            return f"no command has the option {option[0]}, nor is it in FOREIGN of scripts/check_commands.py"
        return None


def words_of(text):
    """Words as a shell would see them; a word of several words is no option."""
    try:
        words = shlex.split(text, comments=False)
    except ValueError:
        words = text.split()
    return ["_" if " " in word else word for word in words]


def wrong_options(page, text, options):
    """A line for each option or command that does not exist."""
    wrong = []
    for number, line in check_links.prose(text):
        for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", line):
            why = options.in_code(code.strip())
            if why:
                wrong.append(f"{page}:{number}: `{code}`: {why}")
    for block in blocks_of(page, text):
        if block.kind == "text" and re.match(r"(\$ )?rankwright [a-z]+ ", (block.text or [""])[0]):
            wrong.append(f"{page}:{block.line}: commands in a block marked `text`: mark it `sh` or `console`")
        lines = [re.sub(r"\\\n\s*", "", command) for _, command, _ in steps(block)] if block.kind != "python" else []
        if block.kind == "console" and not lines:
            lines = block.text
        for command in lines:
            for line in command.splitlines():
                wrong += [f"{page}:{block.line}: {line}: {why}" for why in options.in_shell(line) if why]
    return wrong


# --- outputs -----------------------------------------------------------------------------------------------

NUMBER = re.compile(
    r"[+-]?(?<![A-Za-z_\d])\d+(?:[ .]\d+)*(?:e[+-]?\d+)?"
    r"(?:\s?(?:[kMGT]?i?(?:B|bit)(?:/s)?|[mun]?s|us|/s|%)(?!\w))?"
)


def masked(line):
    """A line without its numbers and units, and without the width of columns and what is in bars."""
    line = re.sub(r"\bbest: \S+", "best: @", re.sub(r"[▁-█·]+", "~", NUMBER.sub("#", line)))
    return re.sub(r"\s+", " ", re.sub(r"(# ?)+", "# ", line)).strip()


def differs(shown, printed):
    """Where shown lines are not what was printed: a sentence, or None. `...` stands for any lines."""
    parts, any_before = [[]], [False]
    for line in shown:
        if line.strip() == "...":
            parts.append([])
            any_before.append(True)
        else:
            parts[-1].append(line)
    position = 0
    for index, (part, free) in enumerate(zip(parts, any_before)):
        if not part:
            continue
        last = index == len(parts) - 1
        starts = range(position, len(printed) - len(part) + 1) if free else [position]
        if last:
            # What nothing follows must be the end.
            starts = [start for start in starts if start == len(printed) - len(part)]
        start = next((start for start in starts if printed[start : start + len(part)] == part), None)
        if start is None:
            return f"not printed there: {part[0]!r}" + (" and what follows" if len(part) > 1 else "")
        position = start + len(part)
    return None


def trimmed(lines):
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def comparison(shown, done, block):
    """What is wrong with the output; it may be shown with standard error, before or behind, or without."""
    settings = block.settings()

    def prepared(lines):
        lines = [masked(line) if "numbers vary" in settings else line for line in trimmed(lines)]
        return sorted(lines) if "order varies" in settings else lines

    shown = prepared(shown)
    texts = (done.out, done.err + done.out, done.out + done.err, done.both)
    objections = [differs(shown, prepared(text.splitlines())) for text in texts]
    return None if None in objections else objections[0]


# --- running -----------------------------------------------------------------------------------------------


class Machine:
    """The folder of all, and what this machine has."""

    def __init__(self, folder, program, python):
        self.folder = folder
        self.program = program
        self.python = python
        tools = folder / "bin"
        tools.mkdir()
        for name in (program.name, "rankwright-exec"):
            (tools / name).symlink_to(program.with_name(name))
        self.environment = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            # The tracer is built once; all else of the home folder is each page's own.
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder / "begin"),
            "TMPDIR": str(folder / "tmp"),
            "LC_ALL": "C.UTF-8",
            "USER": os.environ.get("USER", "root"),
            "SHELL": "/bin/sh",
            "RANKWRIGHT_SITE": "",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            # Readers have a core for each rank; this machine need not.
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        }
        for name in ("OMPI_CC", "CCACHE_DIR"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        for name in ("cache", "tmp", "labs", "pages"):
            (folder / name).mkdir()
        (folder / "tmp").chmod(0o1777)
        self.missing = {name: why for name, (programs, why) in NEEDS.items() if not all(map(shutil.which, programs))}
        if not self.has_lab():
            self.missing["lab"] = "no lab here"
        if python is None:
            self.missing["python"] = "no Python with the package"

    def has_lab(self):
        environment = self.environment | {"RANKWRIGHT_LAB_FOLDER": str(self.folder / "labs" / "trial")}
        for words in (["up", "--nodes", "1", "--cores", "1", "--nic", "100Mbit/s"], ["down"]):
            done = subprocess.run(
                [self.program, "-q", "lab", *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True
            )
            if done.returncode != 0:
                return False
        return True

    def prepare(self):
        """The folder in which each page begins."""
        begin = self.folder / "begin"
        begin.mkdir()
        for name in ("docs", "examples", "papers", "testdata"):
            (begin / name).symlink_to(ROOT / name)
        (begin / "cluster.toml").write_text(
            'name = "lab"\nemulated = true\n\n[[node]]\nnames = "node[0-3]"\ntopology = "pack:1 core:4 pu:1"\n\n'
            '[[node.nic]]\nname = "eth0"\nbandwidth = "100 Mbit/s"\n',
            encoding="utf-8",
        )
        for command in (
            "mpicc -O1 -o heat2d examples/heat2d.c -lm",
            'printf \'#!/bin/sh\\nexec "$(dirname "$0")"/heat2d --iterations 20 --cells 128\\n\' >app && chmod +x app',
            "rankwright -q profile --events --name app -o app.rwp -- mpirun -np 16 ./app",
            "rankwright -q place app.rwp --on cluster.toml --for openmpi4 -o placement.json -- ./app",
        ):
            done = run(command, begin, self.environment)
            if done.code != 0:
                sys.exit(f"before all pages: {command}: exit code {done.code}\n{done.both}")
        shutil.rmtree(begin / "placement.launch", ignore_errors=True)
        return begin


@dataclasses.dataclass
class Done:
    code: int
    out: str
    err: str
    both: str  # in the order in which they came, as far as it is known
    hung: bool = False

    def changed(self, change):
        return Done(self.code, change(self.out), change(self.err), change(self.both), self.hung)


def run(command, folder, environment, program=("/bin/sh", "-ec")):
    """Runs a shell command; once more if it hangs, which launchers on a busy machine do now and then."""
    done = tried(command, folder, environment, program)
    return tried(command, folder, environment, program) if done.hung else done


def tried(command, folder, environment, program):
    """Runs a command to its end, or ends it with all that it started."""
    child = subprocess.Popen(
        [*program, command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    end = time.monotonic() + SECONDS
    texts = {child.stdout: b"", child.stderr: b""}
    both = b""
    with selectors.DefaultSelector() as selector:
        for stream in texts:
            selector.register(stream, selectors.EVENT_READ)
        # A daemon that it leaves behind may keep the pipes open: then its own end is enough.
        while selector.get_map() and time.monotonic() < end and (child.poll() is None or selector.select(0)):
            for key, _ in selector.select(0.2):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                texts[key.fileobj] += chunk
                both += chunk
    hung = False
    try:
        code = child.wait(max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        code, hung = child.wait(), True
        both += f"\n(ended after {SECONDS} s)\n".encode()
    out, err = texts[child.stdout], texts[child.stderr]
    child.stdout.close()
    child.stderr.close()
    return Done(code, *(text.decode(errors="replace") for text in (out, err, both)), hung)


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
    for line in wrong:
        print(line, file=sys.stderr)
    if readings:
        summarise(readings)
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
    sys.exit(main())
