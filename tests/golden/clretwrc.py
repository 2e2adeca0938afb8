"""Events of the CLR by the compiled manifest in a real program file, beside other descriptions.

`clretwrc.dll` of .NET Core 3.1.23 holds the resource WEVT_TEMPLATE that Microsoft's message compiler
made of the CLR's manifest, with its message table. The package dotnetcore2 of Python's index has the
file; where pip cannot have it, the test is skipped. Beside it stands ClrEtwAll.man, the XML of an
older CLR: what both describe must be the same, definition by definition and in every event of the
real traces, and a pack made of the DLL must say what the DLL says.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from itertools import zip_longest
from pathlib import Path

import common

PACKAGE = "dotnetcore2==3.1.23"
DLL_SHA256 = "af88016351eabf1b56a0db17347128764613364b87ffd12de0928c0edb7f729e"

RUNTIME = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
PROVIDERS = {RUNTIME, "a669021c-c450-4609-a035-5af59af4df18",
             "cc2bcbba-16b6-4cf3-8990-d74c2e8af500", "763fd754-7086-4dfe-95eb-c01a46faf4ca"}
DEFINITIONS = 410
DEFINITIONS_OF_BOTH = 384
# What a newer CLR changed, where ids and layouts stayed: keywords of two events, names in maps.
CHANGED_KEYWORDS = {(RUNTIME, "23", "0"), (RUNTIME, "80", "1")}
NEW_NAMES = {"IbcOptimized", "ReadyToRunModule", "PartialReadyToRunModule", "JitHelper",
             "ProfilerRejectedPrecompiledCode", "ReadyToRunRejectedPrecompiledCode"}
CHANGED_MAPS = {"GCRootKindMap", "ModuleFlagsMap", "MethodFlagsMap"}
# Microsoft's compiler writes them where an event of the manifest states nothing.
COMPILED_ZEROS = {"opcode 0", "task 0", "level 0", "channel 0", "keywords 0x0"}


def download(folder):
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
         "--only-binary=:all:", "--platform", "win_amd64", "--timeout", "20", "--retries", "1",
         "-d", folder, PACKAGE],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    wheels = list(Path(folder).glob("*.whl"))
    if done.returncode != 0 or not wheels:
        why = done.stdout.decode("utf-8", "replace").strip().splitlines()[-1:]
        common.skip(f"pip cannot have {PACKAGE}: {' '.join(why)}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = [name for name in wheel.namelist() if name.endswith("/clretwrc.dll")]
        content = wheel.read(names[0])
    if hashlib.sha256(content).hexdigest() != DLL_SHA256:
        common.skip(f"clretwrc.dll of {PACKAGE} is not the one whose numbers stand here")
    path = Path(folder) / "clretwrc.dll"
    path.write_bytes(content)
    return path


def read_pack(path):
    """Definitions and maps of a pack, each as its lines."""
    provider, lines, events, maps = None, None, {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "provider":
            provider = words[1]
        elif words[0] == "event":
            lines = events.setdefault((provider, words[2], words[3]), [])
        elif words[0] == "map":
            lines = maps.setdefault((provider, words[1].strip('"')), [line])
        elif lines is not None and line.strip() not in COMPILED_ZEROS:
            lines.append(line.strip())
    return events, maps


def compare_definitions(report, of_dll, of_manifest):
    dll_events, dll_maps = read_pack(of_dll)
    events, maps = read_pack(of_manifest)
    report.equal("definitions in the DLL", len(dll_events), DEFINITIONS)
    report.equal("definitions in both", len(set(dll_events) & set(events)), DEFINITIONS_OF_BOTH)
    report.equal("definitions in the manifest alone", sorted(set(events) - set(dll_events)), [])
    for key in sorted(events):
        # The list of the provider's keywords grew; the mask of the event is a line of its own.
        ignored = ("keyword ", "keywords ") if key in CHANGED_KEYWORDS else "keyword "
        got = [line for line in dll_events.get(key, []) if not line.startswith(ignored)]
        report.equal(f"{key}", got, [line for line in events[key] if not line.startswith(ignored)])
    for key in sorted(maps):
        if key[1] not in CHANGED_MAPS:
            report.equal(f"map {key}", dll_maps.get(key), maps[key])


def without_new_names(names):
    return [name for name in names if name not in NEW_NAMES and not re.match("0x", name)]


def compare_event(report, where, by_dll, by_manifest):
    """True if both describe the event."""
    if "data" not in by_manifest:
        return False  # of a newer CLR, or of none
    for member in ("event", "provider", "message"):
        report.equal(f"{where}: {member}", by_dll.get(member), by_manifest.get(member))
    got, expected = by_dll.get("data", {}), by_manifest["data"]
    for field in sorted(set(got) | set(expected)):
        a, b = got.get(field), expected.get(field)
        if a != b and isinstance(a, list) and set(map(str, a)) & NEW_NAMES:
            a, b = without_new_names(a), without_new_names(b)
        report.equal(f"{where}: {field}", a, b)
    return True


def dump(path, schema, source):
    return common.stream("--schema", schema, "--schema-source", source,
                         *(word for guid in sorted(PROVIDERS) for word in ("-p", guid)), path)


def compare_trace(report, path, dll, pack, manifest):
    """Compares all three traces at once, one event at a time: as a whole they would take gigabytes."""
    totals = Counter()
    numbers = Counter()
    for lines in zip_longest(dump(path, dll, "binary"), dump(path, pack, "pack"),
                             dump(path, manifest, "manifest")):
        numbers.update(who for who, line in zip(("DLL", "pack", "manifest"), lines) if line)
        if not all(lines):
            continue
        totals["other by pack"] += lines[0] != lines[1]
        a, b = json.loads(lines[0]), json.loads(lines[2])
        where = f"{path.name} event {a['event'].get('code')} sequence {a['etw'].get('sequence')}"
        totals["events"] += 1
        totals["by DLL"] += "data" in a
        totals["by both"] += compare_event(report, where, a, b)
    report.equal(f"{path.name}: events by pack", numbers["pack"], numbers["DLL"])
    report.equal(f"{path.name}: events by manifest", numbers["manifest"], numbers["DLL"])
    report.equal(f"{path.name}: events by pack that are not as by DLL", totals["other by pack"], 0)
    return totals


def main():
    report = common.Report()
    traces, manifest = common.traces(), common.manifests() / "perfview" / "ClrEtwAll.man"
    with tempfile.TemporaryDirectory() as folder:
        dll = download(folder)
        pack, of_manifest = Path(folder) / "dll.pack", Path(folder) / "manifest.pack"
        common.run("schema", "export", "-o", pack, "--schema", dll)
        common.run("schema", "export", "-o", of_manifest, "--schema", manifest)
        compare_definitions(report, pack, of_manifest)
        print(f"{'trace':42} {'events':>8} {'by DLL':>8} {'by both':>8}")
        both = 0
        for path in traces:
            totals = compare_trace(report, path, dll, pack, manifest)
            both += totals["by both"]
            if totals["events"]:
                print(f"{path.name:42} {totals['events']:8} {totals['by DLL']:8} "
                      f"{totals['by both']:8}")
        report.equal("some traces have events of the CLR", both > 0, True)
    report.finish()


if __name__ == "__main__":
    main()
