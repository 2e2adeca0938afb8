"""What `dump` takes as a whole process, start to end, its output thrown away: beside a program that knows every
event in advance (linux/limit_ship.c), where descriptors vary within a type, beside the trace whose do not, and with
filters that need only the header and drop nearly all.

    dump.py [--events N] [--rounds N]

In each round every row runs once, so that ratios hold whatever else the machine does: medians of CPU, user and
system, and of the ratios of the rounds, with their lowest and highest.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

BINARY = os.path.abspath(os.environ["ETWSHIP_BIN"])
ETLGEN = os.path.abspath(os.environ["ETWSHIP_ETLGEN"])
LIMIT = os.path.abspath(os.environ["ETWSHIP_LIMIT_SHIP"])
BODY_BYTES = "1000000"
# Hardly any of 4,000 processes is in them, so what counts is to read, to merge and to decide by the header. One is:
# a dump that finds nothing reads the trace once more.
RANGES = ", ".join(f"{first}-{first + 1}" for first in range(1, 1000, 100)) + ", 1668"


def cpu(arguments, folder):
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return used.ru_utime + used.ru_stime


def written(arguments, folder):
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE)
    size = sum(len(block) for block in iter(lambda: process.stdout.read(1 << 20), b""))
    assert process.wait() == 0, arguments
    return size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500000)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    # Name, options of the trace, command, and the row that it is beside.
    rows = [("limit program", ["--mix", "limit", "--cpus", "1"],
             [LIMIT, "0.etl", "0", BODY_BYTES, "none", ',"agent":{"name":"bench"}'], None),
            ("dump, the same trace", None, [BINARY, "dump", "--no-process-context", "0.etl"], 0),
            ("dump", [], [BINARY, "dump", "2.etl"], None),
            ("dump, 24 descriptors a type", ["--descriptors", "24"], [BINARY, "dump", "3.etl"], 2),
            ("dump, keywords of each event", ["--descriptors", "4000000000"], [BINARY, "dump", "4.etl"], 2),
            ("dump --where, two processes", ["--mix", "manifest"],
             [BINARY, "dump", "--where", "process.pid in (1668, 4712)", "5.etl"], None),
            ("dump --where, eleven ranges", None,
             [BINARY, "dump", "--where", f"process.pid in ({RANGES})", "5.etl"], 5)]
    with tempfile.TemporaryDirectory() as folder:
        for i, (_, trace, _, _) in enumerate(rows):
            if trace is not None:
                subprocess.run([ETLGEN, "--events", str(options.events), *trace, "-o",
                                Path(folder) / f"{i}.etl"], check=True, stdout=subprocess.DEVNULL)
        limit_bytes = int(subprocess.run(rows[0][2], cwd=folder, check=True,
                                         stdout=subprocess.PIPE).stdout.split()[1])
        sizes = [limit_bytes] + [written(command, folder) for _, _, command, _ in rows[1:]]
        rounds = [[cpu(command, folder) for _, _, command, _ in rows] for _ in range(options.rounds)]
    print(f"{'':30} {'bytes':>7} {'CPU s per million':>18} {'ratio':>6} {'lowest':>7} {'highest':>8}")
    for i, (name, _, _, beside) in enumerate(rows):
        seconds = statistics.median(one[i] for one in rounds) / options.events * 1e6
        line = f"{name:30} {sizes[i] / options.events:7.0f} {seconds:18.2f}"
        if beside is not None:
            ratios = [one[i] / one[beside] for one in rounds]
            line += f" {statistics.median(ratios):6.2f} {min(ratios):7.2f} {max(ratios):8.2f}"
        print(line)


if __name__ == "__main__":
    main()
