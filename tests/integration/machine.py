"""Several processes on one simulated Windows: the agent, another one, `sessions` of a third.

The machine (etwsim-machine) is a process of its own. So a session outlives the agent that started
it, however that ended, events go on into it while no agent reads, and the next agent finds it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import catalogue  # noqa: E402
from support.ports import reserve_port  # noqa: E402
from support.waiting import text_so_far, wait_until  # noqa: E402

SIM = os.environ["ETWSHIP_SIM"]
MACHINE = os.environ["ETWSIM_MACHINE_BIN"]
# A net under what does not end, no measure.
TIMEOUT_S = 300
BURST = 300000
NAME = "Sim-Provider"
SESSION = "etwship-live"


class Agent:
    """`run` in the background; its messages go to a file."""

    def __init__(self, test):
        self.log = tempfile.TemporaryFile()
        test.addCleanup(self.log.close)
        self.process = subprocess.Popen([SIM, "run", "-c", "etwship.yaml"], cwd=test.folder,
                                        env=test.environment, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)

    def said(self):
        return text_so_far(self.log)

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT_S)

    def stop(self):
        """Stop the agent in good order; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_S)


class Shared(unittest.TestCase):
    agent_class = Agent
    spool = "spool: {min_free_disk: 1MB}\n"

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.out = self.folder / "out.ndjson"
        self.machine = subprocess.Popen([MACHINE], cwd=self.folder, stdin=subprocess.PIPE,
                                        env=self.machine_environment(),
                                        stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end_machine)
        self.environment = self.environment_of(self.machine.stdout.readline().strip())
        self.do(f"provider {NAME}")

    def machine_environment(self):
        return None

    def environment_of(self, port):
        return dict(os.environ, ETWSIM_MACHINE=port)

    def end_machine(self):
        self.machine.stdin.close()
        self.assertEqual(self.machine.wait(TIMEOUT_S), 0)
        self.machine.stdout.close()

    def do(self, line):
        self.machine.stdin.write(line + "\n")
        self.machine.stdin.flush()
        said = self.machine.stdout.readline()
        self.assertTrue(said, f"the machine cannot do: {line}")
        return json.loads(said) if said.startswith("{") else None

    def etwship(self, *args):
        return subprocess.run([SIM, *map(str, args)], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, encoding="utf-8", check=False,
                              timeout=TIMEOUT_S)

    def sessions(self, *args):
        done = self.etwship("sessions", *args, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}

    def start(self, session="", data="data", provider=NAME, out="out.ndjson"):
        (self.folder / "etwship.yaml").write_text(
            f"agent: {{data_dir: {data}, log: {{stats: 0}}}}\n"
            f"sessions: [{{name: live, type: realtime, providers: [{provider}]{session}}}]\n"
            f"{self.spool}outputs: [{{type: file, path: {out}}}]\n")
        return self.agent_class(self)

    def read_by(self, agent, provider=NAME):
        """Wait until the given agent reads the session."""
        self.do(f"await {SESSION} {provider}")
        self.assertIsNone(agent.process.poll(), agent.said())

    def shipped(self):
        """Events, and gaps by stage and reason: what they count, and how many there are.

        Of whole lines, for the agent may be at the middle of one."""
        events, gaps = 0, {}
        data = self.out.read_bytes() if self.out.exists() else b""
        for line in data[:data.rfind(b"\n") + 1].splitlines():
            event = json.loads(line)
            if "guard" in event:
                continue
            if "gap" in event:
                gap = event["gap"]
                key = f"{gap['stage']}/{gap['reason']}"
                total, number = gaps.get(key, (0, 0))
                gaps[key] = (total + gap["count"], number + 1)
            else:
                events += 1
        return events, gaps

    def guarded(self, out="out.ndjson"):
        """The guard's reports: kind and action of each."""
        path = self.folder / out
        data = path.read_bytes() if path.exists() else b""
        events = map(json.loads, data[:data.rfind(b"\n") + 1].splitlines())
        return [(event["guard"]["kind"], event["guard"]["action"])
                for event in events if "guard" in event]

    def accounted(self):
        """Events, and those that a busy agent has reported as dropped."""
        events, gaps = self.shipped()
        return events + sum(count for key, (count, _) in gaps.items()
                            if key.startswith(("queue/", "spool/")))

    def burst(self, count):
        self.do(f"burst {NAME} {count} 0")

    def ships(self, count):
        """So many more events are written and arrive at the other end."""
        before, _ = self.shipped()
        self.burst(count)
        self.do("settle")
        wait_until(lambda: self.shipped()[0] == before + count)

    def positioned(self):
        """Wait until the agent has stored its position."""
        path = self.folder / "data/spool/catalogue.db"
        wait_until(lambda: catalogue.ask(path, "SELECT time FROM live"))


