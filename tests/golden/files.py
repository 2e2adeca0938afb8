"""The file that each kernel event of a real trace is said to use, against an independent reader.

The names of file keys and file objects are gathered here from the traces' own records, as intervals of
time for each address; what the events are said to use has to be what these intervals have, event by
event and to the letter. Of the first events of each kind PerfView's own output says the first letters
of the name. What the agent ships must not depend on how many workers it has.
"""

import json
import re
import struct
import subprocess
import tempfile
from bisect import bisect_right
from collections import Counter, defaultdict
from pathlib import Path

import common
import minietl
from processes import filetime, text16

KERNEL_FILE = "edd08927-9cc4-4e65-b970-c2560fb5c289"
VOLUMES = "9b79ee91-b5fd-41c0-a243-4248e266e9d0"
CREATE, CREATE_NEW = 12, 30
NAME, CREATED, DELETED, RUNDOWN = 0, 32, 35, 36
UNKNOWN = "\\FI_UNKNOWN"
RUN_TIMEOUT_S = 600

# trace -> events that use a file, and how many of these have its name: all but the records that say
# themselves that the kernel does not know it
EXPECTED = {
    "perfview-net.4.5.2.x86.etl": (2389 + 394 + 3030 + 968, 2389 + 394 + 3028 + 968),
    "perfview-net.4.5.x86-2016.etl": (536 + 35 + 7661, 536 + 35 + 7652),
}


def utf16(payload, at):
    return text16(payload, at)[0]


# ---- what records say ---------------------------------------------------------------------------


def used(record):
    """(what, address) that an event says it uses, or None; `what` is key or object."""
    group, opcode, width = record.group, record.opcode, record.pointer
    at, what = None, "key"
    if group == 1 and opcode in (10, 11):  # DiskIo: Read, Write
        at = 24
    elif group == 2 and opcode == 32:  # HardFault
        at = 16 + width
    elif group == 4 and opcode in (NAME, CREATED, DELETED, RUNDOWN):
        at = 0
    elif record.guid == KERNEL_FILE and record.id in (CREATE, CREATE_NEW):
        at, what = width if record.version else 2 * width, "object"
    if at is None:
        return None
    return what, int.from_bytes(record.payload[at:at + width], "little")


def name_told(record):
    width = record.pointer
    if record.group == 4 and record.opcode in (NAME, CREATED, DELETED, RUNDOWN):
        return utf16(record.payload, width)
    if record.guid == KERNEL_FILE and record.id in (CREATE, CREATE_NEW):
        return utf16(record.payload, 2 * width + 16 if record.version else 3 * width + 12)
    return UNKNOWN


def drives(trace):
    """Paths of devices by drive, from KernelTraceControl's events."""
    found = {}
    for records in trace.by_cpu.values():
        for record in records:
            if record.guid == VOLUMES and record.opcode == 35:
                device, at = text16(record.payload, 0)
                found[device.rstrip("\\").lower()] = utf16(record.payload, at).rstrip("\\")
            elif record.guid == VOLUMES and record.opcode == 33:
                _, at = text16(record.payload, 0)
                found["\\systemroot"] = utf16(record.payload, at).rstrip("\\")
    return found


def shown(path, of_device):
    share = re.match(r"\\Device\\Mup\\(?:[^\\]+\\;\w:[^\\]*\\)?([^;].*)", path, re.IGNORECASE)
    if share:
        return "\\\\" + share[1]
    fitting = [device for device in of_device if path.lower().startswith(device + "\\")]
    if not fitting:
        return path
    device = max(fitting, key=len)
    return of_device[device] + path[len(device):]


# ---- intervals ----------------------------------------------------------------------------------


class Names:
    """The names of each address as intervals: [start, name], in the order of time."""

    def __init__(self, trace):
        told = defaultdict(list)
        for records in trace.by_cpu.values():
            for record in records:
                use, name = used(record), name_told(record)
                if use and name != UNKNOWN:
                    is_start = record.opcode == CREATED if record.group == 4 else True
                    is_end = record.group == 4 and record.opcode == DELETED
                    told[use].append((trace.filetime(record.ticks), is_end, is_start, name))
        self.of = {use: self.intervals(sorted(news)) for use, news in told.items()}
        self.starts = {use: [start for start, _ in found] for use, found in self.of.items()}

    @staticmethod
    def intervals(news):
        """A name lasts from its start, else from the end of the previous one, to its end, else to the start of the
        next one. Between two names whose end and start are both unknown, the address has no name."""
        found, name, open_since = [], "", 0  # the name since then, unless the next news say otherwise
        for time, is_end, is_start, told in news:
            if is_start:
                found.append([time, told])
            elif name in ("", told):
                found.append([open_since, told])
            else:
                found += [[open_since + 1, ""], [time, told]]
            if is_end:
                found.append([time + 1, ""])
            name, open_since = ("", time + 1) if is_end else (told, time)
        return sorted(found, key=lambda interval: interval[0])

    def find(self, use, time):
        at = bisect_right(self.starts.get(use, []), time)
        return self.of[use][at - 1][1] if at else ""


# ---- comparing ----------------------------------------------------------------------------------


