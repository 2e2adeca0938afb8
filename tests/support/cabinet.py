"""Writes cabinet files, with the MSZIP method: MS-CAB of Microsoft's Open Specifications, and [MS-MCI] for the
blocks. Each block is a deflate stream of its own with the 32 KB before it as its dictionary."""

import struct
import zlib

BLOCK_BYTES = 32768
MSZIP, STORED = 1, 0


def checksum(data, seed=0):
    """CSUMCompute of MS-CAB: the exclusive or of little-endian words; of up to three bytes that are left,
    the first one is the highest."""
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        seed ^= word
    return seed ^ int.from_bytes(data[whole:], "big")


def block(data, before, method):
    if method == STORED:
        packed = data
    else:
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=before) if before else zlib.compressobj(
            9, zlib.DEFLATED, -15)
        packed = b"CK" + deflate.compress(data) + deflate.flush()
    sizes = struct.pack("<HH", len(packed), len(data))
    return struct.pack("<I", checksum(sizes, checksum(packed))) + sizes + packed


def write(path, files, method=MSZIP):
    """`files`: (name, bytes), one after the other in one folder."""
    whole = b"".join(data for _, data in files)
    blocks = []
    for at in range(0, len(whole), BLOCK_BYTES):
        before = whole[max(0, at - BLOCK_BYTES):at]
        blocks.append(block(whole[at:at + BLOCK_BYTES], before, method))
    entries, at = b"", 0
    for name, data in files:
        is_utf8 = 0x80
        entries += struct.pack("<IIHHHH", len(data), at, 0, 0x5b55, 0x6000, 0x20 | is_utf8)
        entries += name.encode() + b"\0"
        at += len(data)
    files_at = 36 + 8
    data_at = files_at + len(entries)
    size = data_at + sum(map(len, blocks))
    header = b"MSCF" + struct.pack("<IIIIIBBHHHHH", 0, size, 0, files_at, 0, 3, 1, 1, len(files), 0, 1, 0)
    folder = struct.pack("<IHH", data_at, len(blocks), method)
    path.write_bytes(header + folder + entries + b"".join(blocks))
