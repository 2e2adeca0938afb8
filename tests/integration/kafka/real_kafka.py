"""The output kafka in a running agent, against a broker of Apache Kafka: exactly once over kills of both, what the
broker refuses, and faults that come and go (faults.py).

--full kills the agent 300 times and the broker 20 times, over 200,000 events. ETWSHIP_KILLS is another number.
"""

import random
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from broker import POM, Missing, fetch
from faults import Faults  # noqa: F401 (its tests run, too)
from rig import BROKER_KILLS, KILLS, LOGIN, TIMEOUT_S, Rig, close_broker, sequence_of

SKIPPED = 77
# Of the trace, and of the agent's own events.
PROVIDERS = ("Etwship-Sample-Dns", "Etwship-Sample-EventSource", "Etwship-Sample-Process",
             "Etwship.Sample.Telemetry", "MSNT_SystemTrace", "etwship", "unknown")


class Kafka(Rig):
    def test_each_event_once_over_kills(self):
        chance = random.Random(7)
        self.tool("create", self.topic, 3)
        traces = self.folder / "traces"
        traces.mkdir()
        # A life is some ten batches long, so the events last for about as many kills.
        self.write(session={"paths": [f"{traces}/*.etl"]}, delivery="exactly_once",
                   batch={"events": max(1, self.events // KILLS // 20)})
        begun = time.monotonic()
        self.make(traces / "1.etl", self.events)
        kills = 0
        made = 1
        longest = 1.2  # seconds of a life
        while kills < KILLS:
            agent = self.start()
            try:
                code = agent.wait(chance.uniform(longest / 3, longest))
                self.assertEqual(code, 0, agent.text[-3000:])
                longest *= 0.9  # all was delivered, with kills left
                made += 1
                self.make(traces / f"{made}.etl", self.events, made)
                continue
            except subprocess.TimeoutExpired:
                agent.kill(TIMEOUT_S)
                kills += 1
            if BROKER_KILLS and kills % max(1, KILLS // BROKER_KILLS) == 0:
                self.broker.kill()
                self.broker.start()
        self.finish(self.start())
        messages = self.messages()
        sequences = {number for number in map(sequence_of, messages) if number is not None}
        self.assertEqual(len(sequences), made * self.events, "some are lost")
        self.assert_each_once(messages, sequences)
        self.assertEqual(len({message.id for message in messages}), len(messages))
        print(f"{kills} kills of the agent, {len(messages)} messages, {time.monotonic() - begun:.0f} s", flush=True)

    def test_what_the_broker_refuses_degrades_and_comes_later(self):
        self.write(create={"partitions": 1})
        self.etwship("setup", "kafka", "-c", self.config)
        self.tool("allow", "topic", "etwship-positions")
        self.tool("allow", "id", "etwship-")
        self.write(address=self.broker.sasl, sasl=LOGIN, delivery="exactly_once")
        agent = self.start()
        agent.await_words("Topic authorization failed", TIMEOUT_S)
        self.assertEqual(self.messages(), [])
        self.tool("allow", "topic", self.topic)
        self.finish(agent)
        self.assert_each_once(self.messages())

    def test_a_topic_that_is_not_there_is_waited_for(self):
        self.write(delivery="exactly_once")
        agent = self.start()
        agent.await_words("create the topic", TIMEOUT_S)
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
        agent.await_words("create the topic", TIMEOUT_S)
        # Those of the same batch.
        while not self.messages(topics["MSNT_SystemTrace"]):
            self.assertFalse(agent.ended, agent.text[-3000:])
        self.tool("create", late, 1)
        self.finish(agent)
        self.assert_each_once([message._replace(partition=topic) for topic in (late, *topics.values())
                               for message in self.messages(topic)])

    def test_setup_makes_topics_and_test_output_looks_at_them(self):
        self.write(create={"partitions": 5, "retention": "1h"})
        self.assertIn("was created", self.etwship("setup", "kafka", "-c", self.config))
        self.assertIn("with 5 partitions", self.etwship("setup", "kafka", "-c", self.config))
        said = self.etwship("test-output", "kafka", "-c", self.config)
        self.assertIn("the agent's user may write to it", said)
        self.assertIn("the brokers allow transactions", said)


if __name__ == "__main__":
    sys.argv = [argument for argument in sys.argv if argument != "--full"]
    try:
        fetch("kafka", POM)
    except Missing as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    try:
        unittest.main(verbosity=2)
    finally:
        close_broker()
