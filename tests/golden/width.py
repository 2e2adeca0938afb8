"""How wide the pointers in classic events are, where the header says another width than the payload has.

The traces are made here: class Image of version 0, as a program for 32-bit Windows writes it on a
64-bit one, with EVENT_TRACE_HEADER of 32 bits before payloads of the 64-bit layout. The values that are
expected are those that the traces are made of.

Whether such a payload fits the layout of 32 bits, too, depends on the size of the module: its lower
and upper half stand where the narrow layout has the first characters of the name.
"""

import json
import os
import struct
import subprocess
import tempfile
import uuid
from collections import namedtuple
from pathlib import Path

import common

IMAGE = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"
START = 134397270000000000  # FILETIME of 2026-11-21T09:30:00Z
LOAD = 10

Image = namedtuple("Image", "base size name pid width")

PROVING = 0x9000             # the upper half is 0: it would end the name, with bytes left over
GARBAGE = 0x0012A000         # U+A000 U+0012: a control before the name
LETTERS = 0x0025A000         # U+A000 '%': it may be a name
PATHS = [r"C:\Windows\System32\ntdll.dll", r"\Device\HarddiskVolume2\a.exe", "user32.dll"]


def image(number, size, pid=100, width=8, name=None):
    base = 0x7FF9_12340000 + (number << 16) if width == 8 else 0x10000000 + (number << 16)
    return Image(base, size, name or f"{PATHS[0]}.{number}", pid, width)


def record(number, image_):
    """EVENT_TRACE_HEADER (evntrace.h) of header type 10, and Image_V0: base, size, name."""
    payload = struct.pack("<QI" if image_.width == 8 else "<II", image_.base, image_.size) + \
        (image_.name + "\0").encode("utf-16-le")
    return struct.pack("<HBBBBHIIq16sQ", 48 + len(payload), 10, 0xC0, LOAD, 0, 0, 1176, image_.pid,
                       START + number, uuid.UUID(IMAGE).bytes_le, 0) + payload


def make(folder, name, images):
    records, trace = folder / f"{name}.bin", folder / f"{name}.etl"
    made = [record(number, image_) for number, image_ in enumerate(images)]
    records.write_bytes(b"".join(struct.pack("<I", len(raw)) + raw for raw in made))
    subprocess.run([os.environ["ETWSHIP_ETLGEN"], "--clock", "system", "--cpus", "1", "--pointer",
                    "4", "--records", records, "-o", trace], check=True, stdout=subprocess.DEVNULL)
    return trace


def shape(event):
    data = event["data"]
    return (common.number(data["BaseAddress"]), common.number(data["ModuleSize"]),
            data["ImageFileName"], event["process"]["pid"], event["etw"].get("pointer_size", 4))


def compare(report, what, events, images):
    events = [e for e in events if not common.is_of_agent(e)]
    report.equal(f"{what}: events", len(events), len(images))
    for number, (event, want) in enumerate(zip(events, images)):
        report.equal(f"{what}: event {number}", shape(event), tuple(want))
        report.true(f"{what}: event {number} is whole", "payload_rest" not in event, str(event))


def counts(trace):
    decode = common.stat(trace)[0]["decode"]
    return decode["other_pointer_size"], decode.get("learned_pointer_size")


def check(report, folder, name, images, learned):
    """All of `images` are decoded; `learned`: the number of those whose width comes from others of their class."""
    trace = make(folder, name, images)
    compare(report, name, common.dump(trace), images)
    report.equal(f"{name}: stat", counts(trace), (sum(i.width == 8 for i in images), learned))
    return trace


def run(folder, trace, workers):
    """The events of an agent with so many decode workers."""
    out = folder / f"out{workers}.ndjson"
    config = folder / "etwship.yaml"
    config.write_text(json.dumps({
        "version": 1, "spool": {"mode": "memory"}, "agent": {"decode_workers": workers},
        "sessions": [{"name": "trace", "type": "file", "paths": [str(trace)]}],
        "outputs": [{"name": "out", "type": "file", "path": str(out)}]}))
    common.run("run", "-c", config)
    return [json.loads(line) for line in out.read_text().splitlines()]


def earlier_events_are_as_the_ones_that_prove_it(report, folder):
    sizes = [GARBAGE, LETTERS] * 11 + [PROVING] * 4
    images = [image(i, size, name=PATHS[i % 3]) for i, size in enumerate(sizes)]
    trace = check(report, folder, "proven", images, 22)
    text = common.run("stat", trace).decode()
    for line in ("26 events with the other pointer size",
                 "22 of them by what others of their class prove"):
        report.true(f"stat says: {line}", line in text, text)
    forced = common.dump("--pointer-size", "8", trace)
    compare(report, "forced", forced, images)


def each_process_has_its_own_width(report, folder):
    both = [image(i, LETTERS, pid, width) for i in range(20)
            for pid, width in ((100, 8), (200, 4), (300, 8))]
    # 100 proves its width, 200 shows paths with the header's, of 300 nothing is known.
    check(report, folder, "processes", both + [image(20, PROVING)], 40)


def a_text_is_evidence(report, folder):
    images = [image(i, LETTERS) for i in range(5)] + [image(5, GARBAGE)]
    check(report, folder, "text", images, 6)


def without_evidence_the_header_stands(report, folder):
    """With the narrow layout, base and size are the halves of the base, and the size is text."""
    images = [image(i, LETTERS) for i in range(3)]
    trace = make(folder, "unknown", images)
    narrow = [Image(i.base & 0xFFFFFFFF, i.base >> 32, "\ua000%" + i.name, i.pid, 4) for i in images]
    compare(report, "unknown", common.dump(trace), narrow)
    report.equal("unknown: stat", counts(trace), (0, 0))


def traces_do_not_speak_for_each_other(report, folder):
    proven = make(folder, "a", [image(0, LETTERS), image(1, PROVING)])
    narrow = [image(i, LETTERS, width=4, name="kernel32.dll") for i in range(2)]
    other = make(folder, "b", narrow)
    events = common.dump(proven, other)
    compare(report, "two traces", [e for e in events if e["etw"]["file"] == other.name], narrow)


def workers_do_not_matter(report, folder):
    """Many slabs of events come before the events that prove their width."""
    images = [image(i, LETTERS, pid=100 + i % 10) for i in range(10000)] + [image(1, PROVING)]
    trace = make(folder, "many", images)
    for workers in (1, 4):
        events = run(folder, trace, workers)
        wrong = [i for i, (e, want) in enumerate(zip(events, images)) if shape(e) != tuple(want)]
        report.equal(f"{workers} workers: events", len(events), len(images))
        report.equal(f"{workers} workers: wrong ones", wrong[:5], [])


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as path:
        for test in (earlier_events_are_as_the_ones_that_prove_it, each_process_has_its_own_width,
                     a_text_is_evidence, without_evidence_the_header_stands,
                     traces_do_not_speak_for_each_other, workers_do_not_matter):
            test(report, Path(path))
    report.finish()


if __name__ == "__main__":
    main()
