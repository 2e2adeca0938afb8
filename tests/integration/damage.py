"""Damaged traces: every trace cut short and with bits flipped, at places that are always the same.

`dump` must end by itself with one of its documented exit codes, say what is wrong, write nothing
but whole lines of JSON, and keep every event that stands before a cut. With a sanitizer build as
ETWSHIP_BIN any memory error fails the test too. Without --full a slice runs.
"""

import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
import common  # noqa: E402
import minietl  # noqa: E402

DOCUMENTED = (0, 1, 3)  # done; failed; finished, but something was damaged
SANITIZER_EXIT_CODE = 99
ENVIRONMENT = os.environ | {
    "ASAN_OPTIONS": f"exitcode={SANITIZER_EXIT_CODE}:allocator_may_return_null=1",
    "UBSAN_OPTIONS": f"exitcode={SANITIZER_EXIT_CODE}:halt_on_error=1:print_stacktrace=1"}
# Only a net under a program that does not end; runs take from milliseconds to some seconds.
TIMEOUT_S = 120
LARGE_BYTES = 1_000_000
CUTS, FLIPS = 6, 20
LARGE_CUTS, LARGE_FLIPS = 2, 3
FULL_CUTS, FULL_FLIPS = 200, 2000
HEAD_BYTES = 0x200
LONG_LINES = 2000


class Original:
    def __init__(self, path):
        self.path, self.bytes = path, path.read_bytes()
        trace = minietl.Trace(path)
        self.starts = [buffer.start for buffer in trace.buffers]
        self.ends, self.events_until = [], []
        events = 0
        for buffer in trace.buffers:
            events += sum(not minietl.is_metadata(r) for r in minietl.records(buffer))
            self.ends.append(buffer.end)
            self.events_until.append(events)

    def whole_before(self, position):
        """The events of all buffers that end before a cut."""
        return max((e for end, e in zip(self.ends, self.events_until) if end <= position),
                   default=0)

    def cut(self, rng, index):
        # The first variants are the edges of the file's head.
        edges = [0, 1, 0x47, 0x48, 0x50, len(self.bytes) - 1]
        position = edges[index] if index < len(edges) else rng.randrange(len(self.bytes))
        return f"cut at {position:#x}", self.bytes[:position], self.whole_before(position)

    def flip(self, rng):
        """Flip 1 to 20 bits. In half of the variants they lie in heads of buffers, where structure is dense."""
        damaged, places = bytearray(self.bytes), []
        in_heads = rng.random() < 0.5
        for _ in range(rng.randint(1, 20)):
            place = rng.randrange(len(damaged))
            if in_heads:
                place = min(rng.choice(self.starts) + rng.randrange(HEAD_BYTES), len(damaged) - 1)
            damaged[place] ^= 1 << rng.randrange(8)
            places.append(f"{place:#x}")
        return f"flipped at {' '.join(places)}", bytes(damaged), 0


def faults(program, path, at_least):
    """The faults of one run as a list of sentences, and the number of its events."""
    # The output goes to a file: a parser in Python would be the slow end of a pipe.
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run([program, "dump", "--stack-walk", "events", path], stdout=output,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  env=ENVIRONMENT, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return ["does not end"], 0
        output.seek(0)
        written = output.read()
    errors = done.stderr.decode("utf-8", "replace").strip()
    found = []
    if done.returncode not in DOCUMENTED:
        found.append(f"exit code {done.returncode}: {errors[-1500:]}")
    elif done.returncode and not errors:
        found.append(f"exit code {done.returncode} without a word on stderr")
    if written and not written.endswith(b"\n"):
        found.append("the last line is cut off")
    lines = written.split(b"\n")[:-1]
    # Long outputs are many, and parsing in Python is slow: there every 16th line is enough.
    step = 1 if len(lines) <= LONG_LINES else 16
    for number, line in list(enumerate(lines, 1))[::step]:
        try:
            common.parse_strictly(line.decode("utf-8", "strict"))
        except ValueError as error:
            found.append(f"line {number}: {error}: {line[:200]!r}")
            break
    if len(lines) < at_least:
        found.append(f"{len(lines)} events, but {at_least} stand before the cut")
    return found, len(lines)


def main():
    full = "--full" in sys.argv[1:] or os.environ.get("ETWSHIP_FULL") == "1"
    report, program = common.Report(), common.binary()
    originals = [Original(path) for path in common.traces()]

    def variants(original):
        rng = random.Random(original.path.name)
        large = len(original.bytes) > LARGE_BYTES
        cuts, flips = (FULL_CUTS, FULL_FLIPS) if full else \
            (LARGE_CUTS, LARGE_FLIPS) if large else (CUTS, FLIPS)
        for index in range(cuts):
            # Of a large trace only real cuts are worth a run of the slice.
            yield original.cut(rng, index + (1000 if large and not full else 0))
        for _ in range(flips):
            yield original.flip(rng)

    def one(folder, number, what, damaged, at_least):
        path = os.path.join(folder, f"{number}.etl")
        with open(path, "wb") as file:
            file.write(damaged)
        try:
            return what, *faults(program, path, at_least)
        finally:
            os.unlink(path)

    with tempfile.TemporaryDirectory() as folder, \
            ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for original in originals:
            name, whole = original.path.name, original.events_until[-1]
            kept, runs = 0, 0
            # A few at a time, since each holds a copy of the trace.
            batch = []
            for number, (what, damaged, at_least) in enumerate(variants(original)):
                batch.append(pool.submit(one, folder, number, what, damaged, at_least))
                if len(batch) >= 2 * os.cpu_count():
                    kept, runs = collect(report, name, batch.pop(0), kept, runs)
            for future in batch:
                kept, runs = collect(report, name, future, kept, runs)
            print(f"{name}: {runs} damaged copies, on average "
                  f"{100 * kept / (runs * whole):.1f} % of the events came out", flush=True)
    report.finish()


def collect(report, name, future, kept, runs):
    what, found, events = future.result()
    report.true(f"{name} {what}", not found, "; ".join(found))
    return kept + events, runs + 1


if __name__ == "__main__":
    main()
