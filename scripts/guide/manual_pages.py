"""Reads the manual pages that `rankwright man --all FOLDER` writes, and makes Markdown of them.

They are made of the same tables as the help, so they say which commands and options there are.
"""

import dataclasses
import pathlib
import re
import subprocess
import tempfile

# Sections that say nothing beyond the others; commands below have pages of their own.
LEFT_OUT = {"NAME", "VERSION", "SUBCOMMANDS"}


@dataclasses.dataclass
class Page:
    """One manual page: `command` is the words after `rankwright`, none for the page of all."""

    command: tuple
    description: str
    options: set  # as typed: `-o`, `--output`
    markdown: str  # synopsis, description and options, without a heading of the page


def of(program):
    """The pages of a program, by their command."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "man", "--all", folder], check=True, stdin=subprocess.DEVNULL)
        return read(pathlib.Path(folder))


def read(folder):
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("rankwright*.1"))}
    pages = {}
    for name, text in texts.items():
        page = parse(command_of(name, texts), text)
        pages[page.command] = page
    return pages


def command_of(name, names):
    """`rankwright-lab-up` -> (`lab`, `up`): a page belongs to the longest other page that it begins with."""
    words, rest = [], name
    while rest != "rankwright":
        above = max((other for other in names if rest.startswith(other + "-")), key=len)
        words.insert(0, rest[len(above) + 1 :])
        rest = above
    return tuple(words)


def plain(text):
    """roff without fonts and escapes."""
    text = re.sub(r"\\f[BIRP]", "", text)
    for escape, character in ((r"\-", "-"), (r"\*(Aq", "'"), (r"\(aq", "'"), (r"\&", ""), (r"\\", "\\")):
        text = text.replace(escape, character)
    return text


def escaped(text):
    """Text as Markdown, but for code between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>*_\[\]|#])", r"\\\1", part) for part in parts)


def parse(command, text):
    options, out, description = set(), [], ""
    section, tag, listed = None, False, False
    for line in text.splitlines():
        macro, _, rest = line.partition(" ")
        if macro == ".SH":
            if section == "EXTRA":
                out.append("```")
            section = plain(rest).strip('"')
            tag = listed = False
            if section == "EXTRA":
                out += ["", "```text"]
            elif section not in LEFT_OUT | {"SYNOPSIS", "DESCRIPTION"}:
                out += ["", f"**{section.capitalize()}**", ""]
        elif section is None or section in LEFT_OUT:
            continue
        elif section == "EXTRA":
            # Tables in columns: as they are.
            if not line.startswith("."):
                out.append(plain(line))
        elif macro == ".TP":
            tag = True
        elif macro == ".IP":
            listed = True
        elif macro == ".RE":
            listed = False
        elif macro in (".PP", ".sp"):
            out.append("")
        elif macro.startswith(".") or not line.strip():
            continue
        elif section == "SYNOPSIS":
            out += ["```text", plain(line).strip(), "```", ""]
        elif tag:
            tag = False
            term, _, default = plain(line).strip().partition(" [default")
            options |= set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", term))
            out += ["", f"- `{term}`" + escaped(f" [default{default}" if default else "") + "  "]
        elif section == "DESCRIPTION":
            description = description or plain(line).strip()
            out += [escaped(plain(line).strip()), ""]
        else:
            words = escaped(plain(line).strip())
            out += [f"  - {words}"] if listed else ["", f"  {words}"] if words == "Possible values:" else [f"  {words}"]
    if section == "EXTRA":
        out.append("```")
    markdown = re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip() + "\n"
    return Page(command, description, options, markdown)
