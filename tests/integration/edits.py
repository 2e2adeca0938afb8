"""Rules that edit, through `run`: every line against what edit_model.py makes of the unedited one,
in lists of all kinds at random; and that what was hashed or removed is found nowhere in any shape.
"""

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

from edit_model import LEFT_OUT, edit, hashed, load, number

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 300
DONE, USAGE = 0, 2
EVENTS = 1000
ROUNDS = 16
KEY = "0123456789abcdef-key-of-the-tests"


def etwship(*arguments, code=DONE):
    done = subprocess.run([BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S,
                          check=False)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()}")
    return done


# What rules may ask, and the same of an unedited event.
CONDITIONS = [
    ("true", lambda e: True),
    ("event.code == 3008", lambda e: e["event"].get("code") == "\0003008"),
    ("data.Status >= 400", lambda e: number(e.get("data", {}).get("Status", "0")) >= 400),
    ("process.pid < 9000", lambda e: "pid" in e.get("process", {})
     and number(e["process"]["pid"]) < 9000),
    ("exists(extended.sid)", lambda e: "sid" in e.get("extended", {})),
    ("provider.name startswith 'Etwship'",
     lambda e: e["provider"].get("name", "").startswith("Etwship")),
    ("data.ExitCode_name == 'STATUS_SUCCESS'",
     lambda e: e.get("data", {}).get("ExitCode_name") == "STATUS_SUCCESS"),
]
DATA = ["data.Sequence", "data.Url", "data.Client.User", "data.Client", "data.Client.Build.Major",
        "data.Client.Port", "data.ChunkSizes", "data.ChunkSizes[*]", "data.Servers[*]",
        "data.QueryName", "data.QueryStatus", "data.ExitCode", "data.Flags", "data.ImageName",
        "data.CommandLine", "data.UserSid", "data.UserSID", "data.Ratio", "data.ElapsedMs",
        "data.Secure", "data.CreateTime", "data.Job", "data.IrpFlags", "data.daddr", "data.size",
        "data.TokenElevationType", "data.NoSuchField", "data"]
OTHERS = ["message", "activity_id", "related_activity_id", "extended.sid", "labels.site"]
TEXTS = ["data.Url", "data.Client.User", "data.QueryName", "data.ImageName", "data.CommandLine",
         "data.Name", "data.Text", "data.OpenPath", "data.FileName", "message"]
NAMES = ["Number", "ProcessID", "Kind", "Größe", "Status_name", "odd name\"\\"]


def random_rule(chance):
    kind = chance.choice(["set", "tag", "remove", "rename", "hash", "truncate", "keep"])
    where, fits = chance.choice(CONDITIONS)
    if kind == "keep":
        return kind, where, fits

    def some(fields, most=3):
        return list(dict.fromkeys(chance.choice(fields) for _ in range(chance.randint(1, most))))

    if kind == "tag":
        rule = {"tags": some(["a", "b", "old", "ü"])}
    elif kind == "set":
        texts = some(["labels.team", "labels.site", "labels.a-b", "data.Note", "data.Url",
                      "data.ExitCode", "data.ChunkSizes", "data.Client", "message"])
        rule = {"fields": {f: chance.choice(["x", "", "ä\n\"q\"", "n" * 300]) for f in texts}}
    elif kind == "rename":
        fields = [f for f in DATA if not f.endswith("[*]") and f != "data"]
        rule = {"fields": {f: chance.choice(NAMES) for f in some(fields)}}
    elif kind == "truncate":
        rule = {"fields": some(TEXTS), "bytes": chance.choice([1, 5, 16, 17, 40, 1000])}
    elif kind == "hash":
        rule = {"fields": some(DATA + OTHERS), "key": KEY}
    else:
        rule = {"fields": some([f for f in DATA if not f.endswith("[*]")] + OTHERS +
                               ["payload", "tags", "extended", "labels"])}
    if where != "true" or chance.random() < 0.5:
        rule["where"] = where
    return kind, rule, fits


def modelled(rules):
    return [(kind, rule | {"key": KEY.encode()} if isinstance(rule, dict) else rule, fits)
            for kind, rule, fits in rules]


def written(rules):
    return [{kind: rule} for kind, rule, _ in rules]


