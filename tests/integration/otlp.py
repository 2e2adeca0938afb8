"""The otlp output in a running agent: what arrives is what `dump -f otel` writes, once.

Requests are parsed with opentelemetry-proto, which tests/install.sh installs; without it the tests are skipped.
The real collector takes its turn in collector.py.
"""

import collections
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import siem_rig  # noqa: E402
from support.scripted_http import LOST_BEFORE, Fault, Reply, Server, every, script  # noqa: E402

try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as service
except ImportError:
    print("skipped: no opentelemetry-proto, which tests/install.sh installs")
    sys.exit(77)

# What tells of the run and not of the event.
OF_THE_RUN = {"etw.session", "etw.file"}


def comparable(record):
    """A log record without the members that differ from run to run."""
    kept = type(record)()
    kept.CopyFrom(record)
    kept.ClearField("observed_time_unix_nano")
    del kept.attributes[:]
    kept.attributes.extend(pair for pair in record.attributes if pair.key not in OF_THE_RUN)
    return kept.SerializeToString(deterministic=True)


def number_of(record):
    return next((pair.value.int_value for pair in record.attributes if pair.key == "etw.sequence"), None)


class Collector:
    """Takes requests of either protocol."""

    def __init__(self):
        self.requests = []

    def __call__(self, request):
        assert request.path == "/v1/logs", request.path
        if request.headers["content-type"] == "application/json":
            parsed = json_format.Parse(request.data, service.ExportLogsServiceRequest())
            self.requests.append(parsed)
            return Reply(200, {})
        assert request.headers["content-type"] == "application/x-protobuf"
        self.requests.append(service.ExportLogsServiceRequest.FromString(request.data))
        return Reply(200, b"", {"Content-Type": "application/x-protobuf"})

    def records(self):
        for request in self.requests:
            for resource in request.resource_logs:
                for scope in resource.scope_logs:
                    for record in scope.log_records:
                        yield resource.resource, scope.scope, record

    def events(self):
        return [(scope, record) for _, scope, record in self.records() if scope.name != "etwship"]


class Otlp(siem_rig.Agent):
    def output(self, server, **keys):
        return {"type": "otlp", "endpoint": server.url, "proxy": "", "batch": {"events": 100}} | keys

    def expected(self):
        done = subprocess.run([siem_rig.BINARY, "dump", "-f", "otel", self.trace], check=True,
                              timeout=siem_rig.TIMEOUT_S, stdout=subprocess.PIPE)
        found = {}
        for line in done.stdout.splitlines():
            logs = json_format.Parse(line, service.ExportLogsServiceRequest()).resource_logs[0]
            scope = logs.scope_logs[0]
            record = scope.log_records[0]
            found[number_of(record)] = (scope.scope.name, comparable(record))
        return found

    def test_either_protocol_says_what_dump_says_and_puts_together_what_belongs_together(self):
        expected = self.expected()
        for protocol in ("http/protobuf", "http/json"):
            for compression in ("none", "gzip"):
                with self.subTest(protocol, compression=compression), Server(Collector()) as server:
                    self.write(self.output(server, protocol=protocol, compression=compression))
                    self.run_to_the_end()
                    found = {number_of(record): (scope.name, comparable(record))
                             for scope, record in server.app.events()}
                    self.assertEqual(found, expected)
                    for request in server.app.requests:
                        self.assertEqual(len(request.resource_logs), 1)
                        names = [scope.scope.name for scope in request.resource_logs[0].scope_logs]
                        self.assertEqual(len(names), len(set(names)))

    def assert_each_once(self, server):
        found = collections.Counter(number_of(record) for _, record in server.app.events())
        self.assert_all_there(found)
        self.assertEqual(set(found.values()), {1})

    def test_what_has_to_come_again_comes_once(self):
        later = {"Retry-After": "0"}
        for fault in (Fault(Reply(429, headers=later)), Fault(Reply(503)), LOST_BEFORE):
            with self.subTest(fault.reply and fault.reply.status), \
                    Server(Collector(), every(4, fault)) as server:
                self.write(self.output(server))
                self.run_to_the_end()
                self.assert_each_once(server)

    def test_kills_of_the_agent_and_of_the_collector_lose_nothing(self):
        with siem_rig.Killed(Collector()) as server:
            self.write(self.output(server, batch={"events": 20}, workers=1), durable=True)
            self.kill_on_the_way(server.wait_for_more, server.kill_every_other)
            self.assertGreater(self.kills, self.KILLS // 2)
            self.assert_all_there({number_of(record) for _, record in server.app.events()})

    def letters(self):
        done = subprocess.run([siem_rig.BINARY, "deadletter", "list", "--json", "-c", self.config],
                              check=True, timeout=siem_rig.TIMEOUT_S, stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_partial_success_is_kept_whole_and_counted_in_part_and_can_be_replayed(self):
        partial = service.ExportLogsServiceResponse()
        partial.partial_success.rejected_log_records = 3
        partial.partial_success.error_message = "attribute \"x\" is too long"
        fault = Fault(Reply(200, partial.SerializeToString(), {"Content-Type": "application/x-protobuf"}))
        with Server(Collector(), script(fault)) as server:
            self.write(self.output(server, workers=1), durable=True)
            said = self.run_to_the_end(3)
            letters = self.letters()
            taken = len(server.app.events())
            own = sum(1 for _ in server.app.records()) - taken
            self.assertEqual(taken + len(letters), self.EVENTS, said)
            self.assertLess(0, len(letters))
            reason = f"3 of {len(letters)} rejected, and the server does not say which: " \
                     "attribute \"x\" is too long"
            self.assertEqual({letter["reason"] for letter in letters}, {reason})
            self.assertIn(f"{self.EVENTS - 3} events", said)
            self.assertIn("3 refused", said)
            self.assertGreaterEqual(own, 0)
            # The bytes of a letter are the request of one event.
            self.assertTrue(letters[0]["document"].startswith("base64:"))
            subprocess.run([siem_rig.BINARY, "deadletter", "replay", "-c", self.config], check=True,
                           timeout=siem_rig.TIMEOUT_S, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            self.assert_each_once(server)
            self.assertEqual(self.letters(), [])

    def test_what_must_not_be_sent_again_is_a_dead_letter(self):
        with Server(Collector(), script(Fault(Reply(500)))) as server:
            self.write(self.output(server, workers=1), durable=True)
            self.run_to_the_end(3)
            self.assertEqual({letter["status"] for letter in self.letters()}, {500})
            self.assertEqual(len(server.app.events()) + len(self.letters()), self.EVENTS)


if __name__ == "__main__":
    siem_rig.main()
