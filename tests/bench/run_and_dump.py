"""Events per second of `run` and of `dump`, on one trace, each to nowhere.

    run_and_dump.py [--events N] [--rounds N] [--trace FILE] [--mix NAME]

Prints medians of interleaved rounds, by the clock and by CPU time, and how many times faster each way is than
`run` with one worker on one processor. Two such runs at once, one on each processor, share nothing. They show how much
a second processor of this machine can give: less than twice if both are threads of one core. The clock says something
on a quiet machine alone. Fails where two ways do not read the same number of events.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]


def count(arguments):
    """The events that a way writes."""
    with subprocess.Popen([BINARY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        return sum(block.count(b"\n") for block in iter(lambda: process.stdout.read(1 << 20), b""))


def start(arguments, processors):
    return subprocess.Popen([BINARY, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            preexec_fn=lambda: processors and os.sched_setaffinity(0, processors))


def measure(arguments, *copies):
    """Seconds by the clock and of CPU until all copies have ended, each on its own processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    processes = [start(arguments, processors) for processors in copies]
    assert not any([process.wait() for process in processes]), arguments
    wall = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trace")
    parser.add_argument("--mix", default="realistic")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        trace = options.trace or folder / "trace.etl"
        if not options.trace:
            subprocess.run([ETLGEN, "--mix", options.mix, "--events", str(options.events), "-o", str(trace)],
                           check=True, stdout=subprocess.DEVNULL)
        two = [{processor} for processor in sorted(os.sched_getaffinity(0))[:2]]
        ways = {}
        for name, workers, copies in (
                ("run, 1 worker, 1 processor", 1, two[:1]), ("two such runs at once", 1, two),
                ("run, 1 worker", 1, [()]), ("run, 2 workers", 2, [()])):
            config = folder / f"{workers}.yaml"
            config.write_text(json.dumps({
                "version": 1, "agent": {"decode_workers": workers}, "spool": {"mode": "memory"},
                "sessions": [{"name": "s", "type": "file", "paths": [str(trace)]}],
                "outputs": [{"type": "stdout"}]}))
            ways[name] = (["run", "-c", config], copies)
        ways["dump"] = (["dump", trace], [()])
        counts = {count(arguments) for arguments, _ in ways.values()}
        assert len(counts) == 1, counts
        events = counts.pop()
        rounds = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, (arguments, copies) in ways.items():
                rounds[name].append(measure(arguments, *copies))
        base = statistics.median(r[0] for r in next(iter(rounds.values())))
        for name, of_way in rounds.items():
            copies = len(ways[name][1])
            wall, cpu = (statistics.median(r[i] for r in of_way) / copies for i in (0, 1))
            print(f"{name:26} {events / wall:12,.0f} events/s   {events / cpu:12,.0f} events/s of CPU   "
                  f"{base / wall:5.2f} times")


if __name__ == "__main__":
    main()
