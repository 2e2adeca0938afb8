"""`dump --fields`: each line against what Python leaves of the line without it."""

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 300
DONE, USAGE = 0, 2
EVENTS = 700

NATIVE = ["@timestamp", "provider", "provider.name", "event.id", "event.code", "event.keywords_name[*]",
          "process", "process.pid", "process.thread.id", "etw.sequence", "data", "data.Sequence",
          "data['Url']", "data.Client.User", "data.Client.Build", "data.Client.Build.Major",
          "data.ChunkSizes[*]", "data.ExitCode", "data.ExitCode_name", "data.NoSuchField",
          "data.QueryName", "data.QueryName.Below", "message", "extended.sid", "extended", "payload",
          "activity_id", "agent.name", "labels.a.b", "tags"]
ECS = ["@timestamp", "event", "event.code", "winlog.event_data", "winlog.event_data.QueryName",
       "winlog.event_data.Client.User", "winlog.event_data.extended_data.SID", "host.os.type",
       "process.pid", "message", "ecs.version", "labels.x", "etw.payload", "log.level"]


def names_of(path):
    path = path.replace("[*]", "").replace("['Url']", ".Url")
    path = "event.code" if path == "event.id" else path
    return path.split(".", 1) if path.startswith("labels.") else path.split(".")


def left(value, paths):
    """The part of the value that the paths select; None: nothing."""
    if isinstance(value, list):
        kept = [k for k in (left(element, paths) for element in value) if k is not None]
        return kept or None
    if not isinstance(value, dict):
        return None
    kept = {}
    for key, member in value.items():
        below = [path[1:] for path in paths if path[0] == key]
        part = member if [] in below else left(member, below) if below else None
        if part is not None or (member is None and [] in below):
            kept[key] = part
    return kept or None


def dump(trace, *arguments, code=DONE):
    done = subprocess.run([BINARY, "dump", *arguments, str(trace)], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stderr.decode() if code else done.stdout.decode().splitlines()


class Fields(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.folder.name) / "trace.etl"
        subprocess.run([ETLGEN, "--events", str(EVENTS), "-o", str(cls.trace)], check=True,
                       timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def assert_left(self, names, *options):
        chance = random.Random(7)
        whole = [json.loads(line) for line in dump(self.trace, *options)]
        rounds = [[name] for name in names] + [chance.sample(names, 4) for _ in range(15)]
        for chosen in rounds:
            paths = [names_of(name) for name in chosen]
            expected = [json.dumps(left(event, paths) or {}) for event in whole]
            got = dump(self.trace, *options, "--fields", ", ".join(chosen))
            self.assertEqual([json.dumps(json.loads(line)) for line in got], expected, chosen)

    def test_native_lines_have_the_wanted_members_in_their_order(self):
        self.assert_left(NATIVE)

    def test_ecs_lines_have_the_wanted_members_in_their_order(self):
        # When an event's batch was read, is another time in each run.
        self.assert_left([name for name in ECS if name != "event"], "-f", "ecs")

    def test_people_read_a_line_for_each(self):
        lines = dump(self.trace, "--pretty", "--fields", "data.Client,event.code,data.ImageName",
                     "--where", "exists(data.Client) or exists(data.ImageName)")
        plain = [json.loads(line) for line in dump(
            self.trace, "--where", "exists(data.Client) or exists(data.ImageName)")]
        expected = []
        for event in plain:
            if "code" in event["event"]:
                expected.append(f"    event.code  {event['event']['code']}")
            client = event["data"].get("Client", {})
            for name in ("User", "Address", "Port"):
                if name in client:
                    expected.append(f"    data.Client.{name}  {client[name]}")
            for name, value in client.get("Build", {}).items():
                expected.append(f"    data.Client.Build.{name}  {value}")
            if "ImageName" in event["data"]:
                expected.append(f"    data.ImageName  {event['data']['ImageName']}")
        self.assertEqual([line for line in lines if line.startswith(" ")], expected)
        self.assertEqual(sum(not line.startswith(" ") for line in lines), len(plain))

    def test_names_that_no_event_has_are_refused_with_the_nearest(self):
        for fields, options, error in (
                ("data.A,proces.pid", (), "no field proces.pid. did you mean process.pid?"),
                ("process.name,event.cod", ("-f", "ecs"), "no field event.cod in ecs. did you mean"),
                ("", (), "no field is named"), ("data.A,", (), None),
                ("data.A,,data.B", (), "the name of a field is missing"),
                (",".join(["data.A"] * 65), (), "more than 64 fields"),
                (".".join(["data"] + ["A"] * 20), (), "more than 10 names in a row")):
            if error:
                self.assertIn(f"--fields: {error}" if error.startswith("no field is") else error,
                              dump(self.trace, *options, "--fields", fields, code=USAGE))
            else:
                dump(self.trace, *options, "--fields", fields)


if __name__ == "__main__":
    unittest.main()
