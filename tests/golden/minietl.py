"""A second, independent reader of .etl files: buffers, records, headers and times, no schemas.

It shares nothing with the program under test, so that the two can only agree by both being right.
Layouts: buffer header and record headers as in ntwmi.h (System Informer's phnt), evntcons.h and
evntrace.h; compressed buffers are Plain LZ77 of [MS-XCA] 2.4. Only what the test traces hold is
here: files of Windows 7 and later, clock type 1 (performance counter).
"""

import struct
import uuid
from collections import namedtuple
from datetime import datetime, timedelta
from functools import cache

BUFFER_HEADER_BYTES = 0x48
FLAG_PROC_INDEX = 0x20
FLAG_COMPRESSED = 0x40
NO_ID = 0xFFFFFFFF
FILETIME_EPOCH = datetime(1601, 1, 1)

SYSTEM_TYPES = {1: 4, 2: 8, 3: 4, 4: 8}  # header type -> pointer bytes of the payload
PERFINFO_TYPES = {16: 4, 17: 8}
FULL_TYPES = {10: 4, 20: 8}
EVENT_TYPES = {18: 4, 19: 8}

KTC_METADATA = "bbccf6c1-6cd1-48c4-80ff-839482e37671"
MANIFEST_EVENT_ID = 0xFFFE

# A buffer stands at start..end of the file; `data` is unpacked, header included.
Buffer = namedtuple("Buffer", "cpu sequence start end data")
# kind: system, perfinfo, full, event. `group` is the kernel group or None, `guid` the provider or
# class or None, `id` None for classic records, `pid` and `tid` None where unknown,
# `stack` the frames in the record's own extended items.
Record = namedtuple("Record", "kind group guid id version opcode ticks pid tid cpu pointer payload "
                    "stack", defaults=((),))


