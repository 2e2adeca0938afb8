"""Selections that match nothing say which name it was and what the traces have that is near; and
`providers TRACE`, which lists what can be selected.

What traces have is counted here from the JSON of the whole dump.
"""

import collections
import json
import shutil
import unittest

from cli_rig import DAMAGED, DONE, FAILED, USAGE, Cli

STRICT = DAMAGED


class NothingMatched(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Everything in it can be decoded: what --strict says is about the selection alone.
        cls.clean = cls.make_trace("clean.etl", 300, "--mix", "manifest")

    def warned(self, *arguments, count=1):
        """The warnings of a dump that gives none of the selected events."""
        done = self.expect(DONE, "dump", *arguments, self.clean)
        self.assert_error(done)
        lines = done.err.splitlines()
        self.assertEqual(len(lines), count, done.err)
        self.assertTrue(all(line.startswith("etwship: warning: ") for line in lines), done.err)
        self.assertEqual(self.expect(STRICT, "dump", "--strict", *arguments, self.clean).out,
                         done.out)
        return done.err

    def test_a_provider_that_is_not_there_is_named_with_the_nearest(self):
        said = self.warned("-p", "Etwship-Sample-DNSS")
        self.assertIn("'Etwship-Sample-DNSS'", said)
        self.assertIn("did you mean Etwship-Sample-Dns?", said)

    def test_a_provider_that_nothing_is_near_to_is_told_with_those_that_there_are(self):
        for name in ("xyzzy", "11111111-2222-3333-4444-555555555555"):
            said = self.warned("-p", name)
            self.assertIn(f"'{name}'", said)
            self.assertIn("Etwship-Sample-Dns", said)
            self.assertIn("Etwship-Sample-Process", said)

    def test_each_of_several_providers_is_told(self):
        plain = self.expect(DONE, "dump", "-p", "Etwship-Sample-Dns", self.clean).out
        done = self.expect(DONE, "dump", "-p", "Etwship-Sample-Dns", "-p", "one-x", "-p", "two-x",
                           self.clean)
        self.assertEqual(done.out, plain)
        self.assertEqual([name in done.err for name in ("'one-x'", "'two-x'", "'Etwship-Sample-Dns'")],
                         [True, True, False])
        self.expect(STRICT, "dump", "--strict", "-p", "Etwship-Sample-Dns", "-p", "one-x", self.clean)

    def test_what_standard_input_has_not_is_told_as_of_a_file(self):
        for arguments in (("-p", "Etwship-Sample-DNSS"), ("--where", "provider.name == 'xyzzy'"),
                          ("-p", "Etwship-Sample-Dns", "-p", "one-x"),
                          ("-p", "Etwship-Sample-Dns:0xff:9999")):
            for code, strict in ((DONE, ()), (STRICT, ("--strict",))):
                with self.subTest(arguments=arguments, strict=strict):
                    of_file = self.expect(code, "dump", *strict, *arguments, self.clean)
                    given = self.expect(code, "dump", *strict, *arguments, "-",
                                        given=self.clean.read_bytes())
                    # Each event names the file that it comes from.
                    self.assertEqual(given.out, of_file.out.replace(f'"{self.clean.name}"', '"-"'))
                    self.assertEqual(given.err, of_file.err)

    def test_masks_that_let_nothing_pass_are_told_with_the_number_of_events(self):
        events = self.expect(DONE, "dump", "-p", "Etwship-Sample-Dns", self.clean).events()
        said = self.warned("-p", "Etwship-Sample-Dns:0xff:9999")
        self.assertIn(f"none of the {len(events)} events", said)

    def test_an_entry_whose_events_an_earlier_one_took_is_not_told(self):
        done = self.expect(DONE, "dump", "-p", "Etwship-Sample-Dns", "-p", "Etwship-Sample-Dns:5",
                           "--strict", self.clean)
        self.assertEqual(done.err, "")

    def test_names_in_filters_are_told(self):
        for field, wrong, near in (("provider.name", "Etwship-Sample-Dnss", "Etwship-Sample-Dns"),
                                   ("event.name", "HttpRequests", "HttpRequest")):
            for expression in (f"{field} == '{wrong}'", f"{field} in ('xyzzy1', '{wrong}')",
                               f"event.level <= 5 and {field} == '{wrong}'"):
                with self.subTest(expression=expression):
                    done = self.expect(DONE, "dump", "--where", expression, self.trace)
                    self.assertIn(f"did you mean {near}?", done.err)
                    self.assertIn(wrong.lower(), done.err)
                    self.assertEqual(done.out, "")
        # What is not wanted needs not be there.
        done = self.expect(DONE, "dump", "--where", "not provider.name == 'xyzzy'", self.trace)
        self.assertEqual(done.err, "")

    def test_the_guid_of_no_provider_is_told(self):
        guid = "11111111-2222-3333-4444-555555555555"
        self.assertIn(guid, self.warned("--where", f"provider.guid == '{guid}'"))

    def test_a_filter_without_names_is_told_with_the_number_of_events(self):
        said = self.warned("--where", "event.id == 61234")
        self.assertIn("300 events", said)

    def test_a_name_beyond_ascii_is_not_said_to_be_missing(self):
        # Filters know more pairs of letters than the search for names.
        self.assertIn("300 events", self.warned("--where", "provider.name == '\u00d6'"))

    def test_times_without_events_are_told(self):
        self.assertIn("--start", self.warned("--start", "2100"))
        self.assertIn("--start", self.warned("--end", "2000"))

    def test_what_was_not_asked_for_is_not_told(self):
        for arguments in ((), ("-n", "1"), ("-n", "1", "-p", "Etwship-Sample-Dns", "-p", "xyzzy")):
            self.assertEqual(self.expect(DONE, "dump", *arguments, self.clean).err, "")

    # run.

    def configuration(self, session="", more=""):
        return self.write("run.yaml", (
            f"version: 1\nagent: {{data_dir: '{self.folder}/state'}}\nspool: {{mode: memory}}\n"
            f"sessions:\n  - {{name: archive, type: file, paths: ['{self.clean}']{session}}}\n"
            f"{more}outputs:\n  - {{name: o, type: file, path: '{self.folder}/out.ndjson'}}\n"))

    def ran(self, strict, *configuration):
        done = self.expect(STRICT if strict else DONE, "run", "-c",
                           self.configuration(*configuration), *(["--strict"] if strict else []))
        shutil.rmtree(self.folder / "state")  # so that the next run begins with the first event
        return [line for line in done.err.splitlines() if "warning: session archive: " in line]

    def test_run_tells_entries_that_matched_nothing(self):
        for strict in (False, True):
            said = self.ran(strict, ", providers: [Etwship-Sample-Dns, Etwship-Sample-Proces]")
            self.assertEqual(len(said), 1, said)
            self.assertIn("did you mean Etwship-Sample-Process?", said[0])

    def test_run_tells_filters_that_let_nothing_pass(self):
        for configuration in ((", filters: [{keep: provider.name == 'Etwship-Sample-Dn'}, "
                               "{drop: true}]",),
                              ("", "filters: [{keep: provider.name == 'Etwship-Sample-Dn'}, "
                               "{drop: true}]\n")):
            said = self.ran(True, *configuration)
            self.assertEqual(len(said), 2, said)
            self.assertIn("did you mean Etwship-Sample-Dns?", said[0])
            self.assertIn("none of its 300 events", said[1])

    def test_run_is_silent_where_something_matched(self):
        self.assertEqual(self.ran(False, ", providers: [Etwship-Sample-Dns]"), [])
        self.assertEqual(self.ran(False, ", filters: [{drop: provider.name == 'xyzzy'}]"), [])

    # providers TRACE.

    def test_providers_of_traces_are_counted(self):
        for traces in ((self.trace,), (self.trace, self.other), (self.clean,)):
            events = [e["provider"] for e in self.expect(DONE, "dump", *traces).events()]
            want = collections.Counter((p["guid"], p.get("name")) for p in events)
            kinds = collections.defaultdict(set)
            for provider in events:
                kinds[provider["guid"]].add(provider["kind"])
            done = self.expect(DONE, "providers", "--json", *traces)
            rows = [json.loads(line) for line in done.out.splitlines()]
            self.assertEqual({(r["guid"], r.get("name")): r["count"] for r in rows}, want)
            for row in rows:
                self.assertIn(row["kind"], kinds[row["guid"]] - {"unknown"} or {"unknown"})
            counts = [row["count"] for row in rows]
            self.assertEqual(counts, sorted(counts, reverse=True))
            text = self.expect(DONE, "providers", *traces).out.splitlines()
            self.assertEqual(len(text), len(rows))
            for line, row in zip(text, rows):
                words = line.split()
                self.assertEqual(words[:4], [row["guid"], row["kind"], str(row["count"]), "events"])
                self.assertIn(row.get("name", ""), line)

    def test_providers_takes_patterns_and_tells_what_is_no_trace(self):
        self.assertTrue(self.expect(DONE, "providers", self.clean.parent / "*.etl").out)
        missing = self.folder / "missing.etl"
        self.assert_error(self.expect(FAILED, "providers", missing), missing)
        for name in ("nope.etl.gz", "nope.etl.zst", "nope.ZIP", "nope.cab"):
            self.assert_error(self.expect(FAILED, "providers", name), f"{name}: no such file")
        (self.folder / "traces").mkdir()
        self.assert_error(self.expect(FAILED, "providers", "traces"), "traces/*.etl")
        self.assert_error(self.expect(USAGE, "providers", "one", "two"), "'one'")
        self.assert_error(self.expect(FAILED, "providers", "MSNT_SystemTrac"),
                          "did you mean MSNT_SystemTrace?")


if __name__ == "__main__":
    unittest.main()
