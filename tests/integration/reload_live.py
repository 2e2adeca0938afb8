"""A reload of the agent while sessions of ETW run: they go on, and no event is lost.

The simulated Windows of machine.py counts what it was asked for and what it delivered.
"""

import os
import signal
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import machine  # noqa: E402
from machine import NAME, SESSION, wait_until  # noqa: E402

OTHER = "Sim-Other"


class Live(machine.Shared):
    spool_lines = "spool: {min_free_disk: 1MB, sync: {interval: 20ms}}\n"
    data_dir = "data_dir: data, "

    def configure(self, providers=NAME, more="", outputs="{type: file, path: out.ndjson}"):
        fresh = self.folder / "etwship.yaml.new"
        fresh.write_text(
            f"agent: {{{self.data_dir}log: {{stats: 0, level: debug}}}}\n"
            f"sessions: [{{name: live, type: realtime, providers: [{providers}], flush: 1s{more}}}]\n"
            f"{self.spool_lines}outputs: [{outputs}]\n")
        fresh.rename(self.folder / "etwship.yaml")

    def start(self, **config):
        self.configure(**config)
        agent = machine.Agent(self)
        self.read_by(agent)
        return agent

    def reload(self, agent, done="reload: the new configuration runs", **config):
        """Wait until the agent reports the result; True unless it has ended."""
        before = agent.said().count(done)
        self.configure(**config)
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: agent.said().count(done) > before or agent.process.poll() is not None,
                   agent.said)
        self.assertIsNone(agent.process.poll(), agent.said())

    def report(self):
        return self.do(f"report {SESSION}")

    def enablement(self, provider=NAME):
        return self.do(f"enablement {SESSION} {provider}")

    def settled(self, count):
        self.do("settle")
        wait_until(lambda: self.accounted() >= count, lambda: str(self.shipped()))

    def test_a_session_that_is_in_both_is_not_stopped_and_loses_nothing(self):
        agent = self.start()
        handle = self.report()["handle"]
        self.burst(1000)
        for number in range(1, 4):
            # While no agent reads, events wait in the session.
            self.reload(agent, more=f", block_for: {number}s")
            self.burst(1000)
        self.read_by(agent)
        self.assertEqual(self.report()["handle"], handle)
        self.settled(4000)
        self.assertIn("continues the running session etwship-live", agent.said())
        self.assertEqual(agent.stop(), 0, agent.said())
        self.assertEqual(self.shipped(), (4000, {}))
        self.assertEqual(self.sessions("list"), {})

    def test_events_that_come_all_the_time_are_all_accounted_for(self):
        agent = self.start()
        handle = self.report()["handle"]
        count = 60000
        writer = threading.Thread(target=self.do, args=(f"burst {NAME} {count} 20000",))
        writer.start()
        for number in range(1, 5):
            self.reload(agent, more=f", block_for: {number}s")
        writer.join()
        self.read_by(agent)
        report = self.report()
        self.assertEqual(report["handle"], handle)
        lost = report["events_lost"] + report["in_lost_buffers"]
        self.settled(count - lost)
        self.assertEqual(agent.stop(), 0, agent.said())
        events, gaps = self.shipped()
        self.assertEqual(events + sum(total for total, _ in gaps.values()) - gaps.get("etw/buffers", (0, 0))[0],
                         count, (gaps, report, agent.said()))
        self.assertNotIn("agent/not_running", gaps)

    def test_providers_come_and_go_and_change_in_the_session_that_runs(self):
        self.do(f"provider {OTHER}")
        agent = self.start()
        handle = self.report()["handle"]
        self.assertTrue(self.enablement()["enabled"])
        self.assertFalse(self.enablement(OTHER)["enabled"])

        self.reload(agent, providers=f"{NAME}, {OTHER}")
        self.do(f"await {SESSION} {OTHER}")
        self.assertTrue(self.enablement()["enabled"])
        self.burst(10)
        self.do(f"burst {OTHER} 7 0")
        self.settled(17)
        self.assertEqual(self.shipped(), (17, {}))

        self.reload(agent, providers=f"{{name: {NAME}, level: error}}")
        self.do(f"await {SESSION} {NAME}")
        wait_until(lambda: self.enablement()["level"] == 2)
        self.assertFalse(self.enablement(OTHER)["enabled"])
        self.do(f"burst {OTHER} 5 0")
        self.burst(3)  # level 4
        self.do("settle")
        self.assertEqual(self.report()["handle"], handle)
        self.assertEqual(agent.stop(), 0, agent.said())
        self.assertEqual(self.shipped(), (17, {}))
        self.assertEqual(self.sessions("list"), {})

    def test_what_no_rule_keeps_is_not_written_and_comes_again_when_one_does(self):
        """Events of the bursts have id 7, no keyword and the given level, else 4."""
        rules = ", filters: [{drop: 'event.level >= 4'}]"
        agent = self.start(more=rules)
        handle = self.report()["handle"]
        self.assertEqual(self.enablement()["level"], 3)
        self.burst(1000)
        self.do(f"burst {NAME} 20 0 3")
        self.settled(20)
        self.assertEqual(self.report()["delivered"], 20)

        self.reload(agent, more=", filters: [{keep: 'event.code in (0, 7, 9)'}, {drop: 'true'}]")
        self.do(f"await {SESSION} {NAME}")
        wait_until(lambda: self.enablement()["level"] == 255)
        self.assertEqual(self.enablement()["include"], [0, 7, 9, 65534])
        self.burst(5)
        self.settled(25)

        # Nobody keeps anything: it is switched off, and on again.
        self.reload(agent, more=", filters: [{drop: 'true'}]")
        wait_until(lambda: not self.enablement()["enabled"])
        self.assertIn("is not enabled: no rule keeps its events", agent.said())
        self.reload(agent, more=rules + ", push_down: false")
        self.do(f"await {SESSION} {NAME}")
        wait_until(lambda: self.enablement()["level"] == 255)
        self.assertNotIn("include", self.enablement())
        self.burst(1000)
        self.do("settle")

        self.reload(agent)
        self.do(f"await {SESSION} {NAME}")
        self.assertEqual(self.enablement()["level"], 255)
        self.burst(10)
        self.settled(35)
        self.assertEqual(self.report()["handle"], handle)
        self.assertEqual(agent.stop(), 0, agent.said())
        self.assertEqual(self.shipped(), (35, {}))
        self.assertEqual(self.sessions("list"), {})

    def test_a_session_that_is_gone_is_stopped_in_good_order(self):
        agent = self.start()
        self.burst(500)
        fresh = (self.folder / "etwship.yaml").read_text().replace("name: live", "name: another")
        (self.folder / "etwship.yaml").write_text(fresh)
        agent.process.send_signal(signal.SIGHUP)
        self.do(f"await etwship-another {NAME}")
        self.assertEqual(list(self.sessions("list")), ["etwship-another"])
        self.assertEqual(agent.stop(), 0, agent.said())
        self.assertEqual(self.shipped(), (500, {}))

    def test_what_a_running_session_cannot_be_given_starts_it_anew_and_is_told(self):
        agent = self.start()
        handle = self.report()["handle"]
        self.burst(500)
        self.reload(agent, more=", buffers: {size: 512KB}")
        self.read_by(agent)
        self.assertNotEqual(self.report()["handle"], handle)
        self.burst(20)
        self.settled(520)
        self.assertEqual(agent.stop(), 0, agent.said())
        events, gaps = self.shipped()
        self.assertEqual(events, 520)
        self.assertEqual({key: number for key, (_, number) in gaps.items()}, {"agent/not_running": 1})
        self.assertEqual(self.sessions("list"), {})

    def test_a_configuration_that_cannot_be_used_changes_nothing(self):
        agent = self.start()
        handle = self.report()["handle"]
        self.burst(100)
        self.reload(agent, done="new configuration rejected", more=", colour: red")
        self.assertIn("unknown key 'colour'", agent.said())
        self.burst(100)
        self.settled(200)
        self.assertEqual(self.report()["handle"], handle)
        self.assertEqual(agent.stop(), 0, agent.said())
        self.assertEqual(self.shipped(), (200, {}))

    def test_a_stop_in_the_middle_stops_the_session_too(self):
        agent = self.start()
        self.burst(100)
        self.configure(more=", block_for: 1s")
        agent.process.send_signal(signal.SIGHUP)
        self.assertEqual(agent.stop(), 0, agent.said())
        self.assertEqual(self.sessions("list"), {})
        events, _ = self.shipped()
        self.assertEqual(events, 100)

    def test_a_stop_where_no_agent_begins_says_whose_events_are_lost(self):
        agent = self.start()
        spool = self.folder / "data" / "spool"
        spool.rename(self.folder / "away")
        spool.write_text("no folder")
        self.configure(more=", block_for: 1s")
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the previous configuration does not start either" in agent.said(), agent.said)
        self.assertEqual(agent.stop(), 1, agent.said())
        self.assertIn("session live is stopped, and the events in it are lost: no agent", agent.said())
        self.assertEqual(self.sessions("list"), {})

    def test_a_kept_session_stays_over_reload_and_restart(self):
        keep = ", keep_on_restart: true"
        agent = self.start(more=keep)
        handle = self.report()["handle"]
        self.burst(100)
        self.reload(agent, more=keep + ", block_for: 1s")
        self.read_by(agent)
        self.assertEqual(agent.stop(), 0)
        self.burst(50)
        agent = machine.Agent(self)
        self.read_by(agent)
        self.settled(150)
        self.assertEqual(self.report()["handle"], handle)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (150, {}))
        self.sessions("stop", SESSION)