class Sessions(Shared):
    def test_a_session_is_seen_flushed_and_changed_from_another_process(self):
        agent = self.start(", guard: {enabled: false}")
        self.read_by(agent)
        row = self.sessions("list")[SESSION]
        self.assertEqual(row["owner"], "etwship")
        self.assertFalse(row.get("orphan", False))
        self.burst(10)
        self.sessions("flush", SESSION)
        wait_until(lambda: self.shipped()[0] == 10)
        self.assertGreater(self.sessions("query", SESSION)[SESSION]["buffers_written"], 0)
        row = self.sessions("update", SESSION, "--flush-timer", "7s")[SESSION]
        self.assertEqual(row["flush_ms"], 7000)
        self.assertEqual(self.sessions("query", SESSION)[SESSION]["flush_ms"], 7000)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.sessions("list"), {})

    def test_a_session_that_another_process_stops_comes_back(self):
        agent = self.start()
        self.read_by(agent)
        self.ships(20)
        self.assertTrue(self.sessions("stop", SESSION)[SESSION]["stopped"])
        self.read_by(agent)
        self.ships(20)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (40, {"agent/session_stopped": (0, 1)}))
        self.assertEqual(self.guarded(), [("session_stopped", "repaired")])

    def test_only_a_session_without_a_holder_is_an_orphan(self):
        agent = self.start()
        self.read_by(agent)
        self.assertEqual(self.sessions("stop", "--orphans"), {})
        self.ships(5)
        agent.kill()
        wait_until(lambda: self.sessions("list")[SESSION].get("orphan"))
        self.assertEqual(list(self.sessions("stop", "--orphans")), [SESSION])
        self.assertEqual(self.sessions("list"), {})

    def test_nonsense_does_not_end_the_machine(self):
        port = int(self.environment["ETWSIM_MACHINE"])
        for message in (b"", b"\xff\xff\xff\xff", b"\x01\0\0\0\x7f", b"\x09\0\0\0" + bytes(9),
                        *(b"\x09\0\0\0" + bytes([op]) + bytes(8) for op in range(1, 20))):
            with socket.create_connection(("127.0.0.1", port)) as link:
                link.sendall(message)
                link.shutdown(socket.SHUT_WR)
                while link.recv(4096):
                    pass
        agent = self.start()
        self.read_by(agent)
        self.ships(1)

    def test_two_agents_do_not_share_a_session(self):
        first = self.start()
        self.read_by(first)
        second = self.start(", on_existing: attach", data="other")
        wait_until(lambda: "belongs to a running agent" in second.said())
        second.kill()
        self.ships(5)
        self.assertEqual(first.stop(), 0)
        self.assertEqual(self.shipped(), (5, {}))


