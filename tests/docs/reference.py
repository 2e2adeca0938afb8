"""Reference pages that are made from tables, and words of the code that pages must list.

`reference.py --write` writes the pages anew (ETWSHIP_BIN: the program); without it the test fails where they
are old. The pages of the ecs event have scripts of their own, tests/integration/ecs_table.py and
ecs_map_table.py.
"""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from pages import TOP

REFERENCE = TOP / "docs" / "reference"
TIMEOUT_S = 60


def etwship(*arguments):
    return subprocess.run([os.environ["ETWSHIP_BIN"], *arguments], stdout=subprocess.PIPE, check=True,
                          encoding="utf-8", timeout=TIMEOUT_S).stdout


def configuration():
    return etwship("check", "--print-reference")


def command_line():
    """The help of the commands, which the program makes from their tables of options."""
    overview = etwship("--help")
    names = re.findall(r"(?m)^  ([a-z-]+) ", overview)
    page = ("# Command line\n\nMade by `tests/docs/reference.py --write` from what the program prints; do not edit.\n"
            "`etwship completion bash|zsh|powershell` prints a script that completes commands, options, values, "
            "files and\nproviders; the Debian package installs the first two.\n\n"
            f"```text\n{overview}```\n")
    for name in names:
        page += f"\n## etwship {name}\n\n```text\n{etwship(name, '--help')}```\n"
    return page


