"""The tables that map events to fields of the Elastic Common Schema (agent/event/ecs_map*.tsv), and the
page made from them.

`ecs_map_table.py --write` writes docs/reference/ecs-mapping.md anew; ecs_map.py fails where the two differ.
"""

import re
import sys
from collections import namedtuple

from ecs_table import EVENT, TOP

PAGE = TOP / "docs" / "reference" / "ecs-mapping.md"
CONVERSIONS = EVENT / "value" / "ecs_convert.h"

Provider = namedtuple("Provider", "name guid kind fields reason")
Kind = namedtuple("Kind", "provider events category type action outcome")
Row = namedtuple("Row", "provider events versions field source conversion note")

HEAD = """# What is mapped to the Elastic Common Schema

Made by `tests/integration/ecs_map_table.py --write` from [ecs_map_providers.tsv](../../agent/event/ecs_map_providers.tsv),
[ecs_map_kinds.tsv](../../agent/event/ecs_map_kinds.tsv) and [ecs_map.tsv](../../agent/event/ecs_map.tsv), which are compiled into the program.

An ecs event has its payload in `winlog.event_data`, whatever it is. Events of the providers below have
beside it what their payload tells in the fields that queries, rules and dashboards look for. Nothing is
taken away, and nothing is guessed: a value that is not of the kind that its field wants has no field.

- `process.*` is the process that the event is about: of a start the one that was started, and its creator
  is `process.parent`. The process of the header stays in `winlog.process_id`. What an event does not tell
  of its process is filled in from what is known of it at that time; of a start, what is known of the
  header's process goes to `process.parent`, if it is that.
- `user.*` is who acts, `user.target.*` the account that is changed, `user.effective.*` the one whose rights
  are used. At a logon `user.*` is who logs on.
- `source` is who calls or sends, `destination` who is called or receives, where the event tells; of a
  connection at rest `source` is the local side.
- Paths are as the event has them, also those of devices (`\\Device\\HarddiskVolume3\\…`); but
  `process.executable` begins with the drive where the process is known by that, and so does `file.path` where the
  event has the file's address, too. Events that have the address alone get `file.*` from what is known of it.
- Several rows for one field: the first one that has a value counts, or in a list all of them.

## Conversions

| Conversion | What it makes |
|---|---|
"""

DERIVED = """
## What follows from other fields

| From | Fields |
|---|---|
"""


# Sources that are no field of the payload.
HEADER = {"@keywords": "the header's keywords", "@sid": "the header's user"}


def read_rows(name, row_type):
    lines = (EVENT / name).read_text(encoding="utf-8").splitlines()
    if lines[0].split("\t") != list(row_type._fields):
        raise ValueError(f"{name}: unknown columns")
    return [row_type(*line.split("\t")) for line in lines[1:]]


def providers():
    return read_rows("ecs_map_providers.tsv", Provider)


def kinds():
    return read_rows("ecs_map_kinds.tsv", Kind)


def rows():
    return read_rows("ecs_map.tsv", Row)


def numbers(spec):
    """The numbers that `1,4-6` names."""
    found = set()
    for part in spec.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def conversions():
    """Names and meanings from the comment of the header."""
    text = CONVERSIONS.read_text(encoding="utf-8")
    comment = text[text.index("/*"):text.index("*/")]
    found = re.findall(r"^ \*     (\S.*?)  +(\S.*(?:\n \*      +\S.*)*)", comment, re.MULTILINE)
    return [(name, re.sub(r"\n \* +", " ", meaning).strip()) for name, meaning in found]


def cell(text):
    return text.replace("|", "\\|")


def spaced(text):
    return text.replace(",", ", ")


def grouped(rows, key):
    """The rows of one key together, in the order of their first rows."""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups.items()


def source_of(row):
    if row.source[0] == "=":
        return f"always `{row.source[1:]}`"
    source = HEADER.get(row.source) or f"`{row.source}`"
    how = "" if row.conversion in ("text", "same") else f", `{cell(row.conversion)}`"
    return f"{source}{how}" + (f" ({row.note})" if row.note else "")


def section(provider, its_kinds, its_rows):
    is_class = provider.kind == "class"
    number = "Types" if is_class else "Events"
    title = f"Class {provider.name} of the kernel logger" if is_class else provider.name
    guid = "No GUID" if provider.kind == "log" else f"`{{{provider.guid}}}`"
    yield f"\n## {title}\n\n{guid}: {provider.reason}. Fields as in {provider.fields}.\n"
    yield "\n| event.category | event.type | event.action |\n|---|---|---|\n"
    for (category, type_), same in grouped(its_kinds, lambda kind: (kind.category, kind.type)):
        outcomes = {"-": "", "success": ", success", "failure": ", failure"}
        actions = [f"{kind.action} ({spaced(kind.events)}{outcomes[kind.outcome]})"
                   for kind in same]
        names = ["" if name == "-" else spaced(name) for name in (category, type_)]
        yield f"| {names[0]} | {names[1]} | {', '.join(actions)} |\n"
    if its_rows:
        yield f"\n| {number} | Fields |\n|---|---|\n"
    for (events, versions), same in grouped(its_rows, lambda row: (row.events, row.versions)):
        which = ("all" if events == "*" else spaced(events)) + ("" if versions == "*" else f" (versions {versions})")
        fields = "<br>".join(f"`{row.field}`: {source_of(row)}" for row in same)
        yield f"| {which} | {fields} |\n"


def page():
    parts = [HEAD]
    parts += [f"| `{cell(name)}` | {cell(meaning)} |\n" for name, meaning in conversions()]
    parts.append(DERIVED)
    for source, same in grouped([row for row in rows() if row.provider == "*"],
                                lambda row: row.source):
        fields = [f"`{row.field}`" + ("" if row.conversion == "same" else f" (`{row.conversion}`)")
                  for row in same]
        parts.append(f"| `{source}` | {', '.join(fields)} |\n")
    for provider in providers():
        parts += section(provider, [kind for kind in kinds() if kind.provider == provider.name],
                         [row for row in rows() if row.provider == provider.name])
    return "".join(parts)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(page(), encoding="utf-8")
