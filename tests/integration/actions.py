"""What rules do beside keeping and dropping, through `run` and `dump`, against what a reader of the
whole dump works out: `sample` by XXH64 of the value, written here after its specification; `limit`
by buckets of tokens in fractions.
"""

import json
import os
import subprocess
import tempfile
import unittest
import uuid
from datetime import datetime
from fractions import Fraction
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 300
DONE, USAGE = 0, 2
EVENTS = 4000

# ---- XXH64: github.com/Cyan4973/xxHash, doc/xxhash_spec.md ------------------------------------

MASK = 2**64 - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                      0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def rotate(x, bits):
    return (x << bits | x >> 64 - bits) & MASK


def xxh64(data):
    """XXH64 of less than 32 bytes, with seed 0."""
    assert len(data) < 32
    acc = (P5 + len(data)) & MASK
    while len(data) >= 8:
        lane = rotate(int.from_bytes(data[:8], "little") * P2 & MASK, 31) * P1 & MASK
        acc = (rotate(acc ^ lane, 27) * P1 + P4) & MASK
        data = data[8:]
    if len(data) >= 4:
        acc = (rotate(acc ^ int.from_bytes(data[:4], "little") * P1 & MASK, 23) * P2 + P3) & MASK
        data = data[4:]
    for byte in data:
        acc = rotate(acc ^ byte * P5 & MASK, 11) * P1 & MASK
    acc = (acc ^ acc >> 33) * P2 & MASK
    acc = (acc ^ acc >> 29) * P3 & MASK
    return acc ^ acc >> 32


assert xxh64(b"") == 0xEF46DB3751D8E999


def is_kept(data, every):
    return xxh64(data) <= MASK // every


def number(value):
    return (value & MASK).to_bytes(8, "little")


# ---- buckets ------------------------------------------------------------------------------------


def seconds(event):
    whole, digits = event["@timestamp"].rstrip("Z").split(".")
    return int(datetime.fromisoformat(whole + "+00:00").timestamp()) + Fraction(int(digits), 10**7)


def passes(events, rate, burst, key):
    """The events that find a token: `rate` tokens come in a second, and a bucket holds `burst`."""
    buckets, kept = {}, []
    for event in events:
        now = seconds(event)
        tokens, last = buckets.get(key(event), (Fraction(burst), now))
        tokens = min(Fraction(burst), tokens + max(now - last, 0) * rate)
        if tokens >= 1:
            tokens -= 1
            kept.append(event)
        buckets[key(event)] = (tokens, max(now, last))
    return kept


# ---- rigs ---------------------------------------------------------------------------------------


def etwship(*arguments, code=DONE):
    done = subprocess.run([BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S,
                          check=False)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()}")
    return done


def events_of(text):
    return [json.loads(line) for line in text.splitlines()]


def sequences(events):
    return [event["etw"]["sequence"] for event in events]


