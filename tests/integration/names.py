"""Hostile names: whatever they contain, each line that a person or a program sees is one of the agent's."""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 300
PROVIDER = uuid.UUID("0f8a2f9a-61a6-4be5-8b70-7f1a3d0f6c11")
# What Unicode says of characters: C0, C1 and DEL (4.8, table 23-1), bidirectional controls (UAX 9), zero
# width (23.2), separators of lines and paragraphs (5.8), the byte order mark (23.8).
UNSEEN = "".join(map(chr, [*range(1, 32), *range(0x7F, 0xA0), 0x61C, *range(0x200B, 0x2010),
                           *range(0x2028, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF]))
FORGED = "x\netwship: error: forged\r\n\x1b[2J"
RAW = re.compile("[" + re.escape(UNSEEN.replace("\n", "")) + "]")
NAME = FORGED + UNSEEN
MOF = """[Dynamic, guid("{%s}"), DisplayName("%s")] class Bad : EventTrace {};
[EventType(1), EventTypeName("Go")] class Bad_Go : Bad {
[WmiDataId(1), format("%s"), read] string text; };
[guid("{11111111-0000-0000-0000-00000000000%%d}")] class Worse : Missing\x9b\u202e {};
"""


def manifest(name):
    text = name.translate({ord(c): f"&#{ord(c)};" for c in name if ord(c) > 126 or c in "\r\n\t"})
    text = "".join(c for c in text if ord(c) >= 32)
    return f"""<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
<instrumentation xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events"><events>
<provider name="{text}" guid="{{{PROVIDER}}}" symbol="BAD">
<events><event value="1" version="0" template="t" task="work" message="%1{text}"/></events>
<tasks><task name="work" symbol="W" value="0" message="{text}"/></tasks>
<templates><template tid="t"><data name="a{text}" inType="win:UnicodeString"/></template></templates>
</provider></events></instrumentation></instrumentationManifest>"""


def record(text):
    payload = text.encode("utf-16-le") + bytes(2)
    size = 80 + len(payload)
    descriptor = struct.pack("<HBBBBHQ", 1, 0, 0, 4, 0, 0, 0)
    return struct.pack("<IHBBHHIIq", size, size, 19, 0xC0, 0x40, 0, 7, 42, 1000) + \
        PROVIDER.bytes_le + descriptor + bytes(24) + payload


class Names(unittest.TestCase):
    def setUp(self):
        memory = tempfile.TemporaryDirectory()
        self.addCleanup(memory.cleanup)
        self.folder = Path(memory.name)
        self.schema = self.folder / "schema"
        self.schema.mkdir()
        (self.schema / "bad.man").write_text(manifest(NAME), encoding="utf-8")
        self.trace = self.folder / "trace.etl"
        source = self.folder / "records"
        source.write_bytes(record(NAME))
        subprocess.run([ETLGEN, "--cpus", "1", "--records", source, "-o", self.trace], check=True,
                       timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    def etwship(self, *arguments, ok=(0,)):
        done = subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT_S, check=False)
        self.assertIn(done.returncode, ok, done.stderr)
        return done.stdout.decode("utf-8"), done.stderr.decode("utf-8")

    def assert_seen(self, text):
        self.assertIsNone(RAW.search(text), ascii(text))
        for line in text.splitlines():
            self.assertFalse(line.startswith("etwship: error: forged"), ascii(text))

    def test_json_is_one_object_a_line_with_the_value_and_no_raw_control(self):
        for style in ("native", "ecs"):
            out, _ = self.etwship("dump", "--schema", self.schema, "-f", style, self.trace)
            self.assertEqual(out.count("\n"), 1)
            self.assert_seen(out)
            event = json.loads(out)
            data = event["data"] if style == "native" else event["winlog"]["event_data"]
            self.assertEqual([*data.values()], [NAME])

    def test_people_see_one_line_for_each_name(self):
        for command in (["dump", "--pretty"], ["stat"]):
            out, err = self.etwship(*command, "--schema", self.schema, self.trace)
            self.assertIn("x\\netwship: error: forged", out)
            self.assert_seen(out)
            self.assert_seen(err)
        for command in (["schema", "show"], ["providers"]):
            out, err = self.etwship(*command, "--schema", self.schema, ok=(0, 1, 2))
            self.assert_seen(out)
            self.assert_seen(err)

    def test_warnings_of_definitions_are_one_line_each(self):
        bad = MOF % (PROVIDER, "a\\nb", "\x9b\x85\u202e")
        (self.schema / "bad.mof").write_text(bad + "class é\u2028\nx { %s }" % UNSEEN,
                                             encoding="utf-8")
        (self.schema / "worse\u202e\x9b.man").write_text("<a", encoding="utf-8")
        _, err = self.etwship("dump", "--schema", self.schema, self.trace, ok=(0, 1, 3))
        self.assertIn("bad.mof", err)
        self.assert_seen(err)
        for line in err.splitlines():
            self.assertTrue(line.startswith("etwship: ") or line.startswith("  "), ascii(err))

    def test_errors_show_what_was_written(self):
        for arguments in (["dump", FORGED], ["dump", "--where", FORGED, self.trace],
                          ["run", "-c", FORGED], ["dump", "--format", FORGED, self.trace],
                          [FORGED], ["deadletter", "list", "-c", FORGED]):
            _, err = self.etwship(*arguments, ok=(1, 2))
            self.assert_seen(err)
            self.assertNotIn("\n" + FORGED.splitlines()[1], err, ascii(err))


if __name__ == "__main__":
    sys.exit(unittest.main())
