"""The ecs event against its table, and against the native event of the same record.

Every key that is written stands in agent/event/ecs.tsv with the right JSON type, no field changes
its type between events, and what both shapes say they say alike, but for what the mapping has of an
event's process, user and action (ecs_map.py). Runs over traces made by etlgen
(ETWSHIP_ETLGEN) and, where ETWSHIP_SHARED names a folder with them, over real ones.
"""

import collections
import itertools
import json
import os
import re
import subprocess
import tempfile
import unittest
from datetime import datetime
from pathlib import Path

import ecs_map_table
import ecs_table

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
SHARED = os.environ.get("ETWSHIP_SHARED", "")
# A net under a program that does not end, no measure.
TIMEOUT_S = 600
EVENTS_AT_MOST = 2000

LEVELS = ["information", "critical", "error", "warning", "information", "verbose"]
GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FILETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z")
SYSTEMTIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z?")
HEX = re.compile(r"0x[0-9a-f]+")
DIGITS = re.compile(r"([0-9a-f]{2})+")
STATUS = re.compile(r"Unknown (NTSTATUS|HResult|Win32) Error code: (0x[0-9a-f]+)")


def unique_members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError(f"a key stands twice: {[key for key, _ in pairs]}")
    return members


def no_constant(text):
    raise ValueError(f"{text} is no JSON")


def parse(line):
    return json.loads(line, object_pairs_hook=unique_members, parse_constant=no_constant)


