"""The Grafana dashboard and the alerts, made from the table of metrics.

`dashboards.py --write` writes packaging/monitoring anew; without it the test fails where it is old. With promtool,
which Debian has in the package prometheus, the alerts and every expression of the dashboard are parsed by Prometheus'
own parser.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from pages import TOP
from reference import METRIC

FOLDER = TOP / "packaging" / "monitoring"
TIMEOUT_S = 60
# By the beginning of a metric's name.
ROWS = (("Health", ("healthy", "ready", "conservation_", "build_", "config_", "uptime_", "status_")),
        ("Sessions", ("session_",)), ("Outputs", ("output_",)), ("Providers", ("provider_",)), ("Filters", ("filter_",)),
        ("Spool, dead letters, memory", ("spool_", "dead_letters_", "memory_", "cpu_")))
COLUMNS, WIDTH, HEIGHT = 3, 8, 7
UNITS = {"bytes": "bytes", "seconds": "s"}
AGENT = 'instance=~"$instance"'

ALERTS = (
    ("EtwshipAway", 'up{job="etwship"} == 0', "5m", "No agent answers at {{ $labels.instance }}."),
    ("EtwshipDegraded", "etwship_healthy == 0", "5m",
     "Something is wrong with the agent at {{ $labels.instance }}: /health says what, and what to do."),
    ("EtwshipLosesEvents", "sum by (instance, session, stage, reason) "
     "(rate(etwship_session_lost_events_total[5m])) > 0", "0m",
     "Session {{ $labels.session }} at {{ $labels.instance }} loses events ({{ $labels.stage }}, {{ $labels.reason }})."),
    ("EtwshipOutputLosesEvents", "sum by (instance, output, reason) "
     "(rate(etwship_output_dropped_events_total[5m])) > 0", "0m",
     "Output {{ $labels.output }} at {{ $labels.instance }} loses events ({{ $labels.reason }})."),
    ("EtwshipBacklogGrows", "etwship_output_backlog_oldest_seconds > 900", "15m",
     "Events have been waiting for output {{ $labels.output }} at {{ $labels.instance }} for more than 15 minutes."),
    ("EtwshipSpoolFillsUp", "etwship_spool_bytes / etwship_spool_max_bytes > 0.8", "5m",
     "The spool at {{ $labels.instance }} is four fifths full."),
    ("EtwshipLostCount", "etwship_conservation_error != 0", "0m",
     "The agent at {{ $labels.instance }} has lost count of its events: please report it."))


def table():
    rows = METRIC.findall((TOP / "agent" / "status" / "metrics.def").read_text(encoding="utf-8"))
    return [row for row in rows if row[2]]


def targets(kind, name, labels):
    shown = [label for label in labels.split(",") if label and label not in ("list", "number", "of")]
    by = ", ".join(["instance", *shown])
    legend = " ".join(f"{{{{{label}}}}}" for label in ["instance", *shown])
    full = f"etwship_{name}"
    if kind == "HISTOGRAM":
        return [{"refId": "ABC"[i], "legendFormat": f"{legend} {quantile}",
                 "expr": f"histogram_quantile({quantile}, sum by (le, {by}) "
                         f"(rate({full}_bucket{{{AGENT}}}[$__rate_interval])))"}
                for i, quantile in enumerate((0.5, 0.9, 0.99))]
    if kind == "COUNTER":
        expr = f"sum by ({by}) (rate({full}_total{{{AGENT}}}[$__rate_interval]))"
    else:
        expr = f"max by ({by}) ({full}{{{AGENT}}})"
    return [{"refId": "A", "legendFormat": legend, "expr": expr}]


def panel(row, number, y):
    _, kind, name, unit, _, labels, _, text = row
    words = name.split("_")
    title = " ".join(words[1:] if words[0] in ("session", "output") else words).replace("etw", "ETW").capitalize()
    unit = UNITS.get(unit, "short")
    if kind == "COUNTER":
        title, unit = f"{title} a second", "Bps" if unit == "bytes" else "percentunit" if unit == "s" else "cps"
    return {"id": number + 1, "type": "timeseries", "title": title, "description": text,
            "datasource": {"type": "prometheus", "uid": "${datasource}"}, "targets": targets(kind, name, labels),
            "gridPos": {"h": HEIGHT, "w": WIDTH, "x": number % COLUMNS * WIDTH, "y": y},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
            "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}}


def dashboard():
    panels, y, left = [], 0, table()
    for title, starts in ROWS:
        rows = [row for row in left if row[2].startswith(starts)]
        left = [row for row in left if row not in rows]
        panels.append({"id": 1000 + len(panels), "type": "row", "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}})
        y += 1
        base = len(panels)
        for i, row in enumerate(rows):
            made = panel(row, i, y + i // COLUMNS * HEIGHT)
            panels.append(made | {"id": base + i + 1})
        y += (len(rows) + COLUMNS - 1) // COLUMNS * HEIGHT
    assert not left, left
    variables = [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
        {"name": "instance", "type": "query", "label": "Agent", "multi": True, "includeAll": True, "allValue": ".*",
         "datasource": {"type": "prometheus", "uid": "${datasource}"}, "refresh": 2,
         "query": {"query": "label_values(etwship_build_info, instance)", "refId": "A"},
         "current": {"text": "All", "value": "$__all"}}]
    return json.dumps({"title": "etwship", "uid": "etwship", "schemaVersion": 39, "version": 1, "tags": ["etwship"],
                       "editable": True, "time": {"from": "now-1h", "to": "now"}, "refresh": "30s",
                       "templating": {"list": variables}, "panels": panels}, indent=1) + "\n"


def alerts():
    text = ("# Alerts of etwship for Prometheus. Made by tests/docs/dashboards.py --write; do not edit.\n"
            "groups:\n  - name: etwship\n    rules:\n")
    for name, expr, wait, summary in ALERTS:
        text += (f"      - alert: {name}\n        expr: {json.dumps(expr)}\n        for: {wait}\n"
                 f"        annotations:\n          summary: {json.dumps(summary)}\n")
    return text


FILES = {"grafana.json": dashboard, "alerts.yaml": alerts}


class Dashboards(unittest.TestCase):
    def test_files_are_current(self):
        for name, make in FILES.items():
            if (FOLDER / name).read_text(encoding="utf-8") != make():
                self.fail(f"packaging/monitoring/{name} is old. tests/docs/dashboards.py --write writes it")

    def test_every_metric_has_a_panel_and_no_two_panels_are_the_same(self):
        panels = [panel for panel in json.loads(dashboard())["panels"] if panel["type"] != "row"]
        self.assertEqual(len(panels), len(table()))
        self.assertEqual(len({panel["id"] for panel in json.loads(dashboard())["panels"]}),
                         len(json.loads(dashboard())["panels"]))
        places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
        self.assertEqual(len(places), len(panels))

    def test_prometheus_can_read_every_expression(self):
        if not shutil.which("promtool"):
            self.skipTest("there is no promtool")
        rules = "groups:\n  - name: panels\n    rules:\n"
        for i, panel in enumerate(json.loads(dashboard())["panels"]):
            for target in panel.get("targets", ()):
                expr = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
                rules += f"      - record: p:{i}{target['refId']}\n        expr: {json.dumps(expr)}\n"
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("panels.yaml", rules), ("alerts.yaml", alerts())):
                path = Path(folder, name)
                path.write_text(text, encoding="utf-8")
                done = subprocess.run(["promtool", "check", "rules", path], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, encoding="utf-8", timeout=TIMEOUT_S, check=False)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for file_name, make_file in FILES.items():
            Path(FOLDER, file_name).write_text(make_file(), encoding="utf-8")
    else:
        unittest.main()
