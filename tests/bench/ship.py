"""What shipping a trace over HTTP takes: `run` from an .etl file to a sink on the loopback, against a
program that knows every event in advance (linux/limit_ship.c) and the same sink.

    ship.py [--events N] [--rounds N] [--only NAME] [--pin]

First each way once, to see that both sides send the same bytes. Then rounds, in each of which every way runs
once, so that ratios hold whatever else the machine does; medians are printed. CPU is the program's own, user
and system, without the sink's; `start` is the part that a run of one event takes. `beyond` is how far the peak is
above agent.memory, which is meant for the whole process: below 0, it stays within.

"on disk": the spool is durable, and empty at first. The program of the limit appends its bodies to a file then, and
synchronises it as often. "bulk": it writes the action lines of elasticsearch, and reads the replies without looking
at their items.

With --pin the programs run on one processor and the sink on another. Where two threads share a core, both take
longer, which a program with one thread never meets. Of the clock little is to be learned where other programs run,
and nothing where the sink has no processor of its own.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BINARY = os.path.abspath(os.environ["ETWSHIP_BIN"])
ETLGEN = os.path.abspath(os.environ["ETWSHIP_ETLGEN"])
SINK = os.path.abspath(os.environ["ETWSHIP_SINK"])
LIMIT = os.path.abspath(os.environ["ETWSHIP_LIMIT_SHIP"])
BODY_BYTES = 1000000
MEMORY_MB = 128
# What elasticsearch has before an event; the limit's own way to write the id is as long.
ACTION = '{"create":{"_index":"logs-etw.native-default","_id":"'
# The agent synchronises its segments and its catalogue once for so much.
SYNC_BYTES = 2600000
# Peers were measured with events of this size.
PEER_BYTES = 770
DURABLE = {"mode": "durable", "min_free_disk": "1MB", "recorded": "copy"}


class Sink:
    def __init__(self, *options, processors=()):
        self.process = subprocess.Popen([SINK, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: processors and os.sched_setaffinity(0, processors))
        self.port = int(self.process.stdout.readline())

    def taken(self):
        """The bytes that the sink took since the last call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Way:
    """One way to ship `trace`. `command`: a function of a port to arguments."""

    def __init__(self, name, command, folder, limit=None, bulk=False):
        self.name, self.command, self.folder = name, command, folder
        self.limit, self.bulk, self.rounds = limit, bulk, []

    def run(self, sink, processors=()):
        begun = time.monotonic()
        with open(self.folder / "said", "w+b") as said:
            process = subprocess.Popen(self.command(sink.port), cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=said,
                                       preexec_fn=lambda: processors and os.sched_setaffinity(0, processors))
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                sys.exit(f"{self.name}: {said.read().decode()}")
        return {"wall": time.monotonic() - begun, "cpu": used.ru_utime + used.ru_stime,
                "system": used.ru_stime, "rss": used.ru_maxrss * 1024, "written": used.ru_oublock * 512}

    def median(self, what):
        return statistics.median(one[what] for one in self.rounds)


def agent(folder, name, output, workers, spool=None, trace="trace.etl"):
    path = folder / f"{name}.yaml"

    def command(port):
        shutil.rmtree(folder / "state", ignore_errors=True)
        url = f"http://127.0.0.1:{port}"
        where = {"url": url} if output["type"] == "http" else {"hosts": [url]}
        path.write_text(json.dumps({
            "version": 1, "spool": spool or {"mode": "memory"},
            "agent": {"decode_workers": workers, "memory": f"{MEMORY_MB}MB", "data_dir": "state"},
            # The limit knows an event by itself, and nothing of its process.
            "sessions": [{"name": "s", "type": "file", "paths": [trace],
                          "process_context": False}],
            "outputs": [{"workers": workers, "batch": {"bytes": BODY_BYTES}, **output, **where}]}))
        return [BINARY, "run", "-c", path.name]
    return command


