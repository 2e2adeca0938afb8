#!/usr/bin/env python3
"""Makes files that guides show: `make-sample pdb FILE.tmf FILE.pdb`, `make-sample printing FILE.etl`."""

import struct
import subprocess
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
import pdb_files  # noqa: E402

START = 134397270000000000  # FILETIME of 2026-11-21T09:30:00Z
JOB = uuid.UUID("0ff1ce00-5ee2-4877-bb8e-19e2f15f2fd2").bytes_le


def pdb(tmf, path):
    """The linker's PDB of a driver with these messages."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.parent.parent / path.name
    pdb_files.write_by_llvm(made, {"sample.obj": pdb_files.annotations(Path(tmf).read_text("utf-8"))})
    made.rename(path)


def printing(path):
    """A trace of two events of a classic provider: EVENT_TRACE_HEADER (evntrace.h), header type 20."""
    payload = (struct.pack("<IQ", 0x2A, 0xFFFFA90F94BE60C0) + "report.docx\0".encode("utf-16-le") +
               struct.pack("<H", 5) + b"LPT-3" + bytes([192, 0, 2, 7]) + struct.pack(">H", 9100) +
               struct.pack("<BI", 1, 0x11))
    records = b""
    for kind in (1, 2):
        raw = struct.pack("<HBBBBHIIq16sQ", 48 + len(payload), 20, 0xC0, kind, 4, 1, 1176, 1168, START, JOB,
                          0) + payload
        records += struct.pack("<I", len(raw)) + raw
    Path("records.bin").write_bytes(records)
    subprocess.run(["etlgen", "--clock", "system", "--cpus", "1", "--records", "records.bin", "-o", path],
                   check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    {"pdb": pdb, "printing": printing}[sys.argv[1]](*sys.argv[2:])
