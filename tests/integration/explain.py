"""`explain`: what Windows is asked for, in words that stand in explain/ beside this file, one text for each
of the configurations in config/examples.

A text that is to change: etwship explain -c config/examples/NAME.yaml > tests/integration/explain/NAME.txt,
with the variables below.
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TEXTS = Path(__file__).resolve().parent / "explain"
BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
EXAMPLES = sorted((TOP / "config" / "examples").glob("*.yaml"))
VARIABLES = {"ETWSHIP_TRACES": "/traces", "ETWSHIP_OUT": "/out", "ES_API_KEY": "k", "TOKEN": "secret-of-ours",
             "HASH_KEY": "0123456789abcdef", "ES_PASSWORD": "p"}
TIMEOUT_S = 120
DONE, USAGE = 0, 2

# A provider with a manifest that is at hand: events 1 (information) and 2, of keyword PROCESS; and one
# with 3008 (information) and 3006 (verbose).
MANIFEST = """
schema: [{type: folder, path: sample.man}]
sessions:
  - name: live
    type: realtime
    push_down: %s
    providers: [Etwship-Sample-Process, Etwship-Sample-Dns]
filters: %s
outputs: [{name: out, type: stdout}%s]
"""


class Explain(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def etwship(self, *arguments, code=DONE):
        done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                              encoding="utf-8", stdin=subprocess.DEVNULL, cwd=self.folder,
                              env=os.environ | VARIABLES, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_rules_narrow_the_queries_of_event_logs(self):
        (self.folder / "c.yaml").write_text(json.dumps({
            "sessions": [{"name": "logs", "type": "eventlog", "channels": [
                "Security", {"name": "System", "ids": ["1-9"]}]}],
            "filters": [{"drop": "not (event.code in (5, 4624, 4625) and event.level <= 4)"}],
            "outputs": [{"name": "o", "type": "stdout", "filters": [{"drop": "event.code == 4625"}]}]}))
        lines = self.etwship("explain", "-c", "c.yaml").stdout.splitlines()
        self.assertEqual(lines[1:5], [
            "  channel Security: Windows selects *[System[(EventID=5 or EventID=4624) and Level<=4]]",
            "    narrowed to what rules and outputs may keep; the agent checks the rest of them",
            "  channel System: Windows selects *[System[((EventID>=1 and EventID<=9)) and (EventID=5) and Level<=4]]",
            "    narrowed to what rules and outputs may keep; the agent checks the rest of them"])

    def explain(self, rules, *arguments, push_down="true", outputs=""):
        if not (self.folder / "sample.man").exists():
            subprocess.run([ETLGEN, "--mix", "manifest", "--events", "10", "--metadata", "none",
                            "--manifest", self.folder / "sample.man", "-o", self.folder / "m.etl"],
                           check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        rules = json.dumps([{"keep" if rule[0] == "+" else "drop": rule[1:]} for rule in rules])
        (self.folder / "c.yaml").write_text(MANIFEST % (push_down, rules, outputs))
        return self.etwship("explain", "-c", "c.yaml", *arguments).stdout

    def providers(self, rules, **options):
        told = json.loads(self.explain(rules, "--json", **options))
        self.assertEqual([(s["name"], s["type"]) for s in told["sessions"]], [("live", "realtime")])
        process, dns = told["sessions"][0]["providers"]
        self.assertEqual(process["name"], "Etwship-Sample-Process")
        self.assertEqual(process["guid"], "b84f9d63-2f5a-4f07-8c11-7d9e6a4b5c20")
        return process, dns

    def test_every_example_is_explained(self):
        self.assertEqual([path.stem for path in EXAMPLES],
                         sorted(path.stem for path in TEXTS.glob("*.txt")))
        for path in EXAMPLES:
            with self.subTest(path=path.name):
                text = (TEXTS / f"{path.stem}.txt").read_text(encoding="utf-8")
                self.assertEqual(self.etwship("explain", "-c", path).stdout, text)
                told = json.loads(self.etwship("explain", "--json", "-c", path).stdout)
                named = [line.split()[1] for line in text.splitlines() if line.startswith("session ")]
                self.assertEqual([session["name"] for session in told["sessions"]], named)

    def test_check_says_the_same(self):
        for path in EXAMPLES:
            with self.subTest(path=path.name):
                text = (TEXTS / f"{path.stem}.txt").read_text(encoding="utf-8")
                whole = "".join(f"  {line}\n" if line else "\n" for line in text.splitlines())
                self.assertIn(whole, self.etwship("check", "-v", "-c", path).stdout)

    def test_what_definitions_say_narrows_further(self):
        text = self.explain([
            "+provider.name == 'Etwship-Sample-Process' and event.code == 1 and data.SessionID == 2 "
            "and data.ImageName contains 'svc'c",
            "+provider.name == 'Etwship-Sample-Dns' and data.QueryName endswith '.example' and "
            "data.QueryStatus in (0, 9003-9005)",
            "-true"])
        self.assertEqual(text, """\
