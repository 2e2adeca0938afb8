"""Sessions of `type: eventlog` on a simulated Windows Event Log, from outside: the program is killed, and each record
arrives once; and what `check` and `explain` say. With --full, 300 kills.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.scripted_http import Fault, Lines, Reply, Server  # noqa: E402
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
SIM = os.environ["ETWSHIP_SIM"]
TIMEOUT_S = 120
FULL = "--full" in sys.argv
RECORDS, KILLS = (1000000, 300) if FULL else (20000, 5)

CONFIG = """
version: 1
agent: {data_dir: data}
sessions: [{name: logs, type: eventlog, channels: [Security]}]
outputs: [{name: out, type: file, path: out.ndjson}]
"""

PACK = """etwship-pack 2
provider 54849625-5478-4994-a5ba-3e3b0328c30d "Microsoft-Windows-Security-Auditing"
map "Types" values
  entry 3 "Network"
event manifest 4624 0
  level 4
  task 7 "Logon"
  message "Logon of %1 (%2)."
  field "TargetUserName" UnicodeString
  field "LogonType" UInt32 map "Types"
  field "TargetLogonId" HexInt64
"""


class EventLog(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "c.yaml").write_text(CONFIG)
        self.out = self.folder / "out.ndjson"

    def launch(self, records=RECORDS):
        with open(self.folder / "errors.txt", "wb") as file:
            agent = subprocess.Popen([SIM, "run", "-c", "c.yaml"], cwd=self.folder, stderr=file,
                                     env=os.environ | {"ETWSIM_EVENTLOG": f"Security:{records}"})
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def start(self, records=RECORDS):
        agent = self.launch(records)
        wait_until(lambda: b"spool: events wait in" in (self.folder / "errors.txt").read_bytes(), process=agent)
        return agent

    def size(self):
        return self.out.stat().st_size if self.out.exists() else 0

    def lines(self):
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def test_each_record_comes_once_over_kills(self):
        for _ in range(KILLS):
            before = self.size()
            agent = self.start()
            wait_until(lambda: self.size() > before or self.size() and self.out.read_bytes().count(b"\n") >= RECORDS)
            agent.kill()
            agent.wait()
        agent = self.start()
        wait_until(lambda: self.size() and self.out.read_bytes().count(b"\n") >= RECORDS)
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(TIMEOUT_S), 0)
        events = [line["event"] for line in self.lines()]
        self.assertEqual([event["record_id"] for event in events], list(range(1, RECORDS + 1)))

    def test_in_memory_mode_a_stop_costs_nothing_and_repeats_nothing(self):
        (self.folder / "c.yaml").write_text(CONFIG + "spool: {mode: memory}\n")
        for records in (1, RECORDS):
            agent = self.launch()
            wait_until(lambda n=records: self.size() and self.out.read_bytes().count(b"\n") >= n, process=agent)
            agent.send_signal(signal.SIGTERM)
            self.assertEqual(agent.wait(TIMEOUT_S), 0)
        self.assertEqual([line["event"]["record_id"] for line in self.lines()], list(range(1, RECORDS + 1)))

    def test_the_log_waits_where_the_spool_is_full(self):
        """on_full is for events that do not come again."""
        records = 40000
        is_open = threading.Event()
        server = Server(Lines(), lambda request: None if is_open.is_set() else Fault(Reply(503)))
        self.addCleanup(server.stop)
        (self.folder / "c.yaml").write_text(
            CONFIG.replace("type: file, path: out.ndjson", "type: http, compression: none, retry: {min: 10ms, max: 10ms}, "
                           f"url: '{server.url}'")
            + "spool: {mode: durable, max_size: 16MB, on_full: drop_oldest}\n")
        agent = self.start(records)
        spool = self.folder / "data" / "spool"
        wait_until(lambda: sum(file.stat().st_size for file in spool.iterdir()) > 12 << 20, process=agent)
        tries = len(server.posts()) + 5  # the session has come to the end of the room meanwhile
        server.wait_for(lambda: len(server.posts()) >= tries)
        is_open.set()
        server.wait_for(lambda: len(server.app.records) >= records)
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(TIMEOUT_S), 0)
        self.assertEqual(sorted(event["event"]["record_id"] for event in server.app.records), list(range(1, records + 1)))

    def test_values_have_their_types(self):
        agent = self.start()
        wait_until(lambda: self.size() and b"\n" in self.out.read_bytes())
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(TIMEOUT_S), 0)
        event = self.lines()[0]
        self.assertEqual(event["provider"], {"name": "Microsoft-Windows-Security-Auditing", "kind": "eventlog"})
        self.assertEqual(event["event"]["channel_name"], "Security")
        self.assertEqual(event["data"], {"TargetUserName": "user1", "LogonType": 3, "TargetLogonId": "0x1"})
        self.assertEqual(event["extended"], {"sid": "S-1-5-18"})
        self.assertEqual(event["host"]["name"], "SIM-PC")
        self.assertEqual(event["message"], "An account was logged on.")

    def test_every_shape_has_the_message(self):
        done = self.sim("watch", "--log", "Security", "-n", "1", "-f", "ecs", "--where", "message contains 'logged on'",
                        log="Security:3+")
        event = json.loads(done.stdout)
        self.assertEqual(event["message"], "An account was logged on.")
        self.assertEqual(event["winlog"]["channel"], "Security")
        self.assertNotIn("logged", json.dumps(event["winlog"]))

    def run_channel(self, channel, more="", agent="", seen=lambda lines: True):
        """Read the six events of a channel, until they have come and ${seen} is true."""
        (self.folder / "c.yaml").write_text(CONFIG.replace("[Security]", f"[{channel}]{more}")
                                            .replace("data_dir: data", f"data_dir: data{agent}")
                                            + "schema: [{type: folder, path: schema}]\n")
        errors = self.folder / "errors.txt"
        with open(errors, "wb") as file:
            run = subprocess.Popen([SIM, "run", "-c", "c.yaml"], cwd=self.folder, stderr=file,
                                   env=os.environ | {"ETWSIM_EVENTLOG": f"{channel}:6"})
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)

        def events(lines):
            return [line for line in lines if line["provider"]["kind"] == "eventlog"]

        def has_come():
            text = self.out.read_text() if self.out.exists() else ""
            lines = [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
            return len(events(lines)) == 6 and seen(lines)

        wait_until(has_come, process=run)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(TIMEOUT_S), 0, errors.read_text())
        return next(event for event in events(self.lines()) if event["event"]["code"] == 4624), errors.read_text()

    def add_pack(self):
        (self.folder / "schema").mkdir()
        (self.folder / "schema" / "security.pack").write_text(PACK)

    def test_the_publisher_s_message_goes_before_that_of_a_definition(self):
        self.add_pack()
        event, errors = self.run_channel("Security")
        self.assertEqual(event["message"], "An account was logged on.")
        self.assertEqual(event["data"]["LogonType_name"], "Network")
        self.assertNotIn("no message", errors)

    def test_a_definition_has_the_message_that_no_publisher_has(self):
        self.add_pack()
        event, _ = self.run_channel("Silent")
        self.assertRegex(event["message"], r"^Logon of user\d+ \(Network\)\.$")

    def test_without_messages_there_is_none(self):
        self.add_pack()
        event, errors = self.run_channel("Security", ", messages: false")
        self.assertNotIn("message", event)
        self.assertNotIn("no message", errors)

    def test_a_provider_without_messages_is_named_once_and_its_events_are_counted(self):
        (self.folder / "schema").mkdir()
        (self.folder / "schema" / "other.pack").write_text(PACK.replace("54849625", "54849626"))
        def is_counted(lines):
            return any(line["status"]["sessions"][0].get("without_message") == 6 for line in lines if "status" in line)

        event, errors = self.run_channel("Silent", agent=", log: {stats: 1s}", seen=is_counted)
        self.assertNotIn("message", event)
        self.assertEqual(errors.count("no message"), 1, errors)

    def test_without_an_event_log_the_session_does_not_run(self):
        done = subprocess.run([BINARY, "run", "-c", "c.yaml"], cwd=self.folder, capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("c.yaml:4:31: error: type: 'eventlog' needs Windows", done.stderr)

    def sim(self, *arguments, log=f"Security:{RECORDS}"):
        return subprocess.run([SIM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S,
                              env=os.environ | {"ETWSIM_EVENTLOG": log}, check=False)

    def test_channels_are_listed(self):
        done = self.sim("eventlog", "list", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()], [
            {"name": "Security", "type": "admin", "enabled": True, "readable": True, "records": RECORDS,
             "file_bytes": 69632, "oldest_record": 1, "max_bytes": 20971520},
            {"name": "Simulated/Analytic", "type": "analytic", "enabled": True, "readable": True, "records": 0,
             "file_bytes": 69632, "max_bytes": 20971520},
            {"name": "Simulated/Denied", "type": "operational", "enabled": True, "readable": False,
             "reason": "Windows does not allow it. run as administrator, or as a member of Event Log Readers",
             "max_bytes": 20971520}])
        done = self.sim("eventlog", "list")
        self.assertEqual(done.stdout.splitlines()[1].split(),
                         ["admin", "enabled", str(RECORDS), "1", "68", "Security"])

    def test_watch_shows_what_comes_now(self):
        done = self.sim("watch", "--log", "Sec*", "-n", "2", "--where", "event.code == 4625", log="Security:3+")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
        self.assertEqual([event["code"] for event in events], [4625, 4625])
        self.assertGreater(events[0]["record_id"], 3)

    def test_watch_takes_channels_or_providers(self):
        done = self.sim("watch", "--log", "Security", "-p", "X")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--log excludes --provider", done.stderr)

    def test_mistakes_are_said_at_their_place(self):
        (self.folder / "c.yaml").write_text(CONFIG.replace(
            "[Security]", "[{name: Security, ids: [4624, x], levels: [loud]}]"))
        done = subprocess.run([BINARY, "check", "-c", "c.yaml"], cwd=self.folder, capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("c.yaml:4:81: error: ids: 'x' is not an event id", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[argument for argument in sys.argv if argument != "--full"])
