"""The splunk_hec output in a running agent, against a collector that acknowledges late, falsely or never.

What counts is what the collector has indexed. `--full` kills either side 50 times.
"""

import collections
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import siem_rig  # noqa: E402
from support.scripted_http import Reply, Server, values_of  # noqa: E402


class Collector:
    """Indexes events some requests after they came. A crash loses all others, and all channels."""

    def __init__(self, polls=2, forgets=0):
        self.polls, self.forgets = polls, forgets
        self.numbers = itertools.count(1)
        self.waiting = {}  # (channel, ack id) -> [questions until it is indexed, events]
        self.done = {}     # the same, indexed: how often it was asked for since
        self.indexed = []
        self.channels = set()

    def crash(self):
        self.waiting.clear()
        self.done.clear()
        self.channels.clear()

    def __call__(self, request):
        channel = request.headers.get("x-splunk-request-channel")
        if request.path == "/services/collector/ack":
            return self.answer(channel, next(values_of(request.data.decode()))["acks"])
        number = next(self.numbers)
        self.channels.add(channel)
        self.waiting[channel, number] = [self.polls, list(values_of(request.data.decode()))]
        return Reply(200, {"text": "Success", "code": 0, "ackId": number})

    def answer(self, channel, asked):
        if asked != [0] and channel not in self.channels:
            return Reply(400, {"text": "Invalid data channel", "code": 11})
        return Reply(200, {"acks": {str(number): self.is_indexed((channel, number)) for number in asked}})

    def is_indexed(self, key):
        if key in self.waiting:
            self.waiting[key][0] -= 1
            if self.waiting[key][0] <= 0:
                self.indexed += self.waiting.pop(key)[1]
                self.done[key] = True
                # Some are indexed, and the sender never learns it.
                self.done[key] = not self.forgets or key[1] % self.forgets != 0
        return self.done.get(key, False)


class Splunk(siem_rig.Agent):
    def output(self, server, **keys):
        return {"type": "splunk_hec", "urls": [server.url], "token": "1234-5678", "proxy": "",
                "batch": {"events": 50},
                "ack": {"enabled": True, "interval": "2ms", "timeout": "60s"}} | keys

    def indexed(self, server):
        return self.sequences(record["event"] for record in server.app.indexed)

    def test_kills_of_either_side_lose_nothing_and_what_comes_twice_has_the_same_id(self):
        with Server(Collector()) as server:
            self.write(self.output(server), durable=True)

            def some_more(agent, requests):
                begun = len(server.posts())
                server.wait_for(lambda: len(server.posts()) >= begun + 3 * requests or
                                agent.poll() is not None)

            def crash(number):
                if number % 2:
                    with server.lock:
                        server.app.crash()

            self.kill_on_the_way(some_more, crash)
            found = self.indexed(server)
            self.assertGreater(self.kills, self.KILLS // 2)
            self.assert_all_there(found)
            ids = collections.defaultdict(set)
            for record in server.app.indexed:
                if record["event"]["provider"].get("name") != "etwship":
                    ids[record["event"]["etw"]["sequence"]].add(record["fields"]["etwship_id"])
            self.assertEqual([number for number, names in ids.items() if len(names) != 1], [])
            # At most what was on its way at each kill: a batch of each worker.
            self.assertLessEqual(sum(found.values()) - self.EVENTS, self.KILLS * 4 * 50)

    def test_a_collector_that_crashes_again_and_again_loses_nothing(self):
        posts = itertools.count(1)
        with Server(Collector()) as server:
            app = server.app

            def crashes(request):
                if request.path.endswith("/event") and next(posts) % 7 == 0:
                    app.crash()
                return None

            server.faults = crashes
            self.write(self.output(server))
            said = self.run_to_the_end()
            found = self.indexed(server)
            self.assert_all_there(found)
            self.assertEqual(sum(found.values()), self.EVENTS)
            self.assertGreater(self.count(said, "maybe duplicates"), 0)

    def test_duplicates_are_only_those_that_are_counted(self):
        with Server(Collector(forgets=5)) as server:
            self.write(self.output(server, ack={"enabled": True, "interval": "2ms", "timeout": "1s"}))
            said = self.run_to_the_end()
            found = self.indexed(server)
            own = sum(1 for record in server.app.indexed
                      if record["event"]["provider"].get("name") == "etwship")
            self.assert_all_there(found)
            twice = sum(found.values()) - self.EVENTS
            self.assertGreater(twice, 0)
            counted = self.count(said, "maybe duplicates")
            self.assertGreaterEqual(counted, twice)
            # A busy collector may not have indexed all before the agent sent it again.
            never = sum(len(events) for _, events in server.app.waiting.values())
            self.assertLessEqual(counted, twice + own + never)


if __name__ == "__main__":
    siem_rig.main()
