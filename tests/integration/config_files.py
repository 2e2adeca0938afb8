"""Configurations from outside: the examples, the pages made from the tables, a walk from mistakes to
a configuration that works, and what must never be shown.

Works on traces made by etlgen (ETWSHIP_ETLGEN). The JSON schema is tried with other people's
readers of YAML and JSON schema (requirements.txt); without them those tests are skipped.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
    import yaml
except ImportError:
    jsonschema = None

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 120
DONE, FAILED, USAGE = 0, 1, 2

EXAMPLES = sorted((TOP / "config" / "examples").glob("*.yaml"))
EVERYTHING = HERE / "every_key.yaml"


def documents():
    """Every valid configuration of the tree."""
    parts = sorted((TOP / "config" / "examples").glob("*/*.yaml"))
    return [*EXAMPLES, TOP / "config" / "quickstart.yaml", EVERYTHING], parts


class Config(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.traces = self.folder / "traces"
        self.out = self.folder / "out"
        self.traces.mkdir()
        self.out.mkdir()

    def etwship(self, *arguments, cwd=None, **variables):
        environment = os.environ | {
            "XDG_STATE_HOME": str(self.folder / "state"), "HOME": str(self.folder),
            "ETWSHIP_TRACES": str(self.traces), "ETWSHIP_OUT": str(self.out),
            "ES_API_KEY": "key-of-the-environment", "TOKEN": "token-of-the-environment",
            "HASH_KEY": "hash-key-of-the-environment",
            "ES_PASSWORD": "password-of-the-environment"}
        done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True,
                              stdin=subprocess.DEVNULL, env=environment | variables,
                              cwd=cwd or self.folder, timeout=TIMEOUT_S, check=False)
        done.out = done.stdout.decode("utf-8")
        done.err = done.stderr.decode("utf-8")
        return done

    def expect(self, code, *arguments, **variables):
        if arguments[0] == "run" and code == DONE:
            self.runs = getattr(self, "runs", 0) + 1
            arguments += ("--set", f"agent.data_dir={self.folder}/state-{self.runs}", "--set",
                          "spool.min_free_disk=1MB")
        done = self.etwship(*arguments, **variables)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.out}{done.err}")
        return done

    def make_traces(self):
        for name, events in (("one.etl", 400), ("two.etl", 300)):
            subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), "-o",
                            str(self.traces / name)], check=True, timeout=TIMEOUT_S,
                           stdout=subprocess.DEVNULL)

    def dump(self, *options):
        done = self.expect(DONE, "dump", *options, *sorted(self.traces.glob("*.etl")))
        return [json.loads(line) for line in done.out.splitlines()]

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    # What is made from the tables.

    def test_the_committed_pages_are_what_the_program_prints(self):
        for option, name in (("--print-schema", "etwship.schema.json"),
                             ("--print-reference", "../docs/reference/configuration.md")):
            self.assertEqual(self.expect(DONE, "check", option).out,
                             (TOP / "config" / name).read_text(encoding="utf-8"),
                             f"config/{name} is old: etwship check {option} > config/{name}")

    def test_the_reference_names_every_key_of_the_schema(self):
        reference = self.expect(DONE, "check", "--print-reference").out
        schema = json.loads(self.expect(DONE, "check", "--print-schema").out)

        def keys(node):
            if isinstance(node, dict):
                yield from node.get("properties", {})
                for value in node.values():
                    yield from keys(value)
            elif isinstance(node, list):
                for value in node:
                    yield from keys(value)

        for key in set(keys(schema)):
            self.assertRegex(reference, rf"[`.]{re.escape(key)}[`.\[]", key)

    @unittest.skipUnless(jsonschema, "no jsonschema and yaml (tests/install.sh)")
    def test_the_schema_takes_every_configuration_of_the_tree(self):
        validator = self.validator()
        whole, parts = documents()
        for path in whole:
            with self.subTest(path=path.name):
                errors = [f"{list(e.path)}: {e.message}" for e in
                          validator.iter_errors(self.load(path))]
                self.assertEqual(errors, [] if "include" not in self.load(path) or
                                 "sessions" in self.load(path) else
                                 ["[]: 'sessions' is a required property"])
        for path in parts:
            with self.subTest(path=path.name):
                for error in validator.iter_errors(self.load(path)):
                    self.assertEqual(error.validator, "required", error.message)

    @unittest.skipUnless(jsonschema, "no jsonschema and yaml (tests/install.sh)")
    def test_the_schema_refuses_what_the_program_refuses(self):
        validator = self.validator()
        good = "sessions: [{type: file, paths: [a]}]\noutputs: [{type: stdout}]\n"
        self.assertTrue(validator.is_valid(yaml.load(good, self.loader())))
        for text in (good + "onn: 1\n", good + "version: 2\n", good + "agent: {memory: 12x}\n",
                     good + "agent: {decode_workers: 0}\n", good + "agent: {log: {stats: 60}}\n",
                     "sessions: []\noutputs: [{type: stdout}]\n",
                     "sessions: [{type: fil, paths: [a]}]\noutputs: [{type: stdout}]\n",
                     "sessions: [{type: file}]\noutputs: [{type: stdout}]\n",
                     "sessions: [{type: file, paths: a}]\noutputs: [{type: stdout}]\n",
                     "sessions: [{type: file, paths: [a]}]\noutputs: [{type: stdout, url: x}]\n",
                     "sessions: [{type: file, paths: [a]}]\noutputs: [{type: stdout, "
                     "style: prety}]\n"):
            with self.subTest(text=text):
                self.assertFalse(validator.is_valid(yaml.load(text, self.loader())))
                self.expect(USAGE, "check", "-c", self.write("c.yaml", text))

    def validator(self):
        schema = json.loads(self.expect(DONE, "check", "--print-schema").out)
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema)

    @staticmethod
    def loader():
        """YAML 1.2 as editors read it: no times; yes, no, on and off are texts."""
        class Loader(yaml.SafeLoader):
            pass
        Loader.yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in resolvers
                    if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
        Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"),
                                     list("tf"))
        return Loader

    def load(self, path):
        return yaml.load(path.read_text(encoding="utf-8"), self.loader())

    # The examples.

    def test_every_example_is_right(self):
        self.assertGreaterEqual(len(EXAMPLES), 6)
        for path in documents()[0]:
            with self.subTest(path=path.name):
                done = self.expect(DONE, "check", "-c", path)
                self.assertIn(": good", done.out)
                told = json.loads(self.expect(DONE, "check", "--json", "-v", "-c", path).out)
                self.assertEqual(told["can_run"], not told["refusals"])

    def test_what_needs_windows_is_refused_by_run_in_clear_words(self):
        for path in EXAMPLES:
            told = json.loads(self.expect(DONE, "check", "--json", "-c", path).out)
            if not told["can_run"]:
                done = self.expect(USAGE, "run", "-c", path)
                self.assertEqual(done.out, "")
                self.assertEqual(len(done.err.splitlines()), len(told["refusals"]))
                for line in done.err.splitlines():
                    self.assertRegex(line, "needs Windows")

    def test_a_folder_of_traces_goes_to_standard_output(self):
        self.make_traces()
        done = self.expect(DONE, "run", "-c", TOP / "config" / "examples" / "folder-to-stdout.yaml")
        shipped = [json.loads(line) for line in done.out.splitlines()]
        shipped = [e for e in shipped if e["provider"].get("kind") != "agent"]
        want = [(e["@timestamp"], e["provider"], e["event"]) for e in self.dump()]
        self.assertEqual([(e["@timestamp"], e["provider"], e["event"]) for e in shipped], want)

    def test_routing_gives_each_output_what_it_asks_for(self):
        self.make_traces()
        # Without events of the agent itself.
        self.expect(DONE, "run", "-c", TOP / "config" / "examples" / "routing.yaml", "--set",
                    "agent.log.stats=0")

        def of_outputs(name):
            lines = (self.out / name).read_text(encoding="utf-8").splitlines()
            return [json.loads(line)["@timestamp"] for line in lines]

        def of_dump(*options):
            return [e["@timestamp"] for e in self.dump(*options)]

        self.assertEqual(of_outputs("all.ndjson"), of_dump())
        names = of_dump("--where", "exists(data.QueryName)")
        self.assertTrue(names)
        self.assertEqual(of_outputs("names.ndjson"), names)
        alarms = of_dump("--where", "event.level in (critical, error, warning)")
        self.assertTrue(alarms)
        self.assertEqual(of_outputs("alarms.ndjson"), alarms)

    @staticmethod
    def entries(folder):
        return sorted(str(p) for p in folder.rglob("*")) if folder.exists() else None

    def test_recorded_traces_leave_nothing_but_what_the_outputs_write(self):
        self.make_traces()
        system = Path("/var/lib/etwship")  # root's, where the environment names no other one
        path = self.write("c.yaml", f"sessions: [{{type: file, paths: ['{self.traces}/*.etl']}}]\n"
                          f"outputs: [{{type: file, path: '{self.out}/events.ndjson'}}]\n")
        self.assertIn("spool: none, as all sessions read recorded traces and agent.data_dir is not set",
                      self.expect(DONE, "check", "-v", "-c", path).out)
        before = set(self.entries(self.folder))
        of_system = self.entries(system)
        for _ in range(2):
            done = self.etwship("run", "-c", path, "--set", "agent.log.stats=0")
            self.assertEqual(done.returncode, DONE, done.err)
            self.assertEqual(done.err.count("set agent.data_dir to a folder"), 1, done.err)
        self.assertEqual(set(self.entries(self.folder)) - before, {f"{self.out}/events.ndjson"})
        self.assertEqual(self.entries(system), of_system)
        events = len(self.dump())
        self.assertEqual(self.out.joinpath("events.ndjson").read_bytes().count(b"\n"), 2 * events)
        done = self.etwship("run", "-c", path, "--set", f"agent.data_dir={self.folder}/data")
        self.assertNotIn("set agent.data_dir to a folder", done.err)
        self.assertTrue((self.folder / "data").exists())

    def test_what_is_only_shown_is_shown_again_and_leaves_nothing(self):
        self.make_traces()
        path = self.write("c.yaml", f"sessions: [{{type: file, paths: ['{self.traces}/*.etl']}}]\n"
                          "outputs: [{type: stdout, style: ndjson}]\n")
        self.assertIn("spool: none, as all outputs are stdout",
                      self.expect(DONE, "check", "-v", "-c", path).out)
        shown = []
        for _ in range(2):
            done = self.etwship("run", "-c", path, "--set", "agent.log.stats=0")
            self.assertEqual(done.returncode, DONE, done.err)
            shown.append(len(done.out.splitlines()))
        self.assertEqual(shown, [len(self.dump())] * 2)
        self.assertFalse((self.folder / "state").exists())

    def test_a_folder_that_cannot_be_had_is_told_with_a_way_out(self):
        self.make_traces()
        (self.folder / "file").touch()
        path = self.write("c.yaml", f"agent: {{data_dir: '{self.folder}/file/x'}}\n"
                          f"sessions: [{{type: file, paths: ['{self.traces}/*.etl']}}]\n"
                          f"outputs: [{{type: file, path: '{self.out}/o'}}]\n")
        done = self.etwship("run", "-c", path)
        self.assertEqual(done.returncode, FAILED)
        self.assertRegex(done.err, r"(?m)^etwship: .*/file: .* events wait in .*/file/x: set agent.data_dir "
                         r"to a folder that can be written, or spool.mode: memory")
        self.assertFalse((self.out / "o").exists())
        words = self.expect(DONE, "check", "-v", "-c", path).out
        self.assertRegex(words, r"  data_dir: .*file/x\n  spool: not needed, as all sessions read recorded traces")
        words = self.expect(DONE, "check", "-v", "-c", path, "--set", "spool.recorded=copy").out
        self.assertRegex(words, r"  data_dir: .*file/x\n  spool: at most 2GB; 1GB of the disk stay free, "
                         r"now \d+[KMGT]?B are; events that wait longer than 7d are dropped\n")
        done = self.etwship("run", "-c", path, "--set", "spool.mode=memory", "--set",
                            f"agent.data_dir={self.folder}/elsewhere")
        self.assertEqual(done.returncode, DONE, done.err)

    def test_a_disk_that_has_less_than_is_to_stay_free_is_warned_of(self):
        path = self.write("c.yaml", f"agent: {{data_dir: '{self.folder}/not/yet'}}\n"
                          f"sessions: [{{type: file, paths: ['{self.traces}']}}]\n"
                          f"outputs: [{{type: file, path: '{self.out}/o'}}]\n"
                          "spool: {min_free_disk: 1024TB, recorded: copy}\n")
        words = r":4:24: warning: .*the disk of .*/not/yet has \d+[KMGT]?B free, and min_free_disk is 1024TB: "
        self.assertRegex(self.expect(DONE, "check", "-c", path).err, words)
        self.assertNotIn("min_free_disk", self.expect(DONE, "check", "-c", path, "--set",
                                                      "spool.min_free_disk=1KB").err)
        self.assertNotIn("min_free_disk", self.expect(DONE, "check", "-c", path, "--set",
                                                      "spool.recorded=replay").err)

    def test_without_any_folder_check_and_run_say_the_same(self):
        path = self.write("c.yaml", f"sessions: [{{type: file, paths: ['{self.traces}/*.etl']}}]\n"
                          f"outputs: [{{type: file, path: '{self.out}/o'}}]\nspool: {{mode: durable}}\n")
        self.folder.chmod(0o755)
        program, account = BINARY, {}
        if os.geteuid() == 0:  # root always has a folder; the other user may not enter root's folders
            program, account = shutil.copy(BINARY, self.folder), {"user": 65534}
        for command, code, words in (("check", DONE, "good, but it cannot run here"), ("run", USAGE, "")):
            done = subprocess.run([program, command, "-c", path], capture_output=True, text=True, check=False,
                                  cwd=self.folder, timeout=TIMEOUT_S, env={}, **account)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn("this system has no default for it. set agent.data_dir", done.stderr)
            self.assertIn(words, done.stdout)

    def test_the_folder_is_the_systems_where_none_is_given(self):
        self.make_traces()
        path = self.write("c.yaml", f"sessions: [{{type: file, paths: ['{self.traces}/*.etl']}}]\n"
                          f"outputs: [{{type: file, path: '{self.out}/o'}}]\nspool: {{mode: durable}}\n")
        words = self.expect(DONE, "check", "-v", "-c", path).out
        where = "/var/lib" if os.geteuid() == 0 else self.folder / "state"
        self.assertIn(f"  data_dir: {where}/etwship\n", words)

    def test_an_included_file_brings_its_session(self):
        self.make_traces()
        done = self.expect(DONE, "run", "-c", TOP / "config" / "examples" / "split.yaml")
        first = json.loads(done.out.splitlines()[0])
        self.assertEqual(first["labels"], {"site": "berlin", "stage": "test"})
        self.assertEqual(first["etw"]["session"], "archive")

    # From mistakes to a configuration that works.

    def test_an_output_into_a_trace_is_refused_and_the_trace_stays(self):
        self.make_traces()
        trace = self.traces / "one.etl"
        before = trace.read_bytes()
        (self.out / "link.json").symlink_to(trace)
        for pattern, path in ((trace, trace), (self.traces / "*.etl", trace),
                              (self.traces / "*.etl", self.out / "link.json"),
                              (trace, self.traces / "{etw.session}.etl")):
            config = self.write("loop.yaml", f"sessions: [{{type: file, paths: ['{pattern}']}}]\n"
                                             f"outputs: [{{type: file, path: '{path}'}}]\n")
            for command in ("check", "run"):
                done = self.expect(USAGE, command, "-c", config)
                self.assertIn("and would destroy it. write elsewhere", done.err)
                self.assertIn("loop.yaml:2:", done.err)
        self.assertEqual(trace.read_bytes(), before)

    def test_too_little_memory_is_said_by_check_and_by_run(self):
        self.make_traces()
        config = self.write("small.yaml", f"agent: {{memory: 16MB, data_dir: '{self.folder}/d'}}\n"
                                          f"sessions: [{{type: file, paths: ['{self.traces}/*']}}]\n"
                                          "outputs: [{type: stdout}]\n")
        for command in ("check", "run"):
            self.assertRegex(self.expect(DONE, command, "-c", config).err,
                             r"warning: memory: 16MB is too little .* write \d+MB or more")
        done = self.expect(DONE, "run", "-c", config, "--set", "agent.memory=128MB")
        self.assertNotIn("memory", done.err)

    def test_the_library_of_an_output_counts_in_the_memory(self):
        def needed(output):
            config = self.write("small.yaml", f"agent: {{memory: 16MB}}\nsessions: [{{type: file, paths: ['x.etl']}}]\n"
                                              f"outputs: [{output}]\n")
            return int(re.search(r"write (\d+)MB or more", self.expect(DONE, "check", "-c", config).err)[1])

        kafka = "{type: kafka, topic: t, brokers: ['k:9093']%s}"
        self.assertGreaterEqual(needed(kafka % "") - needed("{type: stdout}"), 10)
        self.assertGreaterEqual(needed(kafka % ", batch: {bytes: 8MB}") - needed(kafka % ""), 3 * 7)

    def test_five_mistakes_lead_to_a_working_configuration(self):
        mistakes = (HERE / "five_mistakes.yaml").read_text(encoding="utf-8")
        transcript = (HERE / "five_mistakes.txt").read_text(encoding="utf-8")
        self.write("wrong.yaml", mistakes)
        done = self.expect(USAGE, "check", "-c", "wrong.yaml")
        self.assertEqual("$ etwship check -c wrong.yaml\n" + done.err, transcript)
        # What each message says to do, in the words of the file. The message goes, the others
        # stay.
        fixes = ((":2:", "64 Megabytes", "64MB"),
                 (":6:", '"C:\\temp\\new.etl"', "'C:\\temp\\new.etl'"),
                 (":8:", "{drop: event.id in (1, 2)}", "{drop: 'event.id in (1, 2)'}"),
                 (":9:", "provder", "provider"),
                 (":12:", "archiv]", "archive]"))
        text = mistakes
        left = [fix[0] for fix in fixes]
        for place, wrong, right in fixes:
            self.assertEqual(text.count(wrong), 1)
            text = text.replace(wrong, right)
            left.remove(place)
            self.write("wrong.yaml", text)
            done = self.etwship("check", "-c", "wrong.yaml")
            lines = [line for line in done.err.splitlines() if ": error: " in line]
            self.assertEqual([re.search(r":\d+:", line)[0] for line in lines], left)
        self.assertEqual(done.returncode, DONE)

    # Settings on the command line.

    def test_check_says_where_filters_act(self):
        path = self.write("places.yaml", """
            sessions:
            - name: live
              providers:
              - A:4:1-3:0x10
              - {name: B, events: {include: [1-100]}, processes: {executables: [a.exe]}}
              - {wpp: a.tmf, level: 4, events: {include: [1]}}
              - C
              - name: 1c95126e-7eea-49a9-a3fe-a378b03ddb4d
                group: true
                events: {exclude: [3]}
                disallow: [1c95126e-7eea-49a9-a3fe-a378b03ddb4e]
              - name: E
                only_keywords: true
                exclude_private: true
                processes: {packages: [p_1], apps: [App], container: '{1}', pids: [4]}
            - name: k
              type: system
              flags: [process]
              providers:
              - name: Process
                level: 4
                keywords: {any: [THREAD]}
                processes: {pids: [4]}
            - {name: b, boot: true, providers: [C]}
            - {name: theirs, type: attach, session: X, providers: ['D:3:5', {name: F,
               extended: [sid], payload: {1: {A: {is: 1}}}, processes: {executables: [a.exe],
               pids: [4, 8]}}]}
            outputs: [{type: stdout}]
            """)
        out = self.expect(DONE, "check", "-v", "-c", path).out
        self.assertIn("""
      A: level 4 and more severe; only events 1-3; keywords: any of 0x10
        level and keywords: decided by the provider, and again by the agent
        event ids: decided by ETW, and again by the agent
      B: every level; only events 1-100; only of a.exe
        executables: decided by ETW, except for drivers, which have no process
        event ids: decided by the agent, as they exceed ETW's limit, or ids and names exclude each other