session live (realtime), etwship-live in Windows
  Etwship-Sample-Process {b84f9d63-2f5a-4f07-8c11-7d9e6a4b5c20}
    level      information (4) and more severe  (by the rules)
    keywords   any of 0x10 (PROCESS)  (by the rules)
    events     1  (by the rules)
    payload    event 1 version 3: SessionID is 2 and ImageName contains svc  (by the rules)
  Etwship-Sample-Dns {6e7c1a52-0d4b-4c8e-9a37-5b0f1d2c3e41}
    level      verbose (5) and more severe
    keywords   all
    events     all but 3006  (by the rules)
    payload    event 3008 version 0: QueryStatus is 0 or QueryStatus between 9003,9005  (by the rules)
    agent      data.QueryName: ETW has no such test
  the agent applies every rule again to delivered events
""".replace("    level      verbose (5) and more severe\n", "    level      every one\n"))

    def test_what_definitions_do_not_state_is_not_believed(self):
        """A list of ids and layouts, as people derive it from events, does not prove that events have level 0."""
        (self.folder / "sample.man").write_text("""\
<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
 <provider name="Etwship-Sample-Dns" guid="{6e7c1a52-0d4b-4c8e-9a37-5b0f1d2c3e41}" symbol="Dns"
   resourceFileName="a.dll" messageFileName="a.dll">
  <events><event value="3008" version="0"/><event value="3009" version="0" level="win:Error"/></events>
 </provider>
 <provider name="Etwship-Sample-Process" guid="{b84f9d63-2f5a-4f07-8c11-7d9e6a4b5c20}" symbol="Process"
   resourceFileName="b.dll" messageFileName="b.dll">
  <events><event value="3008" version="0" level="win:Error" keywords="0x8"/></events>
 </provider>
</events></instrumentation></instrumentationManifest>
""")
        self.assertEqual(self.explain(["+event.code == 3008", "-true"]), """\
session live (realtime), etwship-live in Windows
  Etwship-Sample-Process {b84f9d63-2f5a-4f07-8c11-7d9e6a4b5c20}
    level      error (2) and more severe  (by the rules)
    keywords   any of 0x8  (by the rules)
    events     3008  (by the rules)
  Etwship-Sample-Dns {6e7c1a52-0d4b-4c8e-9a37-5b0f1d2c3e41}
    level      every one
    keywords   all
    events     3008  (by the rules)
    note       all levels are enabled: rules keep events without a level in their definition
    note       all keywords are enabled: rules keep events without keywords in their definition
  the agent applies every rule again to delivered events
