"""`rollup` rules through `run`, against what a reader of the whole dump counts: which record there is for
each window and values, how many it stands for, and that none is lost by stops, reloads and kills.
"""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 300
DONE, USAGE = 0, 2
EVENTS = 40000
EPOCH = datetime(1601, 1, 1)


def ticks(text):
    """FILETIME of 2026-11-21T09:30:00.1234567Z."""
    whole, digits = text.rstrip("Z").split(".")
    return int((datetime.fromisoformat(whole) - EPOCH).total_seconds()) * 10**7 + int(digits)


def field(event, path):
    for name in path.split("."):
        event = event.get(name) if isinstance(event, dict) else None
    return event.lower() if isinstance(event, str) else event


class Window:
    def __init__(self, event):
        self.event, self.count, self.times = event, 0, []

    def add(self, event):
        self.count += 1
        self.times.append(event["@timestamp"])


def windows(events, paths, seconds):
    """The expected records for the events of a trace, by values and window, in the order of their first events."""
    found = {}
    for event in events:
        key = (tuple(field(event, path) for path in paths),
               ticks(event["@timestamp"]) // (seconds * 10**7))
        found.setdefault(key, Window(event)).add(event)
    return found


def without(event, *names):
    return {name: value for name, value in event.items() if name not in names}


class Rollup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.traces = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.traces.name) / "trace.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o", cls.trace],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        dump = subprocess.run([BINARY, "dump", cls.trace], check=True, timeout=TIMEOUT_S,
                              stdout=subprocess.PIPE).stdout
        cls.events = [json.loads(line) for line in dump.splitlines()]
        assert len(cls.events) == EVENTS

    @classmethod
    def tearDownClass(cls):
        cls.traces.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out.ndjson"
        self.config = self.folder / "etwship.yaml"

    def write(self, filters, of="output", spool="memory", workers=2, **output):
        """A configuration with rules at one place."""
        lists = {of: {"filters": filters}}
        self.config.write_text(json.dumps({
            "agent": {"decode_workers": workers, "data_dir": str(self.folder / "state"),
                      "log": {"stats": "0s"}},
            "spool": {"mode": spool, "min_free_disk": "1MB", "recorded": "copy"},
            "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}
                         | lists.get("session", {})],
            "outputs": [{"type": "file", "path": str(self.out)} | lists.get("output", {}) | output]}
            | lists.get("agent", {})))

    def start(self):
        process = subprocess.Popen([BINARY, "run", "-c", self.config], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def run_agent(self):
        process = self.start()
        _, said = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, DONE, said.decode())
        return self.shipped()

    def shipped(self):
        events = [json.loads(line) for line in self.out.read_text().splitlines()]
        return [e for e in events if e["provider"].get("kind") != "agent"]

    def assert_rolled(self, got, events, paths, seconds):
        """${got} are ${events} rolled up. The first event of all, if it is the trace's, has passed."""
        if events[0]["etw"]["sequence"] == 1:
            self.assertNotIn("rollup", got[0])
            self.assertEqual(got[0]["etw"]["sequence"], 1)
            got, events = got[1:], events[1:]
        wanted = windows(events, paths, seconds)
        self.assertEqual(len(got), len(wanted))
        by_first = {w.event["etw"]["sequence"]: w for w in wanted.values()}
        for event in got:
            window = by_first.pop(event["etw"]["sequence"])
            self.assertEqual(event["rollup"], {"count": window.count, "first": min(window.times),
                                               "last": max(window.times)})
            self.assertEqual(without(event, "rollup", "agent", "etw"),
                             without(window.event, "agent", "etw"))
        self.assertEqual(by_first, {})

    def forget(self):
        """Remove all state: as if nothing was ever run or shipped here."""
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        self.out.unlink(missing_ok=True)

    def assert_refused(self, config, error):
        self.config.write_text(config)
        done = subprocess.run([BINARY, "check", "-c", self.config], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S,
                              check=False)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn(error, done.stderr.decode())

    # ---- what comes out ---------------------------------------------------------------------

    def test_one_event_for_each_window_and_values(self):
        for paths, seconds in ((["event.code"], 1), (["provider.name", "event.level"], 1), ([], 1),
                               (["data.NoSuchField"], 1), (["event.name", "etw.cpu"], 60)):
            with self.subTest(by=paths, every=seconds):
                self.forget()
                self.write([{"rollup": {"by": paths, "every": f"{seconds}s"}}])
                self.assert_rolled(self.run_agent(), self.events, paths, seconds)

    def test_at_each_place_and_with_any_number_of_workers(self):
        for of in ("output", "session", "agent"):
            for workers in (1, 4):
                with self.subTest(of=of, workers=workers):
                    self.forget()
                    self.write([{"rollup": {"by": ["event.code"], "every": "1s"}}], of,
                               workers=workers)
                    self.assert_rolled(self.run_agent(), self.events, ["event.code"], 1)

    def test_more_keys_than_there_is_room_for(self):
        # Every event is a key: 1,024 of a slab find room in it, 4,096 in all.
        self.write([{"rollup": {"by": ["data.Sequence"], "every": "60s"}}])
        got = self.run_agent()
        self.assertEqual(sum(e.get("rollup", {"count": 1})["count"] for e in got), EVENTS)
        self.assertTrue(any("rollup" in e for e in got))

    def test_the_first_rule_that_matches_decides(self):
        code = collections.Counter(e["event"].get("code") for e in self.events).most_common(1)[0][0]
        self.write([{"drop": "event.level == 5"},
                    {"keep": f"event.code == {code} and event.level != 4"},
                    {"rollup": {"where": f"event.code == {code}", "every": "1s"}},
                    {"rollup": {"by": ["provider.name"], "every": "60s"}}])
        got = [e for e in self.run_agent() if e["etw"]["sequence"] > 1]
        events = [e for e in self.events[1:] if e["event"].get("level") != 5]
        of_code = [e for e in events if e["event"].get("code") == code]
        plain = [e for e in of_code if e["event"].get("level") != 4]
        rolled = [e for e in of_code if e["event"].get("level") == 4]
        others = [e for e in events if e["event"].get("code") != code]
        self.assertTrue(rolled and others)
        wanted = collections.Counter(w.count for w in windows(rolled, [], 1).values())
        wanted += collections.Counter(w.count for w in windows(others, ["provider.name"], 60).values())
        self.assertEqual(collections.Counter(e["rollup"]["count"] for e in got if "rollup" in e),
                         wanted)
        self.assertEqual(sorted(e["etw"]["sequence"] for e in got if "rollup" not in e),
                         [e["etw"]["sequence"] for e in plain])

    def test_rules_that_edit_change_what_is_shipped(self):
        self.write([{"set": {"fields": {"labels.team": "blue"}}},
                    {"rollup": {"by": ["event.code"], "every": "1s"}}])
        got = self.run_agent()
        self.assertTrue(all(e["labels"] == {"team": "blue"} for e in got))
        self.assert_rolled([without(e, "labels") for e in got], self.events, ["event.code"], 1)

    def test_the_ecs_event_has_it_too(self):
        self.write([{"rollup": {"every": "60s"}}], format="ecs")
        got = [json.loads(line) for line in self.out_lines_of_a_run()]
        self.assertEqual(sum(e.get("rollup", {"count": 1})["count"] for e in got), EVENTS)
        self.assertEqual([list(e)[-1] for e in got[1:]], ["rollup"] * (len(got) - 1))

    def out_lines_of_a_run(self):
        process = self.start()
        _, said = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, DONE, said.decode())
        return self.out.read_text().splitlines()

    # ---- what is refused --------------------------------------------------------------------

    def test_an_entry_of_a_provider_takes_none(self):
        self.assert_refused("sessions: [{type: file, paths: [a.etl], providers: [{name: A, "
                            "filters: [{rollup: {every: 60s}}]}]}]\noutputs: [{type: stdout}]\n",
                            "error: rollup: an entry of a provider takes none")

    def test_a_window_has_a_length(self):
        for every, error in (("by: [event.code]", "the key 'every' is missing"),
                             ("every: 10ms", "every"), ("every: 2d", "every"),
                             ("every: 1s, by: [proces.pid]", "did you mean process.pid?")):
            self.assert_refused("sessions: [{type: file, paths: [a.etl]}]\noutputs: [{type: stdout, "
                                f"filters: [{{rollup: {{{every}}}}}]}}]\n", error)

    # ---- stops and kills ----------------------------------------------------------------------

    def interrupt(self, how, count):
        """Runs that a signal ends while they ship, and a last one that runs to its end."""
        for number in range(count):
            process = self.start()
            before = self.out.stat().st_size if self.out.exists() else 0
            more = (1 + number) * 1_000_000
            wait_until(lambda: process.poll() is not None or (
                self.out.exists() and self.out.stat().st_size > before + more))
            process.send_signal(how)
            process.communicate(timeout=TIMEOUT_S)
        return self.run_agent()

    def prepare(self, spool):
        """Half of the events are rolled up, the others are shipped, so that the file grows."""
        self.write([{"rollup": {"where": "event.opcode == 0", "by": ["event.code"],
                                "every": "1s"}}], "session", spool)

    def counts_of(self, events):
        found = collections.Counter()
        for event in events:
            found[event["event"].get("opcode") == 0, event["event"].get("code"),
                  ticks(event["@timestamp"]) // 10**7] += event.get("rollup", {"count": 1})["count"]
        return found

    def test_a_stop_loses_and_repeats_nothing(self):
        for spool in ("memory", "durable"):
            with self.subTest(spool=spool):
                self.forget()
                self.prepare(spool)
                got = self.interrupt(signal.SIGTERM, 3)
                self.assertEqual(self.counts_of(got), self.counts_of(self.events))

    def test_a_kill_loses_nothing(self):
        wanted = self.counts_of(self.events)
        for spool in ("memory", "durable"):
            with self.subTest(spool=spool):
                self.forget()
                self.prepare(spool)
                got = self.counts_of(self.interrupt(signal.SIGKILL, 3))
                self.assertEqual(got.keys(), wanted.keys())
                self.assertEqual([key for key in wanted if got[key] < wanted[key]], [])

    def test_a_reload_loses_nothing(self):
        self.prepare("memory")
        process = self.start()
        wait_until(lambda: process.poll() is not None or (
            self.out.exists() and self.out.stat().st_size > 1_000_000))
        self.write([{"rollup": {"where": "event.opcode == 0", "by": ["event.code", "event.level"],
                                "every": "1s"}}], "session", "memory")
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(self.counts_of(self.shipped()), self.counts_of(self.events))


if __name__ == "__main__":
    unittest.main()
