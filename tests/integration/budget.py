"""Budgets of providers from outside, on a simulated Windows.

Events that the provider wrote are those in the file and those that gaps count, to the last one, at
each stage; and a provider that is quiet again is let through again.
"""

import hashlib
import json
import subprocess
import unittest
import uuid

import machine
from machine import NAME, SIM, TIMEOUT_S, wait_until

OTHER = "Sim-Other"
CRITICAL, ERROR, INFORMATION, VERBOSE = 1, 2, 4, 5
FLOOD = 20000


def guid_of(name):
    """The GUID that EventSource.cs derives from a provider's name."""
    namespace = bytes.fromhex("482c2db2c39047c887f81a15bfc130fb")
    digest = bytearray(hashlib.sha1(namespace + name.upper().encode("utf-16-be")).digest()[:16])
    digest[7] = digest[7] & 0x0f | 0x50
    return str(uuid.UUID(bytes_le=bytes(digest)))


NAMES = {guid_of(name): name for name in (NAME, OTHER)}


class Budgets(machine.Shared):
    def run_with(self, *providers, session="", data="data"):
        entries = ", ".join(providers)
        (self.folder / "etwship.yaml").write_text(
            f"agent: {{data_dir: {data}, log: {{stats: 1s}}}}\n"
            f"sessions: [{{name: live, providers: [{entries}]{session}}}]\n"
            f"{self.spool}outputs: [{{type: file, path: out.ndjson}}]\n")
        return machine.Agent(self)

    def events(self):
        data = self.out.read_bytes()
        return [json.loads(line) for line in data[:data.rfind(b"\n") + 1].splitlines()]

    def take_apart(self):
        """Numbers of events by provider, and of left-out events by provider and reason."""
        came, cut = {}, {}
        for event in self.events():
            if "gap" in event:
                gap = event["gap"]
                self.assertEqual((gap["stage"], gap["unit"], gap["exact"]),
                                 ("guard", "events", True), gap)
                self.assertLessEqual(gap["from"], gap["to"])
                self.assertLessEqual(gap["to"], event["@timestamp"])
                key = (gap["provider"], gap["reason"])
                cut[key] = cut.get(key, 0) + gap["count"]
            elif event["provider"].get("name") != "etwship":
                key = NAMES[event["provider"]["guid"]]
                came[key] = came.get(key, 0) + 1
        return came, cut

    def flood(self, level, count=FLOOD, name=NAME):
        self.do(f"burst {name} {count} 0 {level}")
        self.do("settle")

    def test_each_stage_leaves_out_what_it_says_and_counts_it(self):
        self.do(f"provider {OTHER}")
        agent = self.run_with(f"{{name: {NAME}, budget: {{events: 10}}}}", OTHER)
        self.read_by(agent)
        self.read_by(agent, OTHER)
        self.flood(INFORMATION)
        wait_until(lambda: "informational events are left out" in agent.said(), agent.said)
        self.flood(ERROR)
        wait_until(lambda: "errors alone are kept" in agent.said(), agent.said)
        self.flood(VERBOSE)
        self.flood(VERBOSE, name=OTHER)
        self.assertEqual(agent.stop(), 0, agent.said())
        came, cut = self.take_apart()
        self.assertEqual(set(cut), {(NAME, "budget_sampled"), (NAME, "budget_verbose"),
                                    (NAME, "budget_provider")})
        self.assertEqual(came[NAME] + sum(cut.values()), 3 * FLOOD)
        self.assertEqual(came[OTHER], FLOOD)
        # The verbose ones are the last step's, nearly all of the informational ones its neighbours'.
        self.assertGreaterEqual(cut[NAME, "budget_provider"], FLOOD)
        self.assertIn(f"provider {NAME} exceeds its budget (10 events/s)", agent.said())

    def test_the_ledger_says_the_same(self):
        agent = self.run_with(NAME, session=", provider_budget: {events: 10, bytes: 1KB}")
        self.read_by(agent)
        self.flood(VERBOSE)
        wait_until(lambda: self.out.exists() and f'"received":{FLOOD}' in self.out.read_text())
        self.assertEqual(agent.stop(), 0, agent.said())
        came, cut = self.take_apart()
        self.assertEqual(came[NAME] + sum(cut.values()), FLOOD)
        status = [event["status"] for event in self.events() if "status" in event]
        ledger = next(session for said in status for session in said["sessions"]
                     if session["received"] == FLOOD)
        self.assertEqual(ledger["accepted"], came[NAME])
        dropped = {reason: count for reason, count in ledger["dropped"].items() if count}
        self.assertEqual(dropped, {f"guard_{reason}": count for (_, reason), count in cut.items()})
        self.assertIn("over budget", agent.said())

    def test_a_provider_within_its_budget_again_is_let_through(self):
        agent = self.run_with(f"{{name: {NAME}, budget: {{events: 1000}}}}")
        self.read_by(agent)
        self.flood(ERROR)
        wait_until(lambda: "keeps to its budget (1000 events/s): everything is kept"
                   in agent.said(), agent.said)
        steps = [line for line in agent.said().splitlines() if " its budget " in line]
        down = [line for line in steps if "exceeds" not in line]
        self.assertEqual(len(down), 7, steps)
        before = self.take_apart()
        self.flood(INFORMATION, 500)
        self.assertEqual(agent.stop(), 0, agent.said())
        came, cut = self.take_apart()
        self.assertEqual(cut, before[1])
        self.assertEqual(came[NAME] + sum(cut.values()), FLOOD + 500)
        self.assertGreaterEqual(came[NAME], before[0][NAME] + 500)

    def test_check_announces_the_order_and_what_has_no_effect(self):
        (self.folder / "etwship.yaml").write_text(
            "sessions:\n"
            f"- {{name: live, provider_budget: {{bytes: 2MB}}, providers: [{{name: {NAME}, "
            "budget: {events: 5000, burst: 10s}}]}\n"
            "- {name: kernel, type: system, providers: [{name: SystemProcessProvider, "
            "keywords: {any: [GENERAL]}, budget: {events: 1}}]}\n"
            "- {name: old, type: file, paths: ['*.etl'], provider_budget: {events: 1}}\n"
            "outputs: [{type: stdout}]\n")
        done = subprocess.run([SIM, "check", "-v", "-c", "etwship.yaml"], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("each provider: budget 2MB/s, at once events of 4s", done.stdout)
        self.assertIn("budget 5000 events/s, at once events of 10s", done.stdout)
        self.assertIn("1 event in 2, 4, 8, 16 is kept, then no verbose ones", done.stdout)
        self.assertIn("a budget has no effect on recorded traces", done.stderr)
        self.assertIn("kernel events only name their class", done.stderr)


if __name__ == "__main__":
    unittest.main()
