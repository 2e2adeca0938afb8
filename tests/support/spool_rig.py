"""An agent with a spool on a disk, for the tests that share it."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.scripted_http import Fault, Reply
from support.waiting import text_so_far, wait_until

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 600
EVENTS = 20000
DOWN = Fault(Reply(503))

DONE, FAILED, USAGE, LOSSES = 0, 1, 2, 3


def down(request):
    """What a server does that takes nothing."""
    return DOWN if request.method == "POST" else None


class SpoolRig(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.traces = tempfile.TemporaryDirectory()
        cls.trace = cls.make_trace("a", EVENTS)

    @classmethod
    def tearDownClass(cls):
        cls.traces.cleanup()

    @classmethod
    def make_trace(cls, name, events, *more):
        trace = Path(cls.traces.name) / f"{name}.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), "-o", trace, *more],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        return trace

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "etwship.yaml"
        self.out = self.folder / "out.ndjson"

    def write(self, *outputs, traces=None, agent=None, spool=None, **session):
        self.config.write_text(json.dumps({
            "agent": {"data_dir": str(self.folder / "state"), "log": {"stats": "0s"}} | (agent or {}),
            "spool": {"mode": "durable", "min_free_disk": "1MB", "recorded": "copy",
                      "sync": {"interval": "20ms"}} | (spool or {}),
            "sessions": [{"name": "s", "type": "file",
                          "paths": [str(t) for t in traces or [self.trace]]} | session],
            "outputs": list(outputs)}))

    def siem(self, server, **more):
        return {"name": "siem", "type": "elasticsearch", "hosts": [server.url],
                "batch": {"events": 500}, "retry": {"min": "10ms", "max": "50ms"}} | more

    def local(self, **more):
        return {"name": "local", "type": "file", "path": str(self.out)} | more

    def run_agent(self, code=DONE):
        done = subprocess.run([BINARY, "run", "-c", self.config], stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def start_agent(self, **environment):
        log = tempfile.TemporaryFile()
        self.addCleanup(log.close)
        agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=log,
                                 env=os.environ | environment)
        agent.log = log
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def said(self, agent):
        return text_so_far(agent.log)

    def stop(self, agent, codes=(DONE,)):
        agent.send_signal(signal.SIGTERM)
        self.assertIn(agent.wait(TIMEOUT_S), codes, self.said(agent))

    def spool(self, *arguments, code=DONE):
        done = subprocess.run([BINARY, "spool", *arguments, "-c", self.config], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def stat(self):
        found = json.loads(self.spool("stat", "--json").stdout)
        return found, {output["name"]: output for output in found["outputs"]}

    def wait_until(self, holds):
        wait_until(holds)

    def waits_for(self, output, events):
        """For so many events behind all others, as sources enter in one go."""
        def is_so():
            done = subprocess.run([BINARY, "spool", "stat", "--json", "-c", self.config],
                                  check=False, capture_output=True, timeout=TIMEOUT_S)
            if done.returncode != DONE:
                self.assertIn(b"there is no spool here", done.stderr)
                return False
            return any(row["name"] == output and row["events"] == events
                       for row in json.loads(done.stdout)["outputs"])
        self.wait_until(is_so)

    def assert_each_once(self, documents, events=EVENTS):
        found = [event["etw"]["sequence"] for event in map(json.loads, documents)
                 if event["provider"].get("name") != "etwship"]
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual(set(found), set(range(1, events + 1)))

    def left_behind(self, server):
        """A spool with all events in it, and the agent stopped."""
        self.write(self.siem(server), agent={"shutdown": "50ms"})
        agent = self.start_agent()
        self.waits_for("siem", EVENTS)
        self.stop(agent)
        return self.folder / "state/spool"
