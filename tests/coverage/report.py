"""Prints for each layer how many of its lines and branches ran in a build with --coverage.

    report.py BUILD

BUILD is a build of GCC with -DCMAKE_C_FLAGS=--coverage in which tests were run. A line, or a branch, of a header
counts once, wherever it was compiled.
"""

import concurrent.futures
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("agent", "config", "outputs")


def read(notes):
    """What gcov says of one object file, also of one that no test linked."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", notes.name], cwd=notes.parent,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return [file for line in done.stdout.splitlines() if line for file in json.loads(line)["files"]]


def layer_of(path):
    """None: it is no source of the product."""
    path = Path(path)
    if not path.is_relative_to(ROOT):
        return None
    parts = path.relative_to(ROOT).parts
    return None if parts[0] not in PRODUCT else parts[1] if parts[0] == "agent" else parts[0]


def main():
    build = Path(sys.argv[1])
    lines, branches = defaultdict(int), defaultdict(int)
    notes = [path for top in PRODUCT for path in sorted((build / top).rglob("*.gcno"))]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for files in pool.map(read, notes):
            for file in files:
                name = str(Path(file["file"]).resolve())  # headers are found by links of their layer
                for line in file["lines"] if layer_of(name) else ():
                    lines[name, line["line_number"]] += line["count"]
                    for place, branch in enumerate(line["branches"]):
                        branches[name, line["line_number"], place] += branch["count"]
    table = defaultdict(lambda: [0, 0, 0, 0])
    for at, counts in ((0, lines), (2, branches)):
        for key, count in counts.items():
            for row in (table[layer_of(key[0])], table["all"]):
                row[at] += count > 0
                row[at + 1] += 1
    for layer, (ran, total, taken, ways) in sorted(table.items()):
        print(f"{layer:10} lines {100 * ran / max(total, 1):5.1f} % of {total:6}   "
              f"branches {100 * taken / max(ways, 1):5.1f} % of {ways:6}")


if __name__ == "__main__":
    main()
