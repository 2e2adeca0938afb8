#!/usr/bin/env python3
"""Compare agent/input/bytes/unpack.h and tests/support/pack.h with dissect.util, another implementation of
[MS-XCA] by other people.

    unpack_oracle.py UNPACK_CLI

For generated inputs: what pack.h writes, dissect.util and unpack.h both turn back into the input. For
each compressed buffer of the real traces in $ETWSHIP_SHARED/data/etl: unpack.h and dissect.util agree,
and the size is the one that the buffer header promises. Exit code 77: something needed is missing.
"""
import os
import random
import struct
import subprocess
import sys

try:
    from dissect.util.compression import lznt1, lzxpress, lzxpress_huffman
except ImportError as error:
    print(f"skipped: needs the Python package dissect.util ({error})")
    sys.exit(77)

ORACLES = {
    "lznt1": lznt1.decompress,
    "xpress": lzxpress.decompress,
    "xpress_huff": lzxpress_huffman.decompress,
}
FORMAT_NAMES = {2: "lznt1", 3: "xpress", 4: "xpress_huff"}  # COMPRESSION_FORMAT_*
TRACES = [
    "perfview-net.4.5.2.x86.etl",
    "demikernel-PktMon.etl",
    "dotnet-performance-DynamicEvents.etl",
    "msbuild-PerfViewData.etl",
    "perfview-SelfDescribingSingleEvent.etl",
    "perfview-smallEtlFile.etl",
]
HEADER_SIZE = 0x48  # WMI_BUFFER_HEADER
FLAG_COMPRESSED = 0x40
CASES = 300


class Cli:
    """One run of unpack_cli, which answers requests in turn."""

    def __init__(self, program, verb, name):
        self.process = subprocess.Popen(
            [program, verb, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, data, expected=0):
        self.process.stdin.write(struct.pack("<II", len(data), expected) + data)
        self.process.stdin.flush()
        status, size = struct.unpack("<II", self.process.stdout.read(8))
        return status == 0, self.process.stdout.read(size)

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def generate(rng, number):
    """Input number `number`: first the edge cases, then mixtures."""
    edges = [b"a", b"ab", b"abc", b"aaaa", b"\0" * 65535, b"\0" * 65536, b"\0" * 65537,
             b"abc" * 100, b"\0" * 300000, bytes(range(256)) * 300, rng.randbytes(4096),
             rng.randbytes(4097), rng.randbytes(65536), rng.randbytes(70000)]
    if number < len(edges):
        return edges[number]
    words = [rng.randbytes(rng.randint(1, 12)) for _ in range(rng.randint(1, 60))]
    out = bytearray()
    size = rng.choice([rng.randint(1, 100), rng.randint(100, 9000), rng.randint(9000, 150000)])
    while len(out) < size:
        kind = rng.randint(0, 9)
        if kind < 6:
            out += rng.choice(words)
        elif kind == 6:
            out += rng.randbytes(rng.randint(1, 40))
        elif kind == 7:
            out += bytes([rng.randint(0, 255)]) * rng.randint(1, 700)
        elif kind == 8 and out:
            start = rng.randint(0, len(out) - 1)
            out += out[start : start + rng.randint(1, 3000)]
        else:
            out += struct.pack("<IQ", rng.randint(0, 9), len(out))
    return bytes(out[:size])


def oracle(name, stream, size):
    """What dissect.util makes of a stream, and how much of that it can be held to.

    Its Huffman decoder does not know the expected size: it stops once the input has been read, with
    up to 16 bits still unused, and turns the end mark into a match. Two bytes more let it use all
    bits, unless it then takes them for a length or a table and gives up.
    """
    if name != "xpress_huff":
        return ORACLES[name](stream), size
    try:
        return ORACLES[name](stream + b"\0\0")[:size], size
    except (ValueError, TypeError):
        result = ORACLES[name](stream)
        return result, min(size, len(result))


def check_generated(program, name):
    rng = random.Random(name)
    pack = Cli(program, "pack", name)
    unpack = Cli(program, "unpack", name)
    failures = 0
    untold = 0
    for number in range(CASES):
        data = generate(rng, number)
        packed_well, stream = pack.ask(data)
        unpacked_well, ours = unpack.ask(stream, len(data))
        theirs, held_to = oracle(name, stream, len(data))
        untold += len(data) - held_to
        if not packed_well or not unpacked_well or ours != data:
            print(f"{name} {number}: {len(data)} bytes do not come back")
            failures += 1
        if theirs[:held_to] != data[:held_to]:
            print(f"{name} {number}: dissect.util disagrees over {len(data)} bytes")
            failures += 1
    failures += pack.close() != 0
    failures += unpack.close() != 0
    print(f"{name}: {CASES} generated inputs, {failures} failures, {untold} bytes that "
          "dissect.util did not come to")
    return failures


def compressed_buffers(data):
    """(format, stream, size) of each compressed buffer: BufferSize at 0, State at 0x2C of the first
    buffer, Offset at 0x30, BufferFlag at 0x34."""
    at = 0
    name = FORMAT_NAMES.get(struct.unpack_from("<H", data, 0x2C)[0])
    while at + HEADER_SIZE <= len(data):
        (size,) = struct.unpack_from("<I", data, at)
        end, flags = struct.unpack_from("<IH", data, at + 0x30)
        if size < HEADER_SIZE or at + size > len(data):
            break
        if flags & FLAG_COMPRESSED:
            yield name, data[at + HEADER_SIZE : at + size], end - HEADER_SIZE
        at += size


def check_traces(program, folder):
    failures = 0
    for trace in TRACES:
        path = os.path.join(folder, trace)
        if not os.path.exists(path):
            print(f"{trace}: skipped, not in {folder}")
            continue
        with open(path, "rb") as file:
            data = file.read()
        count = 0
        total = 0
        for name, stream, size in compressed_buffers(data):
            unpack = Cli(program, "unpack", name)
            well, ours = unpack.ask(stream, size)
            failures += unpack.close() != 0
            theirs, _ = oracle(name, stream, size)
            if not well or ours != theirs or len(theirs) != size:
                print(f"{trace}: buffer {count}: {len(ours)} and {len(theirs)} of {size} bytes")
                failures += 1
            count += 1
            total += size
        print(f"{trace}: {count} compressed buffers, {total} bytes")
    return failures


def main():
    program = sys.argv[1]
    failures = sum(check_generated(program, name) for name in ORACLES)
    folder = os.path.join(os.environ.get("ETWSHIP_SHARED", ""), "data", "etl")
    if os.path.isdir(folder):
        failures += check_traces(program, folder)
    else:
        print(f"real traces skipped: no folder {folder} ($ETWSHIP_SHARED)")
    return 1 if failures else 0


sys.exit(main())
