"""`etwship setup` and `etwship test-output` against real servers.

    real_setup.py opensearch|elasticsearch
"""

import json
import sys
import unittest

import etwship
import servers

TIME = "1601-01-01T00:00:00.0000000Z"
SHAPES = {"native": "etw.native", "ecs": "etw.events"}
MAX_UINT64 = 2 ** 64 - 1


class Setup(etwship.Case):
    """Needs `dialect` and `kind`."""

    @classmethod
    def setUpClass(cls):
        cls.server = servers.Server(cls.kind)
        cls.addClassCleanup(cls.server.close)

    def setup_of(self, shape, *arguments, code=etwship.DONE, **more):
        config = self.write(self.output(self.server.url, format=shape, **more))
        return self.etwship("setup", "siem", "-c", config, *arguments, code=code)

    def template(self, name):
        return self.server.ask("GET", f"/_index_template/{name}")["index_templates"][0][
            "index_template"]

    def mapping(self, shape):
        stream = f"logs-{SHAPES[shape]}-mapping"
        self.server.bulk(stream, {"create": {}}, {"@timestamp": TIME})
        found = self.server.ask("GET", f"/{stream}/_mapping")
        return next(iter(found.values()))["mappings"]["properties"]

    def test_a_template_is_made_once_and_then_left_alone(self):
        for shape, dataset in SHAPES.items():
            self.assertIn("is in place\n", self.setup_of(shape))
            made = self.template(f"etwship-logs-{dataset}")
            self.assertEqual(made["index_patterns"], [f"logs-{dataset}-*"])
            self.assertIn("is in place already\n", self.setup_of(shape))
            self.server.ask("PUT", f"/_index_template/etwship-logs-{dataset}", {
                "index_patterns": [f"logs-{dataset}-*"], "data_stream": {}, "priority": 301})
            self.assertIn("is in place\n", self.setup_of(shape))
            self.assertEqual(self.template(f"etwship-logs-{dataset}"), made)

    def test_a_dry_run_changes_nothing_and_shows_what_can_be_sent_by_hand(self):
        dataset = {"dataset": "etw.dry"}
        text = self.setup_of("ecs", "--dry-run", data_stream=dataset)
        self.assertEqual(
            self.server.request("GET", "/_index_template/etwship-logs-etw.dry").status, 404)
        lines = text.splitlines()
        put = next(i for i, line in enumerate(lines) if line.startswith("PUT "))
        self.assertEqual(lines[put], "PUT /_index_template/etwship-logs-etw.dry")
        if self.dialect == "opensearch":
            self.server.ask("PUT", lines[put].split()[1], json.loads(lines[put + 1]))
            self.assertIn("in place already", self.setup_of("ecs", data_stream=dataset))

    def test_fields_have_the_types_of_the_tables(self):
        payload = "flat_object" if self.dialect == "opensearch" else "flattened"
        for shape, where in (("native", "data"), ("ecs", "winlog.event_data")):
            self.setup_of(shape)
            fields = found = {"properties": self.mapping(shape)}
            for name in where.split("."):
                found = found["properties"][name]
            self.assertEqual(found["type"], payload)
            self.assertEqual(fields["properties"]["@timestamp"], {"type": "date"})
            self.assertEqual(fields["properties"]["overflow"],
                             {"type": "object", "enabled": False})

    def refused(self, shape, *documents):
        self.setup_of(shape)
        lines = []
        for document in documents:
            lines += [{"create": {}}, {"@timestamp": TIME} | document]
        reply = self.server.bulk(f"logs-{SHAPES[shape]}-odd", *lines).json()
        items = [item["create"] for item in reply["items"]]
        return [(document, item.get("error")) for document, item in zip(documents, items)
                if item["status"] != 201]

    def test_nothing_that_an_event_may_hold_is_refused(self):
        deep = {"a": 1}
        for _ in range(12):
            deep = {"a": deep}
        payloads = [
            {"ScriptBlockText": "x" * (32000 - len("winlog.event_data.ScriptBlockText"))},
            {f"field{i}": i for i in range(2000)},
            {"same": 1}, {"same": "text"}, {"same": {"a": 1}}, {"same": [{"a": [1, "b"]}]},
            {"number": str(MAX_UINT64)}, {"number": MAX_UINT64}, {"number": 1e300},
            {"none": None, "list": [1, None, {"a": None}], "lists": [[1], []]},
            {"a.b": 1, "a": {"b": 2}}, {"k" * 512: "v"}, {}, deep]
        natives = [{"data": payload} for payload in payloads]
        natives += [
            {"overflow": {"ScriptBlockText": "x" * 61440}}, {"payload": "ab" * 60000},
            {"message": "m" * 60000}, {"tags": ["t" * 40000]}, {"labels": {"site": "x" * 40000}},
            {"status": {"a": [1, "b"]}}, {"etw": {"processor_time": MAX_UINT64}},
            {"extended": {"instance": "ff"}}, {"extended": {"instance": {"id": 1}}},
            {"event": {"code": MAX_UINT64, "name": ["a", "b"]}}, {"unknown": {"a": 1}},
            {"unknown": 1}]
        self.assertEqual(self.refused("native", *natives), [])
        ecs = [{"winlog": {"event_data": payload}} for payload in payloads]
        ecs += [{"host": {"ip": ["::1", "none"]}}, {"etw": {"status": {"a": 1}}},
                {"data_stream": {"type": "logs", "dataset": "etw.events", "namespace": "odd"}}]
        self.assertEqual(self.refused("ecs", *ecs), [])

    def test_payloads_are_searched_by_their_members(self):
        self.setup_of("native")
        stream = "logs-etw.native-search"
        self.server.bulk(stream, {"create": {}},
                         {"@timestamp": TIME, "data": {"QueryName": "example.org", "Type": 28}})
        self.server.ask("POST", f"/{stream}/_refresh")
        for field, value, count in (("QueryName", "example.org", 1), ("Type", "28", 1),
                                    ("QueryName", "28", 0)):
            found = self.server.ask("POST", f"/{stream}/_count",
                                    {"query": {"term": {f"data.{field}": value}}})
            self.assertEqual(found["count"], count, field)

    def test_an_index_gets_a_template_for_its_prefix(self):
        text = self.setup_of("native", index="etw-{provider.name}-%Y")
        self.assertIn("etwship-etw for etw-*", text)
        made = self.template("etwship-etw")
        self.assertEqual(made["index_patterns"], ["etw-*"])
        self.assertNotIn("data_stream", made)

    def test_a_longer_pattern_wins_over_a_shorter_one(self):
        self.setup_of("native", data_stream={"dataset": "etw.long.{provider.name}"})
        self.setup_of("native", data_stream={"dataset": "etw.long.one"})
        short = self.template("etwship-logs-etw.long")
        long = self.template("etwship-logs-etw.long.one")
        self.assertEqual(short["index_patterns"], ["logs-etw.long.*"])
        self.assertGreater(long["priority"], short["priority"])

    def test_a_template_that_wins_over_ours_is_named(self):
        more = {"data_stream": {"dataset": "etw.rival"}}
        self.setup_of("native", **more)
        self.server.ask("PUT", "/_index_template/corp-logs", {
            "index_patterns": ["other-*", "logs-etw.rival*"], "data_stream": {}, "priority": 9000})
        text = self.setup_of("native", code=etwship.FAILED, **more)
        self.assertIn("corp-logs wins for logs-etw.rival-* by its priority of 9000", text)
        config = self.write(self.output(self.server.url, **more))
        text = self.etwship("test-output", "siem", "-c", config, code=etwship.FAILED)
        self.assertIn("corp-logs wins", text)
        self.server.ask("DELETE", "/_index_template/corp-logs")
        self.assertNotIn("wins", self.setup_of("native", **more))

    def test_long_command_lines_are_found_whole_and_by_their_words(self):
        self.setup_of("ecs")
        stream = "logs-etw.events-long"
        lines = ["cmd.exe /c echo " + "x" * 1220, "powershell -enc " + "QUJD" * 7900,
                 "umlaut.exe " + "\u00e4" * 15000]
        documents = []
        for line in lines:
            documents += [{"create": {}}, {"@timestamp": TIME, "process": {
                "command_line": line, "executable": line, "name": line}}]
        reply = self.server.bulk(stream, *documents).json()
        self.assertFalse(reply["errors"], reply)
        self.server.ask("POST", f"/{stream}/_refresh")
        for line in lines:
            for query in ({"term": {"process.command_line": line}},
                          {"match_phrase": {"process.command_line.text": " ".join(line.split()[:1])}}):
                found = self.server.ask("POST", f"/{stream}/_count", {"query": query})
                self.assertEqual(found["count"], 1, str(query)[:80])
        found = self.server.ask("POST", f"/{stream}/_count", {
            "query": {"wildcard": {"process.command_line": "*x" + "x" * 100}}})
        self.assertEqual(found["count"], 1)

    def test_streams_that_are_there_are_told_to_roll_over(self):
        more = {"data_stream": {"dataset": "etw.there"}}
        self.server.ask("PUT", "/_index_template/old", {
            "index_patterns": ["logs-etw.there-*"], "data_stream": {}, "priority": 100})
        self.server.bulk("logs-etw.there-default", {"create": {}}, {"@timestamp": TIME})
        text = self.setup_of("native", **more)
        if self.server.request("GET", "/_data_stream/logs-etw.there-default").status == 200:
            self.assertIn("_rollover", text)

    def test_an_index_in_the_place_of_a_data_stream_is_told(self):
        stream = {"data_stream": {"dataset": "etw.early"}}
        self.assertNotIn("not a data stream", self.setup_of("native", **stream))
        self.server.ask("DELETE", "/_index_template/etwship-logs-etw.early")
        self.server.ask("PUT", "/logs-etw.early-default")
        for _ in range(2):
            self.assertRegex(self.setup_of("native", **stream),
                             r"note: +logs-etw.early-\*: an index, not a data stream, has this name")
        config = self.write(self.output(self.server.url, **stream))
        text = self.etwship("test-output", "siem", "-c", config)
        self.assertIn("an index, not a data stream, has this name", text)

    def test_a_lifecycle_is_refused_with_words_where_there_is_none(self):
        text = self.setup_of("native", code=etwship.FAILED, data_stream={"dataset": "etw.life"},
                             lifecycle={"policy": "keep"})
        self.assertIn("remove `lifecycle`", text)

    def test_a_test_names_what_is_missing(self):
        config = self.write(self.output(self.server.url, data_stream={"dataset": "etw.test"}))
        text = self.etwship("test-output", "siem", "-c", config, code=etwship.FAILED)
        self.assertIn("etwship setup siem", text)
        self.assertIn("no test event is sent", text)
        self.assertEqual(self.server.request("GET", "/logs-etw.test-default").status, 404)
        self.etwship("setup", "siem", "-c", config)
        text = self.etwship("test-output", "siem", "-c", config)
        self.assertNotIn("fault: ", text)
        self.assertIn("a test event was delivered", text)
        self.assertEqual(self.server.count("logs-etw.test-default"), 1)


def main():
    name = sys.argv.pop()
    try:
        Setup.kind = {"opensearch": servers.OpenSearch,
                      "elasticsearch": servers.Elasticsearch}[name]()
    except servers.Missing as error:
        print(f"skipped: {error}")
        sys.exit(77)
    Setup.dialect = name
    try:
        good = unittest.main(exit=False).result.wasSuccessful()
    finally:
        Setup.kind.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