""", out)
        self.assertIn("""
        event ids: decided by the agent, as classic and WPP providers ignore it
      C: every level
      {1c95126e-7eea-49a9-a3fe-a378b03ddb4d}: every level; not events 3
        event ids: decided by the agent, as it does not apply to members of a group
        members of the group: decided by ETW
      E: every level; only of process 4; only of package p_1; only of application App; \
only of container {1}
        processes: decided by ETW, and again by the agent
        packages: decided by ETW, except for drivers, which have no process
        package applications: decided by ETW, except for drivers, which have no process
        container: decided by ETW, except for drivers, which have no process
        events without keyword: decided by ETW, and again by the agent
        private browsing: decided by ETW
  k (system)""", out)
        self.assertIn("      boot: Windows starts it, as autologger etwship-b (`etwship autologger "
                      "install`); at boot it decides by levels, keywords and event ids only; the agent applies the rest\n", out)
        self.assertIn("      kernel events: chosen by the kernel, by flags alone", out)
        self.assertIn("""
        level: not applied, as kernel events have none
        keywords: decided by the provider
        processes: not applied, as providers of the kernel ignore it
""", out)
        self.assertIn("""
      D: level 3 and more severe; only events 5
        level and keywords: decided by the agent
        events: decided by the agent
      F: every level; only of process 4, 8
        processes: decided by the agent
        programs and packages: not applied, only ETW knows them
        payload: not applied, write a rule under filters
        extended: not applied, another program chose these items
