"""The elasticsearch output when one index of several takes nothing for a while, or for ever: everything else
arrives meanwhile, nothing is lost, nothing is there twice, and the order in each index is kept.
"""

import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.documents import sequence_of
from support.ports import reserve_port
from support.scripted_http import Bulk, Server

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
EVENTS = 6000
# A net under a program that does not end, no measure.
TIMEOUT_S = 120

DONE, LOSSES = 0, 3
SHUT = "hol-etwship_sample_dns"

# As Elasticsearch 8.19 and OpenSearch 2.19 say it.
REPLIES = {
    "blocked": (403, "cluster_block_exception",
                f"index [{SHUT}] blocked by: [FORBIDDEN/8/index write (api)];"),
    "full disk": (429, "cluster_block_exception",
                  f"index [{SHUT}] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage "
                  "watermark, index has read-only-allow-delete block];"),
    "closed": (400, "index_closed_exception", "closed"),
    "no right": (403, "security_exception",
                 f"action [indices:data/write/bulk[s]] is unauthorized for user [u] on indices [{SHUT}]"),
    "not there": (404, "index_not_found_exception",
                  f"no such index [{SHUT}] and [action.auto_create_index] is [false]"),
    "no write index": (400, "illegal_argument_exception",
                       f"no write index is defined for alias [{SHUT}]. The write index may be explicitly "
                       "disabled using is_write_index=false or the alias points to multiple indices "
                       "without one being designated as a write index"),
    "no shard": (503, "unavailable_shards_exception",
                 f"[{SHUT}][0] primary shard is not active Timeout: [1m], request: [BulkShardRequest]"),
    "slow master": (503, "process_cluster_event_timeout_exception",
                    f"failed to process cluster event (auto create [{SHUT}]) within 1m"),
    "no room": (400, "validation_exception",
                "Validation Failed: 1: this action would add [2] shards, but this cluster currently has "
                "[1000]/[1000] maximum normal shards open;"),
}
# Of each event for itself.
MAPPING = (400, "mapper_parsing_exception", "failed to parse field [data]")


class Cluster(Bulk):
    """Accepts nothing for the indices in `shut`."""

    def __init__(self, reply, shut=(SHUT,)):
        super().__init__(lambda _, index, name, document: self.reply if index in self.shut else None)
        self.reply = reply
        self.shut = set(shut)

    def arrived(self):
        return sum(1 for document in self.documents() if sequence_of(document))


