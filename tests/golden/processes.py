"""The process that each event of a real trace is said to come from, against an independent reader.

The process tables are made here from the traces' own records: the kernel's Process events in the
versions that these traces have, and the start and stop events of Microsoft-Windows-Kernel-Process. Which share of the events has a name has to be what follows from
these tables, and each name has to be the one that the process id had at that time. Kernel records whose
header has no process are of the process or thread in their payload.
"""

import struct
from collections import Counter, defaultdict
from datetime import datetime
from functools import cache

import common
import minietl

PROCESS_CLASS = "3d6fa8d0-fe05-11.0-9dda-00c04fd7ba7c"
PROVIDER = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"
START, END, RUNDOWN_END, DEFUNCT = 1, 2, 4, 39
SECOND = 10_000_000

# trace -> events with a process id, and how many of these have a name
EXPECTED = {
    "etl-parser-ShutdownPerfDiagLogger.etl": (17069, 17064),  # 5 had ended long before (Defunct)
    "msbuild-PerfViewData.etl": (5780, 0),  # tells of no process
    "perfview-net.4.5.2.x86.etl": (148711, 148711),
    "perfview-net.4.5.x86-2016.etl": (159756, 159756),
    "tx-Process.etl": (10343, 3326),  # starts and ends alone, no rundown
}
NAME_BYTES = 14  # what some events keep of a name

# (group, types) -> whose id stands in the payload, behind so many bytes and pointers
PID, TID = "pid", "tid"
SUBJECTS = {
    (0x01, (10, 11)): (TID, 32, 2),  # DiskIo: Read, Write
    (0x01, (14,)): (TID, 16, 1),  # FlushBuffers
    (0x02, (32,)): (TID, 16, 2),  # HardFault
    (0x03, (1, 2, 3, 4, 39)): (PID, 0, 1),  # Process
    (0x03, (32, 33)): (PID, 0, 0),  # its counters
    (0x03, (10,)): (PID, 0, 2),  # Image: loads have the hook of processes
    (0x14, (2, 3, 4)): (PID, 0, 2),
    (0x06, tuple(range(10, 17)) + (18,) + tuple(range(26, 33)) + (34,)): (PID, 0, 0),  # TcpIp
    (0x08, (10, 11, 26, 27)): (PID, 0, 0),  # UdpIp
    (0x05, (3, 4)): (PID, 0, 0),  # lists of threads
    (0x0f, (46,)): (TID, 0, 1),  # SampleProf
}
# Lists of what there is when a session begins and ends: their payload counts, whatever their header has
LISTS = {(group, type_) for group in (0x03, 0x05, 0x14) for type_ in (3, 4)}
LIST_NAMES = ("Process/DCStart", "Process/DCEnd", "Thread/DCStart", "Thread/DCEnd", "Image/DCStart",
              "Image/DCEnd")
OF_TYPE = {(group, type_): where for (group, types), where in SUBJECTS.items() for type_ in types}
# What events of these are called, and the least number of those without a process in the header
CLASSES = {"DiskIo": 0x01, "PageFault": 0x02, "Process": 0x03, "Thread": 0x05, "Image": 0x14,
           "TcpIp": 0x06, "UdpIp": 0x08, "PerfInfo": 0x0f}
LISTS_OF = ("etl-parser-ShutdownPerfDiagLogger.etl", "perfview-net.4.5.2.x86.etl",
            "perfview-net.4.5.x86-2016.etl", "syzygy-process_64_v3-win7.etl")
NAMELESS_AT_LEAST = {"etl-parser-ShutdownPerfDiagLogger.etl": 8000,
                     "perfview-net.4.5.2.x86.etl": 95000, "perfview-net.4.5.x86-2016.etl": 17000}


def filetime(text):
    whole, fraction = text.rstrip("Z").split(".")
    return seconds_of(whole) * SECOND + int(fraction)


@cache
def seconds_of(text):
    return int((datetime.fromisoformat(text) - minietl.FILETIME_EPOCH).total_seconds())


def text16(payload, at):
    end = at
    while payload[end:end + 2] not in (b"\0\0", b""):
        end += 2
    return payload[at:end].decode("utf-16-le"), end + 2


def behind_sid(payload, at, pointer):
    """The offset after a TOKEN_USER and a SID, or after four bytes of zeros."""
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
    """The processes of an id: [start, end, name]; a time is None if the trace does not have it."""

    def __init__(self):
        self.of = defaultdict(list)

    def tell(self, key, what, time, name):
        """Process the news in their order of time."""
        lives = self.of[key]
        if what == START or not lives or lives[-1][1] is not None:
            lives.append([time if what == START else None, None, name])
        lives[-1][2] = max(lives[-1][2], name, key=len)
        if what == END:
            lives[-1][1] = time

    def names(self, key, time):
        """The process that had the id; empty: the trace names none."""
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
            elif record.group == 3 and record.opcode == DEFUNCT and record.version == 4:
                news.append((time, END, *kernel_process(record, record.pointer)))  # says no time itself
            elif record.guid == PROVIDER and record.id in (START, END):
                news.append(provider_news(record, time))
    for time, what, pid, name in sorted(news, key=lambda item: item[0]):
        processes.tell(pid, what, time, name)
    return processes


def provider_news(record, time):
    """Versions 0 to 2 of event 1, and 0 and 1 of event 2. A process that is reported as started exists by then."""
    pid, created = struct.unpack_from("<IQ", record.payload)
    if record.id == START:
        path, _ = text16(record.payload, 20 + (4 if record.version else 0))
        return min(created, time), START, pid, path.rsplit("\\", 1)[-1]
    ended, = struct.unpack_from("<Q", record.payload, 12)
    name = record.payload[{0: 48, 1: 76}[record.version]:].split(b"\0")[0].decode("cp1252")
    return ended, END, pid, name


