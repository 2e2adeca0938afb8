"""What the servers answer: the facts that the output's verdicts are made for. If a new version of a
server answers otherwise, it is seen here first.

    real_contract.py opensearch|elasticsearch
"""

import concurrent.futures
import gzip
import http.client
import sys
import unittest

import servers

TIME = "2026-11-21T09:30:00.1234567Z"
STREAM = "logs-etw.contract-default"
# A type of error, by dialect.
MAPPING = {"opensearch": "mapper_parsing_exception", "elasticsearch": "document_parsing_exception"}


def create(document, **action):
    return [{"create": action}, document]


class Contract(unittest.TestCase):
    """Needs `dialect` and `kind`."""

    @classmethod
    def setUpClass(cls):
        cls.server = servers.Server(cls.kind)
        cls.addClassCleanup(cls.server.close)
        cls.server.ask("PUT", "/_index_template/contract", {
            "index_patterns": ["logs-etw.contract-*"], "priority": 500, "data_stream": {},
            "template": {"mappings": {"properties": {
                "@timestamp": {"type": "date"}, "number": {"type": "long"},
                "object": {"type": "object"}, "word": {"type": "keyword"}}}}})
        items = cls.server.bulk(STREAM, *create({"@timestamp": TIME}, _id="first")).json()
        assert items["items"][0]["create"]["status"] == 201, items

    def items(self, *lines, target=STREAM, **options):
        """(status, type of the error) of each item of a bulk that is taken as a whole."""
        answer = self.server.bulk(target, *lines, **options)
        self.assertEqual(answer.status, 200, answer.body)
        reply = answer.json()
        found = [next(iter(item.values())) for item in reply["items"]]
        self.assertEqual(reply["errors"], any("error" in item for item in found))
        return [(item["status"], item.get("error", {}).get("type")) for item in found]

    def item(self, document, *more, **action):
        got = self.items(*create(document, **action), *create({"@timestamp": TIME}))
        self.assertEqual(got[1], (201, None), "the neighbour was not stored")
        return got[0]

    # ---- items ----------------------------------------------------------------------------------

    def test_an_id_that_is_there_is_a_conflict(self):
        self.assertEqual(self.item({"@timestamp": TIME}, _id="first"),
                         (409, "version_conflict_engine_exception"))

    def test_what_does_not_fit_the_mapping_is_refused_alone(self):
        for document in ({"number": "x"}, {"object": 1}, {"number": {"a": 1}}):
            with self.subTest(document=document):
                status, _ = got = self.item({"@timestamp": TIME} | document)
                self.assertEqual(status, 400)
                self.assertEqual(got[1], MAPPING[self.dialect])

    def test_a_document_without_time_is_refused_alone(self):
        self.assertEqual(self.item({"word": "x"}), (400, MAPPING[self.dialect]))

    def test_a_document_that_is_no_json_is_refused_alone(self):
        for document in (b'{"@timestamp":', b"nonsense", b'{"word":"\xff\xfe","@timestamp":1}'):
            with self.subTest(document=document):
                self.assertEqual(self.item(document)[0], 400)

    def test_index_is_refused_by_a_data_stream_and_the_item_has_no_id(self):
        answer = self.server.bulk(STREAM, {"index": {}}, {"@timestamp": TIME})
        item = answer.json()["items"][0]["index"]
        self.assertEqual((item["status"], item["error"]["type"], item["_id"]),
                         (400, "illegal_argument_exception", None))

    def test_states_of_the_cluster_are_400s_that_begin_with_known_words(self):
        """As in the table of es_verdict.c."""
        ask = self.server.ask
        for name in ("contract-1", "contract-2"):
            ask("PUT", f"/{name}", {"aliases": {"contract-many": {}}})
        ask("PUT", "/contract-q", {"aliases": {"contract-own": {"index_routing": "q"}}})
        ask("PUT", "/contract-closed")
        ask("POST", "/contract-closed/_close")
        ask("PUT", "/contract-routed", {"mappings": {"_routing": {"required": True}}})
        shards = "cluster.max_shards_per_node"
        illegal = "illegal_argument_exception"
        rows = (
            ("plain", "create", {"pipeline": "none"}, illegal, "pipeline with id [none] "),
            ("contract-many", "create", {}, illegal, "no write index is defined for alias ["),
            (STREAM, "index", {}, illegal, "only write ops with an op_type of create "),
            (STREAM, "create", {"routing": "x"}, illegal, "index request targeting data stream ["),
            ("contract-own", "create", {"routing": "x"}, illegal, "Alias ["),
            ("contract-routed", "create", {"_id": "1"}, "routing_missing_exception", "routing is "),
            ("contract-closed", "create", {}, "index_closed_exception", "closed"),
            ("contract-new", "create", {}, "validation_exception",
             "Validation Failed: 1: this action would add ["),
        )
        ask("PUT", "/_cluster/settings", {"persistent": {shards: "1"}})
        try:
            for target, verb, action, kind, words in rows:
                with self.subTest(target=target, verb=verb, action=action):
                    answer = self.server.bulk(target, {verb: action}, {"@timestamp": TIME})
                    item = answer.json()["items"][0][verb]
                    self.assertEqual((item["status"], item["error"]["type"]), (400, kind))
                    self.assertTrue(item["error"]["reason"].startswith(words), item)
        finally:
            ask("PUT", "/_cluster/settings", {"persistent": {shards: None}})

    def test_what_passes_a_limit_of_the_index_is_refused_alone(self):
        deep = {"@timestamp": TIME}
        for level in range(21):
            deep = {"a": deep} if level else {"@timestamp": TIME, "a": 1}
        cases = {
            "fields": {f"f{i}": 1 for i in range(1001)},
            "depth": deep,
            "a long word": {"word": "x" * 32767},
        }
        for name, document in cases.items():
            with self.subTest(name):
                self.assertEqual(self.item({"@timestamp": TIME} | document)[0], 400)

    def test_a_write_block_is_a_403_and_a_full_disk_a_429_of_the_same_type(self):
        for block, status in (("write", 403), ("read_only_allow_delete", 429)):
            self.server.ask("PUT", f"/{STREAM}/_settings", {f"index.blocks.{block}": True})
            try:
                got = self.items(*create({"@timestamp": TIME}))
            finally:
                self.server.ask("PUT", f"/{STREAM}/_settings", {f"index.blocks.{block}": None})
            self.assertEqual(got, [(status, "cluster_block_exception")])

    def test_a_missing_alias_and_a_missing_index_are_a_404_of_the_item(self):
        missing = (404, "index_not_found_exception")
        got = self.items(*create({"@timestamp": TIME}, require_alias=True), target="logs-other")
        self.assertEqual(got, [missing])
        switch = "action.auto_create_index"
        self.server.ask("PUT", "/_cluster/settings", {"persistent": {switch: "false"}})
        try:
            got = self.items(*create({"@timestamp": TIME}), target="logs-other")
        finally:
            self.server.ask("PUT", "/_cluster/settings", {"persistent": {switch: None}})
        self.assertEqual(got, [missing])

    def test_require_data_stream_is_of_elasticsearch_alone(self):
        lines = create({"@timestamp": TIME}, require_data_stream=True)
        if self.dialect == "opensearch":
            answer = self.server.bulk(STREAM, *lines)
            self.assertEqual(answer.status, 400)
            error = answer.json()["error"]
            self.assertEqual(error["type"], "illegal_argument_exception")
            self.assertTrue(error["reason"].startswith("Action/metadata line ["), error)
            return
        self.assertEqual(self.items(*lines), [(201, None)])
        self.assertEqual(self.items(*lines, target="other"), [(404, "index_not_found_exception")])

    def test_an_alias_is_taken_with_require_alias_and_its_index_is_not(self):
        self.server.ask("PUT", "/real", {"aliases": {"alias": {}}})
        lines = create({"@timestamp": TIME}, require_alias=True)
        self.assertEqual(self.items(*lines, target="alias"), [(201, None)])
        self.assertEqual(self.items(*lines, target="real"), [(404, "index_not_found_exception")])

    def test_a_filtered_reply_keeps_statuses_and_reasons(self):
        path = (f"/{STREAM}/_bulk?filter_path=errors,items.*.status,items.*._index,"
                "items.*.error.type,items.*.error.reason")
        answer = self.server.bulk(None, *create({"@timestamp": TIME}),
                                  *create({"@timestamp": TIME, "number": "x"}), path=path)
        reply = answer.json()
        self.assertEqual(set(reply), {"errors", "items"})
        good, bad = (item["create"] for item in reply["items"])
        self.assertEqual(set(good), {"_index", "status"})
        self.assertEqual(set(bad), {"_index", "status", "error"})
        self.assertEqual(set(bad["error"]), {"type", "reason"})

    # ---- whole requests -------------------------------------------------------------------------

    def test_a_request_that_is_no_bulk_is_refused_as_a_whole(self):
        for name, lines in {"action": [{"cremate": {}}, {"@timestamp": TIME}], "empty": []}.items():
            with self.subTest(name):
                self.assertEqual(self.server.bulk(STREAM, *lines).status, 400)
        unended = b'{"create":{}}\n{"@timestamp":1}'
        answer = self.server.request("POST", f"/{STREAM}/_bulk", unended)
        self.assertEqual(answer.status, 400)

    def test_another_content_type_is_a_406(self):
        kinds = [None, "text/plain"]
        if self.dialect == "opensearch":
            kinds.append("application/vnd.elasticsearch+x-ndjson;compatible-with=8")
        for kind in kinds:
            with self.subTest(kind=kind):
                answer = self.server.bulk(STREAM, *create({"@timestamp": TIME}),
                                          headers={"Content-Type": kind})
                self.assertEqual(answer.status, 406)
                if self.dialect == "opensearch":
                    self.assertIsInstance(answer.json()["error"], str)

    def test_gzip_is_taken_and_zstd_is_not(self):
        body = b'{"create":{}}\n{"@timestamp":"2026-11-21T09:30:00Z"}\n'
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
        answer = self.server.request("POST", f"/{STREAM}/_bulk", gzip.compress(body), headers)
        self.assertEqual((answer.status, answer.json()["errors"]), (200, False))
        broken = gzip.compress(body)[:20]
        try:
            answer = self.server.request("POST", f"/{STREAM}/_bulk", broken, headers)
            self.assertIn(answer.status, (400, 500))
        except (OSError, http.client.HTTPException):
            pass
        # A frame of one raw block.
        zstd = b"\x28\xb5\x2f\xfd\x20" + bytes([len(body)])
        zstd += (len(body) << 3 | 1).to_bytes(3, "little") + body
        headers["Content-Encoding"] = "zstd"
        try:
            answer = self.server.request("POST", f"/{STREAM}/_bulk", zstd, headers)
            self.assertNotEqual(answer.status, 200)
        except (OSError, http.client.HTTPException):
            self.assertEqual(self.dialect, "opensearch")

    def test_a_long_address_is_a_400(self):
        answer = self.server.bulk(None, *create({"@timestamp": TIME}),
                                  path=f"/{STREAM}/_bulk?filter_path=" + "a" * 5000)
        self.assertEqual(answer.status, 400)
        self.assertIn(b"too_long_", answer.body)

    def test_lifecycle_settings_of_a_plug_in_that_is_missing_are_refused(self):
        for settings in ({"index.lifecycle.name": "x"},
                         {"index.plugins.index_state_management.policy_id": "x"}):
            answer = self.server.request("PUT", "/_index_template/life", {
                "index_patterns": ["life-*"], "template": {"settings": settings}})
            self.assertEqual(answer.status, 400)
        answer = self.server.request("PUT", "/_index_template/life", {
            "index_patterns": ["life-*"], "data_stream": {},
            "template": {"lifecycle": {"data_retention": "7d"}}})
        self.assertEqual(answer.status, 200 if self.dialect == "elasticsearch" else 400)

    def test_times_of_1601_and_with_seven_digits_are_dates(self):
        for time in ("1601-01-01T00:00:00.0000000Z", "9999-12-31T23:59:59.9999999Z"):
            self.assertEqual(self.item({"@timestamp": time}), (201, None))


