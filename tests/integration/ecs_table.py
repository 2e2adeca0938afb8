"""The table of the ecs event's fields, agent/event/ecs.tsv, and the page made from it.

`ecs_table.py --write` writes docs/reference/ecs-fields.md anew; ecs.py fails where the two differ.
"""

import fnmatch
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
EVENT = TOP / "agent" / "event"
TABLE = EVENT / "ecs.tsv"
PAGE = TOP / "docs" / "reference" / "ecs-fields.md"

COLUMNS = ["field", "type", "mapping", "source", "value"]
TYPES = {"string", "number", "boolean", "strings", "numbers", "object", "values"}
MAPPINGS = {"date", "keyword", "keyword_text", "wildcard", "wildcard_text", "constant_keyword",
            "match_only_text", "long", "boolean", "ip",
            "object", "unindexed", "unmapped"}

EXTENDED = "winlog.event_data.extended_data."

HEAD = """# Fields of the ecs event

Made from [ecs.tsv](../../agent/event/ecs.tsv) by `tests/integration/ecs_table.py --write`. The
[event reference](events.md#the-ecs-event) says what the values look like.

- *Type* is the JSON type: `strings` and `numbers` are lists, `values` are strings or lists and
  objects of strings.
- *Mapping* is the type in the index. `_text`: its words are searched under `NAME.text`, too;
  `wildcard`: a keyword with room for 32,766 characters where the server lacks that type. `unindexed`: a keyword without index or doc values;
  `unmapped`: an object that is stored only (`enabled: false`).
- *Native* is the field of the native event that says the same.

| Field | Type | Mapping | Native | Value |
|---|---|---|---|---|
"""


class Row:
    def __init__(self, line):
        cells = line.split("\t")
        if len(cells) != len(COLUMNS):
            raise ValueError(f"{TABLE.name}: {len(cells)} columns: {line}")
        self.field, self.type, self.mapping, self.source, self.value = cells
        if self.type not in TYPES or self.mapping not in MAPPINGS:
            raise ValueError(f"{TABLE.name}: {self.field}: unknown type or mapping")


def read():
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    if lines[0].split("\t") != COLUMNS:
        raise ValueError(f"{TABLE.name}: unknown columns")
    rows = [Row(line) for line in lines[1:]]
    names = [row.field for row in rows]
    if len(set(names)) != len(names):
        raise ValueError(f"{TABLE.name}: a field stands twice")
    return rows


def find(rows, path):
    """The row for a field: its own, else the longest pattern that fits. Fields of the payload are free, but no field
    beside a named one is: no pattern reaches into extended_data."""
    exact = [row for row in rows if row.field == path]
    if exact:
        return exact[0]
    fitting = [row for row in rows if "*" in row.field and fnmatch.fnmatchcase(path, row.field)
               and (EXTENDED in row.field or not path.startswith(EXTENDED))]
    return max(fitting, key=lambda row: len(row.field), default=None)


def page(rows):
    lines = []
    for row in rows:
        source = "" if row.source == "-" else f"`{row.source}`"
        lines.append(f"| `{row.field}` | {row.type} | {row.mapping} | {source} | {row.value} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(page(read()), encoding="utf-8")