class Guard(Shared):
    """Other programs change a session while its agent runs."""

    quick = ", guard: {interval: 100ms}"

    def read_by(self, agent, provider=NAME):
        """Wait also until the agent knows how Windows lists its provider: a change before that would count as
        Windows' own form."""
        super().read_by(agent, provider)
        wait_until(lambda: "flushed every" in agent.said(), agent.said)

    def told(self, *reports, out="out.ndjson"):
        wait_until(lambda: self.guarded(out)[-len(reports):] == list(reports),
                   lambda: str(self.guarded(out)))

    def test_a_provider_that_another_process_switches_off_comes_back(self):
        agent = self.start(self.quick)
        self.read_by(agent)
        self.ships(5)
        self.do(f"disable {SESSION} {NAME}")
        self.told(("provider_disabled", "repaired"))
        self.read_by(agent)
        self.ships(5)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (10, {}))

    def test_the_actor_is_reported_if_asked_for(self):
        agent = self.start(", guard: {interval: 100ms, who: true}")
        self.read_by(agent)
        self.do(f"disable {SESSION} {NAME}")
        self.told(("provider_disabled", "repaired"))
        event = next(event for event in map(json.loads, self.out.read_text().splitlines())
                     if "guard" in event)
        self.assertEqual(event["guard"]["by"], {"pid": 6666, "user": "S-1-5-18"})
        self.assertIn(", by process 6666", event["message"])
        self.assertIn(f"etwship-who-{agent.process.pid}", self.sessions("list"))
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.sessions("list"), {})

    def test_a_provider_that_stays_disabled_is_left_alone(self):
        agent = self.start(self.quick)
        self.read_by(agent)
        repaired = ("provider_disabled", "repaired")
        for count in (1, 2):
            self.do(f"disable {SESSION} {NAME}")
            self.told(*[repaired] * count)
            self.read_by(agent)
        self.do(f"disable {SESSION} {NAME}")
        self.told(repaired, repaired, ("provider_disabled", "gave_up"))
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(len(self.guarded()), 3)

    def test_a_session_of_its_name_is_left_to_the_program_that_started_it(self):
        agent = self.start(self.quick)
        self.read_by(agent)
        self.do(f"replace {SESSION}")
        self.told(("session_stopped", "gave_up"))
        self.assertIn(SESSION, self.sessions("list"))  # theirs
        self.do(f"stop {SESSION}")
        self.told(("session_stopped", "gave_up"), ("session_stopped", "repaired"))
        self.read_by(agent)
        self.ships(5)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.sessions("list"), {})

    def test_two_agents_of_one_configuration_do_not_take_turns(self):
        outs = ("out.ndjson", "second.ndjson")
        first = self.start(self.quick)
        self.read_by(first)
        second = self.start(self.quick, data="other", out=outs[1])
        wait_until(lambda: "belongs to a running agent" in second.said())
        self.do(f"stop {SESSION}")
        self.do(f"await {SESSION} {NAME}")  # by whoever was quicker
        calls = self.do(f"report {SESSION}")
        self.burst(5)
        self.do("settle")

        def shipped():
            texts = [path.read_text() for path in map(self.folder.joinpath, outs) if path.exists()]
            return sum('"guard":' not in line and '"gap":' not in line
                       for text in texts for line in text.splitlines())

        wait_until(lambda: shipped() == 5)
        self.assertEqual(calls["sessions"], 1)
        for agent in (first, second):
            self.assertIsNone(agent.process.poll())
        first.stop()
        second.stop()
        told = [report for out in outs for report in self.guarded(out)]
        self.assertLessEqual(told.count(("session_stopped", "repaired")), 1)


class Providers(Shared):
    """Providers in one process, sessions in another."""

    def selftest(self):
        done = self.etwship("selftest", "--rate", 800, "--duration", "1s", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return {kind["kind"]: kind for kind in json.loads(done.stdout)["kinds"]}

    def test_events_of_every_kind_come_back_to_their_writer(self):
        for kind in self.selftest().values():
            # 200 each in a second, and less where the machine is busy.
            self.assertGreater(kind["written"], 0)
            self.assertEqual(kind["received"], kind["written"])

    def test_events_of_a_process_come_to_the_session_of_another(self):
        provider = "Etwship.Selftest"
        self.do(f"provider {provider} unregistered")
        agent = self.start(provider=provider)
        self.read_by(agent, provider)
        written = self.selftest()["tracelogging"]["written"]
        wait_until(lambda: self.shipped()[0] == written + 1)  # the last one says: that was all
        self.assertEqual(agent.stop(), 0)
        events = [json.loads(line) for line in self.out.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([event["data"]["Sequence"] for event in events],
                         [*range(1, written + 1), 0])


class Durable(Shared):
    """Accepted events are on the disk, whichever agent takes them, and whenever."""

    def start(self, output):
        (self.folder / "etwship.yaml").write_text(
            "agent: {data_dir: data, log: {stats: 0}}\n"
            "spool: {mode: durable, min_free_disk: 1MB, sync: {interval: 20ms}}\n"
            f"sessions: [{{name: live, type: realtime, providers: [{NAME}]}}]\n"
            f"outputs: [{{name: out, {output}}}]\n")
        return self.agent_class(self)

    def waiting(self):
        done = self.etwship("spool", "stat", "--json", "-c", "etwship.yaml")
        rows = json.loads(done.stdout)["outputs"] if done.returncode == 0 else []
        return sum(row["events"] for row in rows)

    def test_what_was_accepted_before_a_kill_is_shipped_by_the_next_run(self):
        away = f"type: http, url: 'http://127.0.0.1:{reserve_port(self)}'"
        for number in (1, 2):
            agent = self.start(away)
            self.read_by(agent)
            before = self.waiting()
            self.burst(5000)
            self.do("settle")
            wait_until(lambda n=before: self.waiting() >= n + 5000)
            agent.kill()
            self.do(f"left {SESSION}")
            exported = self.etwship("spool", "export", "-c", "etwship.yaml").stdout
            events = [json.loads(line) for line in exported.splitlines()]
            self.assertEqual(sum("gap" not in event for event in events), 5000 * number)
        agent = self.start("type: file, path: out.ndjson")
        wait_until(lambda: self.shipped()[0] >= 10000)
        self.ships(100)
        self.assertEqual(agent.stop(), 0, agent.said())
        self.assertEqual(self.shipped()[0], 10100)
        self.assertEqual(self.waiting(), 0)


class Existing(Shared):
    """A session of ours already runs when the agent starts: the previous agent was killed."""

    spool = "spool: {mode: memory}\n"

    def leave(self, session=""):
        agent = self.start(session)
        self.read_by(agent)
        self.ships(50)
        self.positioned()
        agent.kill()
        wait_until(lambda: self.sessions("list")[SESSION].get("orphan"))
        self.do(f"left {SESSION}")  # or the next one seems to read it before it does
        self.burst(30)  # no agent reads

    def test_it_is_replaced(self):
        self.leave()
        agent = self.start()
        self.read_by(agent)
        self.ships(20)
        self.assertIn("stopped etwship-live, left by an earlier run", agent.said())
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (70, {"agent/not_running": (0, 1)}))
        self.assertEqual(self.sessions("list"), {})

    def test_it_is_attached_to(self):
        self.leave()
        agent = self.start(", on_existing: attach")
        wait_until(lambda: self.shipped()[0] == 80)
        self.ships(20)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (100, {}))

    def test_it_keeps_the_agent_from_starting(self):
        self.leave()
        agent = self.start(", on_existing: fail")
        wait_until(lambda: "on_existing is fail" in agent.said())
        agent.kill()
        self.assertIn(SESSION, self.sessions("list"))


