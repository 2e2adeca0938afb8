"""The configuration of a running agent is changed: every event arrives once all the same.

--full kills 200 times instead of a few. Each test is a method whose name is its claim.
"""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import catalogue  # noqa: E402
from support.scripted_http import Bulk, Fault, Server  # noqa: E402
from support.spool_rig import BINARY, DONE, EVENTS, TIMEOUT_S, SpoolRig, down  # noqa: E402

FULL = "--full" in sys.argv
KILLS = 200 if FULL else 10

RUNS = "reload: the new configuration runs"
SAME = "reload: nothing has changed"
REFUSED = "reload: new configuration rejected; the previous one stays active"
BACK = "the previous one stays active"


class Slow(Bulk):
    """A slow store, so that there are always events on the way."""

    def __call__(self, request):
        time.sleep(0.01)
        return super().__call__(request)


class Rig(SpoolRig):
    """An agent and its store. `follow`: the agent does not end by itself."""

    def configure(self, *outputs, traces=None, follow=True, **more):
        self.write(*outputs, traces=traces or [self.folder / "*.etl"], follow=follow, poll="20ms", **more)

    def write(self, *outputs, **more):
        """Write the configuration in one go, because it is read at any moment."""
        place, self.config = self.config, self.folder / "fresh.yaml"
        super().write(*outputs, **more)
        self.config.rename(place)
        self.config = place

    def add_trace(self, name, events=EVENTS):
        trace = self.make_trace(f"{type(self).__name__}-{name}", events, "--seed", str(len(name) + 7))
        made = self.folder / f"{name}.part"
        made.write_bytes(trace.read_bytes())
        made.rename(self.folder / f"{name}.etl")

    def ask(self, agent, done=RUNS):
        """Request a reload, and wait until the agent reports its result."""
        before = self.said(agent).count(done)
        agent.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.said(agent).count(done) > before or agent.poll() is not None)
        self.assertIsNone(agent.poll(), self.said(agent))

    def running(self, **environment):
        """Wait until the agent reads: from then on it handles every signal."""
        agent = self.start_agent(**environment)
        self.wait_until(lambda: self.lines() or agent.poll() is not None)
        self.assertIsNone(agent.poll(), self.said(agent))
        return agent

    def lines(self, path=None):
        """Whole lines that are events of traces."""
        path = path or self.out
        data = path.read_bytes() if path.exists() else b""
        lines = data[:data.rfind(b"\n") + 1].splitlines()
        return [line for line in lines if b'"name":"etwship"' not in line]

    def assert_all(self, documents, events):
        """Each event comes once, identified by its place in its session."""
        self.assert_each_once(documents, events)


