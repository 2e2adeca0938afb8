"""`etwship run` against real servers: what they answer, crashes included, and what must be in the store
afterwards: every event once.

    real_ships.py opensearch|elasticsearch [--full]
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import etwship
import servers

ODD_EVENTS = os.environ["ETWSHIP_ODD_EVENTS"]
FULL = "--full" in sys.argv
EVENTS = 10000
CRASH_EVENTS = 100000 if FULL else 30000
FEW = 2000
STREAM = "logs-etw.native-default"
BULK_BYTES = 100 * 1024


class Agent:
    """A run that is watched while it goes on."""

    def __init__(self, case, config):
        self.case = case
        self.log = case.folder / "run.log"
        self.file = self.log.open("wb")
        self.process = subprocess.Popen(
            [etwship.BINARY, "run", "-c", str(config)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self.file)
        case.addCleanup(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.file.close()

    def text(self):
        return self.log.read_text(errors="replace")

    def wait_until(self, holds):
        """Neither server nor files tell when they change: they are looked at."""
        deadline = time.monotonic() + etwship.TIMEOUT_S
        while not holds():
            self.case.assertIsNone(self.process.poll(), self.text())
            self.case.assertLess(time.monotonic(), deadline, self.text())
            time.sleep(0.05)

    def wait_for_text(self, text):
        self.wait_until(lambda: text in self.text())

    def end(self, code=etwship.DONE):
        self.case.assertEqual(self.process.wait(etwship.TIMEOUT_S), code, self.text())
        return self.text()


class Ships(etwship.Case):
    """Needs `dialect` and `kind`."""

    @classmethod
    def setUpClass(cls):
        cls.server = servers.Server(cls.kind)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        # A store of its own for every test.
        self.dataset = f"t{self.id().rsplit('.', 1)[1]}".lower()[:60]
        self.stream = f"logs-{self.dataset}-default"

    def config(self, *traces, server=None, **more):
        more.setdefault("data_stream", {"dataset": self.dataset})
        output = self.output((server or self.server).url, **more)
        return self.write({key: value for key, value in output.items() if value is not None},
                          traces=traces)

    def trace(self, events, name="trace.etl", *options):
        return etwship.make_trace(self.folder / name, events, *options)

    def ready(self, *traces, **more):
        config = self.config(*traces, **more)
        self.etwship("setup", "siem", "-c", config)
        return config

    def forget(self):
        """What was read and acknowledged."""
        shutil.rmtree(self.folder / "state", ignore_errors=True)

    def run_agent(self, config, code=etwship.DONE):
        return self.etwship("run", "-c", config, code=code)

    def assert_every_event_once(self, events, target=None, server=None):
        """By number of documents, and by the sum over their sequence numbers."""
        documents = (server or self.server).documents(target or self.stream, ["etw.sequence"])
        self.assertEqual(len(documents), events)
        numbers = sorted(document["etw"]["sequence"] for document in documents.values())
        self.assertEqual(numbers, list(range(1, events + 1)))

    # ---- what is stored -------------------------------------------------------------------------

    def test_events_arrive_as_they_are_dumped_and_reading_again_adds_none(self):
        trace = self.trace(FEW)
        config = self.ready(trace)
        self.assertNotIn("etwship setup", self.run_agent(config))
        self.assert_every_event_once(FEW)
        stored = {document["etw"]["sequence"]: document
                  for document in self.server.documents(self.stream).values()}
        dumped = subprocess.run([etwship.BINARY, "dump", str(trace)], check=True,
                                timeout=etwship.TIMEOUT_S, stdout=subprocess.PIPE).stdout
        for number, line in enumerate(dumped.splitlines(), 1):
            event, got = json.loads(line), stored[number]
            for member in ("@timestamp", "provider", "event", "process"):
                self.assertEqual(got.get(member), event.get(member))
            self.assertEqual(got.get("data", {}).keys(), event.get("data", {}).keys())
        self.forget()
        self.run_agent(config)
        self.assert_every_event_once(FEW)

    def test_the_ecs_event_is_taken_too(self):
        self.run_agent(self.ready(self.trace(FEW), format="ecs"))
        documents = self.server.documents(self.stream, ["event.sequence", "data_stream"])
        self.assertEqual(sorted(d["event"]["sequence"] for d in documents.values()),
                         list(range(1, FEW + 1)))

    def test_fields_choose_the_index(self):
        prefix = f"etw-{self.dataset}-"
        self.run_agent(self.ready(self.trace(FEW), data_stream=None,
                                  index=prefix + "{provider.name}-%Y.%m"))
        self.assert_every_event_once(FEW, prefix + "*")
        found = self.server.ask("GET", f"/{prefix}*/_stats/docs")["indices"]
        self.assertIn(prefix + "etwship_sample_dns-2026.11", found)
        self.assertGreater(len(found), 3)

    def test_a_missing_template_is_told_with_the_command_that_makes_it(self):
        self.server.ask("PUT", f"/_index_template/{self.dataset}", {
            "index_patterns": [self.stream], "data_stream": {}, "priority": 10,
            "template": {"mappings": {"dynamic": False}}})
        text = self.run_agent(self.config(self.trace(10)))
        self.assertIn("run: etwship setup siem", text)

    def test_nothing_odd_is_refused(self):
        """60 KB in a string, 2,000 names, a name of two types, the year 1601, UINT64's maximum."""
        traces = [self.folder / "odd.etl", self.folder / "old.etl"]
        subprocess.run([ODD_EVENTS, traces[0]], check=True, timeout=etwship.TIMEOUT_S)
        subprocess.run([ODD_EVENTS, traces[1], "5"], check=True, timeout=etwship.TIMEOUT_S)
        for shape, member in (("native", lambda event: event["data"]),
                              ("ecs", lambda event: event["winlog"]["event_data"])):
            dataset = {"dataset": f"{self.dataset}.{shape}"}
            self.forget()
            self.run_agent(self.ready(*traces, format=shape, data_stream=dataset))
            found = list(self.server.documents(f"logs-{self.dataset}.{shape}-default").values())
            self.assertEqual(len(found), 2 * 26)
            self.assertEqual(len([e for e in found if e["@timestamp"].startswith("1601-")]), 26)
            longs = [e for e in found if "overflow" in e]
            self.assertEqual(len(longs), 4)
            for event in longs:
                whole = json.dumps(event["overflow"], ensure_ascii=False).encode()
                self.assertGreater(len(whole), 60000)
                self.assertLessEqual(len(member(event)["ScriptBlockText"].encode()), 32000)
            names = {name for event in found for name in member(event)}
            self.assertGreater(len(names), 2000)
            largest = [member(event)["Largest"] for event in found if "Largest" in member(event)]
            self.assertEqual(largest, [str(2 ** 64 - 1)] * 2)

    # ---- what is refused ------------------------------------------------------------------------

    def test_what_does_not_fit_the_mapping_becomes_a_dead_letter_alone(self):
        trace = self.trace(FEW)
        lines = subprocess.run([etwship.BINARY, "dump", str(trace)], check=True,
                               timeout=etwship.TIMEOUT_S, stdout=subprocess.PIPE).stdout
        bad = [json.loads(line)["data"]["QueryName"] for line in lines.splitlines()
               if b'"QueryName":' in line]
        self.assertGreater(len(bad), 10)
        self.server.ask("PUT", f"/_index_template/{self.dataset}", {
            "index_patterns": [self.stream], "data_stream": {}, "priority": 1000,
            "template": {"mappings": {"dynamic": False, "properties": {
                "data": {"properties": {"QueryName": {"type": "long"}}}}}}})
        config = self.config(trace)
        self.run_agent(config, etwship.LOSSES)
        self.assertEqual(self.server.count(self.stream), FEW - len(bad))
        letters = [json.loads(line) for line in self.etwship(
            "deadletter", "list", "--json", "-c", config).splitlines()]
        self.assertEqual(len(letters), len(bad))
        kind = {"opensearch": "mapper_parsing_exception",
                "elasticsearch": "document_parsing_exception"}[self.dialect]
        for letter in letters:
            self.assertEqual((letter["output"], letter["status"], letter["type"]),
                             ("siem", 400, kind))
            self.assertIn(self.dataset, letter["index"])

    # ---- what passes ----------------------------------------------------------------------------

    def test_a_block_is_waited_out(self):
        """A write block is a 403 of the item, a full disk a 429."""
        for block in ("write", "read_only_allow_delete"):
            dataset = {"dataset": f"{self.dataset}.{block}"}
            stream = f"logs-{self.dataset}.{block}-default"
            config = self.ready(self.trace(FEW), data_stream=dataset,
                                retry={"min": "50ms", "max": "200ms"})
            self.server.bulk(stream, {"create": {"_id": "first"}},
                             {"@timestamp": "2026-11-21T09:30:00Z"})
            self.server.ask("PUT", f"/{stream}/_settings", {f"index.blocks.{block}": True})
            agent = Agent(self, config)
            agent.wait_for_text("cluster_block_exception")
            self.server.ask("PUT", f"/{stream}/_settings", {f"index.blocks.{block}": None})
            agent.end()
            self.assertEqual(self.server.count(stream), FEW + 1)
            self.forget()

    @unittest.skipUnless(FULL, "a fault of set-up is tried again after half a minute")
    def test_an_index_that_may_not_be_made_is_waited_for(self):
        switch = "action.auto_create_index"
        config = self.config(self.trace(FEW))
        self.etwship("setup", "siem", "-c", config)
        self.server.ask("PUT", "/_cluster/settings", {"persistent": {switch: "false"}})
        try:
            agent = Agent(self, config)
            agent.wait_for_text("index_not_found_exception")
        finally:
            self.server.ask("PUT", "/_cluster/settings", {"persistent": {switch: None}})
        agent.end()
        self.assert_every_event_once(FEW)

    def test_a_server_that_is_killed_twice_loses_and_repeats_nothing(self):
        self.skip_the_other_dialect()
        config = self.ready(self.trace(CRASH_EVENTS), batch={"events": 1000},
                            retry={"min": "50ms", "max": "500ms"})
        agent = Agent(self, config)
        for _ in range(2):
            agent.wait_until(lambda: self.stored() >= CRASH_EVENTS // 4)
            self.server.kill()
            self.server.start()
        agent.end()
        self.assert_every_event_once(CRASH_EVENTS)

    def skip_the_other_dialect(self):
        if self.dialect != "opensearch" and not FULL:
            self.skipTest("one server does for what has no dialect; --full takes both")

    def stored(self):
        """Since the start of the server, also before a refresh; 0 while there is no stream."""
        answer = self.server.request("GET", f"/{self.stream}/_stats/indexing")
        if answer.status != 200:
            return 0
        return answer.json()["_all"]["primaries"].get("indexing", {}).get("index_total", 0)


class ShipsUnderPressure(Ships):
    """A node with little room."""

    @classmethod
    def setUpClass(cls):
        cls.server = servers.Server(
            cls.kind, http__max_content_length=f"{BULK_BYTES}b",
            indexing_pressure__memory__limit="400kb",
            thread_pool__write__size=1, thread_pool__write__queue_size=1)
        cls.addClassCleanup(cls.server.close)

    def test_what_is_too_large_or_too_much_arrives_once(self):
        """Batches of a megabyte get a 413 until they are small enough; eight at a time find the
        queue full, as a whole or by items."""
        self.skip_the_other_dialect()
        config = self.ready(self.trace(EVENTS), workers=8, batch={"events": 500},
                            retry={"min": "20ms", "max": "200ms"})
        self.run_agent(config)
        self.assert_every_event_once(EVENTS)
        node = next(iter(self.server.ask(
            "GET", "/_nodes/stats/thread_pool,indexing_pressure")["nodes"].values()))
        rejected = node["thread_pool"]["write"]["rejected"]
        pressure = node["indexing_pressure"]["memory"]["total"]["coordinating_rejections"]
        print(f"\n{self.dialect}: {rejected} bulks found the queue full, {pressure} no memory")
        self.assertGreater(rejected + pressure, 0)


def main():
    name = next(argument for argument in sys.argv[1:] if not argument.startswith("-"))
    try:
        kind = {"opensearch": servers.OpenSearch, "elasticsearch": servers.Elasticsearch}[name]()
    except servers.Missing as error:
        print(f"skipped: {error}")
        sys.exit(77)
    suite = unittest.TestSuite()
    load = unittest.defaultTestLoader
    Ships.kind, Ships.dialect = kind, name
    chosen = [argument for argument in sys.argv[1:] if argument.startswith("test_")]
    suite.addTests(test for test in load.loadTestsFromTestCase(Ships)
                   if not chosen or test.id().rsplit(".", 1)[1] in chosen)
    pressure = "test_what_is_too_large_or_too_much_arrives_once"
    if not chosen or pressure in chosen:
        suite.addTest(ShipsUnderPressure(pressure))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        good = unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()
    finally:
        kind.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
