"""The table of a log record's attributes, agent/event/otel.tsv, and the page made from it.

`otel_table.py --write` writes docs/reference/otel-fields.md anew; otel.py fails where the two differ.
"""

import fnmatch
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TABLE = TOP / "agent" / "event" / "otel.tsv"
PAGE = TOP / "docs" / "reference" / "otel-fields.md"

COLUMNS = ["attribute", "place", "type", "native", "origin", "value"]
TYPES = {"string", "int", "bool", "bytes", "strings", "any"}
ORIGINS = {"etw": "ETW table", "own": "own"} | {
    name: f"semantic conventions, {name}" for name in ("host", "os", "process", "file", "code")}

HEAD = """# Attributes of log records

Made from [otel.tsv](../../agent/event/otel.tsv) by `tests/integration/otel_table.py --write`. What
`format: otel` and the output `otlp` write of an event; the [event reference](events.md#the-otel-event) says
what else a log record has, and what the values look like.

- *Place*: of the resource (the machine that recorded), or of the log record.
- *Native* is the field of the native event that says the same.
- *Origin*: the table of ETW in the OpenTelemetry specification (Logs Data Model, Appendix A); its semantic
  conventions; or own, below `etw.` and `etwship.`, where neither has a name.

| Attribute | Place | Type | Native | Origin | Value |
|---|---|---|---|---|---|
"""


class Row:
    def __init__(self, line):
        cells = line.split("\t")
        if len(cells) != len(COLUMNS):
            raise ValueError(f"{TABLE.name}: {len(cells)} columns: {line}")
        self.attribute, self.place, self.type, self.native, self.origin, self.value = cells
        if self.type not in TYPES or self.origin not in ORIGINS \
                or self.place not in ("resource", "record"):
            raise ValueError(f"{TABLE.name}: {self.attribute}: unknown place, type or origin")


def read():
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    if lines[0].split("\t") != COLUMNS:
        raise ValueError(f"{TABLE.name}: unknown columns")
    rows = [Row(line) for line in lines[1:]]
    names = [(row.place, row.attribute) for row in rows]
    if len(set(names)) != len(names):
        raise ValueError(f"{TABLE.name}: an attribute stands twice")
    return rows


def find(rows, place, attribute):
    """The row for an attribute: its own, else the longest pattern that fits. Fields of the payload are free, but
    their names have no dots."""
    fitting = [row for row in rows if row.place == place
               and (row.attribute == attribute or
                    ("*" in row.attribute and fnmatch.fnmatchcase(attribute, row.attribute)
                     and ("." in row.attribute or place == "resource" or "." not in attribute)))]
    return max(fitting, key=lambda row: (row.attribute == attribute, len(row.attribute)),
               default=None)


def page(rows):
    lines = []
    for row in rows:
        native = "" if row.native == "-" else f"`{row.native}`"
        lines.append(f"| `{row.attribute}` | {row.place} | {row.type} | {native} | "
                     f"{ORIGINS[row.origin]} | {row.value} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(page(read()), encoding="utf-8")
