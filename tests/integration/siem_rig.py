"""An agent that ships a trace to a server of the tests, and is killed on the way. For splunk_hec.py, syslog.py,
relp.py, azure_logs.py, otlp.py and loki.py: each brings its server."""

import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support.ports import hold_port
from support.scripted_http import LOST_BEFORE, LOST_BEHIND, Server

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
FULL = "--full" in sys.argv[1:]
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
DONE = 0


def environment():
    """This process's environment, without proxies."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


class Killed:
    """A server (support/scripted_http.py) that loses connections, and is killed and started again, for
    kill_on_the_way(). `app` outlives it."""

    def __init__(self, app):
        self.app, self.count = app, 0
        self.holder = hold_port()
        self.start()
        self.url = self.server.url

    def start(self):
        self.server = Server(self.app, self.lose, port=self.holder.getsockname()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()
        self.holder.close()

    def lose(self, _):
        """One request in seven gets no reply; alternately it was executed or not."""
        self.count += 1
        return (LOST_BEFORE, LOST_BEHIND)[self.count // 7 % 2] if self.count % 7 == 0 else None

    def wait_for_more(self, agent, requests):
        begun = len(self.server.posts())
        self.server.wait_for(lambda: len(self.server.posts()) >= begun + 3 * requests or
                             agent.poll() is not None)

    def kill_every_other(self, number):
        if number % 2:
            self.server.stop()
            self.start()


class Agent(unittest.TestCase):
    EVENTS = 60000 if FULL else 3000
    KILLS = 50 if FULL else 3

    @classmethod
    def setUpClass(cls):
        cls.shared_folder = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.shared_folder.name) / "t.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(cls.EVENTS), "-o", cls.trace],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.shared_folder.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, output, durable=False, **agent):
        config = {"agent": agent | ({"data_dir": str(self.folder / "data")} if durable else {}),
                  "spool": {"min_free_disk": "1MB"} | ({} if durable else {"mode": "memory"}),
                  "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
                  "outputs": [{"name": "siem", "retry": {"min": "10ms", "max": "50ms"}} | output]}
        self.config = self.folder / "etwship.yaml"
        self.config.write_text(json.dumps(config))

    def start(self):
        agent = subprocess.Popen([BINARY, "run", "-c", self.config], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(agent.stderr.close)
        self.addCleanup(agent.wait, TIMEOUT_S)
        self.addCleanup(agent.kill)
        return agent

    def run_to_the_end(self, code=DONE):
        agent = self.start()
        said = agent.stderr.read()
        self.assertEqual(agent.wait(TIMEOUT_S), code, said)
        return said

    def kill_on_the_way(self, wait_for_more, at_each_kill=lambda number: None):
        """Kill the agent KILLS times, each time after wait_for_more() has seen it deliver; then let it end. Returns
        the last one's messages."""
        chance = random.Random(5)
        self.kills = 0
        for number in range(self.KILLS):
            agent = self.start()
            wait_for_more(agent, chance.randrange(1, 4))
            # One that has delivered all before is no kill amid the flow.
            self.kills += agent.poll() is None
            agent.kill()
            agent.wait(TIMEOUT_S)
            at_each_kill(number)
        return self.run_to_the_end()

    @staticmethod
    def count(said, words):
        """The latest number of the summary in the log, such as `12 maybe duplicates`."""
        found = re.findall(rf"(\d+) {words}", said)
        return int(found[-1]) if found else 0

    def sequences(self, events):
        """How often each event of the trace arrived; events of the agent are left out."""
        return collections.Counter(event["etw"]["sequence"] for event in events
                                   if event["provider"].get("name") != "etwship")

    def assert_all_there(self, found):
        self.assertEqual(set(found), set(range(1, self.EVENTS + 1)))


def main():
    sys.argv = [argument for argument in sys.argv if argument != "--full"]
    unittest.main()