class Kept(Shared):
    """keep_on_restart: the session continues while no agent runs."""

    KEEP = ", keep_on_restart: true"

    def test_what_came_meanwhile_is_had_after_an_orderly_restart(self):
        agent = self.start(self.KEEP)
        self.read_by(agent)
        self.ships(100)
        self.assertEqual(agent.stop(), 0)
        self.burst(250)
        agent = self.start(self.KEEP)
        wait_until(lambda: self.shipped()[0] == 350)
        self.assertIn("continues the running session etwship-live", agent.said())
        self.ships(100)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (450, {}))
        report = self.do(f"report {SESSION}")
        self.assertEqual((report["sent"], report["delivered"]), (450, 450))

    def test_what_came_meanwhile_is_had_after_a_kill(self):
        agent = self.start(self.KEEP)
        self.read_by(agent)
        self.ships(100)
        for round_number in range(1, 4):
            agent.kill()
            self.do(f"left {SESSION}")
            self.burst(250)
            agent = self.start(self.KEEP)
            wait_until(lambda: self.shipped()[0] == 350 * round_number)
            self.ships(100)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (1150, {}))

    def test_what_it_lost_meanwhile_is_told_once(self):
        agent = self.start(self.KEEP + ", buffers: {size: 64KB, min: 4, max: 4}")
        self.read_by(agent)
        self.ships(10)
        self.assertEqual(agent.stop(), 0)
        self.burst(400000)  # more than its memory and the file behind that hold
        report = self.do(f"report {SESSION}")
        self.assertGreater(report["events_lost"], 0)
        for _ in range(2):
            agent = self.start(self.KEEP + ", buffers: {size: 64KB, min: 4, max: 4}")
            self.read_by(agent)
            self.do("settle")
            report = self.do(f"report {SESSION}")
            wait_until(lambda n=report["delivered"]: self.accounted() == n,
                       lambda: f"{self.shipped()}, {self.do(f'report {SESSION}')}")
            self.assertEqual(agent.stop(), 0)
        _, gaps = self.shipped()
        self.assertEqual(self.accounted(), report["delivered"])
        lost = gaps["etw/events_lost"][0]
        self.assertEqual(lost, report["events_lost"])
        self.assertEqual(gaps.get("etw/realtime_buffers_lost", (0, 0))[0], report["buffers_lost"])
        self.assertEqual(self.accounted() + lost + report["in_lost_buffers"], report["sent"])
        self.assertNotIn("agent/not_running", gaps)

    def test_one_that_was_set_up_in_another_way_is_replaced(self):
        agent = self.start(self.KEEP)
        self.read_by(agent)
        self.ships(10)
        self.assertEqual(agent.stop(), 0)
        self.burst(10)
        agent = self.start(self.KEEP + ", buffers: {size: 128KB}")
        self.read_by(agent)
        self.assertEqual(self.sessions("query", SESSION)[SESSION]["buffer_kb"], 128)
        self.ships(10)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (20, {"agent/not_running": (0, 1)}))

    def test_one_that_was_stopped_meanwhile_is_missed(self):
        agent = self.start(self.KEEP)
        self.read_by(agent)
        self.ships(10)
        self.assertEqual(agent.stop(), 0)
        self.assertTrue(self.sessions("stop", SESSION)[SESSION]["stopped"])
        self.burst(10)
        agent = self.start(self.KEEP)
        self.read_by(agent)
        self.ships(10)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.shipped(), (20, {"agent/not_running": (0, 1)}))

    def test_without_it_a_restart_leaves_a_gap(self):
        for _ in range(2):
            agent = self.start()
            self.read_by(agent)
            self.ships(10)
            self.assertEqual(agent.stop(), 0)
            self.assertEqual(self.sessions("list"), {})
            self.burst(10)
        self.assertEqual(self.shipped(), (20, {"agent/not_running": (0, 1)}))


