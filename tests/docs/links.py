"""Pages lead where they say: every relative link and anchor, every file that a page names, and README's
length.
"""

import re
import unittest

from pages import TOP, anchors, links, markdown, prose

README_LINES_AT_MOST = 150
# A path in the text, written as code. Those of the source tree are relative to the top or to the page.
PATH = re.compile(r"`((?:agent|cmake|config|docs|outputs|packaging|tests)/(?![\w./-]*NAME)[\w./-]*\w)`")


class Links(unittest.TestCase):
    def test_links_and_anchors_resolve(self):
        texts = {page: page.read_text(encoding="utf-8") for page in markdown()}
        self.assertGreater(len(texts), 10)
        wrong, count = [], 0
        for page, text in texts.items():
            for line, target in links(text):
                if re.match(r"[a-z]+:", target):
                    continue
                count += 1
                name, _, anchor = target.partition("#")
                led_to = (page.parent / name).resolve() if name else page
                if not led_to.exists():
                    wrong.append(f"{page.relative_to(TOP)}:{line}: {target}: there is no such file")
                elif anchor and led_to.suffix == ".md" and anchor not in anchors(
                        texts.get(led_to) or led_to.read_text(encoding="utf-8")):
                    wrong.append(f"{page.relative_to(TOP)}:{line}: {target}: there is no such heading")
        self.assertGreater(count, 100)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_files_that_pages_name_exist(self):
        wrong = []
        for page in markdown():
            for line, text in enumerate(prose(page.read_text(encoding="utf-8")), 1):
                for name in PATH.findall(text):
                    if not (TOP / name).exists() and not (page.parent / name).exists():
                        wrong.append(f"{page.relative_to(TOP)}:{line}: {name} does not exist")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_the_readme_stays_short(self):
        lines = (TOP / "README.md").read_text(encoding="utf-8").count("\n")
        self.assertLessEqual(lines, README_LINES_AT_MOST,
                             "README.md is an entrance: move details to docs/guide")

    def test_every_lint_is_told_to_contributors(self):
        lints = re.findall(r"add_test\(NAME (lint\.(?!\w+_full)\w+)",
                           (TOP / "tests" / "lint" / "CMakeLists.txt").read_text(encoding="utf-8"))
        self.assertGreater(len(lints), 2)
        page = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
        self.assertEqual([name for name in lints if f"`{name}`" not in page], [])

    def test_every_page_of_docs_is_listed(self):
        """docs/README.md leads to all pages."""
        listed = {(TOP / "docs" / target.partition("#")[0]).resolve() for _, target in
                  links((TOP / "docs" / "README.md").read_text(encoding="utf-8"))}
        missing = [page.relative_to(TOP).as_posix() for page in markdown()
                   if page.is_relative_to(TOP / "docs") and page.name != "README.md" and page not in listed]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
