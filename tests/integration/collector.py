"""framing: splunk_hec, and the outputs otlp and loki, against receivers of other people's: the OpenTelemetry
collector's.

The collector is built with Go when it is first needed, from what collector/builder.yaml names, and kept
outside the clone (about three minutes). Without Go or a network the test is skipped. Debian 12's Go (1.19)
is too old: it neither builds the collector nor fetches a Go that does, as Go does since 1.21.
"""

import collections
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.ports import reserve_port  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
RECIPE = Path(__file__).resolve().parent / "collector" / "builder.yaml"
VERSION = "v0.145.0"
TIMEOUT_S = 300
BUILD_TIMEOUT_S = 3000
EVENTS = 2000
SKIPPED = 77
OLDEST_GO = (1, 21)


def cache():
    top = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "etwship"
    top.mkdir(parents=True, exist_ok=True)
    return top / f"collector-{hashlib.sha256(RECIPE.read_bytes()).hexdigest()[:16]}"


def find_go():
    """The path of a Go that is new enough, or the reason why there is none."""
    go = shutil.which("go", path=os.environ.get("PATH", "") + ":/usr/local/go/bin")
    wanted = f"Go {OLDEST_GO[0]}.{OLDEST_GO[1]} or newer, to build the OpenTelemetry collector"
    if not go:
        return None, f"no {wanted} (https://go.dev/dl)"
    told = subprocess.run([go, "version"], check=False, timeout=TIMEOUT_S, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    version = re.search(r"\bgo(\d+)\.(\d+)", told)
    if version and tuple(map(int, version.groups())) < OLDEST_GO:
        return None, f"{go} is Go {version[1]}.{version[2]}: no {wanted} (https://go.dev/dl)"
    return go, None


def run(args, folder, go):
    # The builder looks for it, too.
    path = f"{Path(go).parent}:{os.environ.get('PATH', '')}"
    return subprocess.run(args, cwd=folder, check=False, timeout=BUILD_TIMEOUT_S, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=os.environ | {"PATH": path, "GOBIN": str(folder), "GOWORK": "off",
                                            "CGO_ENABLED": "0"})


def build():
    """The path of the program, or the reason why there is none."""
    kept = cache()
    if kept.exists():
        return kept, None
    go, reason = find_go()
    if not go:
        return None, reason
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        folder = Path(name)
        (folder / "builder.yaml").write_bytes(RECIPE.read_bytes())
        for args in ([go, "install", f"go.opentelemetry.io/collector/cmd/builder@{VERSION}"],
                     [str(folder / "builder"), "--config", "builder.yaml"]):
            done = run(args, folder, go)
            if done.returncode != 0:
                tail = done.stdout.strip().splitlines()[-1:] or [""]
                return None, f"the collector cannot be built: {tail[0]}"
        (folder / "collector").replace(kept)
    return kept, None


class Collector(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.folder / "t.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o", self.trace],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    def start(self, receiver="splunk_hec", acks=False):
        self.port, self.file = reserve_port(self), self.folder / "out.json"
        address = {"endpoint": f"127.0.0.1:{self.port}"}
        receivers = {"splunk_hec": address | ({"ack": {"extension": "ack"}} if acks else {}), "otlp": {"protocols": {"http": address}},
                     "loki": {"protocols": {"http": address}, "use_incoming_timestamp": True}}
        config = {
            "receivers": {receiver: receivers[receiver]},
            "extensions": {"ack": {}},
            "exporters": {"file": {"path": str(self.file), "flush_interval": "100ms"}},
            "service": {"extensions": ["ack"], "pipelines": {"logs": {"receivers": [receiver], "exporters": ["file"]}},
                        "telemetry": {"metrics": {"level": "none"}}},
        }
        if receiver == "otlp":
            self.metrics = self.folder / "metrics.json"
            config["exporters"]["file/metrics"] = {"path": str(self.metrics), "flush_interval": "100ms"}
            config["service"]["pipelines"]["metrics"] = {"receivers": ["otlp"], "exporters": ["file/metrics"]}
        path = self.folder / "collector.yaml"
        path.write_text(json.dumps(config))
        collector = subprocess.Popen([COLLECTOR, "--config", path], stderr=subprocess.DEVNULL)
        self.addCleanup(collector.wait, TIMEOUT_S)
        self.addCleanup(collector.terminate)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return collector
            time.sleep(0.1)
        self.fail("the collector does not listen")

    def records(self):
        for line in self.file.read_text().splitlines():
            for resource in json.loads(line)["resourceLogs"]:
                about = {a["key"]: a["value"]["stringValue"]
                         for a in resource.get("resource", {}).get("attributes", [])}
                for scope in resource["scopeLogs"]:
                    for record in scope["logRecords"]:
                        yield about, record

    def test_every_event_arrives_with_its_time_and_what_was_set(self):
        for compression in ("none", "gzip"):
            with self.subTest(compression):
                self.ship_and_compare(compression)

    def test_what_is_acknowledged_has_arrived_once(self):
        for endpoint in ("event", "raw"):
            with self.subTest(endpoint):
                collector = self.start(acks=True)
                self.ship(collector, {"type": "splunk_hec", "urls": [f"http://127.0.0.1:{self.port}"],
                                      "token": "0000-1111", "endpoint": endpoint, "batch": {"events": 100},
                                      "ack": {"enabled": True, "interval": "10ms", "timeout": "60s"}})
                found = collections.Counter()
                for _, record in self.records():
                    body = record["body"]
                    event = json.loads(body["stringValue"]) if "stringValue" in body else plain(body)
                    if event["provider"].get("name") != "etwship":
                        found[int(event["etw"]["sequence"])] += 1
                self.assertEqual(set(found), set(range(1, EVENTS + 1)))
                self.assertEqual(set(found.values()), {1})
                self.file.unlink()

    def test_without_acknowledgement_nothing_counts_as_delivered(self):
        self.start()
        config = self.folder / "etwship.yaml"
        config.write_text(json.dumps({
            "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
            "outputs": [{"name": "siem", "type": "splunk_hec", "urls": [f"http://127.0.0.1:{self.port}"],
                         "token": "x", "proxy": "", "ack": {"enabled": True}}]}))
        done = subprocess.run([BINARY, "test-output", "siem", "-c", config], check=False, timeout=TIMEOUT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("acknowledgement: ", done.stdout)

    def test_a_log_record_is_what_dump_says(self):
        for protocol, compression in (("http/protobuf", "gzip"), ("http/protobuf", "zstd"),
                                      ("http/json", "none")):
            with self.subTest(protocol):
                collector = self.start("otlp")
                self.ship(collector, {"type": "otlp", "endpoint": f"http://127.0.0.1:{self.port}",
                                      "protocol": protocol, "compression": compression})
                dump = subprocess.run([BINARY, "dump", "-f", "otel", self.trace], check=True,
                                      stdout=subprocess.PIPE, timeout=TIMEOUT_S).stdout
                want = {number: record for line in dump.splitlines()
                        for number, record in [comparable(json.loads(line)["resourceLogs"][0])]}
                found = collections.Counter()
                for line in self.file.read_text(encoding="utf-8").splitlines():
                    for number, record in map(comparable, split(json.loads(line))):
                        found[number] += 1
                        self.assertEqual(record, want.get(number))
                self.assertEqual(set(found), set(want))
                self.assertEqual(set(found.values()), {1})
                self.file.unlink()

    def test_the_configuration_in_the_guide_is_one(self):
        guide = (RECIPE.parents[3] / "docs" / "guide" / "opentelemetry.md").read_text(encoding="utf-8")
        text = guide.split("## The collector", 1)[1].split("```yaml", 1)[1].split("```", 1)[0]
        # Ours has no exporter `debug`.
        self.assertIn("debug: {verbosity: detailed}", text)
        text = text.replace("debug: {verbosity: detailed}", f"file: {{path: {self.folder / 'out.json'}}}")
        path = self.folder / "guide.yaml"
        path.write_text(text.replace("[debug]", "[file]"), encoding="utf-8")
        done = subprocess.run([COLLECTOR, "validate", "--config", path], check=False, timeout=TIMEOUT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_metrics_of_the_agent_are_taken(self):
        for protocol in ("http/protobuf", "http/json"):
            with self.subTest(protocol):
                collector = self.start("otlp")
                self.ship(collector, {"name": "siem", "type": "otlp", "protocol": protocol, "metrics": "1h",
                                      "endpoint": f"http://127.0.0.1:{self.port}"})
                line, = self.metrics.read_text(encoding="utf-8").splitlines()
                resource, = json.loads(line)["resourceMetrics"]
                found = {metric["name"]: metric for metric in resource["scopeMetrics"][0]["metrics"]}
                acked = found["etwship_output_acked_events"]["sum"]
                self.assertEqual(acked["aggregationTemporality"], 2)
                self.assertTrue(acked["isMonotonic"])
                point, = acked["dataPoints"]
                self.assertEqual((point["asInt"], point["attributes"]),
                                 (str(EVENTS), [{"key": "output", "value": {"stringValue": "siem"}}]))
                point, = found["etwship_output_latency_seconds"]["histogram"]["dataPoints"]
                self.assertEqual(len(point["bucketCounts"]), len(point["explicitBounds"]) + 1)
                point, = found["etwship_conservation_error"]["gauge"]["dataPoints"]
                self.assertEqual(point["asInt"], "0")
                self.metrics.unlink()

    def test_a_line_at_loki_is_the_native_event(self):
        for encoding, compression in (("json", "gzip"), ("protobuf", "gzip"), ("protobuf", "none")):
            with self.subTest(encoding, compression=compression):
                collector = self.start("loki")
                self.ship(collector, {"type": "loki", "url": f"http://127.0.0.1:{self.port}",
                                      "encoding": encoding, "compression": compression})
                self.assert_lines_are_native()
                self.file.unlink()

    def assert_lines_are_native(self):
        dump = subprocess.run([BINARY, "dump", self.trace], check=True, stdout=subprocess.PIPE,
                              timeout=TIMEOUT_S).stdout
        want = {event["etw"]["sequence"]: event for event in map(json.loads, dump.splitlines())}
        found = collections.Counter()
        for request in map(json.loads, self.file.read_text(encoding="utf-8").splitlines()):
            for resource in request["resourceLogs"]:
                for scope in resource["scopeLogs"]:
                    for record in scope["logRecords"]:
                        event = json.loads(record["body"]["stringValue"])
                        if event["provider"].get("name") == "etwship":
                            continue
                        expected = want[event["etw"]["sequence"]]
                        found[event["etw"]["sequence"]] += 1
                        self.assertEqual(event["data" if "data" in event else "payload"],
                                         expected["data" if "data" in event else "payload"])
                        about = {pair["key"]: pair["value"]["stringValue"]
                                 for pair in record["attributes"]}
                        self.assertEqual(about["job"], "etwship")
                        self.assertEqual(about.get("provider"), expected["provider"].get("name"))
                        self.assertEqual(about.get("process_pid"),
                                         str(expected["process"]["pid"]) if "pid" in
                                         expected.get("process", {}) else None)
                        self.assertEqual(int(record["timeUnixNano"]) % 10**9,
                                         int(expected["@timestamp"].rstrip("Z").split(".")[1]) * 100)
        self.assertEqual(set(found), set(want))
        self.assertEqual(set(found.values()), {1})

    def ship(self, collector, output):
        config = {"spool": {"mode": "memory"},
                  "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
                  "outputs": [output | {"proxy": ""}]}
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(config))
        subprocess.run([BINARY, "run", "-c", path], check=True, timeout=TIMEOUT_S,
                       stderr=subprocess.DEVNULL)
        # At its end it writes what it still has.
        collector.terminate()
        collector.wait(TIMEOUT_S)

    def ship_and_compare(self, compression):
        collector = self.start()
        self.ship(collector, {"type": "http", "url": f"http://127.0.0.1:{self.port}",
                              "framing": "splunk_hec", "auth": {"bearer": "0000-1111"},
                              "index": "main", "source": "etw \"x\"", "sourcetype": "etw:json",
                              "compression": compression})
        dump = subprocess.run([BINARY, "dump", self.trace], check=True, stdout=subprocess.PIPE,
                              timeout=TIMEOUT_S).stdout
        want = {event["etw"]["sequence"]: event for event in map(json.loads, dump.splitlines())}
        found = collections.Counter()
        for about, record in self.records():
            event = {pair["key"]: pair["value"] for pair in record["body"]["kvlistValue"]["values"]}
            etw = {pair["key"]: pair["value"]
                   for pair in event.get("etw", {}).get("kvlistValue", {}).get("values", [])}
            if "sequence" not in etw:
                continue  # of the agent itself
            number = int(next(iter(etw["sequence"].values())))
            found[number] += 1
            self.assertEqual(about.get("com.splunk.index"), "main")
            self.assertEqual(about.get("com.splunk.source"), "etw \"x\"")
            self.assertEqual(about.get("com.splunk.sourcetype"), "etw:json")
            self.assertEqual(event["@timestamp"]["stringValue"], want[number]["@timestamp"])
            # It reads the time as a floating-point number: about a microsecond.
            seconds = int(record["timeUnixNano"]) / 1e9
            self.assertAlmostEqual(seconds, seconds_of(want[number]["@timestamp"]), places=5)
        self.assertEqual(len(found), len(want))
        self.assertEqual(set(found.values()), {1})
        self.file.unlink()


def plain(value):
    """The value of an AnyValue of OTLP."""
    (kind, held), = value.items() if value else [("none", None)]
    if kind == "kvlistValue":
        return {pair["key"]: plain(pair["value"]) for pair in held.get("values", [])}
    if kind == "arrayValue":
        return [plain(item) for item in held.get("values", [])]
    return held


def split(request):
    """Each log record of a request with its resource and scope; the agent's own events are left out."""
    for resource in request["resourceLogs"]:
        for scope in resource["scopeLogs"]:
            for record in scope["logRecords"]:
                if scope["scope"].get("name") != "etwship":
                    yield resource | {"scopeLogs": [scope | {"logRecords": [record]}]}


def lean(value):
    """A value without empty lists, which the collector leaves out."""
    if isinstance(value, list):
        return [lean(item) for item in value]
    if isinstance(value, dict):
        return {key: lean(item) for key, item in value.items() if (key, item) != ("values", [])}
    return value


def comparable(resource):
    """Number and content of a log record, without the members that differ from run to run."""
    scope, = resource["scopeLogs"]
    record, = scope["logRecords"]
    pairs = {pair["key"]: lean(pair["value"]) for pair in record["attributes"]
             if pair["key"] not in ("etw.session", "etw.file")}
    machine = {pair["key"]: pair["value"] for pair in resource["resource"].get("attributes", [])
               if pair["key"].startswith(("host.", "os."))}
    head = {key: record.get(key) for key in ("timeUnixNano", "severityNumber", "severityText", "eventName",
                                             "body")}
    head["body"] = head["body"] or {}
    return int(pairs["etw.sequence"]["intValue"]), (scope["scope"].get("name"), machine, head, pairs)


def seconds_of(text):
    whole, fraction = text.rstrip("Z").split(".")
    base = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp()
    return base + float("0." + fraction)


if __name__ == "__main__":
    COLLECTOR, REASON = build()
    if not COLLECTOR:
        print(f"skipped: {REASON}")
        sys.exit(SKIPPED)
    unittest.main()
