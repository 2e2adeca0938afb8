"""The elasticsearch output in a running agent, against a store on loopback that goes wrong as it is
told: nothing is lost, nothing is there twice.

--full sends 200,000 events through each fault instead of 20,000, and says how long it took.
"""

import collections
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.documents import sequence_of
from support.ports import reserve_port
from support.scripted_http import (LOST_BEFORE, LOST_BEHIND, Bulk, Fault, Reply, Server, every,
                                   script)

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
FULL = "--full" in sys.argv
EVENTS = 200000 if FULL else 20000
FEW = 3000
KILLS = 20 if FULL else 6
# A net under a program that does not end, no measure.
TIMEOUT_S = 600

DONE, LOSSES = 0, 3
BUSY = (429, "es_rejected_execution_exception", "rejected execution of coordinating operation")
NO_ROOM = (400, "illegal_argument_exception",
           "Validation Failed: 1: this action would add [2] shards, but this cluster currently has "
           "[1000]/[1000] maximum normal shards open;")
WRONG = (400, "mapper_parsing_exception", "failed to parse field [data.a] of type [long]")


class Elasticsearch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.traces = tempfile.TemporaryDirectory()
        cls.big = cls.make_trace("big.etl", EVENTS)
        cls.few = cls.make_trace("few.etl", FEW)

    @classmethod
    def tearDownClass(cls):
        cls.traces.cleanup()

    @classmethod
    def make_trace(cls, name, events):
        path = Path(cls.traces.name) / name
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), "-o", str(path)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        return path

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def serve(self, app, faults=None, **options):
        server = Server(app, faults, **options)
        self.addCleanup(lambda: server.stopped.is_set() or server.stop())
        return server

    def write(self, trace, hosts, state="state", **output):
        config = {
            "agent": {"data_dir": str(self.folder / state)},
            "spool": {"min_free_disk": "1MB"},
            "sessions": [{"name": "s", "type": "file", "paths": [str(trace)]}],
            # Short pauses and small batches: more can go wrong in the time of a test.
            "outputs": [{"name": "store", "type": "elasticsearch", "hosts": hosts, "proxy": "",
                         "batch": {"events": 500}, "retry": {"min": "20ms", "max": "200ms"}}
                        | output]}
        path = self.folder / f"{state}.yaml"
        path.write_text(json.dumps(config))
        return path

    def run_agent(self, config, code=DONE):
        done = subprocess.run([BINARY, "run", "-c", str(config)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def dead_letters(self, config):
        done = subprocess.run([BINARY, "deadletter", "list", "--json", "-c", str(config)],
                              check=True, timeout=TIMEOUT_S, stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def assert_each_once(self, app, events, but=()):
        found = collections.Counter(sequence_of(document) for document in app.documents())
        del found[None]
        lost = [n for n in range(1, events + 1) if n not in found and n not in but]
        twice = [n for n, count in found.items() if count != 1]
        if FULL:
            print(f"{len(found)} of {events} events stored, {len(lost)} lost, {len(twice)} twice")
        self.assertEqual((len(lost), len(twice)), (0, 0))
        self.assertEqual(len(found), events - len(but))

    def run_timed(self, app, server, **options):
        """Run with all events; returns the agent's messages and its configuration."""
        config = self.write(self.big, [server.url])
        start = time.monotonic()
        told = self.run_agent(config, **options)
        if FULL:
            print(f"{time.monotonic() - start:.1f} s, {len(server.posts())} requests, "
                  f"{app.twice} items answered with 409: ", end="")
        return told, config

    def run_row(self, faults=None, refuse=None):
        """Run one fault over all events."""
        app = Bulk(refuse)
        server = self.serve(app, faults)
        told, _ = self.run_timed(app, server)
        self.assert_each_once(app, EVENTS)
        self.assertNotIn("duplicate", told)
        return app, server

    # ---- every fault, over all events ---------------------------------------------------------

    def test_every_997th_item_429(self):
        self.run_row(refuse=lambda n, *_: BUSY if n % 997 == 0 else None)

    def test_every_997th_item_400(self):
        wrong = range(997, EVENTS + 1, 997)
        app = Bulk(lambda _, index, name, document:
                   WRONG if (sequence_of(document) or 1) % 997 == 0 else None)
        server = self.serve(app)
        _, config = self.run_timed(app, server, code=LOSSES)
        letters = self.dead_letters(config)
        if FULL:
            print(f"{len(letters)} dead letters, ", end="")
        self.assert_each_once(app, EVENTS, but=wrong)
        self.assertEqual(sorted(letter["document"]["etw"]["sequence"] for letter in letters),
                         list(wrong))
        for letter in letters:
            self.assertEqual((letter["output"], letter["status"], letter["type"],
                              letter["reason"], letter["index"]),
                             ("store", *WRONG, "logs-etw.native-default"))

    def test_every_10th_request_429(self):
        self.run_row(every(10, Fault(Reply(429, {"error": "busy"}))))

    def test_every_10th_request_503(self):
        self.run_row(every(10, Fault(Reply(503, "unavailable"))))

    def test_every_10th_connection_closed_with_the_request_accepted(self):
        app, _ = self.run_row(every(10, LOST_BEHIND))
        self.assertGreater(app.twice, 0)

    def test_every_10th_connection_closed_without_the_request_accepted(self):
        app, _ = self.run_row(every(10, LOST_BEFORE))
        self.assertEqual(app.twice, 0)

    def test_all_items_429_for_a_while(self):
        busy = EVENTS // 4
        self.run_row(refuse=lambda n, *_: BUSY if 1000 < n < 1000 + busy else None)

    def test_what_the_cluster_has_no_room_for_waits_and_is_no_dead_letter(self):
        app = Bulk(lambda n, *_: NO_ROOM if n <= 1500 else None)
        server = self.serve(app)
        config = self.write(self.few, [server.url], workers=1)
        told = self.run_agent(config)
        self.assert_each_once(app, FEW)
        self.assertEqual(self.dead_letters(config), [])
        self.assertRegex(told, "degraded: .*free some")

    # ---- replies and requests -----------------------------------------------------------------

    def test_a_reply_that_is_cut_off_anywhere_acks_nothing(self):
        rng = random.Random(1)

        class Cutting(Bulk):
            def __call__(self, request):
                reply = super().__call__(request)
                if rng.random() < 0.3:
                    reply.close = True
                    reply.cut = rng.randrange(len(reply.encode()))
                return reply

        app = Cutting()
        server = self.serve(app)
        told = self.run_agent(self.write(self.few, [server.url], batch={"events": 100}))
        self.assert_each_once(app, FEW)
        self.assertGreater(app.twice, 0)
        self.assertNotIn("duplicate", told)

    def test_a_reply_that_ends_early_or_lacks_items_acks_nothing(self):
        rng = random.Random(2)

        class Short(Bulk):
            def __call__(self, request):
                reply = super().__call__(request)
                kind = rng.randrange(6)
                if kind == 0:
                    items = json.loads(reply.body)
                    del items["items"][rng.randrange(len(items["items"]))]
                    reply.body = json.dumps(items).encode()
                elif kind == 1:
                    reply.body = reply.body[:rng.randrange(len(reply.body))]
                elif kind == 2:
                    reply.length = len(reply.body) + 10
                    reply.close = True
                return reply

        app = Short()
        server = self.serve(app)
        told = self.run_agent(self.write(self.few, [server.url], batch={"events": 100}))
        self.assert_each_once(app, FEW)
        self.assertGreater(app.twice, 0)
        self.assertNotIn("duplicate", told)

    def test_what_stands_between_and_answers_for_the_server_acks_nothing(self):
        page = {"Content-Type": "text/html"}
        faults = {
            "a web page": Reply(200, "<html>please log in</html>", headers=page),
            "no content": Reply(204),
            "accepted": Reply(202, "{}"),
            "a time alone": Reply(200, {"took": 30}),
            "no end": Reply(200, b"{" * 500, chunked=True, cut=400),
            "far too long": Reply(200, b" " * (64 << 20)),
            "moved": Reply(308, headers={"Location": "http://127.0.0.1:1/"}),
            "who are you": Reply(407),
        }
        for name, reply in faults.items():
            for obeyed in (False, True):
                with self.subTest(name, obeyed=obeyed):
                    app = Bulk()
                    server = self.serve(app, every(3, Fault(reply, obeyed=obeyed)))
                    config = self.write(self.few, [server.url], state=f"{name}-{obeyed}")
                    self.assertNotIn("duplicate", self.run_agent(config))
                    self.assert_each_once(app, FEW)
                    self.assertEqual(self.dead_letters(config), [])

    def test_replies_that_are_compressed_unasked_are_understood(self):
        class Packing(Bulk):
            def __call__(self, request):
                reply = super().__call__(request)
                if request.method == "POST":
                    reply.body = gzip.compress(reply.body)
                    reply.headers["Content-Encoding"] = "gzip"
                return reply
        app = Packing(lambda n, *_: BUSY if n % 7 == 0 else None)
        server = self.serve(app)
        self.run_agent(self.write(self.few, [server.url]))
        self.assert_each_once(app, FEW)
        self.assertEqual(app.twice, 0)
        self.assertEqual({request.headers["accept-encoding"] for request in server.posts()},
                         {"identity"})

    def test_the_time_that_a_server_asks_for_is_waited(self):
        times = []
        faults = script(Fault(Reply(429, headers={"Retry-After": "2"})))

        def timed(request):
            if request.method == "POST":
                times.append(time.monotonic())
            return faults(request)

        app = Bulk()
        server = self.serve(app, timed)
        self.run_agent(self.write(self.few, [server.url], workers=1))
        self.assertGreaterEqual(times[1] - times[0], 2)
        self.assert_each_once(app, FEW)

    def test_a_server_that_takes_little_gets_little(self):
        class Small(Bulk):
            refusals = 0

            def __call__(self, request):
                if len(request.data) > 30000:
                    self.refusals += 1
                    return Reply(413, b"")
                return super().__call__(request)

        app = Small()
        server = self.serve(app)
        self.run_agent(self.write(self.few, [server.url], workers=1))
        self.assert_each_once(app, FEW)
        self.assertIn(app.refusals, range(1, 10))

    def test_what_spoils_a_request_is_found(self):
        class Picky(Bulk):
            def __call__(self, request):
                if any(sequence_of(document) in (1, 777, 778)
                       for document in request.data.split(b"\n")[1::2]):
                    return Reply(400, {"error": {"type": "illegal", "reason": "Malformed"},
                                       "status": 400})
                return super().__call__(request)

        app = Picky()
        server = self.serve(app)
        config = self.write(self.few, [server.url])
        self.run_agent(config, code=LOSSES)
        self.assert_each_once(app, FEW, but=(1, 777, 778))
        self.assertEqual([(letter["status"], letter["type"], letter["reason"])
                          for letter in self.dead_letters(config)],
                         [(400, "illegal", "Malformed")] * 3)

    def test_a_node_that_is_gone_costs_nothing(self):
        gone = f"http://127.0.0.1:{reserve_port(self)}"
        app = Bulk()
        server = self.serve(app)
        self.run_agent(self.write(self.few, [gone, server.url]))
        self.assert_each_once(app, FEW)

    # ---- names --------------------------------------------------------------------------------

    def test_events_go_where_their_provider_says(self):
        app = Bulk()
        server = self.serve(app)
        self.run_agent(self.write(self.few, [server.url],
                                  data_stream={"dataset": "etw.{provider.name}",
                                               "namespace": "prod"}))
        self.assert_each_once(app, FEW)
        self.assertIn("logs-etw.etwship_sample_dns-prod", app.stores)
        for index, store in app.stores.items():
            self.assertRegex(index, r"^logs-etw\.[a-z0-9._]+-prod$")
            for document in store.values():
                name = json.loads(document)["provider"].get("name", "unknown")
                self.assertEqual(re.sub("[^a-z0-9._]", "_", name.lower()), index[9:-5])

    def test_without_ids_the_server_gives_them(self):
        app = Bulk()
        server = self.serve(app, keep_bodies=True)
        self.run_agent(self.write(self.few, [server.url], ids=False, index="etw-%Y.%m.%d",
                                  pipeline='p"1', routing="r"))
        self.assert_each_once(app, FEW)
        action = json.loads(server.posts()[0].data.split(b"\n")[0])
        self.assertEqual(action, {"create": {"_index": "etw-2026.11.21", "pipeline": 'p"1',
                                             "routing": "r"}})

    # ---- kills --------------------------------------------------------------------------------

    def test_kills_leave_every_event_once(self):
        rng = random.Random(3)
        app = Bulk()
        server = self.serve(app)
        config = self.write(self.big, [server.url])
        for _ in range(KILLS):
            agent = subprocess.Popen([BINARY, "run", "-c", str(config)],
                                     stderr=subprocess.DEVNULL)
            try:
                agent.wait(rng.uniform(0.05, 0.6))
                break
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()
        self.assertNotIn("duplicate", self.run_agent(config))
        self.assert_each_once(app, EVENTS)

    def test_a_file_that_is_read_again_adds_nothing(self):
        app = Bulk()
        server = self.serve(app)
        self.run_agent(self.write(self.few, [server.url], state="first"))
        told = self.run_agent(self.write(self.few, [server.url], state="second"))
        self.assertEqual(app.twice, FEW)
        self.assertNotIn("duplicate", told)
        self.assert_each_once(app, FEW)

    def of_files(self, app):
        """Ids of the documents that come from files."""
        return [name for store in app.stores.values() for name in store if len(name) == 60]

    def test_copies_in_one_folder_add_nothing(self):
        app = Bulk()
        server = self.serve(app)
        traces = self.folder / "traces"
        traces.mkdir()
        for name in ("a", "b"):
            shutil.copy(self.few, traces / f"{name}.etl")
        told = self.run_agent(self.write(traces / "*.etl", [server.url]))
        self.assertEqual(app.twice, FEW)
        self.assertNotIn("duplicate", told)
        self.assertEqual(len(self.of_files(app)), FEW)
        self.assertEqual(len({name[:32] for name in self.of_files(app)}), 1)
        # The copy alone, under another name.
        (traces / "a.etl").unlink()
        (traces / "b.etl").rename(traces / "z.etl")
        self.run_agent(self.write(traces / "*.etl", [server.url], state="other"))
        self.assertEqual(len(self.of_files(app)), FEW)

    def test_traces_that_only_begin_alike_are_two(self):
        traces = self.folder / "traces"
        traces.mkdir()
        shutil.copy(self.few, traces / "a.etl")
        shutil.copy(self.big, traces / "b.etl")
        identities = set()
        for state in ({"data_dir": str(self.folder / "state")}, {}):
            with self.subTest(state):
                app = Bulk()
                server = self.serve(app)
                config = self.write(traces / "*.etl", [server.url])
                settings = json.loads(config.read_text()) | {"agent": state, "spool": {"mode": "memory"}}
                config.write_text(json.dumps(settings))
                self.run_agent(config)
                self.assertEqual(app.twice, 0)
                self.assertEqual(len(self.of_files(app)), FEW + EVENTS)
                identities.add(frozenset(name[:32] for name in self.of_files(app)))
        # The same names, be it remembered or not.
        self.assertEqual([len(files) for files in identities], [2])


if __name__ == "__main__":
    sys.argv = [a for a in sys.argv if a != "--full"]
    unittest.main(verbosity=2)
