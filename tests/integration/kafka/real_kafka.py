"""The output kafka in a running agent, against a broker of Apache Kafka: exactly once over kills of both, and what
the broker refuses.

--full kills the agent 300 times and the broker 20 times, over 200,000 events. ETWSHIP_KILLS is another number.
"""

import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from broker import POM, Broker, Missing, Running, fetch

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TOOL = os.environ["ETWSHIP_KAFKA_TOOL"]
FULL = "--full" in sys.argv
EVENTS = 200000 if FULL else 10000
KILLS = int(os.environ.get("ETWSHIP_KILLS", 300 if FULL else 3))
BROKER_KILLS = 20 if FULL else 1
# Nets under what does not end, no measures.
TIMEOUT_S = 900
SKIPPED = 77
# Of the trace, and of the agent's own events.
PROVIDERS = ("Etwship-Sample-Dns", "Etwship-Sample-EventSource", "Etwship-Sample-Process",
             "Etwship.Sample.Telemetry", "MSNT_SystemTrace", "etwship", "unknown")
LOGIN = {"mechanism": "PLAIN", "user": "agent", "password": "agent-secret"}

SEQUENCE = re.compile(r'"etw":\{[^}]*"sequence":(\d+)')
Message = collections.namedtuple("Message", "partition key id value")


class Kafka(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()
        cls.addClassCleanup(cls.broker.close)
        traces = tempfile.TemporaryDirectory()
        cls.addClassCleanup(traces.cleanup)
        cls.trace = Path(traces.name) / "t.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o", str(cls.trace)], check=True,
                       timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.topic = "t-" + self.id().split(".")[-1][:40].replace("_", "-")

    # ---- helpers -----------------------------------------------------------------------------------

    def tool(self, *arguments):
        done = subprocess.run([TOOL, self.broker.address, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def messages(self, topic=None):
        return [Message(*line.split(" ", 3)) for line in self.tool("read", topic or self.topic).splitlines()]

    def write(self, address=None, **more):
        output = {"name": "kafka", "type": "kafka", "brokers": [address or self.broker.address], "topic": self.topic,
                  "transport": "tcp", "timeout": "10s", "retry": {"min": "50ms", "max": "500ms"},
                  "batch": {"events": 500}} | more
        self.config = self.folder / "c.json"
        self.config.write_text(json.dumps({
            "agent": {"data_dir": str(self.folder / "state")},
            "spool": {"min_free_disk": "1MB"},
            "sessions": [{"name": "f", "type": "file", "paths": [str(self.trace)]}],
            "outputs": [output]}))

    def start(self):
        return Running([BINARY, "run", "-c", self.config])

    def finish(self, agent):
        self.assertEqual(agent.wait(TIMEOUT_S), 0, agent.text[-3000:])

    def assert_each_once(self, messages):
        seen = collections.Counter()
        last = {}
        for message in messages:
            found = SEQUENCE.search(message.value)
            if found and '"kind":"agent"' not in message.value:
                number = int(found[1])
                seen[number] += 1
                place = message.partition, message.key
                self.assertGreater(number, last.get(place, -1), "out of order")
                last[place] = number
        twice = [number for number, count in seen.items() if count > 1]
        self.assertEqual(twice, [])
        self.assertEqual(len(seen), EVENTS, "some are lost")

    # ---- tests -------------------------------------------------------------------------------------

    def test_each_event_once_over_kills(self):
        chance = random.Random(7)
        self.tool("create", self.topic, 3)
        self.write(delivery="exactly_once")
        begun = time.monotonic()
        kills = 0
        while kills < KILLS:
            agent = self.start()
            try:
                agent.wait(chance.uniform(0.4, 1.2))
                break  # all was delivered
            except subprocess.TimeoutExpired:
                agent.kill(TIMEOUT_S)
                kills += 1
            if BROKER_KILLS and kills % max(1, KILLS // BROKER_KILLS) == 0:
                self.broker.kill()
                self.broker.start()
        self.finish(self.start())
        messages = self.messages()
        self.assert_each_once(messages)
        self.assertEqual(len({message.id for message in messages}), len(messages))
        print(f"{kills} kills of the agent, {len(messages)} messages, {time.monotonic() - begun:.0f} s", flush=True)

    def test_what_the_broker_refuses_degrades_and_comes_later(self):
        self.write(create={"partitions": 1})
        self.etwship("setup", "kafka", "-c", self.config)
        self.tool("allow", "topic", "etwship-positions")
        self.tool("allow", "id", "etwship-")
        self.write(address=self.broker.sasl_address, sasl=LOGIN, delivery="exactly_once")
        agent = self.start()
        agent.await_words("Topic authorization failed", TIMEOUT_S)
        self.assertEqual(self.messages(), [])
        self.tool("allow", "topic", self.topic)
        self.finish(agent)
        self.assert_each_once(self.messages())

    def test_a_topic_that_is_not_there_is_waited_for(self):
        self.write(delivery="exactly_once")
        agent = self.start()
        agent.await_words("make the topic", TIMEOUT_S)
        self.tool("create", self.topic, 2)
        self.finish(agent)
        self.assert_each_once(self.messages())

    def test_events_for_other_topics_do_not_wait_for_one_that_is_not_there(self):
        topics = {name: f"{self.topic}-{name}" for name in PROVIDERS}
        late = topics.pop("Etwship-Sample-Dns")
        for topic in topics.values():
            self.tool("create", topic, 1)
        self.write(topic=self.topic + "-{provider.name}", delivery="exactly_once")
        agent = self.start()
        agent.await_words("make the topic", TIMEOUT_S)
        # Those of the same batch.
        while not self.messages(topics["MSNT_SystemTrace"]):
            self.assertFalse(agent.ended, agent.text[-3000:])
        self.tool("create", late, 1)
        self.finish(agent)
        self.assert_each_once([message._replace(partition=topic) for topic in (late, *topics.values())
                               for message in self.messages(topic)])

    def test_setup_makes_topics_and_test_output_looks_at_them(self):
        self.write(create={"partitions": 5, "retention": "1h"})
        self.assertIn("was made", self.etwship("setup", "kafka", "-c", self.config))
        self.assertIn("with 5 partitions", self.etwship("setup", "kafka", "-c", self.config))
        said = self.etwship("test-output", "kafka", "-c", self.config)
        self.assertIn("our user may write to it", said)
        self.assertIn("the brokers let us have transactions", said)

    def etwship(self, *arguments):
        done = subprocess.run([BINARY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False, text=True)
        self.assertIn(done.returncode, (0, 3), done.stdout)
        return done.stdout


if __name__ == "__main__":
    sys.argv = [argument for argument in sys.argv if argument != "--full"]
    try:
        fetch("kafka", POM)
    except Missing as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
