"""An agent with an output of type kafka, and a broker that all tests share. ETWSHIP_EVENTS and ETWSHIP_KILLS are other
numbers."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2])]
from broker import Broker, Running
from support.waiting import wait_until

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TOOL = os.environ["ETWSHIP_KAFKA_TOOL"]
FULL = "--full" in sys.argv
EVENTS = int(os.environ.get("ETWSHIP_EVENTS", 200000 if FULL else 10000))
KILLS = int(os.environ.get("ETWSHIP_KILLS", 300 if FULL else 3))
BROKER_KILLS = 20 if FULL else 1
# A net under what does not end, no measure.
TIMEOUT_S = 900
LOGIN = {"mechanism": "PLAIN", "user": "agent", "password": "agent-secret"}

SEQUENCE = re.compile(r'"etw":\{[^}]*"sequence":(\d+)')
FILE = re.compile(r'/(\d+)\.etl"')
Message = collections.namedtuple("Message", "partition key id value")
shared = {}


def the_broker():
    if "broker" not in shared:
        shared["broker"] = Broker()
    return shared["broker"]


def close_broker():
    if "broker" in shared:
        shared.pop("broker").close()


def sequence_of(message):
    """The number of an event among those of all traces; None: it is one of the agent's own."""
    found = SEQUENCE.search(message.value)
    file = FILE.search(message.value)
    number = int(found[1]) + (int(file[1]) * 10**9 if file else 0) if found else None
    return number if '"kind":"agent"' not in message.value else None


class Rig(unittest.TestCase):
    events = EVENTS  # in `trace`

    @classmethod
    def setUpClass(cls):
        cls.broker = the_broker()
        traces = tempfile.TemporaryDirectory()
        cls.addClassCleanup(traces.cleanup)
        cls.trace = Path(traces.name) / "t.etl"
        cls.make(cls.trace, cls.events)

    @staticmethod
    def make(path, events, seed=1):
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), "--seed", str(seed), "-o", str(path)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.topic = "t-" + self.id().split(".")[-1][:40].replace("_", "-")

    def tool(self, *arguments):
        done = subprocess.run([TOOL, self.broker.address, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def messages(self, topic=None):
        return [Message(*line.split(" ", 3)) for line in self.tool("read", topic or self.topic).splitlines()]

    def write(self, address=None, session=None, **more):
        output = {"name": "kafka", "type": "kafka", "brokers": [address or self.broker.address], "topic": self.topic,
                  "transport": "tcp", "timeout": "10s", "retry": {"min": "50ms", "max": "500ms"},
                  "batch": {"events": 500}} | more
        self.config = self.folder / "c.json"
        self.config.write_text(json.dumps({
            "agent": {"data_dir": str(self.folder / "state")},
            "status": {"unix": str(self.folder / "s")},
            "spool": {"min_free_disk": "1MB"},
            "sessions": [{"name": "f", "type": "file", "paths": [str(self.trace)]} | (session or {})],
            "outputs": [output]}))

    def start(self):
        return Running([BINARY, "run", "-c", self.config])

    def finish(self, agent):
        self.assertEqual(agent.wait(TIMEOUT_S), 0, agent.text[-3000:])

    def etwship(self, *arguments):
        done = subprocess.run([BINARY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False, text=True)
        self.assertIn(done.returncode, (0, 3), done.stdout)
        return done.stdout

    def status(self):
        """Of the output."""
        done = subprocess.run([BINARY, "status", "--json", "-c", self.config], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        outputs = json.loads(done.stdout).get("outputs") if done.stdout else None
        return outputs[0] if outputs else {}

    def wait_for(self, agent, holds):
        """Until the output's status `holds`."""
        seen = {}

        def look():
            seen.update(self.status())
            return seen and holds(seen)

        wait_until(look, lambda: f"{seen}\n{agent.text[-3000:]}", agent.process, tick_s=0.1)
        return seen

    def assert_each_once(self, messages, expected=None):
        """Each event of the trace; of `expected` sequences alone, if that is not None."""
        seen = collections.Counter()
        last = {}
        for message in messages:
            number = sequence_of(message)
            if number is not None:
                seen[number] += 1
                place = message.partition, message.key
                self.assertGreater(number, last.get(place, -1), "out of order")
                last[place] = number
        twice = [number for number, count in seen.items() if count > 1]
        self.assertEqual(twice, [])
        if expected is None:
            self.assertEqual(len(seen), self.events, "some are lost")
        else:
            self.assertEqual(set(seen), set(expected))
