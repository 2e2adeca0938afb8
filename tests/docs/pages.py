"""Reads Markdown pages: their headings, links and fenced blocks, and what comments ask of the tests.

A comment stands on a line of its own. One that begins with `run:` is a command that the page does not show;
any other belongs to the fenced block after it:

    <!-- run: COMMAND -->          run COMMAND at this place of the page
    <!-- file: NAME -->            the block is the content of NAME, in the folder where commands run
    <!-- output of: COMMAND -->    the block is what COMMAND prints
    <!-- needs: A.etl as B.etl --> the block needs this trace of ETWSHIP_SHARED under the name that it
                                   shows, and is skipped without it
    <!-- windows -->              the commands need Windows: here the program must understand them and say so
    <!-- not run: REASON -->       the block is not run
"""

import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"<!--\s*(run|file|output of|needs|windows|not run)(?::\s*(.*?))?\s*-->$")
FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*([\w-]*)\s*$")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*\]\(([^()\s]+)\)")


class Block:
    """A fenced block, or a hidden command (`language` is "run"). `line` counts from 1."""

    def __init__(self, line, language, text, comments):
        self.line, self.language, self.text, self.comments = line, language, text, comments


def markdown():
    """Every page that git knows or would add."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z", "*.md"], cwd=TOP,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    found = [TOP / name for name in names if name] or [
        path for path in TOP.rglob("*.md") if not path.relative_to(TOP).parts[0].startswith(("build", "."))]
    return sorted(path for path in found if path.is_file())


def blocks(text):
    """The blocks of a page in their order."""
    found, comments, lines = [], {}, text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        comment, fence = COMMENT.match(line.strip()), FENCE.match(line)
        if comment and comment[1] == "run":
            found.append(Block(at + 1, "run", comment[2], {}))
        elif comment:
            comments[comment[1]] = comment[2] or ""
        elif fence:
            start, indent = at + 1, len(fence[1])
            at += 1
            while at < len(lines) and lines[at].strip() != fence[2]:
                at += 1
            inside = "\n".join(row[min(indent, len(row) - len(row.lstrip())):] for row in lines[start:at])
            found.append(Block(start, fence[3], inside + "\n", comments))
            comments = {}
        elif line.strip():
            comments = {}
        at += 1
    return found


def prose(text):
    """The page without its blocks, line by line: lines of blocks are empty."""
    inside, kept = None, []
    for line in text.splitlines():
        fence = FENCE.match(line)
        if inside:
            inside = None if line.strip() == inside else inside
            kept.append("")
        else:
            inside = fence[2] if fence else None
            kept.append("" if fence else line)
    return kept


def anchors(text):
    """The names after `#` that a page has, as GitHub makes them from headings."""
    found, seen = set(), {}
    for line in prose(text):
        heading = HEADING.match(line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(slug if count == 0 else f"{slug}-{count}")
    return found


def links(text):
    """(line, target) of every link of a page."""
    for number, line in enumerate(prose(text), 1):
        for target in LINK.findall(re.sub(r"`[^`\[\]]*`", lambda m: "`" + "x" * (len(m[0]) - 2) + "`", line)):
            yield number, target
