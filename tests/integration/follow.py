"""`run` with `follow: true` from outside: traces that grow while they are read, and are killed.

A writer makes a trace made by etlgen grow buffer by buffer, as a session would; the agent follows
it into a file, is killed (SIGKILL) at moments that a seeded generator picks, and started again. At
the end every event stands there once, as `dump` gives it from the finished trace.
"""

import collections
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under what does not end, no measure.
TIMEOUT_S = 300
AT_END_TIME = 0x48 + 0x20 + 0x10
AT_BUFFERS_WRITTEN = 0x48 + 0x20 + 0x24


class Growing:
    """A finished trace, written again step by step."""

    def __init__(self, made, path):
        self.bytes = made.read_bytes()
        self.path = path
        self.at = 0
        header = bytearray(self.buffer(0))
        header[AT_END_TIME:AT_END_TIME + 8] = bytes(8)
        header[AT_BUFFERS_WRITTEN:AT_BUFFERS_WRITTEN + 4] = struct.pack("<I", 1)
        path.write_bytes(header)
        self.at = len(header)

    def buffer(self, at):
        size, = struct.unpack_from("<I", self.bytes, at)
        return self.bytes[at:at + size]

    def step(self):
        """Write one more buffer, torn in two; after the last one the header. False: everything is written."""
        if self.at < len(self.bytes):
            data = self.buffer(self.at)
            half = len(data) // 2
            for start, end in ((0, half), (half, len(data))):
                with self.path.open("r+b") as file:
                    file.seek(self.at + start)
                    file.write(data[start:end])
            self.at += len(data)
            return True
        with self.path.open("r+b") as file:
            file.write(self.buffer(0))
        return False


def bare(event):
    """An event without the agent that shipped it and without its number. Without its process, too: a whole trace
    tells more about it than the part that existed when the event was read, and kernel events without ids in their
    headers get their ids from there."""
    event = {key: value for key, value in event.items() if key not in ("agent",)}
    event["etw"] = {key: value for key, value in event["etw"].items()
                    if key not in ("session", "sequence", "file")}
    if event["provider"]["kind"] == "mof":
        event.pop("process", None)
    elif "process" in event:
        event["process"] = {key: value for key, value in event["process"].items()
                            if key in ("pid", "thread")}
    return json.dumps(event, sort_keys=True)