Outputs""", out)

    def test_run_and_check_take_settings(self):
        self.make_traces()
        path = TOP / "config" / "examples" / "folder-to-stdout.yaml"
        done = self.expect(DONE, "run", "-c", path, "--set", "outputs.0.type=file", "--set",
                           f"outputs.0.path={self.out}/set.ndjson", "--set",
                           "agent.labels={case: 'a, b'}")
        self.assertEqual(done.out, "")
        lines = (self.out / "set.ndjson").read_text(encoding="utf-8").splitlines()
        self.assertEqual(json.loads(lines[0])["labels"], {"case": "a, b"})
        done = self.expect(USAGE, "check", "-c", path, "--set", "outputs.stdout.stile=pretty")
        self.assertIn("--set 'outputs.stdout.stile': error: unknown key 'stile'", done.err)

    def test_what_two_files_say_names_both_places(self):
        self.write("conf.d/a.yaml", "agent: {memory: 64MB}\nsessions:\n"
                   "  - {type: file, name: same, paths: [x]}\n")
        path = self.write("c.yaml", "include: [conf.d/*.yaml]\nagent: {memory: 128MB}\n"
                          "sessions: [{type: file, name: same, paths: [y]}]\n"
                          "outputs: [{type: stdout}]\n")
        err = self.expect(USAGE, "check", "-c", path).err.splitlines()
        first = self.folder / "conf.d" / "a.yaml"
        self.assertEqual(len(err), 2)
        self.assertTrue(err[0].startswith(f"etwship: {first}:1:9: error: the key 'memory'"), err[0])
        self.assertIn(f"first in {path}:2:9", err[0])
        self.assertTrue(err[1].startswith(f"etwship: {first}:3:24: error: name: another"), err[1])
        self.assertIn(f"in {path}:3:31", err[1])

    def test_relative_paths_belong_to_the_file_they_stand_in(self):
        self.make_traces()
        path = self.write("etc/etwship.yaml", "sessions: [{type: file, paths: [../traces/*.etl]}]\n"
                          "outputs: [{type: file, path: results/events.ndjson}]\n")
        self.expect(DONE, "run", "-c", path, cwd=self.out)
        self.assertTrue((self.folder / "etc" / "results" / "events.ndjson").stat().st_size)

    def test_a_folder_s_name_is_no_template(self):
        self.make_traces()
        for name in ("100%Y", "{a}", "}%"):
            path = self.write(f"{name}/etwship.yaml",
                              "sessions: [{type: file, paths: [../traces/*.etl]}]\n"
                              "outputs: [{type: file, path: 'at-%Y.ndjson'}]\n")
            self.expect(DONE, "run", "-c", path, cwd=self.out)
            self.assertEqual([f.name for f in (self.folder / name).glob("*.ndjson")],
                             ["at-2026.ndjson"])

    # Secrets.

    def test_secrets_and_the_environment_are_never_shown(self):
        secret = self.write("secret.key", "secret-of-a-file\n")
        secret.chmod(0o600)
        text = ("sessions: [{type: file, paths: ['${ETWSHIP_TRACES}/*.etl']}]\n"
                "filters: [{drop: \"data.Key == '${TOKEN}'\"}]\n"
                "outputs:\n"
                "  - {type: http, url: 'https://h/${TOKEN}', auth: {bearer: 'file:secret.key'},\n"
                "     headers: {X-Key: '${ES_API_KEY}'}, proxy: 'http://u:literal-secret@p'}\n"
                "  - {type: elasticsearch, hosts: ['https://h'], auth: {api_key: '${ES_API_KEY}'}}\n")
        path = self.write("c.yaml", text)
        for options in (["-v"], ["--json"], ["-v", "--json"], ["-v", "--resolve"]):
            done = self.expect(DONE, "check", *options, "-c", path)
            for word in ("secret-of-a-file", "of-the-environment", "literal-secret"):
                self.assertNotIn(word, done.out + done.err)
        secret.chmod(0o644)
        done = self.expect(USAGE, "check", "-c", path)
        self.assertIn("can be read by every user", done.err)
        self.assertNotIn("secret-of-a-file", done.err)

    SECRETS = """\