class Actions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.traces = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.traces.name) / "trace.etl"
        subprocess.run([ETLGEN, "--events", str(EVENTS), "-o", str(cls.trace)], check=True,
                       timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        cls.events = cls.dump()

    @classmethod
    def tearDownClass(cls):
        cls.traces.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    @classmethod
    def dump(cls, *arguments):
        return events_of(etwship("dump", *arguments, cls.trace).stdout.decode())

    def run_agent(self, **config):
        """Run the agent; returns the events that a file output gets."""
        out = self.folder / "out"
        config = {"version": 1, "spool": {"mode": "memory"},
                  "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
                  "outputs": [{"type": "file", "path": str(out)}]} | config
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(config))
        etwship("run", "-c", path)
        return events_of(out.read_text())

    # ---- sample -----------------------------------------------------------------------------

    def test_sample_keeps_all_events_of_a_value_or_none(self):
        for every in (1, 2, 3, 7):
            got = self.dump("--sample", f"1/{every}:process.thread.id",
                            "--where", "exists(process.thread.id)")
            threads = [e for e in self.events if "thread" in e.get("process", {})]
            expected = [e for e in threads if is_kept(number(e["process"]["thread"]["id"]), every)]
            self.assertEqual(sequences(got), sequences(expected))
            if every in (2, 3):
                self.assertTrue(0 < len(got) < len(threads))

    def test_sample_takes_one_activity_in_so_many(self):
        of_activity = [e for e in self.events if "activity_id" in e]
        self.assertGreater(len(of_activity), 100)
        got = self.dump("--sample", "1/4", "--where", "exists(activity_id)")
        self.assertEqual(sequences(got), sequences(
            e for e in of_activity if is_kept(uuid.UUID(e["activity_id"]).bytes_le, 4)))
        self.assertTrue(0 < len(got) < len(of_activity))

    def test_events_without_the_value_are_taken_one_by_one(self):
        got = self.dump("--sample", "1/10:data.NoSuchField")
        # Binomial: 400 expected, a standard deviation of 19. The trace is the same every time.
        self.assertTrue(300 < len(got) < 500, len(got))
        finer = set(sequences(self.dump("--sample", "1/100:data.NoSuchField")))
        self.assertTrue(finer and finer < set(sequences(got)))

    def test_run_samples_what_a_rule_is_for_and_keeps_the_rest(self):
        rule = {"where": "event.opcode == 1", "rate": "1/3", "by": "process.thread.id"}
        expected = [e for e in self.events if e["event"].get("opcode") != 1
                    or is_kept(number(e["process"]["thread"]["id"]), 3)]
        self.assertTrue(0 < len(expected) < len(self.events))
        for workers in (1, 3):
            got = self.run_agent(agent={"decode_workers": workers}, filters=[{"sample": rule}])
            self.assertEqual(sequences(got), sequences(expected))
            (self.folder / "out").unlink()

    # ---- limit ------------------------------------------------------------------------------

    @staticmethod
    def split(lines):
        gaps = [event["gap"] for event in lines if "gap" in event]
        return [event for event in lines if "gap" not in event], gaps

    def assert_told(self, gaps, held, **expected):
        self.assertEqual(sum(gap["count"] for gap in gaps), held)
        for gap in gaps:
            expected |= {"stage": "filter", "reason": "limit", "unit": "events", "exact": True}
            self.assertEqual({key: gap.get(key) for key in expected}, expected)
            self.assertLessEqual(gap["from"], gap["to"])

    def test_limit_keeps_what_buckets_allow_and_tells_of_the_rest(self):
        def key(event):
            return event.get("process", {}).get("pid"), event["event"].get("opcode")
        limit = {"rate": "1000/s", "burst": 3, "per": ["process.pid", "event.opcode"]}
        expected = passes(self.events, 1000, 3, key)
        held = len(self.events) - len(expected)
        self.assertTrue(expected and held)
        log = self.folder / "log"
        got, gaps = self.split(self.run_agent(
            agent={"log": {"file": str(log)}}, filters=[{"name": "few", "limit": limit}]))
        # Numbers of gaps lie between those of events.
        self.assertEqual([e["@timestamp"] for e in got], [e["@timestamp"] for e in expected])
        self.assertEqual([e["event"] for e in got], [e["event"] for e in expected])
        self.assert_told(gaps, held, output=None)
        self.assertIn(f"; limit few of all sessions: {held} held back\n", log.read_text())

    def test_limit_is_one_for_all_workers(self):
        limit = {"rate": "1/h", "burst": 100, "where": "exists(process.pid)"}
        concerned = sum("process" in event for event in self.events)
        got, gaps = self.split(self.run_agent(
            agent={"decode_workers": 3}, sessions=[
                {"name": "s", "type": "file", "paths": [str(self.trace)],
                 "filters": [{"limit": limit}]}]))
        self.assertEqual(sum("process" in event for event in got), 100)
        self.assertEqual(len(got), len(self.events) - concerned + 100)
        self.assert_told(gaps, concerned - 100, output=None)

    def test_limit_of_an_output_is_told_with_its_name(self):
        outputs = [{"name": "few", "type": "file", "path": str(self.folder / "few"),
                    "filters": [{"drop": "event.opcode == 1"},
                                {"limit": {"rate": "7/d"}}]},
                   {"name": "all", "type": "file", "path": str(self.folder / "out")}]
        everything, told = self.split(self.run_agent(outputs=outputs))
        got, gaps = self.split(events_of((self.folder / "few").read_text()))
        concerned = [e for e in everything if e["event"].get("opcode") != 1]
        self.assertEqual(sequences(everything), sequences(self.events))
        self.assertEqual(len(got), 7)
        self.assertEqual(sequences(got), sequences(concerned)[:7])
        self.assert_told(gaps, len(concerned) - 7, output="few")
        self.assertEqual(told, gaps)

    def test_an_entry_of_a_provider_takes_no_limit(self):
        path = self.folder / "etwship.yaml"
        session = ("sessions: [{type: file, paths: [a.etl], providers: [{name: A, "
                   "filters: [{limit: {rate: 1/s}}]}]}]")
        path.write_text(session + "\noutputs: [{type: stdout}]\n")
        done = etwship("check", "-c", path, code=USAGE)
        self.assertIn(f"etwship.yaml:1:{session.index('{rate') + 1}: error: limit: an entry of a "
                      "provider takes none", done.stderr.decode())

    def test_a_wrong_sample_is_refused(self):
        for text, error in (("1/0", "not a rate"), ("0.5", "not a rate"),
                            ("1/2:proces.pid", "--sample:1:1: error: events have no field")):
            done = etwship("dump", "--sample", text, self.trace, code=USAGE)
            self.assertIn(error, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
