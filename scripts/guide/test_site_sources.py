"""Tests of what the site is made of: site_sources.py, manual_pages.py and python_reference.py."""

import pathlib
import tempfile
import unittest

import manual_pages
import python_reference
import site_sources

MANUAL = r"""
.ie \n(.g .ds Aq \(aq
.TH rankwright-lab-up 1  "rankwright-lab-up "
.SH NAME
rankwright\-lab\-up \- Start a lab
.SH SYNOPSIS
\fBrankwright lab up\fR [\fB\-\-nodes\fR] <\fIFILE\fR>
.SH DESCRIPTION
Start a lab
.SH OPTIONS
.TP
\fB\-n\fR, \fB\-\-nodes\fR \fI<NODES>\fR [default: 4]
Number of [nodes]; it\*(Aqs that of `lab \-\-x`
.br
\fIPossible values:\fR
.RS 14
.IP \(bu 2
one: A node
.RE
.SH EXTRA
A table:
  blocked   in_order
"""


class Manual(unittest.TestCase):
    def test_a_page_becomes_markdown(self):
        page = manual_pages.parse(("lab", "up"), MANUAL)
        self.assertEqual(page.options, {"-n", "--nodes"})
        self.assertEqual(page.description, "Start a lab")
        self.assertEqual(
            page.markdown,
            "```text\nrankwright lab up [--nodes] <FILE>\n```\n\nStart a lab\n\n**Options**\n\n"
            "- `-n, --nodes <NODES>` \\[default: 4\\]  \n  Number of \\[nodes\\]; it's that of `lab --x`\n\n"
            "  Possible values:\n  - one: A node\n\n```text\nA table:\n  blocked   in_order\n```\n",
        )

    def test_names_of_files_are_commands(self):
        names = {"rankwright", "rankwright-lab", "rankwright-lab-up", "rankwright-two-words"}
        self.assertEqual(manual_pages.command_of("rankwright", names), ())
        self.assertEqual(manual_pages.command_of("rankwright-lab-up", names), ("lab", "up"))
        self.assertEqual(manual_pages.command_of("rankwright-two-words", names), ("two-words",))


class Commands(unittest.TestCase):
    def test_the_table_of_commands_is_whole_and_leads_to_their_chapters(self):
        table = "| command | does |\n|---|---|\n| `a` | uses `c` |\n| `b`, `c` | more |\n"
        linked = site_sources.linked(table, ["a", "b", "c"])
        self.assertIn("| [`a`](commands/a.md) | uses `c` |", linked)
        self.assertIn("| [`b`](commands/b.md), [`c`](commands/c.md) | more |", linked)
        with self.assertRaisesRegex(ValueError, "same commands: d"):
            site_sources.linked(table, ["a", "b", "c", "d"])

    def test_chapters_go_below_another(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "SUMMARY.md"
            path.write_text("- [A](a.md)\n- [B](b.md)\n", encoding="utf-8")
            site_sources.below(path.parent, "a.md", [("C", "a/c.md")])
            self.assertEqual(path.read_text(encoding="utf-8"), "- [A](a.md)\n  - [C](a/c.md)\n- [B](b.md)\n")


class Python(unittest.TestCase):
    def test_public_names_become_a_chapter(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder)
            (package / "__init__.py").write_text(
                '"""Does it::\n\n    import it\n\nWell."""\n'
                "from ._a import Thing, hidden\nfrom ._a import do as make\nfrom ._native import VERSION as v\n"
                '__all__ = ["Thing", "make", "v"]\n',
                encoding="utf-8",
            )
            (package / "_a.py").write_text(
                "class Base:\n"
                "    def both(self, y=2):\n"
                '        """Of all things."""\n'
                "    def size(self):\n"
                '        """Of the base."""\n'
                "class Thing(Base, Exception):\n"
                '    """A thing of :func:`make`."""\n'
                "    def __init__(self, x: int) -> None: ...\n"
                "    @property\n    def size(self) -> int:\n"
                '        """Its ``size``."""\n'
                "    def bare(self): ...\n"
                "def hidden():\n"
                '    """Hidden."""\n'
                "def do(a, *, b=1) -> Thing:\n"
                '    """Makes.\n\n    Args:\n        a: One,\n            or two.\n\n    >>> make(1)\n    2\n    """\n',
                encoding="utf-8",
            )
            text = python_reference.reference(package)
        self.assertIn("```python\nimport it\n```", text)
        self.assertIn("### make\n\n```python\nmake(a, *, b=1) -> Thing\n```", text)
        self.assertIn("- `a`: One,\n  or two.", text)
        self.assertIn("```python\n>>> make(1)\n2\n```", text)
        self.assertIn("### Thing\n\n```python\nThing(x: int)\n```", text)
        self.assertIn("A thing of `make`.", text)
        self.assertIn("#### Thing.size\n\nProperty: `int`.\n\nIts `size`.", text)
        # A base without a chapter of its own.
        self.assertIn("#### Thing.both\n\n```python\nThing.both(y=2)\n```\n\nOf all things.", text)
        for absent in ("hidden", "bare", "### v", "Of the base", "### Base"):
            self.assertNotIn(absent, text)


if __name__ == "__main__":
    unittest.main()
