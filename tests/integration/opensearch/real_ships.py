"""`etwship run` against real servers: what they answer, crashes included, and what must be in the store
afterwards: every event once.

    real_ships.py opensearch|elasticsearch [--full]
"""

import json
import os
import subprocess
import time

import etwship

ODD_EVENTS = os.environ["ETWSHIP_ODD_EVENTS"]
FULL = etwship.FULL
# Of eight workers each has a batch that is too large. What is refused is asked for again until there is room, which
# costs a processor more than all other tests here.
EVENTS, BATCH = (10000, 500) if FULL else (2000, 250)
CRASH_EVENTS = 100000 if FULL else 30000
FEW = 2000
BULK_BYTES = 100 * 1024


class Ships(etwship.ServerCase):
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

    # ---- crashes ---------------------------------------------------------------------------------

    def test_a_server_that_is_killed_twice_loses_and_repeats_nothing(self):
        self.skip_the_other_dialect()
        config = self.ready(self.trace(CRASH_EVENTS), batch={"events": 1000},
                            retry={"min": "50ms", "max": "500ms"})
        start = time.monotonic()
        agent = etwship.Agent(self, config)
        for _ in range(2):
            agent.wait_until(lambda: self.stored() >= CRASH_EVENTS // 4)
            self.server.kill()
            self.server.start()
        agent.end()
        print(f"\n{self.dialect}: {CRASH_EVENTS} events through two kills "
              f"in {time.monotonic() - start:.0f} s")
        self.assert_every_event_once(CRASH_EVENTS)

    def stored(self):
        """Since the start of the server, also before a refresh; 0 while there is no stream."""
        answer = self.server.request("GET", f"/{self.stream}/_stats/indexing")
        if answer.status != 200:
            return 0
        return answer.json()["_all"]["primaries"].get("indexing", {}).get("index_total", 0)


class ShipsUnderPressure(etwship.ServerCase):
    """A node with little room."""

    settings = {
        "http__max_content_length": f"{BULK_BYTES}b", "indexing_pressure__memory__limit": "400kb",
        "thread_pool__write__size": 1, "thread_pool__write__queue_size": 1}

    def test_what_is_too_large_or_too_much_arrives_once(self):
        """Batches above the limit get a 413 until they are small enough; eight at a time find the
        queue full, as a whole or by items."""
        self.skip_the_other_dialect()
        config = self.ready(self.trace(EVENTS), workers=8, batch={"events": BATCH},
                            retry={"min": "20ms", "max": "200ms"})
        self.run_agent(config)
        self.assert_every_event_once(EVENTS)
        node = next(iter(self.server.ask(
            "GET", "/_nodes/stats/thread_pool,indexing_pressure")["nodes"].values()))
        rejected = node["thread_pool"]["write"]["rejected"]
        pressure = node["indexing_pressure"]["memory"]["total"]["coordinating_rejections"]
        print(f"\n{self.dialect}: {rejected} bulks found the queue full, {pressure} no memory")
        self.assertGreater(rejected + pressure, 0)


if __name__ == "__main__":
    etwship.main(Ships, ShipsUnderPressure)
