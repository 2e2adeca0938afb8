"""Order and completeness of `dump`: one time order over all processors, nothing lost or repeated.

The reference is a second reader of the same bytes (minietl.py). Per processor the output must hold
exactly its records in its own order, with times equal to the last digit; between processors only
the time decides, since equal times of two processors have no order.
"""

import json
from collections import defaultdict, namedtuple

import common
import minietl

STACK_WALK_CLASS = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"

# What is asked of an event: of a large trace all that they say would take gigabytes.
Event = namedtuple("Event", "shape cpu sequence is_of_agent is_stack has_stack")


def event_of(line):
    event = json.loads(line)
    header, process = event["event"], event.get("process", {})
    shape = (event["@timestamp"], header.get("code"), header.get("opcode"), header.get("version"),
             process.get("pid"), process.get("thread", {}).get("id"))
    return Event(shape, event["etw"].get("cpu"), event["etw"].get("sequence"), common.is_of_agent(event),
                 header.get("class_guid") == STACK_WALK_CLASS, "stack" in event.get("extended", {}))


def shape_of_record(trace, record):
    return (trace.time_text(record.ticks), record.id, record.opcode, record.version, record.pid,
            record.tid)


def check_records(report, name, trace, events):
    """With stacks as events, every record that is no metadata comes out, per processor in order."""
    got = defaultdict(list)
    for event in events:
        if not event.is_of_agent:
            got[event.cpu].append(event.shape)
    for cpu, records in trace.by_cpu.items():
        want = [shape_of_record(trace, r) for r in records if not minietl.is_metadata(r)]
        report.equal(f"{name}: events of processor {cpu}", len(got[cpu]), len(want))
        different = sum(a != b for a, b in zip(got[cpu], want))
        first = next(((a, b) for a, b in zip(got[cpu], want) if a != b), None)
        report.true(f"{name}: processor {cpu}", not different,
                    f"{different} records differ, the first: got {first and first[0]}, "
                    f"expected {first and first[1]}")
    report.equal(f"{name}: processors", sorted(got.keys() - trace.by_cpu.keys()), [])


def check_order(report, name, events):
    last, latest_of_cpu = "", defaultdict(str)
    for index, event in enumerate(events):
        time, cpu = event.shape[0], event.cpu
        # A processor's own step back is in the file; anything else is a fault of the merge.
        if time < last and not time < latest_of_cpu[cpu]:
            report.true(f"{name}: event {index + 1}", False, f"{time} stands behind {last}")
        last = time
        latest_of_cpu[cpu] = max(latest_of_cpu[cpu], time)
    report.equal(f"{name}: etw.sequence", [e.sequence for e in events],
                 list(range(1, len(events) + 1)))


def check_stacks(report, name, joined, apart):
    """Joining moves stack records into their events: nothing else comes, goes or changes."""
    def others(events):
        return [e.shape for e in events if not e.is_stack]
    report.true(f"{name}: events other than stacks", others(joined) == others(apart),
                f"{len(others(joined))} joined, {len(others(apart))} apart")
    taken = sum(e.is_stack for e in apart) - sum(e.is_stack for e in joined)
    with_stack = sum(e.has_stack for e in joined) - sum(e.has_stack for e in apart)
    report.true(f"{name}: joined stacks", taken >= with_stack >= 0 and (with_stack or not taken),
                f"{taken} stack records joined, {with_stack} events got one")


def dump(stacks, path):
    """Processes and threads as headers have them, not as other events tell of them."""
    return [event_of(line) for line in common.stream("--no-process-context", "--stack-walk", stacks, path)]


def check(report, path):
    trace = minietl.Trace(path)
    apart = dump("events", path)
    check_records(report, path.name, trace, apart)
    check_order(report, path.name, apart)
    if any(event.is_stack for event in apart):
        joined = dump("join", path)
        check_order(report, path.name, joined)
        check_stacks(report, path.name, joined, apart)
        dropped = dump("drop", path)
        report.equal(f"{path.name}: with --stack-walk drop",
                     [e.shape for e in dropped], [e.shape for e in apart if not e.is_stack])
    with_metadata = common.run("dump", "--metadata", "--stack-walk", "events", path)
    report.equal(f"{path.name}: with --metadata",
                 with_metadata.count(b"\n") - with_metadata.count(b'"kind":"agent"'),
                 sum(map(len, trace.by_cpu.values())))


def main():
    report = common.Report()
    for path in common.traces():
        check(report, path)
    report.finish()


if __name__ == "__main__":
    main()
