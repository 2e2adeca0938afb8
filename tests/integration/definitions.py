"""Definitions of events that want more memory than there is: those that events carry, which any process
may write, and those of files that the user names.

Whatever comes, events of others are decoded, the process stays within `agent.memory`, and what found no
room is told.
"""

import json
import os
import re
import struct
import subprocess
import tempfile
import unittest
import uuid
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
SANITIZED = re.search(rb"__[at]san_init", Path(BINARY).read_bytes()) is not None
# A net under a program that does not end, no measure.
TIMEOUT_S = 600

HOSTILE, HONEST = 66, 10
WIDE_FIELDS = 4090
MANIFEST_EVENT = 0xFFFE


def guid(number):
    return uuid.UUID(int=0xF1000000000000000000000000000000 + number)


def record(provider, process, number, payload, *items):
    """An EVENT_HEADER record with extended items, in Windows' form."""
    extended = b""
    for place, (kind, data) in enumerate(items):
        padding = bytes(-len(data) % 8)
        linked = place + 1 < len(items)
        extended += struct.pack("<HHHH", len(data) + len(padding) + 8, kind, linked, len(data))
        extended += data + padding
    manifest = number == MANIFEST_EVENT
    descriptor = struct.pack("<HBBBBHQ", number, 0, 0, 0, 0xFE if manifest else 0,
                             MANIFEST_EVENT if manifest else 0, 0)
    head = struct.pack("<HHIIq", 1 if items else 0, 0, 7, process, 1000)
    body = head + provider.bytes_le + descriptor + bytes(24) + extended + payload
    return struct.pack("<HBB", len(body) + 4, 19, 0xC0) + body


def self_describing(provider, name, event, fields, value=b"\x2a"):
    """A TraceLogging event with ${fields} bytes as fields."""
    parts = [b"\0", event.encode() + b"\0"]
    parts += [b"f%x\0\x04" % field for field in range(fields)]
    blob = b"".join(parts)
    traits = name.encode() + b"\0"
    return record(provider, HOSTILE, 0, value * fields,
                  (11, struct.pack("<H", len(blob) + 2) + blob),
                  (12, struct.pack("<H", len(traits) + 2) + traits))


def manifest(provider, process, text):
    return record(provider, process, MANIFEST_EVENT, b"\x01\x01\x00\x5b\x01\x00\x00\x00" + text)


def event_source(provider, name, symbol):
    return (f'<i><provider name="{name}" guid="{{{provider}}}"><event value="1" '
            f'symbol="{symbol}" template="t"/><template tid="t"><data name="A" '
            f'inType="win:UInt8"/></template></provider></i>').encode()