class Trace:
    """One file: `buffers` in the file's order, `by_cpu` the records of each processor in its own order."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.buffers = list(_buffers(file.read()))
        self.by_cpu = {}
        for buffer in sorted(self.buffers, key=lambda b: b.sequence):
            self.by_cpu.setdefault(buffer.cpu, []).extend(records(buffer))
        header = next(records(self.buffers[0]))
        if (header.group, header.opcode) != (0, 0):
            raise ValueError(f"{path}: the first record is not a trace header")
        # TRACE_LOGFILE_HEADER ends with PerfFreq, StartTime, ReservedFlags before BuffersLost.
        self.ticks_per_s, self.start_100ns, clock = struct.unpack_from(
            "<qqI", header.payload, 0xF8 if header.pointer == 4 else 0x100)
        if clock != 1:
            raise ValueError(f"{path}: clock type {clock} is not for this reader")
        self.first_ticks = header.ticks

    def filetime(self, ticks):
        """UTC in 100 ns since 1601, rounded towards zero."""
        scaled = (ticks - self.first_ticks) * 10_000_000
        magnitude = abs(scaled) // self.ticks_per_s
        return self.start_100ns + (magnitude if scaled >= 0 else -magnitude)

    def time_text(self, ticks):
        return filetime_text(self.filetime(ticks))


def _buffers(file):
    at = 0
    while at + BUFFER_HEADER_BYTES <= len(file):
        size, saved = struct.unpack_from("<II", file, at)
        sequence, = struct.unpack_from("<q", file, at + 0x18)
        processor, = struct.unpack_from("<H", file, at + 0x28)
        end, flags = struct.unpack_from("<IH", file, at + 0x30)
        if size < BUFFER_HEADER_BYTES:
            return
        cpu = processor & 0x07FF if flags & FLAG_PROC_INDEX else processor & 0xFF
        data = file[at:at + size]
        end = end or saved
        if flags & FLAG_COMPRESSED:
            plain = unpack_xpress(data[BUFFER_HEADER_BYTES:], end - BUFFER_HEADER_BYTES)
            data = data[:BUFFER_HEADER_BYTES] + plain
        yield Buffer(cpu, sequence, at, at + size, data[:end])
        at += size


def records(buffer):
    data, at = buffer.data, BUFFER_HEADER_BYTES
    while at + 8 <= len(data):
        marker, = struct.unpack_from("<I", data, at)
        if marker in (0, NO_ID):
            return
        if marker >> 24 != 0xC0:
            raise ValueError(f"unknown record marker {marker:#x} at {buffer.start:#x}+{at:#x}")
        kind = (marker >> 16) & 0xFF
        size_at = 4 if kind in SYSTEM_TYPES or kind in PERFINFO_TYPES else 0
        size, = struct.unpack_from("<H", data, at + size_at)
        if size < 8 or at + size > len(data):
            raise ValueError(f"bad record size {size} at {buffer.start:#x}+{at:#x}")
        yield _record(kind, data[at:at + size], buffer.cpu)
        at += (size + 7) & ~7


def _record(kind, data, cpu):
    if kind in SYSTEM_TYPES:
        version, opcode, group, tid, pid, ticks = struct.unpack_from("<H4xBBIIq", data)
        header_bytes = 0x20 if kind in (1, 2) else 0x18
        return Record("system", group, None, None, version, opcode, ticks, _known(pid), _known(tid),
                      cpu, SYSTEM_TYPES[kind], data[header_bytes:])
    if kind in PERFINFO_TYPES:
        version, opcode, group, ticks = struct.unpack_from("<H4xBBq", data)
        counters = 8 * ((version >> 8) & 7) + (8 if version & 0x8000 else 0)
        return Record("perfinfo", group, None, None, version & 0xFF, opcode, ticks, None, None, cpu,
                      PERFINFO_TYPES[kind], data[0x10 + counters:])
    if kind in FULL_TYPES:
        opcode, version, tid, pid, ticks = struct.unpack_from("<4xBxHIIq", data)
        return Record("full", None, _guid(data, 0x18), None, version, opcode, ticks, _known(pid),
                      _known(tid), cpu, FULL_TYPES[kind], data[0x30:])
    if kind in EVENT_TYPES:
        flags, tid, pid, ticks = struct.unpack_from("<4xH2xIIq", data)
        code, version, opcode = struct.unpack_from("<HB2xB", data, 0x28)
        return Record("event", None, _guid(data, 0x18), code, version, opcode, ticks, _known(pid),
                      _known(tid), cpu, EVENT_TYPES[kind], data[_payload_at(data, flags):], _stack(data, flags))
    raise ValueError(f"record of header type {kind} is not for this reader")


def _items(data, flags):
    """Each extended item: its end, its type, its bytes. An item says whether another one follows."""
    at, more = 0x50, flags & 1
    while more:
        length, kind, linkage, used = struct.unpack_from("<4H", data, at)
        yield at + length, kind, data[at + 8:at + 8 + used]
        at, more = at + length, linkage & 1


def _payload_at(data, flags):
    return max((end for end, _, _ in _items(data, flags)), default=0x50)


def _stack(data, flags):
    """STACK_TRACE32 and STACK_TRACE64: a match id, then addresses."""
    frames = ()
    for _, kind, item in _items(data, flags):
        if kind in (5, 6):
            frames += addresses(item[8:], 4 if kind == 5 else 8)
    return frames


def addresses(data, width):
    return struct.unpack_from(f"<{len(data) // width}{'I' if width == 4 else 'Q'}", data)


def _known(value):
    return None if value == NO_ID else value


def _guid(data, at):
    return _guid_text(data[at:at + 16])


@cache  # few ones stand in hundreds of thousands of records
def _guid_text(raw):
    return str(uuid.UUID(bytes_le=raw))


def is_metadata(record):
    """True for records that only describe others: they count as records, but not as events."""
    if record.kind == "event":
        # ManifestData: format 1, versions, and the magic 0x5B.
        return record.id == MANIFEST_EVENT_ID and record.payload[:1] == b"\x01" \
            and record.payload[3:4] == b"\x5b"
    return (record.group, record.opcode) == (0, 0) or record.guid == KTC_METADATA


def filetime_text(filetime):
    seconds, fraction = divmod(filetime, 10_000_000)
    return f"{_seconds_text(seconds)}.{fraction:07d}Z"


@cache
def _seconds_text(seconds):
    return f"{FILETIME_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}"


def unpack_xpress(packed, plain_bytes):
    """Plain LZ77: 32 flags at a time, literals and (length, distance) pairs, lengths in nibbles."""
    out = bytearray()
    at, flags, flags_left, nibble_at = 0, 0, 0, None
    while len(out) < plain_bytes:
        if not flags_left:
            flags, = struct.unpack_from("<I", packed, at)
            at, flags_left = at + 4, 32
        flags_left -= 1
        if not (flags >> flags_left) & 1:
            out.append(packed[at])
            at += 1
            continue
        token = packed[at] | packed[at + 1] << 8
        at += 2
        length, distance = token & 7, (token >> 3) + 1
        if length == 7:
            if nibble_at is None:
                nibble_at, extra = at, packed[at] & 15
                at += 1
            else:
                extra, nibble_at = packed[nibble_at] >> 4, None
            if extra == 15:
                extra = packed[at]
                at += 1
                if extra == 255:
                    extra, = struct.unpack_from("<H", packed, at)
                    at += 2
                    if extra == 0:
                        extra, = struct.unpack_from("<I", packed, at)
                        at += 4
                    extra -= 22
                extra += 15
            length = extra + 7
        length += 3
        start = len(out) - distance
        if start < 0:
            raise ValueError("compressed data points before its start")
        while length > 0:
            part = out[start:start + length]
            out += part
            length -= len(part)
    if len(out) != plain_bytes:
        raise ValueError("compressed data gives more than its buffer holds")
    return bytes(out)
