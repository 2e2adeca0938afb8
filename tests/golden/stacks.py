"""Kernel call stacks: a second joiner, from first principles, against what `dump` joins.

The joiner knows nothing but the records of minietl.py and this (ntwmi.h, PERFINFO_STACKWALK_*):

- A StackWalk record has the time, process and thread of the event that its stack belongs to. An
  event that says no thread is the one of that time on the same processor.
- Type 0x20 carries the stack. Types 0x25 (the kernel's part) and 0x26 (the user's part) have a key
  in its place. The stack stands in a record of its own: 0x22 when it enters the kernel's cache, 0x23
  when it leaves it, 0x24 if it is in it at the end of the session.
- Once a stack has left the cache its key is used again. So a key has lives, and a reference means the
  life that holds the time at which the reference was written.

It has no limits: all records of the trace are there at once. A kernel's stack begins at a kernel
address and a user's stack at a user address. Further out both kinds may stand in a user's stack, as
the kernel calls back into programs (KeUserModeCallback).
"""

import struct
from collections import Counter, defaultdict

import common
import minietl

GROUP = 0x18
STACK, CREATE, DELETE, RUNDOWN, OF_KERNEL, OF_USER = 0x20, 0x22, 0x23, 0x24, 0x25, 0x26
STACK_WALK_CLASS = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"


def is_walk(record):
    return record.group == GROUP


def is_definition(record):
    return is_walk(record) and record.opcode in (CREATE, DELETE, RUNDOWN)


def key_of(record, at):
    return minietl.addresses(record.payload[at:at + record.pointer], record.pointer)[0]


class Lives:
    """The lives of all keys: the records that begin and those that end them, by key and time."""

    def __init__(self, records):
        self.ends, self.creations = defaultdict(list), defaultdict(list)
        for record in sorted(filter(is_definition, records), key=lambda r: r.ticks):
            kind = self.creations if record.opcode == CREATE else self.ends
            kind[key_of(record, 0)].append(record)

    def find(self, reference):
        """The record with the stack of `reference`; None if it is unknown."""
        key, now = key_of(reference, 16), reference.ticks
        ends = [r for r in self.ends[key] if r.ticks >= now]
        births = [r for r in self.creations[key] if r.ticks > now]
        if ends and not (births and births[0].ticks < ends[0].ticks):
            return ends[0]
        born = [r for r in self.creations[key] if r.ticks <= now]
        dead = [r for r in self.ends[key] if r.ticks < now]
        alive = born and not (dead and dead[-1].ticks >= born[-1].ticks)
        return born[-1] if alive else None


def frames_of(record):
    return minietl.addresses(record.payload[record.pointer:], record.pointer)


def fits(reference, frames):
    """True if the stack may be the kernel's, or the user's. 32-bit kernels begin at 2 GB, or as high as 3 GB."""
    if not frames:
        return True
    wide = reference.pointer == 8
    if reference.opcode == OF_KERNEL:
        return frames[0] >= (1 << 63 if wide else 0x80000000)
    return frames[0] < (1 << 63 if wide else 0xC0000000)


class Joiner:
    """`stacks`: frames by event; `apart`: StackWalk records that belong to no event. (processor, place) identifies a
    record."""

    def __init__(self, trace):
        self.counts = Counter()
        self.stacks = defaultdict(tuple)
        self.apart = set()
        self.by_thread, self.by_cpu = defaultdict(list), defaultdict(list)
        places = {(cpu, i): r for cpu, rs in trace.by_cpu.items() for i, r in enumerate(rs)}
        self.lives = Lives(places.values())
        for place, record in places.items():
            if not is_walk(record) and not minietl.is_metadata(record):
                self._add_owner(place, record)
        used = set()
        walks = sorted((r.ticks, place) for place, r in places.items() if is_walk(r))
        for _, place in walks:
            if not is_definition(places[place]):
                self._join(place, places[place], used)
        self.apart |= {place for _, place in walks
                       if is_definition(places[place]) and id(places[place]) not in used}

    def _add_owner(self, place, record):
        if record.tid is None:
            self.by_cpu[place[0], record.ticks].append((place, record.pid))
        else:
            self.by_thread[record.tid, record.ticks].append((place, record.pid))

    def _owner(self, place, walk):
        ticks, pid, tid = struct.unpack_from("<QII", walk.payload)
        found = [p for p, event_pid in self.by_thread[tid, ticks] if event_pid in (None, pid)]
        found += [p for p, _ in self.by_cpu[place[0], ticks]]
        found = [p for p in found if p[0] != place[0] or p[1] < place[1]]
        self.counts["events that share time and thread"] += len(found) > 1
        # The last one before the stack; the stack's own processor goes first.
        return max(found, key=lambda p: (p[0] == place[0], p[1]), default=None)

    def _stack(self, walk, used):
        if walk.opcode == STACK:
            return minietl.addresses(walk.payload[16:], walk.pointer)
        life = self.lives.find(walk)
        if not life:
            self.counts["references without a stack"] += 1
            return None
        if not fits(walk, frames_of(life)):
            self.counts["impossible"] += 1
            return None
        used.add(id(life))
        return frames_of(life)

    def _join(self, place, walk, used):
        frames = self._stack(walk, used) \
            if walk.opcode in (STACK, OF_KERNEL, OF_USER) and len(walk.payload) >= 16 else None
        owner = None if frames is None else self._owner(place, walk)
        if owner is None:
            self.apart.add(place)
            return
        self.counts[f"{walk.opcode:#x}"] += 1
        self.stacks[owner] += frames


def expected(trace, joiner):
    """For each processor, the output in its order: None for a StackWalk record, else the stack."""
    for cpu, records in trace.by_cpu.items():
        yield cpu, [None if is_walk(r) else (*r.stack, *joiner.stacks[cpu, i])
                    for i, r in enumerate(records)
                    if not minietl.is_metadata(r) and (not is_walk(r) or (cpu, i) in joiner.apart)]


def shape(event):
    if event["event"].get("class_guid") == STACK_WALK_CLASS:
        return None
    return tuple(int(frame, 16) for frame in event.get("extended", {}).get("stack", ()))


def check(report, path):
    trace = minietl.Trace(path)
    joiner = Joiner(trace)
    got = defaultdict(list)
    for event in common.dump("--no-process-context", path):
        if not common.is_of_agent(event):
            got[event["etw"]["cpu"]].append(shape(event))
    for cpu, want in expected(trace, joiner):
        report.equal(f"{path.name}: events of processor {cpu}", len(got[cpu]), len(want))
        wrong = [(i, pair) for i, pair in enumerate(zip(got[cpu], want)) if pair[0] != pair[1]]
        report.true(f"{path.name}: stacks of processor {cpu}", not wrong,
                    f"{len(wrong)} of {len(want)} events differ, the first is {wrong[:1]}")
    report.equal(f"{path.name}: stacks of the wrong kind", joiner.counts["impossible"], 0)
    print(f"{path.name}: {dict(joiner.counts)}")
    return joiner.counts


def main():
    report = common.Report()
    counts = Counter()
    for path in common.traces():
        counts += check(report, path)
    for kind in (STACK, OF_KERNEL, OF_USER):
        report.true(f"stacks of type {kind:#x} were joined", counts[f"{kind:#x}"])
    report.finish()


if __name__ == "__main__":
    main()
