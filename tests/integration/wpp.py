"""WPP messages of providers that a configuration names: recorded ones, and live on a simulated Windows.

Works on traces made by etlgen (ETWSHIP_ETLGEN). Each test is a method whose name is its claim.
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SIM = os.environ["ETWSHIP_SIM"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under what does not end, no measure.
TIMEOUT_S = 300
EVENTS = 500
MESSAGES = "3c6f0a91-52d8-4e0b-b7a4-18e2c95d7f06"
DONE = 0


class Wpp(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        subprocess.run([ETLGEN, "--mix", "wpp", "--events", str(EVENTS), "--tmf",
                        self.folder / "driver.tmf", "-o", self.folder / "driver.etl"], check=True,
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)

    def run_with(self, command, session, *statements):
        (self.folder / "etwship.yaml").write_text(
            f"agent: {{log: {{stats: 0}}}}\nsessions: [{session}]\n"
            "outputs: [{type: stdout}]\n")
        world = self.folder / "world"
        world.write_text("".join(line + "\n" for line in statements))
        return subprocess.run([SIM, *command, "-c", "etwship.yaml"], capture_output=True, text=True,
                              encoding="utf-8", env=dict(os.environ, ETWSIM_WORLD=str(world)),
                              timeout=TIMEOUT_S, cwd=self.folder, check=False)

    def recorded(self, provider):
        done = self.run_with(
            ["run"], f"{{name: s, type: file, paths: [driver.etl], providers: [{provider}]}}")
        self.assertEqual(done.returncode, DONE, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_an_entry_selects_the_messages_that_its_formats_describe(self):
        events = self.recorded("{wpp: driver.tmf}")
        self.assertEqual(len(events), EVENTS)
        for event in events:
            self.assertEqual(event["provider"]["guid"], MESSAGES)
            self.assertRegex(event["message"], r"^query \d+ for ")
        other = (self.folder / "driver.tmf").read_text().replace(MESSAGES, MESSAGES[:-1] + "7")
        (self.folder / "other.tmf").write_text(other)
        self.assertEqual(self.recorded("{wpp: other.tmf}"), [])

    def test_levels_and_flags_are_those_that_the_formats_name(self):
        # sample.c writes TRACE_LEVEL_INFORMATION and TRACE_QUERY.
        for provider, count in (("level: information", EVENTS), ("level: warning", 0),
                                ("flags: [TRACE_QUERY]", EVENTS), ("flags: [TRACE_NET]", 0),
                                ("events: {include: [10]}", EVENTS), ("events: {include: [11]}", 0),
                                ("filters: [{drop: data.arg10 <= 100}]", EVENTS - 100)):
            with self.subTest(provider=provider):
                self.assertEqual(len(self.recorded(f"{{wpp: driver.tmf, {provider}}}")), count)

    def test_live_messages_have_the_same_text_as_recorded_ones(self):
        recorded = {event["data"]["arg10"]: event for event in self.recorded("{wpp: driver.tmf}")}
        (self.folder / "world").write_text(f"emit {MESSAGES} driver.etl rate 20000\n")
        live = subprocess.run([SIM, "watch", "-p", MESSAGES, "--schema", "driver.tmf", "-n", "100"],
                              capture_output=True, text=True, encoding="utf-8", cwd=self.folder,
                              env=dict(os.environ, ETWSIM_WORLD=str(self.folder / "world")),
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual((live.returncode, live.stderr), (DONE, ""))
        events = [json.loads(line) for line in live.stdout.splitlines()]
        self.assertEqual(len(events), 100)
        for event in events:
            for key in ("provider", "event", "process", "data", "message"):
                self.assertEqual(event[key], recorded[event["data"]["arg10"]][key])
            for key in ("module", "function", "level", "flags", "args", "types", "message_number"):
                self.assertIn(key, event["wpp"])

    def test_a_flag_may_have_another_name_than_formats_have(self):
        # They have TRACE_QUERY; who writes a message looks at the bit.
        (self.folder / "driver.mof").write_text(
            f'[Dynamic, Guid("{{{MESSAGES}}}")] class Driver : EventTrace {{\n'
            '[Values{"TRACE_QUERY", "TRACE_ALIAS"}, ValueMap{"0x1", "0x1"}] uint32 Flags; };\n')
        done = self.run_with(["run", "-n", "20"], "{name: s, type: realtime, "
                             "providers: [{wpp: driver.tmf, flags: [TRACE_ALIAS]}]}",
                             f"emit {MESSAGES} driver.etl rate 20000")
        self.assertEqual(done.returncode, DONE, done.stderr)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        flags = [event["wpp"]["flags"] for event in events if "gap" not in event]
        self.assertEqual(flags, ["TRACE_QUERY"] * 20)

    def test_check_says_that_classic_providers_serve_one_session(self):
        done = self.run_with(
            ["check", "-v"], f"{{name: s, providers: [{{wpp: a.tmf, name: {MESSAGES}, level: 4, "
            "events: {include: [1]}}, {wpp: b.tmf, take_over: true, extended: [sid]}]}, "
            "{name: theirs, type: attach, session: X, providers: [{wpp: c.tmf, level: 2}]}")
        self.assertEqual(done.returncode, DONE, done.stderr)
        out = done.stdout.replace(f"{self.folder}/", "")
        self.assertIn(f"""
      WPP messages of a.tmf from {{{MESSAGES}}}: level 4 and more severe; only events 1
        level and flags: decided by the provider, in its own code
        one session at a time: another one that has the provider keeps it (take_over: false)
        event ids: decided by the agent, as classic and WPP providers ignore it
      WPP messages of b.tmf: every level; with sid
        one session at a time: taken from another one that has the provider
        extended: not applied, as messages have no room for it
""", out)
        self.assertIn("""
      WPP messages of c.tmf: level 2 and more severe
        level and flags: decided by the agent, by the names that their formats have for them
""", out)

    def test_check_tells_what_wpp_does_not_have(self):
        for keys, words in (("flags: [0x100000000]", "WPP has 32 flags"),
                            ("keywords: {all: [0x10]}", "WPP has 32 flags"),
                            ("flags: [POWER]", "it names no control GUID, nor does a .mof, .tmc")):
            with self.subTest(keys=keys):
                done = self.run_with(["check"], "{name: s, providers: "
                                     f"[{{wpp: driver.tmf, name: {MESSAGES}, {keys}}}]}}")
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