class KernelLogger(Shared):
    """The one session whose name does not show to whom it belongs."""

    LOGGER = "NT Kernel Logger"

    def start_kernel(self, flags="process", data="data", more=""):
        (self.folder / "etwship.yaml").write_text(
            f"agent: {{data_dir: {data}, log: {{stats: 0}}}}\n"
            f"sessions: [{{name: live, type: kernel, flags: [{flags}]{more}}}]\n"
            f"{self.spool}outputs: [{{type: file, path: out.ndjson}}]\n")
        return self.agent_class(self)

    def runs(self, agent):
        wait_until(lambda: "flushed every" in agent.said(), agent.said)

    def test_what_a_killed_agent_left_is_replaced_by_the_next(self):
        agent = self.start_kernel()
        self.runs(agent)
        for flags in ("process", "process, thread"):
            agent.kill()
            self.assertIn(self.LOGGER, self.sessions("list"))
            agent = self.start_kernel(flags)
            self.runs(agent)
            self.assertIn(f"stopped {self.LOGGER}, left by an earlier run", agent.said())
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.sessions("list"), {})

    def test_a_kept_one_goes_on_and_one_set_up_in_another_way_is_replaced(self):
        keep = ", keep_on_restart: true"
        for flags, what in (("process", None), ("process", "continues the running session"),
                            ("process, thread", "stopped")):
            agent = self.start_kernel(flags, more=keep)
            self.runs(agent)
            if what:
                self.assertIn(f"{what} {self.LOGGER}", agent.said())
            agent.kill()

    def test_another_agents_is_left_alone(self):
        first = self.start_kernel()
        self.runs(first)
        second = self.start_kernel(data="other")
        wait_until(lambda: "another program runs the NT Kernel Logger" in second.said())
        self.assertEqual(second.stop(), 0)
        self.assertIn(self.LOGGER, self.sessions("list"))
        self.assertEqual(first.stop(), 0)
        self.assertEqual(self.sessions("list"), {})


class Load(Shared):
    def assert_accounted(self, rate):
        agent = self.start(", buffers: {size: 64KB, min: 4}, block_for: 0")
        self.read_by(agent)
        self.do(f"burst {NAME} {BURST} {rate}")
        self.do("settle")
        report = self.do(f"report {SESSION}")
        self.assertEqual(agent.stop(), 0)
        events, gaps = self.shipped()
        lost = sum(total for key, (total, _) in gaps.items()
                   if key in ("etw/events_lost", "queue/full"))
        self.assertEqual(report["sent"], BURST)
        self.assertEqual(events + lost + report["in_lost_buffers"], BURST, (gaps, report))
        self.assertEqual(gaps.get("etw/events_lost", (0, 0))[0], report["events_lost"])
        self.assertEqual(gaps.get("etw/realtime_buffers_lost", (0, 0))[0],
                         report["buffers_lost"])

    def test_a_burst_is_delivered_or_counted(self):
        self.assert_accounted(0)

    def test_a_stream_is_delivered_or_counted(self):
        self.assert_accounted(100000)

    def test_agents_that_come_and_go_leave_nothing(self):
        for turn in range(12):
            agent = self.start()
            self.read_by(agent)
            self.burst(100)
            if turn % 3 == 0:
                agent.kill()
                self.do(f"left {SESSION}")  # or the next one seems to read it before it does
            else:
                self.assertEqual(agent.stop(), 0)
        self.assertEqual(self.sessions("list"), {})
        report = self.do(f"report {SESSION}")
        self.assertEqual((report["sessions"], report["traces"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
