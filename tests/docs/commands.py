"""What README.md, CONTRIBUTING.md and docs/guide show is true: commands are run and their output is compared,
configurations are checked.

pages.py says what comments of a page ask for. By the language of a block:

    console   `$ COMMAND` and what it prints, both streams. `…` stands for any text, alone in a line for any lines
    sh        commands whose output is not shown; they succeed
    yaml      a configuration, or a part of one; `etwship check` takes it
    json      JSON, one value or one a line; `…` makes it a sketch
    text      anything else

Commands of a page run one after the other in one folder that has the quick start's sample trace.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from pages import TOP, blocks

HERE = Path(__file__).resolve().parent
ETWSHIP = Path(os.environ["ETWSHIP_BIN"]).resolve()
ETLGEN = Path(os.environ["ETWSHIP_ETLGEN"]).resolve()
SHARED = Path(os.environ.get("ETWSHIP_SHARED") or "missing") / "data" / "etl"
TIMEOUT_S = 120
SKIPPED = 77
PROGRAMS = ["jq", "zip", "openssl", "llvm-pdbutil"]  # that guides use
LANGUAGES = {"console", "sh", "yaml", "json", "text", "c", "cmake", "mermaid"}
REQUIRED = {"sessions": "sessions: [{type: file, paths: ['*.etl']}]\n", "outputs": "outputs: [{type: stdout}]\n"}
NO_WINDOWS = re.compile(r"this system has no|is for Windows")
PAGES = [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted((TOP / "docs" / "guide").glob("*.md"))]


def transcript(text):
    """(command, output) of a console block."""
    found, lines = [], text.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"a console block begins with `$ `: {lines[at]}"
        command = lines[at][2:]
        while command.endswith("\\"):
            at += 1
            command += "\n" + lines[at]
        at += 1
        output = []
        while at < len(lines) and not lines[at].startswith("$ "):
            output.append(lines[at])
            at += 1
        found.append((command, output))
    return found


def matches(expected, printed):
    """True if ${printed} matches ${expected}, a list of lines in which `…` stands for parts that are not shown."""
    pattern = ""
    for line in expected:
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(re.escape(part) for part in line.split("…")) + "\n"
    if printed and not printed.endswith("\n"):
        printed += "\n"
    return re.fullmatch(pattern, printed) is not None


class Page:
    """One page's folder, and the state of its commands."""

    def __init__(self, path, folder):
        self.path, self.folder, self.wrong, self.ran, self.skipped = path, folder, [], 0, 0
        programs = folder / "bin"
        programs.mkdir()
        (programs / "etwship").symlink_to(ETWSHIP)
        (programs / "etlgen").symlink_to(ETLGEN)
        (programs / "make-sample").write_text(
            f"#!/bin/sh\nexec '{sys.executable}' -B '{HERE}/make_sample.py' \"$@\"\n", encoding="utf-8")
        (programs / "make-sample").chmod(0o755)
        (folder / "config").symlink_to(TOP / "config")
        (folder / "build" / "quickstart").mkdir(parents=True)
        self.environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder), "TZ": "UTC",
                            "XDG_STATE_HOME": str(folder / "state-home"), "LC_ALL": "C.UTF-8"}
        self.sh("etlgen --mix realistic --events 2000 -o build/quickstart/sample.etl")

    def sh(self, command, **options):
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT_S, check=False, encoding="utf-8", **options)

    def tell(self, block, what):
        self.wrong.append(f"{self.path.relative_to(TOP)}:{block.line}: {what}")

    def compare(self, block, command, expected):
        done = self.sh(command)
        self.ran += 1
        if not matches(expected, done.stdout):
            self.tell(block, f"$ {command}\nprints\n{done.stdout[:6000]}")
        elif done.returncode and not any("etwship: " in line for line in expected):
            self.tell(block, f"$ {command}\nends with {done.returncode}")

    def windows(self, block):
        for command in filter(None, re.sub(r"\\\n", "", block.text).splitlines()):
            if not command.startswith("etwship "):
                continue
            done = self.sh(command)
            self.ran += 1
            if not NO_WINDOWS.search(done.stdout):
                self.tell(block, f"{command}\nis not understood: {done.stdout[:2000]}")

    def config(self, block, name):
        """Check a configuration. The sections that a part lacks are added."""
        path = self.folder / (name or f"line-{block.line}.yaml")
        tops = set(re.findall(r"(?m)^(\w+):", block.text))
        lacks = [text for key, text in REQUIRED.items() if key not in tops]
        if lacks:
            path = path.with_name(f"whole-{path.name}")
        path.write_text(block.text + "".join(lacks), encoding="utf-8")
        done = self.sh(f"etwship check -c {path.name}")
        self.ran += 1
        if done.returncode or ": good" not in done.stdout:
            self.tell(block, f"etwship check says\n{done.stdout}")

    def json(self, block):
        if "…" in block.text:
            return
        try:
            json.loads(block.text)
        except json.JSONDecodeError:
            for line in block.text.splitlines():
                json.loads(line)

    def block(self, block):
        comments = block.comments
        if block.language == "run":
            done = self.sh(block.text)
            if done.returncode:
                self.tell(block, f"{block.text} ends with {done.returncode}: {done.stdout}")
            return
        if block.language not in LANGUAGES:
            self.tell(block, f"'{block.language}' is no language of blocks: {' '.join(sorted(LANGUAGES))}")
            return
        if "not run" in comments:
            if not comments["not run"]:
                self.tell(block, "`not run` says why")
            return
        if "needs" in comments:
            name, _, shown = comments["needs"].partition(" as ")
            if not (SHARED / name).exists():
                self.skipped += 1
                return
            if not (self.folder / shown).exists():
                (self.folder / shown).symlink_to(SHARED / name)
        if "file" in comments:
            path = self.folder / comments["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if "output of" in comments:
            self.compare(block, comments["output of"], block.text.splitlines())
        elif "windows" in comments:
            self.windows(block)
        elif block.language == "console":
            for command, expected in transcript(block.text):
                self.compare(block, command, expected)
        elif block.language == "sh":
            done = self.sh("set -e\n" + block.text)
            self.ran += 1
            if done.returncode:
                self.tell(block, f"ends with {done.returncode}: {done.stdout}")
        elif block.language == "yaml" and "wrong" not in comments.get("file", ""):
            self.config(block, comments.get("file"))
        elif block.language == "json":
            self.json(block)


class Comparison(unittest.TestCase):
    def test_only_an_ellipsis_stands_for_more(self):
        for expected, printed, same in (
                (["a", "b"], "a\nb\n", True), (["a"], "a\nb\n", False), (["a", "b"], "a\n", False), ([], "a\n", False),
                (["a…c"], "abc\n", True), (["a…c"], "a\nc\n", False), (["a.c"], "abc\n", False),
                (["…", "b"], "a\na\nb\n", True), (["…", "b"], "b\n", True), (["…", "b"], "a\n", False)):
            self.assertEqual(matches(expected, printed), same, (expected, printed))

    def test_a_transcript_is_commands_and_their_output(self):
        self.assertEqual(transcript("$ a\n1\n$ b \\\n  c\n$ d\n2\n3\n"),
                         [("a", ["1"]), ("b \\\n  c", []), ("d", ["2", "3"])])


class Commands(unittest.TestCase):
    def test_pages_show_what_happens(self):
        ran = 0
        for path in PAGES:
            with self.subTest(page=path.name), tempfile.TemporaryDirectory() as folder:
                page = Page(path, Path(folder).resolve())
                for block in blocks(path.read_text(encoding="utf-8")):
                    page.block(block)
                ran += page.ran
                self.assertEqual(page.wrong, [], "\n" + "\n\n".join(page.wrong))
                if page.skipped:
                    print(f"{path.name}: {page.skipped} blocks left out, without the traces they need")
        self.assertGreater(ran, 50)

    def test_every_block_with_a_command_says_what_it_is(self):
        """A command in a block that no test runs would be shown and never tried."""
        for path in PAGES:
            for block in blocks(path.read_text(encoding="utf-8")):
                shows = re.search(r"(?m)^(\$ |etwship [a-z])", block.text)
                if shows and block.language == "text" and "output of" not in block.comments:
                    self.assertTrue(block.comments, f"{path.name}:{block.line}")


if __name__ == "__main__":
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    if absent:
        print(f"skipped: {', '.join(absent)} not installed (tests/install.sh)")
        sys.exit(SKIPPED)
    unittest.main()
