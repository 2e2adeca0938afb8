"""Settings at their ends, and events that are long: every run ends by itself, with every event once.

A batch that never finds room, or a text that is too long for where it goes, must not look like something
that passes: whoever waits for that stands still for ever.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
SMALL_EVENTS = 5000
PROVIDER = uuid.UUID("c2a5f0de-6c1b-4d57-9a8e-52f1c0b7d913")
LIST, TEXT, EMPTY, NAMED, FLAGS = 1, 2, 3, 4, 5  # events of the provider
# 602 events of 320 bytes say 32,767 structs of no bytes each, beside 197 KB of headers and payload.
EMPTY_EVENTS = 602
MANY = 32767
# What the README promises of the text of one event, with room for what is around it.
FREE_BYTES, RATIO, AROUND = 16 * 1024, 256, 4096
# Each byte of the payload becomes an object with a member of so long a name.
MEMBER = "n" * 220
LARGEST = {"batch": {"bytes": "32MB", "events": 1000000, "age": "1m"}}
SMALLEST = {"batch": {"bytes": "4KB"}}
MANIFEST = f"""<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
<instrumentation xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events"><events>
<provider name="Long" guid="{{{PROVIDER}}}" symbol="LONG">
<events>
<event value="{LIST}" version="0" template="list"/>
<event value="{TEXT}" version="0" template="text" message="$(string.text)"/>
<event value="{EMPTY}" version="0" template="empty"/>
<event value="{NAMED}" version="0" template="named"/>
<event value="{FLAGS}" version="0" template="flags"/>
</events>
<maps><valueMap name="words"><map value="0" message="$(string.word)"/></valueMap>
<bitMap name="bits">{"".join(f'<map value="{hex(1 << bit)}" message="$(string.word)"/>'
                             for bit in range(32))}</bitMap></maps>
