"""The process that each event of a real trace is said to come from, against an independent reader.

The process tables are made here from the traces' own records: the kernel's Process events in the
versions that these traces have, and the start and stop events of Microsoft-Windows-Kernel-Process. Which share of the events has a name has to be what follows from
these tables, and each name has to be the one that the process id had at that time.
"""

import struct
from collections import Counter, defaultdict
from datetime import datetime

import common
import minietl

PROCESS_CLASS = "3d6fa8d0-fe05-11.0-9dda-00c04fd7ba7c"
PROVIDER = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"
START, END, RUNDOWN_END = 1, 2, 4
SECOND = 10_000_000

# trace -> events with a process id, and how many of these have a name
EXPECTED = {
    "etl-parser-ShutdownPerfDiagLogger.etl": (8432, 8432),
    "msbuild-PerfViewData.etl": (5780, 0),  # tells of no process
    "perfview-net.4.5.2.x86.etl": (53116, 53116),
    "perfview-net.4.5.x86-2016.etl": (142527, 142527),
    "tx-Process.etl": (10343, 3322),  # starts and ends alone, no rundown
}
NAME_BYTES = 14  # what some events keep of a name


def filetime(text):
    whole, fraction = text.rstrip("Z").split(".")
    seconds = (datetime.fromisoformat(whole) - minietl.FILETIME_EPOCH).total_seconds()
    return int(seconds) * SECOND + int(fraction)


def text16(payload, at):
    end = at
    while payload[end:end + 2] not in (b"\0\0", b""):
        end += 2
    return payload[at:end].decode("utf-16-le"), end + 2


def behind_sid(payload, at, pointer):
    """A TOKEN_USER and a SID, or four bytes of zeros."""
    sid = at + 2 * pointer
    if payload[sid:sid + 1] == b"\1" and payload[sid + 1] <= 15:
        return sid + 8 + 4 * payload[sid + 1]
    return at + 4


def kernel_process(record, pointer):
    """(pid, name) of a kernel Process event of versions 2 to 4."""
    pid, = struct.unpack_from("<I", record.payload, pointer)
    at = pointer + 16 + (pointer if record.version >= 3 else 0) + (4 if record.version >= 4 else 0)
    at = behind_sid(record.payload, at, pointer)
    return pid, record.payload[at:record.payload.index(b"\0", at)].decode("cp1252")


def is_process(record):
    return record.guid == PROCESS_CLASS or record.group == 3


class Lives:
    """Who had an id: [start, end, name], either time None where nobody saw it."""

    def __init__(self):
        self.of = defaultdict(list)

    def tell(self, key, what, time, name):
        """News in their order of time."""
        lives = self.of[key]
        if what == START or not lives or lives[-1][1] is not None:
            lives.append([time if what == START else None, None, name])
        lives[-1][2] = max(lives[-1][2], name, key=len)
        if what == END:
            lives[-1][1] = time

    def names(self, key, time):
        """Whose it was; empty: nobody's as far as the trace tells."""
        for start, end, name in reversed(self.of.get(key, [])):
            if (start is None or start <= time) and (end is None or time <= end + SECOND):
                return name
        return ""


def tables(trace):
    processes, news = Lives(), []
    for records in trace.by_cpu.values():
        for record in records:
            time = trace.filetime(record.ticks)
            if is_process(record) and START <= record.opcode <= RUNDOWN_END:
                news.append((time, record.opcode, *kernel_process(record, record.pointer)))
            elif record.guid == PROVIDER and record.id in (START, END):
                news.append(provider_news(record))
    for time, what, pid, name in sorted(news, key=lambda item: item[0]):
        processes.tell(pid, what, time, name)
    return processes


def provider_news(record):
    """Versions 0 to 2 of event 1, 0 and 1 of event 2."""
    pid, created = struct.unpack_from("<IQ", record.payload)
    if record.id == START:
        path, _ = text16(record.payload, 20 + (4 if record.version else 0))
        return created, START, pid, path.rsplit("\\", 1)[-1]
    ended, = struct.unpack_from("<Q", record.payload, 12)
    name = record.payload[{0: 48, 1: 76}[record.version]:].split(b"\0")[0].decode("cp1252")
    return ended, END, pid, name


def same_name(got, want):
    got, want = got.lower(), want.lower()
    return got == want or (len(want) >= NAME_BYTES and got.startswith(want)) \
        or (len(got) >= NAME_BYTES and want.startswith(got))


def check(report, path):
    processes = tables(minietl.Trace(path))
    counts = Counter()
    for event in common.dump(path):
        process = event.get("process", {})
        if common.is_of_agent(event) or "pid" not in process:
            continue
        counts["pid"] += 1
        time = filetime(event["@timestamp"])
        want = processes.names(process["pid"], time)
        got = process.get("name", "")
        counts["named"] += bool(got)
        counts["known"] += bool(want)
        if not (same_name(got, want) if got and want else got == want):
            report.true(f"{path.name}: pid {process['pid']} at {event['@timestamp']}", False,
                        f"{got!r}, by the trace's records {want!r}")
    report.equal(f"{path.name}: events with a name", counts["named"], counts["known"])
    share = 1.0 * counts["named"] / counts["pid"] if counts["pid"] else 0
    print(f"{path.name:42} {counts['pid']:8} {counts['named']:8} {share:6.2f} %")
    return counts["pid"], counts["named"]


def main():
    report = common.Report()
    common.shared()
    print(f"{'trace':42} {'with pid':>8} {'named':>8}    share")
    for path in common.traces():
        if path.name in EXPECTED:
            report.equal(f"{path.name}: with a process id, named", check(report, path),
                         EXPECTED[path.name])
    report.finish()


if __name__ == "__main__":
    main()
