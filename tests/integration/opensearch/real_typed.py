"""`setup: {timestamps: date_nanos, fields: typed}` against real servers: what is sorted and found, and
that nothing is refused for it.

    real_typed.py opensearch|elasticsearch [--full]
"""

import json
import os
import subprocess
from pathlib import Path

import etwship

ODD_EVENTS = os.environ["ETWSHIP_ODD_EVENTS"]
SHARED = os.environ.get("ETWSHIP_SHARED")
NEIGHBOURS = 60000 if etwship.FULL else 12000  # 24 ms of each trace
FEW = 2000
MOST = 100000 if etwship.FULL else 4000  # of one trace
NANOS = {"timestamps": "date_nanos"}
TYPED = {"fields": "typed"}
FIRST, LAST = "1970-01-01T00:00:00.0000000Z", "2262-04-11T23:47:16.8547758Z"


class Typed(etwship.ServerCase):
    def dumped(self, trace, *options):
        lines = subprocess.run([etwship.BINARY, "dump", *options, str(trace)], check=True,
                               timeout=etwship.TIMEOUT_S, stdout=subprocess.PIPE).stdout
        return [json.loads(line) for line in lines.splitlines()]

    def matching(self, target, query):
        return self.server.ask("POST", f"/{target}/_count", {"query": query})["count"]

    def mapping(self, target):
        found = self.server.ask("GET", f"/{target}/_mapping")
        return next(iter(found.values()))["mappings"]["properties"]

    # ---- times --------------------------------------------------------------------------------------

    def neighbours_out_of_order(self, setup):
        """Two traces of the same seconds, one after the other: what the server sees as one time, it has in
        the order in which it came."""
        traces = [self.trace(NEIGHBOURS // 2, f"near{cpus}.etl", "--rate", "250000", "--cpus", str(cpus))
                  for cpus in (2, 3)]
        self.run_agent(self.ready(*traces, setup=setup))
        self.assertEqual(self.server.count(self.stream), NEIGHBOURS)
        # In one page: what the server takes for equal may be on both sides of the end of a page, or on none.
        self.server.ask("PUT", f"/{self.stream}/_settings", {"index.max_result_window": NEIGHBOURS})
        page = self.server.ask("POST", f"/{self.stream}/_search?filter_path=hits.hits._source", {
            "size": NEIGHBOURS, "_source": ["@timestamp"], "sort": ["@timestamp"]})
        times = [hit["_source"]["@timestamp"] for hit in page["hits"]["hits"]]
        self.assertEqual(len(times), NEIGHBOURS)
        wrong = sum(a > b for a, b in zip(times, times[1:]))
        print(f"\n{self.dialect}: {setup}: {wrong} of {NEIGHBOURS} neighbours out of order")
        return wrong

    def test_events_of_one_millisecond_are_sorted(self):
        self.assertEqual(self.neighbours_out_of_order(NANOS), 0)

    def test_milliseconds_do_not_sort_them(self):
        """So the traces of the test above tell."""
        self.assertGreater(self.neighbours_out_of_order({}), 0)

    def test_times_beyond_nanoseconds_are_kept(self):
        year = 365 * 86400 * 10 ** 7
        for years, shown in ((0, FIRST), (400, None), (800, LAST)):
            filetime = str(years * year + 5)
            trace = self.folder / f"odd{filetime}.etl"
            subprocess.run([ODD_EVENTS, trace, filetime], check=True, timeout=etwship.TIMEOUT_S)
            for shape in ("native", "ecs"):
                dataset = f"{self.dataset}.{shape}.{years}"
                self.forget()
                self.run_agent(self.ready(trace, format=shape, setup=NANOS,
                                          data_stream={"dataset": dataset}))
                found = list(self.server.documents(f"logs-{dataset}-default").values())
                self.assertEqual(len(found), 26)
                own = sorted(event["@timestamp"] for event in self.dumped(trace))
                if shown:
                    self.assertEqual({event["@timestamp"] for event in found}, {shown})
                    self.assertEqual(sorted(e["overflow"]["@timestamp"] for e in found), own)
                else:
                    self.assertEqual(sorted(event["@timestamp"] for event in found), own)

    # ---- payloads -----------------------------------------------------------------------------------

    def test_numbers_are_found_by_ranges(self):
        trace = self.trace(FEW)
        events = self.dumped(trace)
        self.run_agent(self.ready(trace, setup=TYPED | NANOS))
        self.assertEqual(self.server.count(self.stream), FEW)
        properties = self.mapping(self.stream)["data"]["properties"]
        numbers = {}
        for event in events:
            for name, value in event.get("data", {}).items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    numbers.setdefault(name, []).append(value)
        ranged = [name for name in numbers
                  if properties.get(name, {}).get("type") in ("long", "unsigned_long", "double")]
        self.assertGreater(len(ranged), 5)
        for name in ranged:
            middle = sorted(numbers[name])[len(numbers[name]) // 2]
            if abs(middle) >= 2 ** 53:
                continue
            expected = sum(value >= middle for value in numbers[name])
            found = self.matching(self.stream, {"range": {f"data.{name}": {"gte": middle}}})
            self.assertEqual(found, expected, name)

    def test_nothing_of_any_trace_is_refused(self):
        if not (SHARED and Path(SHARED).is_dir()):
            self.skipTest("the shared data is not there")
        traces = sorted(Path(SHARED).glob("data/etl/*.etl"))
        self.assertGreater(len(traces), 10)
        shapes = ("native", "ecs")
        for number, trace in enumerate(traces):
            # One of them is enough of a trace to see what a server makes of numbers and times.
            for shape in shapes if etwship.FULL else shapes[number % 2:][:1]:
                with self.subTest(trace=trace.name, shape=shape):
                    self.ship(trace, shape, f"{self.dataset}.{shape}.{number}")

    def ship(self, trace, shape, dataset):
        """Setup knows the trace: so all fits, and what is a number is one."""
        self.forget()
        config = self.ready(trace, format=shape, setup=TYPED | NANOS,
                            data_stream={"dataset": dataset})
        text = self.etwship("run", "-c", config, "-n", MOST, code=etwship.DONE)
        self.assertNotIn("_unindexed", text)
        target = f"logs-{dataset}-default"
        if self.server.request("GET", f"/{target}").status == 404:
            return
        count = self.server.count(target)
        found = self.server.ask("POST", f"/{target}/_search", {
            "size": 1000, "query": {"exists": {"field": "_ignored"}}})
        ignored = sorted({name for hit in found["hits"]["hits"] for name in hit["_ignored"]})
        print(f"{trace.name} {shape}: {count} events, not indexed: {ignored}")
        # What may not fit by its value: times out of range, floats that are none, and where the server
        # lacks unsigned numbers, those above 2^63 - 1.
        for hit in found["hits"]["hits"]:
            for path in hit["_ignored"]:
                kind = self.type_of(target, path)
                if kind == "long":
                    value = hit["_source"]
                    for name in path.split("."):
                        value = value[name]
                    self.assertGreater(max(map(int, value if isinstance(value, list) else [value])),
                                       2 ** 63 - 1, path)
                else:
                    self.assertIn(kind, ("date_nanos", "double"), path)

    def type_of(self, target, path):
        found = {"properties": self.mapping(target)}
        for name in path.split("."):
            found = found["properties"][name]
        return found["type"]

    def test_what_does_not_fit_is_kept_without_an_index(self):
        trace = self.trace(FEW)
        bad = [event for event in self.dumped(trace) if "QueryName" in event.get("data", {})]
        self.assertGreater(len(bad), 10)
        config = self.ready(trace, setup=TYPED)
        template = f"/_index_template/etwship-logs-{self.dataset}"
        made = self.server.ask("GET", template)["index_templates"][0]["index_template"]
        made["template"]["mappings"]["properties"]["data"]["properties"]["QueryName"] = {
            "properties": {"inner": {"type": "long"}}}
        self.server.ask("PUT", template, made)
        text = self.run_agent(config)
        self.assertIn("etwship setup siem", text)
        self.assert_every_event_once(FEW)
        found = self.server.documents(self.stream).values()
        kept = [event["data_unindexed"]["QueryName"] for event in found if "data_unindexed" in event]
        self.assertEqual(sorted(kept), sorted(event["data"]["QueryName"] for event in bad))

    def test_setup_follows_the_definitions(self):
        config = self.config(self.trace(FEW), setup=TYPED)
        self.assertIn("is in place\n", self.etwship("setup", "siem", "-c", config))
        self.assertIn("is in place already\n", self.etwship("setup", "siem", "-c", config))
        other = self.folder / "odd.etl"
        subprocess.run([ODD_EVENTS, other], check=True, timeout=etwship.TIMEOUT_S)
        config = self.config(other, setup=TYPED)
        text = self.etwship("setup", "siem", "-c", config)
        self.assertIn("is in place\n", text)
        # 2,000 names in one trace.
        self.assertIn("have no room", text)
        text = self.etwship("test-output", "siem", "-c", config)
        self.assertNotIn("fault: ", text)
        self.assertIn("is in place\n", text)

    def test_an_index_takes_as_many_fields_as_it_may(self):
        other = self.folder / "odd.etl"
        subprocess.run([ODD_EVENTS, other], check=True, timeout=etwship.TIMEOUT_S)
        for fields in (400, 1000, 3000):
            dataset = f"{self.dataset}{fields}"
            labels = {"labels": {f"label{i}": "x" for i in range(64)}}
            for shape in ("native", "ecs"):
                self.forget()
                text = self.run_agent(self.ready(
                    other, format=shape, agent=labels, setup=TYPED | {"max_fields": fields},
                    data_stream={"dataset": f"{dataset}.{shape}"}))
                self.assertNotIn("_unindexed", text)
                self.assertEqual(self.server.count(f"logs-{dataset}.{shape}-default"), 26)


if __name__ == "__main__":
    etwship.main(Typed)