<templates>
<template tid="list"><data name="count" inType="win:UInt16"/>
<struct name="items" count="count"><data name="{MEMBER}" inType="win:UInt8"/></struct></template>
<template tid="empty"><data name="count" inType="win:UInt16"/>
<data name="none" inType="win:UInt16"/>
<struct name="items" count="count"><data name="{MEMBER}" inType="win:UInt8" count="none"/></struct>
<data name="rest" inType="win:Binary" length="316"/></template>
<template tid="named"><data name="count" inType="win:UInt16"/>
<data name="words" inType="win:UInt8" count="count" map="words"/></template>
<template tid="flags"><data name="count" inType="win:UInt16"/>
<struct name="items" count="count"><data name="bits" inType="win:UInt32" map="bits"/></struct>
</template>
<template tid="text"><data name="text" inType="win:UnicodeString"/></template>
</templates></provider></events></instrumentation>
<localization><resources culture="en-US"><stringTable>
<string id="word" value="{'w' * 2000}"/>
<string id="text" value="{'%1 ' * 150}"/>
</stringTable></resources></localization></instrumentationManifest>"""


def record(number, payload):
    """EVENT_HEADER of evntcons.h and the payload, after its size, in the form that etlgen reads."""
    size = 80 + len(payload)
    descriptor = struct.pack("<HBBBBHQ", number, 0, 0, 4, 0, 0, 0)
    return struct.pack("<IHBBHHIIq", size, size, 19, 0xC0, 0x40, 0, 7, 42, 1000) + \
        PROVIDER.bytes_le + descriptor + bytes(24) + payload


def listed(count):
    return record(LIST, struct.pack("<H", count) + bytes(count))


def etlgen(path, *arguments):
    subprocess.run([ETLGEN, *arguments, "-o", path], check=True, timeout=TIMEOUT_S,
                   stdout=subprocess.DEVNULL)


class Extremes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        memory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(memory.cleanup)
        cls.traces = Path(memory.name)
        (cls.traces / "long.man").write_text(MANIFEST, encoding="utf-8")
        etlgen(cls.traces / "small.etl", "--events", str(SMALL_EVENTS))
        # Texts of 6.8 MB, of which no two have room in the smallest spool.
        cls.make("long", *[listed(30000), listed(10)] * 4)

        # The message of the first one repeats its text to 3 MB.
        cls.make("texts", *[record(TEXT, text.encode("utf-16-le") + bytes(2))
                            for text in ("x" * 20000, "short")])

        cls.make("empty", *[record(EMPTY, struct.pack("<H", MANY) + bytes(318))] * EMPTY_EVENTS)
        cls.make("repeated", record(NAMED, struct.pack("<H", 500) + bytes(500)),
                 record(FLAGS, struct.pack("<H", 100) + b"\xff" * 400),
                 record(TEXT, ("y" * 200).encode("utf-16-le") + bytes(2)))
        cls.make("shouted", *[record(TEXT, "\x01".encode("utf-16-le") * 200 + bytes(2))])

    @classmethod
    def make(cls, name, *records):
        source = cls.traces / f"{name}.records"
        source.write_bytes(b"".join(records))
        etlgen(cls.traces / f"{name}.etl", "--cpus", "1", "--buffer-size", "262144", "--records",
               source)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ship(self, traces, output, **config):
        """Ship the events; returns those that arrive."""
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(config | {
            "schema": [{"type": "folder", "path": str(self.traces)}],
            "sessions": [{"name": name, "type": "file", "paths": [f"{self.traces}/{name}.etl"]}
                         for name in traces],
            "outputs": [{"type": "file", "path": str(self.folder / "out.ndjson")} | output]}))
        done = subprocess.run([BINARY, "run", "-c", path], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return [json.loads(line) for file in self.folder.glob("out*")
                for line in file.read_bytes().splitlines()]

    def assert_each_once(self, events, **counts):
        found = sorted((event["etw"]["session"], event["etw"]["sequence"]) for event in events)
        self.assertEqual(found, [(name, number) for name, count in sorted(counts.items())
                                 for number in range(1, count + 1)])

    def assert_all(self, events):
        self.assert_each_once(events, small=SMALL_EVENTS, long=8)
        sizes = [len(event["data"]["items"]) for event in events
                 if event["etw"]["session"] == "long"]
        self.assertEqual(sorted(sizes), [10] * 4 + [30000] * 4)

    def keeping(self, **spool):
        return {"agent": {"data_dir": str(self.folder / "state"), "log": {"stats": "0s"}},
                "spool": {"max_size": "16MB", "min_free_disk": "0"} | spool}

    def test_the_smallest_spool_takes_the_largest_batches_and_events(self):
        self.assert_all(self.ship(["small", "long"], LARGEST, **self.keeping()))

    def test_the_smallest_spool_takes_small_batches_and_large_events(self):
        self.assert_all(self.ship(["small", "long"], SMALLEST, **self.keeping(compression="zstd")))

    def test_the_least_memory_takes_the_largest_batches_and_events(self):
        config = {"agent": {"memory": "16MB", "decode_workers": 4}, "spool": {"mode": "memory"}}
        self.assert_all(self.ship(["small", "long"], LARGEST, **config))

    def test_a_message_that_a_rule_cuts_and_that_is_still_too_long_is_left_out_with_the_values(self):
        rule = {"truncate": {"fields": ["message"], "bytes": 16 << 20}}
        for output in ({"format": "native"}, {"format": "ecs"}):
            events = self.ship(["texts"], output, spool={"mode": "memory"}, filters=[rule])
            (self.folder / "out.ndjson").unlink()
            self.assertEqual([event.get("message") for event in events], [None, " ".join(["short"] * 150)])
            self.assertIn("too long to ship", json.dumps(events[0]))

    def lines_of(self, name, style):
        done = subprocess.run([BINARY, "dump", "--schema", self.traces,
                               *(["--pretty"] if style == "pretty" else ["-f", style]), self.traces / f"{name}.etl"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S, check=False)
        self.assertIn(done.returncode, (0, 3), done.stderr.decode())
        return done.stdout.splitlines()

    def assert_bounded(self, size, payload):
        self.assertLessEqual(size, FREE_BYTES + RATIO * payload + AROUND)

    def test_lists_of_nothing_are_cut_and_what_is_left_out_is_there_in_hex(self):
        for style in ("native", "ecs"):
            lines = self.lines_of("empty", style)
            self.assertEqual(len(lines), EMPTY_EVENTS)
            for line in lines:
                self.assert_bounded(len(line), 320)
        events = [json.loads(line) for line in self.lines_of("empty", "native")]
        self.assertEqual(len({event["etw"]["sequence"] for event in events}), EMPTY_EVENTS)
        for event in events[::100]:
            self.assertEqual(event["data"]["count"], MANY)
            self.assertGreater(len(event["data"]["items"]), 50)
            self.assertLess(len(event["data"]["items"]), MANY)
            self.assertEqual(event["payload_rest"], "00" * 316)
            self.assertIn("too long to ship", event["decode_error"])
        size = sum(map(len, self.lines_of("empty", "pretty")))
        self.assert_bounded(size / EMPTY_EVENTS, 320)

    def test_names_and_messages_that_repeat_are_bounded_by_the_payload(self):
        for style in ("native", "ecs"):
            for line, payload in zip(self.lines_of("repeated", style), (502, 402, 402)):
                self.assert_bounded(len(line), payload)
        named, flags, text = map(json.loads, self.lines_of("repeated", "native"))
        self.assertEqual((named["data"]["count"], named["payload_rest"]), (500, "00" * 500))
        self.assertEqual(flags["data"]["count"], 100)
        left = 100 - len(flags["data"]["items"])
        self.assertIn(flags["payload_rest"], ("ff" * 4 * left, "ff" * 4 * (left + 1)))
        self.assertEqual(text["message"], " ".join(["y" * 200] * 150))  # 30 KB of 402 bytes
        shouted, = map(json.loads, self.lines_of("shouted", "native"))
        self.assertEqual(shouted["data"]["text"], "\x01" * 200)
        self.assertNotIn("message", shouted)  # 180 KB
        self.assertIn("too long to ship", shouted["decode_error"])

    def test_files_that_are_smaller_than_an_event_take_one_each(self):
        rotate = {"rotate": {"size": "1KB"}}
        config = {"spool": {"mode": "memory"}}
        self.assert_each_once(self.ship(["long"], rotate, **config), long=8)
        self.assertEqual(len(list(self.folder.glob("out*"))), 8)

    def test_a_trace_of_terabytes_that_are_a_hole_is_read_at_once(self):
        trace = self.folder / "sparse.etl"
        etlgen(trace, "--events", str(SMALL_EVENTS))
        events = subprocess.run([BINARY, "dump", trace], check=True, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, timeout=TIMEOUT_S).stdout
        size = trace.stat().st_size
        os.truncate(trace, 4 << 40)
        if trace.stat().st_blocks > 1 << 30:
            self.skipTest("this file system has no holes")
        dump, stat = (subprocess.run([BINARY, *command, trace], check=False, capture_output=True,
                                     timeout=TIMEOUT_S) for command in (["dump"], ["stat", "--json"]))
        self.assertEqual((dump.returncode, stat.returncode), (3, 3), dump.stderr + stat.stderr)
        self.assertEqual(dump.stdout, events)
        self.assertIn(b"no buffer from here to the end of the file", dump.stderr)
        self.assertIn(str(size).encode(), stat.stdout)

    def test_one_signal_ends_stat_inside_a_trace(self):
        trace = self.folder / "many.etl"
        etlgen(trace, "--events", "300000")
        process = subprocess.Popen([BINARY, "stat", *[trace] * 100], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        wait_until(lambda: self.catches(process.pid, signal.SIGTERM))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 1, said)
        self.assertIn(b"many.etl: stopped before its end", said)

    def catches(self, pid, number):
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
        return int(caught.split()[1], 16) >> (number - 1) & 1


if __name__ == "__main__":
    unittest.main()
