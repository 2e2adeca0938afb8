"""The otel event against its table, and against the native event of the same record.

Every attribute stands in agent/event/otel.tsv at its place and with its type, once in a record; times,
severities and the payload's fields say what the native event says. opentelemetry-proto, where tests/install.sh
has put it, parses every line. Runs over traces made by etlgen (ETWSHIP_ETLGEN) and, where ETWSHIP_SHARED
names a folder with them, over real ones.
"""

import base64
import itertools
import json
import math
import os
import struct
import subprocess
import tempfile
import time
import unittest
from datetime import datetime, timezone
from pathlib import Path

import otel_table

try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
except ImportError:
    logs_service_pb2 = None

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
SHARED = os.environ.get("ETWSHIP_SHARED", "")
# A net under a program that does not end, no measure.
TIMEOUT_S = 600
EVENTS_AT_MOST = 100
KINDS = {"string": "stringValue", "int": "intValue", "bool": "boolValue", "bytes": "bytesValue",
         "strings": "arrayValue"}
SEVERITIES = {0: 0, 1: 21, 2: 17, 3: 13, 4: 9, 5: 5}


def unique_members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError(f"a key stands twice: {[key for key, _ in pairs]}")
    return members


def dump(path, *options):
    done = subprocess.run([BINARY, "dump", "-n", str(EVENTS_AT_MOST), *options, str(path)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                          timeout=TIMEOUT_S)
    return done.stdout.splitlines()


def write_trace(path, end):
    """A trace that ends at `end` (FILETIME), as TRACE_LOGFILE_HEADER has it (evntrace.h)."""
    buffer_header, record_header, before_end = 72, 32, 16
    subprocess.run([ETLGEN, "--events", "10", "-o", path], stdout=subprocess.DEVNULL, check=True,
                   timeout=TIMEOUT_S)
    content = bytearray(path.read_bytes())
    struct.pack_into("<Q", content, buffer_header + record_header + before_end, end)
    path.write_bytes(content)


def plain(value):
    """A value of OTLP/JSON as a Python value."""
    (kind, content), = value.items()
    if kind == "intValue":
        return int(content)
    if kind == "doubleValue":
        return float(content)
    if kind == "bytesValue":
        return base64.b64decode(content, validate=True)
    if kind == "arrayValue":
        return [plain(item) for item in content["values"]]
    if kind == "kvlistValue":
        return attributes(content["values"])
    return content


def attributes(pairs):
    return unique_members([(pair["key"], plain(pair["value"])) for pair in pairs])


def says_the_same(native, otel):
    if isinstance(otel, bytes):
        return native == otel.hex()
    if isinstance(otel, float):
        return native is None if not math.isfinite(otel) else math.isclose(native, otel, rel_tol=1e-6)
    if isinstance(otel, list):
        return len(native) == len(otel) and all(map(says_the_same, native, otel))
    if isinstance(otel, dict):
        return native.keys() == otel.keys() and \
            all(says_the_same(native[key], value) for key, value in otel.items())
    if isinstance(otel, str) and isinstance(native, int):
        return native > 2**63 - 1 and str(native) == otel
    return type(native) is type(otel) and native == otel


def nanos(text):
    """Nanoseconds since 1970 of a time with seven digits."""
    whole, ticks = text.rstrip("Z").split(".")
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    since = datetime.fromisoformat(whole).replace(tzinfo=timezone.utc) - epoch
    return (since.days * 86400 + since.seconds) * 10**9 + int(ticks) * 100


class Otel(unittest.TestCase):
    rows = otel_table.read()

    def traces(self):
        with tempfile.TemporaryDirectory() as folder:
            for mix in ("realistic", "kernel"):
                trace = Path(folder) / f"{mix}.etl"
                subprocess.run([ETLGEN, "--mix", mix, "--events", "500", "-o", str(trace)],
                               check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
                yield trace
        yield from sorted(Path(SHARED, "data", "etl").glob("*.etl")) if SHARED else []

    def test_the_page_is_made_from_the_table(self):
        self.assertEqual(otel_table.PAGE.read_text(encoding="utf-8"), otel_table.page(self.rows),
                         "run tests/integration/otel_table.py --write")

    def check_attributes(self, place, pairs):
        for pair in pairs:
            row = otel_table.find(self.rows, place, pair["key"])
            self.assertIsNotNone(row, f"{place}: {pair['key']} is not in the table")
            kind, = pair["value"]
            if row.type in KINDS and not (kind == "stringValue" and row.type == "int"):
                self.assertEqual(kind, KINDS[row.type], pair)

    def check(self, line, native):
        logs, = json.loads(line, object_pairs_hook=unique_members)["resourceLogs"]
        scope, = logs["scopeLogs"]
        record, = scope["logRecords"]
        self.check_attributes("resource", logs["resource"]["attributes"])
        self.check_attributes("record", record["attributes"])
        found = attributes(record["attributes"])
        host = attributes(logs["resource"]["attributes"])
        event = native["event"]
        if "etw.timestamp" not in found:
            self.assertEqual(int(record["timeUnixNano"]), nanos(native["@timestamp"]))
        if "level" in event:
            self.assertEqual(record.get("severityNumber", 0), SEVERITIES.get(event["level"], 0))
        name = event.get("name") or (f"etw.{event['code']}" if "code" in event else None)
        is_own = native["provider"]["kind"] == "agent"
        self.assertEqual(record.get("eventName"), f"etwship.{name}" if is_own else name)
        self.assertEqual(scope["scope"]["name"], native["provider"].get("name") or
                         native["provider"].get("guid", ""))
        self.assertEqual(host.get("host.name"), native.get("host", {}).get("name"))
        self.assertEqual(found.get("etw.sequence"), native["etw"].get("sequence"))
        if "keywords" in event:
            self.assertEqual(found["etw.keywords"] % 2**64, int(event["keywords"], 16))
        self.assertEqual(found.get("etw.process.id"), native.get("process", {}).get("pid"))
        text = record.get("body", {}).get("stringValue", found.get("etw.message"))
        self.assertEqual(text, native.get("message"))
        data = native.get("data", {})
        for key, value in data.items():
            if key in found:
                self.assertTrue(says_the_same(value, found[key]), (key, value, found[key]))
            else:  # a name that says what a double says itself
                self.assertIn(value, ("NaN", "Infinity", "-Infinity"), key)
        own = {key for key in found if "." not in key}
        self.assertLessEqual(own, data.keys())

    def test_events_say_what_native_ones_do(self):
        count = 0
        for trace in self.traces():
            for line, native in itertools.zip_longest(dump(trace, "-f", "otel"), dump(trace)):
                with self.subTest(trace.name):
                    self.check(line, json.loads(native))
                count += 1
        self.assertGreater(count, 150)

    def test_what_shows_no_lists_of_attributes_is_refused(self):
        for option in (("--fields", "data.A"), ("--pretty",)):
            done = subprocess.run([BINARY, "dump", "-f", "otel", *option, "none.etl"], check=False,
                                  timeout=TIMEOUT_S, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"otel: {option[0]} does not work with its lists of attributes",
                          done.stderr)

    def test_an_output_that_does_not_take_the_format_says_which_it_takes(self):
        config = {"sessions": [{"type": "file", "paths": ["none.etl"]}],
                  "outputs": [{"type": "elasticsearch", "format": "otel",
                               "hosts": ["http://127.0.0.1:1"]}]}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "etwship.yaml"
            path.write_text(json.dumps(config))
            done = subprocess.run([BINARY, "check", "-c", str(path)], check=False, text=True,
                                  timeout=TIMEOUT_S, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 2)
        self.assertIn("type elasticsearch does not take 'otel'. write one of: native ecs", done.stdout)

    def check_config(self, folder, *paths):
        config = {"sessions": [{"type": "file", "paths": list(paths)}], "spool": {"mode": "memory"},
                  "outputs": [{"type": "loki", "url": "http://127.0.0.1:1"}]}
        path = Path(folder) / "etwship.yaml"
        path.write_text(json.dumps(config))
        done = subprocess.run([BINARY, "check", "-c", str(path)], check=False, text=True,
                              timeout=TIMEOUT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0)
        return done.stdout

    def test_check_says_which_recorded_traces_are_too_old_for_loki(self):
        warning = "Loki by default refuses lines that are older than a week"
        days = 86400 * 10 ** 7
        now = int(time.time() * 10 ** 7) + 116444736000000000
        with tempfile.TemporaryDirectory() as folder:
            for name, end in ("a", now - 8 * days), ("b", now - 6 * days), ("c", now - 400 * days):
                write_trace(Path(folder) / f"{name}.etl", end)
            self.assertIn(warning, self.check_config(folder, "none.etl"))
            self.assertNotIn(warning, self.check_config(folder, "b.etl"))
            said = self.check_config(folder, "?.etl")
            self.assertIn("2 of 3 traces end more than 7 days ago, as ", said)
            date = datetime.fromtimestamp((now - 8 * days) / 10 ** 7 - 11644473600, timezone.utc)
            self.assertIn(f"a.etl' ({date:%Y-%m-%d}). {warning}", said)
            self.assertIn("1 of 1 traces end more than 7 days ago", self.check_config(folder, "c.etl"))
            self.assertNotIn("more than 7 days ago", self.check_config(folder, "b.etl", "none.etl"))

    @unittest.skipUnless(logs_service_pb2, "no opentelemetry-proto: tests/install.sh puts it there")
    def test_opentelemetry_proto_reads_every_line(self):
        for trace in self.traces():
            for line in dump(trace, "-f", "otel"):
                request = json_format.Parse(line, logs_service_pb2.ExportLogsServiceRequest())
                record = request.resource_logs[0].scope_logs[0].log_records[0]
                keys = [attribute.key for attribute in record.attributes]
                self.assertEqual(len(keys), len(set(keys)))


if __name__ == "__main__":
    unittest.main()