def dump(path, *options):
    """The events of a trace, parsed strictly."""
    with subprocess.Popen([BINARY, "dump", "--etw-file", "path", "-n", str(EVENTS_AT_MOST), *options, str(path)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        for line in process.stdout:
            yield parse(line)


# ---- table -----------------------------------------------------------------------------------------


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_values(value):
    if isinstance(value, list):
        return all(map(is_values, value))
    if isinstance(value, dict):
        return all(map(is_values, value.values()))
    return isinstance(value, str)


CHECKS = {
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "boolean": lambda value: isinstance(value, bool),
    "strings": lambda value: isinstance(value, list) and value
    and all(isinstance(item, str) for item in value),
    "numbers": lambda value: isinstance(value, list) and value and all(map(is_number, value)),
    "object": lambda value: isinstance(value, dict) and value,
    "values": is_values,
}


def leaves(value, path=""):
    """Every member that is not an object, and every object that the table names as a whole."""
    for key, member in value.items():
        inner = f"{path}.{key}" if path else key
        payload = path == "winlog.event_data" and key != "extended_data"
        if isinstance(member, dict) and not payload and inner != "etw.status":
            yield from leaves(member, inner)
        elif isinstance(member, list) and member and isinstance(member[0], dict) and not payload:
            for item in member:
                yield from leaves(item, inner)
        else:
            yield inner, member


def shape(value):
    """A JSON type for an index: a list has the type of its elements."""
    if isinstance(value, list):
        return shape(value[0]) if value else "none"
    return {dict: "object", str: "string", bool: "boolean"}.get(type(value), "number")


# ---- the same value in both shapes ------------------------------------------------------------------


def payload_value(value, name=None):
    """A value of the native event's `data`, in the spelling of the ecs event."""
    if isinstance(value, list):
        return [payload_value(item) for item in value]
    if isinstance(value, bool):
        return {"true" if value else "false"}
    if value is None:
        return {{"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(name, "?")}
    if isinstance(value, int):
        return {str(value)}
    if isinstance(value, float):
        return {f"{value:.6f}"}
    forms = {value}
    if GUID.fullmatch(value):
        forms.add("{" + value + "}")
    if FILETIME.fullmatch(value):
        forms.add(value[:-1] + "00Z")
    if SYSTEMTIME.fullmatch(value):
        forms.add(value.rstrip("Z") + "Z")
    if HEX.fullmatch(value):
        forms.add("0x" + value[2:].upper())
    if DIGITS.fullmatch(value):
        forms.add("0x" + value.upper())
    return forms


def is_endpoint(value):
    return set(value) <= {"address", "port", "family", "scope_id", "raw"}


def endpoint(value):
    if "raw" in value or not value:
        return {"0x" + value.get("raw", "").upper()}
    scope = f"%{value['scope_id']}" if "scope_id" in value else ""
    address = value["address"]
    return {f"[{address}{scope}]:{value['port']}" if ":" in address else f"{address}:{value['port']}"}


def same_float(native, ecs):
    """The native spelling is the shortest one that reads back as a float of that width."""
    return isinstance(native, float) and abs(native - float(ecs)) <= max(
        abs(native) * 1e-6, 0.6e-6)


def same_payload(native, ecs):
    if isinstance(native, dict) and isinstance(ecs, str) and is_endpoint(native):
        return ecs in endpoint(native)
    if isinstance(native, dict):
        return isinstance(ecs, dict) and not list(differences(native, ecs, False))
    if isinstance(native, list):
        return isinstance(ecs, list) and len(native) == len(ecs) and all(
            map(same_payload, native, ecs))
    return isinstance(ecs, str) and (ecs in payload_value(native) or same_float(native, ecs))


def same_text(native, name, ecs):
    """A number that ecs shows as text: by its name, in TDH's words for unknown codes, or plain."""
    if isinstance(native, list):
        names = name if name else [None] * len(native)
        return all(map(same_text, native, names, ecs))
    if isinstance(name, list):
        return ecs == ", ".join(item if not HEX.fullmatch(item) else "0x" + item[2:].upper()
                               for item in name) or same_payload(native, ecs)
    unknown = STATUS.fullmatch(ecs)
    if unknown:
        return int(unknown[2], 16) == native & 0xffffffff
    return ecs == name or same_payload(native, ecs)


def differences(native, ecs, top):
    """The fields in which two payload objects differ."""
    for key, value in native.items():
        if key.endswith("_name") and key not in ecs and key[:-5] in native:
            continue
        other = key
        if top and key == "extended_data":
            other = next(f"extended_data_{n}" for n in itertools.count(2)
                         if f"extended_data_{n}" not in native)
        raw = ecs.get(f"{key}_raw") if f"{key}_raw" not in native else None
        if raw is not None:
            if not same_payload(value, raw):
                yield f"{key}_raw: {value!r} is {raw!r}"
            name = native.get(f"{key}_name")
            if other not in ecs:
                if name != "":
                    yield f"{key}: {name!r} is missing"
            elif not same_text(value, name, ecs[other]):
                yield f"{key}: {value!r} is {ecs[other]!r}"
        elif other not in ecs:
            if not (top and value in ("", {})):
                yield f"{key}: {value!r} is missing"
        elif value is None:
            if ecs[other] not in payload_value(value, native.get(f"{key}_name")):
                yield f"{key}: {value!r} is {ecs[other]!r}"
        elif not same_payload(value, ecs[other]):
            yield f"{key}: {value!r} is {ecs[other]!r}"


def get(event, path):
    for key in path.split("."):
        event = event.get(key) if isinstance(event, dict) else None
    return event


def plain(value):
    """Without braces, case and base."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    text = str(value).strip("{}").lower()
    return str(int(text, 16)) if HEX.fullmatch(text) else text


def psm_key(digits):
    return str(int.from_bytes(bytes.fromhex(digits)[:8], "little"))


# Rows whose values are not written alike.
SAME = {
    "log.level": lambda native, ecs: LEVELS[native] == ecs,
    "winlog.event_data.extended_data.INSTANCE_INFO": lambda native, ecs:
        int(ecs) == native["id"] | native["parent_id"] << 32,
    "winlog.event_data.extended_data.PSM_KEY": lambda native, ecs: psm_key(native) == ecs,
    "winlog.event_data.extended_data.STACK_KEY32": lambda native, ecs: plain(native) == [str(ecs)],
    "winlog.event_data.extended_data.STACK_KEY64": lambda native, ecs: plain(native) == [ecs],
    "winlog.event_data.extended_data.STACK_TRACE32": lambda native, ecs:
        set(map(str, ecs)) <= set(plain(native)),
    "winlog.event_data.extended_data.STACK_TRACE64": lambda native, ecs:
        set(ecs) <= set(plain(native)),
    "etw.payload": lambda native, ecs: "0x" + native.upper() == ecs,
    "etw.payload_rest": lambda native, ecs: "0x" + native.upper() == ecs,
    "message": lambda native, ecs: native == ecs,
    # A name of its own where the task has none.
    "winlog.task": lambda native, ecs: native in (None, ecs),
}
# Values of the native event that make no field here: empty texts, levels that Filebeat cannot name.
ABSENT = {
    "log.level": lambda native: native >= len(LEVELS),
    "message": lambda native: native == "",
}


# What the mapping has the last word on, in events that it knows.
MAPPED = {provider.guid for provider in ecs_map_table.providers()}
MAPPED_FIELDS = re.compile(r"event\.action|(process|user)\..*")


def is_mapped(native):
    return {get(native, "provider.guid"), get(native, "event.class_guid")} & MAPPED


class Ecs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = ecs_table.read()
        cls.found = {}
        cls.folder = tempfile.TemporaryDirectory()
        cls.traces = []
        for mix in ("realistic", "all"):
            path = Path(cls.folder.name) / f"{mix}.etl"
            made = subprocess.run([ETLGEN, "--mix", mix, "--events", "3000", "-o", str(path)],
                                  timeout=TIMEOUT_S, check=False, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
            if made.returncode == 0:
                cls.traces.append(path)
        if SHARED:
            cls.traces += sorted(Path(SHARED).glob("data/etl/*.etl"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def row(self, path):
        if path not in self.found:
            self.found[path] = ecs_table.find(self.rows, path)
        return self.found[path]

    def check_types(self, event, seen):
        for path, value in leaves(event):
            row = self.row(path)
            self.assertIsNotNone(row, f"{path} is not in {ecs_table.TABLE.name}")
            self.assertTrue(CHECKS[row.type](value), f"{path}: {value!r} is no {row.type}")
            if row.mapping == "date":
                datetime.strptime(value[:26].rstrip("Z"), "%Y-%m-%dT%H:%M:%S.%f")
            # Fields of one name mean different things in different events of a provider.
            owner = () if row.type != "values" else (
                get(event, "winlog.provider_guid"), get(event, "event.code"),
                get(event, "event.action"), get(event, "winlog.opcode_raw"),
                get(event, "winlog.version"))
            if value != []:
                before = seen.setdefault((path, owner), shape(value))
                self.assertEqual(before, shape(value), f"{path} changes its type")

    def check_width(self, event):
        """In files the type of the header has the width; for live events Windows makes a flag of it."""
        if get(event, "winlog.flags_raw"):
            widths = {"32_BIT_HEADER": 0x20, "64_BIT_HEADER": 0x40}
            found = [widths[name] for name in get(event, "winlog.flags") if name in widths]
            self.assertEqual(found, [int(get(event, "winlog.flags_raw"), 16) & 0x60])

    def check_agreement(self, native, ecs):
        for row in self.rows:
            if row.source == "-" or "*" in row.field or (
                    is_mapped(native) and MAPPED_FIELDS.fullmatch(row.field)):
                continue
            ours = get(ecs, row.field)
            theirs = get(native, row.source)
            if ours is None:
                needed = theirs is not None and row.type != "object" and not (
                    row.field.startswith(ecs_table.EXTENDED)
                    or row.field in ABSENT and ABSENT[row.field](theirs))
                self.assertFalse(needed, f"{row.source} is {theirs!r}, but {row.field} is absent")
                continue
            if row.type == "object":
                continue
            same = SAME.get(row.field, lambda a, b: plain(a) == plain(b))
            self.assertTrue(same(theirs, ours), f"{row.field}: {ours!r}, {row.source}: {theirs!r}")
        data = dict(get(ecs, "winlog.event_data") or {})
        extended = data.pop("extended_data", {})
        self.assertEqual("extended" in native and any(
            key != "instance" or native["extended"][key] for key in native["extended"]),
            bool(extended.keys() - {"EVENT_SCHEMA_TL", "PROV_TRAITS", "RELATED_ACTIVITYID"}))
        if native["provider"]["kind"] == "string":
            self.assertEqual(data, {})
            return
        self.assertEqual(list(differences(native.get("data", {}), data, True)), [])
        self.assertLessEqual(
            {key for key in data if not key.endswith("_raw")} - {"extended_data_2"},
            set(native.get("data", {})))

    def test_the_page_is_made_from_the_table(self):
        self.assertEqual(ecs_table.PAGE.read_text(encoding="utf-8"), ecs_table.page(self.rows),
                         "write it anew: tests/integration/ecs_table.py --write")

    def test_every_source_in_the_table_is_a_field_of_the_native_event(self):
        known = {"@timestamp", "activity_id", "related_activity_id", "data", "extended", "message",
                 "payload", "payload_rest", "payload_schema", "decode_error", "provider", "event", "process", "file",
                 "etw", "evtx", "gap", "guard", "status", "host", "agent", "labels", "tags", "rollup"}
        for row in self.rows:
            self.assertIn(row.source.split(".")[0], known | {"-"}, row.field)

    def test_events_are_as_the_table_says_and_agree_with_native_ones(self):
        seen = {}
        kinds = collections.Counter()
        for trace in self.traces:
            with self.subTest(trace=trace.name):
                pairs = itertools.zip_longest(dump(trace), dump(trace, "-f", "ecs"))
                for number, (native, ecs) in enumerate(pairs, 1):
                    with self.subTest(trace=trace.name, event=number):
                        self.assertTrue(native and ecs, "the shapes differ in length")
                        self.check_types(ecs, seen)
                        self.check_width(ecs)
                        self.check_agreement(native, ecs)
                        kinds[native["provider"]["kind"]] += 1
        self.assertTrue({"manifest", "tracelogging", "mof"} <= set(kinds), kinds)

    def test_outputs_of_one_run_take_different_shapes(self):
        folder = Path(self.folder.name)
        config = folder / "run.yaml"
        config.write_text(f"""
agent: {{data_dir: '{folder}/state', labels: {{site: berlin}}, tags: [a, b]}}
spool: {{min_free_disk: 1MB}}
sessions: [{{name: s, type: file, paths: ['{self.traces[0]}'], etw_file: path}}]
outputs:
  - {{name: one, type: file, path: '{folder}/one.json', format: ecs}}
  - {{name: two, type: file, path: '{folder}/two.json'}}
""", encoding="utf-8")
        subprocess.run([BINARY, "run", "-c", str(config)], timeout=TIMEOUT_S, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        read = [[parse(line) for line in (folder / name).read_text("utf-8").splitlines()]
                for name in ("one.json", "two.json")]
        self.assertEqual(len(read[0]), len(read[1]))
        seen = {}
        for ecs, native in zip(*read):
            self.check_types(ecs, seen)
            self.check_agreement(native, ecs)
        self.assertEqual(read[0][0]["winlog"]["session"], "s")
        self.assertEqual(read[0][0]["labels"], {"site": "berlin"})
        self.assertEqual(read[0][0]["tags"], ["a", "b"])

    def test_the_data_stream_is_the_default_one(self):
        ecs = next(dump(self.traces[0], "-f", "ecs"))
        self.assertEqual(list(ecs)[0], "@timestamp")
        self.assertEqual(ecs["data_stream"],
                         {"type": "logs", "dataset": "etw.events", "namespace": "default"})
        self.assertEqual(ecs["event"]["dataset"], "etw.events")


if __name__ == "__main__":
    unittest.main()
