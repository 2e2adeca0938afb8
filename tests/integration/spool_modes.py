"""A data folder whose spool.mode changes: what one mode has delivered the other one does not deliver again,
and what it has not, it does.

Each test is a method whose name is its claim.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import catalogue  # noqa: E402
from support.scripted_http import Bulk, Fault, Reply, Server  # noqa: E402
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
SIM = os.environ["ETWSHIP_SIM"]
FAILING_DISK = os.environ.get("ETWSHIP_FAILING_DISK")
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
EVENTS = 20000
DONE, LOSSES = 0, 3
WRONG = (400, "mapper_parsing_exception", "failed to parse field [data.a] of type [long]")


class Modes(unittest.TestCase):
    def setUp(self):
        # A kill costs nothing that is in memory: where a test kills often, no disk has to be waited for.
        in_memory = "kill_anywhere" in self._testMethodName
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("ETWSHIP_MEMORY") if in_memory else None)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "etwship.yaml"
        self.out = self.folder / "out.ndjson"
        self.traces = [self.make_trace("a", EVENTS)]

    def make_trace(self, name, events, *more):
        trace = self.folder / f"{name}.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), "-o", trace, *more],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        return trace

    def write(self, mode, server=None, local=True, **session):
        siem = {"name": "siem", "type": "elasticsearch", "batch": {"events": 500},
                "retry": {"min": "10ms", "max": "50ms"}}
        self.config.write_text(json.dumps({
            "agent": {"data_dir": str(self.folder / "state"), "shutdown": "50ms", "log": {"stats": "0s"}},
            "spool": {"mode": mode, "min_free_disk": "1MB", "recorded": "copy", "sync": {"interval": "20ms"}},
            "sessions": [{"name": "s", "type": "file", "paths": [str(t) for t in self.traces]} | session],
            "outputs": ([siem | {"hosts": [server.url]}] if server else [])
            + ([{"name": "local", "type": "file", "path": str(self.out), "batch": {"events": 300}}]
               if local else [])}))

    def run_agent(self, code=DONE):
        done = subprocess.run([BINARY, "run", "-c", self.config], stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def run_until(self, holds, stop):
        """Run the agent, and end it with the signal once `holds`."""
        with tempfile.TemporaryFile() as log:
            agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=log)
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)
            wait_until(lambda: holds() or agent.poll() is not None)
            agent.send_signal(stop)
            agent.wait(TIMEOUT_S)
            log.seek(0)
            return log.read().decode()

    def written(self):
        return self.out.read_bytes().count(b"\n") if self.out.exists() else 0

    def letters(self):
        done = subprocess.run([BINARY, "deadletter", "list", "--json", "-c", self.config], check=True,
                              stdout=subprocess.PIPE, timeout=TIMEOUT_S)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def sequences(self, documents):
        events = [json.loads(document) for document in documents]
        return sorted(event["etw"]["sequence"] for event in events
                      if event["provider"].get("name") != "etwship")

    def assert_each_once(self, documents, events=EVENTS):
        self.assertEqual(self.sequences(documents), list(range(1, events + 1)))

    def test_what_memory_has_delivered_the_spool_does_not_read_again(self):
        with Server(Bulk()) as server:
            self.write("memory", server)
            self.run_agent()
            self.traces.append(self.make_trace("b", 1000, "--seed", "7"))
            self.write("durable", server)
            self.assertIn("outputs continue after the last events that they delivered in an earlier run", self.run_agent())
            self.assertNotIn("outputs continue after what", self.run_agent())
            self.assert_each_once(server.app.documents(), EVENTS + 1000)
            self.assertEqual(server.app.twice, 0)
        self.assert_each_once(self.out.read_bytes().splitlines(), EVENTS + 1000)

    def test_the_spool_goes_on_in_the_middle_of_a_trace(self):
        for stop in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(stop), Server(Bulk()) as server:
                self.write("memory", server, local=False)
                self.run_until(lambda s=server: len(s.posts()) >= 5, stop)
                self.write("durable", server, local=False)
                self.run_agent()
                self.assert_each_once(server.app.documents())
            subprocess.run(["rm", "-r", self.folder / "state"], check=True)

    def test_outputs_that_were_not_equally_far_get_what_each_has_not_had(self):
        down = Fault(Reply(503))
        with Server(Bulk(), lambda request: down if request.method == "POST" else None) as server:
            for stop in (signal.SIGTERM, signal.SIGKILL):
                self.write("memory", server)
                self.run_until(lambda: self.written() >= EVENTS, stop)
            self.write("durable", server)
            self.run_until(self.is_taken_over, signal.SIGKILL)
            self.run_until(lambda: any((self.folder / "state/spool").glob("*.seg")), signal.SIGTERM)
            server.faults = None
            self.run_agent()
            self.assert_each_once(server.app.documents())
        self.assert_each_once(self.out.read_bytes().splitlines())

    def is_taken_over(self):
        """True once the spool has the counts of the outputs."""
        path = self.folder / "state/spool/catalogue.db"
        return catalogue.ask(path, "SELECT count(*) FROM progress") == [(0,)]

    def waiting(self):
        """Batches in the spool that wait for siem."""
        done = subprocess.run([BINARY, "spool", "stat", "--json", "-c", self.config],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
        outputs = json.loads(done.stdout)["outputs"] if done.returncode == DONE else []
        return next((output["batches"] for output in outputs if output["name"] == "siem"), 0)

    def test_a_kill_while_events_are_read_again_for_one_output_gives_the_other_nothing_twice(self):
        down = Fault(Reply(503))
        with Server(Bulk(), lambda request: down if request.method == "POST" else None) as server:
            self.write("memory", server)
            self.run_until(lambda: self.written() >= EVENTS, signal.SIGTERM)
            self.write("durable", server)
            # What local has skipped of the batches that wait for siem is noted now and then.
            self.run_until(lambda: self.waiting() > 0, signal.SIGKILL)
            server.faults = None
            self.run_agent()
            self.assert_each_once(server.app.documents())
        self.assert_each_once(self.out.read_bytes().splitlines())

    def test_an_output_that_came_in_memory_mode_gets_what_the_spool_had_before(self):
        down = Fault(Reply(503))
        self.traces = [self.make_trace("large", 100000)]
        with Server(Bulk()) as late, \
                Server(Bulk(), lambda request: down if request.method == "POST" else None) as server:
            def write(mode, *outputs):
                self.write(mode, server, local=False)
                config = json.loads(self.config.read_text())
                config["spool"] |= {"max_size": "20MB"}
                config["outputs"] += [config["outputs"][0] | {"name": "late", "hosts": [late.url]}
                                      for _ in outputs]
                self.config.write_text(json.dumps(config))
            write("durable")
            # Not all of the trace has room there.
            self.run_until(lambda: self.waiting() > 10, signal.SIGTERM)
            write("memory", "late")
            self.run_until(lambda: len(late.posts()) >= 2, signal.SIGTERM)
            before = len(self.sequences(late.app.documents()))
            server.faults = None
            write("durable", "late")
            self.run_agent()
            self.assertLess(before, 100000)
            self.assert_each_once(late.app.documents(), 100000)
            self.assert_each_once(server.app.documents(), 100000)

    def test_memory_goes_on_behind_what_is_in_the_spool_and_says_what_waits_there(self):
        down = Fault(Reply(503))
        with Server(Bulk(), lambda request: down if request.method == "POST" else None) as server:
            self.write("durable", server)
            self.run_until(lambda: self.written() >= EVENTS, signal.SIGTERM)
            server.faults = None
            self.traces.append(self.make_trace("b", 1000, "--seed", "7"))
            self.write("memory", server)
            self.assertRegex(self.run_agent(), f"warning: {EVENTS} events wait in .* for output siem: "
                             "with spool.mode: memory they stay there")
            self.assertEqual(self.sequences(server.app.documents()),
                             list(range(EVENTS + 1, EVENTS + 1001)))
            self.assert_each_once(self.out.read_bytes().splitlines(), EVENTS + 1000)
            self.traces.append(self.make_trace("c", 500, "--seed", "8"))
            self.write("durable", server)
            self.run_agent()
            self.assert_each_once(server.app.documents(), EVENTS + 1500)
            self.assertEqual(server.app.twice, 0)
        self.assert_each_once(self.out.read_bytes().splitlines(), EVENTS + 1500)

    def test_memory_takes_over_what_an_older_version_has_left(self):
        self.write("durable")
        self.run_agent()
        # Format 1 knew nothing of a letter's record.
        older = sqlite3.connect(self.folder / "state/spool/catalogue.db")
        older.executescript("DROP TABLE progress; DROP TABLE reserve; DROP INDEX letter_of_record;"
                            "ALTER TABLE letter DROP COLUMN epoch; ALTER TABLE letter DROP COLUMN record;"
                            "PRAGMA user_version = 1")
        older.close()
        self.traces.append(self.make_trace("b", 1000, "--seed", "7"))
        self.write("memory")
        self.assertNotIn("cannot find out", self.run_agent())
        self.assert_each_once(self.out.read_bytes().splitlines(), EVENTS + 1000)
        self.write("durable")
        self.run_agent()
        self.assert_each_once(self.out.read_bytes().splitlines(), EVENTS + 1000)

    def run_live(self, mode):
        """Ship 1000 live events to a file."""
        script = self.folder / "script"
        script.write_text("provider P\nawait etwship-live P\nburst P 1000 0\nsettle\nleave\n")
        self.config.write_text(json.dumps({
            "agent": {"data_dir": str(self.folder / "state"), "log": {"stats": "0s"}},
            "spool": {"mode": mode, "min_free_disk": "1MB"},
            "sessions": [{"name": "live", "type": "realtime", "providers": ["P"]}],
            "outputs": [{"name": "local", "type": "file", "path": str(self.out)}]}))
        env = os.environ | {"ETWSIM_SCRIPT": str(script)}
        env.pop("ETWSIM_WORLD", None)
        done = subprocess.run([SIM, "run", "-c", self.config], env=env, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, DONE, done.stderr.decode())

    def live_events(self):
        return sum(json.loads(line)["provider"].get("name") != "etwship"
                   for line in self.out.read_bytes().splitlines())

    def test_live_events_that_memory_has_delivered_stay_in_the_file(self):
        modes = ["durable", "memory", "memory", "durable", "durable", "memory", "durable"]
        for runs, mode in enumerate(modes, 1):
            self.run_live(mode)
            self.assertEqual(self.live_events(), runs * 1000, modes[:runs])

    def test_no_checkpoint_of_traces_takes_live_events_back(self):
        for mode, recorded in (("memory", "copy"), ("durable", "copy"), ("durable", "replay")):
            with self.subTest(mode=mode, recorded=recorded):
                self.out.unlink(missing_ok=True)
                shutil.rmtree(self.folder / "state", ignore_errors=True)
                self.write(mode)
                config = json.loads(self.config.read_text())
                config["spool"]["recorded"] = recorded
                self.config.write_text(json.dumps(config))
                self.run_agent()
                self.assert_each_once(self.out.read_bytes().splitlines())
                for runs, mode in enumerate(["memory", "memory", "durable", "durable"], 1):
                    self.run_live(mode)
                    self.assertEqual(self.live_events(), EVENTS + runs * 1000)

    def test_dead_letters_come_along(self):
        refuse = lambda number, *_: WRONG if number % 1000 == 0 else None  # noqa: E731
        with Server(Bulk(refuse)) as server:
            self.write("memory", server, local=False)
            self.run_agent(LOSSES)
            before = self.letters()
            self.assertTrue(before)
            for mode in "durable", "memory", "durable":
                self.write(mode, server, local=False)
                self.assertEqual(self.letters(), before)
                self.run_agent()
            self.assertEqual(self.letters(), before)

    def kill_at(self, step):
        """Run the agent, and kill it when it is about to make its ${step}th lasting change in its folder. True if it
        was killed."""
        folder = str(self.folder / "state")
        env = os.environ | {"LD_PRELOAD": FAILING_DISK, "FAILING_DISK_FOLDER": folder,
                            "FAILING_DISK_KILL": str(step)}
        done = subprocess.run([BINARY, "run", "-c", self.config], env=env, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        return done.returncode == -signal.SIGKILL

    def check_kills(self, first, second):
        """One run in the first mode. Then, again and again from that state, a run in the second mode, killed one step
        later each time until it delivers, and a last one that delivers the rest."""
        few = 1000
        self.traces = [self.make_trace("few", few)]
        refuse = lambda number, *_: WRONG if number % 100 == 0 else None  # noqa: E731
        with Server(Bulk(refuse)) as server:
            self.write(first, server)
            self.run_agent(LOSSES)
        left = self.folder / "left"
        self.folder.joinpath("state").rename(left)
        written = self.out.read_bytes()
        self.traces.append(self.make_trace("b", 300, "--seed", "7"))
        step = 0
        killed = True
        while killed:
            step += 1
            subprocess.run(["rm", "-rf", self.folder / "state"], check=True)
            subprocess.run(["cp", "-a", left, self.folder / "state"], check=True)
            self.out.write_bytes(written)
            with self.subTest(step=step), Server(Bulk()) as server:
                self.write(second, server)
                killed = self.kill_at(step) and not server.app.documents()
                self.run_agent()
                self.assertEqual(self.sequences(server.app.documents()), list(range(few + 1, few + 301)))
                self.assert_each_once(self.out.read_bytes().splitlines(), few + 300)
                documents = [json.dumps(letter["document"]) for letter in self.letters()]
                self.assertEqual(len(documents), len(set(documents)))
                self.assertEqual(len(documents), few // 100)
        self.assertGreater(step, 5)

    @unittest.skipUnless(FAILING_DISK, "ETWSHIP_FAILING_DISK is not set")
    def test_a_kill_anywhere_on_the_way_to_the_spool_costs_nothing(self):
        self.check_kills("memory", "durable")

    @unittest.skipUnless(FAILING_DISK, "ETWSHIP_FAILING_DISK is not set")
    def test_a_kill_anywhere_on_the_way_from_the_spool_costs_nothing(self):
        self.check_kills("durable", "memory")


if __name__ == "__main__":
    unittest.main(verbosity=2)
