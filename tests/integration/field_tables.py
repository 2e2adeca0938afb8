"""The table of the native event's fields, agent/event/native.tsv, against what filters know of, what
is written, and what `etwship setup` makes of it and of ecs.tsv."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import ecs_table

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 120

COLUMNS = ["field", "type", "mapping", "value"]
# What a filter takes a field for, and what it may be in the table.
FILTER_TYPES = {"TIME": {"date"}, "TEXT": {"keyword", "wildcard", "match_only_text", "ip"},
                "GUID": {"keyword"},
                "UINT": {"long", "keyword"}, "INT": {"long"}, "HEX": {"keyword"},
                "BYTES": {"unindexed"}, "BOOL": {"boolean"}, "NONE": {"object"}}
# Another spelling of event.code.
ALIASES = {"event.id"}
NOT_IN_FILTERS = {"status", "overflow"}
JSON_TYPES = {"string": str, "number": int, "boolean": bool, "object": dict, "strings": list,
              "uint64": (int, str)}
MAPPINGS = {"unindexed": "keyword", "unmapped": "object", "object": "flattened",
            "keyword_text": "keyword", "wildcard_text": "wildcard"}


def read():
    lines = (ecs_table.EVENT / "native.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == COLUMNS
    rows = [line.split("\t") for line in lines[1:]]
    assert all(len(row) == len(COLUMNS) for row in rows)
    return {row[0]: (row[1], row[2]) for row in rows}


def filter_fields():
    text = (ecs_table.EVENT / "write" / "event_path_fields.def").read_text(encoding="utf-8")
    found = re.findall(r'^FIELD\(\w+, "([^"]+)", \w+, (\w+), (\w+)\)$', text, re.MULTILINE)
    return {path: (kind, is_list == "true") for path, kind, is_list in found
            if kind != "OBJECT" and path not in ALIASES}


def is_inside(path, rows):
    """True if ${path} lies in a field that the table takes as a whole."""
    parts = path.split(".")
    return any(rows.get(".".join(parts[:n]), ("", ""))[0] == "object"
               for n in range(1, len(parts)))


def leaves(value, rows, path=""):
    """Fields and their values, down to those that the table takes as a whole."""
    if path not in rows and isinstance(value, dict) and f"{path}.*" not in rows:
        for key, inner in value.items():
            yield from leaves(inner, rows, f"{path}.{key}" if path else key)
    else:
        yield path, value


class FieldTables(unittest.TestCase):
    def test_what_filters_know_is_in_the_table_with_its_type(self):
        rows = read()
        known = filter_fields()
        for path, (kind, is_list) in known.items():
            if is_inside(path, rows) or f"{path}.*" in rows:
                continue
            self.assertIn(path, rows)
            self.assertIn(rows[path][1], FILTER_TYPES[kind], path)
            if kind != "NONE":
                self.assertEqual(rows[path][0] == "strings", is_list, path)
        extra = {path.removesuffix(".*") for path in rows} - set(known) - NOT_IN_FILTERS
        self.assertEqual(extra - {"extended"}, set())

    def test_what_is_written_is_in_the_table_with_its_type(self):
        rows = read()
        seen = set()
        with tempfile.TemporaryDirectory() as folder:
            for mix in ("realistic", "kernel"):
                trace = Path(folder) / f"{mix}.etl"
                subprocess.run([ETLGEN, "--mix", mix, "--events", "2000", "-o", str(trace)],
                               check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
                done = subprocess.run([BINARY, "dump", str(trace)], check=True, timeout=TIMEOUT_S,
                                      stdout=subprocess.PIPE)
                for line in done.stdout.splitlines():
                    for path, value in leaves(json.loads(line), rows):
                        self.assertIn(path, rows)
                        self.assertIsInstance(value, JSON_TYPES[rows[path][0]], path)
                        seen.add(path)
        self.assertGreater(len(seen), 20)

    def mappings(self, shape):
        config = {"sessions": [{"type": "file", "paths": ["none.etl"]}],
                  "outputs": [{"name": "es", "type": "elasticsearch", "format": shape,
                               "hosts": ["http://127.0.0.1:1"]}]}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "etwship.yaml"
            path.write_text(json.dumps(config))
            done = subprocess.run([BINARY, "setup", "es", "--dry-run", "-c", str(path)],
                                  check=True, timeout=TIMEOUT_S, stdout=subprocess.PIPE)
        body = next(line for line in done.stdout.splitlines() if line.startswith(b"{"))
        return json.loads(body)["template"]["mappings"]

    def test_a_template_has_the_fields_of_its_table_and_no_others(self):
        ecs = {row.field: (row.type, row.mapping) for row in ecs_table.read()}
        for shape, rows in (("native", read()), ("ecs", ecs)):
            found = {}

            def walk(properties, prefix=""):
                for name, field in properties.items():
                    if "properties" in field:
                        walk(field["properties"], f"{prefix}{name}.")
                    else:
                        found[prefix + name] = field["type"]

            mappings = self.mappings(shape)
            walk(mappings["properties"])
            free = [next(iter(entry.values())) for entry in mappings["dynamic_templates"]]
            self.assertEqual([entry["path_match"] for entry in free], ["labels.*"])
            self.assertEqual(found.pop("labels"), "object")
            expected = {path: MAPPINGS.get(mapping, mapping)
                        for path, (_, mapping) in rows.items()
                        if "*" not in path and not is_inside(path, rows)}
            self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
