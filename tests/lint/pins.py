"""A library that Linux and Windows build from sources has one version, which one SHA-256 pins."""

import re
import sys
from pathlib import Path

FOLDERS = (Path("packaging/linux"), Path("packaging/windows/cross"))

CRATE = re.compile(r'\[\[package\]\]\nname = "([^"]+)"\n(version = "[^"]+"\n(?:.+\n)*?checksum = "[^"]+")')


def pins(folder):
    """For each library: its lines in the table. The lines name crates as Cargo.lock does."""
    lock = (folder / "crates/Cargo.lock").read_text(encoding="utf-8")
    crates = dict(CRATE.findall(lock))
    found = {}
    for line in (folder / "sources.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            fields = line.split("\t")
            pin = line, crates.get(fields[3]) if fields[2] == "crate" else None
            found.setdefault(fields[0], []).append(pin)
    return found


def main():
    linux, windows = (pins(folder) for folder in FOLDERS)
    shared = sorted(set(linux) & set(windows))
    wrong = [name for name in shared if linux[name] != windows[name]]
    for name in wrong:
        print(f"{name}: {FOLDERS[0]} has {linux[name]}, {FOLDERS[1]} has {windows[name]}")
    if not shared:
        print(f"{FOLDERS[0]} and {FOLDERS[1]} share no library")
    return bool(wrong) or not shared


if __name__ == "__main__":
    sys.exit(main())