def threads(trace):
    """Processes of threads, by the kernel's Thread events of version 1 or newer."""
    lives, news = Lives(), []
    for records in trace.by_cpu.values():
        for record in records:
            if record.group == 5 and START <= record.opcode <= RUNDOWN_END:
                pid, tid = struct.unpack_from("<II", record.payload)
                news.append((trace.filetime(record.ticks), record.opcode, tid, str(pid)))
    for time, what, tid, pid in sorted(news, key=lambda item: item[0]):
        lives.tell(tid, what, time, pid)
    return lives


def subjects(trace):
    """(time, class, type, pid) of the records of SUBJECTS, and the number of those whose headers name no process."""
    of_threads, found, nameless = threads(trace), Counter(), 0
    for records in trace.by_cpu.values():
        for record in records:
            if (record.group, record.opcode) not in OF_TYPE:
                continue
            time, pid = trace.filetime(record.ticks), record.pid
            nameless += pid is None
            if pid is None or (record.group, record.opcode) in LISTS:
                kind, size, pointers = OF_TYPE[record.group, record.opcode]
                pid, = struct.unpack_from("<I", record.payload, size + pointers * record.pointer)
                if kind == TID:
                    name = of_threads.names(pid, time)
                    pid = int(name) if name else None
            group = 0x14 if (record.group, record.opcode) == (3, 10) else record.group
            found[time, group, record.opcode, pid] += 1
    return found, nameless


def subject(event, time):
    """These values of a dumped event, or None."""
    group = CLASSES.get(event["event"].get("name", "").split("/")[0])
    opcode = event["event"].get("opcode")
    if (group, opcode) in OF_TYPE or (group, opcode) == (0x14, 10):
        return time, group, opcode, event.get("process", {}).get("pid")
    return None


def same_name(got, want):
    got, want = got.lower(), want.lower()
    return got == want or (len(want) >= NAME_BYTES and got.startswith(want)) \
        or (len(got) >= NAME_BYTES and want.startswith(got))


def check(report, path):
    trace = minietl.Trace(path)
    processes, of_whom, counts = tables(trace), Counter(), Counter()
    for event in common.dump(path):
        process = event.get("process", {})
        if common.is_of_agent(event):
            continue
        time = filetime(event["@timestamp"])
        of_whom[subject(event, time)] += 1
        if "pid" not in process:
            continue
        counts["pid"] += 1
        want = processes.names(process["pid"], time)
        got = process.get("name", "")
        counts["named"] += bool(got)
        counts["known"] += bool(want)
        if not (same_name(got, want) if got and want else got == want):
            report.true(f"{path.name}: pid {process['pid']} at {event['@timestamp']}", False,
                        f"{got!r}, by the trace's records {want!r}")
    report.equal(f"{path.name}: events with a name", counts["named"], counts["known"])
    if path.name in NAMELESS_AT_LEAST:
        check_subjects(report, path, trace, of_whom)
    share = 100.0 * counts["named"] / counts["pid"] if counts["pid"] else 0
    print(f"{path.name:42} {counts['pid']:8} {counts['named']:8} {share:6.2f} %")
    return counts["pid"], counts["named"]


def check_subjects(report, path, trace, got):
    want, nameless = subjects(trace)
    del got[None]
    report.equal(f"{path.name}: of another process", list((got - want).items())[:9], [])
    report.equal(f"{path.name}: of a process that is not told", list((want - got).items())[:9], [])
    report.true(f"{path.name}: enough headers without a process",
                nameless >= NAMELESS_AT_LEAST[path.name], str(nameless))


def check_filter(report, path):
    """A filter sees the written ids, whether the header is enough for its decision or not."""
    pids = Counter(event.get("process", {}).get("pid") for event in common.dump(path))
    for pid, count in [*pids.most_common(3), (0, pids[0])]:
        test = f"process.pid == {pid}" if pid is not None else "not exists(process.pid)"
        for more in ("", " and not (provider.name == 'nobody')"):
            kept = sum(1 for _ in common.stream("--where", test + more, path))
            report.equal(f"{path.name}: {test}{more}", kept, count)


def check_lists(report, path):
    """Both formats name the process of a record of the kernel's lists."""
    test = "event.name in (" + ", ".join(f"'{name}'" for name in LIST_NAMES) + ")"
    whom = {}
    for shape in ("native", "ecs"):
        whom[shape] = [(event.get("process", {}).get("pid"), event.get("process", {}).get("name"))
                       for event in common.dump("-f", shape, "--where", test, path)]
    pairs = zip(whom["native"], whom["ecs"])
    report.equal(f"{path.name}: lists", len(whom["native"]), len(whom["ecs"]))
    report.equal(f"{path.name}: lists in both shapes", [(a, b) for a, b in pairs if a != b][:9], [])
    report.true(f"{path.name}: of process 0", (0, "Idle") in whom["native"], "none")


def main():
    report = common.Report()
    common.shared()
    print(f"{'trace':42} {'with pid':>8} {'named':>8}    share")
    for path in common.traces():
        if path.name in EXPECTED:
            report.equal(f"{path.name}: with a process id, named", check(report, path),
                         EXPECTED[path.name])
    for name in LISTS_OF:
        check_lists(report, common.trace(name))
    check_filter(report, common.trace("perfview-net.4.5.2.x86.etl"))
    report.finish()


if __name__ == "__main__":
    main()