class Pressure(unittest.TestCase):
    """A node with little room. Needs `dialect` and `kind`."""

    @classmethod
    def setUpClass(cls):
        cls.server = servers.Server(
            cls.kind, http__max_content_length="2mb", indexing_pressure__memory__limit="1mb",
            thread_pool__write__size=1, thread_pool__write__queue_size=1)
        cls.addClassCleanup(cls.server.close)
        cls.server.bulk(STREAM, *create({"@timestamp": TIME}))

    def test_the_limit_of_bytes_counts_what_was_inflated_and_the_413_has_no_body(self):
        line = b'{"create":{}}\n{"@timestamp":"2026-11-21T09:30:00Z","x":"%s"}\n' % (b"y" * 1000)
        body = line * 2500
        plain = {"Content-Type": "application/x-ndjson"}
        for headers, sent in ((plain, body),
                              (plain | {"Content-Encoding": "gzip"}, gzip.compress(body))):
            try:
                answer = self.server.request("POST", f"/{STREAM}/_bulk", sent, headers)
            except (BrokenPipeError, ConnectionResetError):
                # It does not read what it refuses.
                self.assertIs(sent, body)
                continue
            self.assertEqual((answer.status, answer.body), (413, b""))

    def test_a_request_beyond_the_memory_for_indexing_is_a_429_as_a_whole(self):
        line = create({"@timestamp": TIME, "x": "y" * 1000})
        answer = self.server.bulk(STREAM, *line * 1500)
        self.assertEqual(answer.status, 429)
        self.assertEqual(answer.json()["error"]["type"], self.rejected)
        self.assertIsNone(answer.headers["Retry-After"])

    def test_a_full_queue_refuses_items_of_a_request_that_is_taken(self):
        def one(_):
            answer = self.server.bulk(STREAM, *create({"@timestamp": TIME}) * 100)
            # Twelve at once may be too much for the memory, too.
            self.assertIn(answer.status, (200, 429))
            return answer.json()["items"] if answer.status == 200 else []

        counts = {}
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            # Which requests meet is up to chance.
            for _ in range(20):
                for items in pool.map(one, range(12)):
                    for item in items:
                        got = item["create"]
                        key = got["status"], got.get("error", {}).get("type")
                        counts[key] = counts.get(key, 0) + 1
                if len(counts) > 1:
                    break
        self.assertEqual(set(counts), {(201, None), (429, self.rejected)})


def tests_of(name):
    kind = {"opensearch": servers.OpenSearch, "elasticsearch": servers.Elasticsearch}[name]()
    suite = unittest.TestSuite()
    for case in (Contract, Pressure):
        made = type(f"{case.__name__}_{name}", (case,), {
            "dialect": name, "kind": kind,
            "rejected": "es_rejected_execution_exception" if name == "elasticsearch"
                        else "rejected_execution_exception"})
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(made))
    return kind, suite


def main():
    try:
        kind, suite = tests_of(sys.argv[1])
    except servers.Missing as error:
        print(f"skipped: {error}")
        sys.exit(77)
    try:
        good = unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful()
    finally:
        kind.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
