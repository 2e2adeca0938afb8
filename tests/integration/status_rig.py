"""An agent that is asked how it is: for status.py and prometheus.py."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.ports import reserve_port  # noqa: E402
from support.scripted_http import Bulk, Fault, Server  # noqa: E402
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under what does not end, no measure.
TIMEOUT_S = 300
EVENTS = 500
TOKEN = "0123456789abcdef"
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
AWAY = Fault(early=True)


def always(fault):
    return lambda request: fault if request.method == "POST" else None


def parse(text):
    """(name, labels) -> value."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            key = name, frozenset(LABEL.findall(labels or ""))
            assert key not in found, line
            found[key] = float(value)
    return found


def of(samples, name, **labels):
    """The sum of the metrics with these labels, as PromQL computes it."""
    wanted = set(labels.items())
    return sum(value for (found, have), value in samples.items()
               if found == "etwship_" + name and wanted <= have)


class Rig(unittest.TestCase):
    """An agent with a server to which it ships, and everything that it can be asked for."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        self.store = Bulk()
        self.server = Server(self.store)
        self.addCleanup(lambda: self.server.stopped.is_set() or self.server.stop())
        self.port = reserve_port(self)
        self.path = self.folder / "s"
        self.config = self.folder / "etwship.yaml"
        self.made = 0

    def write(self, status=None, **output):
        self.config.write_text(json.dumps({
            "agent": {"data_dir": str(self.folder / "data"), "log": {"stats": "0s", "level": "debug"}},
            "status": status or {"listen": f"127.0.0.1:{self.port}", "unix": str(self.path)},
            "spool": {"min_free_disk": "1MB"},
            "sessions": [{"name": "traces", "type": "file", "follow": True, "paths": [f"{self.traces}/*.etl"]}],
            "outputs": [{"name": "siem", "type": "elasticsearch", "hosts": [self.server.url], "proxy": "",
                         "retry": {"min": "20ms", "max": "200ms"}} | output]}))

    def start(self):
        log = open(self.folder / "log", "ab")
        self.addCleanup(log.close)
        agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=log)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        wait_until(self.is_ready, self.log, agent)
        return agent

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def is_ready(self):
        try:
            return self.get("/ready")[0] == 200
        except OSError:
            return False

    def add_events(self, count=EVENTS):
        self.made += 1
        made = self.folder / "made.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(count), "-o", made], check=True,
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        made.rename(self.traces / f"{self.made}.etl")

    def get(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        connection.request("GET", path, headers=headers)
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        return reply.status, body

    def metrics(self):
        code, text = self.get("/metrics")
        self.assertEqual(code, 200)
        return parse(text)

    def assert_balanced(self, samples):
        self.assertEqual(of(samples, "conservation_error"), 0)
        self.assertEqual(of(samples, "session_events_total"),
                         sum(of(samples, f"session_{name}_events_total")
                             for name in ("metadata", "joined", "filtered", "accepted", "dropped")))
        self.assertEqual(of(samples, "output_offered_events_total"),
                         sum(of(samples, f"output_{name}_events_total")
                             for name in ("filtered", "rolled_up", "acked", "dead_lettered", "dropped"))
                         + of(samples, "output_pending_events"))

    def etwship(self, *arguments):
        return subprocess.run([BINARY, *arguments, "-c", self.config], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", timeout=TIMEOUT_S, check=False)

    def wait_for_cause(self, agent, name, code):
        def holds():
            self.assert_balanced(self.metrics())
            got, text = self.get("/health")
            return got == code and name in [cause["id"] for cause in json.loads(text)["causes"]]
        wait_until(holds, lambda: self.get("/health")[1] + self.log(), agent, tick_s=0.1)

    def wait_until_healthy(self, agent):
        wait_until(lambda: self.get("/health")[0] == 200, lambda: self.get("/health")[1], agent, tick_s=0.1)