class Kept(Rig):
    """With the spool on the disk."""

    mode = {"spool": {}}

    def configured(self, *outputs, **more):
        self.configure(*outputs, **(self.mode | more))

    def test_under_load_each_event_arrives_once(self):
        with Server(Slow()) as server:
            self.add_trace("a")
            self.configured(self.siem(server, batch={"events": 200}), self.local())
            agent = self.running()
            for number in range(6):
                if number == 3:
                    self.add_trace("bb")
                self.configured(self.siem(server, batch={"events": 201 + number}),
                                self.local(batch={"events": 100 + number}))
                self.ask(agent)
            self.wait_until(lambda: len(self.lines()) >= 2 * EVENTS)
            self.wait_until(lambda: len([d for d in server.app.documents()
                                         if b'"name":"etwship"' not in d]) >= 2 * EVENTS)
            self.stop(agent)
            self.assertEqual(server.app.twice, 0)
            self.assert_all(server.app.documents(), 2 * EVENTS)
            self.assert_all(self.lines(), 2 * EVENTS)
            self.assertIn(f"output siem: {2 * EVENTS} events", self.said(agent))

    def test_an_output_without_an_answer_holds_no_reload_up_and_loses_nothing(self):
        """It is unknown whether the store accepted the events that were sent."""
        for taken in (False, True):
            with self.subTest(taken=taken):
                self.setUp()
                hangs = [Fault(obeyed=taken, delay_s=TIMEOUT_S)]
                with Server(Bulk(), lambda request: hangs[0]) as server:
                    self.add_trace("a")
                    more = {"agent": {"log": {"stats": "0s"}, "shutdown": "50ms",
                                      "data_dir": str(self.folder / "state")}}
                    self.configured(self.siem(server, timeout="1h"), **more)
                    agent = self.start_agent()
                    server.wait_for(server.posts, TIMEOUT_S)
                    # The next one has more time, as replies may come late on a busy machine: also when it is stopped.
                    self.configured(self.siem(server, timeout="2s"))
                    self.ask(agent)  # within agent.shutdown, not within the timeout
                    hangs[0] = None
                    self.wait_until(lambda: len([d for d in server.app.documents()
                                                 if b'"name":"etwship"' not in d]) >= EVENTS)
                    self.stop(agent)
                    self.assert_all(server.app.documents(), EVENTS)
                    self.assertNotIn(b'"gap"', b"".join(server.app.documents()))

    def test_a_shape_that_changes_changes_from_one_event_to_the_next(self):
        self.add_trace("a")
        self.configured(self.local())
        agent = self.running()
        self.configured(self.local(format="ecs"))
        self.ask(agent)
        self.add_trace("bb")
        self.wait_until(lambda: len(self.lines()) >= 2 * EVENTS)
        self.stop(agent)
        lines = [json.loads(line) for line in self.lines()]
        shapes = ["ecs" in line for line in lines]
        self.assertEqual(len(lines), 2 * EVENTS)
        self.assertGreaterEqual(sum(shapes), EVENTS)
        self.assertEqual(shapes, sorted(shapes))

    def test_outputs_come_and_go(self):
        other = self.folder / "other.ndjson"
        self.add_trace("a")
        self.configured(self.local())
        agent = self.running()
        self.wait_until(lambda: len(self.lines()) == EVENTS)
        self.configured(self.local(), {"name": "other", "type": "file", "path": str(other)})
        self.ask(agent)
        self.add_trace("bb", 1000)
        self.wait_until(lambda: len(self.lines(other)) >= 1000 and len(self.lines()) == EVENTS + 1000)
        self.configured({"name": "other", "type": "file", "path": str(other)})
        self.ask(agent)
        before = len(self.lines(other))
        self.add_trace("ccc", 1000)
        self.wait_until(lambda: len(self.lines(other)) == before + 1000)
        self.stop(agent)
        self.assert_all(self.lines(), EVENTS + 1000)

    def test_signals_that_come_in_a_row_are_few_reloads_and_lose_nothing(self):
        with Server(Slow()) as server:
            self.add_trace("a")
            self.configured(self.siem(server), self.local())
            agent = self.running()
            for number in range(60):
                self.configured(self.siem(server, batch={"events": 300 + number}), self.local())
                agent.send_signal(signal.SIGHUP)
            self.configured(self.siem(server, batch={"events": 999}), self.local())
            self.ask(agent)
            self.wait_until(lambda: len(self.lines()) >= EVENTS)
            self.ask(agent, SAME)
            self.wait_until(lambda: len([d for d in server.app.documents()
                                         if b'"name":"etwship"' not in d]) >= EVENTS)
            self.stop(agent)
            self.assertLess(self.said(agent).count(RUNS), 62)
            self.assertEqual(server.app.twice, 0)
            self.assert_all(server.app.documents(), EVENTS)
            self.assert_all(self.lines(), EVENTS)

    def test_a_stop_in_the_middle_is_a_stop(self):
        chance = random.Random(3)
        for number in range(4):
            self.out.unlink(missing_ok=True)
            with Server(Slow()) as server:
                self.add_trace(f"a{'a' * number}", 2000)
                self.configured(self.siem(server), self.local(path=str(self.out)))
                agent = self.running()
                self.configured(self.siem(server, batch={"events": 100 + number}), self.local())
                agent.send_signal(signal.SIGHUP)
                time.sleep(chance.random() / 10)  # any moment
                self.stop(agent)
                lines = [json.loads(line)["etw"]["sequence"] for line in self.lines()]
                self.assertEqual(len(lines), len(set(lines)))
                self.assertEqual(server.app.twice, 0)
                for trace in self.folder.glob("*.etl"):
                    trace.unlink()

    def test_a_mistake_is_named_and_what_runs_goes_on(self):
        self.add_trace("a")
        self.configured(self.local())
        agent = self.running()
        good = self.config.read_text()
        self.config.write_text(good[:-1] + ',\n"outptus": 1}')
        self.ask(agent, REFUSED)
        self.assertRegex(self.said(agent), r"etwship\.yaml:2:1: error: unknown key 'outptus'")
        self.config.write_text(good)
        self.ask(agent, SAME)
        self.add_trace("bb", 1000)
        self.wait_until(lambda: len(self.lines()) == EVENTS + 1000)
        self.stop(agent)
        self.assert_all(self.lines(), EVENTS + 1000)

    def test_what_would_not_work_is_found_before_anything_ends(self):
        self.add_trace("a")
        self.configured(self.local())
        agent = self.running()
        for wrong, said in (
                ({"tls": {"ca": str(self.folder / "missing.pem")}}, "output siem: .*missing.pem"),
                ({"filters": [{"keep": "event.id =="}]}, r"etwship\.yaml:1:\d+: error: keep: unexpected end of the expression")):
            self.configured(self.local(), {"name": "siem", "type": "elasticsearch",
                                           "hosts": ["https://127.0.0.1:1"]} | wrong)
            self.ask(agent, REFUSED)
            self.assertRegex(self.said(agent), said)
        self.assertNotIn("so far", self.said(agent))
        self.stop(agent)


