"""`run` with live sessions from outside, on a simulated Windows (etwship-sim) that plays a script.

Whatever is lost on the way stands in gaps: the events that providers wrote are those in the file
and those that gaps count, to the last one. At the end no session and no connection is left.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import catalogue  # noqa: E402

SIM = os.environ["ETWSHIP_SIM"]
BURST = int(os.environ.get("ETWSHIP_BURST", "1000000"))
# A net under what does not end, no measure.
TIMEOUT_S = 600
NAME = "Sim-Provider"


class Sessions(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_script(self, script, config, *args):
        (self.folder / "script").write_text("".join(line + "\n" for line in script))
        (self.folder / "etwship.yaml").write_text(config)
        env = dict(os.environ, ETWSIM_SCRIPT=str(self.folder / "script"))
        env.pop("ETWSIM_WORLD", None)
        done = subprocess.run([SIM, "run", "-c", self.folder / "etwship.yaml", *args], env=env,
                              capture_output=True, text=True, encoding="utf-8", check=False,
                              timeout=TIMEOUT_S, cwd=self.folder)
        self.reports = [json.loads(line) for line in done.stderr.splitlines()
                        if line.startswith("{")]
        self.assertEqual(self.reports[-1], {"left_sessions": 0, "left_traces": 0}, done.stderr)
        return done

    def config(self, session="", output="", mode="durable"):
        return (f"agent: {{data_dir: {self.folder}/data, log: {{stats: 0}}}}\n"
                f"spool: {{mode: {mode}, min_free_disk: 1MB}}\n"
                f"sessions: [{{name: live, type: realtime, providers: [{NAME}]{session}}}]\n"
                f"outputs: [{{type: file, path: '{self.folder}/out.ndjson'{output}}}]\n")

    def count(self, text):
        """Events of the provider, and gaps by stage and reason: (their events, their number)."""
        events, gaps = 0, {}
        for line in text.splitlines():
            event = json.loads(line)
            if event["provider"].get("name") == "etwship":
                if "gap" in event:
                    gap = event["gap"]
                    key = f"{gap['stage']}/{gap['reason']}"
                    total, number = gaps.get(key, (0, 0))
                    gaps[key] = (total + gap["count"], number + 1)
            else:
                events += 1
        return events, gaps

    def out(self):
        return self.count((self.folder / "out.ndjson").read_text(encoding="utf-8"))

    def test_every_event_of_a_burst_is_delivered_or_counted(self):
        for rate in (0, 1000000, 250000):
            for session in ("", ", buffers: {size: 64KB, min: 4}, block_for: 0"):
                with self.subTest(rate=rate, session=session):
                    (self.folder / "out.ndjson").unlink(missing_ok=True)
                    script = [f"provider {NAME}", f"await etwship-live {NAME}",
                              f"burst {NAME} {BURST} {rate}",
                              "settle", "report etwship-live", "leave"]
                    done = self.run_script(script, self.config(session))
                    report = self.reports[0]
                    events, gaps = self.out()
                    lost = sum(total for key, (total, _) in gaps.items()
                               if key in ("etw/events_lost", "queue/full"))
                    self.assertEqual(
                        events + lost + report["in_lost_buffers"], report["sent"],
                        (gaps, report, done.stderr))
                    self.assertEqual(gaps.get("etw/events_lost", (0, 0))[0],
                                     report["events_lost"])
                    self.assertEqual(gaps.get("etw/realtime_buffers_lost", (0, 0))[0],
                                     report["buffers_lost"])
                    self.assertEqual(report["discarded"], 0)

    def test_files_and_standard_output_get_the_same(self):
        config = self.config().rstrip("]\n") + "}, {type: stdout}]\n"
        config = config.replace("}}, {type: stdout}", "}, {type: stdout}")
        script = [f"provider {NAME}", f"await etwship-live {NAME}", f"burst {NAME} 500 0",
                  "settle", "leave"]
        done = self.run_script(script, config)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.count(done.stdout), (500, {}))
        self.assertEqual(self.out(), (500, {}))

    def test_a_session_stopped_by_another_program_comes_back(self):
        script = [f"provider {NAME}", f"await etwship-live {NAME}", f"burst {NAME} 100 0",
                  "stop etwship-live", f"await etwship-live {NAME}", f"burst {NAME} 100 0",
                  "settle", "leave"]
        done = self.run_script(script, self.config())
        events, gaps = self.out()
        self.assertEqual(events, 200)
        self.assertEqual(gaps, {"agent/session_stopped": (0, 1)})
        self.assertIn("was stopped by another program", done.stderr)

    def test_a_provider_may_come_later(self):
        script = [f"provider {NAME} unregistered", f"await etwship-live {NAME}",
                  f"burst {NAME} 10 0", f"register {NAME}", f"burst {NAME} 10 0", "settle",
                  "leave"]
        self.run_script(script, self.config())
        self.assertEqual(self.out(), (10, {}))

    def test_between_two_runs_events_may_be_missing(self):
        script = [f"provider {NAME}", f"await etwship-live {NAME}", f"burst {NAME} 50 0", "settle",
                  "leave"]
        self.run_script(script, self.config())
        self.assertEqual(self.out(), (50, {}))
        self.run_script(script, self.config())
        self.assertEqual(self.out(), (100, {"agent/not_running": (0, 1)}))
        stamps = [(json.loads(line)["@timestamp"], json.loads(line).get("gap"))
                  for line in (self.folder / "out.ndjson").read_text().splitlines()]
        at = next(i for i, (_, gap) in enumerate(stamps) if gap)
        self.assertLess(stamps[at - 1][0], stamps[at][1]["from"])  # all of the first run was had
        self.assertLess(stamps[at][1]["to"], stamps[at + 1][0])

    def test_an_agent_that_was_killed_knows_how_far_it_was(self):
        script = [f"provider {NAME}", f"await etwship-live {NAME}", f"burst {NAME} 50 0", "settle"]
        (self.folder / "script").write_text("".join(line + "\n" for line in script))
        config = self.config(mode="memory")
        (self.folder / "etwship.yaml").write_text(config)
        env = dict(os.environ, ETWSIM_SCRIPT=str(self.folder / "script"))
        agent = subprocess.Popen([SIM, "run", "-c", self.folder / "etwship.yaml"], env=env,
                                 stderr=subprocess.DEVNULL, cwd=self.folder)
        path = self.folder / "data/spool/catalogue.db"
        while not catalogue.ask(path, "SELECT time FROM live"):
            self.assertIsNone(agent.poll())
        agent.kill()
        agent.wait(timeout=TIMEOUT_S)
        self.run_script(script + ["leave"], config)
        self.assertEqual(self.out()[1], {"agent/not_running": (0, 1)})

    def test_so_many_events_and_no_more(self):
        script = [f"provider {NAME}", f"await etwship-live {NAME}", f"burst {NAME} 1000 0"]
        done = self.run_script(script, self.config(), "-n", "10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.out()[0], 10)


if __name__ == "__main__":
    unittest.main()
