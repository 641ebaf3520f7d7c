"""Fenced blocks of a page of the guide, what comments before them say, and their commands."""

import dataclasses
import re


class PageError(Exception):
    """A page that cannot be read: page, line and why."""


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
                _, following = next(lines, (None, None))
                if following is None:
                    raise PageError(f"{page}:{number}: this comment has no end (`-->`)")
                comment += "\n" + following
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
