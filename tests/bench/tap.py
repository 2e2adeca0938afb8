"""What `etwship tap` costs an agent: processor seconds for one trace, with and without somebody who looks on.

    tap.py [--events N] [--rounds N]

Rounds take turns, so that a busy machine is so for all of them. Needs ETWSHIP_BIN and ETWSHIP_ETLGEN.
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

WAYS = {
    "nobody": None,
    "100 a second": ["--rate", "100"],
    "10000 a second": ["--rate", "10000"],
    "a rare event": ["--rate", "100", "--where", "process.pid == 1 and provider.name == 'nobody'"],
}


def run(folder, arguments):
    """Processor seconds of the agent, seconds that it took, and events that were shown."""
    config = folder / "etwship.yaml"
    socket = folder / "s"
    config.write_text(json.dumps({
        "status": {"unix": str(socket)}, "agent": {"log": {"stats": "0s"}},
        "sessions": [{"name": "traces", "type": "file", "paths": [str(folder / "t.etl")]}],
        "outputs": [{"type": "stdout"}]}))
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    agent = subprocess.Popen([os.environ["ETWSHIP_BIN"], "run", "-c", config], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    tap = None
    shown = folder / "shown"
    if arguments:
        while not socket.exists():
            time.sleep(0.001)
        # Under a shell that lives on, so that the tap's own time is not taken for the agent's.
        tap = subprocess.Popen(["sh", "-c", 'while ! "$@" 2>/dev/null; do [ -e go ] || exit; sleep .01; done; cat >/dev/null',
                                "tap", os.environ["ETWSHIP_BIN"], "tap", "traces", *arguments, "-c", config],
                               stdin=subprocess.PIPE, stdout=open(shown, "wb"), cwd=folder)
    assert agent.wait() == 0
    took = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    count = 0
    if tap:
        (folder / "go").unlink(missing_ok=True)
        tap.stdin.close()
        tap.wait()
        count = shown.read_bytes().count(b"\n")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took, count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        subprocess.run([os.environ["ETWSHIP_ETLGEN"], "--mix", "realistic", "--events", str(options.events), "-o",
                        folder / "t.etl"], check=True, stdout=subprocess.DEVNULL)
        found = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way, arguments in WAYS.items():
                (folder / "go").touch()
                found[way].append(run(folder, arguments))
        base = statistics.median(cpu for cpu, _, _ in found["nobody"])
        for way, runs in found.items():
            cpu = statistics.median(cpu for cpu, _, _ in runs)
            rate = options.events / statistics.median(took for _, took, _ in runs)
            print(f"{way:16} {cpu:6.3f} s ({100 * (cpu / base - 1):+5.1f} %), least "
                  f"{min(cpu for cpu, _, _ in runs):6.3f} s, {rate:9.0f} events/s, "
                  f"{statistics.median(count for _, _, count in runs):7.0f} shown")


if __name__ == "__main__":
    main()
