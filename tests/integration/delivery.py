"""What becomes of events that a destination refuses, cannot take now, or does not answer for.

The agent ships traces made by etlgen (ETWSHIP_ETLGEN) to a scripted server. Each test is a method whose
name is its claim.
"""

import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import small_disk  # noqa: E402
from support.ports import reserve_port  # noqa: E402
from support.scripted_http import Bulk, Fault, Lines, Reply, Server, script  # noqa: E402
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
SANITIZED = re.search(rb"__[at]san_init", Path(BINARY).read_bytes()) is not None
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
EVENTS = 20000

DONE, FAILED, USAGE, LOSSES = 0, 1, 2, 3

NO_ROOM = re.compile(b"No space|is full")
WRONG_TYPE = (400, "mapper_parsing_exception", "failed to parse field [data.\x1b[31mx]\x9b of type [long]")


def refuse_every(n):
    return lambda number, *_: WRONG_TYPE if number % n == 0 else None


def take_one_in(n):
    """Accepts every n-th event and refuses the others, so that the refusals do not look like a wrong mapping."""
    return lambda number, *_: None if number % n == 0 else WRONG_TYPE


class Delivery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared_folder = tempfile.TemporaryDirectory()
        cls.trace = cls.make_trace(EVENTS)

    @classmethod
    def make_trace(cls, events):
        trace = Path(cls.shared_folder.name) / f"{events}.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), "-o", str(trace)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        return trace

    @classmethod
    def tearDownClass(cls):
        cls.shared_folder.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "etwship.yaml"

    def write(self, *outputs, trace=None, spool=None, **agent):
        config = {
            "agent": {"data_dir": str(self.folder / "state"), "log": {"stats": "100ms"}} | agent,
            "spool": {"min_free_disk": "1MB"} | (spool or {}),
            "sessions": [{"name": "s", "type": "file", "paths": [str(trace or self.trace)]}],
            "outputs": list(outputs),
        }
        self.config.write_text(json.dumps(config))

    def siem(self, server, **more):
        return {"name": "siem", "type": "elasticsearch", "hosts": [server.url],
                "retry": {"min": "10ms", "max": "100ms"}} | more

    def run_agent(self, code):
        done = subprocess.run([BINARY, "run", "-c", self.config], stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def start_agent(self):
        agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=subprocess.PIPE)
        self.addCleanup(agent.stderr.close)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def deadletter(self, *arguments, code=DONE):
        done = subprocess.run([BINARY, "deadletter", *arguments, "-c", self.config], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def letters(self, *arguments):
        lines = self.deadletter("list", "--json", *arguments).stdout.decode().splitlines()
        return [json.loads(line) for line in lines]

    def sequences(self, documents):
        """Of the trace's events, each once."""
        events = [json.loads(document) for document in documents]
        found = [event["etw"]["sequence"] for event in events if event["provider"].get("name") != "etwship"]
        self.assertEqual(len(found), len(set(found)))
        return set(found)

    def statuses(self, documents):
        events = [json.loads(document) for document in documents]
        return [event for event in events if event["event"].get("name") == "status"]

    def test_what_is_refused_is_kept_and_everything_else_delivered(self):
        with Server(Bulk(refuse_every(997))) as server:
            self.write(self.siem(server), log={"stats": "0s"})
            self.assertIn(" refused (etwship deadletter list)", self.run_agent(LOSSES))
            delivered = self.sequences(server.app.documents())
            self.assertEqual(server.app.twice, 0)
        letters = self.letters()
        self.assertEqual(len(letters), EVENTS // 997)
        refused = self.sequences(json.dumps(letter["document"]) for letter in letters)
        self.assertEqual(delivered | refused, set(range(1, EVENTS + 1)))
        self.assertFalse(delivered & refused)
        for letter in letters:
            self.assertEqual(
                {"id", "time", "output", "status", "type", "reason", "index", "document"}, set(letter))
            self.assertEqual((letter["output"], letter["status"], letter["type"], letter["reason"]),
                             ("siem", *WRONG_TYPE))
            self.assertEqual(letter["index"], "logs-etw.native-default")

    def test_letters_are_shown_without_steering_the_terminal(self):
        with Server(Bulk(refuse_every(5000))) as server:
            self.write(self.siem(server), log={"stats": "0s"})
            self.run_agent(LOSSES)
        letters = self.letters()
        table = self.deadletter("list").stdout
        self.assertEqual(len(table.splitlines()), 1 + len(letters))
        for output in (table, self.deadletter("show", "2").stdout,
                       self.deadletter("show", "2", "--json").stdout, self.deadletter("list", "--json").stdout):
            self.assertNotRegex(output.decode(), "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertEqual(json.loads(self.deadletter("show", "2", "--json").stdout), letters[1])
        self.assertIn(b"mapper_parsing_exception", self.deadletter("show", "2").stdout)
        self.assertEqual(self.letters("-o", "siem"), letters)
        for verb in ("list", "replay", "purge"):
            done = self.deadletter(verb, "-o", "nope", code=USAGE)
            self.assertIn(b"no output and no dead letter has the name 'nope'", done.stderr)
            self.assertEqual(done.stdout, b"")
        self.deadletter("show", "99", code=FAILED)
        self.deadletter("show", "x", code=USAGE)
        self.deadletter("show", code=USAGE)
        self.deadletter("burn", code=USAGE)

    def test_letters_are_looked_after_beside_the_running_agent(self):
        for mode in ("memory", "durable"):
            with self.subTest(mode), Server(Bulk(refuse_every(1000))) as server:
                self.look_after_letters(mode, server)

    def look_after_letters(self, mode, server):
        self.write(self.siem(server), spool={"mode": mode}, data_dir=str(self.folder / mode),
                   log={"stats": "0s"})
        config = json.loads(self.config.read_text())
        config["sessions"][0]["follow"] = True
        self.config.write_text(json.dumps(config))
        agent = self.start_agent()
        wait_until(lambda: len(self.letters()) >= EVENTS // 1000)
        shown = json.loads(self.deadletter("show", "2", "--json").stdout)
        self.assertEqual(shown, self.letters()[1])
        self.assertEqual(self.deadletter("purge", "1").stdout, b"1 removed\n")
        server.app.refuse = None
        done = json.loads(self.deadletter("replay", "--json").stdout)
        self.assertEqual(done["delivered"], EVENTS // 1000 - 1)
        self.assertEqual(self.letters(), [])
        self.assertIsNone(agent.poll())
        agent.send_signal(signal.SIGTERM)
        agent.stderr.read()
        self.assertEqual(agent.wait(), LOSSES)  # some were refused
        self.assertEqual(len(self.sequences(server.app.documents())), EVENTS - 1)

    def test_letters_are_sent_again_under_the_id_they_had(self):
        with Server(Bulk(refuse_every(1000))) as server:
            self.write(self.siem(server), log={"stats": "0s"})
            self.run_agent(LOSSES)
            self.assertEqual(len(self.letters()), EVENTS // 1000)
            stores = {index: dict(store) for index, store in server.app.stores.items()}
            # Still refused: they stay.
            server.app.refuse = lambda *_: WRONG_TYPE
            self.deadletter("replay", code=LOSSES)
            self.assertEqual(len(self.letters()), EVENTS // 1000)
            # A server that is not there, or breaks: nothing is gone.
            server.faults = script(Fault(Reply(503)))
            server.app.refuse = None
            self.assertTrue(self.deadletter("replay", code=FAILED).stderr)
            self.assertEqual(len(self.letters()), EVENTS // 1000)
            # The reply is lost: what was stored is found again by its id.
            server.faults = script(Fault(obeyed=True))
            self.deadletter("replay", code=FAILED)
            self.deadletter("replay", "1", "2")
            self.assertEqual(len(self.letters()), EVENTS // 1000 - 2)
            done = self.deadletter("replay", "--json").stdout
            self.assertEqual(json.loads(done), {"output": "siem", "delivered": EVENTS // 1000 - 2,
                                                "refused": 0, "skipped": 0,
                                                "unplaced": 0})
            self.assertEqual(self.letters(), [])
            self.assertEqual(self.sequences(server.app.documents()), set(range(1, EVENTS + 1)))
            for index, store in stores.items():
                self.assertEqual(server.app.stores[index].keys() & store.keys(), store.keys())
                sizes = {len(name) for name in server.app.stores[index]}
                self.assertEqual(sizes, {60})
            self.deadletter("replay", "1", code=FAILED)

    def test_a_letter_without_an_index_of_its_own_goes_to_no_index_that_is_made_up(self):
        with Server(Bulk(refuse_every(1000))) as server:
            self.write(self.siem(server, index="etw-all"), log={"stats": "0s"})
            self.run_agent(LOSSES)
            server.app.refuse = None
            count = len(self.letters())
            self.write(self.siem(server, index="etw-{provider.name}"), log={"stats": "0s"})
            done = self.deadletter("replay", code=LOSSES)
            self.assertIn(b"kept without it: dead letter 1 and %d more." % (count - 1), done.stderr)
            self.assertIn(b"%d without a place" % count, done.stdout)
            self.assertEqual(len(self.letters()), count)
            self.assertEqual(set(server.app.stores), {"etw-all"})
            self.write(self.siem(server, index="etw-all"), log={"stats": "0s"})
            self.deadletter("replay")
            self.assertEqual(self.letters(), [])
            self.assertEqual(set(server.app.stores), {"etw-all"})
            self.assertEqual(self.sequences(server.app.documents()), set(range(1, EVENTS + 1)))

    def test_letters_are_removed_on_demand(self):
        with Server(Bulk(refuse_every(2000))) as server:
            self.write(self.siem(server), log={"stats": "0s"})
            self.run_agent(LOSSES)
        self.assertEqual(self.deadletter("purge", "3", "1").stdout, b"2 removed\n")
        self.assertEqual([letter["id"] for letter in self.letters()], [2, *range(4, 11)])
        self.deadletter("purge", "3", code=FAILED)
        self.deadletter("purge", "-o", "nope", code=USAGE)
        # An output that is taken out of the configuration leaves its letters behind.
        self.config.write_text(self.config.read_text().replace('"siem"', '"new"'))
        self.assertEqual(len(self.letters("-o", "siem")), 8)
        self.assertEqual(self.letters("-o", "new"), [])
        done = self.deadletter("purge", "-o", "siem", "--json")
        self.assertEqual(json.loads(done.stdout), {"removed": 8})
        self.assertIn(b"not in the configuration", done.stderr)
        self.assertEqual(self.letters(), [])
        self.assertEqual(self.deadletter("purge", "-o", "new").stdout, b"0 removed\n")

    def test_without_a_folder_nothing_is_kept_and_that_is_said(self):
        with Server(Bulk(refuse_every(1000))) as server:
            self.write(self.siem(server), spool={"mode": "memory"}, data_dir=None, log={"stats": "0s"})
            config = json.loads(self.config.read_text())
            del config["agent"]["data_dir"]
            self.config.write_text(json.dumps(config))
            told = self.run_agent(LOSSES)
            self.assertIn("rejected events are lost. set agent.data_dir", told)
            gaps = [json.loads(d)["gap"] for d in server.app.documents() if b'"gap":{' in d]
            self.assertEqual(sum(gap["count"] for gap in gaps if gap["reason"] == "rejected"),
                             EVENTS - len(self.sequences(server.app.documents())))
        self.assertIn(b"agent.data_dir is not set", self.deadletter("list", code=USAGE).stderr)

    def test_letters_survive_kills_and_no_event_is_missing(self):
        with Server(Bulk(lambda number, index, name, document: WRONG_TYPE
                         if json.loads(document)["etw"].get("sequence", 1) % 100 == 0 else None)) as server:
            self.write(self.siem(server, batch={"events": 200}), log={"stats": "0s"})
            for requests in (3, 9, 20, 40):
                agent = self.start_agent()
                server.wait_for(lambda n=requests: len(server.posts()) >= n)
                agent.kill()
                agent.wait()
                self.letters()  # readable at any time
            self.run_agent(LOSSES)
            delivered = self.sequences(server.app.documents())
        letters = self.letters()
        refused = {letter["document"]["etw"]["sequence"] for letter in letters
                   if letter["document"]["provider"].get("name") != "etwship"}
        self.assertEqual(refused, set(range(100, EVENTS + 1, 100)))
        names = [letter["document"]["etw"]["sequence"] for letter in letters
                 if letter["document"]["provider"].get("name") != "etwship"]
        self.assertEqual(len(names), len(refused), "a letter is there twice")
        self.assertEqual(delivered | refused, set(range(1, EVENTS + 1)))

    def test_a_full_disk_is_waited_for_and_costs_no_letter(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if not small_disk.mount(self, disk, "size=4m"):
            self.skipTest("cannot mount a small tmpfs here")
        # An agent that was here has left a catalogue: there is room to open that, and for few letters.
        self.write({"name": "local", "type": "file", "path": str(self.folder / "out")},
                   trace=self.make_trace(10), spool={"mode": "memory"}, data_dir=str(disk), log={"stats": "0s"})
        config = json.loads(self.config.read_text())
        config["sessions"][0]["name"] = "another"
        self.config.write_text(json.dumps(config))
        self.run_agent(DONE)
        ballast = disk / "other"
        ballast.write_bytes(bytes(shutil.disk_usage(disk).free - (300 << 10)))
        with Server(Bulk(refuse_every(20))) as server:
            self.write(self.siem(server), spool={"mode": "memory"}, data_dir=str(disk),
                       log={"stats": "0s"})
            agent = self.start_agent()
            told = next((line for line in agent.stderr if b"output siem" in line and NO_ROOM.search(line)), None)
            ballast.unlink()
            rest = agent.stderr.read().decode()
            self.assertIsNotNone(told, rest)
            self.assertEqual(agent.wait(), LOSSES, rest)
            delivered = self.sequences(server.app.documents())
        refused = self.sequences(json.dumps(letter["document"]) for letter in self.letters())
        self.assertEqual(delivered | refused, set(range(1, EVENTS + 1)))
        self.assertFalse(delivered & refused)

    def test_letters_can_be_removed_beside_a_running_agent(self):
        with Server(Bulk(take_one_in(25))) as server:
            self.write(self.siem(server, batch={"events": 50}), log={"stats": "0s"})
            agent = self.start_agent()
            removed = 0
            while agent.poll() is None:
                removed += json.loads(self.deadletter("purge", "--json").stdout)["removed"]
            self.assertEqual(agent.returncode, LOSSES, agent.stderr.read().decode())
            delivered = self.sequences(server.app.documents())
        self.assertGreater(removed, 0)
        self.assertEqual(removed + len(self.letters()) + len(delivered), EVENTS)

    def wait_for_line(self, agent, words):
        lines = []
        for line in agent.stderr:
            lines.append(line.decode())
            if words in lines[-1]:
                return lines[-1]
        self.fail("".join(lines))

    def test_a_mapping_that_refuses_every_event_holds_the_output_until_it_is_mended(self):
        for kind in ("elasticsearch", "http"):
            for mode in ("durable", "memory"):
                with self.subTest(kind=kind, mode=mode):
                    self.hold_output(kind, mode)

    def hold_output(self, kind, mode):
        batch, workers = 500, 2
        if kind == "elasticsearch":
            app, faults, reason, lines = Bulk(lambda *_: WRONG_TYPE), None, "mapper_parsing_exception", 2
        else:
            app, reason, lines = Lines(), "status 422", 1
            faults = lambda request: Fault(Reply(422)) if request.method == "POST" else None  # noqa: E731
        with Server(app, faults, keep_bodies=True) as server:
            output = self.siem(server) if kind == "elasticsearch" else {
                "name": "siem", "type": "http", "url": server.url, "retry": {"min": "10ms", "max": "100ms"}}
            self.write(output | {"batch": {"events": batch}, "workers": workers}, spool={"mode": mode},
                       data_dir=str(self.folder / kind / mode), log={"stats": "0s"})
            agent = self.start_agent()
            self.assertIn(reason, self.wait_for_line(agent, "output siem: degraded: "))
            # The other worker has its say, too; then both ask with one event at a time, again and again.

            def asking():
                asked = collections.Counter(request.connection for request in server.posts()
                                            if 0 < request.data.count(b"\n") <= lines)
                return sum(count >= 10 for count in asked.values())
            server.wait_for(lambda: asking() >= workers)
            letters = len(self.letters())
            self.assertLessEqual(letters, workers * 2 * batch)
            self.assertIsNone(agent.poll())
            app.refuse = server.faults = None
            rest = agent.stderr.read().decode()
            refused = self.sequences(json.dumps(letter["document"]) for letter in self.letters())
            self.assertEqual(agent.wait(), LOSSES if refused else DONE, rest)
            self.assertEqual(rest.count("output siem: delivers again"), 1)
            documents = (app.documents() if kind == "elasticsearch" else
                         [json.dumps(record) for record in app.records])
            delivered = self.sequences(documents)
        # Over HTTP an event is refused for good if the next one is accepted: the last one of each worker may be.
        self.assertIn(len(refused) - letters, range(1 + (workers if kind == "http" else 0)))
        self.assertEqual(delivered | refused, set(range(1, EVENTS + 1)))
        self.assertFalse(delivered & refused)

    def test_a_run_of_two_deliveries_that_are_refused_ends_with_dead_letters(self):
        trace = self.make_trace(800)
        with Server(Bulk(lambda *_: WRONG_TYPE)) as server:
            self.write(self.siem(server, batch={"events": 500}), trace=trace, log={"stats": "0s"})
            self.run_agent(LOSSES)
        self.assertEqual(len(self.letters()), 800)

    def test_a_held_output_gives_up_after_max_age(self):
        with Server(Bulk(lambda *_: WRONG_TYPE)) as server:
            self.write(self.siem(server, workers=1, batch={"events": 350},
                                 retry={"min": "10ms", "max": "20ms", "max_age": "1s"}),
                       trace=self.make_trace(1400), log={"stats": "0s"})
            told = self.run_agent(LOSSES)
        self.assertIn("degraded", told)
        types = [letter["type"] for letter in self.letters()]
        self.assertEqual((types.count("too_old"), len(types)), (700, 1400))

    def test_recorded_events_wait_while_there_is_no_room_for_more_dead_letters(self):
        events = 40000
        long = (*WRONG_TYPE[:2], "failed to parse. " * 150)
        with Server(Bulk(lambda number, *_: None if number % 20 == 0 else long)) as server:
            self.write(self.siem(server), trace=self.make_trace(events), log={"stats": "100ms"})
            agent = self.start_agent()
            told = self.wait_for_line(agent, "degraded: dead letters are full")
            self.assertIn("deadletter purge", told)
            letters = len(self.letters())
            server.app.refuse = None
            removed = json.loads(self.deadletter("purge", "--json").stdout)["removed"]
            self.assertGreaterEqual(removed, letters)
            rest = agent.stderr.read().decode()
            self.assertEqual(agent.wait(), LOSSES, rest)
            self.assertNotIn("oldest", rest)
            delivered = self.sequences(server.app.documents())
            gaps = [d for d in server.app.documents() if b'"gap":{' in d]
        self.assertEqual(gaps, [])
        self.assertEqual(self.letters(), [])
        own = removed + len(delivered) - events  # status events among the letters
        self.assertGreaterEqual(own, 0)
        self.assertLess(own, letters)

    def test_a_wrong_set_up_degrades_the_output_until_it_is_mended(self):
        with Server(Bulk(), lambda request: Fault(Reply(403, {"error": {"type": "security_exception"}}))
                    if request.method == "POST" else None) as server:
            self.write(self.siem(server, workers=2),
                       {"name": "local", "type": "file", "path": str(self.folder / "out")})
            agent = self.start_agent()
            server.wait_for(lambda: len(server.posts()) >= 6)
            told = agent.stderr.readline()
            while b"degraded" not in told:
                told = agent.stderr.readline()
            self.assertIn(b"output siem: degraded: ", told)
            # A status event says so, to whom it may still reach.
            out = self.folder / "out"
            wait_until(lambda: out.exists() and b'"degraded":true' in out.read_bytes())
            server.faults = None
            rest = agent.stderr.read().decode()
            self.assertEqual(agent.wait(), DONE, rest)
            self.assertEqual(rest.count("output siem: delivers again"), 1)
            self.assertEqual(rest.count("output siem: degraded"), 0)
            self.assertEqual(self.sequences(server.app.documents()), set(range(1, EVENTS + 1)))
            self.assertEqual(server.app.twice, 0)
        self.assertEqual(self.letters(), [])

    def test_a_destination_is_left_alone_for_as_long_as_it_asks(self):
        times = []
        faults = script(None, Fault(Reply(429, headers={"Retry-After": "1"})))

        def watch(request):
            times.extend([time.monotonic()] if request.method == "POST" else [])
            return faults(request)

        with Server(Lines(), watch) as server:
            self.write({"name": "hook", "type": "http", "url": server.url, "workers": 1,
                        "batch": {"events": 1000}, "retry": {"min": "10ms", "max": "20ms"}})
            self.run_agent(DONE)
        self.assertGreater(times[2] - times[1], 1)

    def test_an_output_that_hangs_does_not_delay_another(self):
        with Server(Lines(), lambda request: Fault(Reply(200), delay_s=TIMEOUT_S)) as server:
            out = self.folder / "out"
            self.write({"name": "hook", "type": "http", "url": server.url},
                       {"name": "local", "type": "file", "path": str(out)},
                       shutdown="100ms", log={"stats": "0s"})
            agent = self.start_agent()
            wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") >= EVENTS)
            agent.send_signal(signal.SIGTERM)
            agent.stderr.read()
            self.assertEqual(agent.wait(), DONE)  # what waits is for the next run

    def test_memory_stays_in_its_budget_when_every_output_is_down(self):
        for mode, code in (("memory", LOSSES), ("durable", DONE)):
            with self.subTest(mode):
                self.stay_in_budget_with_every_output_down(mode, code)

    def stay_in_budget_with_every_output_down(self, mode, code):
        trace = self.make_trace(400000)
        memory_mb = 72
        dead = f"http://127.0.0.1:{reserve_port(self)}"
        with Server(Lines(), lambda request: Fault(Reply(503))) as server:
            self.write({"name": "a", "type": "http", "url": dead},
                       {"name": "b", "type": "http", "url": server.url, "compression": "gzip"},
                       self.siem(server, format="ecs"),
                       trace=trace, spool={"mode": mode}, memory=f"{memory_mb}MB", shutdown="100ms",
                       log={"stats": "0s"})
            agent = self.start_agent()
            status = Path(f"/proc/{agent.pid}/status")
            if not status.exists():
                self.skipTest("no /proc")
            peak_kb, steady = 0, 0
            while steady < 20:  # until it reads no more
                time.sleep(0.05)
                now = int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])
                steady = steady + 1 if now == peak_kb else 0
                peak_kb = now
            print(f"peak {peak_kb} KB of a budget of {memory_mb * 1024} KB")
            if not SANITIZED:  # shadow memory is not in the budget
                self.assertLess(peak_kb, memory_mb * 1024)
            agent.send_signal(signal.SIGTERM)
            agent.stderr.read()
            self.assertEqual(agent.wait(), code)

    def test_a_trace_that_does_not_fit_into_the_spool_is_read_on_by_the_next_run(self):
        """What was read and found no room is no loss: the agent says nothing of one, also not by its exit code."""
        events = 30000
        with Server(Bulk(), lambda request: Fault(Reply(503))) as server:
            self.write(self.siem(server), trace=self.make_trace(events), shutdown="10ms", log={"stats": "0s"},
                       spool={"mode": "durable", "recorded": "copy", "max_size": "16MB"})
            agent = self.start_agent()
            spool = self.folder / "state" / "spool"
            wait_until(lambda: sum(file.stat().st_size for file in spool.glob("*.seg")) > 12 << 20)
            agent.send_signal(signal.SIGTERM)
            rest = agent.stderr.read().decode()
            self.assertEqual(agent.wait(), DONE, rest)
            self.assertNotIn("could not be written", rest)
            server.faults = None
            self.run_agent(DONE)
            self.assertEqual(self.sequences(server.app.documents()), set(range(1, events + 1)))

    def test_memory_stays_in_its_budget_while_batches_come_and_go(self):
        """The budget also holds in the thousandth batch: holes between blocks must not add up."""
        trace = self.make_trace(150000)
        memory_mb = 64
        replies = Reply(200)
        replies.piece, replies.pause_s = 20, 0.02
        with Server(Lines(replies)) as server:
            self.write({"name": "hook", "type": "http", "url": server.url, "workers": 2},
                       trace=trace, memory=f"{memory_mb}MB", log={"stats": "0s"})
            agent = self.start_agent()
            status = Path(f"/proc/{agent.pid}/status")
            if not status.exists():
                self.skipTest("no /proc")
            peak_kb = 0
            while agent.poll() is None:
                found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
                peak_kb = max(peak_kb, int(found[1])) if found else peak_kb
                time.sleep(0.05)
            self.assertEqual(agent.returncode, DONE, agent.stderr.read().decode())
            self.assertEqual(len(server.app.records), 150000)
        print(f"peak {peak_kb} KB of a budget of {memory_mb * 1024} KB")
        if not SANITIZED:
            self.assertLess(peak_kb, memory_mb * 1024)


if __name__ == "__main__":
    unittest.main(verbosity=2)
