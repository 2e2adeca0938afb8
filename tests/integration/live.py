"""`watch`, `record`, `providers`, `selftest` and `sessions` from outside, on a simulated Windows.

The machine has the sample providers of etlgen registered and installed; their events are replayed
from a trace while a session listens. Whatever ends a command, its session must be stopped: what was
started and stopped stands in a file, and etwship-sim itself ends with 99 if a session is left.
"""

import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.scripted_http import Bulk, Server  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
SIM = os.environ["ETWSHIP_SIM"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under what does not end, no measure.
TIMEOUT_S = 300
PROCESS = "Etwship-Sample-Process"
DNS = "Etwship-Sample-Dns"


class Machine(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.calls_file = self.folder / "calls"

    def generate(self, mix, events=2000):
        trace = self.folder / f"{mix}.etl"
        subprocess.run([ETLGEN, "--mix", mix, "--events", str(events), "--metadata", "none",
                        "--manifest", self.folder / "sample.man", "-o", trace], check=True,
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        return trace

    def environment(self, *statements):
        if (self.folder / "sample.man").exists():
            statements = ("schemas sample.man", *statements)
        world = self.folder / "world"
        world.write_text("".join(line + "\n" for line in (*statements, "calls calls")))
        return dict(os.environ, ETWSIM_WORLD=str(world))

    def providers(self, rate=20000):
        self.generate("manifest")
        return self.environment(f"provider {PROCESS}", f"provider {DNS}",
                                f"emit {PROCESS} manifest.etl rate {rate}")

    def run_sim(self, env, *args):
        return subprocess.run([SIM, *map(str, args)], env=env, capture_output=True, text=True,
                              encoding="utf-8", timeout=TIMEOUT_S, cwd=self.folder, check=False)

    def assert_stopped(self, command, sessions=1):
        """So many sessions were started with names of ours, and stopped."""
        lines = [line.split() for line in self.calls_file.read_text().splitlines()]
        started = [name for what, name, code in lines if what == "start" and code == "0"]
        stopped = [name for what, name, code in lines if what == "stop" and code == "0"]
        self.assertEqual(len(started), sessions, lines)
        for name in started:
            self.assertTrue(name.startswith(f"etwship-{command}-"), lines)
        self.assertEqual(stopped, started)

    def assert_one_line(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)


class Watch(Machine):
    def test_it_shows_so_many_events_as_were_asked_for(self):
        for count in (1, 7, 500):
            with self.subTest(count=count):
                self.calls_file.unlink(missing_ok=True)
                done = self.run_sim(self.providers(), "watch", "-p", PROCESS, "-n", count)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                events = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual(len(events), count)
                for event in events:
                    self.assertEqual(event["provider"]["name"], PROCESS)
                    self.assertIn(event["event"]["task_name"], ("ProcessStart", "ProcessStop"))
                    self.assertIn("ImageName", event["data"])
                    self.assertNotIn("decode_error", event)
                self.assert_stopped("watch")

    def test_what_it_shows_is_what_a_dump_shows(self):
        env = self.providers()
        done = self.run_sim(env, "watch", "-p", PROCESS, "-n", 300)
        trace = subprocess.run([BINARY, "dump", "-p", PROCESS, "--schema",
                                self.folder / "sample.man", self.folder / "manifest.etl"],
                               capture_output=True, text=True, encoding="utf-8", check=True,
                               timeout=TIMEOUT_S)
        live = [json.loads(line) for line in done.stdout.splitlines()]
        dumped = {event["data"]["Sequence"]: event
                  for event in map(json.loads, trace.stdout.splitlines())}
        self.assertEqual(len(live), 300)
        for event in live:
            recorded = dumped[event["data"]["Sequence"]]
            for key in ("provider", "event", "data", "message"):
                self.assertEqual(event[key], recorded[key])
            # A process of this machine may have the sample's id: then live events know more of it.
            self.assertLessEqual(recorded["process"].items(), event["process"].items())

    def test_only_events_that_pass_are_counted(self):
        done = self.run_sim(self.providers(), "watch", "-p", PROCESS, "-n", 20, "--where",
                            "event.task_name == 'ProcessStop' and data.Sequence > 3")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(events), 20)
        self.assertEqual({event["event"]["code"] for event in events}, {2})

    def test_shapes(self):
        env = self.providers()
        ecs = self.run_sim(env, "watch", "-p", PROCESS, "-n", 3, "--format", "ecs")
        self.assertTrue(all("winlog" in json.loads(line) for line in ecs.stdout.splitlines()))
        self.assertEqual(ecs.stdout.count("\n"), 3)
        pretty = self.run_sim(env, "watch", "-p", PROCESS, "-n", 3, "--pretty")
        self.assertEqual(pretty.stdout.count("ImageName"), 3)

    def test_kernel_events(self):
        self.generate("kernel")
        env = self.environment("emit * kernel.etl rate 20000")
        done = self.run_sim(env, "watch", "-k", "process", "-k", "image_load", "-n", 30)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {json.loads(line)["event"]["name"].split("/")[0]
                 for line in done.stdout.splitlines()}
        self.assertTrue(names <= {"Process", "Image", "StackWalk"}, names)
        self.assert_stopped("watch")

    def test_a_duration_ends_it(self):
        done = self.run_sim(self.providers(), "watch", "-p", DNS, "--duration", "300ms")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assert_stopped("watch")

    def start(self, env, *args):
        process = subprocess.Popen([SIM, *args], env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def test_ctrl_c_ends_it_in_good_order(self):
        process = self.start(self.providers(200), "watch", "-p", PROCESS)
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, errors), (0, b""))
        self.assertTrue(rest == b"" or rest.endswith(b"}\n"))
        self.assert_stopped("watch")

    def test_a_reader_that_goes_ends_it(self):
        process = self.start(self.providers(), "watch", "-p", PROCESS)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0)
        self.assertEqual(process.stderr.read(), b"")
        self.assert_stopped("watch")

    def test_a_second_signal_stops_the_session_too(self):
        process = self.start(self.providers(100000), "watch", "-p", PROCESS)
        while self.unread(process.stdout) < 60000:  # no program reads: output is about to be stuck
            self.assertIsNone(process.poll())
        deadline = time.monotonic() + TIMEOUT_S
        while process.poll() is None:  # those that come soon after the first are part of it
            self.assertLess(time.monotonic(), deadline)
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        self.assertEqual(process.returncode, 130)
        self.assertIn("stop etwship-watch-", self.calls_file.read_text())

    def unread(self, pipe):
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


    def test_refusals_are_one_line(self):
        self.providers()
        no_rights = self.environment("not_administrator", f"provider {PROCESS}")
        done = self.run_sim(no_rights, "watch", "-p", PROCESS)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("administrator", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_mistakes(self):
        env = self.providers()
        for args, words in (
                ((), ("--provider", "missing")),
                (("-p", "A:x:y:z"), ()),
                (("-k", "proces"), ("'proces'", "process")),
                (("-p", PROCESS, "--format", "xml"), ("xml",)),
                (("-p", PROCESS, "-n", "0"), ()),
                (("-p", PROCESS, "--duration", "5"), ("--duration",)),
                (("-p", PROCESS, "--schema", "nothing.man"), ("nothing.man",)),
        ):
            with self.subTest(args=args):
                self.assert_one_line(self.run_sim(env, "watch", *args), 2, *words)
        done = self.run_sim(env, "watch", "-p", PROCESS, "--where", "event.level <")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertFalse(self.calls_file.exists())

    def test_names_may_hold_anything(self):
        env = self.providers()
        for name in ("${HOME}", '"', "$${x}", "\\", "{a}", "ü", "[", "#"):
            with self.subTest(name=name):
                done = self.run_sim(env, "watch", "-p", PROCESS, "-n", 1, "--where",
                                    f"not provider.name == '{name}'")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout.count("\n"), 1)

    def test_a_system_without_etw_says_so(self):
        for command in (["watch", "-p", "A"], ["record", "-p", "A", "-o", "x.etl"]):
            done = subprocess.run([BINARY, *command], capture_output=True, text=True, check=False,
                                  timeout=TIMEOUT_S, cwd=self.folder)
            self.assert_one_line(done, 1, command[0], "no Event Tracing for Windows")


