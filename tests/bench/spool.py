"""What it takes to keep events on a disk until they are delivered: an .etl file, the spool, a sink on the
loopback.

    spool.py [--part ways|outage|start] [--events N] [--rounds N] [--backlog GB] [--folder FOLDER]

ways    Rounds, in each of which every way runs once, so that ratios hold whatever else the machine does:
        the spool in memory, traces read again, on a disk, on a disk with zstd, and a program that knows every event in
        advance and only posts (linux/limit_ship.c). Medians. CPU is the program's own, user and system;
        `written` is what the process had the system write, for each byte of the events.
outage  Nobody listens until the whole trace is in the spool: the disk that an event takes. Then the agent
        is started again beside the sink: how fast it catches up, against `ways` in the same rounds. The limit is a
        program that does nothing but read the batches and post them (linux/limit_drain.c).
start   From the start of the process to its first connection: with a backlog, whose files the system has
        to read anew, and with none, when the first events are to be read and committed before. The backlog
        is made by the agent itself.

Where other programs run, `chrt -r 1` before it lets its processes have the processors whenever they want
them; without that an outage is caught up at the others' pace.

FOLDER (default: the one for temporary files) needs room for the backlog and a third more. What was made there
is removed. A part fails where events are not there in full.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ship

# Peers were measured with events of this size.
PEER_BYTES = ship.PEER_BYTES
KINDS = {"memory": {"mode": "memory"}, "replayed": ship.DURABLE | {"recorded": "replay"},
         "disk": ship.DURABLE, "disk, zstd": ship.DURABLE | {"compression": "zstd"}}
LIMIT_DRAIN = str(Path(ship.LIMIT).with_name("limit_drain"))
UNUSED_PORT = 9  # of the discard service, which does not run here
WAIT_S = 60  # without anything that happens


def configure(folder, kind, port, trace="trace.etl", **spool):
    path = folder / "etwship.yaml"
    path.write_text(json.dumps({
        "version": 1, "spool": KINDS[kind] | spool,
        "agent": {"decode_workers": 1, "memory": f"{ship.MEMORY_MB}MB", "data_dir": "state", "shutdown": "100ms"},
        "sessions": [{"name": "s", "type": "file", "paths": [trace], "process_context": False}],
        "outputs": [{"type": "http", "compression": "none", "url": f"http://127.0.0.1:{port}",
                     "retry": {"min": "100ms", "max": "200ms"}, "batch": {"bytes": ship.BODY_BYTES}}]}))
    return [ship.BINARY, "run", "-c", path.name]


def make_trace(folder, events, name="trace.etl"):
    subprocess.run([ship.ETLGEN, "--mix", "limit", "--cpus", "1", "--events", str(events), "-o", folder / name],
                   check=True, stdout=subprocess.DEVNULL)


def fresh(folder):
    shutil.rmtree(folder / "state", ignore_errors=True)


def shown(value, unit=1.0, places=2):
    return f"{value / unit:,.{places}f}"


def ratio(ways, theirs, what):
    return statistics.median(a[what] / b[what] for a, b in zip(ways.rounds, theirs.rounds))


# ---- ways ------------------------------------------------------------------------------------------------


def make_ways(folder):
    member = ship.agent_member(folder)
    limit = ship.Way("limit", lambda port: [
        ship.LIMIT, "trace.etl", str(port), str(ship.BODY_BYTES), "none", member], folder)

    def command(kind):
        def make(port):
            fresh(folder)
            return configure(folder, kind, port)
        return make
    return {"limit": limit} | {kind: ship.Way(kind, command(kind), folder) for kind in KINDS}


def measure_ways(folder, options):
    ways = make_ways(folder)
    size = ship.check(ways.values(), options.events) / options.events
    sink = ship.Sink()
    for _ in range(options.rounds):
        for way in ways.values():
            way.rounds.append(way.run(sink))
    sink.close()
    print(f"{options.events:,} events of {size:.0f} bytes; CPU s per million events, and per million of {PEER_BYTES} "
          "bytes")
    print(f"{'':12} {'CPU s':>7} {'system':>7} {PEER_BYTES:>7} {'/memory':>8} {'/limit':>7} {'events/s':>10} "
          f"{'peak MB':>8} {'written':>8}")
    for way in ways.values():
        cpu = way.median("cpu") / options.events * 1e6
        to_memory = "" if way.name == "limit" else shown(ratio(way, ways["memory"], "cpu"))
        print(f"{way.name:12} {cpu:7.2f} {way.median('system') / options.events * 1e6:7.2f} "
              f"{cpu * PEER_BYTES / size:7.2f} {to_memory:>8} {ratio(way, ways['limit'], 'cpu'):7.2f} "
              f"{options.events / way.median('wall'):10,.0f} {way.median('rss') / 1024**2:8.1f} "
              f"{way.median('written') / size / options.events:8.3f}")


# ---- outage ----------------------------------------------------------------------------------------------


def stat(folder):
    found = subprocess.run([ship.BINARY, "spool", "stat", "--json", "-c", "etwship.yaml"], cwd=folder,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(found.stdout) if found.returncode == 0 and found.stdout else None


def wait_for(folder, events, process):
    """Wait until the spool holds all events for the output. Returns the output of `spool stat` then."""
    count, until = 0, time.monotonic() + WAIT_S
    while time.monotonic() < until and process.poll() is None:
        seen = stat(folder)
        if seen and seen["outputs"] and seen["outputs"][0]["events"] > count:
            count, until = seen["outputs"][0]["events"], time.monotonic() + WAIT_S
            if count >= events:
                return seen
        time.sleep(0.2)
    sys.exit(f"the spool did not take {events} events: {stat(folder)}")


def spool_all(folder, kind, events, **spool):
    """Make a spool with all events of the trace, none of which was sent."""
    fresh(folder)
    with open(folder / "said", "wb") as said:
        process = subprocess.Popen(configure(folder, kind, UNUSED_PORT, **spool), cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=said)
        try:
            seen = wait_for(folder, events, process)
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_S)
        finally:
            process.kill()
            process.wait()
    return seen["outputs"][0]


def measure_outage(folder, options):
    kinds = [kind for kind in KINDS if kind.startswith("disk")]
    live = {kind: ship.Way(kind, lambda port, kind=kind: fresh(folder) or configure(folder, kind, port), folder)
            for kind in kinds}
    late = {kind: ship.Way(kind, lambda port, kind=kind: configure(folder, kind, port), folder) for kind in kinds}
    limit = {kind: ship.Way(kind, lambda port: [LIMIT_DRAIN, "state/spool", str(port)], folder) for kind in kinds}
    disk = {}
    sink = ship.Sink("--count")
    for _ in range(options.rounds):
        for kind in kinds:
            live[kind].rounds.append(live[kind].run(sink))
            sizes = sink.taken()
            for way in (late[kind], limit[kind]):
                disk[kind] = spool_all(folder, kind, options.events)
                way.rounds.append(way.run(sink))
                taken = sink.taken()
                if (taken["lines"], taken["bytes"]) != (options.events, sizes["bytes"]):
                    sys.exit(f"{kind}: {taken} after the outage, not {sizes}")
    sink.close()
    print(f"\n{options.events:,} events of {sizes['bytes'] / options.events:.0f} bytes wait on the disk, then the server is "
          "there again")
    print(f"{'':12} {'disk bytes/event':>17} {'caught up/s':>12} {'times live':>11} {'limit':>6} {'CPU of live':>12} "
          f"{'of limit':>9} {'peak MB':>8}")
    for kind in kinds:
        print(f"{kind:12} {disk[kind]['bytes'] / options.events:17.0f} "
              f"{options.events / late[kind].median('wall'):12,.0f} {ratio(live[kind], late[kind], 'wall'):11.2f} "
              f"{ratio(live[kind], limit[kind], 'wall'):6.2f} {ratio(late[kind], live[kind], 'cpu'):12.2f} "
              f"{ratio(late[kind], limit[kind], 'cpu'):9.2f} {late[kind].median('rss') / 1024**2:8.1f}")


# ---- start -----------------------------------------------------------------------------------------------


def forget_pages(folder):
    """Remove the files' pages from memory, so that the system reads them again."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def time_start(folder, kind, trace, **spool):
    """Seconds until the agent connects. It gets no answer, so only the start itself changes anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT_S)
        command = configure(folder, kind, server.getsockname()[1], trace, **spool)
        if (folder / "state").exists():
            forget_pages(folder / "state")
        begun = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            server.accept()[0].close()
            return time.monotonic() - begun
        finally:
            process.kill()
            process.wait()


def measure_start(folder, options):
    big = {"max_size": f"{int(options.backlog * 2) + 1}GB"}  # a quarter of it is not for files
    make_trace(folder, 1000, "few.etl")
    make_trace(folder, options.events)
    size = spool_all(folder, "disk", options.events)["bytes"] / options.events
    events = int(options.backlog * 1e9 / size)
    make_trace(folder, events)
    begun = time.monotonic()
    waiting = spool_all(folder, "disk", events, **big)
    made = time.monotonic() - begun
    (folder / "trace.etl").write_bytes(b"")
    late = [time_start(folder, "disk", "few.etl", **big) for _ in range(options.rounds)]
    none = []
    for _ in range(options.rounds):
        fresh(folder)
        none.append(time_start(folder, "disk", "few.etl", **big))
    print(f"\nFrom the start to the first connection, {waiting['bytes'] / 1e9:.1f} GB in {waiting['batches']:,} batches "
          f"(made in {made:.0f} s)")
    print(f"with it: {statistics.median(late):.3f} s (most {max(late):.3f}); with an empty folder: "
          f"{statistics.median(none):.3f} s (most {max(none):.3f})")


PARTS = {"ways": measure_ways, "outage": measure_outage, "start": measure_start}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--events", type=int, default=500000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backlog", type=float, default=10, help="of `start`, in GB")
    parser.add_argument("--folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="etwship-spool.") as folder:
        folder = Path(folder)
        make_trace(folder, options.events)
        for name, measure in PARTS.items():
            if options.part in (None, name):
                measure(folder, options)


if __name__ == "__main__":
    main()