sessions: [{type: file, paths: [x.etl]}]
filters: [{hash: {fields: [data.User], key: %s}}]
outputs:
  - {type: http, url: 'https://h', auth: {bearer: %s}, headers: {X-Key: %s}, proxy: %s}
"""

    def test_a_secret_that_holds_nothing_is_a_mistake(self):
        """Every key that takes a secret is tried; the message names key and source, and shows no value."""
        good = ["0123456789abcdef", "hush-bearer", "hush-header", "'http://u:hush-proxy@p'"]
        keys = ["key", "bearer", "headers", "proxy"]
        file = self.write("secret.key", "")
        file.chmod(0o600)
        for content, what in (("", "is empty"), (" \t\n", "holds only white space"),
                              ("hush-one-line-1\nhush-line-2\n", "has more than one line")):
            file.write_text(content)
            for place, key in enumerate(keys):
                values = list(good)
                values[place] = "'${TOKEN}'"
                path = self.write("c.yaml", self.SECRETS % tuple(values))
                done = self.etwship("check", "-c", path, TOKEN=content)
                if key == "headers" and content.strip() or key == "proxy" and not content:
                    continue  # of lines the http output speaks; no proxy is a choice
                self.assertEqual(done.returncode, USAGE, (key, content, done.out))
                self.assertIn(f"{key}: the environment variable TOKEN", done.err)
                self.assertNotIn("hush", done.err + done.out)
                if key == "headers":
                    continue
                values[place] = "'file:secret.key'"
                path = self.write("c.yaml", self.SECRETS % tuple(values))
                done = self.expect(USAGE, "check", "-c", path)
                self.assertIn(f"{key}: the file '", done.err)
                self.assertIn(f"secret.key' {what}. write the secret there", done.err)
                self.assertNotIn("hush", done.err + done.out)
        file.write_text("hush-bearer-of-a-file\n")
        good[1] = "'file:secret.key'"
        self.expect(DONE, "check", "-c", self.write("c.yaml", self.SECRETS % tuple(good)))

    # Warnings.

    def test_a_pattern_that_fits_no_file_is_warned_of(self):
        self.make_traces()
        path = self.write("c.yaml", "include: [conf.d/*.yaml]\n"
                          "sessions: [{type: file, paths: [traces/*.etl]}]\n"
                          "outputs: [{type: file, path: out/events.ndjson}]\n")
        line = f"etwship: {path}:1:11: %s: include: no file matches 'conf.d/*.yaml'. check the pattern"
        self.assertIn(line % "warning", self.expect(DONE, "check", "-c", path).err)
        self.assertIn(line % "warning", self.expect(USAGE, "check", "-c", path, "--strict").err)
        self.assertIn(line % "warning", self.expect(DONE, "run", "-c", path).err)
        before = (self.out / "events.ndjson").read_bytes()
        self.assertIn(line % "error", self.expect(USAGE, "run", "-c", path, "--strict").err)
        self.assertEqual((self.out / "events.ndjson").read_bytes(), before)
        self.write("conf.d/a.yaml", "agent: {labels: {a: b}}\n")
        done = self.etwship("run", "-c", path, "--strict", "--set", f"agent.data_dir={self.out}/d")
        self.assertNotEqual(done.returncode, USAGE, done.err)
        self.assertNotIn("include", done.err)

    def test_only_files_with_the_names_of_configurations_are_included(self):
        self.write("shadow", "root:$6$hush:20228:0:99999:7:::\n")
        (self.folder / "conf.d").mkdir(exist_ok=True)
        (self.folder / "conf.d" / "notes.txt").write_text("hush: hush\n")
        for named, place in (("shadow", "shadow"), ("'conf.d/*'", "conf.d/notes.txt")):
            path = self.write("c.yaml", f"include: [{named}]\n"
                              "sessions: [{type: file, paths: [traces/*.etl]}]\n"
                              "outputs: [{type: stdout}]\n")
            done = self.expect(USAGE, "check", "-c", path)
            self.assertIn(f"{path}:1:11: error: include: '{self.folder}/{place}': names of "
                          "configurations end in .yaml or .yml", done.err)
            self.assertNotIn("hush", done.err)

    def test_a_secret_on_the_command_line_is_warned_of(self):
        path = self.write("c.yaml", "sessions: [{type: file, paths: [traces/*.etl]}]\noutputs:\n"
                          "  - {type: elasticsearch, hosts: ['https://h'], auth: {api_key: '${ES_API_KEY}'}}\n")
        self.write("secret.key", "hush-of-a-file\n").chmod(0o600)
        key = "outputs.elasticsearch.auth.api_key"
        says = "warning: api_key: every user of this machine sees it in the list of processes"
        done = self.expect(DONE, "check", "-c", path, "--set", f"{key}=hush-of-the-command-line")
        self.assertIn(f"--set '{key}': {says}", done.err)
        self.assertNotIn("hush", done.err + done.out)
        for value in ("${ES_API_KEY}", f"file:{self.folder}/secret.key"):
            done = self.expect(DONE, "check", "-c", path, "--set", f"{key}={value}")
            self.assertNotIn("list of processes", done.err)

    WARNINGS = (
        ("providers: [A:0]", "level 0 means every level"),
        ("providers: ['A:4::0']", "keywords 0 means every keyword"),
        ("paths: [OUT/none.etl]", "there is no file"),
        ("paths: [OUT]", "is a folder"),
        ("providers: [{wpp: OUT/a.tmf, flags: [0x10]}]", "formats name them. write names"),
        ("providers: [{wpp: OUT/a.mof}]", "such a file describes no messages"),
        ("providers: [{wpp: OUT/none}]", "no .tmf or .pdb is below this folder"),
        ("providers: [{wpp: a.tmf}]", "wpp: there is no such file or folder"),
        ("filters: [{drop: 'true'}, {keep: event.id == 1}]", "no rule after `true`"),
    )

    def test_what_is_valid_but_hardly_meant_is_warned_of(self):
        (self.out / "a.mof").write_text("class A {};")
        (self.out / "a.tmf").touch()
        (self.out / "none").mkdir()
        (self.out / "none/a.mof").touch()
        for keys, warning in self.WARNINGS:
            with self.subTest(keys=keys):
                keys = keys.replace("OUT", str(self.out))
                paths = "" if "paths" in keys else f", paths: ['{self.traces}/*.etl']"
                path = self.write("c.yaml", f"sessions: [{{type: file, {keys}{paths}}}]\n"
                                  "outputs: [{type: file, name: o, "
                                  f"path: '{self.out}/events.ndjson'}}]\n"
                                  "spool: {min_free_disk: 1MB}\n")
                done = self.expect(DONE, "check", "-c", path)
                self.assertRegex(done.err, r"etwship: .*:\d+:\d+: warning: .*" + warning)
                self.assertEqual(len(done.err.splitlines()), 1, done.err)
                self.expect(USAGE, "check", "-c", path, "--strict")
        path = self.write("c.yaml", f"sessions: [{{type: file, paths: ['{self.traces}/*.etl']}}]\n"
                          "outputs: [{type: stdout}]\n")
        self.assertEqual(self.expect(DONE, "check", "-c", path, "--strict").err, "")

    LIVE_WARNINGS = (
        ("type: realtime, sequence: global", "single events have no numbers"),
        ("type: realtime, sequence: local, delivery: raw", None),
        ("type: realtime, providers: [microsoft-windows-threat-intelligence:4]", "(PPL)"),
        ("type: record, log_file: {path: a.etl}, live: true, providers: [{name: "
         "54849625-5478-4994-a5ba-3e3b0328c30d}]", "reserves it for EventLog-Security"),
        ("type: attach, session: EventLog-Security, providers: "
         "[Microsoft-Windows-Security-Auditing]", None),
        ("type: record, sequence: local, log_file: {path: a.etl}, live: true", None),
    )

    def test_what_a_live_session_hardly_means_is_warned_of(self):
        for keys, warning in self.LIVE_WARNINGS:
            with self.subTest(keys=keys):
                keys = keys if "providers" in keys else keys + ", providers: [A]"
                path = self.write("c.yaml", f"sessions: [{{{keys}}}]\noutputs: [{{type: stdout}}]\n")
                lines = [line for line in self.expect(DONE, "check", "-c", path).err.splitlines()
                         if ": warning: " in line]
                self.assertEqual(len(lines), 1 if warning else 0, lines)
                self.assertIn(warning or "", "".join(lines))

    def test_sessions_that_an_account_has_too_few_rights_for_are_named(self):
        path = self.write("c.yaml", "sessions:\n- {name: dns, providers: [A]}\n"
                          "- {name: kern, type: kernel, flags: [process]}\n"
                          "outputs: [{type: stdout}]\n")
        for options, count in (((), 0), (("--account", "system"), 0), (("--account", "virtual"), 1)):
            with self.subTest(options=options):
                said = self.expect(DONE, "check", "-c", path, *options).err
                self.assertEqual(said.count("too few rights"), count, said)
                self.assertEqual(said.count(":3:3: warning: session kern: "), count, said)
        self.expect(USAGE, "check", "-c", path, "--account", "virtual", "--strict")
        self.expect(USAGE, "check", "-c", path, "--account", "me")

    MANIFEST = """<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