class Providers(Machine):
    def test_what_is_installed_and_what_is_registered(self):
        self.generate("manifest")
        env = self.environment(f"provider {PROCESS}", "provider Contoso.Telemetry kind tracelogging")
        text = self.run_sim(env, "providers")
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        done = self.run_sim(env, "providers", "--json")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(rows), text.stdout.count("\n"))
        named = {row.get("name"): row for row in rows}
        self.assertEqual((named[PROCESS]["kind"], named[PROCESS]["registered"]), ("manifest", True))
        self.assertEqual((named[DNS]["kind"], named[DNS]["registered"]), ("manifest", False))
        # Nobody knows its name, but that it is there.
        nameless = [row for row in rows if "name" not in row]
        self.assertEqual(len(nameless), 1)
        self.assertTrue(nameless[0]["registered"])
        self.assertNotIn("kind", nameless[0])
        found = self.run_sim(env, "providers", "--json", "Contoso.Telemetry")
        self.assertEqual(json.loads(found.stdout)["guid"], nameless[0]["guid"])

    def test_one_of_them(self):
        env = self.providers()
        shown = json.loads(self.run_sim(env, "providers", "--json", PROCESS.lower()).stdout)
        self.assertEqual(shown["name"], PROCESS)
        self.assertIn({"name": "PROCESS", "value": "0x10"}, shown["keywords"])
        self.assertIn({"name": "Information", "value": 4}, shown["levels"])
        self.assertIn({"name": "ProcessStop", "value": 2}, shown["tasks"])
        self.assertIn({"name": "Stop", "value": 2, "task": 2}, shown["opcodes"])
        self.assertIn({"name": PROCESS + "/Analytic", "value": 16}, shown["channels"])
        self.assertEqual([event["code"] for event in shown["events"]], [1, 2])
        self.assertEqual(shown["event_count"], 2)
        by_guid = self.run_sim(env, "providers", "--json", shown["guid"])
        self.assertEqual(json.loads(by_guid.stdout), shown)
        text = self.run_sim(env, "providers", PROCESS).stdout
        for word in ("keywords", "0x10  PROCESS", "ImageName: UnicodeString"):
            self.assertIn(word, text)
        self.assert_one_line(self.run_sim(env, "providers", "Nobody"), 1, "'Nobody'")

    def test_an_exported_pack_decodes_as_the_manifest_does(self):
        env = self.providers()
        done = self.run_sim(env, "schema", "export", "-o", "registered.pack")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        texts = []
        for schema in ("sample.man", "registered.pack"):
            dump = subprocess.run([BINARY, "dump", "--strict", "--schema", schema, "manifest.etl"],
                                  capture_output=True, text=True, encoding="utf-8",
                                  cwd=self.folder, timeout=TIMEOUT_S, check=False)
            self.assertEqual((dump.returncode, dump.stderr), (0, ""))
            events = [json.loads(line) for line in dump.stdout.splitlines()]
            for event in events:
                del event["agent"]
            texts.append(events)
        self.assertTrue(texts[0])
        self.assertEqual(texts[0], texts[1])


