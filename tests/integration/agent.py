"""`run` as a whole: sessions beside each other, outputs with filters and shapes of their own,
stops, and kills.

What must come out is known from `dump`, or from an undisturbed run. --full kills a hundred
times instead of ten, and runs the memory test with a gigabyte.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
FULL = "--full" in sys.argv
SANITIZED = re.search(rb"__[at]san_init", Path(BINARY).read_bytes()) is not None
# A net under a program that does not end, no measure.
TIMEOUT_S = 600
# ThreadSanitizer, which makes all ten times slower, looks at what threads do, not at how much.
BIG = 20000 if SANITIZED else 60000
ROUNDS = 100 if FULL else 3 if SANITIZED else 9

DONE, FAILED, USAGE, LOSSES, SECOND_SIGNAL = 0, 1, 2, 3, 130
# Sections `spool`, by where events wait.
MODES = {"memory": {"mode": "memory"}, "replay": {"recorded": "replay"}, "copy": {"recorded": "copy"}}


def make_trace(path, events, mix="realistic", *options):
    subprocess.run([ETLGEN, "--mix", mix, "--events", str(events), *options, "-o", str(path)],
                   check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
    return path


def comparable(line):
    """An event without the members that differ between runs, or between `run` and `dump`."""
    event = json.loads(line)
    event.pop("agent", None)
    event["etw"].pop("session", None)
    return event


def without_run(data):
    return re.sub(rb'"ephemeral_id":"[0-9a-f-]*"', b"", data)


class Agent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.traces = tempfile.TemporaryDirectory()
        folder = Path(cls.traces.name)
        cls.one = make_trace(folder / "one.etl", 4000)
        cls.two = make_trace(folder / "two.etl", 3000, "kernel", "--seed", "7")
        cls.big = make_trace(folder / "big.etl", BIG)

    @classmethod
    def tearDownClass(cls):
        cls.traces.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, config):
        # JSON is YAML.
        path = self.folder / "etwship.yaml"
        remembers = "data_dir" in config.get("agent", {})
        spool = {"spool": {"min_free_disk": "1MB"} if remembers else {"mode": "memory"}}
        path.write_text(json.dumps({"version": 1} | spool | config))
        return path

    def start(self, config, *arguments, **options):
        process = subprocess.Popen([BINARY, "run", "-c", str(self.write(config)), *arguments],
                                   stdin=subprocess.DEVNULL, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_agent(self, config, *arguments, code=DONE):
        done = subprocess.run([BINARY, "run", "-c", str(self.write(config)), *arguments],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def dump(self, *arguments):
        done = subprocess.run([BINARY, "dump", *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, DONE, done.stderr.decode())
        return done.stdout.decode().splitlines()

    def lines(self, name):
        return (self.folder / name).read_text().splitlines()

    def of_session(self, name, session):
        return [line for line in self.lines(name) if json.loads(line)["etw"]["session"] == session]

    def assert_same_events(self, got, expected):
        self.assertEqual([comparable(line) for line in got],
                         [comparable(line) for line in expected])

    # ---- what comes out -----------------------------------------------------------------------

    def test_each_output_gets_what_its_sessions_and_filters_say(self):
        keep = "provider.name == 'Etwship-Sample-Dns'"
        drop = "event.opcode == 1"
        odd = "data.ProcessId > 3000"
        config = {
            "filters": [{"drop": "event.code == 2"}],
            "sessions": [
                {"name": "one", "type": "file", "paths": [str(self.one)]},
                {"name": "two", "type": "file", "paths": [str(self.two)],
                 "filters": [{"drop": odd}]}],
            "outputs": [
                {"name": "all", "type": "file", "path": str(self.folder / "all")},
                {"name": "dns", "type": "file", "path": str(self.folder / "dns"),
                 "sessions": ["one"], "filters": [{"keep": keep}, {"drop": "true"}]},
                {"name": "ecs", "type": "file", "path": str(self.folder / "ecs"), "format": "ecs",
                 "sessions": ["two"], "filters": [{"drop": drop}]}]}
        for workers in (1, 2):
            config["agent"] = {"decode_workers": workers}
            self.run_agent(config)
            first = "not event.code == 2"
            self.assert_same_events(self.of_session("all", "one"),
                                    self.dump("--where", first, self.one))
            self.assert_same_events(self.of_session("all", "two"),
                                    self.dump("--where", f"{first} and not {odd}", self.two))
            dns = self.dump("--where", f"{first} and {keep}", self.one)
            self.assertGreater(len(dns), 10)
            self.assert_same_events(self.lines("dns"), dns)
            ecs = self.dump("-f", "ecs", "--where", f"{first} and not {odd} and not {drop}",
                            self.two)
            self.assertGreater(len(ecs), 10)
            self.assertLess(len(ecs), len(self.of_session("all", "two")))
            self.assertEqual([json.loads(line)["@timestamp"] for line in self.lines("ecs")],
                             [json.loads(line)["@timestamp"] for line in ecs])
            for name in ("all", "dns", "ecs"):
                (self.folder / name).unlink()

    def test_events_are_routed_to_files_by_their_fields(self):
        self.run_agent({
            "sessions": [{"name": "s", "type": "file", "paths": [str(self.one)]}],
            "outputs": [{"type": "file",
                         "path": str(self.folder / "{provider.name}" / "%Y.ndjson")}]})
        seen = 0
        for path in self.folder.glob("*/*.ndjson"):
            for line in path.read_text().splitlines():
                event = json.loads(line)
                self.assertEqual(event["provider"].get("name", "unknown"), path.parent.name)
                self.assertTrue(event["@timestamp"].startswith(path.stem))
                seen += 1
        self.assertEqual(seen, len(self.dump(self.one)))

    def test_labels_and_tags_are_on_every_event_and_filters_see_them(self):
        self.run_agent({
            "agent": {"labels": {"site": "berlin"}, "tags": ["a"]},
            "sessions": [{"name": "s", "type": "file", "paths": [str(self.one)]}],
            "outputs": [
                {"name": "x", "type": "file", "path": str(self.folder / "x"),
                 "filters": [{"drop": "labels.site == 'berlin'"}]},
                {"name": "y", "type": "file", "path": str(self.folder / "y")}]})
        self.assertFalse((self.folder / "x").exists() and self.lines("x"))
        for line in self.lines("y"):
            event = json.loads(line)
            self.assertEqual((event["labels"], event["tags"]), ({"site": "berlin"}, ["a"]))

    # ---- ends ---------------------------------------------------------------------------------

    def slow_config(self, **agent):
        """A run that cannot end by itself: no program reads the pipe to which it writes."""
        return {"agent": agent,
                "sessions": [{"name": "s", "type": "file", "paths": [str(self.big)]}],
                "outputs": [{"name": "console", "type": "stdout", "style": "ndjson"},
                            {"name": "file", "type": "file", "path": str(self.folder / "out")}]}

    def wait_until(self, process, holds):
        wait_until(holds, process=process)

    def count(self, name, what):
        path = self.folder / name
        return path.read_bytes().count(what) if path.exists() else 0

    def wait_for_lines(self, process, count):
        self.wait_until(process, lambda: self.count("out", b"\n") >= count)

    def wait_for_status(self, process, count):
        self.wait_until(process, lambda: self.count("out", b'"name":"status"') >= count)

    def test_a_blocked_reader_does_not_hold_up_a_file(self):
        process = self.start(self.slow_config(memory="512MB"), stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        self.wait_for_lines(process, BIG)
        text = process.communicate(timeout=TIMEOUT_S)[0]
        self.assertEqual(process.returncode, DONE)
        self.assertEqual(without_run(text), without_run((self.folder / "out").read_bytes()))

    def test_a_stop_gives_up_on_a_reader_that_does_not_read(self):
        process = self.start(self.slow_config(shutdown="300ms"), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.wait_for_lines(process, 1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), LOSSES)
        text = (self.folder / "out").read_bytes()
        self.assertTrue(text.endswith(b"\n"))
        gaps = [json.loads(line) for line in text.splitlines() if b'"name":"gap"' in line]
        left = [gap for gap in gaps if gap["gap"].get("output") == "console"]
        self.assertTrue(left)
        for gap in left:
            self.assertEqual((gap["gap"]["stage"], gap["gap"]["reason"]), ("output", "stopped"))
            self.assertEqual(gap["etw"], {"session": "s"})

    def test_a_halted_terminal_holds_up_nothing_else(self):
        """Standard output and standard error are one pipe, and it is full."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        config = self.slow_config(memory="1GB", shutdown="100ms", log={"stats": "1s"})
        process = self.start(config, stdout=writer, stderr=writer)
        os.close(writer)
        self.wait_for_status(process, 2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), LOSSES)

    def test_a_second_signal_ends_at_once(self):
        log = self.folder / "agent.log"
        config = self.slow_config(shutdown="1h", log={"file": str(log)})
        process = self.start(config, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.wait_for_lines(process, 1)
        process.send_signal(signal.SIGINT)
        # ThreadSanitizer keeps a signal that comes while another is handled until its thread wakes up.
        self.wait_until(process, lambda: self.count(log.name, b"stopping"))
        deadline = time.monotonic() + TIMEOUT_S
        while process.poll() is None:  # one that comes soon after the first is part of it
            self.assertLess(time.monotonic(), deadline)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.05)
        self.assertEqual(process.returncode, SECOND_SIGNAL)

    def test_two_signals_at_once_are_one(self):
        process = self.start(self.slow_config(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.wait_for_lines(process, 1)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)
        self.assertNotEqual(process.returncode, SECOND_SIGNAL)

    def test_a_closed_pipe_ends_the_agent_with_0(self):
        config = self.slow_config()
        del config["outputs"][1]
        process = self.start(config, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=TIMEOUT_S), DONE)

    def test_a_duration_is_an_end(self):
        process = self.start(self.slow_config(shutdown="100ms"), "--duration", "100ms",
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        # On a slow machine nothing was read by then, and so nothing was left.
        self.assertIn(process.wait(timeout=TIMEOUT_S), (DONE, LOSSES))

    def test_a_hangup_reopens_the_log(self):
        log = self.folder / "agent.log"
        config = self.slow_config(shutdown="100ms", log={"file": str(log), "stats": "1s"})
        process = self.start(config, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.wait_for_lines(process, 1)  # by then it listens
        self.wait_until(process, log.exists)
        log.rename(self.folder / "moved.log")
        process.send_signal(signal.SIGHUP)
        self.wait_until(process, log.exists)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)
        self.assertIn("session s", log.read_text())

    # ---- counters -----------------------------------------------------------------------------

    def test_status_events_balance(self):
        config = self.slow_config(memory="1GB", shutdown="100ms", log={"stats": "1s"})
        config["outputs"][1]["filters"] = [{"name": "odd", "drop": "event.level == 4"}]
        process = self.start(config, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.wait_for_status(process, 2)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)
        for line in self.lines("out"):
            if '"name":"status"' not in line:
                continue
            event = json.loads(line)
            self.assertEqual(event["provider"]["name"], "etwship")
            status = event["status"]
            for s in status["sessions"]:
                self.assertEqual(s["received"], s["metadata"] + s["joined"] + s["filtered"]
                                 + s["accepted"] + sum(s["dropped"].values()))
            for o in status["outputs"]:
                self.assertEqual(o["offered"], o["filtered"] + o["rolled_up"] + o["acked"]
                                 + o["dead_lettered"] + sum(o["dropped"].values()) + o["pending"])
            rule = status["filters"][0]["rules"][0]
            self.assertEqual(rule["name"], "odd")
        # The first one may come before any event.
        self.assertGreater(status["outputs"][1]["filtered"], 0)
        self.assertGreater(rule["hits"], 0)
        self.assertGreater(rule["dropped"], 0)

    # ---- kills --------------------------------------------------------------------------------

    def kill_config(self, name, data_dir=None, mode="memory"):
        agent = {"data_dir": str(self.folder / data_dir)} if data_dir else {}
        # The traces have more processes than a table holds: which it forgets depends on the workers.
        plain = {"type": "file", "process_context": False}
        return {"agent": agent,
                "spool": MODES[mode] | {"min_free_disk": "1MB"},
                "sessions": [
                    {"name": "s", "paths": [str(self.big)], **plain},
                    {"name": "t", "paths": [str(self.one), str(self.two)], **plain}],
                "outputs": [
                    {"name": "a", "type": "file", "sessions": ["s"],
                     "path": str(self.folder / f"{name}-a")},
                    {"name": "b", "type": "file", "path": str(self.folder / f"{name}-b"),
                     "batch": {"events": 100}, "sessions": ["t"]},
                    {"name": "c", "type": "file", "sessions": ["s"],
                     "filters": [{"drop": "event.level == 4"}],
                     "path": str(self.folder / f"{name}-c")}]}

    def killed_halfway(self, process, name, share):
        """Kill the agent once an output has this share of its bytes. False: it ended before that."""
        most = (self.folder / "whole-a").stat().st_size
        out = self.folder / f"{name}-a"
        while process.poll() is None:
            if out.exists() and out.stat().st_size > share * most:
                process.kill()
                return process.wait() != DONE
            time.sleep(0.001)
        self.assertEqual(process.returncode, DONE)
        return False

    def killed_in_time(self, process, limit):
        """Kill the agent after so many seconds. False: it ended before that."""
        try:
            error = process.communicate(timeout=limit)[1]
            self.assertEqual(process.returncode, DONE, error)
            return False
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.assertLess(limit, TIMEOUT_S, "it does not end")
            return True

    def test_kills_leave_every_event_once(self):
        self.run_agent(self.kill_config("whole"))
        longest = {}  # s, by mode: what the first run of it took
        kills = 0
        for number in range(ROUNDS):
            name = f"round{number}"
            mode = tuple(MODES)[number % 3]
            config = self.kill_config(name, f"state{number}", mode)
            process = self.start(config, stderr=subprocess.PIPE)
            if self.killed_halfway(process, name, random.uniform(0, 0.5)):
                kills += 1
            # Each kill of a round leaves the next run more time, so that a machine that has become
            # slower than it was ends a round, too.
            patience = 1.0
            while True:
                begun = time.monotonic()
                process = self.start(config, stderr=subprocess.PIPE)
                limit = min(random.uniform(0, longest[mode]) * patience if mode in longest
                            else TIMEOUT_S, TIMEOUT_S)
                if not self.killed_in_time(process, limit):
                    break
                kills += 1
                patience *= 1.2
            longest.setdefault(mode, time.monotonic() - begun)
            for output in "abc":
                whole = without_run((self.folder / f"whole-{output}").read_bytes())
                got = without_run((self.folder / f"{name}-{output}").read_bytes())
                got = re.sub(rb'"id":"[0-9a-f-]{36}",', b"", got)  # agent.id
                if got != whole:
                    a, b = got.splitlines(), whole.splitlines()
                    self.assertEqual(len(a), len(b), f"{name}-{output} after {kills} kills")
                    for i, (x, y) in enumerate(zip(a, b)):
                        self.assertEqual(x, y, f"{name}-{output}, line {i}")
                (self.folder / f"{name}-{output}").unlink()
        self.assertGreater(kills, 0)

    def test_a_second_run_delivers_nothing_again(self):
        for mode in MODES:
            config = self.kill_config(mode, mode, mode)
            self.run_agent(config)
            sizes = [(self.folder / f"{mode}-{o}").stat().st_size for o in "abc"]
            self.run_agent(config)
            again = [(self.folder / f"{mode}-{o}").stat().st_size for o in "abc"]
            self.assertEqual(again, sizes)

    def test_a_data_folder_serves_one_agent(self):
        config = self.slow_config(data_dir=str(self.folder / "state"))
        process = self.start(config, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.wait_for_lines(process, 1)
        done = self.run_agent(config, code=FAILED)
        self.assertIn(b"used by another etwship", done.stderr)

    # ---- memory -------------------------------------------------------------------------------

    def is_at_rest(self, log):
        """True once something has come and two lines of counters in a row are equal. (Status events cannot show that:
        they wait after the others.)"""
        lines = log.read_text().splitlines() if log.exists() else []
        counters = [line[line.index("session "):] for line in lines
                    if re.search(" [1-9][0-9]* received, ", line)]
        return len(counters) > 1 and counters[-1] == counters[-2]

    def peak_kb_at_rest(self, config):
        """The peak while the agent runs until nothing moves any more: its first output is a pipe without a reader."""
        log = self.folder / "agent.log"
        config["agent"]["log"] = {"file": str(log), "stats": "1s"}
        process = self.start(config, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_until(process, lambda: self.is_at_rest(log))
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)
        log.unlink()
        (self.folder / "out").unlink()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])

    def test_memory_stays_in_its_budget_beside_a_blocked_output(self):
        """The traces are much larger than the budget."""
        trace = make_trace(self.folder / "large.etl", 2800000 if FULL else 400000)
        kernel = make_trace(self.folder / "kernel.etl", 400000, "kernel")
        one = {"name": "s", "type": "file", "paths": [str(trace)]}
        two = {"name": "t", "type": "file", "paths": [str(kernel)]}
        console = {"name": "console", "type": "stdout", "style": "ndjson"}
        native = {"name": "f", "type": "file", "path": str(self.folder / "out")}
        ecs = {"name": "e", "type": "file", "path": str(self.folder / "ecs-{provider.name}"),
               "format": "ecs"}
        for budget_mb, workers, sessions, outputs in (
                (64, 1, [one], [console, native]),
                (96, 2, [one, two], [console, native, ecs])):
            config = {"agent": {"memory": f"{budget_mb}MB", "shutdown": "100ms",
                                "decode_workers": workers},
                      "sessions": sessions, "outputs": outputs}
            peak_kb = self.peak_kb_at_rest(config)
            print(f"peak {peak_kb} KB of a budget of {budget_mb * 1024} KB")
            if not SANITIZED:  # shadow memory is not in the budget
                self.assertLess(peak_kb, budget_mb * 1024)


if __name__ == "__main__":
    sys.argv = [a for a in sys.argv if a != "--full"]
    unittest.main(verbosity=2)