class InMemory(Live):
    spool_lines = "spool: {mode: memory}\n"

    def test_what_a_dead_destination_lost_is_told_to_the_next_one(self):
        self.data_dir += "shutdown: 50ms, "
        agent = self.start(outputs="{name: siem, type: elasticsearch, hosts: ['http://127.0.0.1:1']}")
        self.burst(500)
        self.do("settle")
        wait_until(lambda: "no connection" in agent.said(), agent.said)
        self.reload(agent)
        self.read_by(agent)
        wait_until(lambda: sum(count for count, _ in self.shipped()[1].values()) + self.shipped()[0] == 500,
                   lambda: str(self.shipped()))
        self.burst(7)
        self.do("settle")
        # The time to stop is short for an agent that still has to deliver them.
        wait_until(lambda: sum(count for count, _ in self.shipped()[1].values()) + self.shipped()[0] == 507,
                   lambda: str(self.shipped()))
        self.assertEqual(agent.stop(), 3, agent.said())
        events, gaps = self.shipped()
        lost = sum(count for count, _ in gaps.values())
        self.assertGreater(lost, 0)
        self.assertEqual(events + lost, 507)
        self.assertLessEqual(gaps.keys(), {"output/stopped", "queue/stopped"})
        self.assertIn("reload: so far", agent.said())


class WithoutFolder(InMemory):
    data_dir = ""
    test_a_stop_where_no_agent_begins_says_whose_events_are_lost = None  # nothing is in the way
    test_a_kept_session_stays_over_reload_and_restart = None  # needs a folder


if __name__ == "__main__":
    unittest.main()
