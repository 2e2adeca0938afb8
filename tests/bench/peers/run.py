"""`etwship dump` beside the .etl readers that exist off Windows, on the same traces.

    run.py [--etwship PROGRAM] [--python VENV/bin/python] [TRACE.etl ...]

Without traces: all of $ETWSHIP_SHARED/data/etl. Prints a Markdown table per trace and one of
totals. Every reader writes NDJSON to the null device; "named" are the records whose field names and
values come out. What a reader brings with it is part of it; `etwship --schema` is given a folder of
manifests besides, where one lies beside the traces. CPU seconds
are user and system time of the process, start-up included. Exit code 77 where the other readers are
not installed (tests/install.sh does that).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
SKIPPED = 77
PEERS = ["dissect", "etl-parser"]
WITH_MANIFESTS = "etwship --schema"
# A net under a reader that hangs; the slowest known run takes half a minute.
TIMEOUT_S = 900


class Result:
    def __init__(self, records, named, cpu_s, peak_mb, error=None):
        self.records, self.named, self.error = records, named, error
        self.cpu_s, self.peak_mb = cpu_s, peak_mb

    def rate(self):
        return self.records / self.cpu_s if self.cpu_s else 0.0


def measured(command):
    """Runs a command alone; returns its stdout, exit code, CPU seconds and peak memory in MB.

    The peak is VmHWM of /proc, looked at until the end: it only grows, so the last look is close
    to it. getrusage's maximum is of no use, since it starts with that of this process.
    """
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen([*map(str, command)], stdout=output, stderr=subprocess.DEVNULL,
                                 stdin=subprocess.DEVNULL)
        timer = threading.Timer(TIMEOUT_S, child.kill)
        timer.start()
        peak_mb = 0.0
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            peak_mb = max(peak_mb, peak_of(child.pid))
            time.sleep(0.001)
        timer.cancel()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return output.read(), child.returncode, usage.ru_utime + usage.ru_stime, peak_mb


def peak_of(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def etwship(program, trace, options=()):
    """Counted with every record as an event, measured as users run it."""
    counted = subprocess.run(
        [program, "dump", *options, "--metadata", "--stack-walk", "events", trace],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    records = named = 0
    for line in counted.stdout.split(b"\n"):
        if line:
            event = json.loads(line)
            records += event["provider"]["kind"] != "agent"
            named += bool(event.get("data"))
    _, code, cpu_s, peak_mb = measured([program, "dump", *options, "-o", os.devnull, trace])
    return Result(records, named, cpu_s, peak_mb, f"exit code {code}" if code else None)


def peer(python, name, trace):
    output, code, cpu_s, peak_mb = measured(
        [python, "-B", HERE / "adapters.py", name, trace, os.devnull])
    if code:
        return Result(0, 0, cpu_s, peak_mb, f"exit code {code}")
    counts = json.loads(output.splitlines()[-1])
    return Result(counts["records"], counts["named"], cpu_s, peak_mb, counts["error"])


def cell(result):
    if not result.records:
        return result.error or "nothing, no error"
    note = f", then {result.error}" if result.error else ""
    return (f"{result.records:,} / {result.named:,}, {result.rate() / 1000:,.0f} k/s, "
            f"{result.peak_mb:.0f} MB{note}")


def table(results, readers):
    print("Records / named, records per CPU second, peak memory:\n")
    print("| trace | " + " | ".join(readers) + " |")
    print("|---" * (len(readers) + 1) + "|")
    for trace, row in results.items():
        print(f"| {trace} | " + " | ".join(cell(row[reader]) for reader in readers) + " |")
    print()
    print("| all traces | records | named | CPU s | records per CPU s | peak MB | traces without "
          "a record |")
    print("|---|---|---|---|---|---|---|")
    for reader in readers:
        rows = [row[reader] for row in results.values()]
        records, named = sum(r.records for r in rows), sum(r.named for r in rows)
        cpu_s = sum(r.cpu_s for r in rows)
        share = f"{100 * named / records:.1f} %" if records else "-"
        print(f"| {reader} | {records:,} | {named:,} ({share}) | {cpu_s:.2f} | "
              f"{records / cpu_s if cpu_s else 0:,.0f} | {max(r.peak_mb for r in rows):.0f} | "
              f"{sum(not r.records for r in rows)} |")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--etwship", default=os.environ.get("ETWSHIP_BIN")
                        or TOP / "build" / "release" / "agent" / "etwship")
    parser.add_argument("--python", default=TOP / "build" / "venv" / "bin" / "python")
    parser.add_argument("traces", nargs="*", type=Path)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    folder = Path(os.environ.get("ETWSHIP_SHARED") or "missing") / "data" / "etl"
    traces = arguments.traces or sorted(folder.glob("*.etl"))
    if not traces:
        print("skipped: no traces given, and the folder of real traces is not there")
        sys.exit(SKIPPED)
    installed = os.path.exists(arguments.python) and not subprocess.run(
        [arguments.python, "-c", "import dissect.etl.etl, etl.etl"], check=False,
        stderr=subprocess.DEVNULL).returncode
    if not installed:
        print("skipped: the other readers are not installed (tests/install.sh installs them)")
        sys.exit(SKIPPED)
    results = {}
    readers = ["etwship", *PEERS]
    manifests = folder.parent / "manifests"
    if manifests.is_dir():
        readers.insert(1, WITH_MANIFESTS)
    for trace in traces:
        row = {"etwship": etwship(arguments.etwship, trace)}
        if WITH_MANIFESTS in readers:
            row[WITH_MANIFESTS] = etwship(arguments.etwship, trace, ["--schema", manifests])
        for name in PEERS:
            row[name] = peer(arguments.python, name, trace)
        results[trace.stem] = row
    table(results, readers)
    # A test only in this: who names the most records. Speed is printed, not judged.
    for name in PEERS:
        worse = [t for t, row in results.items() if row["etwship"].named < row[name].named]
        if worse:
            print(f"FAILED: {name} names more records than etwship in: {', '.join(worse)}")
            sys.exit(1)


if __name__ == "__main__":
    main()
