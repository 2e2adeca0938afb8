"""Rules that a search can hold: no leftovers, no unsafe calls, no file that outgrew its room.

Run from the top of the tree. layers.py says what may be included where.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

LINES_AT_MOST = 600
# clang-format breaks code there, and leaves comments alone.
COLUMNS_AT_MOST = 100
# A reader finds a file by the folders on the way to it.
SOURCES_AT_MOST = 25
TEXT = {".c", ".h", ".def", ".py", ".sh", ".md", ".txt", ".cmake", ".yaml", ".yml", ".json", ".in",
        ".tsv", ".service", ""}
SOURCES = {".c", ".h"}

# Written in pieces, so that this file does not hold what it forbids.
LEFTOVERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|not imple" r"mented|unimple" r"mented")
# A folder of the machine the code was written on says nothing to anybody else.
FOREIGN_PATHS = re.compile(r"(?<![\w.-])/(?:wo" r"rk|fa" r"rm|ho" r"me/\w+)/")
UNSAFE = re.compile(r"(?<![\w.>])(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|atoi|atol|"
                    r"scanf|sscanf|setjmp|longjmp|system|tmpnam|mktemp)\s*\(")
UPWARD = re.compile(r'#\s*include\s*"\.\./')
# A header that its folder alone may include is called x_own.h. cmake/Layers.cmake holds that for rooms.
OTHER_OWN = re.compile(r"_(impl|int|internal|parts|priv|private)\.h$")
OWN = re.compile(r'#\s*include\s*"\S*_own\.h"')
OWN_OF_SUPPORT = re.compile(r'#\s*include\s*"(support(?:/\w+)*)/\w+_own\.h"')


def files():
    """The files that git knows or would add; without git, all files outside build folders."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [Path(name) for name in listed.stdout.decode().split("\0") if name]
    return [path for path in Path(".").rglob("*") if path.is_file()
            and not path.parts[0].startswith(("build", ".git"))]


def without_comments(text):
    """Blanks comments and strings of C, keeping the lines."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def search(pattern, text, path, what):
    for number, line in enumerate(text.splitlines(), 1):
        found = pattern.search(line)
        if found:
            yield f"{path}:{number}: {what}: {found[0].strip()}"


def check_columns(name, text):
    """Rows of a table that clang-format leaves alone may be longer, if a comment does not make them so."""
    is_table = False
    for number, line in enumerate(text.splitlines(), 1):
        if "clang-format o" in line:
            is_table = "clang-format off" in line
        is_comment = line.lstrip().startswith(("/*", "*", "//"))
        if len(line) > COLUMNS_AT_MOST and (is_comment or not is_table):
            yield f"{name}:{number}: {len(line)} columns; wrap it at {COLUMNS_AT_MOST}"


def check(path):
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        yield f"{path}: not UTF-8 text"
        return
    name = path.as_posix()
    yield from search(LEFTOVERS, text, name, "unfinished")
    yield from search(FOREIGN_PATHS, text, name, "a path of one machine")
    if path.suffix not in SOURCES:
        return
    in_tests = name.startswith("tests/")
    lines = text.count("\n")
    if lines > LINES_AT_MOST:
        yield f"{name}: {lines} lines; beyond {LINES_AT_MOST} it wants a new room"
    yield from check_columns(name, text)
    # Tests write literals into large buffers, under AddressSanitizer.
    if not in_tests:
        yield from search(UNSAFE, without_comments(text), name, "banned function")
    yield from search(UPWARD, text, name, "include by an upward path")
    yield from check_own(path, name, text)


def check_own(path, name, text):
    if OTHER_OWN.search(name):
        yield f"{name}: a header that its folder alone may include is called *_own.h"
    if name.endswith(".h") and not name.endswith("_own.h"):
        yield from search(OWN, text, name, "other folders may include this header, but not")
    for found in OWN_OF_SUPPORT.finditer(text):
        folder = f"tests/{found[1]}"
        if path.parent.as_posix() != folder:
            yield f"{name}: only files in {folder} may have {found[0].strip()}"


def check_folders(paths):
    counts = Counter(path.parent for path in paths if path.suffix == ".c" and path.parts[0] != "tests")
    for folder, count in sorted(counts.items()):
        if count > SOURCES_AT_MOST:
            yield f"{folder.as_posix()}: {count} sources; beyond {SOURCES_AT_MOST} it wants folders"


def main():
    looked_at = [path for path in files() if path.suffix in TEXT and path.is_file()]
    found = [line for path in sorted(looked_at) for line in check(path)]
    found += check_folders(looked_at)
    for line in found:
        print(line)
    print(f"{len(looked_at)} files, {len(found)} findings")
    sys.exit(1 if found or not looked_at else 0)


if __name__ == "__main__":
    main()
