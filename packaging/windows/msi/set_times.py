"""Set the times in the summary information of an MSI, which wixl takes from the clock.

    set_times.py FILE SECONDS-SINCE-1970

The stream is a property set ([MS-OLEPS] 2.21): behind its head, pairs of property and offset. It is short
and written in one piece, so it is found in the file by its format identifier.
"""

import struct
import sys
from pathlib import Path

# {F29F85E0-4FF9-1068-AB91-08002B27B3D9}, FMTID_SummaryInformation
FORMAT = bytes.fromhex("e0859ff2f94f6810ab9108002b27b3d9")
PIDSI_CREATED, PIDSI_SAVED, VT_FILETIME = 12, 13, 64
EPOCH_FILETIME = 116444736000000000
HEAD_BYTES = 28  # byte order, version, system, class, number of sets


def main():
    path, seconds = Path(sys.argv[1]), int(sys.argv[2])
    filetime = struct.pack("<Q", EPOCH_FILETIME + seconds * 10_000_000)
    content = bytearray(path.read_bytes())
    if content.count(FORMAT) != 1:
        sys.exit(f"{path}: {content.count(FORMAT)} summaries instead of one")
    identifier = content.index(FORMAT)
    start = identifier - HEAD_BYTES
    section = start + struct.unpack_from("<I", content, identifier + len(FORMAT))[0]
    count = struct.unpack_from("<I", content, section + 4)[0]
    done = 0
    for i in range(count):
        number, offset = struct.unpack_from("<II", content, section + 8 + 8 * i)
        if number in (PIDSI_CREATED, PIDSI_SAVED):
            kind = struct.unpack_from("<I", content, section + offset)[0]
            if kind != VT_FILETIME:
                sys.exit(f"{path}: property {number} is no time")
            content[section + offset + 4:section + offset + 12] = filetime
            done += 1
    if done != 2:
        sys.exit(f"{path}: {done} times instead of two")
    path.write_bytes(content)


if __name__ == "__main__":
    main()