class Parked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.traces = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.traces.name) / "t.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o", str(cls.trace)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        # Which events belong to which index: as a cluster that takes all has them.
        app = Bulk()
        with Server(app) as server, tempfile.TemporaryDirectory() as folder:
            config = cls.config(cls, Path(folder), server.url)
            subprocess.run([BINARY, "run", "-c", str(config)], check=True, timeout=TIMEOUT_S,
                           stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.all = cls.sequences(app)
        cls.shut_events = len(cls.all[SHUT])
        assert len(cls.all) > 2 and sum(map(len, cls.all.values())) == EVENTS, cls.all.keys()

    @classmethod
    def tearDownClass(cls):
        cls.traces.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    @staticmethod
    def sequences(app):
        """Sequence numbers by index, in the order of arrival."""
        found = {index: [sequence_of(document) for document in store.values() if sequence_of(document)]
                 for index, store in app.stores.items()}
        return {index: sequences for index, sequences in found.items() if sequences}

    def config(self, folder, url, mode="durable", agent=None, **output):
        config = {
            "agent": {"data_dir": str(folder / "state")} | (agent or {}),
            "spool": {"min_free_disk": "1MB", "mode": mode} if mode == "durable" else {"mode": mode},
            "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
            "outputs": [{"name": "store", "type": "elasticsearch", "hosts": [url], "proxy": "",
                         "index": "hol-{provider.name}", "batch": {"events": 200},
                         "retry": {"min": "10ms", "max": "50ms"}} | output]}
        if config["agent"]["data_dir"] is None:
            del config["agent"]["data_dir"]
        path = folder / "config.yaml"
        path.write_text(json.dumps(config))
        return path

    def serve(self, app):
        server = Server(app)
        self.addCleanup(lambda: server.stopped.is_set() or server.stop())
        return server

    def start(self, config):
        log = open(self.folder / "log", "wb")
        self.addCleanup(log.close)
        agent = subprocess.Popen([BINARY, "run", "-c", str(config)], stdin=subprocess.DEVNULL,
                                 stderr=log)
        self.addCleanup(lambda: agent.poll() is None and (agent.kill(), agent.wait()))
        return agent

    def told(self):
        return (self.folder / "log").read_text()

    def end(self, agent, code=DONE):
        self.assertEqual(agent.wait(TIMEOUT_S), code, self.told())
        return self.told()

    def dead_letters(self, config):
        done = subprocess.run([BINARY, "deadletter", "list", "--json", "-c", str(config)],
                              check=True, timeout=TIMEOUT_S, stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def wait_for_others(self, app, server, shut_events=None):
        """Wait for all events except those of the closed index."""
        events = EVENTS - (self.shut_events if shut_events is None else shut_events)
        server.wait_for(lambda: app.arrived() >= events, TIMEOUT_S)
        self.assertEqual(app.arrived(), events)

    def open(self, app, server):
        with server.lock:
            app.shut.clear()

    def assert_all(self, app, ordered=True):
        found = self.sequences(app)
        self.assertEqual({index: sorted(s) for index, s in found.items()},
                         {index: sorted(s) for index, s in self.all.items()})
        for sequences in found.values() if ordered else ():
            self.assertEqual(sequences, sorted(sequences))

    # ---- others go on -------------------------------------------------------------------------

    def test_whatever_one_index_says_the_others_go_on(self):
        for mode in ("durable", "memory"):
            for name, reply in REPLIES.items():
                with self.subTest(name, mode=mode):
                    app = Cluster(reply)
                    server = self.serve(app)
                    config = self.config(self.folder, server.url, mode, {
                        "data_dir": str(self.folder / f"{name} {mode}")}, workers=1)
                    agent = self.start(config)
                    self.wait_for_others(app, server)
                    self.assertIsNone(agent.poll())
                    self.open(app, server)
                    told = self.end(agent)
                    self.assert_all(app)
                    self.assertEqual(app.twice, 0)
                    self.assertEqual(self.dead_letters(config), [])
                    self.assertIn(f"{SHUT} accepts no events: status {reply[0]} {reply[1]}: {reply[2]}"[:120],
                                  told)
                    self.assertIn(f"{SHUT} accepts events again", told)
                    self.assertNotIn("duplicate", told)

    def test_an_index_that_opens_and_refuses_everything_holds_nothing_else_up(self):
        more = 3000
        app = Cluster(REPLIES["closed"])
        server = self.serve(app)
        config = self.config(self.folder, server.url, workers=1)
        settings = json.loads(config.read_text())
        settings["sessions"].append({"name": "late", "type": "file", "follow": True, "poll": "100ms",
                                     "paths": [str(self.folder / "*.etl")]})
        config.write_text(json.dumps(settings))
        late = self.folder / "late"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(more), "--seed", "7", "-o", str(late)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        agent = self.start(config)
        self.wait_for_others(app, server)
        with server.lock:
            app.reply = (400, "mapper_parsing_exception", "failed to parse field [data]")
        server.wait_for(lambda: "every event for it is rejected" in self.told(), TIMEOUT_S)
        late.rename(self.folder / "late.etl")
        others = EVENTS - self.shut_events
        server.wait_for(lambda: app.arrived() >= others + more // 2, TIMEOUT_S)
        self.open(app, server)
        server.wait_for(lambda: app.arrived() + len(self.dead_letters(config)) >= EVENTS + more, TIMEOUT_S)
        agent.send_signal(signal.SIGTERM)
        agent.wait(TIMEOUT_S)
        letters = len(self.dead_letters(config))
        self.assertGreater(letters, 0)
        self.assertEqual(app.arrived() + letters, EVENTS + more)

    def test_several_workers_and_several_indices(self):
        shut = sorted(self.all, key=lambda index: len(self.all[index]))[-2:]
        events = sum(len(self.all[index]) for index in shut)
        for mode in ("durable", "memory"):
            with self.subTest(mode):
                app = Cluster(REPLIES["closed"], shut)
                server = self.serve(app)
                agent = self.start(self.config(self.folder, server.url, mode, {
                    "data_dir": str(self.folder / mode)}, workers=4, batch={"events": 50}))
                self.wait_for_others(app, server, events)
                for index in shut:
                    with server.lock:
                        app.shut.discard(index)
                self.end(agent)
                self.assert_all(app, ordered=False)
                self.assertEqual(app.twice, 0)

    def test_without_a_data_folder(self):
        app = Cluster(REPLIES["closed"])
        server = self.serve(app)
        agent = self.start(self.config(self.folder, server.url, "memory", {"data_dir": None}))
        self.wait_for_others(app, server)
        self.open(app, server)
        self.end(agent)
        self.assert_all(app, ordered=False)

    def test_every_index_is_shut_for_a_while(self):
        app = Cluster(REPLIES["closed"], self.all)
        server = self.serve(app)
        agent = self.start(self.config(self.folder, server.url, workers=1))
        server.wait_for(lambda: len(server.posts()) > 60, TIMEOUT_S)
        self.assertEqual(app.arrived(), 0)
        self.open(app, server)
        self.end(agent)
        self.assert_all(app)

    def test_what_is_held_in_memory_is_bounded(self):
        app = Cluster(REPLIES["closed"])
        server = self.serve(app)
        # Some 3 MB of documents, far more than what it may hold: so the output waits in the end.
        agent = self.start(self.config(self.folder, server.url, "memory", {
            "data_dir": None, "memory": "16MB"}, workers=1))
        server.wait_for(lambda: "held events have filled their share of the spool" in self.told() and server.posts(),
                        TIMEOUT_S)
        self.assertLess(app.arrived(), EVENTS - self.shut_events)
        self.open(app, server)
        self.end(agent)
        self.assert_all(app)

    # ---- a wrong mapping -------------------------------------------------------------------------

    def documents_for_shut(self, request):
        return sum(1 for action in request.data.split(b"\n")[0:-1:2]
                   if json.loads(action)["create"]["_index"] == SHUT)

    def test_an_index_with_a_wrong_mapping_is_held_beside_healthy_ones(self):
        for mode in ("durable", "memory"):
            with self.subTest(mode):
                app = Cluster(MAPPING)
                server = self.serve(app)
                server.keep_bodies = True
                config = self.config(self.folder, server.url, mode, {
                    "data_dir": str(self.folder / mode)}, workers=1)
                agent = self.start(config)
                self.wait_for_others(app, server)
                asked = len(server.posts())
                server.wait_for(lambda: len(server.posts()) > asked + 10, TIMEOUT_S)
                # Two deliveries in a row may be bad events; no more of them become dead letters.
                letters = self.dead_letters(config)
                documents = [self.documents_for_shut(request) for request in server.posts()]
                refused = [count for count in documents if count]
                self.assertEqual(len(letters), sum(refused[:2]))
                self.assertEqual({letter["index"] for letter in letters}, {SHUT})
                # The third is held, and asked for by one event at a time.
                self.assertGreater(len(refused), 10)
                self.assertEqual(set(refused[3:]), {1})
                self.assertIn(f"{SHUT} accepts no events: status 400 mapper_parsing_exception: failed to parse",
                              self.told())
                self.assertIn("every event for it is rejected", self.told())
                self.open(app, server)
                told = self.end(agent, LOSSES)
                self.assertEqual(told.count(f"{SHUT} accepts events again"), 1)
                self.assertEqual(self.dead_letters(config), letters)
                self.assertEqual(app.arrived() + len(letters), EVENTS)
                for index, sequences in self.sequences(app).items():
                    kept = sequences[1:] if index == SHUT else sequences  # but the one that was asked for
                    self.assertEqual(kept, sorted(kept))
                self.assertEqual(app.twice, 0)

    def choosy(self):
        """The first events for SHUT are bad themselves, so no correction of the set-up helps. Returns their
        numbers."""
        bad = set(sorted(self.all[SHUT])[:self.shut_events * 2 // 3])
        app = Bulk(lambda _, index, name, document: MAPPING if sequence_of(document) in bad else None)
        return app, bad

    def assert_divided(self, app, bad, config):
        letters = [letter["document"]["etw"]["sequence"] for letter in self.dead_letters(config)]
        arrived = [sequence for found in self.sequences(app).values() for sequence in found]
        self.assertEqual(set(letters), bad)
        self.assertEqual(sorted(arrived), sorted(set(range(1, EVENTS + 1)) - bad))
        return letters

    def test_bad_events_that_come_first_do_not_hold_up_good_ones(self):
        for mode, workers in (("durable", 1), ("durable", 4), ("memory", 1), ("memory", 4)):
            with self.subTest(mode, workers=workers):
                app, bad = self.choosy()
                server = self.serve(app)
                config = self.config(self.folder, server.url, mode, {
                    "data_dir": str(self.folder / f"{mode} {workers}")}, workers=workers)
                told = self.end(self.start(config), LOSSES)
                self.assertEqual(len(self.assert_divided(app, bad, config)), len(bad))
                self.assertEqual(app.twice, 0)
                self.assertIn("every event for it is rejected", told)
                self.assertIn(f"{SHUT} accepts events again", told)
                # Those that were asked for go ahead, one at a time.
                arrived = self.sequences(app)[SHUT]
                ahead = sum(1 for a, b in zip(arrived, arrived[1:]) if a > b)
                self.assertLess(ahead, len(arrived) // 4 if workers == 1 else len(arrived))

    def test_kills_while_good_events_wait_behind_bad_ones(self):
        for mode in ("durable", "memory"):
            with self.subTest(mode):
                app, bad = self.choosy()
                server = self.serve(app)
                config = self.config(self.folder, server.url, mode, {
                    "data_dir": str(self.folder / mode)}, workers=1)
                for arrived in (1, 3):
                    agent = self.start(config)
                    server.wait_for(lambda: len(self.sequences(app).get(SHUT, [])) >= arrived, TIMEOUT_S)
                    agent.kill()
                    agent.wait()
                self.assertIn(self.start(config).wait(TIMEOUT_S), (DONE, LOSSES))
                self.assert_divided(app, bad, config)
                self.assertNotIn("duplicate", self.told())

    def test_every_worker_hears_of_a_wrong_mapping(self):
        shut = sorted(self.all, key=lambda index: len(self.all[index]))[-2:]
        events = sum(len(self.all[index]) for index in shut)
        app = Cluster(MAPPING, shut)
        server = self.serve(app)
        config = self.config(self.folder, server.url, workers=4, batch={"events": 100})
        agent = self.start(config)
        self.wait_for_others(app, server, events)
        asked = len(server.posts())
        server.wait_for(lambda: len(server.posts()) > asked + 40, TIMEOUT_S)
        self.open(app, server)
        told = self.end(agent, LOSSES)
        letters = self.dead_letters(config)
        # Each worker may give up two deliveries for each index.
        self.assertLessEqual(len(letters), 4 * 2 * 100)
        self.assertEqual(app.arrived() + len(letters), EVENTS)
        for index in shut:
            self.assertEqual(told.count(f"{index} accepts events again"), 1)

    def test_kills_while_a_wrong_mapping_is_held(self):
        for mode in ("durable", "memory"):
            with self.subTest(mode):
                app = Cluster(MAPPING)
                server = self.serve(app)
                config = self.config(self.folder, server.url, mode, {
                    "data_dir": str(self.folder / mode)}, workers=1)
                for _ in range(3):
                    agent = self.start(config)
                    self.wait_for_others(app, server)
                    asked = len(server.posts())
                    server.wait_for(lambda: len(server.posts()) > asked + 5, TIMEOUT_S)
                    agent.kill()
                    agent.wait()
                letters = {letter["document"]["etw"]["sequence"] for letter in self.dead_letters(config)}
                # Nobody remembers over a kill what was refused: two deliveries for each start.
                self.assertLess(len(letters), len(self.all[SHUT]) // 2)
                self.open(app, server)
                agent = self.start(config)
                self.assertIn(agent.wait(TIMEOUT_S), (DONE, LOSSES))
                told = self.told()
                letters = {letter["document"]["etw"]["sequence"] for letter in self.dead_letters(config)}
                arrived = {sequence for found in self.sequences(app).values() for sequence in found}
                self.assertEqual(arrived | letters, set(range(1, EVENTS + 1)))
                self.assertNotIn("duplicate", told)

    @unittest.skipIf(os.name == "nt", "SIGHUP")
    def test_a_reload_while_a_wrong_mapping_is_held(self):
        for mode in ("durable", "memory"):
            with self.subTest(mode):
                app = Cluster(MAPPING)
                server = self.serve(app)
                options = {"data_dir": str(self.folder / mode), "shutdown": "200ms"}
                config = self.config(self.folder, server.url, mode, options, workers=1)
                agent = self.start(config)
                self.wait_for_others(app, server)
                server.wait_for(lambda: "every event for it is rejected" in self.told(), TIMEOUT_S)
                self.config(self.folder, server.url, mode, options | {"labels": {"a": "b"}}, workers=1)
                asked = len(server.posts())
                agent.send_signal(signal.SIGHUP)
                server.wait_for(lambda: len(server.posts()) > asked + 20, TIMEOUT_S)
                self.open(app, server)
                told = self.end(agent, LOSSES)
                letters = {letter["document"]["etw"]["sequence"] for letter in self.dead_letters(config)}
                arrived = {sequence for found in self.sequences(app).values() for sequence in found}
                self.assertEqual(arrived | letters, set(range(1, EVENTS + 1)))
                self.assertLess(len(letters), len(self.all[SHUT]) // 2)
                self.assertRegex(told, "reload")

    def test_what_a_wrong_mapping_holds_for_too_long_becomes_dead_letters(self):
        app = Cluster(MAPPING)
        server = self.serve(app)
        config = self.config(self.folder, server.url, workers=1, retry={
            "min": "10ms", "max": "50ms", "max_age": "1s"})
        told = self.end(self.start(config), LOSSES)
        letters = self.dead_letters(config)
        self.assertEqual(sorted(letter["document"]["etw"]["sequence"] for letter in letters),
                         sorted(self.all[SHUT]))
        self.assertEqual({letter["type"] for letter in letters}, {"too_old", "mapper_parsing_exception"})
        self.assertEqual({letter["status"] for letter in letters}, {400})
        self.assertEqual(app.arrived(), EVENTS - self.shut_events)
        self.assertNotIn("accepts events again", told)

    # ---- kills and stops ------------------------------------------------------------------------

    def test_kills_while_events_are_held(self):
        app = Cluster(REPLIES["blocked"])
        server = self.serve(app)
        config = self.config(self.folder, server.url)
        for _ in range(3):
            agent = self.start(config)
            self.wait_for_others(app, server)
            asked = len(server.posts())
            server.wait_for(lambda: len(server.posts()) > asked + 5, TIMEOUT_S)
            agent.kill()
            agent.wait()
        twice = app.twice
        self.open(app, server)
        told = self.end(self.start(config))
        self.assert_all(app, ordered=False)
        self.assertLess(app.twice - twice, EVENTS // 10)
        self.assertNotIn("duplicate", told)

    def test_a_stop_leaves_what_is_held_in_the_spool(self):
        app = Cluster(REPLIES["blocked"])
        server = self.serve(app)
        config = self.config(self.folder, server.url, agent={"shutdown": "1s"})
        agent = self.start(config)
        self.wait_for_others(app, server)
        asked = len(server.posts())
        server.wait_for(lambda: len(server.posts()) > asked + 5, TIMEOUT_S)  # it has had the replies for the others
        agent.send_signal(signal.SIGTERM)
        told = self.end(agent)
        self.assertIn(f"{self.shut_events} events wait in the spool for the next run", told)
        self.open(app, server)
        self.end(self.start(config))
        self.assert_all(app, ordered=False)
        self.assertEqual(app.twice, 0)

    def test_a_stop_in_memory_mode_brings_them_again(self):
        app = Cluster(REPLIES["blocked"])
        server = self.serve(app)
        config = self.config(self.folder, server.url, "memory", {"shutdown": "200ms"})
        agent = self.start(config)
        self.wait_for_others(app, server)
        agent.send_signal(signal.SIGTERM)
        agent.wait(TIMEOUT_S)
        self.open(app, server)
        self.end(self.start(config))
        self.assert_all(app, ordered=False)

    @unittest.skipIf(os.name == "nt", "SIGHUP")
    def test_a_reload_takes_what_is_held_along(self):
        for mode in ("durable", "memory"):
            with self.subTest(mode):
                app = Cluster(REPLIES["blocked"])
                server = self.serve(app)
                options = {"data_dir": str(self.folder / mode), "shutdown": "200ms"}
                agent = self.start(self.config(self.folder, server.url, mode, options))
                self.wait_for_others(app, server)
                # Another configuration, so that the agent makes way for one that has it.
                self.config(self.folder, server.url, mode, options | {"labels": {"a": "b"}})
                asked = len(server.posts())
                agent.send_signal(signal.SIGHUP)
                server.wait_for(lambda: len(server.posts()) > asked + 20, TIMEOUT_S)
                self.open(app, server)
                told = self.end(agent)
                self.assert_all(app, ordered=False)
                self.assertNotIn("duplicate", told)
                self.assertRegex(told, "reload")

    def test_the_status_says_what_is_held_and_why(self):
        app = Cluster(REPLIES["blocked"])
        server = self.serve(app)
        path = self.config(self.folder, server.url)
        config = json.loads(path.read_text())
        config["agent"]["log"] = {"stats": "1s"}
        config["outputs"].append({"name": "local", "type": "file", "path": str(self.folder / "out")})
        path.write_text(json.dumps(config))
        agent = self.start(path)
        self.wait_for_others(app, server)
        asked = len(server.posts())
        out = self.folder / "out"
        server.wait_for(lambda: out.exists() and b'"routes":1' in out.read_bytes() and
                        len(server.posts()) > asked, TIMEOUT_S)
        self.open(app, server)
        told = self.end(agent)
        self.assertRegex(told, r"output store: .*, \d+ held, degraded")
        held = 0
        for line in (self.folder / "out").read_bytes().splitlines():
            for output in json.loads(line).get("status", {}).get("outputs", []):
                counts = {name: output[name] for name in ("filtered", "rolled_up", "acked",
                                                          "dead_lettered", "pending")}
                self.assertEqual(output["offered"],
                                 sum(counts.values()) + sum(output["dropped"].values()))
                if output["name"] == "store" and output["parked"]["routes"]:
                    held += 1
                    self.assertTrue(output["degraded"])
                    self.assertLessEqual(output["parked"]["events"], self.shut_events)
                    self.assertRegex(output["parked"]["first"], f"^{SHUT}: status 403 .*blocked by")
        self.assertGreater(held, 0)

    # ---- too old ---------------------------------------------------------------------------------

    def test_what_is_held_for_too_long_becomes_dead_letters(self):
        for mode in ("durable", "memory"):
            with self.subTest(mode):
                app = Cluster(REPLIES["blocked"])
                server = self.serve(app)
                config = self.config(self.folder, server.url, mode, {
                    "data_dir": str(self.folder / mode)}, retry={
                        "min": "10ms", "max": "50ms", "max_age": "1s"})
                told = self.end(self.start(config), LOSSES)
                letters = self.dead_letters(config)
                self.assertEqual(sorted(letter["document"]["etw"]["sequence"] for letter in letters),
                                 sorted(self.all[SHUT]))
                for letter in letters:
                    self.assertEqual((letter["status"], letter["type"], letter["index"]),
                                     (403, "too_old", SHUT))
                    self.assertRegex(letter["reason"], r"^too_old: .*blocked by")
                self.assertEqual(app.arrived(), EVENTS - self.shut_events)
                self.assertRegex(told, "given up after retry.max_age: .*kept as dead letters: see etwship deadletter")
                self.assertIn(f", {self.shut_events} given up as too old (etwship deadletter list)", told)
                self.assertNotIn("accepts events again", told)
                # They can be sent again.
                self.open(app, server)
                subprocess.run([BINARY, "deadletter", "replay", "-c", str(config)], check=True,
                               timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
                self.assert_all(app, ordered=False)

    def test_an_output_with_one_index_gives_up_the_same_way(self):
        app = Cluster(REPLIES["blocked"], ["one"])
        server = self.serve(app)
        config = self.config(self.folder, server.url, index="one", workers=1, batch={"events": 3000},
                             retry={"min": "10ms", "max": "50ms", "max_age": "1s"})
        told = self.end(self.start(config), LOSSES)
        letters = self.dead_letters(config)
        self.assertEqual(sorted(letter["document"]["etw"]["sequence"] for letter in letters),
                         list(range(1, EVENTS + 1)))
        self.assertEqual({letter["type"] for letter in letters}, {"too_old"})
        self.assertRegex(letters[0]["reason"], "^too_old: .*blocked by")
        self.assertIn("given up after retry.max_age", told)

    def test_a_server_that_is_gone_for_too_long_gives_dead_letters(self):
        gone = f"http://127.0.0.1:{reserve_port(self)}"
        config = self.config(self.folder, gone, workers=1, batch={"events": 3000},
                             retry={"min": "10ms", "max": "50ms", "max_age": "1s"})
        self.end(self.start(config), LOSSES)
        letters = self.dead_letters(config)
        self.assertEqual(sorted(letter["document"]["etw"]["sequence"] for letter in letters),
                         list(range(1, EVENTS + 1)))
        self.assertRegex(letters[0]["reason"], "^too_old: ")

    def test_without_dead_letters_it_is_a_loss_and_a_gap(self):
        app = Cluster(REPLIES["blocked"])
        server = self.serve(app)
        config = self.config(self.folder, server.url, "memory", {"data_dir": None}, retry={
            "min": "10ms", "max": "50ms", "max_age": "1s"})
        told = self.end(self.start(config), LOSSES)
        gaps = [json.loads(document) for document in app.documents() if b"too_old" in document]
        self.assertEqual(sum(gap["gap"]["count"] for gap in gaps), self.shut_events, gaps)
        self.assertRegex(told, "given up after retry.max_age: .*they are lost")
        self.assertIn(f", {self.shut_events} lost as too old", told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