class Edits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.traces = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.traces.name) / "trace.etl"
        cls.tmf = Path(cls.traces.name) / "sample.tmf"
        subprocess.run([ETLGEN, "--events", str(EVENTS), "-o", str(cls.trace), "--tmf",
                        str(cls.tmf)], check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.traces.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.runs = 0

    def outputs(self, *outputs, code=DONE, command="run", **config):
        """The lines of the outputs. Each output is given by its keys beside the path."""
        folder = self.folder / f"run{self.runs}"
        self.runs += 1
        paths = [folder / str(i) for i in range(len(outputs))]
        config = {"version": 1, "spool": {"mode": "memory"},
                  "agent": {"labels": {"site": "berlin"}, "tags": ["old"]},
                  "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
                  "outputs": [{"name": f"o{i}", "type": "file", "path": str(path)} | output
                              for i, (path, output) in enumerate(zip(paths, outputs))]} | config
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(config))
        done = etwship(command, "-c", path, code=code)
        if command != "run":
            return done.stderr.decode()
        return [path.read_text().splitlines() if path.exists() else [] for path in paths]

    @staticmethod
    def events(lines):
        events = [load(line) for line in lines]
        for event in events:
            event.pop("agent")  # has an id of the run
        return events

    def assert_same(self, got, expected, rules):
        self.assertEqual(len(got), len(expected))
        for one, other in zip(got, expected):
            if one != other or list(one.get("data", {})) != list(other.get("data", {})):
                self.fail(f"{json.dumps(rules)}\n{json.dumps(one)}\nis not\n{json.dumps(other)}")

    # ---- against the model ----------------------------------------------------------------------

    def test_every_line_is_what_the_model_makes_of_the_unedited_one(self):
        chance = random.Random(20261122)
        plain = self.events(self.outputs({})[0])
        self.assert_same([edit(event, []) for event in plain], plain, [])
        changed = 0
        for round_ in range(ROUNDS):
            lists = [[random_rule(chance) for _ in range(chance.randint(0, 3))] for _ in range(6)]
            everywhere, session, dns, process, *own = lists
            entries = {"Etwship-Sample-Dns": dns, "Etwship-Sample-Process": process}
            providers = [{"name": name, "filters": written(r)} for name, r in entries.items()]
            kept = plain
            if round_ % 2:
                kept = [e for e in plain if e["provider"].get("name") in entries]
            else:
                entries, providers = {}, []
            got = self.outputs(
                *({"filters": written(rules)} for rules in own), filters=written(everywhere),
                sessions=[{"name": "s", "type": "file", "paths": [str(self.trace)],
                           "filters": written(session), "providers": providers}])
            for lines, rules in zip(got, own):
                def of(event):
                    return [modelled(r) for r in (everywhere, session, entries.get(
                        event["provider"].get("name"), []), rules)]
                expected = [edit(event, of(event)) for event in kept]
                self.assert_same(self.events(lines), expected, [written(r) for r in lists])
                changed += sum(a != b for a, b in zip(expected, kept))
        self.assertGreater(changed, ROUNDS * EVENTS / 4)

    def test_each_session_keeps_its_own_processes(self):
        """One worker edits the events of both sessions, whose tables have different processes with equal ids."""
        other = self.folder / "other.etl"
        subprocess.run([ETLGEN, "--events", str(EVENTS), "--seed", "2", "--mix", "kernel", "-o",
                        str(other)], check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        sessions = [{"name": n, "type": "file", "paths": [str(path)]}
                    for n, path in (("one", self.trace), ("two", other))]

        def processes(lines, name):
            return [e["process"] for e in self.events(lines)
                    if e["etw"]["session"] == name and "process" in e]
        rules = [{"remove": {"fields": ["process.session_id"]}}]
        both = self.outputs({}, filters=rules, sessions=sessions,
                            agent={"decode_workers": 1})[0]
        named = 0
        for session in sessions:
            expected = processes(self.outputs({}, sessions=[session])[0], session["name"])
            named += sum("name" in process for process in expected)
            for process in expected:
                process.pop("session_id", None)
            self.assertEqual(processes(both, session["name"]), expected)
        self.assertGreater(named, 10)


if __name__ == "__main__":
    unittest.main()
