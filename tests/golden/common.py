"""What the golden tests share: where the program and the traces are, running it, and reporting.

The tests read two variables of the environment, set by CMake: ETWSHIP_BIN, the program under test,
and ETWSHIP_SHARED, a folder with data/etl (real traces, each with the counts of an independent
reader beside it) and data/manifests. Where the folder is missing a test ends with exit code 77,
which ctest shows as skipped.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# A test holds all events of a trace, which have no circles. Looking for some takes as long as reading them.
gc.disable()

SKIPPED = 77
SHOWN_FAILURES = 40
# A net under a hanging program, never a measure of speed: the slowest run here takes seconds.
RUN_TIMEOUT_S = 1200


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def binary():
    path = os.environ.get("ETWSHIP_BIN", "")
    if not path:
        sys.exit("ETWSHIP_BIN is not set: give the path of the etwship program to test")
    if not os.access(path, os.X_OK):
        sys.exit(f"ETWSHIP_BIN={path}: no such program")
    return path


def shared():
    folder = Path(os.environ.get("ETWSHIP_SHARED") or "missing")
    if not (folder / "data" / "etl").is_dir():
        skip("the folder of real traces is not there (ETWSHIP_SHARED names it)")
    return folder


def traces():
    return sorted((shared() / "data" / "etl").glob("*.etl"))


def trace(name):
    path = shared() / "data" / "etl" / name
    if not path.is_file():
        skip(f"the trace {name} is not there")
    return path


def beside(name):
    """A file of expected values, which must exist if its trace does."""
    return shared() / "data" / "etl" / name


def manifests():
    return shared() / "data" / "manifests"


def walk_counts(path):
    return json.loads(path.with_suffix(".walk.json").read_text(encoding="utf-8"))


def run(*arguments, check=(0,)):
    """Runs the program; returns stdout as bytes. Any other exit code than `check` ends the test."""
    command = [binary(), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=RUN_TIMEOUT_S, check=False)
    if done.returncode not in check:
        shown = done.stderr.decode("utf-8", "replace").strip()[:2000]
        sys.exit(f"FAILED: {' '.join(command)}: exit code {done.returncode}\n{shown}")
    return done.stdout


def parse_strictly(line):
    """One JSON object; a repeated key or a bare NaN is an error, as in other parsers."""
    return json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)


def _unique(pairs):
    as_dict = dict(pairs)
    if len(as_dict) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"duplicate key {next(k for k in keys if keys.count(k) > 1)!r}")
    return as_dict


def _no_constant(text):
    raise ValueError(f"{text} is not JSON")


def lines(output):
    return output.decode("utf-8").splitlines() if output else []


def dump(*arguments, check=(0,)):
    """The events of `etwship dump ARGUMENTS`, in the order of its output."""
    return [json.loads(line) for line in run("dump", *arguments, check=check).split(b"\n") if line]


def stream(*arguments):
    """The lines of `etwship dump ARGUMENTS`, one at a time: for output that is too large for memory."""
    command = [binary(), "dump", *map(str, arguments)]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said,
                              stdin=subprocess.DEVNULL) as process:
            yield from process.stdout
        if process.returncode:
            said.seek(0)
            shown = said.read(2000).decode("utf-8", "replace").strip()
            sys.exit(f"FAILED: {' '.join(command)}: exit code {process.returncode}\n{shown}")


def stat(*arguments, check=(0,)):
    return [json.loads(line) for line in
            run("stat", "--json", *arguments, check=check).split(b"\n") if line]


def class_of(event):
    """The GUID that decides the payload's layout: the class of classic events, else the provider."""
    return event["event"].get("class_guid") or event["provider"].get("guid")


def is_of_agent(event):
    """The program's own events, such as gaps, stand among the events of the trace."""
    return event["provider"].get("kind") == "agent"


def is_decoded(event):
    """An event without a payload has nothing to decode, so only raw bytes count as undecoded."""
    return "payload" not in event


def number(value):
    """The integer of a field in number or "0x..." form."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"{value!r} is no integer")
    if isinstance(value, int):
        return value
    return int(value, 16) if value.lower().startswith("0x") else int(value)


def bare_guid(text):
    return text.strip("{}").lower() if text else None


class Report:
    """Collects failed comparisons, so that one run shows all of them."""

    def __init__(self):
        self.checked = 0
        self.failures = []

    def equal(self, what, got, want):
        self.checked += 1
        if got != want:
            self.failures.append(f"{what}: got {_short(got)}, expected {_short(want)}")
        return got == want

    def true(self, what, holds, detail=""):
        self.checked += 1
        if not holds:
            self.failures.append(f"{what}: {detail}" if detail else what)
        return bool(holds)

    def finish(self):
        """Prints the verdict and ends the program. A test that compared nothing has failed."""
        for failure in self.failures[:SHOWN_FAILURES]:
            print(f"FAILED: {failure}")
        if len(self.failures) > SHOWN_FAILURES:
            print(f"... and {len(self.failures) - SHOWN_FAILURES} more")
        print(f"{self.checked} comparisons, {len(self.failures)} failed")
        sys.exit(1 if self.failures or not self.checked else 0)


def _short(value):
    text = repr(value)
    return text if len(text) <= 300 else text[:297] + "..."