class InMemory(Kept):
    """With the spool in memory, and positions on the disk."""

    mode = {"spool": {"mode": "memory"}}

    def test_a_destination_that_was_down_is_mended_and_nothing_counts_as_lost(self):
        with Server(Bulk(), down) as wrong, Server(Bulk()) as right:
            self.add_trace("a")
            more = self.mode | {"agent": {"log": {"stats": "0s"}, "shutdown": "50ms",
                                          "data_dir": str(self.folder / "state")}}
            self.configure(self.siem(wrong), **more)
            agent = self.start_agent()
            self.wait_until(lambda: "503" in self.said(agent))
            self.configure(self.siem(right), **self.mode)
            self.ask(agent)
            self.wait_until(lambda: len([d for d in right.app.documents()
                                         if b'"name":"etwship"' not in d]) >= EVENTS)
            self.stop(agent)
            self.assert_all(right.app.documents(), EVENTS)
            # What the next agent reads again is not counted again.
            self.assertRegex(self.said(agent), rf"(?m)^{EVENTS} events in ")

    def catalogue(self):
        return self.folder / "state/spool/catalogue.db"

    def saved(self):
        """The output's position that a restart would find."""
        rows = catalogue.ask(self.catalogue(), "SELECT sessions FROM progress")
        return int.from_bytes(rows[0][0][:8], "little") if rows else 0

    def test_a_start_that_fails_goes_back(self):
        self.add_trace("a")
        self.configured(self.local())
        agent = self.running()
        self.wait_until(lambda: self.saved() == EVENTS)
        # Somebody writes to the catalogue and does not come to an end.
        writer = sqlite3.connect(self.catalogue(), isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        self.configured(self.local(), spool={"mode": "durable"})
        self.ask(agent, BACK)
        self.assertIn("the new configuration does not start", self.said(agent))
        writer.close()
        self.add_trace("bb", 1000)
        self.wait_until(lambda: len(self.lines()) == EVENTS + 1000)
        self.ask(agent)  # what was in the way is not any more
        self.add_trace("ccc", 1000)
        self.wait_until(lambda: len(self.lines()) == EVENTS + 2000)
        self.configured(self.local())
        self.ask(agent)
        self.add_trace("dddd", 1000)
        self.wait_until(lambda: len(self.lines()) == EVENTS + 3000)
        self.stop(agent)
        self.assert_all(self.lines(), EVENTS + 3000)


class WithoutFolder(Kept):
    """Nothing is remembered after the process."""

    mode = {"spool": {"mode": "memory"}}

    def write(self, *outputs, **more):
        super().write(*outputs, **more)
        config = json.loads(self.config.read_text())
        del config["agent"]["data_dir"]
        fresh = self.folder / "fresh.yaml"
        fresh.write_text(json.dumps(config))
        fresh.rename(self.config)


class Process(Rig):
    """State that no configuration changes."""

    def test_the_data_folder_stays_where_it_is(self):
        self.add_trace("a", 1000)
        self.configure(self.local())
        agent = self.running()
        self.configure(self.local(), agent={"data_dir": str(self.folder / "elsewhere")})
        self.ask(agent, REFUSED)
        self.assertIn("agent.data_dir has changed", self.said(agent))
        self.assertFalse((self.folder / "elsewhere").exists())
        self.stop(agent)

    def test_what_was_mended_is_read_though_what_ran_before_does_not_start(self):
        self.add_trace("a")
        self.configure(self.local())
        agent = self.running()
        self.wait_until(lambda: len(self.lines()) == EVENTS)
        state = self.folder / "state"
        (state / "spool").rename(state / "away")
        (state / "spool").write_text("no folder")
        in_memory = {"spool": {"mode": "memory"}}
        self.configure(self.local(), **in_memory)
        self.ask(agent, "the previous configuration does not start either")
        (state / "spool").unlink()
        self.configure(self.local(batch={"events": 77}), **in_memory)
        self.ask(agent)
        self.ask(agent, SAME)
        self.stop(agent)

    def test_no_other_agent_gets_the_folder_meanwhile(self):
        self.add_trace("a", 1000)
        self.configure(self.local())
        agent = self.running()
        for number in range(3):
            self.configure(self.local(batch={"events": 50 + number}))
            agent.send_signal(signal.SIGHUP)
            while self.said(agent).count(RUNS) <= number:
                done = subprocess.run([BINARY, "run", "-c", self.config], capture_output=True,
                                      check=False, timeout=TIMEOUT_S)
                self.assertIn(b"used by another etwship, process %d" % agent.pid, done.stderr)
        self.stop(agent)

    def test_kills_in_the_middle_lose_nothing(self):
        chance = random.Random(11)
        with Server(Slow()) as server:
            total = 0
            for number in range(KILLS):
                self.add_trace("x" * (number + 1), 1000)
                total += 1000
                self.configure(self.siem(server, batch={"events": 100 + number}), self.local())
                agent = self.start_agent()
                self.wait_until(lambda a=agent: "events wait in" in self.said(a) or a.poll() is not None)
                for more in range(1, 4):
                    self.configure(self.siem(server, batch={"events": 100 * more + number}), self.local())
                    agent.send_signal(signal.SIGHUP)
                    time.sleep(chance.random() / 20)  # any moment: what is waited for is a kill
                self.assertIsNone(agent.poll(), self.said(agent))
                agent.kill()
                agent.wait()
            agent = self.start_agent()
            self.wait_until(lambda: len(self.lines()) >= total)
            self.wait_until(lambda: len([d for d in server.app.documents()
                                         if b'"name":"etwship"' not in d]) >= total)
            self.stop(agent)
            self.assert_all(server.app.documents(), total)
            self.assert_all(self.lines(), total)

    def test_a_destination_that_was_wrong_is_mended_though_all_was_read(self):
        with Server(Bulk(), down) as wrong, Server(Bulk()) as right:
            self.add_trace("a")
            self.configure(self.siem(wrong), follow=False)
            agent = self.start_agent()
            self.waits_for("siem", EVENTS)
            self.configure(self.siem(right), follow=False)
            agent.send_signal(signal.SIGHUP)
            self.assertEqual(agent.wait(TIMEOUT_S), DONE, self.said(agent))
            self.assert_all(right.app.documents(), EVENTS)

    def test_files_that_are_read_for_what_they_say_count_as_the_configuration(self):
        self.add_trace("a", 1000)
        definitions = self.folder / "definitions"
        definitions.mkdir()
        self.configure(self.local())
        config = json.loads(self.config.read_text())
        config["schema"] = [{"type": "folder", "path": str(definitions)}]
        self.config.write_text(json.dumps(config))
        agent = self.running()
        self.ask(agent, SAME)
        (definitions / "new.man").write_text("<instrumentationManifest/>")
        self.ask(agent)
        self.ask(agent, SAME)
        self.stop(agent)

    def test_the_log_goes_where_the_configuration_says(self):
        first, second = self.folder / "first.log", self.folder / "second.log"
        self.add_trace("a", 1000)
        self.configure(self.local(), agent={"log": {"stats": "0s", "file": str(first)}})
        agent = self.running()
        self.configure(self.local(), agent={"log": {"stats": "0s", "file": str(second)}})
        agent.send_signal(signal.SIGHUP)
        self.wait_until(lambda: second.exists() and RUNS in second.read_text())
        # Whoever moves it away is heard, too.
        second.rename(self.folder / "moved.log")
        agent.send_signal(signal.SIGHUP)
        self.wait_until(lambda: second.exists() and SAME in second.read_text())
        self.stop(agent)
        self.assertNotIn(RUNS, first.read_text())

    def test_counters_say_what_was_loaded(self):
        self.add_trace("a", 1000)
        self.configure(self.local(), agent={"log": {"stats": "50ms"}})
        agent = self.running()

        def statuses():
            data = self.out.read_bytes()
            return [json.loads(line)["status"] for line in data[:data.rfind(b"\n") + 1].splitlines()
                    if b'"name":"status"' in line]
        self.wait_until(statuses)
        self.ask(agent, SAME)
        good = self.config.read_text()
        self.config.write_text("nonsense")
        self.ask(agent, REFUSED)
        self.config.write_text(good)
        self.configure(self.local(batch={"events": 77}), agent={"log": {"stats": "50ms"}})
        self.ask(agent)
        self.wait_until(lambda: statuses() and statuses()[-1]["config"]["reloads"] == 1)
        self.stop(agent)
        first, last = statuses()[0], statuses()[-1]
        self.assertEqual((first["config"]["reloads"], first["config"]["failed_reloads"]), (0, 0))
        self.assertEqual(last["config"]["failed_reloads"], 1)
        self.assertLess(first["config"]["loaded"], last["config"]["loaded"])
        uptimes = [status["uptime_ms"] for status in statuses()]
        self.assertEqual(uptimes, sorted(uptimes))
        lines = [json.loads(line) for line in self.out.read_bytes().splitlines()]
        self.assertEqual(len({line["agent"]["ephemeral_id"] for line in lines}), 1)


if __name__ == "__main__":
    unittest.main(argv=[argument for argument in sys.argv if argument != "--full"])
