"""`watch`, `record` and `providers` from outside, on a simulated Windows (etwship-sim).

The machine has the sample providers of etlgen registered and installed; their events are replayed
from a trace while a session listens. Whatever ends a command, its session must be stopped: what was
started and stopped stands in a file, and etwship-sim itself ends with 99 if a session is left.
"""

import fcntl
import json
import os
import signal
import struct
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path

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
        world = self.folder / "world"
        world.write_text("schemas sample.man\n" + "".join(line + "\n" for line in statements))
        return dict(os.environ, ETWSIM_WORLD=str(world), ETWSIM_CALLS=str(self.calls_file))

    def providers(self, rate=20000):
        self.generate("manifest")
        return self.environment(f"provider {PROCESS}", f"provider {DNS}",
                                f"emit {PROCESS} manifest.etl rate {rate}")

    def run_sim(self, env, *args):
        return subprocess.run([SIM, *map(str, args)], env=env, capture_output=True, text=True,
                              encoding="utf-8", timeout=TIMEOUT_S, cwd=self.folder, check=False)

    def assert_stopped(self, command):
        """One session was started, under a name of ours, and stopped."""
        lines = [line.split() for line in self.calls_file.read_text().splitlines()]
        started = [name for what, name, code in lines if what == "start" and code == "0"]
        stopped = [name for what, name, code in lines if what == "stop" and code == "0"]
        self.assertEqual(len(started), 1, lines)
        self.assertTrue(started[0].startswith(f"etwship-{command}-"), lines)
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
            for key in ("provider", "event", "process", "data", "message"):
                self.assertEqual(event[key], dumped[event["data"]["Sequence"]][key])

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
        while self.unread(process.stdout) < 60000:  # nobody reads: output is about to be stuck
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        while self.has_pending(process.pid):  # two that are pending are one
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 130)
        self.assertIn("stop etwship-watch-", self.calls_file.read_text())

    def unread(self, pipe):
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]

    def has_pending(self, pid):
        pending = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                   if line.startswith(("SigPnd", "ShdPnd"))]
        return any(int(line.split()[1], 16) for line in pending)

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


if __name__ == "__main__":
    unittest.main()
