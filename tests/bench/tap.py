"""What `etwship tap` costs an agent: processor seconds for one trace, with and without a tap.

    tap.py [--events N] [--rounds N]

Rounds take turns, so that a busy machine is so for all of them. Needs ETWSHIP_BIN and ETWSHIP_ETLGEN.
"""

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

WAYS = {
    "no tap": None,
    "100 a second": ["--rate", "100"],
    "10000 a second": ["--rate", "10000"],
    "a rare event": ["--rate", "100", "--where", "process.pid == 1 and provider.name == 'nobody'"],
}


def is_ready(path):
    """Has the agent begun to read its sessions?"""
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(str(path))
            server.sendall(b"GET /ready HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n")
            return b" 200 " in server.recv(64)
        except OSError:
            return False


def run(folder, arguments):
    """Processor seconds of the agent, seconds that it took, and events that were shown."""
    config = folder / "etwship.yaml"
    address = folder / "s"
    config.write_text(json.dumps({
        "status": {"unix": str(address)}, "agent": {"log": {"stats": "0s"}},
        "sessions": [{"name": "traces", "type": "file", "paths": [str(folder / "t.etl")]}],
        "outputs": [{"type": "stdout"}]}))
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    agent = subprocess.Popen([os.environ["ETWSHIP_BIN"], "run", "-c", config], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    tap = None
    shown = folder / "shown"
    if arguments:
        wait_until(lambda: is_ready(address), process=agent, tick_s=0.001)
        with open(shown, "wb") as out:
            tap = subprocess.Popen([os.environ["ETWSHIP_BIN"], "tap", "traces", *arguments, "-c", config], stdout=out,
                                   stderr=subprocess.DEVNULL)
    assert agent.wait() == 0
    took = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)  # without the tap, which has not been waited for
    count = 0
    if tap:
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
                found[way].append(run(folder, arguments))
        base = statistics.median(cpu for cpu, _, _ in found["no tap"])
        for way, runs in found.items():
            cpu = statistics.median(cpu for cpu, _, _ in runs)
            rate = options.events / statistics.median(took for _, took, _ in runs)
            print(f"{way:16} {cpu:6.3f} s ({100 * (cpu / base - 1):+5.1f} %), least "
                  f"{min(cpu for cpu, _, _ in runs):6.3f} s, {rate:9.0f} events/s, "
                  f"{statistics.median(count for _, _, count in runs):7.0f} shown")


if __name__ == "__main__":
    main()
