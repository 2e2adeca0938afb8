"""`run` as a service: what a manager that listens on NOTIFY_SOCKET hears, as systemd would.

The manager is this program's own datagram socket; every wait is for a message, and ends with the
program.
"""

import json
import os
import select
import signal
import socket
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
# A net under a program that does not end, no measure.
TIMEOUT_S = 300

DONE, FAILED, USAGE = 0, 1, 2


class ServiceManager(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        self.events = self.folder / "events.ndjson"
        self.name = str(self.folder / "notify")

    def listen(self, name=None):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind("\0" + name[1:] if name else self.name)
        return manager

    def make_trace(self):
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", "500", "-o",
                        str(self.traces / "one.etl")],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    def start(self, follow=True, watchdog_us=None, name=None, watchdog_pid=None, **agent):
        config = {"version": 1, "agent": agent, "spool": {"mode": "memory"},
                  "sessions": [{"name": "s", "type": "file", "follow": follow,
                                "paths": [str(self.traces / "*.etl")]}],
                  "outputs": [{"name": "o", "type": "file", "path": str(self.events)}]}
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(config))  # JSON is YAML
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")}
        environment["NOTIFY_SOCKET"] = name or self.name
        if watchdog_us:
            environment["WATCHDOG_USEC"] = str(watchdog_us)
        command = [BINARY, "run", "-c", str(path)]
        if watchdog_pid == "own":
            command = ["sh", "-c", 'WATCHDOG_PID=$$ exec "$@"', "sh", *command]
        elif watchdog_pid:
            environment["WATCHDOG_PID"] = str(watchdog_pid)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=environment)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def hear(self, manager):
        """The next message, as a mapping."""
        ready, _, _ = select.select([manager], [], [], TIMEOUT_S)
        self.assertTrue(ready, "nothing was heard")
        text = manager.recv(65536)
        self.assertLessEqual(len(text), 4096)
        return dict(line.split("=", 1) for line in text.decode().split("\n"))

    def rest(self, manager, process, code=DONE):
        """All further messages up to the end of the program. They are read all the time: there is room for few, and
        the program does not wait for more."""
        messages = []
        wait_until(lambda: messages.extend(self.unheard(manager)) or process.poll() is not None)
        self.assertEqual(process.returncode, code, process.stderr.read().decode())
        return messages + self.unheard(manager)

    def unheard(self, manager):
        """The messages that wait."""
        messages = []
        while select.select([manager], [], [], 0)[0]:
            messages.append(self.hear(manager))
        return messages

    def test_a_life_is_told_in_order(self):
        manager = self.listen()
        process = self.start(watchdog_us=200_000, watchdog_pid="own", log={"stats": "100ms"})
        self.assertEqual(self.hear(manager).get("READY"), "1")
        # A folder without a trace: the signs of life need no event.
        lives, status = 0, ""
        while lives < 3 or "session s: 0 received" not in status:
            message = self.hear(manager)
            self.assertIn(len(message), (1,), message)
            lives += message.get("WATCHDOG") == "1"
            status = message.get("STATUS", status)
        self.unheard(manager)
        process.send_signal(signal.SIGTERM)
        messages = self.rest(manager, process)
        states = [message for message in messages if not message.keys() & {"WATCHDOG"}]
        stops = [message for message in states if "STOPPING" in message]
        self.assertEqual(len(stops), 1, messages)
        self.assertEqual(stops[0]["STOPPING"], "1")
        # agent.shutdown is 10 s; the manager gives at least that from here on.
        self.assertGreater(int(stops[0]["EXTEND_TIMEOUT_USEC"]), 10_000_000)
        self.assertFalse(any("READY" in message for message in messages), messages)

    def test_a_reload_is_told_from_its_beginning_to_its_end(self):
        manager = self.listen()
        process = self.start(watchdog_us=200_000, log={"stats": 0})
        self.assertEqual(self.hear(manager).get("READY"), "1")
        path = self.folder / "etwship.yaml"
        changes = (lambda text: text, lambda text: text.replace('"name": "o"', '"name": "p"'),
                   lambda text: text + "nonsense")
        for change in changes:
            path.write_text(change(path.read_text()))
            asked_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            process.send_signal(signal.SIGHUP)
            told = []
            while len(told) < 2:
                message = self.hear(manager)
                told += [message] if message.keys() & {"RELOADING", "READY"} else []
            # systemd takes it for an answer to its own request if it is not older.
            self.assertEqual(told[0]["RELOADING"], "1")
            self.assertGreaterEqual(int(told[0]["MONOTONIC_USEC"]), asked_us)
            self.assertEqual(told[1].get("READY"), "1")
        process.send_signal(signal.SIGTERM)
        self.assertEqual([m for m in self.rest(manager, process) if "RELOADING" in m], [])

    def test_a_run_with_an_end_is_a_whole_life(self):
        self.make_trace()
        manager = self.listen()
        process = self.start(follow=False)
        messages = self.rest(manager, process)
        self.assertEqual([next(iter(message)) for message in messages], ["READY", "STOPPING"])
        self.assertEqual(len(self.events.read_text().splitlines()), 500)

    def test_an_abstract_socket_is_heard_on(self):
        name = "@" + self.name
        manager = self.listen(name)
        process = self.start(name=name)
        self.assertEqual(self.hear(manager).get("READY"), "1")
        process.send_signal(signal.SIGTERM)
        self.assertIn("STOPPING", self.rest(manager, process)[0])

    def test_the_watchdog_of_another_process_is_not_fed(self):
        manager = self.listen()
        process = self.start(watchdog_us=1000, watchdog_pid=1, log={"stats": "50ms"})
        self.assertEqual(self.hear(manager).get("READY"), "1")
        for _ in range(5):
            self.assertIn("STATUS", self.hear(manager))
        process.send_signal(signal.SIGTERM)
        messages = self.rest(manager, process)
        self.assertFalse(any("WATCHDOG" in message for message in messages), messages)

    def test_a_start_that_fails_is_never_ready(self):
        manager = self.listen()
        (self.folder / "file").write_text("")
        process = self.start(data_dir=str(self.folder / "file" / "data"))
        messages = self.rest(manager, process, FAILED)
        self.assertEqual(messages, [])

    def fill(self):
        """Leave no room for a message; returns how many fit."""
        filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        filler.setblocking(False)
        count = 0
        with filler:
            try:
                while True:
                    filler.sendto(b"X=1", self.name)
                    count += 1
            except BlockingIOError:
                return count

    def test_a_manager_that_does_not_read_holds_nothing_up(self):
        self.make_trace()
        self.listen()
        self.fill()
        process = self.start(follow=False, watchdog_us=2000)
        process.wait(TIMEOUT_S)
        self.assertEqual(process.returncode, DONE, process.stderr.read().decode())
        self.assertEqual(len(self.events.read_text().splitlines()), 500)

    def test_a_manager_that_was_busy_hears_of_the_start_later(self):
        manager = self.listen()
        filled = self.fill()
        process = self.start(watchdog_us=2000)
        # Room comes a message at a time; the agent may be there before the last is read.
        messages = [self.hear(manager) for _ in range(filled + 1)]
        first = next(message for message in messages if "X" not in message)
        self.assertEqual(first.get("READY"), "1")
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT_S)
        self.assertEqual(process.returncode, DONE, process.stderr.read().decode())

    def test_a_manager_that_is_gone_is_not_missed(self):
        self.make_trace()
        self.listen().close()
        process = self.start(follow=False, watchdog_us=2000)
        process.wait(TIMEOUT_S)
        self.assertEqual(process.returncode, DONE, process.stderr.read().decode())
        self.assertEqual(len(self.events.read_text().splitlines()), 500)


if __name__ == "__main__":
    unittest.main()