""")

    def test_programs_get_the_same(self):
        process, dns = self.providers(["+event.code == 1 and data.SessionID == 2", "-true"])
        self.assertEqual((process["enabled"], process["level"], process["any"], process["all"]),
                         (True, 4, "0x10", "0x0"))
        self.assertEqual(process["events"], {"include": [1]})
        self.assertEqual(process["payload"], [{"event": 1, "version": 3, "match": "all", "tests": [
            {"field": "SessionID", "op": 0, "value": "2"}]}])
        self.assertEqual(dns["enabled"], True)

    def test_an_output_that_keeps_all_is_named(self):
        rules = ["-event.level == verbose"]
        process, dns = self.providers(rules)
        self.assertEqual((process["level"], dns["level"]), (4, 4))
        only = ", {name: picky, type: stdout, filters: [{drop: 'event.level == verbose'}]}"
        process, dns = self.providers([], outputs=only)
        self.assertEqual(dns["level"], 255)
        self.assertEqual(dns["notes"], [
            "output out gets all events, so rules of other outputs exclude none"])

    def test_it_can_be_turned_off(self):
        process, dns = self.providers(["-true"])
        self.assertEqual((process["enabled"], dns["enabled"]), (False, False))
        process, dns = self.providers(["-true"], push_down="false")
        self.assertEqual((process["enabled"], dns["enabled"]), (True, True))
        self.assertEqual(dns["notes"], ["rules are left to the agent, as push_down is false"])

    def test_limits_are_named(self):
        odd = ", ".join(str(number) for number in range(1, 200, 2))
        for rules, words in (
                ([f"+event.code in ({odd})", "-true"],
                 "rules select by more than 64 event ids, which is ETW's limit: left to the agent"),
                (["+process.pid in (10-20)", "-true"],
                 "rules keep more than 8 processes, which is ETW's limit: left to the agent"),
                (["+process.pid in (4, 10)", "-true"],
                 "ETW does not filter kernel events by process: left to the agent"),
                (["-event.code has 1"],
                 "rules test bits of numbers, or too many numbers, for ETW: left to the agent")):
            with self.subTest(rules=rules):
                _, dns = self.providers(rules)
                self.assertTrue(any(words in note for note in dns["notes"]), dns["notes"])

    def test_what_is_in_the_environment_is_not_shown(self):
        rule = "+event.code == 1 and data.CommandLine contains '${TOKEN}'c"
        for arguments in ((), ("--json",)):
            text = self.explain([rule, "-true"], *arguments)
            self.assertIn("CommandLine", text)
            self.assertIn("(set)", text)
        self.assertNotIn("secret-of-ours", self.etwship("check", "-v", "-c", "c.yaml").stdout + text)

    def test_keywords_with_side_effects_are_named(self):
        (self.folder / "c.yaml").write_text(
            "sessions:\n- {type: realtime, providers: [Microsoft-Windows-DotNETRuntime, "
            "{name: System.Threading.Tasks.TplEventSource, keywords: {any: "
            "[0xffffffffffffffff, 0x80]}}]}\noutputs: [{type: stdout}]\n")
        told = json.loads(self.etwship("explain", "--json", "-c", "c.yaml").stdout)
        dotnet, tasks = told["sessions"][0]["providers"]
        self.assertEqual((dotnet["any"], tasks["any"]),
                         ("0xfffffffffd5fffbf", "0xfffffffffffeffff"))
        self.assertIn("all keywords but GCHeapCollectKeyword (0x800000), with which each .NET "
                      "process collects the garbage of its whole heap: it must be named",
                      dotnet["notes"])
        self.assertTrue(any(note.startswith("TasksFlowActivityIds (0x80): tasks of each .NET "
                                            "process ") for note in tasks["notes"]), tasks)
        self.assertIn("keywords   all but 0x2a00040\n", self.etwship("explain", "-c", "c.yaml").stdout)
        check = self.etwship("check", "-v", "-c", "c.yaml")
        self.assertIn("all keywords but GCHeapCollectKeyword (0x800000)", check.stdout)
        self.assertIn("warning: keyword TasksFlowActivityIds (0x80): ", check.stderr)
        self.assertNotIn("warning: keyword GCHeap", check.stderr)

    def test_one_session_alone(self):
        path = TOP / "config" / "examples" / "routing.yaml"
        text = self.etwship("explain", "-c", path, "--session", "severe").stdout
        self.assertEqual(text.count("session "), 1)
        self.assertTrue(text.startswith("session severe (file)\n"))
        done = self.etwship("explain", "-c", path, "--session", "nobody", code=USAGE)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))
        self.assertIn("nobody", done.stderr)


if __name__ == "__main__":
    unittest.main()
