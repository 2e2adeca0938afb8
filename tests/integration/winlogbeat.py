"""What Winlogbeat's modules security, sysmon and powershell make of events, row by row, against our mapping.

winlogbeat_fields.tsv has a row for each field that the modules' ingest pipelines fill (Winlogbeat 9, elastic/beats,
x-pack/winlogbeat/module): the events, and the value that it is made of, as a field of the payload, a field of the event, a
constant (`=…`) or of the header (`@…`). Ours is made of the same, unless the row says why it differs; and then it does.
What becomes of the values is for ecs_map_events.py.
"""

import csv
import unittest
from collections import namedtuple
from pathlib import Path

import ecs_map_table

TABLE = Path(__file__).with_name("winlogbeat_fields.tsv")
PROVIDERS = {
    "security": ("Microsoft-Windows-Security-Auditing", "Microsoft-Windows-Eventlog"),
    "sysmon": ("Microsoft-Windows-Sysmon",),
    "powershell": ("PowerShell",),
    "powershell_operational": ("Microsoft-Windows-PowerShell", "PowerShellCore"),
}
COLUMNS = {"event.category": "category", "event.type": "type", "event.action": "action", "event.outcome": "outcome"}

Row = namedtuple("Row", "module events field source differs")


def their_rows():
    with open(TABLE, encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def covers(events, number):
    return events == "*" or number in ecs_map_table.numbers(events)


class Winlogbeat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = ecs_map_table.rows()
        cls.kinds = ecs_map_table.kinds()

    def constant(self, provider, number, field, source):
        """True if the field has this constant value."""
        kinds = [kind for kind in self.kinds if kind.provider == provider and covers(kind.events, number)]
        values = {getattr(kind, COLUMNS[field]) for kind in kinds} if field in COLUMNS else set()
        return any(set(value.split(",")) == set(source[1:].split(",")) for value in values)

    def has(self, provider, number, field, source):
        if source[0] == "=" and self.constant(provider, number, field, source):
            return True
        mine = [row for row in self.rows
                if row.field == field and row.provider in ("*", provider) and covers(row.events, number)]
        own = [row for row in mine if row.provider != "*"]
        # What follows from another field stands behind a row of the provider; a list has both.
        counted = own if own and not field.startswith("related.") else mine
        return source in {row.source for row in counted}

    def provider_of(self, row, number):
        """The provider. Events of the service itself are in the log Security, too."""
        names = PROVIDERS[row.module]
        if row.module == "security":
            return names[1:] if 0 < number < 4608 else names[:1]
        return names

    def numbers(self, row):
        if row.events == "*":
            return {0}
        return ecs_map_table.numbers(row.events)

    def test_each_of_their_fields_is_ours_or_says_why_not(self):
        rows = their_rows()
        self.assertGreater(len(rows), 400)
        for row in rows:
            for number in self.numbers(row):
                for provider in self.provider_of(row, number):
                    with self.subTest(module=row.module, event=number, field=row.field, source=row.source):
                        self.assertEqual(self.has(provider, number, row.field, row.source), not row.differs,
                                         row.differs or "is not mapped")

    def test_no_row_stands_twice(self):
        rows = [row[:4] for row in their_rows()]
        self.assertEqual(len(rows), len(set(rows)))


if __name__ == "__main__":
    unittest.main()