class Definitions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def trace(self, records):
        source = self.folder / "records.bin"
        path = self.folder / "made.etl"
        with source.open("wb") as file:
            for raw in records:
                file.write(struct.pack("<I", len(raw)) + raw)
        subprocess.run([ETLGEN, "--clock", "system", "--cpus", "1", "--buffer-size", "131072",
                        "--records", str(source), "-o", str(path)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        source.unlink()
        return path

    def run_agent(self, config):
        """Run the agent; returns its exit code, its messages, and its peak memory in KB."""
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(  # JSON is YAML.
            {"version": 1, "spool": {"mode": "memory"},
             "outputs": [{"type": "file", "path": str(self.folder / "out.ndjson")}]} | config))
        with (self.folder / "said").open("w+b") as said:
            process = subprocess.Popen([BINARY, "run", "-c", str(path)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            return process.returncode, said.read().decode(), usage.ru_maxrss

    def events(self):
        with (self.folder / "out.ndjson").open() as lines:
            for line in lines:
                event = json.loads(line)
                if event["provider"]["kind"] != "agent":
                    yield event

    def assert_within(self, peak_kb, budget_mb):
        print(f"peak {peak_kb} KB of a budget of {budget_mb * 1024} KB")
        if not SANITIZED:  # shadow memory is not in the budget
            self.assertLess(peak_kb, budget_mb * 1024)

    # ---- what events carry --------------------------------------------------------------------

    def test_events_of_others_are_decoded_beside_a_flood_of_types(self):
        honest = guid(2)

        def made():
            yield manifest(guid(3), HONEST, event_source(guid(3), "Quiet", "Real"))
            for number in range(300):
                yield self_describing(guid(1), "Hostile", f"Wide{number}", WIDE_FIELDS)
                yield self_describing(guid(1000 + number), "Invented", "Wide", WIDE_FIELDS)
                yield self_describing(honest, "Honest", "Small", 3)
            for number in range(6000):
                yield manifest(guid(5000 + number), HOSTILE, b"<x%08d" % number)
                yield manifest(guid(20000 + number), HOSTILE,
                               event_source(guid(20000 + number), "Invented", "Fake"))
            yield record(guid(3), HONEST, 1, b"\x2a")

        code, said, peak_kb = self.run_agent(
            {"agent": {"memory": "64MB"},
             "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace(made()))]}]})
        self.assertEqual(code, 0, said)
        small = wide = 0
        last = None
        for event in self.events():
            name = event["event"].get("name")
            if name == "Small":
                small += 1
                self.assertEqual(event["provider"]["name"], "Honest")
                self.assertEqual(event["data"], {"f0": 42, "f1": 42, "f2": 42})
            elif name and name.startswith("Wide"):
                wide += 1
                self.assertIn(event["provider"]["name"], ("Hostile", "Invented"))
                # One that found no room has all that is needed to decode it later.
                if "data" not in event:
                    self.assertIn("66300004", event["payload_schema"])
                    self.assertEqual(len(event["payload"]), WIDE_FIELDS * 2)
            last = event
        self.assertEqual((small, wide), (300, 600))
        self.assertEqual((last["provider"]["name"], last["event"]["name"], last["data"]),
                         ("Quiet", "Real", {"A": 42}))
        self.assertRegex(said, r"warning.*session s: definitions from events")
        self.assertRegex(said, r"most recently for provider [0-9a-f-]{36}")
        self.assert_within(peak_kb, 64)

    def test_a_process_does_not_rename_the_provider_of_another(self):
        path = self.trace([
            manifest(guid(1), HONEST, event_source(guid(1), "Honest", "Real")),
            manifest(guid(1), HOSTILE, event_source(guid(1), "Renamed", "Fake")),
            record(guid(1), HONEST, 1, b"\x01"), record(guid(1), 30, 1, b"\x02"),
            record(guid(1), HOSTILE, 1, b"\x03")])
        done = subprocess.run([BINARY, "dump", str(path)], capture_output=True, check=True,
                              timeout=TIMEOUT_S, text=True)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(e["provider"]["name"], e["event"]["name"], e["data"]["A"])
                          for e in found],
                         [("Honest", "Real", 1), ("Honest", "Real", 2), ("Honest", "Fake", 3)])
        self.assertIn("use a wrong provider name (1)", done.stderr)
        self.assertIn(str(guid(1)), done.stderr)

    def test_a_manifest_is_read_though_another_provider_has_sent_its_text(self):
        text = event_source(guid(1), "Honest", "Real")
        path = self.trace([manifest(guid(2), HOSTILE, text), manifest(guid(1), HONEST, text),
                           record(guid(1), HONEST, 1, b"\x01")])
        done = subprocess.run([BINARY, "dump", str(path)], capture_output=True, check=True,
                              timeout=TIMEOUT_S, text=True)
        event = json.loads(done.stdout)
        self.assertEqual((event["provider"]["name"], event["event"]["name"], event["data"]),
                         ("Honest", "Real", {"A": 1}))

    def test_a_process_does_not_give_up_a_manifest_that_another_uses(self):
        text = event_source(guid(3), "Quiet", "Real")

        def made():
            yield manifest(guid(3), HOSTILE, text)
            yield manifest(guid(3), HONEST, text)
            for number in range(2000):
                yield manifest(guid(5000 + number), HOSTILE,
                               event_source(guid(5000 + number), "Invented", "Fake"))
            yield record(guid(3), HONEST, 1, b"\x2a")

        done = subprocess.run([BINARY, "dump", str(self.trace(made()))], capture_output=True,
                              check=True, timeout=TIMEOUT_S, text=True)
        self.assertIn("evicted", done.stderr)
        self.assertEqual(json.loads(done.stdout).get("data"), {"A": 42})

    # ---- what files say -----------------------------------------------------------------------

    def large_manifest(self, number, megabytes):
        """A manifest of so many MB, line by line; its first event is 0."""
        path = self.folder / f"large{number}.man"
        with path.open("w") as file:
            file.write(f'<instrumentationManifest><provider name="Large-{number}" '
                       f'guid="{{{guid(number)}}}"><events>\n')
            event = 0
            while file.tell() < megabytes << 20:
                file.write(f'<event value="{event % 65536}" version="{event >> 16}" '
                           f'level="win:Error" symbol="Event{event}">'
                           f'<template tid="t{event}">\n')
                for field in range(20):
                    file.write(f'<data name="Field{field}" inType="win:UInt32"/>\n')
                file.write("</template></event>\n")
                event += 1
            file.write("</events></provider></instrumentationManifest>\n")
        return path

    def small_manifest(self):
        path = self.folder / "small.man"
        path.write_text(f'<i><provider name="Small" guid="{{{guid(900)}}}"><event value="1" '
                        'template="t"/><template tid="t"><data name="A" inType="win:UInt8"/>'
                        '</template></provider></i>')
        return path

    def test_large_manifests_stay_within_the_memory_and_are_told(self):
        large = [self.large_manifest(number, 24) for number in range(1, 7)]
        trace = self.trace([record(guid(900), HONEST, 1, b"\x2a"),
                            record(guid(1), HONEST, 0, bytes(80))])
        code, said, peak_kb = self.run_agent(
            {"agent": {"memory": "64MB"},
             "schema": [{"type": "folder", "path": str(path)}
                        for path in [*large, self.small_manifest()]],
             "sessions": [{"name": "s", "type": "file", "paths": [str(trace)]}]})
        self.assertEqual(code, 0, said)
        found = list(self.events())
        self.assertEqual(found[0]["data"], {"A": 42})
        self.assertEqual(found[1]["payload"], "00" * 80)
        for path in large:
            self.assertRegex(said, rf"warning.*{path.name}: .*memory")
        self.assertRegex(said, r"warning.*definitions .*agent\.memory")
        self.assert_within(peak_kb, 64)


if __name__ == "__main__":
    unittest.main(verbosity=2)
