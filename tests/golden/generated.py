"""Traces of the project's own generator against the independent reader, so that what the golden tests ask of real
traces is asked where there are none: order and completeness, strict JSON, and the counts of `stat`.

One trace for each shape of files and records that the reader knows. What it does not know (WPP messages, other clocks)
is left to golden.wpp and the integration tests.
"""

import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import common
import json_lines
import minietl
import order

EVENTS = "400"
BUFFER_BYTES = "8192"  # so that each processor has several
SHAPES = {
    "manifest": ["--mix", "manifest", "--cpus", "3"],
    "manifest-32": ["--mix", "manifest", "--pointer", "4"],
    "compressed": ["--mix", "manifest", "--compress", "xpress"],
    "circular": ["--mix", "manifest", "--circular", "8", "--unclosed"],
    "eventsource": ["--mix", "eventsource", "--windows-7"],
    "tracelogging": ["--mix", "tracelogging"],
    "kernel": ["--mix", "kernel", "--disorder"],
    "kernel-32": ["--mix", "kernel", "--pointer", "4"],
}
HEADER_TYPE = {("system", 4): "SYSTEM32", ("system", 8): "SYSTEM64", ("perfinfo", 4): "PERFINFO32",
               ("perfinfo", 8): "PERFINFO64", ("full", 4): "FULL_HEADER32", ("full", 8): "FULL_HEADER64",
               ("event", 4): "EVENT_HEADER32", ("event", 8): "EVENT_HEADER64"}


def check_counts(report, path):
    trace = minietl.Trace(path)
    records = [record for records in trace.by_cpu.values() for record in records]
    got = common.stat(path)[0]
    want = {
        "size": path.stat().st_size,
        "buffers": len(trace.buffers),
        "records": len(records),
        "cpus": sorted(trace.by_cpu),
        "header_types": dict(Counter(HEADER_TYPE[r.kind, r.pointer] for r in records)),
        "event_providers": dict(Counter(r.guid for r in records if r.kind == "event")),
        "classic_providers": dict(Counter(r.guid for r in records if r.kind == "full")),
        "messages": {},
    }
    for key, value in want.items():
        report.equal(f"{path.name}: {key}", got.get(key), value)
    report.equal(f"{path.name}: damage", got.get("damage"), [])
    decode = got["decode"]
    report.equal(f"{path.name}: events", decode["events"],
                 sum(not minietl.is_metadata(record) for record in records))


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        for name, options in SHAPES.items():
            path = Path(folder) / f"{name}.etl"
            subprocess.run([os.environ["ETWSHIP_ETLGEN"], *options, "--events", EVENTS, "--buffer-size", BUFFER_BYTES,
                            "-o", path], check=True, stdout=subprocess.DEVNULL, timeout=common.RUN_TIMEOUT_S)
            check_counts(report, path)
            order.check(report, path)
            json_lines.check(report, path, [(*json_lines.NATIVE, []), (*json_lines.ECS, [])])
    report.finish()


if __name__ == "__main__":
    main()
