"""The loki output in a running agent: what arrives is what `dump` writes, once, in either encoding.

Requests are read by others: Snappy's format by cramjam, protobuf by Google's package, from what Loki says of its
messages (pkg/push/push.proto). tests/install.sh installs both; without them the tests are skipped. The real
collector's receiver takes its turn in collector.py.
"""

import collections
import json
import re
import shutil
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import siem_rig  # noqa: E402
from support.scripted_http import LOST_BEFORE, LOST_BEHIND, Fault, Reply, Server, every, script  # noqa: E402

try:
    import cramjam
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields
except ImportError:
    print("skipped: no cramjam or no protobuf, which tests/install.sh installs")
    sys.exit(77)

LABELS = {"host", "provider", "channel", "level"}


def push_request():
    """The class of logproto.PushRequest."""
    kinds = descriptor_pb2.FieldDescriptorProto
    messages = {
        "PushRequest": [("streams", 1, "Stream", True)],
        "Stream": [("labels", 1, kinds.TYPE_STRING, False), ("entries", 2, "Entry", True),
                   ("hash", 3, kinds.TYPE_UINT64, False)],
        "Entry": [("timestamp", 1, "Timestamp", False), ("line", 2, kinds.TYPE_STRING, False),
                  ("structuredMetadata", 3, "Pair", True), ("parsed", 4, "Pair", True)],
        "Pair": [("name", 1, kinds.TYPE_STRING, False), ("value", 2, kinds.TYPE_STRING, False)],
        "Timestamp": [("seconds", 1, kinds.TYPE_INT64, False), ("nanos", 2, kinds.TYPE_INT32, False)],
    }
    file = descriptor_pb2.FileDescriptorProto(name="push.proto", package="logproto", syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, number, kind, many in fields:
            made = message.field.add(name=field, number=number,
                                     label=kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL)
            if isinstance(kind, str):
                made.type, made.type_name = kinds.TYPE_MESSAGE, f".logproto.{kind}"
            else:
                made.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("logproto.PushRequest"))


PushRequest = push_request()


def parse_labels(text):
    """`{job="etwship",host="PC"}`"""
    pair = r'([a-z_]+)=("(?:[^"\\]|\\.)*")'
    assert re.fullmatch(rf"\{{({pair})(,{pair})*\}}", text), text
    return {name: json.loads(value) for name, value in re.findall(pair, text)}


def streams_of(request):
    """[(labels, [(nanoseconds, line, metadata)])]"""
    data = request.data
    if request.headers["content-type"] == "application/json":
        for stream in json.loads(data)["streams"]:
            yield stream["stream"], [(int(time), line, about) for time, line, about in stream["values"]]
        return
    assert request.headers["content-type"] == "application/x-protobuf"
    push = PushRequest.FromString(bytes(cramjam.snappy.decompress_raw(data)))
    assert len(unknown_fields.UnknownFieldSet(push)) == 0
    for stream in push.streams:
        entries = []
        for entry in stream.entries:
            about = {pair.name: pair.value for pair in entry.structuredMetadata}
            assert len(about) == len(entry.structuredMetadata)
            entries.append((entry.timestamp.seconds * 10**9 + entry.timestamp.nanos, entry.line, about))
        yield parse_labels(stream.labels), entries


def nanos_of(text):
    whole, fraction = text.rstrip("Z").split(".")
    since = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc) - \
        datetime(1970, 1, 1, tzinfo=timezone.utc)
    return since // timedelta(seconds=1) * 10**9 + int(fraction) * 100


class Loki:
    """Accepts requests of either encoding. Of equal lines at one time it keeps one, like Loki."""

    def __init__(self):
        self.lines = []  # (labels, nanoseconds, line, metadata)
        self.kept = {}

    def __call__(self, request):
        assert request.path == "/loki/api/v1/push", request.path
        for labels, entries in streams_of(request):
            times = [time for time, _, _ in entries]
            assert times == sorted(times)
            for time, line, about in entries:
                assert all(isinstance(value, str) for value in about.values())
                self.lines.append((labels, time, line, about))
                self.kept[frozenset(labels.items()), time, line] = about
        return Reply(204)

    def events(self):
        """Events of the trace, without the agent's."""
        for labels, time, line, about in self.lines:
            event = json.loads(line)
            if event["provider"].get("name") != "etwship":
                yield labels, time, event, about