class Follow(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "traces").mkdir()
        self.agent = None
        self.addCleanup(self.kill)
        self.config = self.folder / "etwship.yaml"
        self.config.write_text(f"""
version: 1
agent: {{data_dir: '{self.folder}/data'}}
spool: {{min_free_disk: 1MB}}
sessions:
  - {{name: live, type: file, paths: ['{self.folder}/traces/*.etl'], follow: true, poll: 10ms}}
outputs:
  - {{name: local, type: file, path: '{self.folder}/out.ndjson', batch: {{age: 10ms}}}}
""")

    def make(self, name, events, *options):
        path = self.folder / name
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), "--buffer-size",
                        "8192", *options, "-o", str(path)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        return path

    def start(self):
        self.agent = subprocess.Popen([BINARY, "run", "-c", str(self.config)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def kill(self):
        if self.agent:
            self.agent.kill()
            self.agent.communicate(timeout=TIMEOUT_S)
            self.agent = None

    def stop(self):
        self.agent.send_signal(signal.SIGTERM)
        _, errors = self.agent.communicate(timeout=TIMEOUT_S)
        code = self.agent.returncode
        self.agent = None
        return code, errors.decode()

    def out(self):
        path = self.folder / "out.ndjson"
        return path.read_bytes() if path.exists() else b""

    def saved(self):
        """The time at which the agent last stored its position."""
        path = self.folder / "data/spool/catalogue.db-wal"
        return path.stat().st_mtime_ns if path.exists() else 0

    def wait_until(self, holds):
        wait_until(holds, process=self.agent)

    def wait_for_lines(self, count):
        self.wait_until(lambda: self.out().count(b"\n") >= count)

    def dump(self, *traces):
        result = subprocess.run([BINARY, "dump", *map(str, traces)], check=True,
                                timeout=TIMEOUT_S, stdout=subprocess.PIPE)
        return result.stdout.decode("utf-8").splitlines()

    def compare(self, *traces):
        """Every event of the traces comes once, and nothing else but the agent's own events."""
        expected = collections.Counter(bare(json.loads(line)) for line in self.dump(*traces))
        lines = self.out().decode("utf-8").splitlines()
        events = [json.loads(line) for line in lines]
        got = collections.Counter(bare(event) for event in events
                                  if event["provider"].get("name") != "etwship")
        self.assertEqual(sum((expected - got).values()), 0, "events are missing")
        self.assertEqual(sum((got - expected).values()), 0, "events came twice, or are none")

    def test_a_growing_trace_is_followed_to_its_end(self):
        made = self.make("made.etl", 3000)
        growing = Growing(made, self.folder / "traces/live.etl")
        self.start()
        while growing.step():
            pass
        self.wait_for_lines(len(self.dump(made)))
        code, errors = self.stop()
        self.assertEqual(code, 0, errors)
        self.compare(made)

    def run_without_positions(self, *options):
        """A run that stores no positions; returns the events as lines. It ends by itself or at `options`."""
        trace = self.make("made.etl", 500)
        config = self.folder / "plain.yaml"
        config.write_text(json.dumps({
            "version": 1, "spool": {"mode": "memory"},
            "sessions": [{"name": "live", "type": "file", "paths": [str(trace)], "follow": True}],
            "outputs": [{"type": "stdout", "style": "ndjson"}],
        }), encoding="utf-8")
        self.agent = subprocess.Popen([BINARY, "run", "-c", str(config), *options],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return self.dump(trace)

    def test_a_whole_trace_needs_nothing_behind_it_to_be_delivered(self):
        expected = self.run_without_positions()
        lines = [self.agent.stdout.readline() for _ in expected]
        self.assertTrue(all(lines), "the agent ended")
        code, errors = self.stop()
        self.assertEqual(code, 0, errors)

    def test_as_many_events_as_asked_for_end_the_wait_for_more(self):
        expected = self.run_without_positions("-n", "3")
        out, errors = self.agent.communicate(timeout=TIMEOUT_S)
        self.assertEqual(self.agent.returncode, 0, errors)
        self.agent = None
        got = [bare(json.loads(line)) for line in out.splitlines()]
        self.assertEqual(got, [bare(json.loads(line)) for line in expected[:3]])

    def test_a_new_trace_beside_one_that_is_never_closed_is_read(self):
        first = self.make("first.etl", 500)
        second = self.make("second.etl", 500, "--seed", "7")
        growing = Growing(first, self.folder / "traces/a.etl")
        self.start()
        while growing.at < len(growing.bytes):
            growing.step()
        self.wait_for_lines(len(self.dump(first)))
        (self.folder / "traces/b.part").write_bytes(second.read_bytes())
        (self.folder / "traces/b.part").rename(self.folder / "traces/b.etl")
        self.wait_for_lines(len(self.dump(first)) + len(self.dump(second)))
        code, errors = self.stop()
        self.assertEqual(code, 0, errors)
        self.compare(first, second)

    def test_killed_again_and_again_every_event_comes_once(self):
        """The kill comes at the start, after a write, or after a save, at random."""
        dice = random.Random(20261121)
        moments = (lambda: None, lambda: len(self.out()), self.saved)
        made = [self.make("one.etl", 6000), self.make("two.etl", 4000, "--seed", "9")]
        growing = [Growing(made[0], self.folder / "traces/one.etl"),
                   Growing(made[1], self.folder / "traces/two.etl")]
        self.start()
        while growing:
            trace = dice.choice(growing)
            moment = dice.choice(moments)
            before = moment()
            if not trace.step():
                growing.remove(trace)
            elif dice.random() < 0.1:
                # What stood in the buffer gets delivered and saved; starting needs no waiting.
                self.wait_until(lambda: before is None or moment() > before)
                self.kill()
                self.start()
        self.wait_for_lines(sum(len(self.dump(trace)) for trace in made))
        code, errors = self.stop()
        self.assertEqual(code, 0, errors)
        self.compare(*made)


if __name__ == "__main__":
    unittest.main()
