"""The agent's own metrics as OpenTelemetry: what a collector gets is what /metrics says, in either encoding.

Requests are parsed with opentelemetry-proto, which tests/install.sh installs; without it the tests are skipped.
"""

import http.client
import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.ports import reserve_port  # noqa: E402
from support.scripted_http import Fault, Reply, Server  # noqa: E402

try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs_service
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service
    from opentelemetry.proto.metrics.v1 import metrics_pb2
except ImportError:
    print("skipped: no opentelemetry-proto, which tests/install.sh installs")
    sys.exit(77)

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 120
EVENTS = 500
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# What changes while an agent does nothing.
RESTLESS = re.compile("etwship_(cpu|uptime|memory|output_own|output_acked_bytes|output_retries|spool)_")


def from_text(text):
    """(name, labels) -> value, of Prometheus' format."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            found[name, frozenset(LABEL.findall(labels or ""))] = float(value)
    return found


def from_request(request):
    """The metrics of a request in that form, with the names that exporters to Prometheus give them."""
    found = {}

    def put(name, labels, value):
        key = name, frozenset(labels)
        assert key not in found, key
        found[key] = value

    resource, = request.resource_metrics
    scope, = resource.scope_metrics
    for metric in scope.metrics:
        kind = metric.WhichOneof("data")
        data = getattr(metric, kind)
        if kind != "gauge":
            assert data.aggregation_temporality == metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
        if kind == "sum":
            assert data.is_monotonic
        for point in data.data_points:
            labels = [(pair.key, pair.value.string_value) for pair in point.attributes]
            assert (point.start_time_unix_nano > 0) == (kind != "gauge")
            assert point.start_time_unix_nano <= point.time_unix_nano
            if kind == "histogram":
                assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
                so_far = 0
                for bound, count in zip([*point.explicit_bounds, math.inf], point.bucket_counts):
                    so_far += count
                    put(f"{metric.name}_bucket", [*labels, ("le", bound)], so_far)
                put(f"{metric.name}_count", labels, point.count)
                put(f"{metric.name}_sum", labels, point.sum)
            else:
                value = point.as_int if point.WhichOneof("value") == "as_int" else point.as_double
                put(metric.name + ("_total" if kind == "sum" else ""), labels, value)
    return found


def comparable(samples):
    """Without the values that change all the time; bounds as numbers."""
    def number(label):
        return (label[0], float(label[1])) if label[0] == "le" else label
    return {(name, frozenset(map(number, labels))): value for (name, labels), value in samples.items()
            if not RESTLESS.match(name)}


class Collector:
    """Keeps requests of metrics; logs are counted."""

    def __init__(self):
        self.metrics, self.logs = [], 0

    def __call__(self, request):
        is_json = request.headers["content-type"] == "application/json"
        kind = service.ExportMetricsServiceRequest if request.path == "/v1/metrics" else \
            logs_service.ExportLogsServiceRequest
        parsed = json_format.Parse(request.data, kind()) if is_json else kind.FromString(request.data)
        if request.path == "/v1/metrics":
            self.metrics.append(parsed)
        else:
            assert request.path == "/v1/logs", request.path
            self.logs += sum(len(scope.log_records) for resource in parsed.resource_logs
                             for scope in resource.scope_logs)
        return Reply(200, {}) if is_json else Reply(200, b"", {"Content-Type": "application/x-protobuf"})


class OtlpMetrics(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.port = reserve_port(self)
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o", self.folder / "t.etl"],
                       check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)

    def write(self, server, follow, **output):
        self.config = self.folder / "etwship.yaml"
        self.config.write_text(json.dumps({
            "status": {"listen": f"127.0.0.1:{self.port}"}, "spool": {"mode": "memory"},
            "agent": {"log": {"stats": "0s"}},
            "sessions": [{"name": "traces", "type": "file", "follow": follow,
                          "paths": [f"{self.folder}/*.etl"]}],
            "outputs": [{"name": "siem", "type": "otlp", "endpoint": server.url, "proxy": "",
                         "metrics": "1s"} | output]}))

    def start(self):
        agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.stderr.close)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def get_metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        connection.request("GET", "/metrics")
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return from_text(text)

    def test_a_collector_gets_what_the_page_says(self):
        for protocol, compression in (("http/protobuf", "gzip"), ("http/protobuf", "none"), ("http/json", "gzip")):
            with self.subTest(protocol, compression=compression), Server(Collector()) as server:
                self.write(server, True, protocol=protocol, compression=compression)
                agent = self.start()
                acked = "etwship_output_acked_events_total", frozenset({("output", "siem")})
                server.wait_for(lambda: server.app.metrics and
                                from_request(server.app.metrics[-1]).get(acked) == EVENTS, TIMEOUT_S)
                # What clients asked is known to the page alone.
                said = {key: value for key, value in self.get_metrics().items()
                        if not key[0].startswith("etwship_status_requests")}
                begun = len(server.app.metrics)
                server.wait_for(lambda: len(server.app.metrics) > begun, TIMEOUT_S)
                sent = from_request(server.app.metrics[-1])
                self.assertEqual(len(sent), len(said))
                self.assertEqual(comparable(sent), comparable(said))
                self.assertGreater(len(comparable(sent)), 60)
                about = {pair.key: pair.value.string_value
                         for pair in server.app.metrics[-1].resource_metrics[0].resource.attributes}
                self.assertEqual(about["service.name"], "etwship")
                self.assertEqual(about["host.name"], socket.gethostname())
                self.assertEqual(len(about["service.instance.id"]), 36)
                # Counters go on from the same start.
                first, last = (starts(request) for request in (server.app.metrics[0], server.app.metrics[-1]))
                self.assertEqual({name: first[name] for name in last if name in first},
                                 {name: last[name] for name in last if name in first})
                agent.terminate()
                agent.wait(TIMEOUT_S)

    def test_an_agent_that_ends_says_what_it_came_to(self):
        with Server(Collector()) as server:
            self.write(server, False, metrics="1h")
            agent = self.start()
            self.assertEqual(agent.wait(TIMEOUT_S), 0, agent.stderr.read())
            request, = server.app.metrics
            sent = from_request(request)
            self.assertEqual(sent["etwship_output_acked_events_total", frozenset({("output", "siem")})], EVENTS)
            self.assertEqual(sent["etwship_conservation_error", frozenset()], 0)

    def test_metrics_that_the_collector_refuses_hold_up_nothing_and_are_told_once(self):
        def refuse(request):
            return Fault(Reply(404)) if request.path == "/v1/metrics" else None
        with Server(Collector(), refuse) as server:
            self.write(server, True)
            agent = self.start()
            server.wait_for(lambda: server.app.logs >= EVENTS and
                            sum(r.path == "/v1/metrics" for r in server.seen) >= 3, TIMEOUT_S)
            agent.terminate()
            agent.wait(TIMEOUT_S)
            said = agent.stderr.read()
            self.assertEqual(said.count("the collector rejects the agent's own metrics"), 1, said)

    def test_a_collector_that_never_answers_holds_up_the_end_for_two_seconds(self):
        def hang(request):
            return Fault(delay_s=TIMEOUT_S) if request.path == "/v1/metrics" else None
        with Server(Collector(), hang) as server:
            self.write(server, True)
            agent = self.start()
            server.wait_for(lambda: server.app.logs >= EVENTS and
                            any(r.path == "/v1/metrics" for r in server.seen), TIMEOUT_S)
            agent.terminate()
            agent.wait(60)  # the request's own limit is longer

    def test_without_the_key_none_are_sent(self):
        with Server(Collector()) as server:
            self.write(server, False, metrics="0s")
            self.assertEqual(self.start().wait(TIMEOUT_S), 0)
            self.assertEqual([r.path for r in server.seen if r.path != "/v1/logs"], [])


def starts(request):
    """Metric -> the start time of its counters."""
    metrics = request.resource_metrics[0].scope_metrics[0].metrics
    return {metric.name: {point.start_time_unix_nano
                          for point in getattr(metric, metric.WhichOneof("data")).data_points}
            for metric in metrics}


if __name__ == "__main__":
    unittest.main()
