"""Faults at the broker that come while an agent delivers, and go: nothing is lost or comes twice, the output says why
it is degraded, and goes on by itself.
"""

import json
import re
import shutil
import signal

from rig import EVENTS, FULL, LOGIN, TIMEOUT_S, Rig, sequence_of

LIMIT = 850  # of a message as it is sent, which is about the median
REFUSED = 3  # exit code: there are dead letters
SIZE = re.compile(r"no event of (\d+) bytes")


class Faults(Rig):
    events = min(EVENTS, 20000) if FULL else 300
    modes = ("exactly_once", "at_least_once") if FULL else ("exactly_once",)

    def topic_of(self, mode):
        """Of this test alone: rights hold for all topics whose names begin so."""
        self.topic = f"{mode[0]}-{self.id().split('.')[-1][5:].replace('_', '-')}"
        return self.topic

    def begin(self, mode, **more):
        """An agent that has delivered the trace, and waits for others."""
        traces = self.folder / f"traces-{mode}"
        traces.mkdir()
        self.added = 0
        self.traces = traces
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        self.write(session={"paths": [f"{traces}/*.etl"], "follow": True, "poll": "50ms"}, delivery=mode, **more)
        agent = self.start()
        self.addCleanup(agent.process.wait)
        self.addCleanup(agent.process.kill)
        self.add()
        self.wait_all(agent)
        return agent

    def add(self):
        """As many other events: the same would have the same ids, and so not be sent again."""
        self.added += 1
        made = self.folder / "made.etl"
        self.make(made, self.events, self.added)
        made.rename(self.traces / f"{self.added}.etl")

    def wait_all(self, agent):
        return self.wait_for(agent, lambda now: now["offered"] == self.added * self.events and not now["pending"])

    def wait_degraded(self, agent, words):
        agent.await_words(words, TIMEOUT_S)
        self.wait_for(agent, lambda now: now["degraded"] and now["pending"])

    def stop(self, agent, code=0):
        agent.process.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(TIMEOUT_S), code, agent.text[-3000:])

    def sequences(self):
        return [number for number in map(sequence_of, self.messages()) if number is not None]

    # ---- what comes and goes ---------------------------------------------------------------------------

    def test_topic_deleted_and_made_again(self):
        for mode in self.modes:
            with self.subTest(mode):
                self.tool("create", self.topic, 3)
                agent = self.begin(mode)
                before = self.sequences()
                self.assertEqual(len(set(before)), self.events)
                self.tool("delete", self.topic)
                while self.messages():
                    pass  # the broker has not heard of it yet
                self.add()
                self.wait_degraded(agent, "create the topic")
                self.tool("create", self.topic, 2)
                now = self.wait_all(agent)
                self.assertFalse(now["degraded"])
                self.assertEqual(now["delivery"], mode)
                self.stop(agent)
                after = set(self.sequences())
                self.assertEqual(len(after - set(before)), self.events)
                self.assert_each_once(self.messages(), after)
                self.tool("delete", self.topic)

    def test_right_taken_and_given_again(self):
        for mode in self.modes:
            with self.subTest(mode):
                topic = self.topic_of(mode)
                self.tool("create", topic, 3)
                for kind, name in (("topic", "etwship-positions"), ("id", "etwship-"), ("topic", topic)):
                    self.tool("allow", kind, name)
                agent = self.begin(mode, address=self.broker.sasl, sasl=LOGIN)
                self.tool("forbid", "topic", topic)
                self.add()
                self.wait_degraded(agent, "rights Write and Describe")
                self.tool("allow", "topic", topic)
                self.assertFalse(self.wait_all(agent)["degraded"])
                self.stop(agent)
                sequences = self.sequences()
                self.assertEqual(len(set(sequences)), 2 * self.events)
                self.assert_each_once(self.messages(), set(sequences))

    def test_quota_that_is_too_small(self):
        for mode in self.modes:
            with self.subTest(mode):
                topic = self.topic_of(mode)
                self.tool("create", topic, 3)
                agent = self.begin(mode, timeout="3s", compression="none")
                self.broker.quota(40 * self.events)
                try:
                    self.add()
                    agent.await_words("raise the quota of the agent's user", TIMEOUT_S)
                finally:
                    self.broker.quota(None)
                self.assertFalse(self.wait_all(agent)["degraded"])
                self.stop(agent)
                sequences = self.sequences()
                self.assertEqual(len(set(sequences)), 2 * self.events)
                self.assertEqual(len(sequences), 2 * self.events if mode == "exactly_once" else len(sequences))

    # ---- what is too large -----------------------------------------------------------------------------

    def letters(self):
        lines = self.etwship("deadletter", "list", "--json", "-c", self.config).splitlines()
        return [json.loads(line) for line in lines]

    def test_topic_that_takes_10_kb(self):
        for mode in self.modes:
            with self.subTest(mode):
                topic = self.topic_of(mode)
                self.tool("create", topic, 3)
                agent = self.begin(mode, batch={"events": 5000})
                self.tool("config", topic, "max.message.bytes", 10240)
                self.add()
                now = self.wait_all(agent)
                self.assertFalse(now["degraded"])
                self.assertEqual(now["dead_lettered"], 0)
                self.stop(agent)
                sequences = self.sequences()
                self.assertEqual(len(set(sequences)), 2 * self.events)
                self.assert_each_once(self.messages(), set(sequences))

    def test_events_that_are_too_large_are_refused_alone(self):
        for mode in self.modes:
            with self.subTest(mode):
                topic = self.topic_of(mode)
                self.tool("create", topic, 3)
                agent = self.begin(mode, batch={"events": 5000})
                self.tool("config", topic, "max.message.bytes", LIMIT)
                self.add()
                now = self.wait_all(agent)
                self.assertFalse(now["degraded"])
                self.stop(agent, REFUSED)
                sequences = self.sequences()
                letters = self.letters()
                self.assertEqual(len(letters), now["dead_lettered"])
                self.assertTrue(0 < len(letters) < self.events, len(letters))
                self.assertEqual(len(set(sequences)) + len(letters), 2 * self.events)
                self.assert_each_once(self.messages(), set(sequences))
                for letter in letters:
                    self.assertEqual(letter["type"], "MSG_SIZE_TOO_LARGE")
                    self.assertGreater(int(SIZE.search(letter["reason"])[1]), LIMIT // 2)

    # ---- logins ----------------------------------------------------------------------------------------

    def deliver(self, **more):
        self.tool("create", self.topic, 2)
        for kind, name in (("topic", "etwship-positions"), ("id", "etwship-"), ("topic", self.topic)):
            self.tool("allow", kind, name)
        self.write(transport="tls", delivery="exactly_once", **more)
        self.finish(self.start())
        self.assert_each_once(self.messages())

    def test_login_by_scram_over_tls(self):
        if not self.broker.authority:
            self.skipTest("no openssl")
        self.deliver(address=self.broker.scram, tls={"ca": str(self.broker.authority.ca)},
                     sasl={"mechanism": "SCRAM-SHA-512", "user": "agent", "password": "agent-secret"})

    def test_login_by_certificate(self):
        if not self.broker.authority:
            self.skipTest("no openssl")
        certificate, key = self.broker.authority.issue("agent")
        tls = {"ca": str(self.broker.authority.ca)}
        self.deliver(address=self.broker.certified, tls=tls | {"cert": str(certificate), "key": str(key)})

    def test_login_that_is_wrong_degrades(self):
        if not self.broker.authority:
            self.skipTest("no openssl")
        ca = {"ca": str(self.broker.authority.ca)}
        wrong = {"mechanism": "SCRAM-SHA-512", "user": "agent", "password": "other"}
        for address, sasl, words in ((self.broker.scram, wrong, "check sasl"),
                                     (self.broker.certified, {"mechanism": "none"}, "check tls")):
            with self.subTest(words):
                self.write(address=address, transport="tls", tls=ca, sasl=sasl)
                agent = self.start()
                try:
                    self.wait_degraded(agent, words)
                finally:
                    agent.kill(TIMEOUT_S)
