#!/usr/bin/env python3
"""Writes the sources of the site: the guide with what is made from tables and from the sources.

    python3 scripts/guide/site_sources.py --program target/debug/rankwright FOLDER

FOLDER gets a copy of docs/, a chapter for each command from its manual page, and the reference of the Python
package from its docstrings. `scripts/docs` builds the site from it.
"""

import argparse
import pathlib
import re
import shutil
import sys

import manual_pages
import python_reference

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    arguments = argparse.ArgumentParser(description="Writes the sources of the site")
    arguments.add_argument("--program", type=pathlib.Path, required=True)
    arguments.add_argument("folder", type=pathlib.Path)
    given = arguments.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", given.folder)
    book = given.folder / "src"
    try:
        write_commands(book, manual_pages.of(given.program))
    except ValueError as error:
        sys.exit(f"docs/src/commands.md: {error}")
    (book / "api").mkdir()
    text = python_reference.reference(ROOT / "python" / "rankwright")
    (book / "api" / "python.md").write_text(text, encoding="utf-8")
    below(book, "api.md", [("Python package", "api/python.md")])


def write_commands(book, pages):
    """A chapter for each command, with those below it; the table of commands then leads there."""
    (book / "commands").mkdir()
    names = [command[0] for command in sorted(pages) if len(command) == 1]
    for name in names:
        (book / "commands" / f"{name}.md").write_text(chapter(name, pages), encoding="utf-8")
    path = book / "commands.md"
    path.write_text(linked(path.read_text(encoding="utf-8"), names), encoding="utf-8")
    below(book, "commands.md", [(f"rankwright {name}", f"commands/{name}.md") for name in names])


def chapter(name, pages):
    text = f"# rankwright {name}\n\n{pages[name,].markdown}"
    for command, page in sorted(pages.items()):
        if len(command) > 1 and command[0] == name:
            text += f"\n## rankwright {' '.join(command)}\n\n{page.markdown}"
    return text


def linked(table, names):
    """The table of commands with links. It must have all commands and no others."""
    found = set()

    def link(row):
        found.update(re.findall(r"`([a-z]+)`", row[0]))
        return re.sub(r"`([a-z]+)`", r"[`\1`](commands/\1.md)", row[0])

    table = re.sub(r"^\| (?:`[a-z]+`(?:, )?)+ \|", link, table, flags=re.M)
    if found != set(names):
        differ = ", ".join(sorted(found ^ set(names)))
        raise ValueError(f"its table and `rankwright man --all` do not have the same commands: {differ}")
    return table


def below(book, chapter_file, entries):
    """Puts chapters below another one in SUMMARY.md."""
    path = book / "SUMMARY.md"
    lines = path.read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith(f"]({chapter_file})"))
    indent = lines[at][: lines[at].index("-")] + "  "
    lines[at + 1 : at + 1] = [f"{indent}- [{title}]({file})" for title, file in entries]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
