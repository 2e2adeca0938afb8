"""Events per second of `run` and of `dump`, on one trace, into files of the same size.

    run_and_dump.py [--events N] [--rounds N] [--trace FILE]

Prints the best of the rounds, by the clock and by CPU time. The clock says something on a quiet
machine alone. Fails where the two do not write the same number of events.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]


def measure(*arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    subprocess.run([BINARY, *map(str, arguments)], check=True, stderr=subprocess.DEVNULL)
    wall = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trace")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        trace = options.trace or folder / "trace.etl"
        if not options.trace:
            subprocess.run([ETLGEN, "--events", str(options.events), "-o", str(trace)],
                           check=True, stdout=subprocess.DEVNULL)
        dumped, out = folder / "dumped", folder / "out"
        commands = {"dump": (dumped, ["dump", "-o", dumped, trace])}
        for workers in (1, 2):
            config = folder / f"{workers}.yaml"
            config.write_text(json.dumps({
                "version": 1, "agent": {"decode_workers": workers}, "spool": {"mode": "memory"},
                "sessions": [{"name": "s", "type": "file", "paths": [str(trace)]}],
                "outputs": [{"type": "file", "path": str(out)}]}))
            commands[f"run, {workers} worker{'s' * (workers > 1)}"] = (out, ["run", "-c", config])
        counts = set()
        for name, (path, arguments) in commands.items():
            rounds = []
            for _ in range(options.rounds):
                path.unlink(missing_ok=True)
                rounds.append(measure(*arguments))
                with open(path, "rb") as file:
                    count = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
            counts.add(count)
            wall, cpu = min(r[0] for r in rounds), min(r[1] for r in rounds)
            print(f"{name:15} {count / wall:12,.0f} events/s   {count / cpu:12,.0f} events/s of CPU")
        assert len(counts) == 1, counts


if __name__ == "__main__":
    main()