def agent_member(folder):
    """The members at the end of an event that the trace and this machine's agent add to each."""
    subprocess.run([ETLGEN, "--mix", "limit", "--events", "1", "-o", folder / "one.etl"], check=True,
                   stdout=subprocess.DEVNULL)
    (folder / "one.yaml").write_text(json.dumps({
        "version": 1, "agent": {"data_dir": "one"}, "spool": {"min_free_disk": "1MB"},
        "sessions": [{"name": "s", "type": "file", "paths": ["one.etl"], "process_context": False}],
        "outputs": [{"type": "stdout", "style": "ndjson"}]}))
    line = subprocess.run([BINARY, "run", "-c", "one.yaml"], cwd=folder, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    return line[line.index(',"host":'):].rstrip("}\n") + "}"


def limit(name, folder, kind, member, *more, bulk=False):
    return Way(name, lambda port: [LIMIT, "trace.etl", str(port), str(BODY_BYTES), kind, member, *more],
               folder, bulk=bulk)


def ways(folder):
    member = agent_member(folder)
    result = []
    for compression in ("none", "gzip", "zstd"):
        plain = limit(f"limit, {compression}", folder, compression, member)
        disk = limit(f"limit, {compression}, on disk", folder, compression, member, "", "limit.spool",
                     str(SYNC_BYTES))
        result += [plain, disk]
        for workers in (1, 2):
            name = f"http, {compression}, {workers}"
            result.append(Way(name, agent(folder, name, {
                "type": "http", "compression": compression}, workers), folder, plain))
        name = f"http, {compression}, 1, on disk"
        result.append(Way(name, agent(folder, name, {
            "type": "http", "compression": compression}, 1, DURABLE), folder, disk))
    name = "http, none, 1, zstd on disk"
    result.append(Way(name, agent(folder, name, {"type": "http", "compression": "none"}, 1,
                                  DURABLE | {"compression": "zstd"}), folder, result[1]))
    of_bulk = limit("limit, bulk, none, on disk", folder, "none", member, ACTION, "limit.spool", str(SYNC_BYTES),
                    bulk=True)
    name = "elasticsearch, none, 1, on disk"
    result += [of_bulk, Way(name, agent(folder, name, {
        "type": "elasticsearch", "compression": "none"}, 1, DURABLE), folder, of_bulk, bulk=True)]
    for compression in ("none", "gzip"):
        of_bulk = limit(f"limit, bulk, {compression}", folder, compression, member, ACTION, bulk=True)
        result.append(of_bulk)
        for workers in (1, 2):
            name = f"elasticsearch, {compression}, {workers}"
            result.append(Way(name, agent(folder, name, {
                "type": "elasticsearch", "compression": compression}, workers), folder, of_bulk, bulk=True))
    return result


def start_seconds(folder, rounds, processors):
    """The seconds for a trace with one event."""
    way = Way("start", agent(folder, "start", {"type": "http", "compression": "none"}, 1, trace="one.etl"), folder)
    sink = Sink()
    way.rounds = [way.run(sink, processors) for _ in range(rounds)]
    sink.close()
    return way.median("cpu")


def check(every, events):
    """All ways of one kind send the same number of bytes, one line per event. Elasticsearch's way quotes numbers that
    JavaScript would round, the limit's way does not. Returns the bytes of http's way."""
    sizes = {}
    for way in every:
        sink = Sink("--bulk" if way.bulk else "--count")
        way.run(sink)
        taken = sink.taken()
        sink.close()
        assert taken["lines"] == events * (1 + way.bulk), (way.name, taken)
        kind = (way.bulk, way.bulk and way.limit is None)
        assert sizes.setdefault(kind, taken["bytes"]) == taken["bytes"], (way.name, taken, sizes)
    if (True, True) in sizes:
        assert 0.99 < sizes[True, True] / sizes[True, False] < 1.01, sizes
    return sizes.get((False, False))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="ways whose names hold this text, and the limit's")
    parser.add_argument("--pin", action="store_true", help="all but the sink on one processor")
    options = parser.parse_args()
    own, others = ({0}, {1}) if options.pin else ((), ())
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([ETLGEN, "--mix", "limit", "--cpus", "1", "--events", str(options.events), "-o",
                        folder / "trace.etl"], check=True, stdout=subprocess.DEVNULL)
        every = [way for way in ways(folder) if options.only in way.name]
        every += [way.limit for way in every if way.limit and way.limit not in every]
        every = list(dict.fromkeys(every))
        size = check(every, options.events)
        start = start_seconds(folder, options.rounds, own)
        sinks = {bulk: Sink(*["--bulk"] * bulk, processors=others) for bulk in {way.bulk for way in every}}
        for _ in range(options.rounds):
            for way in every:
                way.rounds.append(way.run(sinks[way.bulk], own))
        for sink in sinks.values():
            sink.close()
    print(f"start: {start:.3f} s CPU, which is in each row of the agent")
    report(every, options.events, size / options.events if size else PEER_BYTES)


def report(every, events, event_bytes):
    print(f"{events:,} events of {event_bytes:.0f} bytes; CPU s per million events, and per million of "
          f"{PEER_BYTES} bytes")
    print(f"{'':27} {'CPU s':>7} {PEER_BYTES:>7} {'ratio':>6} {'events/s':>11} {'peak MB':>8} {'beyond':>7}")
    for way in every:
        cpu = way.median("cpu") / events * 1e6
        ratio = "" if not way.limit else "{:.2f}".format(statistics.median(
            ours["cpu"] / theirs["cpu"] for ours, theirs in zip(way.rounds, way.limit.rounds)))
        peak = way.median("rss") / 1024**2
        beyond = f"{peak - MEMORY_MB:.1f}" if way.limit else ""
        print(f"{way.name:27} {cpu:7.2f} {cpu * PEER_BYTES / event_bytes:7.2f} {ratio:>6} "
              f"{events / way.median('wall'):11,.0f} {peak:8.1f} {beyond:>7}")


if __name__ == "__main__":
    main()