<instrumentation><events>
<provider name="Made-Up" guid="{0f0e0d0c-0b0a-0908-0706-050403020100}" symbol="S"
 resourceFileName="r" messageFileName="m">
<keywords><keyword name="Files" mask="0x20"/></keywords>
<templates><template tid="T"><data name="FileName" inType="win:UnicodeString"/></template></templates>
<events><event value="7" symbol="E" keywords="Files" template="T"/></events>
</provider></events></instrumentation></instrumentationManifest>
"""

    def test_resolve_asks_the_definitions_at_hand(self):
        self.write("schema/made-up.man", self.MANIFEST)
        path = self.write("c.yaml",
                          "schema: [{type: folder, path: schema}]\n"
                          "sessions:\n"
                          "  - type: realtime\n"
                          "    providers:\n"
                          "      - Made-Up:4:7\n"
                          "      - {name: 0f0e0d0c-0b0a-0908-0706-050403020100, keywords: {any: "
                          "[Files]}, events: {include: [7, 8, 9-12]}}\n"
                          "      - {name: Made-Up, keywords: {any: [Flies]}}\n"
                          "      - Unknown\n"
                          "outputs: [{type: stdout}]\n")
        done = self.expect(DONE, "check", "-c", path, "-v", "--resolve")
        self.assertIn("Made-Up {0f0e0d0c-0b0a-0908-0706-050403020100}: level 4", done.out)
        self.assertIn("any of Files (0x20)", done.out)
        self.assertIn("Unknown (no definition)", done.out)
        warnings = [line for line in done.err.splitlines() if "warning" in line]
        self.assertEqual(len(warnings), 3, done.err)
        for line, word in zip(warnings, ("event 8", "from 9 to 12", "keyword 'Flies'")):
            self.assertIn(word, line)
        told = json.loads(self.expect(DONE, "check", "-c", path, "--json", "--resolve").out)
        self.assertEqual([p["found"] for p in told["providers"]], [True, True, True, False])
        self.assertEqual(told["providers"][1]["any"], "0x20")

    def test_resolve_knows_the_fields_that_rules_ask_for(self):
        self.write("schema/made-up.man", self.MANIFEST)
        text = ("schema: [{type: folder, path: schema}]\n"
                "sessions: [{type: file, paths: [schema/made-up.man], providers: [PROVIDERS]}]\n"
                "filters:\n"
                "  - drop: data.FileName endswith '.log'\n"
                "  - keep: event.id == 7 and data.FleName contains 'x'\n"
                "  - drop: exists(data.Other)\n"
                "  - remove: {fields: [tags, data.FileNam]}\n"
                "outputs: [{type: stdout}]\n")
        path = self.write("c.yaml", text.replace("PROVIDERS", "Made-Up"))
        lines = self.expect(DONE, "check", "-c", path, "--resolve").err.splitlines()
        self.assertRegex(lines[0], r":5:29: warning: .*'FleName'.* did you mean 'FileName'\?")
        self.assertEqual(lines[2].index("^"), lines[1].index("data.FleName"))
        self.assertRegex(lines[3], r":6:18: warning: .*'Other'.* check its name")
        self.assertRegex(lines[6], r":7:29: warning: .*'FileNam'.* did you mean 'FileName'\?")
        self.assertEqual(len(lines), 9)
        # Events of unknown providers may have any field.
        path = self.write("c.yaml", text.replace("PROVIDERS", "Made-Up, Unknown"))
        self.assertEqual(self.expect(DONE, "check", "-c", path, "--resolve").err, "")


if __name__ == "__main__":
    unittest.main()
