#!/usr/bin/env python3
"""Checks the Markdown files of the repository, or with `--site FOLDER` the pages of the built site, without the
network.

Every relative link and every anchor must lead somewhere; every chapter must stand in the guide's
SUMMARY.md and every entry there must be a chapter; a chapter may only link to what is in the book. In the site every
link, picture and anchor must be there; what rustdoc made is only linked to, because rustdoc checks its own links.
"""

import argparse
import html
import html.parser
import pathlib
import re
import sys
import urllib.parse

# Folders that hold no text of ours.
PASSED_OVER = {"target", "node_modules", "demo-output"}
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s>]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*(?:\".*\")?$")
HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
# What `scripts/docs` builds beside the chapters: `--site` finds whether it is there.
BUILT = "api/"
FENCE = re.compile(r"^\s*(?:>\s*)?(```+|~~~+)")


def main():
    arguments = argparse.ArgumentParser(description="Checks links")
    arguments.add_argument("--site", type=pathlib.Path, help="the folder of the built site")
    site = arguments.parse_args().site
    if site is not None:
        return say(site_problems(site.resolve()), f"{site}: every link of {len(own_pages(site))} pages leads somewhere")
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    return say(problems(root), f"{len(markdown_files(root))} Markdown files, every relative link leads somewhere")


def say(wrong, otherwise):
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(otherwise)
    return 1 if wrong else 0


class Site(html.parser.HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append((self.getpos()[0], value))


def own_pages(site):
    """The pages of the guide. 404.html is for any place; toc.html is shown within others."""
    rust = site / "api" / "rust"
    return [
        path
        for path in sorted(site.rglob("*.html"))
        if rust not in path.parents and path.name not in ("404.html", "toc.html")
    ]


def site_problems(site):
    """One line per link of the built site that leads nowhere."""
    read = {}
    wrong = []
    for path in own_pages(site):
        read[path] = read.get(path) or Site(path)
        for number, link in read[path].links:
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc:
                continue
            linked = (path.parent / urllib.parse.unquote(target.path)).resolve() if target.path else path
            if linked.is_dir():
                linked /= "index.html"
            anchor = urllib.parse.unquote(target.fragment)
            if not linked.exists():
                why = "there is no such file"
            elif anchor and linked.suffix == ".html":
                read[linked] = read.get(linked) or Site(linked)
                why = None if anchor in read[linked].anchors else "the page has no such anchor"
            else:
                why = None
            if why:
                wrong.append(f"{path.relative_to(site)}:{number}: link to `{link}`: {why}")
    return wrong


def problems(root):
    """One line per broken link or chapter out of place."""
    book = root / "docs" / "src"
    wrong = []
    for path in markdown_files(root):
        for number, target in links(path.read_text(encoding="utf-8")):
            why = objection(path, target, book)
            if why:
                wrong.append(f"{path.relative_to(root)}:{number}: link to `{target}`: {why}")
    return wrong + chapters_out_of_place(root, book)


def markdown_files(root):
    files = []
    for path in sorted(root.rglob("*.md")):
        folders = path.relative_to(root).parts[:-1]
        if not any(name in PASSED_OVER or name.startswith(".") for name in folders):
            files.append(path)
    return files


def links(text):
    """The targets of a text's links, each with its line."""
    found = []
    for number, line in prose(text):
        line = re.sub(r"(`+).*?\1", lambda code: "`" * len(code[0]), line)
        found += [(number, target) for target in LINK.findall(line)]
        definition = DEFINITION.match(line)
        if definition:
            found.append((number, definition[1]))
    return found


def prose(text):
    """The lines of a text that are not in code blocks, numbered from 1."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is not None:
            if mark and mark[1].startswith(fence) and line.strip(" >") == mark[1]:
                fence = None
        else:
            yield number, line


def objection(path, target, book):
    """Why a link does not lead anywhere; None if it does."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target, re.I):
        return None
    name, _, anchor = target.partition("#")
    if book in path.parents and name.startswith(BUILT):
        return None
    linked = (path.parent / name).resolve() if name else path
    if not linked.exists():
        return "there is no such file"
    if book in path.parents and book not in linked.parents:
        return "it leads out of the guide; name the file instead"
    if anchor and linked.suffix == ".md" and anchor not in anchors(linked.read_text(encoding="utf-8")):
        return "the file has no such heading"
    return None


def anchors(text):
    """The anchors of a text's headings, as mdBook and code hosts make them."""
    found = set()
    for _, line in prose(text):
        heading = HEADING.match(line)
        if not heading:
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[2])
        title = html.unescape(title).strip().lower()
        slug = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title))
        unique, count = slug, 0
        while unique in found:
            count += 1
            unique = f"{slug}-{count}"
        found.add(unique)
    return found


def chapters_out_of_place(root, book):
    summary = book / "SUMMARY.md"
    if not summary.exists():
        return [f"{summary.relative_to(root)}: missing"]
    listed = [target for _, target in links(summary.read_text(encoding="utf-8"))]
    chapters = [str(path.relative_to(book)) for path in markdown_files(book) if path != summary]
    wrong = [f"docs/src/{name}: not in SUMMARY.md" for name in chapters if name not in listed]
    twice = sorted({name for name in listed if listed.count(name) > 1})
    return wrong + [f"docs/src/SUMMARY.md: lists `{name}` twice" for name in twice]


if __name__ == "__main__":
    sys.exit(main())
