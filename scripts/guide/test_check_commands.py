"""Tests of how py reads pages, options and outputs."""

import pathlib
import tempfile
import unittest
from unittest import mock

import manual_pages
import shell
from blocks import Block, PageError, blocks_of, steps
from options import Options, wrong_options
from outputs import comparison


def page(command, *options):
    return manual_pages.Page(command, "", set(options), "")


OPTIONS = Options(
    {
        (): page((), "-q", "--quiet", "--version"),
        ("lab",): page(("lab",)),
        ("lab", "up"): page(("lab", "up"), "--nodes", "-o"),
        ("place",): page(("place",), "--on", "-o"),
    }
)
PAGE = """# Title

<!-- run: needs lab, slurm; numbers vary -->
<!-- before: cp a b
cp c d -->
```console
$ one \\
    two
printed
$ three
```

<!-- not run: because -->

```sh
four
```

A paragraph takes the comment before it.

<!-- run: exits 5 -->
words
```python
five
```
"""


class Blocks(unittest.TestCase):
    def test_comments_belong_to_the_next_block(self):
        blocks = blocks_of("p.md", PAGE)
        self.assertEqual([block.kind for block in blocks], ["console", "sh", "python"])
        self.assertEqual(blocks[0].needs(), {"lab", "slurm"})
        self.assertEqual(blocks[0].settings(), ["needs lab, slurm", "numbers vary"])
        self.assertEqual(blocks[0].note("before"), ["cp a b\ncp c d"])
        self.assertEqual(blocks[1].note("not run"), ["because"])
        self.assertEqual(blocks[2].settings(), [])

    def test_a_comment_without_an_end_is_named(self):
        with self.assertRaisesRegex(PageError, "^p.md:3: this comment has no end"):
            blocks_of("p.md", "# Title\n\n<!-- run: needs lab\n")

    def test_commands_stand_behind_prompts(self):
        console, shell, _ = blocks_of("p.md", PAGE)
        self.assertEqual(
            steps(console), [(7, "one \\\n    two", ["printed"]), (10, "three", [])]
        )
        self.assertEqual(steps(shell), [(16, "four", None)])


class Named(unittest.TestCase):
    def test_unknown_commands_and_options_are_found(self):
        for code, part in (
            ("rankwright lab up --nodes 4", None),
            ("rankwright -q place x --on y -- --anything", None),
            ("rankwright place --of y", "no option --of"),
            ("rankwright lab upp", "no command `rankwright lab upp`"),
            ("rankwright plaace x", "no command `rankwright plaace`"),
            ("place --of y", "no option --of"),
            ("lab up --nodes 3 -o", None),
            ("--of", "no command has"),
            ("--bind-to none", None),
            ("rankwright COMMAND", None),
            ("place", None),
        ):
            found = OPTIONS.in_code(code)
            self.assertEqual(found is None, part is None, code)
            self.assertIn(part or "", found or "")

    def test_commands_are_found_within_lines_of_shell(self):
        line = "A=1 rankwright place x --of y | grep z && sudo rankwright lab up --tiers 3  # --no"
        self.assertEqual(len([why for why in OPTIONS.in_shell(line) if why]), 2)
        self.assertEqual([why for why in OPTIONS.in_shell("mpirun --app x ./rankwright.sh --of") if why], [])

    def test_blocks_of_commands_must_be_marked(self):
        text = "```text\nrankwright place x\n```\n`rankwright place --of`\n```sh\nrankwright lab up \\\n  --off\n```\n"
        wrong = wrong_options("p.md", text, OPTIONS)
        self.assertEqual([line.split(": ")[0] for line in wrong], ["p.md:4", "p.md:1", "p.md:5"])


class Outputs(unittest.TestCase):
    def differs(self, shown, printed, *settings):
        block = Block("p.md", 1, "console", [], [f"run: {s}" for s in settings])
        done = shell.Done(0, printed, "note\n", "note\n" + printed)
        return comparison(shown.splitlines(), done, block)

    def test_all_lines_must_be_as_shown(self):
        self.assertIsNone(self.differs("a\nb\n", "a\nb\n\n"))
        self.assertIsNone(self.differs("note\na\n", "a\n"))
        self.assertIsNone(self.differs("a\nnote\n", "a\n"))
        for shown in ("a\n", "b\n", "b\na\n", "a\nc\n", "a\nb\nc\n"):
            self.assertIn("not printed there", self.differs(shown, "a\nb\n"), shown)

    def test_standard_error_may_come_in_between(self):
        self.assertIsNone(self.differs("a\nnote\nb\n", "a\nb\n"))
        self.assertIsNone(self.differs("a\nnote\n...\nc\n", "a\nb\nc\n"))
        for shown in ("b\nnote\na\n", "a\nnote\n", "a\nother\nb\n"):
            self.assertIsNotNone(self.differs(shown, "a\nb\n"), shown)

    def test_dots_stand_for_any_lines(self):
        printed = "a\nb\nc\nd\n"
        for shown in ("...\nc\nd\n", "a\n...\n", "a\n...\nc\n...\n", "...\nb\nc\n...\n", "a\nb\nc\nd\n..."):
            self.assertIsNone(self.differs(shown, printed), shown)
        for shown in ("...\nc\n", "a\n...\nb\n", "...\nb\nd\n...\n", "...\nc\n...\nb\n...\n"):
            self.assertIsNotNone(self.differs(shown, printed), shown)

    def test_numbers_are_masked_where_they_vary(self):
        printed = "best: kway     2.20 s  46 %   78.6 MB (42 %)  node0\n"
        shown = "best: drb   997.1 ms  -4.5 %  101 kB (100 %)  node0\n"
        self.assertIsNotNone(self.differs(shown, printed))
        self.assertIsNone(self.differs(shown, printed, "numbers vary"))
        self.assertIsNotNone(self.differs(shown.replace("node0", "node1"), printed, "numbers vary"))
        self.assertIsNotNone(self.differs("b 1\na 1\n", "a 2\nb 2\n", "numbers vary"))
        self.assertIsNone(self.differs("b 1\na 1\n", "a 2\nb 2\n", "numbers vary; order varies"))


class Shell(unittest.TestCase):
    def test_a_run_that_others_disturbed_is_repeated(self):
        command = f"echo x >>tries; test $(wc -l <tries) -gt 2 || echo 'unknown: {shell.DISTURBED} (25 %)'"
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(shell, "PAUSES", (0, 0, 0)):
            self.assertEqual(shell.run(command, folder, None).both, "")
            self.assertEqual(pathlib.Path(folder, "tries").read_text(encoding="utf-8"), "x\n" * 3)
            pathlib.Path(folder, "tries").unlink()
            self.assertIn(shell.DISTURBED, shell.run("echo " + shell.DISTURBED, folder, None).both)


if __name__ == "__main__":
    unittest.main()
