"""Tests of check_links.py."""

import pathlib
import tempfile
import unittest

import check_links


class Texts(unittest.TestCase):
    def test_links_are_found_where_they_are_links(self):
        text = (
            "[a](one.md) and ![b](two.png \"title\")\n"
            "`[c](three.md)` is code\n"
            "```text\n[d](four.md)\n```\n"
            "[e `[x](y)` f](five.md#part)\n"
            "[ref]: six.md\n"
        )
        self.assertEqual(
            check_links.links(text),
            [(1, "one.md"), (1, "two.png"), (6, "five.md#part"), (7, "six.md")],
        )

    def test_anchors_are_made_of_headings(self):
        text = "# `map`: a bare graph\n## Twice\n## Twice\n```sh\n# no heading\n```\n### L# and P# ###\n"
        self.assertEqual(
            check_links.anchors(text), {"map-a-bare-graph", "twice", "twice-1", "l-and-p"}
        )


class Repository(unittest.TestCase):
    def problems(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "docs" / "src").mkdir(parents=True)
            (root / "README.md").write_text(files.pop("readme", "# Read me\n"), encoding="utf-8")
            for name, text in files.items():
                (root / "docs" / "src" / f"{name}.md").write_text(text, encoding="utf-8")
            return check_links.problems(root)

    def test_a_whole_guide_has_no_problems(self):
        self.assertEqual(
            self.problems(
                readme="[guide](docs/src/a.md#first) [site](https://example.org/#x)\n",
                SUMMARY="# Summary\n[A](a.md)\n",
                a="# First\n[below](#second)\n## Second\n",
            ),
            [],
        )

    def test_dead_ends_are_named(self):
        self.assertEqual(
            self.problems(
                readme="\n[gone](gone.md)\n",
                SUMMARY="[A](a.md)\n[A](a.md)\n[C](c.md)\n",
                a="[x](#nowhere) [out](../../README.md)\n",
                b="# Forgotten\n",
            ),
            [
                "README.md:2: link to `gone.md`: there is no such file",
                "docs/src/SUMMARY.md:3: link to `c.md`: there is no such file",
                "docs/src/a.md:1: link to `#nowhere`: the file has no such heading",
                "docs/src/a.md:1: link to `../../README.md`: it leads out of the guide; name the file instead",
                "docs/src/b.md: not in SUMMARY.md",
                "docs/src/SUMMARY.md: lists `a.md` twice",
            ],
        )


class BuiltSite(unittest.TestCase):
    def test_links_and_anchors_of_the_built_site_are_followed(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder).resolve()
            (site / "api" / "rust" / "x").mkdir(parents=True)
            (site / "api" / "rust" / "x" / "index.html").write_text('<a href="gone.html"></a><p id="f">', encoding="utf-8")
            (site / "b.html").write_text('<h1 id="top"></h1>', encoding="utf-8")
            (site / "404.html").write_text('<a href="anything.html"></a>', encoding="utf-8")
            (site / "a.html").write_text(
                '<p id="p"><a href="#p">1</a><a href="b.html#top">2</a><a href="https://x.org/y">3</a>\n'
                '<a href="api/rust/x/#f">4</a><a href="api/rust/x/index.html#g">5</a><img src="no.png">\n'
                '<a href="b.html#bottom">6</a><a href="c.html">7</a>',
                encoding="utf-8",
            )
            self.assertEqual(
                check_links.site_problems(site),
                [
                    "a.html:2: link to `api/rust/x/index.html#g`: the page has no such anchor",
                    "a.html:2: link to `no.png`: there is no such file",
                    "a.html:3: link to `b.html#bottom`: the page has no such anchor",
                    "a.html:3: link to `c.html`: there is no such file",
                ],
            )


if __name__ == "__main__":
    unittest.main()
