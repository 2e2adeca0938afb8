"""What Windows leaves out for rules, on a simulated Windows with manifests: the same events are kept with and
without it, and with it fewer come.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
SIM = os.environ["ETWSHIP_SIM"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under what does not end, no measure.
TIMEOUT_S = 300
PROCESS = "Etwship-Sample-Process"
DNS = "Etwship-Sample-Dns"
EVENTS = 3000

# What is kept; and whether fewer events come for it.
RULES = (
    (f"provider.name == '{PROCESS}' and event.code == 1 and data.SessionID > 0", True),
    (f"provider.name == '{PROCESS}' and data.ImageName contains 'host'c and event.level <= 4", True),
    ("event.keywords has 'PROCESS' and event.code in (2, 3)", True),
    ("data.QueryName endswith 'example' and not event.level == verbose", True),
    ("data.QueryType in (1, 28) or data.SessionID == 1", True),
    ("event.opcode >= 0", False),
)


class PushDown(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        subprocess.run([ETLGEN, "--mix", "manifest", "--events", str(EVENTS), "--metadata", "none",
                        "--manifest", "sample.man", "-o", "manifest.etl"], check=True,
                       cwd=self.folder, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        (self.folder / "world").write_text(
            f"schemas sample.man\nprovider {PROCESS}\nprovider {DNS}\n"
            f"emit {PROCESS} manifest.etl rate 20000 rounds 1\n"
            f"emit {DNS} manifest.etl rate 20000 rounds 1\n")

    def dumped(self, rule):
        done = subprocess.run([BINARY, "dump", "--schema", "sample.man", "--where", rule,
                               "manifest.etl"], check=True, cwd=self.folder, capture_output=True,
                              text=True, encoding="utf-8", timeout=TIMEOUT_S)
        return self.numbers(done.stdout)

    @staticmethod
    def numbers(text):
        """Numbers of the sample providers' events: each provider counts its own."""
        events = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
        return sorted((event["provider"]["name"], event["data"]["Sequence"]) for event in events
                      if event["provider"].get("name", "").startswith("Etwship-Sample"))

    def shipped(self):
        out = self.folder / "out.ndjson"
        return self.numbers(out.read_text(encoding="utf-8")) if out.exists() else []

    def received(self):
        """The number of events that reached the session, as the agent counted them at its end."""
        lines = (self.folder / "out.ndjson").read_text(encoding="utf-8").splitlines()
        events = [event for event in map(json.loads, lines) if "status" in event]
        return events[-1]["status"]["sessions"][0]["received"]

    def run_agent(self, rule, push_down, expected):
        (self.folder / "out.ndjson").unlink(missing_ok=True)
        config = {
            "agent": {"log": {"stats": "100ms"}}, "spool": {"mode": "memory"},
            "schema": [{"type": "folder", "path": "sample.man"}],
            "sessions": [{"name": "live", "type": "realtime", "flush": "100ms",
                          "push_down": push_down, "providers": [PROCESS, DNS]}],
            "filters": [{"keep": rule}, {"drop": "true"}],
            "outputs": [{"type": "file", "path": "out.ndjson"}]}
        (self.folder / "etwship.yaml").write_text(json.dumps(config))
        with open(self.folder / "log", "wb") as log:
            agent = subprocess.Popen([SIM, "run", "-c", "etwship.yaml"], cwd=self.folder,
                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     env=dict(os.environ, ETWSIM_WORLD=str(self.folder / "world")))
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)
            wait_until(lambda: len(self.shipped()) >= len(expected) or agent.poll() is not None,
                       lambda: f"{len(self.shipped())} of {len(expected)}")
            agent.send_signal(signal.SIGTERM)
            self.assertEqual(agent.wait(TIMEOUT_S), 0)

    def test_the_same_is_kept(self):
        for rule, fewer in RULES:
            expected = self.dumped(rule)
            self.assertTrue(0 < len(expected) < EVENTS or "opcode" in rule, rule)
            for push_down in (False, True):
                with self.subTest(rule=rule, push_down=push_down):
                    self.run_agent(rule, push_down, expected)
                    self.assertEqual(self.shipped(), expected)
                    if push_down and fewer:
                        self.assertLess(self.received(), EVENTS / 2)


if __name__ == "__main__":
    unittest.main()