SELFTEST_PROBE_SESSIONS = 7  # of the probes: heap and groups are both of `block`


class Selftest(Machine):
    def test_a_sound_machine(self):
        done = self.run_sim(self.environment("processors 4"), "selftest", "--rate", 2000, "--duration",
                            "1s", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        self.assertTrue(report["ok"])
        self.assertEqual(report["lost"], [])
        self.assertEqual((report["missing"], report["refused"]), (0, 0))
        self.assertEqual([kind["kind"] for kind in report["kinds"]],
                         ["tracelogging", "manifest", "mof", "wpp"])
        for kind in report["kinds"]:
            self.assertTrue(0 < kind["written"] <= 500)  # fewer where the machine is busy
            self.assertEqual(kind["received"], kind["written"])
            self.assertEqual((kind["wrong"], kind["out_of_order"]), (0, 0))
        self.assertEqual([(probe["name"], probe["outcome"]) for probe in report["probes"]],
                         [(name, "as_expected") for name in ("keywords", "block", "update", "names")]
                         + [("waiting", "unknown"),  # the simulator calls back within the call
                            ("known", "as_expected"),
                            ("revocation", "unknown")],  # Linux has no chains, Wine says it elsewhere
                         report)
        latency = report["latency_ms"]
        self.assertTrue(0 < latency["p50"] <= latency["p99"] <= latency["max"])
        self.assert_stopped("selftest", 1 + SELFTEST_PROBE_SESSIONS)

    def test_a_table_for_people(self):
        done = self.run_sim(self.environment(), "selftest", "--rate", 400, "--duration", "500ms")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("TraceLogging", "manifest", "classic", "message", "latency", "names          as expected: ",
                     "every check has passed"):
            self.assertIn(word, done.stdout)

    def test_what_is_too_much_is_lost_and_counted(self):
        done = self.run_sim(self.environment("logger 2000"), "selftest", "--rate", 1000000,
                            "--duration", "2s", "--json")
        report = json.loads(done.stdout)
        lost = sum(loss["count"] for loss in report["lost"] if loss["unit"] == "events")
        buffers = sum(loss["count"] for loss in report["lost"] if loss["unit"] == "buffers")
        # A slow machine does not write so much that anything is lost.
        self.assertEqual(done.returncode, 3 if report["lost"] else 0, report)
        self.assertEqual(report["ok"], not report["lost"])
        self.assertEqual(sum(kind["written"] for kind in report["kinds"]),
                         sum(kind["received"] for kind in report["kinds"]) + lost
                         + report["missing"])
        self.assertTrue(buffers or not report["missing"], report)
        for kind in report["kinds"]:
            self.assertEqual((kind["wrong"], kind["out_of_order"]), (0, 0))
        self.assert_stopped("selftest", 1 + SELFTEST_PROBE_SESSIONS)

    def test_what_keeps_it_from_running_is_one_line(self):
        done = self.run_sim(self.environment("not_administrator"), "selftest")
        self.assert_one_line(done, 1, "administrator")
        self.assert_one_line(self.run_sim(self.environment(), "selftest", "--rate", "0"), 2)
        self.assert_one_line(self.run_sim(self.environment(), "selftest", "--duration", "5"), 2)
        done = subprocess.run([BINARY, "selftest"], capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S)
        self.assert_one_line(done, 1, "no Event Tracing for Windows")


class Record(Machine):
    def test_the_file_holds_what_was_written(self):
        env = self.providers()
        done = self.run_sim(env, "record", "-p", PROCESS, "-o", "out.etl", "--duration", "1s")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assert_stopped("record")
        dump = subprocess.run([BINARY, "dump", "--strict", "--schema", "sample.man", "out.etl"],
                              capture_output=True, text=True, encoding="utf-8", cwd=self.folder,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual((dump.returncode, dump.stderr), (0, ""))
        events = [json.loads(line) for line in dump.stdout.splitlines()]
        self.assertTrue(events)
        self.assertEqual({event["provider"]["name"] for event in events}, {PROCESS})

    def test_ctrl_c_ends_it(self):
        process = subprocess.Popen([SIM, "record", "-p", PROCESS, "-o", "out.etl"],
                                   env=self.providers(), cwd=self.folder)
        while not (self.calls_file.exists() and "start" in self.calls_file.read_text()):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0)
        self.assert_stopped("record")
        self.assertTrue((self.folder / "out.etl").exists())

    def test_mistakes(self):
        env = self.providers()
        self.assert_one_line(self.run_sim(env, "record", "-p", PROCESS), 2, "--output")
        self.assert_one_line(self.run_sim(env, "record", "-o", "x.etl"), 2, "--provider")
        done = self.run_sim(env, "record", "-p", PROCESS, "-o", "missing/x.etl")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Run(Machine):
    """`run` with sessions of every type."""

    def run_config(self, env, session, *args):
        (self.folder / "out.ndjson").unlink(missing_ok=True)
        (self.folder / "etwship.yaml").write_text(
            "agent: {data_dir: data, log: {stats: 0}}\n"
            "spool: {min_free_disk: 1MB}\n"
            f"sessions: [{{name: live, {session}}}]\n"
            "outputs: [{type: file, path: out.ndjson}]\n")
        done = self.run_sim(env, "run", "-c", "etwship.yaml", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        out = self.folder / "out.ndjson"
        lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
        return [event for event in map(json.loads, lines) if "gap" not in event]

    def calls(self):
        lines = [line.rsplit(" ", 1) for line in self.calls_file.read_text().splitlines()]
        self.calls_file.unlink()
        return [call for call, code in lines if code == "0"]

    def test_a_real_time_session(self):
        events = self.run_config(self.providers(), f"type: realtime, providers: [{PROCESS}]",
                                 "-n", 200)
        self.assertEqual(len(events), 200)
        self.assertEqual({event["provider"]["name"] for event in events}, {PROCESS})
        self.assertEqual({event["etw"]["session"] for event in events}, {"live"})
        self.assertTrue(all("ImageName" in event["data"] for event in events))
        self.assertEqual(self.calls(), ["start etwship-live", "stop etwship-live"])

    def test_the_oldest_dead_letters_of_live_events_make_room_and_are_counted(self):
        """A live session cannot wait until there is room."""
        events = 40000
        wrong = (400, "mapper_parsing_exception", "no number " * 250)

        def refuse(number, _index, _name, document):  # gaps come alone where letters are slow: the last ones would wait
            return None if number % 20 == 0 or b'"gap":{' in document else wrong
        with Server(Bulk(refuse)) as server:
            (self.folder / "etwship.yaml").write_text(
                "agent: {data_dir: data, memory: 1GB, log: {stats: 0}}\n"
                "spool: {min_free_disk: 1MB}\n"
                f"sessions: [{{name: live, type: realtime, providers: [{PROCESS}]}}]\n"
                f"outputs: [{{name: siem, type: elasticsearch, hosts: ['{server.url}']}},\n"
                "  {name: local, type: file, path: out.ndjson}]\n")
            done = self.run_sim(self.providers(), "run", "-c", "etwship.yaml", "-n", events)
            self.assertEqual(done.returncode, 3, done.stderr)
            delivered = sum(b'"gap":{' not in document for document in server.app.documents())
            server.app.refuse = None  # what is not told yet is told by the next run
            again = self.run_sim(self.providers(), "run", "-c", "etwship.yaml", "-n", 1)
            self.assertEqual(again.returncode, 0, again.stderr)
        listed = subprocess.run([BINARY, "deadletter", "list", "--json", "-c", "etwship.yaml"],
                                cwd=self.folder, capture_output=True, check=True, timeout=TIMEOUT_S)
        left = len(listed.stdout.splitlines())
        gaps = [event["gap"] for event in map(json.loads, (self.folder / "out.ndjson").read_bytes().splitlines())
                if "gap" in event]
        # On a busy machine some find no room in the queue.
        dropped = sum(gap["count"] for gap in gaps if gap["stage"] == "queue" and gap["unit"] == "events")
        lost = events - delivered - left - dropped
        self.assertGreater(lost, 1000)
        told = re.search(r"^(\d+) refused events are lost: there was no room", done.stderr, re.M)
        self.assertEqual(int(told[1]), lost)
        # The log tells totals.
        lines = re.findall(r"the oldest are removed: (\d+) events are lost so far", done.stderr)
        self.assertLessEqual(len(lines), 6)
        self.assertEqual(sorted(map(int, lines)), list(map(int, lines)))
        gaps = [gap for gap in gaps if gap["reason"] == "dead_letters_full"]
        self.assertEqual({(gap["stage"], gap["unit"], gap["output"], gap["exact"]) for gap in gaps},
                         {("output", "events", "siem", True)})
        self.assertEqual(sum(gap["count"] for gap in gaps), int(told[1]))

    def test_kernel_sessions(self):
        self.generate("kernel")
        env = self.environment("emit * kernel.etl rate 20000")
        for kind, name in (("kernel", "NT Kernel Logger"), ("system", "etwship-live")):
            with self.subTest(kind=kind):
                events = self.run_config(env, f"type: {kind}, flags: [process]", "-n", 20)
                self.assertEqual(len(events), 20)
                names = {event["event"]["name"].split("/")[0] for event in events}
                self.assertTrue(names <= {"Process", "StackWalk"}, names)
                self.assertEqual(self.calls(), [f"start {name}", f"stop {name}"])

    # A program that ends at once.
    program = BINARY

    def launch(self, more=""):
        return f"type: heap, launch: '\"{self.program}\" version'{more}"

    def left_in_the_registry(self):
        return (self.folder / "registry").read_text()

    def test_the_heaps_of_a_program_from_its_start_to_its_end(self):
        env = dict(self.environment("heaps 50"), ETWSIM_REGISTRY=str(self.folder / "registry"))
        events = self.run_config(env, self.launch(", stacks: [alloc, realloc]"))
        self.assertEqual(len(events), 50)
        for event in events:
            self.assertEqual(event["event"]["name"], "Heap/Alloc")
            self.assertEqual(event["event"]["class_guid"], "222962ab-6180-4b88-a825-346b75f2a24a")
            self.assertEqual((event["data"]["HeapHandle"], event["data"]["AllocSize"],
                              event["data"]["SourceId"]), ("0x1f0000", "0x40", 3))
            self.assertEqual(event["extended"]["stack"],
                             ["0xfffff80012345678", "0x7ff812345678"])
            self.assertEqual(event["process"]["pid"], events[0]["process"]["pid"])
        self.assertEqual(self.calls(), ["start etwship-live", "stop etwship-live"])
        self.assertNotIn("TracingFlags", self.left_in_the_registry())
        self.assertFalse((self.folder / "data" / "etw-live.launched").exists())

    def test_without_stacks_heaps_have_none(self):
        events = self.run_config(self.environment("heaps 3"), self.launch())
        self.assertEqual([event.get("extended") for event in events], [None] * 3)

    def test_what_keeps_heaps_from_being_traced_is_said(self):
        for session, code, words in (
                ("pids: [0x7ffffff0]", 1, "pids: none of the processes is running"),
                ("launch: '/no/such/app.exe'", 1, "launch: /no/such/app.exe: cannot be started"),
                ("pids: [4, 5], launch: '/a/b.exe'", 2, "remove launch, or pids and processes")):
            with self.subTest(session=session):
                (self.folder / "etwship.yaml").write_text(
                    f"sessions: [{{type: heap, {session}}}]\noutputs: [{{type: stdout}}]\n")
                done = self.run_sim(self.environment(), "run", "-c", "etwship.yaml")
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stderr)

    def start_heap(self, env):
        """Start an agent that launches a waiting program; returns its messages, and the program's pid."""
        agent = subprocess.Popen([SIM, "run", "-c", "etwship.yaml"], env=env, cwd=self.folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.stderr.close)
        self.addCleanup(agent.kill)
        said = ""
        while found := agent.stderr.readline():
            said += found
            if number := re.search(r"sleep, process (\d+)", found):
                return agent, said, int(number.group(1))
        self.fail(said)

    def test_a_killed_agent_leaves_a_program_that_the_next_one_goes_on_with(self):
        (self.folder / "etwship.yaml").write_text(
            "agent: {data_dir: data, log: {stats: 0}}\nspool: {min_free_disk: 1MB}\n"
            "sessions: [{name: live, type: heap, launch: '/bin/sleep 600', on_stop: end}]\n"
            "outputs: [{type: file, path: out.ndjson}]\n")
        registry = self.folder / "registry"
        env = dict(self.environment(), ETWSIM_REGISTRY=str(registry))
        agent, _, program = self.start_heap(env)
        self.addCleanup(self.end, program)
        agent.kill()
        agent.wait()
        self.assertIn("\tTracingFlags\t", registry.read_text())
        agent, said, again = self.start_heap(env)
        self.assertEqual(again, program)
        self.assertIn("restored TracingFlags of sleep", said)
        self.assertIn(", launched by an earlier run", said)
        self.assertNotIn("\tTracingFlags\t", registry.read_text())
        agent.terminate()
        self.assertIn("ended sleep, as on_stop says", agent.stderr.read())
        self.assertEqual(agent.wait(TIMEOUT_S), 0)
        self.assertFalse(self.runs(program))

    @staticmethod
    def runs(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def end(self, pid):
        if self.runs(pid) and Path(f"/proc/{pid}/exe").resolve().name in ("sleep", "coreutils"):
            os.kill(pid, signal.SIGKILL)

    def recorded(self, name):
        dump = subprocess.run([BINARY, "dump", "--strict", "--schema", "sample.man", name],
                              capture_output=True, text=True, encoding="utf-8", cwd=self.folder,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual((dump.returncode, dump.stderr), (0, ""), name)
        events = [json.loads(line) for line in dump.stdout.splitlines()]
        self.assertEqual({event["provider"]["name"] for event in events}, {PROCESS}, name)
        return len(events)

    def record(self, env, log_file, enough, more=""):
        """Record until it is `enough()`, each time for longer: a busy machine with a slow disk begins late, and
        writes less in a second."""
        for duration in ("1s", "4s", "16s"):
            events = self.run_config(
                env, f"type: record, providers: [{PROCESS}], log_file: {{{log_file}}}{more}",
                "--duration", duration)
            self.assertEqual(events, [])
            calls = self.calls() if self.calls_file.exists() else []
            if calls:
                self.assertEqual(calls, ["start etwship-live", "stop etwship-live"])
                if enough():
                    return
        self.fail("too little is recorded")

    def test_files_of_every_mode_are_written_by_etw(self):
        env = self.providers(rate=2000)  # none of them is full after 16 s
        for mode in ("mode: sequential", "mode: sequential, preallocate: true, max_size: 8MB",
                     "mode: circular, max_size: 1MB", "mode: buffering, max_size: 4MB"):
            with self.subTest(mode=mode):
                self.record(env, f"path: one.etl, {mode}", lambda: self.recorded("one.etl") > 0)
                self.assertLessEqual((self.folder / "one.etl").stat().st_size, 8 << 20)
                if "circular" in mode:
                    self.assertLessEqual((self.folder / "one.etl").stat().st_size, 1 << 20)
                (self.folder / "one.etl").unlink()

    def test_a_new_file_begins_where_one_is_full(self):
        def parts():
            return list(self.folder.glob("part*.etl"))
        self.record(self.providers(), "path: 'part%d.etl', mode: newfile, max_size: 1MB", lambda: len(parts()) > 1)
        for part in parts():
            self.assertLessEqual(part.stat().st_size, 1 << 20)
            self.recorded(part.name)

    def test_a_file_goes_on_in_the_next_run(self):
        env = self.providers()
        log_file = "path: more.etl, mode: append"
        before = 0
        for _ in range(2):
            self.record(env, log_file, lambda before=before: self.recorded("more.etl") > before, ", clock: system")
            before = self.recorded("more.etl")


class Sessions(Machine):
    """`sessions` on a machine with some running sessions; each command finds all of them unchanged."""

    THREE = ('session "NT Kernel Logger" guid 9e814aad-3204-11d2-9a82-006008a86939 flags 3',
             "session etwship-left mode 0x100 buffer 256 clock 2",
             "session Foreign mode 0x8000100")

    def machine(self, *statements):
        self.generate("manifest", 1)
        return self.environment(*statements)

    def stopped(self):
        if not self.calls_file.exists():
            return []
        lines = self.calls_file.read_text().splitlines()
        return [line.rsplit(" ", 1)[0][len("stop "):] for line in lines]

    def listed(self, env, *args):
        done = self.run_sim(env, "sessions", *args, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}

    def test_a_list_has_everybodys_sessions_for_people_and_programs(self):
        env = self.machine(*self.THREE)
        rows = self.listed(env, "list")
        self.assertEqual(set(rows), {"NT Kernel Logger", "etwship-left", "Foreign"})
        kernel, left = rows["NT Kernel Logger"], rows["etwship-left"]
        self.assertEqual(kernel["guid"], "9e814aad-3204-11d2-9a82-006008a86939")
        self.assertEqual(kernel["kernel_flags"], "0x3")
        self.assertEqual((left["owner"], left["orphan"]), ("etwship", True))
        self.assertEqual((left["buffer_kb"], left["clock"]), (256, "system"))
        self.assertEqual(rows["Foreign"]["mode_name"], ["real_time", "independent"])
        self.assertNotIn("owner", rows["Foreign"])
        for row in rows.values():
            for key in ("buffers", "free_buffers", "buffers_written", "events_lost",
                        "log_buffers_lost", "real_time_buffers_lost"):
                self.assertIsInstance(row[key], int)
        table = self.run_sim(env, "sessions", "list").stdout.splitlines()
        self.assertEqual(len(table), 4)
        column = table[0].index("Owner")
        self.assertEqual([line[column:] for line in table[1:]].count("etwship, orphan"), 1)

    def test_as_many_sessions_as_a_machine_can_run_are_all_listed(self):
        env = self.machine(*(f"session S{n}" for n in range(64)))
        self.assertEqual(len(self.listed(env, "list")), 64)

    def test_one_session_is_asked_whatever_the_case_of_its_name(self):
        env = self.machine(*self.THREE)
        self.assertEqual(list(self.listed(env, "query", "FOREIGN")), ["Foreign"])
        self.assert_one_line(self.run_sim(env, "sessions", "query", "nobody"), 1, "nobody")

    def test_what_can_be_changed_is_changed(self):
        env = self.machine(*self.THREE)
        row = self.listed(env, "update", "Foreign", "--max-buffers", 99, "--flush-timer",
                          "3s")["Foreign"]
        self.assertEqual((row["max_buffers"], row["flush_ms"]), (99, 3000))
        row = self.listed(env, "update", "NT Kernel Logger", "-k", "disk_io")["NT Kernel Logger"]
        self.assertEqual(row["kernel_flags"], "0x103")
        self.assert_one_line(self.run_sim(env, "sessions", "update", "Foreign", "-k", "disk_io"),
                             1, "Foreign", "kernel")

    def test_only_what_is_named_is_stopped(self):
        env = self.machine(*self.THREE)
        row = self.listed(env, "stop", "Foreign")["Foreign"]
        self.assertTrue(row["stopped"])
        self.assertEqual(self.stopped(), ["Foreign"])

    def test_orphans_are_stopped_and_nothing_else(self):
        env = self.machine(*self.THREE, "session Etwship-2", "session my-etwship-3")
        done = self.run_sim(env, "sessions", "stop", "--orphans")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(self.stopped()), ["Etwship-2", "etwship-left"])

    def test_what_is_refused_is_explained(self):
        env = self.machine("session etwship-left", "not_administrator")
        self.assert_one_line(self.run_sim(env, "sessions", "stop", "etwship-left"), 1,
                             "run as administrator")
        env = self.machine("session EventLog-Security control_error 5")
        self.assert_one_line(self.run_sim(env, "sessions", "query", "EventLog-Security"), 1,
                             "EventLog-Security", "run as administrator")


if __name__ == "__main__":
    unittest.main()