def expected(trace):
    names, of_device, found = Names(trace), drives(trace), Counter()
    for records in trace.by_cpu.values():
        for record in records:
            use = used(record)
            if use:
                time = trace.filetime(record.ticks)
                kind = record.id if record.guid == KERNEL_FILE else (record.group, record.opcode)
                found[time, kind, shown(names.find(use, time), of_device)] += 1
    return found


GROUPS = {"DiskIo": 1, "PageFault": 2, "FileIo": 4}


def use_of(event):
    """The file that a dumped event uses, in the form of used(); or None."""
    if event["provider"].get("guid") == KERNEL_FILE:
        return event["event"]["code"]
    kind = GROUPS.get(event["event"].get("name", "").split("/")[0]), event["event"].get("opcode")
    uses = kind in ((1, 10), (1, 11), (2, 32)) or kind[0] == 4
    return kind if uses else None


def check(report, path):
    got, counts, first = Counter(), Counter(), defaultdict(list)
    for event in common.dump(path):
        kind = use_of(event)
        name = event.get("file", {}).get("path", "")
        if kind is None:
            report.equal(f"{path.name}: file of {event['event']}", name, "")
            continue
        got[filetime(event["@timestamp"]), kind, name] += 1
        counts["used"] += 1
        counts["named"] += name != ""
        first[kind].append(name)
    want = expected(minietl.Trace(path))
    report.equal(f"{path.name}: named otherwise", list((got - want).items())[:5], [])
    report.equal(f"{path.name}: not named so", list((want - got).items())[:5], [])
    report.equal(f"{path.name}: use a file, with its name", (counts["used"], counts["named"]),
                 EXPECTED[path.name])
    nameable = sum(count for (_, _, name), count in want.items() if name)
    print(f"{path.name:34} {counts['used']:6} {nameable:9} {counts['named']:6}")
    return first


BASELINE = re.compile(r"^EVENT +[\d,.]+: Windows Kernel/(DiskIO/Read|DiskIO/Write|Memory/HardFault) .*"
                      r" FileName=([^;]*); $")
BASELINE_KINDS = {"DiskIO/Read": (1, 10), "DiskIO/Write": (1, 11), "Memory/HardFault": (2, 32)}


def check_perfview(report, path, first):
    """PerfView's first five events of a kind, with names cut after 20 letters."""
    seen = defaultdict(list)
    lines = path.with_suffix(".baseline.txt").read_text(encoding="utf-8-sig").splitlines()
    for line in lines:
        match = BASELINE.match(line)
        if match:
            seen[BASELINE_KINDS[match[1]]].append(match[2])
    report.true(f"{path.name}: PerfView's names", sum(map(len, seen.values())) >= 12, str(seen))
    for kind, names in seen.items():
        ours = first[kind][:len(names)]
        cut = [our[:len(name) - 3] + "..." if name.endswith("...") else our
               for our, name in zip(ours, names)]
        report.equal(f"{path.name}: {kind} as PerfView has it", cut, names)


# ---- the agent ------------------------------------------------------------------------------------


def shipped(folder, path, workers):
    out = folder / f"{workers}.jsonl"
    config = {"agent": {"decode_workers": workers, "data_dir": str(folder / f"state-{workers}")},
              "sessions": [{"type": "file", "name": "trace", "paths": [str(path)]}],
              "outputs": [{"name": "file", "type": "file", "path": str(out)}]}
    file = folder / "etwship.yaml"
    file.write_text(json.dumps(config), encoding="utf-8")
    subprocess.run([common.binary(), "run", "-c", str(file)], check=True, timeout=RUN_TIMEOUT_S,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    events = map(json.loads, out.read_bytes().splitlines())
    return [(event["etw"]["sequence"], event.get("file", {}).get("path", "")) for event in events
            if not common.is_of_agent(event)]


def check_workers(report, path):
    dumped = [(event["etw"]["sequence"], event.get("file", {}).get("path", ""))
              for event in common.dump(path)]
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2, 4):
            ours = shipped(Path(folder), path, workers)
            report.true(f"{path.name}: files with {workers} workers", ours == dumped,
                        f"{len(ours)} events, {sum(a != b for a, b in zip(ours, dumped))} differ")


def check_filter(report, path):
    """A filter sees the written values, whether the header is enough for its decision or not."""
    named = EXPECTED[path.name][1]
    for test, count in (("exists(file.path)", named),
                        ("exists(file.path) and not (data.FileObject == 1)", named),
                        ("file.path == ''", 0)):
        kept = sum(1 for _ in common.stream("--where", test, path))
        report.equal(f"{path.name}: {test}", kept, count)


def main():
    report = common.Report()
    common.shared()
    print(f"{'trace':34} {'use':>6} {'nameable':>9} {'named':>6}")
    for name in EXPECTED:
        path = common.trace(name)
        first = check(report, path)
        check_perfview(report, path, first)
    check_filter(report, common.trace("perfview-net.4.5.2.x86.etl"))
    check_workers(report, common.trace("perfview-net.4.5.2.x86.etl"))
    without = common.dump("--no-process-context", common.trace("perfview-net.4.5.2.x86.etl"))
    report.equal("files without process context", sum("file" in event for event in without), 0)
    report.finish()


if __name__ == "__main__":
    main()
