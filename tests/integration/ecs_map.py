"""The mapping of events to fields of the Elastic Common Schema: its tables against the schema and against
manifests, and what becomes of events.

Types of fields and the types that go with a category are those of ECS 8.17.0 (generated/csv/fields.csv and
generated/ecs/ecs_nested.yml of elastic/ecs). Fields of payloads are looked up in real manifests where
ETWSHIP_SHARED names a folder with some; the classes of the kernel logger in the agent's own table.
"""

import csv
import os
import re
import unittest
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import ecs_map_table
import ecs_table

SHARED = os.environ.get("ETWSHIP_SHARED", "")
MANIFESTS = Path(SHARED) / "data" / "manifests"
CLASSES = ecs_table.EVENT.parent / "schema" / "events" / "kernel_classes.def"
SCHEMA = Path(__file__).with_name("ecs_fields.tsv")

TYPES_OF = {
    "api": "access admin allowed change creation deletion denied end info start user",
    "authentication": "start end info",
    "configuration": "access change creation deletion info",
    "driver": "change end info start",
    "file": "access change creation deletion info",
    "iam": "admin change creation deletion group info user",
    "intrusion_detection": "allowed denied info",
    "library": "start",
    "malware": "info",
    "network": "access allowed connection denied end info protocol start",
    "process": "access change end info start",
    "registry": "access change creation deletion",
    "session": "start end info",
    "web": "access error info",
}
MAPPING_OF = {"keyword": "keyword", "wildcard": "wildcard", "long": "long", "ip": "ip",
              "date": "date", "boolean": "boolean"}
# Of Winlogbeat's modules; the schema has no such fields.
NOT_IN_THE_SCHEMA = ("powershell.", "sysmon.", "winlog.")
LISTS_OF_OBJECTS = {"dns.answers": "dns.answers.data",
                    "powershell.command.invocation_details": "powershell.command.invocation_details.value"}
# Events that no manifest at hand has: of Sysmon 14 and later, and of the service itself, which have no fields.
NEWER = {"Microsoft-Windows-Sysmon": {
    (number, 5): {"RuleName", "UtcTime", "ProcessGuid", "ProcessId", "User", "Image", "TargetFilename", "Hashes"}
    for number in (27, 28, 29)}, "Microsoft-Windows-Eventlog": {(1100, 0): set(), (1104, 0): set()},
    "Microsoft-Windows-Security-Auditing": {(number, 0): set() for number in (4954, 5024, 5025, 5033, 5034)}}
WORDS = {"match_only_text", "keyword_text", "wildcard", "wildcard_text"}
LONG = {"long", "pid", "caller", "port", "url_port", "args_count"}
MADE = {"ip": "ip", "dns_ips": "ip", "time": "date", "truth": "boolean", "is": "boolean"} | dict.fromkeys(LONG, "long")


def schema_fields():
    with open(SCHEMA, encoding="utf-8", newline="") as file:
        return {row["field"]: row for row in csv.DictReader(file, delimiter="\t")}


# ---- fields of payloads -------------------------------------------------------------------------------