def event_fields():
    rows = [line.split("\t") for line in
            (TOP / "agent" / "event" / "native.tsv").read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["field", "type", "mapping", "value"], rows[0]
    page = ("# Fields of the native event\n\nMade from [native.tsv](../../agent/event/native.tsv) by "
            "`tests/docs/reference.py --write`; do not edit. The\n[event reference](events.md) "
            "explains the members and their values. Those of the ecs event are on\n"
            "[a page of their own](ecs-fields.md).\n\n"
            "*Type* is the JSON type: `strings` and `numbers` are lists. *Mapping* is the type in the index "
            "template that\n`etwship setup` installs.\n\n| Field | Type | Mapping | Value |\n|---|---|---|---|\n")
    return page + "".join(f"| `{field}` | {kind} | {mapping} | {value} |\n" for field, kind, mapping, value in rows[1:])


CAUSE = re.compile(r'CAUSE\((\w+), "([^"]*)", "([^"]*)"\)')


def log_lines():
    table = (TOP / "agent" / "app" / "log" / "log_causes.def").read_text(encoding="utf-8")
    rows = CAUSE.findall(table)
    assert len(rows) == table.count("\nCAUSE("), "a row of log_causes.def is not as the others"
    assert len({name for _, name, _ in rows}) == len(rows), "a name stands there twice"
    page = ("# The agent's log\n\nMade from [log_causes.def](../../agent/app/log/log_causes.def) by "
            "`tests/docs/reference.py --write`; do not edit.\n\n"
            "With `agent.log.format: json` each line is a JSON object by ECS:\n\n"
            "| Field | Value |\n|---|---|\n"
            "| `@timestamp` | when it was written, UTC |\n"
            "| `log.level` | `error`, `warning`, `info`, `debug` |\n"
            "| `message` | the line, as it is in text |\n"
            "| `ecs.version` | `8.17.0` |\n"
            "| `service.type` | `etwship` |\n"
            "| `event.dataset` | `etwship.log` |\n"
            "| `event.code` | what the line is about: an id of the table below |\n"
            "| `process.pid` | the agent's process |\n\n"
            "An id stays what it is, and is never used for something else. The same ids are in `recent` of `/status`. "
            "Windows'\nEvent Log has [numbers](event-log.md) for them. Texts may change: file lines by their id.\n\n"
            "| `event.code` | What to do about a warning or an error |\n|---|---|\n")
    return page + "".join(f"| `{name}` | {todo} |\n" for _, name, todo in rows)


METRIC = re.compile(r'METRIC\((\w+), (\w+), "([^"]*)", "([^"]*)", (\d+), "([^"]*)", "([^"]*)", "([^"]*)"\)')


def metrics():
    table = (TOP / "agent" / "status" / "metrics.def").read_text(encoding="utf-8")
    rows = METRIC.findall(table)
    assert len(rows) == table.count("\nMETRIC("), "a row of metrics.def is not as the others"
    page = ("# Metrics\n\nMade from [metrics.def](../../agent/status/metrics.def) by `tests/docs/reference.py --write`; "
            "do not edit.\n\n*In JSON* is the place in the event `etwship/status`, which comes every `log.stats`. "
            "A name in brackets is an\nelement of a list. Times are milliseconds in JSON and seconds in Prometheus.\n\n"
            "Two equations hold in every reading:\n\n"
            "- per session `received = metadata + joined + filtered + accepted + dropped`\n"
            "- per output `offered = filtered + rolled_up + acked + dead_lettered + dropped + pending`\n\n"
            "`etwship_conservation_error` is what they are wrong by. Alert on it if it is not 0.\n\n"
            "| Metric | Type | Labels | In JSON | Meaning |\n|---|---|---|---|---|\n")
    for _, kind, name, _, _, labels, path, text in rows:
        if kind == "LIST":
            continue
        shown = f"`etwship_{name}{'_total' if kind == 'COUNTER' else ''}`" if name else ""
        kind = {"FLAG": "gauge, 0 or 1", "TEXT": "text"}.get(kind, kind.lower())
        names = ", ".join(f"`{label}`" for label in labels.split(",")) if labels and name else ""
        page += f"| {shown} | {kind} | {names} | {f'`{path}`' if path else ''} | {text} |\n"
    return page


PAGES = {"configuration.md": configuration, "command-line.md": command_line, "event-fields.md": event_fields,
         "log.md": log_lines, "metrics.md": metrics}

# Where the code names reasons of gaps, and kinds of guard reports.
REASONS = [r'\.reason = "(\w+)"', r'missing_why = "(\w+)"', r'_DROP_\w+\] = "(\w+)"', r'_EVICTED\] = "(\w+)"',
           r'add\(&gaps, "(\w+)"', r'tell_loss\([^";{]*"(\w+)"', r'source_gaps_add_loss\([^";{]*"(\w+)"',
           r'"((?:global_)?message_numbers)"']
GUARDS = [r'guard_news news = \{\.kind = "(\w+)"', r'news\.kind = [^;"]*"(\w+)"', r'news\.kind = [^;]*: "(\w+)"',
          r'\[GUARD_\w+\] = "(\w+)"']


def words(patterns):
    found = set()
    for path in (TOP / "agent").rglob("*.[ch]"):
        text = path.read_text(encoding="utf-8")
        for pattern in patterns:
            found.update(re.findall(pattern, text))
    return found


class Reference(unittest.TestCase):
    maxDiff = None

    def test_pages_are_current(self):
        for name, make in PAGES.items():
            if (REFERENCE / name).read_text(encoding="utf-8") != make():
                self.fail(f"docs/reference/{name} is old. ETWSHIP_BIN=…/etwship tests/docs/reference.py --write "
                          "writes it")

    def test_every_reason_is_explained(self):
        page = (REFERENCE / "gaps-and-guards.md").read_text(encoding="utf-8")
        for patterns, least in ((REASONS, 20), (GUARDS, 9)):
            found = words(patterns)
            self.assertGreaterEqual(len(found), least, found)
            self.assertEqual([word for word in sorted(found) if f"`{word}`" not in page], [])

    def test_every_cause_of_health_is_explained(self):
        table = (TOP / "agent" / "app" / "watch" / "agent_causes.def").read_text(encoding="utf-8")
        rows = re.findall(r'(?m)^CAUSE\(\w+, "(\w+)", (\w+), ', table)
        self.assertEqual(len(rows), table.count("\nCAUSE("))
        page = (TOP / "docs" / "guide" / "monitoring.md").read_text(encoding="utf-8")
        told = {name: severity for names, severity in re.findall(r"(?m)^\| (`[^|]*`) \| (\w+) \|", page)
                for name in re.findall(r"`(\w+)`", names)}
        self.assertEqual(told, {name: severity.lower() for name, severity in rows})

    def test_every_exit_code_is_explained(self):
        codes = re.findall(r"EXIT_\w+ = (\d+)", (TOP / "agent" / "cli" / "options" / "cli.h").read_text(encoding="utf-8"))
        page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"(?m)^\| (\d+) \|", page), codes)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for page_name, make_page in PAGES.items():
            Path(REFERENCE, page_name).write_text(make_page(), encoding="utf-8")
    else:
        unittest.main()