class Picky(Loki):
    """Refuses some lines like Loki: it stores the others, answers 400, and names only one stream, with ten of its
    lines at most."""

    NAMED = 10

    @staticmethod
    def is_refused(line):
        event = json.loads(line)
        return event["provider"].get("name") != "etwship" and event["etw"]["sequence"] % 7 == 0

    def __call__(self, request):
        said = None
        for labels, entries in streams_of(request):
            refused = [time for time, line, _ in entries if self.is_refused(line)]
            for time, line, about in entries:
                if not self.is_refused(line):
                    self.lines.append((labels, time, line, about))
                    self.kept[frozenset(labels.items()), time, line] = about
            if refused:
                text = ",".join(f'{name}="{value}"' for name, value in labels.items())
                names = "\n".join(
                    f"entry with timestamp {self.go_time(time)} ignored, reason: 'entry too far behind, oldest "
                    "acceptable timestamp is: 2026-11-21T10:00:00Z'," for time in refused[:self.NAMED])
                said = f"{names}\nuser 'fake', total ignored: {len(refused)} out of {len(entries)} " \
                       f"for stream: {{{text}}}"
        return Reply(400, said) if said else Reply(204)

    @staticmethod
    def go_time(nanos):
        second = datetime.fromtimestamp(nanos // 10**9, timezone.utc)
        fraction = f".{nanos % 10**9:09}".rstrip("0").rstrip(".")
        return f"{second:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC"


class LokiOutput(siem_rig.Agent):
    def output(self, server, **keys):
        return {"type": "loki", "url": server.url, "proxy": "", "batch": {"events": 100}} | keys

    def expected(self):
        """The expected events, by sequence."""
        done = subprocess.run([siem_rig.BINARY, "dump", self.trace], check=True,
                              timeout=siem_rig.TIMEOUT_S, stdout=subprocess.PIPE)
        return {event["etw"]["sequence"]: event for event in map(json.loads, done.stdout.splitlines())}

    def test_either_encoding_says_what_dump_says(self):
        expected = self.expected()
        found = {}
        for encoding in ("json", "protobuf"):
            for compression in ("none", "gzip"):
                with self.subTest(encoding, compression=compression), Server(Loki()) as server:
                    self.write(self.output(server, encoding=encoding, compression=compression))
                    self.run_to_the_end()
                    self.assert_as_dumped(server.app, expected)
                    mine = {event["etw"]["sequence"]: (labels, time, about)
                            for labels, time, event, about in server.app.events()}
                    self.assertEqual(found.setdefault("json", mine), mine)

    def assert_as_dumped(self, loki, expected):
        seen = collections.Counter()
        for labels, time, event, about in loki.events():
            number = event["etw"]["sequence"]
            want = expected[number]
            seen[number] += 1
            for part in ("data", "payload", "provider", "event", "process"):
                self.assertEqual(event.get(part), want.get(part))
            self.assertEqual(time, nanos_of(want["@timestamp"]))
            self.assertLessEqual(set(labels), LABELS | {"job"})
            self.assertEqual(labels["job"], "etwship")
            self.assertEqual(labels.get("provider"), want["provider"].get("name"))
            self.assertEqual(about["sequence"], str(number))
            self.assertEqual(about.get("process_name"), want.get("process", {}).get("name"))
            self.assertEqual(about.get("event_name"), want["event"].get("name"))
        self.assertEqual(set(seen), set(expected))
        self.assertEqual(set(seen.values()), {1})

    def check(self, sessions, **keys):
        path = self.folder / "check.yaml"
        path.write_text(json.dumps({"sessions": sessions, "spool": {"mode": "memory"}, "outputs": [
            {"name": "grafana", "type": "loki", "url": "http://127.0.0.1:1"} | keys]}))
        done = subprocess.run([siem_rig.BINARY, "check", "-c", path], check=False, text=True,
                              timeout=siem_rig.TIMEOUT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_check_says_how_many_streams_there_will_be_and_which_label_makes_them(self):
        live = [{"name": "a", "type": "realtime", "providers": ["Provider-A:warning", "Provider-B:error"]},
                {"name": "b", "type": "realtime", "providers": ["Provider-C:verbose"]}]
        # Session a: one host, two providers, three levels; session b: one, one, five.
        said = self.check(live)
        self.assertIn("at most 11 streams for each combination of values of channel; most by level, "
                      "with 5 values; no more than 1000 are made", said)
        self.assertNotIn("share one stream", said)
        said = self.check(live, labels=["host", "provider"], max_streams=2)
        self.assertIn("at most 3 streams; most by provider, with 3 values; no more than 2 are made", said)
        self.assertIn("output grafana may make 3 streams; most by provider, with 3 values. its limit is 2, and "
                      "all events beyond it share one stream. leave provider out, or raise the limit", said)
        said = self.check([{"type": "file", "paths": ["none.etl"]}], labels=["host", "provider", "level"])
        self.assertIn("at most 5 streams for each combination of values of host, provider; most by "
                      "level, with 5 values", said)

    def test_what_has_to_come_again_comes_once(self):
        for fault in (Fault(Reply(429, headers={"Retry-After": "0"})), Fault(Reply(503)), LOST_BEFORE):
            with self.subTest(fault.reply and fault.reply.status), \
                    Server(Loki(), every(4, fault)) as server:
                self.write(self.output(server, encoding="protobuf"))
                self.run_to_the_end()
                found = self.sequences(event for _, _, event, _ in server.app.events())
                self.assert_all_there(found)
                self.assertEqual(set(found.values()), {1})

    def test_what_may_have_arrived_comes_again_and_loki_keeps_one(self):
        with Server(Loki(), script(None, LOST_BEHIND)) as server:
            self.write(self.output(server, encoding="protobuf", workers=1))
            self.run_to_the_end()
            self.assertGreater(len(server.app.lines), len(server.app.kept))
            self.assert_all_there(self.kept(server))

    def test_of_a_request_with_refused_lines_these_are_dead_letters_and_the_others_there_once(self):
        for encoding in ("json", "protobuf"):
            with self.subTest(encoding), Server(Picky()) as server:
                self.write(self.output(server, encoding=encoding), durable=True)
                said = self.run_to_the_end(3)
                done = subprocess.run([siem_rig.BINARY, "deadletter", "list", "--json", "-c", self.config],
                                      check=True, timeout=siem_rig.TIMEOUT_S, stdout=subprocess.PIPE)
                letters = [json.loads(line) for line in done.stdout.splitlines()]
                refused = set(range(7, self.EVENTS + 1, 7))
                self.assertEqual(sorted(letter["document"]["etw"]["sequence"] for letter in letters),
                                 sorted(refused))
                self.assertIn(f"{len(refused)} refused", said)
                found = self.kept(server)
                self.assertEqual(set(found), set(range(1, self.EVENTS + 1)) - refused)
                self.assertEqual(set(found.values()), {1})
            shutil.rmtree(self.folder / "data")

    def kept(self, server):
        return self.sequences(json.loads(line) for _, _, line in server.app.kept)

    def test_kills_of_the_agent_and_of_loki_lose_nothing(self):
        loki = Loki()
        with siem_rig.Killed(loki) as server:
            self.write(self.output(server, encoding="protobuf", batch={"events": 20}, workers=1),
                       durable=True)
            self.kill_on_the_way(server.wait_for_more, server.kill_every_other)
            self.assertGreater(self.kills, self.KILLS // 2)
            self.assert_all_there(self.kept(server))
            # An event that is read again after a kill differs in the run that has read it, and in nothing else.
            texts = collections.defaultdict(set)
            for _, time, line in server.app.kept:
                event = json.loads(line)
                event["agent"].pop("ephemeral_id")
                if event["provider"].get("name") != "etwship":
                    texts[event["etw"]["sequence"]].add((time, json.dumps(event)))
            self.assertEqual({len(each) for each in texts.values()}, {1})


if __name__ == "__main__":
    siem_rig.main()