def class_fields():
    """{class: {(type, version): fields}}"""
    text = re.sub(r"/\*.*?\*/", "", CLASSES.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = defaultdict(lambda: defaultdict(set))
    for name, version, types, fields in re.findall(
            r'KERNEL_TYPE\((\w+), (\d+), "([^"]*)",\s*((?:"[^"]*"\s*)*)\)', text):
        names = {field.split(":")[0] for field in " ".join(re.findall('"([^"]*)"', fields)).split()}
        for number in ecs_map_table.numbers(types):
            found[name][number, int(version)] |= names
    return found


def manifest_fields(path, provider):
    """{(id, version): fields} of one manifest."""
    root = ElementTree.parse(path).getroot()
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
    found = {}
    for its in root.iter("provider"):
        if its.get("name") != provider:
            continue
        templates = {template.get("tid"): {data.get("name") for data in template.iter("data")}
                     for template in its.iter("template")}
        for event in its.iter("event"):
            key = int(event.get("value"), 0), int(event.get("version") or 0)
            found[key] = templates.get(event.get("template"), set())
    return found


def all_manifest_fields(providers):
    """{provider: {(id, version): fields}}, without the blanks in names."""
    found = defaultdict(lambda: defaultdict(set))
    with open(MANIFESTS / "derived" / "event_fields.tsv", encoding="utf-8") as file:
        next(file)
        for line in file:
            name, _, number, version, fields = line.rstrip("\n").split("\t")
            if name in providers:
                found[name][int(number), int(version)] |= {
                    field.split(":")[0] for field in fields.split(",") if field}
    for provider in providers.values():
        for name in re.findall(r"[\w./-]+\.man\b", provider.fields):
            for key, fields in manifest_fields(MANIFESTS / name, provider.name).items():
                found[provider.name][key] |= {field.replace(" ", "") for field in fields}
        found[provider.name] |= NEWER.get(provider.name, {})
    return found


# ---- tests --------------------------------------------------------------------------------------------


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.providers = {provider.name: provider for provider in ecs_map_table.providers()}
        cls.kinds = ecs_map_table.kinds()
        cls.rows = ecs_map_table.rows()
        cls.ours = {row.field: row for row in ecs_table.read()}

    def test_the_page_is_made_from_the_tables(self):
        self.assertEqual(ecs_map_table.PAGE.read_text(encoding="utf-8"), ecs_map_table.page(),
                         "write it anew: tests/integration/ecs_map_table.py --write")

    def test_rows_are_of_known_providers(self):
        self.assertGreaterEqual(len(self.providers), 20)
        used = {row.provider for row in self.rows} | {kind.provider for kind in self.kinds}
        self.assertEqual(used - {"*"}, set(self.providers))
        self.assertEqual(len({provider.guid for provider in self.providers.values()}),
                         len(self.providers))

    def test_every_field_is_one_of_the_schema_with_its_type(self):
        schema = schema_fields()
        kinds = {"event.category", "event.type", "event.action", "event.outcome"}
        for field in {row.field for row in self.rows} | kinds:
            if field in LISTS_OF_OBJECTS:
                self.assertIn(LISTS_OF_OBJECTS[field], self.ours)
                continue
            self.assertIn(field, self.ours, "is not in ecs.tsv")
            ours = self.ours[field]
            if field.startswith(NOT_IN_THE_SCHEMA):
                continue
            self.assertIn(field, schema, "is no field of the schema")
            self.assertEqual(MAPPING_OF[schema[field]["type"]], ours.mapping.removesuffix("_text"),
                             field)
            self.assertEqual(ours.type.endswith("s"), schema[field]["list"] == "yes", field)
            self.assertEqual(ours.type.startswith("number"), ours.mapping == "long", field)

    def test_names_of_fields_fit_a_plan(self):
        header = (ecs_table.EVENT / "write" / "ecs_map_plan.h").read_text(encoding="utf-8")
        depth, key = map(int, re.search(r"ECS_MAP_DEPTH = (\d+), ECS_MAP_KEY = (\d+)", header).groups())
        for field in {row.field for row in self.rows}:
            parts = re.sub(r"^(event|process|winlog|error)\.", "", field).split(".")
            self.assertLessEqual(len(parts), depth, field)
            self.assertLess(sum(len(part) + len('"":{') for part in parts) + 1, key, field)

    def test_conversions_make_what_their_fields_take(self):
        known = set(re.findall(r"CONVERSION\((\w+)\)", (
            ecs_table.EVENT / "value" / "ecs_convert.def").read_text(encoding="utf-8")))
        used = {row.conversion.split(":")[0] for row in self.rows}
        self.assertEqual(used, known)
        for row in self.rows:
            conversion = re.split("[:>]", row.conversion)[-1 if ">" in row.conversion else 0]
            if conversion == "same" or row.field in LISTS_OF_OBJECTS:
                continue
            mapping = self.ours[row.field].mapping
            mapping = "keyword" if mapping in WORDS else mapping
            self.assertEqual(mapping, MADE.get(conversion, "keyword"), row)

    def test_types_of_events_go_with_their_categories(self):
        for kind in self.kinds:
            types = set() if kind.type == "-" else set(kind.type.split(","))
            self.assertEqual(kind.category == "-", kind.type == "-", kind)
            if types:
                allowed = [set(TYPES_OF[name].split()) for name in kind.category.split(",")]
                self.assertLessEqual(types, set().union(*allowed), kind)
                for its in allowed:
                    self.assertTrue(types & its, kind)
            self.assertIn(kind.outcome, {"-", "success", "failure"})
            if kind.action != "-":
                self.assertRegex(kind.action, r"^[a-z0-9]+(-[a-z0-9]+)*$")

    def test_no_member_of_the_event_object_is_told_twice(self):
        told = set()
        for kind in self.kinds:
            for number in ecs_map_table.numbers(kind.events):
                for column in ("category", "type", "action", "outcome"):
                    if getattr(kind, column) != "-":
                        key = kind.provider, number, column
                        self.assertNotIn(key, told)
                        told.add(key)
        for row in self.rows:
            if not row.field.startswith("event."):
                continue
            self.assertEqual(row.field, "event.outcome", "others are constant: ecs_map_kinds.tsv")
            if row.events == "*":
                self.assertNotIn((row.provider, "outcome"), {(key[0], key[2]) for key in told})
                continue
            for number in ecs_map_table.numbers(row.events):
                self.assertNotIn((row.provider, number, "outcome"), told)

    def check_sources(self, provider, known):
        """Each row has its field in an event, and each event one of the fields that rows ask for."""
        numbers = {number for number, _ in known}
        found = set()
        sources = set()
        for row in self.rows:
            if row.provider != provider.name:
                continue
            for part in row.events.split(",") if row.events != "*" else ():
                for end in part.split("-"):
                    self.assertIn(int(end), numbers, f"{row}: no such event")
            if row.source[0] in "=@":
                continue
            name = row.source.replace(" ", "")
            events = ecs_map_table.numbers(row.events) & numbers
            first = 0 if row.versions == "*" else int(row.versions.rstrip("-"))
            having = {key for key, fields in known.items()
                      if key[0] in events and name in fields and key[1] >= first}
            self.assertTrue(having, f"{row}: no event has that field")
            found |= {number for number, _ in having}
            sources |= events
        self.assertEqual(sources - found, set(), f"{provider.name}: no row has a field of these")
        for kind in self.kinds:
            if kind.provider == provider.name:
                for part in kind.events.split(","):
                    self.assertIn(int(part.split("-")[0]), numbers, kind)

    def test_fields_of_classes_are_in_the_agents_table(self):
        known = class_fields()
        for provider in self.providers.values():
            if provider.kind == "class":
                with self.subTest(provider=provider.name):
                    text = CLASSES.read_text(encoding="utf-8")
                    self.assertIn(f'KERNEL_CLASS({provider.name}, "{provider.name}", '
                                  f'"{provider.guid}"', text)
                    self.check_sources(provider, known[provider.name])

    @unittest.skipUnless(MANIFESTS.is_dir(), "no manifests: ETWSHIP_SHARED names no folder with them")
    def test_fields_of_manifests_are_in_real_ones(self):
        manifests = {name: provider for name, provider in self.providers.items()
                     if provider.kind == "manifest"}
        known = all_manifest_fields(manifests)
        for provider in manifests.values():
            with self.subTest(provider=provider.name):
                self.check_sources(provider, known[provider.name])


if __name__ == "__main__":
    unittest.main()
