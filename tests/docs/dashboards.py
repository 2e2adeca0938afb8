"""The dashboards of Grafana and of OpenSearch Dashboards and Kibana, and the alerts, made from the table of metrics.

`dashboards.py --write` writes packaging/monitoring anew; without it the test fails where it is old. With promtool,
which Debian has in the package prometheus, the alerts and every expression of the dashboard are parsed by Prometheus'
own parser; with the Python package grafana-foundation-sdk the dashboard is read by Grafana's own schema.
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


# ---- OpenSearch Dashboards and Kibana: documents as the prometheus module of Metricbeat writes them

METRICS, LABELS, INDEX = "prometheus.metrics.etwship_", "prometheus.labels.", "metricbeat-*"
# Of Kibana 7.10, which OpenSearch Dashboards goes on from: both bring objects of these versions up to date.
MIGRATED = {"index-pattern": "7.6.0", "visualization": "7.10.0", "dashboard": "7.9.3"}
BOARD_COLUMNS, BOARD_WIDTH, BOARD_HEIGHT = 3, 16, 10


def saved(kind, name, attributes, references=()):
    return {"id": name, "type": kind, "attributes": attributes, "references": list(references),
            "migrationVersion": {kind: MIGRATED[kind]}}


def rate_of(field, name):
    """The rate of a counter, which begins again with the agent."""
    return [{"id": f"{name}-max", "type": "max", "field": field},
            {"id": f"{name}-step", "type": "derivative", "field": f"{name}-max", "unit": "1s"},
            {"id": name, "type": "positive_only", "field": f"{name}-step"}]


def board_metrics(kind, name):
    if kind == "HISTOGRAM":  # the mean of what came in each interval
        return [*rate_of(f"{METRICS}{name}_sum", "sum"), *rate_of(f"{METRICS}{name}_count", "count"),
                {"id": "mean", "type": "calculation", "script": "params.count > 0 ? params.sum / params.count : 0",
                 "variables": [{"id": "a", "name": "sum", "field": "sum"},
                               {"id": "b", "name": "count", "field": "count"}]}]
    if kind == "COUNTER":
        return rate_of(f"{METRICS}{name}_total", "rate")
    return [{"id": "max", "type": "max", "field": f"{METRICS}{name}"}]


def visualization(row):
    _, kind, name, unit, _, labels, _, text = row
    made = panel(row, 0, 0)
    shown = [label for label in labels.split(",") if label and label not in ("list", "number", "of")]
    title = f"{name.split('_')[0].capitalize()}: {made['title']}" + (" (mean)" if kind == "HISTOGRAM" else "")
    series = {"id": "series", "color": "#3b82c4", "split_mode": "terms", "terms_size": "20",
              "terms_field": LABELS + (shown[-1] if shown else "instance"), "metrics": board_metrics(kind, name),
              "separate_axis": 0, "axis_position": "right", "formatter": "bytes" if unit == "bytes" else "number",
              "chart_type": "line", "line_width": 1, "point_size": 0, "fill": 0, "stacked": "none"}
    params = {"id": f"etwship-{name}", "type": "timeseries", "series": [series], "time_field": "@timestamp",
              "index_pattern": INDEX, "interval": "", "axis_position": "left", "axis_formatter": "number",
              "axis_scale": "normal", "axis_min": "0", "show_legend": 1, "show_grid": 1, "drop_last_bucket": 1}
    return saved("visualization", f"etwship-{name}", {
        "title": f"etwship {title}", "description": text, "uiStateJSON": "{}", "version": 1,
        "visState": json.dumps({"title": f"etwship {title}", "type": "metrics", "aggs": [], "params": params}),
        "kibanaSavedObjectMeta": {"searchSourceJSON": "{}"}})


def board():
    shown = [visualization(row) for _, starts in ROWS for row in table() if row[2].startswith(starts)]
    panels = [{"version": "7.10.2", "panelIndex": str(i), "panelRefName": f"panel_{i}", "embeddableConfig": {},
               "gridData": {"x": i % BOARD_COLUMNS * BOARD_WIDTH, "y": i // BOARD_COLUMNS * BOARD_HEIGHT,
                            "w": BOARD_WIDTH, "h": BOARD_HEIGHT, "i": str(i)}} for i in range(len(shown))]
    references = [{"name": f"panel_{i}", "type": "visualization", "id": made["id"]} for i, made in enumerate(shown)]
    whole = saved("dashboard", "etwship", {
        "title": "etwship", "description": "Every metric of etwship.", "hits": 0, "version": 1, "timeRestore": True,
        "timeFrom": "now-1h", "timeTo": "now", "refreshInterval": {"pause": False, "value": 30000},
        "panelsJSON": json.dumps(panels), "optionsJSON": json.dumps({"useMargins": True, "hidePanelTitles": False}),
        "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps(
            {"query": {"language": "kuery", "query": ""}, "filter": []})}}, references)
    pattern = saved("index-pattern", "etwship-metrics", {"title": INDEX, "timeFieldName": "@timestamp"})
    return "".join(json.dumps(made) + "\n" for made in (pattern, *shown, whole))


FILES = {"grafana.json": dashboard, "opensearch.ndjson": board, "alerts.yaml": alerts}
# What a panel must have, and what each part may, by src/plugins/vis_type_timeseries/common/vis_schema.ts of OpenSearch
# Dashboards 2.
PANEL = {"axis_formatter": str, "axis_position": str, "axis_scale": str, "id": str, "index_pattern": str, "interval": str,
         "series": list, "show_grid": int, "show_legend": int, "type": str}
SERIES = {"axis_position": str, "chart_type": str, "color": str, "formatter": str, "id": str, "metrics": list,
          "split_mode": str, "stacked": str}
METRIC_KEYS = {"id": str, "type": str}
MORE = {"panel": {"axis_min", "drop_last_bucket", "time_field"},
        "series": {"fill", "line_width", "point_size", "separate_axis", "terms_field", "terms_size"},
        "metric": {"field", "script", "unit", "variables"}}


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

    def test_grafana_reads_all_of_its_dashboard(self):
        """Read by the classes that Grafana generates from its schema of dashboards: members that these do not know
        would be lost."""
        try:
            from grafana_foundation_sdk.cog.encoder import JSONEncoder
            from grafana_foundation_sdk.cog.plugins import register_default_plugins
            from grafana_foundation_sdk.models.dashboard import Dashboard
        except ImportError:
            self.skipTest("no grafana-foundation-sdk")
        register_default_plugins()
        made = json.loads(dashboard())
        read = json.loads(JSONEncoder().encode(Dashboard.from_json(json.loads(dashboard()))))
        self.assert_holds(read, made, "")

    def assert_holds(self, read, made, where):
        """The dashboard has everything of `made`; the rest are defaults."""
        if isinstance(made, dict):
            self.assertLessEqual(set(made), set(read), where)
            for key, value in made.items():
                self.assert_holds(read[key], value, f"{where}/{key}")
        elif isinstance(made, list):
            self.assertEqual(len(read), len(made), where)
            for i, value in enumerate(made):
                self.assert_holds(read[i], value, f"{where}/{i}")
        else:
            self.assertEqual(read, made, where)

    def assert_is(self, made, wanted, more):
        self.assertLessEqual(set(wanted), set(made))
        self.assertLessEqual(set(made), set(wanted) | more)
        for key, kind in wanted.items():
            self.assertIsInstance(made[key], kind, key)

    def test_saved_objects_are_whole(self):
        objects = [json.loads(line) for line in board().splitlines()]
        known = {(made["type"], made["id"]): made for made in objects}
        self.assertEqual(len(known), len(objects))
        self.assertEqual(len(objects), len(table()) + 2)
        for made in objects:
            self.assertEqual(set(made), {"id", "type", "attributes", "references", "migrationVersion"})
            for reference in made["references"]:
                self.assertIn((reference["type"], reference["id"]), known)
        names = set()
        for made in (made for made in objects if made["type"] == "visualization"):
            params = json.loads(made["attributes"]["visState"])["params"]
            self.assert_is(params, PANEL, MORE["panel"])
            for series in params["series"]:
                self.assert_is(series, SERIES, MORE["series"])
                earlier = set()
                for metric in series["metrics"]:
                    self.assert_is(metric, METRIC_KEYS, MORE["metric"])
                    if metric["type"] == "max":
                        names.add(metric["field"].removeprefix(METRICS))
                    elif metric["type"] != "calculation":
                        self.assertIn(metric["field"], earlier)
                    self.assertLessEqual({variable["field"] for variable in metric.get("variables", ())}, earlier)
                    earlier.add(metric["id"])
        said = (TOP / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
        for name in names:
            self.assertRegex(said, rf"`etwship_{name.removesuffix('_sum').removesuffix('_count')}`", name)
        panels = json.loads(known["dashboard", "etwship"]["attributes"]["panelsJSON"])
        self.assertEqual([panel["panelRefName"] for panel in panels],
                         [reference["name"] for reference in known["dashboard", "etwship"]["references"]])
        self.assertEqual(len({(panel["gridData"]["x"], panel["gridData"]["y"]) for panel in panels}), len(panels))

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
