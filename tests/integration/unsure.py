"""Rules whose regular expression reaches its limits on an event: nothing is lost, and the log, the status and the
event itself say so."""

import json
import os
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
PROVIDER = uuid.UUID("7d1f0a52-93c4-4b0e-8f5e-1c2ad64bb0a7")
MANIFEST = f"""<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
<instrumentation xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events"><events>
<provider name="Slow" guid="{{{PROVIDER}}}" symbol="SLOW">
<events><event value="1" version="0" template="text"/></events>
<templates><template tid="text"><data name="text" inType="win:UnicodeString"/></template></templates>
</provider></events></instrumentation></instrumentationManifest>"""
EASY, HARD = "yyy", "y" * 60 + "!"
SLOW = "data.text matches '(y+)+$'"
NOTE = "could not be evaluated"


def record(text):
    """EVENT_HEADER of evntcons.h and the payload, after its size, in the form that etlgen reads."""
    payload = text.encode("utf-16-le") + bytes(2)
    size = 80 + len(payload)
    descriptor = struct.pack("<HBBBBHQ", 1, 0, 0, 4, 0, 0, 0)
    return struct.pack("<IHBBHHIIq", size, size, 19, 0xC0, 0x40, 0, 7, 42, 1000) + \
        PROVIDER.bytes_le + descriptor + bytes(24) + payload


class Unsure(unittest.TestCase):
    def setUp(self):
        memory = tempfile.TemporaryDirectory()
        self.addCleanup(memory.cleanup)
        self.folder = Path(memory.name)
        (self.folder / "slow.man").write_text(MANIFEST, encoding="utf-8")
        source = self.folder / "records"
        source.write_bytes(b"".join(map(record, (EASY, HARD, "z", HARD))))
        self.trace = self.folder / "trace.etl"
        subprocess.run([ETLGEN, "--cpus", "1", "--records", source, "-o", self.trace], check=True,
                       timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    def etwship(self, *arguments):
        return subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, encoding="utf-8", timeout=TIMEOUT_S, check=False)

    def configure(self, **config):
        path = self.folder / "etwship.yaml"
        session = {"name": "s", "type": "file", "paths": [str(self.trace)]}
        session |= config.pop("session", {})
        output = {"type": "file", "path": str(self.folder / "out.ndjson")}
        path.write_text(json.dumps(config | {
            "schema": [{"type": "folder", "path": str(self.folder)}], "sessions": [session],
            "outputs": [output | config.pop("output", {})]}))
        return path

    def run_with(self, **config):
        """(text, is it unsure) of each event that arrives, and the log."""
        done = self.etwship("run", "-c", self.configure(**config))
        self.assertEqual(done.returncode, 0, done.stderr)
        out = self.folder / "out.ndjson"
        events = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        out.unlink()
        return [(event["data"]["text"], NOTE in event.get("decode_error", ""))
                for event in events], done.stderr

    kept = [(EASY, False), (HARD, True), (HARD, True)]

    def test_what_a_rule_may_keep_is_kept_with_a_note_and_a_warning(self):
        rules = [{"keep": SLOW}, {"drop": "true"}]
        for where in ({"filters": rules}, {"session": {"filters": rules}},
                      {"output": {"filters": rules}}):
            events, log = self.run_with(**where)
            self.assertEqual(events, self.kept, where)
            self.assertIn(f"{NOTE} for 2 events", log)

    def test_what_a_rule_may_drop_is_kept_too(self):
        events, log = self.run_with(filters=[{"drop": f"not ({SLOW})"}])
        self.assertEqual(events, self.kept)
        self.assertIn(f"{NOTE} for 2 events", log)

    def test_a_rule_may_say_that_doubt_drops(self):
        events, log = self.run_with(filters=[{"keep": SLOW, "unsure": "drop"}, {"drop": "true"}])
        self.assertEqual(events, [(EASY, False)])
        self.assertIn(f"{NOTE} for 2 events", log)

    def test_rules_that_are_judged_say_nothing(self):
        events, log = self.run_with(filters=[{"keep": "data.text matches 'y'"}, {"drop": "true"}])
        self.assertEqual(events, [(EASY, False), (HARD, False), (HARD, False)])
        self.assertNotIn(NOTE, log)

    def test_tags_are_left_out_and_values_are_hidden(self):
        rules = [{"tag": {"where": SLOW, "tags": ["long"]}},
                 {"remove": {"where": SLOW, "fields": ["data.text"]}}]
        done = self.etwship("run", "-c", self.configure(filters=rules))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = (self.folder / "out.ndjson").read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines]
        self.assertEqual([event["data"].get("text") for event in events], [None, None, "z", None])
        self.assertEqual([event.get("tags") for event in events], [["long"], None, None, None])
        self.assertEqual([NOTE in event.get("decode_error", "") for event in events],
                         [False, True, False, True])
        self.assertEqual(done.stderr.count(f"{NOTE} for 2 events"), 2, done.stderr)

    def test_doubt_of_a_provider_with_rules_that_edit_is_counted_once(self):
        rules = [{"tag": {"where": "true", "tags": ["all"]}}, {"keep": SLOW}, {"drop": "true"}]
        providers = [{"name": str(PROVIDER), "filters": rules}]
        events, log = self.run_with(session={"providers": providers})
        self.assertEqual(events, self.kept)
        self.assertIn(f"{NOTE} for 2 events", log)

    def test_doubt_of_one_output_is_not_told_to_another(self):
        others = {"others.ndjson": [], "edited.ndjson": [{"tag": {"where": "true", "tags": ["all"]}}]}
        path = self.configure(output={"filters": [{"keep": SLOW}, {"drop": "true"}]})
        config = json.loads(path.read_text())
        for name, rules in others.items():
            config["outputs"].append({"name": name, "type": "file", "path": str(self.folder / name),
                                      "filters": rules})
        path.write_text(json.dumps(config))
        done = self.etwship("run", "-c", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = {name: [NOTE in line for line in (self.folder / name).read_text().splitlines()]
                 for name in ("out.ndjson", *others)}
        self.assertEqual(notes, {"out.ndjson": [False, True, True], "others.ndjson": [False] * 4,
                                 "edited.ndjson": [False] * 4})

    def test_dump_keeps_them_and_says_so(self):
        done = self.etwship("dump", "--schema", self.folder, "--where", SLOW, self.trace)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(event["data"]["text"], NOTE in event.get("decode_error", ""))
                          for event in events], self.kept)
        self.assertIn(f"{NOTE} for 2 events", done.stderr)

    def test_check_warns_of_patterns_that_hostile_texts_wear_out(self):
        for pattern, slow in ((r"(y+)+$", True), (r"^\\Device\\.*\\cmd\.exe$", False)):
            path = self.configure(filters=[{"keep": f"data.text matches '{pattern}'"}])
            done = self.etwship("check", "-c", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("exceed its limits" in done.stderr, slow, done.stderr)

    def test_only_rules_that_decide_take_the_option(self):
        path = self.configure(filters=[{"tag": {"where": SLOW, "tags": ["a"]}, "unsure": "drop"}])
        done = self.etwship("check", "-c", path)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("unsure", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
