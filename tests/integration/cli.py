"""The command line as users meet it: exit codes, messages, options, and `run` with files.

Works on traces made by etlgen (ETWSHIP_ETLGEN), so it needs nothing else. Each test is a method
whose name is its claim.
"""

import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

from cli_rig import BINARY, DAMAGED, DONE, FAILED, TIMEOUT_S, USAGE, Cli

TOP = Path(__file__).resolve().parents[2]
COMMANDS = ["run", "check", "dump", "stat", "providers", "schema", "sessions",
            "deadletter", "secret", "support", "version"]


class Commands(Cli):
    # Usage.

    def test_every_command_has_help(self):
        listed = self.expect(DONE, "--help").out
        for command in COMMANDS:
            self.assertIn(command, listed)
            self.assertTrue(self.expect(DONE, command, "--help").out.strip(), command)

    def test_no_command_is_a_usage_error(self):
        done = self.expect(USAGE)
        self.assertIn("usage: etwship", done.err)
        self.assertEqual(done.out, "")

    def test_an_unknown_command_is_a_usage_error(self):
        done = self.expect(USAGE, "dumpp", self.trace)
        self.assert_error(done, "dumpp")
        self.assertEqual(done.out, "")

    def test_an_unknown_option_is_a_usage_error_of_every_command(self):
        for command in COMMANDS:
            done = self.expect(USAGE, command, "--no-such-option")
            self.assert_error(done, "--no-such-option")
            self.assertEqual(done.out, "", command)

    def test_an_option_without_its_value_is_a_usage_error(self):
        for option in ("--max-events", "--provider", "--output", "--start", "--schema"):
            self.assert_error(self.expect(USAGE, "dump", self.trace, option), option)
        self.assert_error(self.expect(USAGE, "dump", self.trace, "-n"), "--max-events")

    def test_a_value_out_of_its_set_is_a_usage_error(self):
        for option, value in (("-n", "many"), ("-n", "-1"), ("-f", "xml"), ("--start", "yesterday"),
                              ("--pointer-size", "5"), ("--stack-walk", "maybe"),
                              ("--schema-source", "guess")):
            with self.subTest(option=option, value=value):
                self.assert_error(self.expect(USAGE, "dump", option, value, self.trace), value)

    def test_a_misspelt_word_is_told_with_the_one_that_was_meant(self):
        for arguments, wrong, meant in (
                (("dumpp", self.trace), "'dumpp'", "dump"), (("stats",), "'stats'", "stat"),
                (("--vers",), "'--vers'", "--version"), (("--hlep",), "'--hlep'", "--help"),
                (("dump", "--wher", "true", self.trace), "--wher", "--where"),
                (("dump", "--wher=true", self.trace), "--wher", "--where"),
                (("dump", "--max-event", "1", self.trace), "--max-event", "--max-events"),
                (("dump", "--metdata", self.trace), "--metdata", "--metadata"),
                (("check", "--jsn"), "--jsn", "--json"),
                (("dump", "-f", "nativ", self.trace), "--format: 'nativ'", "native"),
                (("dump", "--stack-walk", "jion", self.trace), "--stack-walk: 'jion'", "join"),
                (("dump", "--schema-source", "manifests", self.trace),
                 "--schema-source: 'manifests'", "manifest"),
                (("watch", "-p", "x", "-f", "eccs"), "--format: 'eccs'", "ecs"),
                (("schema", "lsit"), "schema: 'lsit'", "list"),
                (("deadletter", "relpay"), "deadletter: 'relpay'", "replay"),
                (("spool", "verfy"), "spool: 'verfy'", "verify"),
                (("sessions", "qurey"), "sessions: 'qurey'", "query"),
                (("autologger", "instal"), "autologger: 'instal'", "install"),
                (("service", "relod"), "service: 'relod'", "reload")):
            with self.subTest(arguments=arguments):
                done = self.expect(USAGE, *arguments)
                self.assert_error(done, wrong, f"did you mean {meant}?")
                self.assertEqual(len(done.err.splitlines()), 1)
                self.assertEqual(done.out, "")

    def test_schema_show_tells_the_nearest_provider(self):
        said = self.expect(FAILED, "schema", "show", "MSNT_SystemTrac").err
        self.assertIn("MSNT_SystemTrac. did you mean MSNT_SystemTrace?", said)
        said = self.expect(FAILED, "schema", "show", "Microsoft-Windows-PowerShell:65000").err
        self.assertNotIn("did you mean", said)

    def test_an_error_of_the_command_line_is_one_line_that_names_the_option(self):
        for arguments, words in (
                (("dump",), ("dump: FILE is missing", "etwship dump [OPTION]... FILE...")),
                (("version", "x"), ("'x'", "etwship version [--json]")),
                (("dump", "--zzz", self.trace), ("--zzz", "`etwship dump --help`")),
                (("dump", "-Z", self.trace), ("-Z", "`etwship dump --help`")),
                (("dump", self.trace, "--where"), ("--where needs a value", "EXPR")),
                (("dump", "-o", "--pretty", self.trace), ("--output needs a value", "--pretty")),
                (("dump", "-p", "-n", "1", self.trace), ("--provider needs a value", "-n")),
                (("dump", "-n", "x", self.trace), ("--max-events", "'x'")),
                (("dump", "--codepage", "x", self.trace), ("--codepage", "'x'")),
                (("dump", "--start", "x", self.trace), ("--start", "'x'")),
                (("dump", "-p", "A:zz", self.trace), ("--provider", "'zz'")),
                (("dump", "--pretty=1", self.trace), ("--pretty takes no value",))):
            with self.subTest(arguments=arguments):
                done = self.expect(USAGE, *arguments)
                self.assert_error(done, *words)
                self.assertEqual(len(done.err.splitlines()), 1)
                self.assertEqual(done.out, "")
        self.assertFalse((self.folder / "--pretty").exists())

    def test_schemas_are_known_by_their_names(self):
        for name, status in (("a.man", DONE), ("a.xml", DONE), ("A.MANIFEST", DONE),
                             ("a.txt", USAGE)):
            path = self.folder / name
            path.write_text("<instrumentationManifest/>", encoding="utf-8")
            with self.subTest(name=name):
                done = self.expect(status, "dump", "-n", 1, "--schema", path, self.trace)
                self.assertEqual("ends in .man, .xml or .manifest" in done.err, status == USAGE)

    def test_dump_and_stat_without_a_file_are_usage_errors(self):
        self.assert_error(self.expect(USAGE, "dump"))
        self.assert_error(self.expect(USAGE, "stat"))

    def test_sessions_are_asked_for_in_ways_that_make_sense(self):
        for words, expected in ((("dance",), "dance"), (("list", "x"), "no name"),
                                (("query",), "missing"), (("stop",), "missing"),
                                (("stop", "--orphans", "x"), "--orphans"),
                                (("list", "--orphans"), "--orphans"),
                                (("update", "x"), "nothing to change"),
                                (("flush", "x", "--max-buffers", "3"), "sessions update"),
                                (("update", "x", "--max-buffers", "0"), "--max-buffers"),
                                (("update", "x", "--max-buffers", "4294967296"), "too many"),
                                (("update", "x", "--flush-timer", "5"), "'5'"),
                                (("update", "x", "--flush-timer", "50d"), "49d"),
                                (("update", "x", "--real-time", "maybe"), "maybe"),
                                (("update", "x", "-k", "disk_oi"), "disk_io?"),
                                (("update", "x", "-k", "0xe0000001"), "0xe0000001")):
            with self.subTest(words=words):
                done = self.expect(USAGE, "sessions", *words)
                self.assert_error(done, expected)
                self.assertEqual(done.out, "")

    @unittest.skipIf(os.name == "nt", "for systems without ETW")
    def test_sessions_of_a_system_without_etw_are_one_clear_line(self):
        for words in (("list",), ("list", "--json"), ("query", "x"), ("flush", "x"),
                      ("stop", "x"), ("stop", "--orphans"), ("update", "x", "-k", "disk_io")):
            done = self.expect(FAILED, "sessions", *words)
            self.assert_error(done, "no Event Tracing for Windows")
            self.assertEqual(len(done.err.splitlines()), 1)
            self.assertEqual(done.out, "")

    def test_version_has_the_usual_short_forms(self):
        version = self.expect(DONE, "version").out
        self.assertEqual(self.expect(DONE, "-V").out, version)
        self.assertEqual(self.expect(DONE, "--version").out, version)

    def test_version_says_the_same_as_text_and_json(self):
        as_json = json.loads(self.expect(DONE, "version", "--json").out)
        text = self.expect(DONE, "version").out
        for member in ("version", "commit", "compiler", "text_engine"):
            self.assertIn(as_json[member], text)
        self.assertNotEqual(as_json["compiler"], "unknown")
        libraries = as_json["libraries"]
        self.assertLessEqual({"expat", "libyaml", "pcre2", "sqlite", "xxhash", "zlib", "libcurl",
                              "tls", "zstd"}, libraries.keys())
        for name, version in libraries.items():
            self.assertRegex(version, "[0-9]" if name != "tls" else ".", name)
            self.assertIn(f"{name} {version}".lower(), text.lower())

    # Inputs.

    def test_inputs_that_are_no_traces_fail_with_their_name(self):
        empty = self.write("empty.etl", "")
        text = self.write("text.etl", "no trace, but long enough to look into\n" * 100)
        for path in (self.folder / "missing.etl", empty, text, self.folder):
            for command in ("dump", "stat"):
                with self.subTest(path=path.name, command=command):
                    done = self.expect(FAILED, command, path)
                    self.assert_error(done, path)
                    self.assertEqual(done.out, "")

    @unittest.skipIf(os.name == "nt", "a shell closes the streams")
    def test_closed_streams_fail_and_are_no_other_files(self):
        for command, streams, word in (("stat -", "<&-", "standard input"),
                                       ("dump -", "<&-", "standard input"),
                                       ("dump one.etl", ">&-", "standard output"),
                                       ("stat one.etl", ">&-", "standard output")):
            with self.subTest(command=command):
                done = subprocess.run(f'"$ETWSHIP_BIN" {command} {streams}', shell=True, check=False,
                                      cwd=self.trace.parent, capture_output=True, timeout=TIMEOUT_S)
                self.assertEqual((done.returncode, done.stdout), (FAILED, b""), done.stderr)
                self.assertIn(word, done.stderr.decode())

    def test_a_cut_trace_gives_its_events_and_says_so(self):
        cut = self.folder / "cut.etl"
        whole = self.trace.read_bytes()
        cut.write_bytes(whole[:len(whole) * 2 // 3 + 5])
        done = self.expect(DAMAGED, "dump", cut)
        self.assert_error(done, cut)
        self.assertTrue(done.events())

    # dump.

    def test_dump_writes_the_asked_number_of_events(self):
        for count in (1, 7):
            self.assertEqual(len(self.expect(DONE, "dump", "-n", count, self.trace).events()), count)
        first = self.expect(DONE, "dump", "--max-events", "3", self.trace).out
        self.assertTrue(self.expect(DONE, "dump", self.trace).out.startswith(first))

    def test_no_output_goes_into_a_trace_that_is_read(self):
        before = Path(self.trace).read_bytes()
        folder = Path(self.trace).parent
        link = self.folder / "same.json"
        link.unlink(missing_ok=True)
        os.link(self.trace, link)
        for output in (self.trace, link):
            for command in ("dump",), ("schema", "export"):
                for operand in (self.trace, folder / "*.etl"):
                    done = self.expect(USAGE, *command, "-o", output, operand)
                    self.assert_error(done, "is one of the traces that are read")
        self.assertEqual(Path(self.trace).read_bytes(), before)

    def test_dump_to_a_file_is_dump_to_stdout(self):
        for name in ("out.ndjson", "100%Y {x}.ndjson"):
            target = self.folder / name
            self.assertEqual(self.expect(DONE, "dump", "-o", target, self.trace).out, "")
            self.assertEqual(target.read_text(encoding="utf-8"),
                             self.expect(DONE, "dump", self.trace).out)

    def test_dump_to_a_file_that_cannot_be_made_fails_with_its_name(self):
        target = self.folder / "no" / "such" / "folder.ndjson"
        self.assert_error(self.expect(FAILED, "dump", "-o", target, self.trace), target)

    def test_dump_of_a_provider_by_name_and_by_guid_is_its_share(self):
        events = self.expect(DONE, "dump", self.trace).events()
        named = [e["provider"] for e in events if e["provider"].get("name")]
        provider = max(named, key=lambda p: sum(p["guid"] == other["guid"] for other in named))
        want = [e["@timestamp"] for e in events if e["provider"]["guid"] == provider["guid"]]
        self.assertLess(len(want), len(events))
        for selection in (provider["name"], provider["guid"], f"{{{provider['guid']}}}"):
            got = self.expect(DONE, "dump", "-p", selection, self.trace).events()
            self.assertEqual([e["@timestamp"] for e in got], want, selection)

    def test_dump_between_two_times_is_what_lies_between(self):
        times = [e["@timestamp"] for e in self.expect(DONE, "dump", self.trace).events()]
        start, end = times[len(times) // 4], times[len(times) // 2]

        def dumped(*options):
            got = self.expect(DONE, "dump", *options, self.trace).events()
            return [e["@timestamp"] for e in got]
        self.assertEqual(dumped("--start", start), [t for t in times if t >= start])
        between = dumped("--start", start, "--end", end)
        # Whether the end itself belongs to it is not fixed; everything before does.
        self.assertIn(between, ([t for t in times if start <= t < end],
                                [t for t in times if start <= t <= end]))

    def test_many_files_merge_into_one_time_order(self):
        def shapes(events):
            return sorted((e["@timestamp"], e["etw"].get("cpu"), json.dumps(e.get("data")))
                          for e in events)
        merged = self.expect(DONE, "dump", self.trace, self.other).events()
        times = [e["@timestamp"] for e in merged]
        self.assertEqual(times, sorted(times))
        apart = self.expect(DONE, "dump", self.trace).events() + \
            self.expect(DONE, "dump", self.other).events()
        self.assertEqual(shapes(merged), shapes(apart))
        self.assertEqual([e["etw"]["sequence"] for e in merged], list(range(1, len(merged) + 1)))

    def test_a_reader_takes_the_time_that_it_takes(self):
        trace = self.make_trace("more than a pipe holds.etl", 5000)
        with subprocess.Popen([BINARY, "dump", str(trace)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            # As a pager does, for longer than it takes to give up on somebody.
            with self.assertRaises(subprocess.TimeoutExpired):
                child.wait(2)
            out, err = child.communicate(timeout=TIMEOUT_S)
        self.assertEqual((child.returncode, err), (DONE, b""))
        self.assertEqual(out.decode("utf-8"), self.expect(DONE, "dump", trace).out)

    def test_a_closed_pipe_ends_quietly(self):
        with subprocess.Popen([BINARY, "dump", self.trace, self.other], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            self.assertTrue(child.stdout.readline().startswith(b"{"))
            child.stdout.close()
            self.assertEqual(child.stderr.read(), b"")
            self.assertIn(child.wait(TIMEOUT_S), (DONE, -signal.SIGPIPE))

    def test_a_full_device_fails(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        done = self.etwship("dump", "-o", "/dev/full", self.trace)
        self.assertIn(done.code, (FAILED, DAMAGED))
        self.assert_error(done, "/dev/full")

    def test_pretty_is_for_people_and_holds_every_event(self):
        plain = self.expect(DONE, "dump", "-n", "20", self.trace).events()
        pretty = self.expect(DONE, "dump", "-n", "20", "--pretty", self.trace).out
        self.assertNotIn("\x1b", pretty)
        for event in plain:
            name = event["provider"].get("name")
            self.assertIn(name or event["provider"]["guid"], pretty)

    # stat.

    def test_stat_counts_what_dump_writes(self):
        counts = json.loads(self.expect(DONE, "stat", "--json", self.trace).out)
        events = self.expect(DONE, "dump", "--stack-walk", "events", self.trace).events()
        self.assertEqual(counts["decode"]["events"], len(events))
        self.assertTrue(self.expect(DONE, "stat", self.trace).out.strip())

    def test_stat_of_two_files_is_two_objects(self):
        lines = self.expect(DONE, "stat", "--json", self.trace, self.other).out.splitlines()
        self.assertEqual(len([json.loads(line) for line in lines]), 2)

    # Configuration.

    BROKEN = ("version: 1\n"
              "sesions: []\n"
              "outputs:\n"
              "  - {name: o, type: file, pth: out.ndjson}\n")

    def test_a_broken_configuration_names_every_place(self):
        path = self.write("broken.yaml", self.BROKEN)
        self.assert_error(self.expect(USAGE, "run", "-c", path), f"{path}:2:1: error: ",
                          f"{path}:4:", "'sesions'", "'sessions'", "'pth'", "'path'")

    def test_yaml_that_does_not_parse_names_the_place(self):
        path = self.write("broken.yaml", "version: 1\nsessions: [\n")
        self.assertRegex(self.expect(USAGE, "run", "-c", path).err,
                         r"etwship: .*broken\.yaml:\d+:\d+: error: ")

    def test_a_missing_configuration_is_an_error_with_its_name(self):
        path = self.folder / "none.yaml"
        self.assert_error(self.expect(USAGE, "run", "-c", path), path)

    def test_an_undefined_variable_is_an_error(self):
        path = self.configuration("'${ETWSHIP_NO_SUCH_VARIABLE}/*.etl'")
        self.assert_error(self.expect(USAGE, "run", "-c", path), "ETWSHIP_NO_SUCH_VARIABLE")

    # run.

    def configuration(self, paths, extra=""):
        return self.write("etwship.yaml", (
            "version: 1\n"
            f"agent: {{data_dir: '{self.folder}/state'}}\n"
            "spool: {min_free_disk: 1MB}\n"
            "sessions:\n"
            f"  - {{name: archive, type: file, paths: [{paths}], merge: all}}\n"
            "outputs:\n"
            f"  - {{name: local, type: file, path: '{self.folder}/out.ndjson'}}\n" + extra))

    @staticmethod
    def without_session(events):
        """The members that identify an event, without those that differ between sources."""
        return [(e["@timestamp"], e["provider"], e["event"], e.get("data"), e.get("payload"))
                for e in events if e["provider"].get("kind") != "agent"]

    def test_run_writes_to_a_file_and_to_stdout_what_dump_writes(self):
        path = self.configuration("'${TRACES}/*.etl'",
                                  "  - {name: console, type: stdout, style: ndjson}\n")
        folder = Path(self.shared_folder.name)
        done = self.expect(DONE, "run", "-c", path, TRACES=str(folder))
        want = self.without_session(
            self.expect(DONE, "dump", *sorted(folder.glob("*.etl"))).events())
        in_file = [json.loads(line) for line in
                   (self.folder / "out.ndjson").read_text(encoding="utf-8").splitlines()]
        self.assertEqual(self.without_session(in_file), want)
        self.assertEqual(self.without_session(done.events()), want)

    def test_run_ends_after_the_asked_number_of_events(self):
        path = self.configuration(f"'{self.trace}'")
        self.expect(DONE, "run", "-c", path, "-n", "10")
        self.assertEqual(len((self.folder / "out.ndjson").read_text().splitlines()), 10)

    def test_run_on_traces_that_are_not_there_does_not_end_well(self):
        done = self.etwship("run", "-c", self.configuration(f"'{self.folder}/missing.etl'"))
        self.assertNotEqual(done.code, DONE)
        self.assertRegex(done.err, "(?m)^etwship: .*missing.etl")

    def test_the_quickstart_configuration_ships_every_event(self):
        out = self.folder / "out"
        out.mkdir()
        traces = Path(self.shared_folder.name)
        done = self.expect(DONE, "run", "-c", TOP / "config" / "quickstart.yaml",
                           ETWSHIP_TRACES=str(traces), ETWSHIP_OUT=str(out))
        self.assertTrue(done.err.strip(), "no closing summary")
        lines = [line for path in sorted(out.glob("*.ndjson"))
                 for line in path.read_text(encoding="utf-8").splitlines()]
        want = self.expect(DONE, "dump", *sorted(traces.glob("*.etl"))).out.splitlines()
        shipped = [e for e in map(json.loads, lines) if e["provider"].get("kind") != "agent"]
        self.assertEqual(len(shipped), len(want))


if __name__ == "__main__":
    unittest.main()
