"""The spool on a disk, in a running agent: what was accepted arrives once, whatever ends the agent.

--full kills 300 times instead of a few. Each test is a method whose name is its claim.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.scripted_http import Bulk, Lines, Server  # noqa: E402
from support.spool_rig import (  # noqa: E402
    BINARY, DONE, EVENTS, FAILED, LOSSES, TIMEOUT_S, SpoolRig, down)

FULL = "--full" in sys.argv
ROUNDS = 300 if FULL else 12


class Kills(SpoolRig):
    def check_kills(self):
        """Whenever a kill comes, each event arrives once."""
        chance = random.Random(7)
        with Server(Bulk()) as server:
            self.write(self.siem(server, workers=2), self.local(rotate={"size": "2MB"}))
            for number in range(ROUNDS):
                agent = self.start_agent()
                goal = len(server.posts()) + chance.randrange(4)
                self.wait_until(lambda n=goal: len(server.posts()) >= n or agent.poll() is not None)
                time.sleep(chance.random() / 20)  # any moment: what is waited for is a kill
                agent.kill()
                agent.wait()
                if number % 4 == 3:  # there is more to be done
                    trace = self.make_trace(f"{'full' if FULL else 'few'}-{number}", 1000, "--seed",
                                           str(number + 1))
                    traces = json.loads(self.config.read_text())["sessions"][0]["paths"]
                    self.write(self.siem(server, workers=2), self.local(rotate={"size": "2MB"}),
                               traces=[*traces, trace])
            self.run_agent()
            traces = json.loads(self.config.read_text())["sessions"][0]["paths"]
            total = EVENTS + 1000 * (len(traces) - 1)
            stored = sum(event["provider"].get("name") != "etwship"
                         for event in map(json.loads, server.app.documents()))
            self.assertEqual(stored, total)
            written = 0
            for path in self.folder.glob("out*.ndjson*"):
                for line in path.read_bytes().splitlines():
                    written += json.loads(line)["provider"].get("name") != "etwship"
            self.assertEqual(written, total)


class Spool(Kills):
    # ---- restarts --------------------------------------------------------------------------------

    def test_a_file_enters_once(self):
        with Server(Bulk()) as server:
            self.write(self.siem(server))
            self.run_agent()
            self.assert_each_once(server.app.documents())
            posts = len(server.posts())
            self.run_agent()
            self.assertEqual(len(server.posts()), posts)

    def test_what_a_stop_leaves_is_delivered_by_the_next_run(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), agent={"shutdown": "50ms"})
            agent = self.start_agent()
            self.waits_for("siem", EVENTS)
            self.stop(agent)
            self.assertNotIn("lost", self.said(agent))
            stat, outputs = self.stat()
            self.assertEqual(outputs["siem"]["events"], EVENTS)
            self.assertTrue(outputs["siem"]["configured"])
            self.assertGreater(stat["bytes"], EVENTS * 100)
            server.faults = None
            self.write(self.siem(server))
            said = self.run_agent()
            self.assertIn(f"{EVENTS} events of an earlier run wait for output siem in {self.folder}/state/spool",
                          said)
            self.assertIn(f"events wait in {self.folder}/state/spool until outputs have delivered them", said)
            self.assert_each_once(server.app.documents())
            self.assertEqual(server.app.twice, 0)
            self.assertEqual(self.stat()[1]["siem"]["events"], 0)
            self.assertIn(f"session s resumes after event {EVENTS}: ", said)
            self.assertNotIn("of an earlier run", self.run_agent())

    def test_kills_at_any_moment_lose_nothing_and_repeat_nothing(self):
        self.check_kills()

    # ---- outputs ----------------------------------------------------------------------------------

    def test_outputs_go_at_their_own_pace_over_restarts(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), self.local(), agent={"shutdown": "50ms"})
            agent = self.start_agent()
            self.waits_for("local", 0)
            self.waits_for("siem", EVENTS)
            self.stop(agent)
            self.assert_each_once(self.out.read_bytes().splitlines())
            server.faults = None
            self.run_agent()
            self.assert_each_once(server.app.documents())
            self.assert_each_once(self.out.read_bytes().splitlines())

    def test_a_changed_shape_drains_what_was_written_before(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), agent={"shutdown": "50ms"})
            agent = self.start_agent()
            self.waits_for("siem", EVENTS)
            self.stop(agent)
            server.faults = None
            more = self.make_trace("more", 1000, "--seed", "9")
            self.write(self.siem(server, format="ecs"), traces=[self.trace, more])
            self.run_agent()
            documents = [json.loads(d) for d in server.app.documents()]
            documents = [d for d in documents if d.get("provider", {}).get("name") != "etwship"
                         and d["event"].get("provider") != "etwship"]
            self.assertEqual(sum("winlog" in d for d in documents), 1000)
            self.assert_each_once(json.dumps(d) for d in documents if "winlog" not in d)

    def test_a_changed_shape_goes_on_where_its_own_events_ended(self):
        """It continues there, and not where another output's events ended, which were nearer to the end when the
        agent was killed."""
        slow = {"batch": {"events": 15000, "bytes": "32MB", "age": "1m"}}
        with Server(Bulk(), down) as server:
            self.write(self.siem(server, **slow), self.local(format="ecs"), follow=True)
            agent = self.start_agent()
            self.waits_for("siem", 15000)
            self.wait_until(lambda: self.out.exists() and
                            len(self.out.read_bytes().splitlines()) == EVENTS)
            agent.kill()
            agent.wait()
            server.faults = None
            self.write(self.siem(server, filters=[{"drop": "provider.name == 'nobody'"}]),
                       self.local(format="ecs"))
            self.run_agent()
            self.assert_each_once(server.app.documents())
            self.assertEqual(len(self.out.read_bytes().splitlines()), EVENTS)

    def kill_behind(self, siem, events):
        """Kill an agent whose output local had all of a trace of 3000 events, while for siem at most so many had
        entered the spool."""
        trace = self.make_trace("few", 3000)
        slow = {"batch": {"events": events or 6000, "bytes": "16MB", "age": "1m"}}
        self.write(siem | slow, self.local(format="ecs"), follow=True, traces=[trace])
        agent = self.start_agent()
        if events:
            self.waits_for("siem", events)
        self.wait_until(lambda: self.out.exists() and
                        len(self.out.read_bytes().splitlines()) == 3000)
        agent.kill()
        agent.wait()
        return trace

    def test_a_changed_shape_of_an_output_that_had_nothing_yet_gets_all(self):
        with Server(Bulk(), down) as server:
            trace = self.kill_behind(self.siem(server), 0)
            server.faults = None
            self.write(self.siem(server, filters=[{"drop": "provider.name == 'nobody'"}]),
                       self.local(format="ecs"), traces=[trace])
            self.run_agent()
            self.assert_each_once(server.app.documents(), 3000)
            self.assertEqual(len(self.out.read_bytes().splitlines()), 3000)

    def check_join(self, events):
        with Server(Lines(), down) as server:
            siem = {"name": "siem", "type": "http", "url": server.url,
                    "retry": {"min": "10ms", "max": "50ms"}}
            trace = self.kill_behind(siem, events)
            self.write(siem | {"format": "ecs"}, self.local(format="ecs"), traces=[trace])
            # What has begun is not begun anew.
            agent = self.start_agent()
            self.waits_for("siem", 3000)
            agent.kill()
            agent.wait()
            server.faults = None
            self.run_agent()
            before = [d["etw"]["sequence"] for d in server.app.records if "winlog" not in d]
            later = [d["event"]["sequence"] for d in server.app.records if "winlog" in d]
            self.assertEqual(sorted(before + later), list(range(1, 3001)))
            self.assertEqual(len(self.out.read_bytes().splitlines()), 3000)

    def test_an_output_that_joins_another_which_was_further_gets_what_lay_between(self):
        self.check_join(2000)

    def test_an_output_that_had_nothing_and_joins_another_gets_all(self):
        self.check_join(0)

    def test_outputs_that_join_one_after_the_other_get_nothing_twice(self):
        trace = self.make_trace("few", 3000)
        with Server(Lines(), down) as near, Server(Lines(), down) as siem, \
                Server(Lines(), down) as lake:
            def output(name, server, **more):
                return {"name": name, "type": "http", "url": server.url,
                        "retry": {"min": "10ms", "max": "50ms"}} | more

            def slow(events):
                return {"batch": {"events": events, "bytes": "16MB", "age": "1m"}}

            def run_until(waiting, *outputs):
                self.write(*outputs, traces=[trace], follow=True)
                agent = self.start_agent()
                for name, events in waiting.items():
                    self.waits_for(name, events)
                agent.kill()
                agent.wait()
            first = output("near", near, format="ecs")
            far = output("lake", lake, filters=[{"drop": "provider.name == 'nobody'"}])
            run_until({"near": 3000, "siem": 2000, "lake": 2900},
                      first, output("siem", siem) | slow(2000), far | slow(2900))
            # What comes again for siem waits for near, too, which does not know it yet.
            run_until({"siem": 3000}, first, output("siem", siem, format="ecs"), far | slow(2900))
            for server in near, siem, lake:
                server.faults = None
            self.write(first, output("siem", siem, format="ecs"),
                       output("lake", lake, format="ecs"), traces=[trace])
            self.run_agent()
            for server in near, siem, lake:
                found = [record["event" if "winlog" in record else "etw"]["sequence"]
                         for record in server.app.records]
                self.assertEqual(sorted(found), list(range(1, 3001)))

    def test_an_output_that_does_not_come_back_is_forgotten_on_demand(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), self.local(), agent={"shutdown": "50ms"})
            agent = self.start_agent()
            self.waits_for("siem", EVENTS)
            self.waits_for("local", 0)
            self.assertIn(b"used by another etwship, process %d" % agent.pid,
                          self.spool("forget", "siem", code=FAILED).stderr)
            self.stop(agent)
        self.write(self.local())
        stat, outputs = self.stat()
        self.assertFalse(outputs["siem"]["configured"])
        self.assertIn(b"not in the configuration", self.spool("stat").stdout)
        forgotten = json.loads(self.spool("forget", "siem", "--json").stdout)
        self.assertEqual(forgotten["events"], EVENTS)
        self.run_agent()
        after, outputs = self.stat()
        self.assertEqual(list(outputs), ["local"])
        self.assertEqual(after["batches"], 0)
        self.assertLess(after["bytes"], stat["bytes"] / 2)
        self.spool("forget", "siem", code=FAILED)

    def test_commands_on_what_a_killed_agent_left_have_nothing_read_again(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), self.local(), agent={"shutdown": "50ms"})
            agent = self.start_agent()
            self.waits_for("siem", EVENTS)
            self.waits_for("local", 0)
            agent.kill()
            agent.wait(TIMEOUT_S)
        log = self.folder / "state/spool/catalogue.db-wal"
        self.assertTrue(log.exists())
        self.spool("forget", "siem")
        subprocess.run([BINARY, "deadletter", "purge", "-c", self.config], check=True,
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        self.assertTrue(log.exists())
        self.write(self.local())
        self.assertNotIn("is older than its files", self.run_agent())
        self.assert_each_once(self.out.read_bytes().splitlines())

    # ---- commands ---------------------------------------------------------------------------------

    def test_commands_look_at_the_spool_beside_the_agent(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), agent={"shutdown": "50ms"})
            agent = self.start_agent()
            self.waits_for("siem", EVENTS)
            self.assertRegex(self.spool("stat").stdout.decode(), rf"siem +\d+ +{EVENTS} ")
            checked = json.loads(self.spool("verify", "--json").stdout)
            self.assertGreater(checked["batches"], 0)
            self.assertEqual((checked["damaged"], checked["catalogue_faults"]), (0, 0))
            self.assert_each_once(self.spool("export").stdout.splitlines())
            self.assert_each_once(self.spool("export", "siem").stdout.splitlines())
            self.spool("export", "nope", code=FAILED)
            self.stop(agent)
            second = self.spool("verify")
            self.assertIn(b"all good", second.stdout)

    def test_what_waits_on_the_disk_is_in_the_status(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), self.local(), agent={"shutdown": "50ms", "log": {"stats": "1s"}}, follow=True)
            agent = self.start_agent()
            def last():
                found = [event["status"] for event in map(json.loads, self.lines_of_output())
                         if event["event"].get("name") == "status"]
                return found[-1] if found else None
            self.wait_until(lambda: last() and
                            last()["outputs"][0]["backlog"]["events"] >= EVENTS)
            status = last()
            backlog = status["outputs"][0]["backlog"]
            self.assertGreater(backlog["bytes"], 1 << 20)
            self.assertGreater(backlog["oldest_ms"], 0)
            self.assertLess(status["outputs"][1]["backlog"]["events"], EVENTS)
            spool = status["spool"]
            self.assertEqual((spool["mode"], spool["full"], spool["failing"]),
                             ("durable", "no", False))
            self.assertGreaterEqual(spool["bytes"], backlog["bytes"])
            self.assertGreater(spool["free_disk_bytes"], 0)
            self.stop(agent)

    def lines_of_output(self):
        """Whole lines only: the last one may be half written."""
        return self.out.read_bytes().rpartition(b"\n")[0].splitlines() if self.out.exists() else []

    def test_a_second_agent_is_told_which_process_has_the_folder(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), agent={"shutdown": "50ms"})
            agent = self.start_agent()
            self.waits_for("siem", EVENTS)
            self.assertIn(f"process {agent.pid}", self.run_agent(FAILED))
            self.stop(agent)

    # ---- damage -----------------------------------------------------------------------------------

    def test_a_lost_catalogue_is_made_anew_from_the_segments(self):
        for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(b"x" * 5000)):
            with Server(Bulk(), down) as server:
                spool = self.left_behind(server)
                for name in ("catalogue.db-wal", "catalogue.db-shm"):
                    (spool / name).unlink(missing_ok=True)
                damage(spool / "catalogue.db")
                server.faults = None
                told = self.run_agent()
                self.assertIn("spool: ", told)
                self.assert_each_once(server.app.documents())
            subprocess.run(["rm", "-r", self.folder / "state"], check=True)

    def test_a_lost_catalogue_takes_no_new_file_for_an_old_one(self):
        traces = self.folder / "in"
        traces.mkdir()
        self.write(self.local(), traces=[traces / "*.etl"])
        first = traces / "first.etl"
        first.write_bytes(self.make_trace("first", 1000).read_bytes())
        self.run_agent()
        first.unlink()
        for path in (self.folder / "state/spool").glob("catalogue.db*"):
            path.unlink()
        second = self.make_trace("second", 1000, "--cpus", "2", "--seed", "5")
        (traces / "second.etl").write_bytes(second.read_bytes())
        self.assertIn("they are read again", self.run_agent())
        names = [json.loads(line)["etw"].get("file", "") for line in self.out.read_bytes().splitlines()]
        self.assertEqual(sum(name.endswith("second.etl") for name in names), 1000)

    def test_a_damaged_batch_is_a_gap_and_the_rest_arrives(self):
        with Server(Bulk(), down) as server:
            spool = self.left_behind(server)
            segment = sorted(spool.glob("*.seg"))[0]
            data = bytearray(segment.read_bytes())
            data[len(data) // 2] ^= 0xff
            segment.write_bytes(data)
            self.assertIn(b"batch", self.spool("verify", code=LOSSES).stderr)
            exported = self.spool("export", code=LOSSES)
            self.assertEqual(exported.stderr.count(b"is left out"), 1)
            server.faults = None
            self.run_agent(LOSSES)
            events = [json.loads(d) for d in server.app.documents()]
            gaps = [e["gap"] for e in events if "gap" in e]
            lost = sum(gap["count"] for gap in gaps)
            self.assertEqual({gap["stage"] for gap in gaps}, {"spool"})
            got = sum(e["provider"].get("name") != "etwship" for e in events)
            self.assertGreater(lost, 0)
            self.assertEqual(got + lost, EVENTS)
            self.assertEqual(len(exported.stdout.splitlines()), got)


class Replayed(Kills):
    """Recorded events are not copied: events that an output has not delivered are read again."""

    spool_of_traces = {"recorded": "replay"}

    def write(self, *outputs, spool=None, **more):
        super().write(*outputs, spool=self.spool_of_traces | (spool or {}), **more)

    def test_kills_at_any_moment_lose_nothing_and_repeat_nothing(self):
        self.check_kills()

    def test_little_is_left_behind(self):
        self.write(self.local())
        said = self.run_agent()
        self.assertNotIn("warning", said)
        self.assert_each_once(self.out.read_bytes().splitlines())
        files = [path for path in (self.folder / "state").rglob("*") if path.is_file()]
        self.assertEqual([path for path in files if path.suffix == ".seg" or path.name == "ballast"], [])
        self.assertLess(sum(path.stat().st_size for path in files), 1 << 20)
        self.run_agent()
        self.assert_each_once(self.out.read_bytes().splitlines())

    def test_what_a_stop_leaves_is_read_again_by_the_next_run(self):
        with Server(Bulk(), down) as server:
            self.write(self.siem(server), self.local(), agent={"shutdown": "50ms"})
            agent = self.start_agent()
            self.wait_until(lambda: self.out.exists() and server.posts())
            self.stop(agent)
            said = self.said(agent)
            self.assertIn("the next run reads them again", said)
            self.assertNotIn("lost", said)
            server.faults = None
            self.write(self.siem(server), self.local())
            self.run_agent()
            self.assert_each_once(server.app.documents())
            self.assertEqual(server.app.twice, 0)
        self.assert_each_once(self.out.read_bytes().splitlines())

    def test_what_waits_on_the_disk_is_delivered_first(self):
        with Server(Bulk(), down) as server:
            self.spool_of_traces = {}
            self.left_behind(server)
            server.faults = None
            self.spool_of_traces = {"recorded": "replay"}
            for number in range(1, 4):
                more = [self.make_trace(f"more-{n}", 1000, "--seed", str(n)) for n in range(1, number + 1)]
                self.write(self.siem(server), self.local(), traces=[self.trace, *more])
                self.run_agent()
                self.assert_each_once(server.app.documents(), EVENTS + number * 1000)
            self.assertEqual(server.app.twice, 0)
            self.assertEqual(self.stat()[0]["batches"], 0)
            self.assertEqual(list((self.folder / "state/spool").glob("*.seg")), [])


class SystemsFolder(SpoolRig):
    """A run without data_dir. Root's folder belongs to the machine, so another user runs the agent."""

    def setUp(self):
        super().setUp()
        home = self.folder / "home"
        home.mkdir()
        self.program = BINARY
        self.options = {"env": os.environ | {"XDG_STATE_HOME": str(home)}}
        if os.geteuid() == 0:
            other = 65534
            self.options["user"] = other
            self.program = shutil.copy(BINARY, self.folder / "program")  # the other user may not enter root's folders
            os.chown(home, other, other)
            for folder in (self.folder, Path(self.traces.name)):
                folder.chmod(0o755)
        self.systems = home / "etwship"

    def configure(self, mode, output):
        self.write(output, spool={"mode": mode}, agent={"shutdown": "50ms"})
        config = json.loads(self.config.read_text())
        del config["agent"]["data_dir"]
        self.config.write_text(json.dumps(config))

    def etwship(self, *arguments):
        return subprocess.run([self.program, *arguments, "-c", self.config], capture_output=True, text=True,
                              check=False, timeout=TIMEOUT_S, **self.options)

    def waiting(self):
        done = self.etwship("spool", "stat", "--json")
        return {output["name"]: output["events"] for output in json.loads(done.stdout)["outputs"]
                } if done.returncode == DONE else None

    def test_a_user_of_memory_is_told_what_waits_on_the_disk_and_can_forget_it(self):
        with Server(Bulk(), down) as server:
            self.configure("durable", self.siem(server))
            agent = subprocess.Popen([self.program, "run", "-c", self.config], stderr=subprocess.DEVNULL,
                                     **self.options)
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)
            self.wait_until(lambda: self.waiting() == {"siem": EVENTS})
            self.assertEqual(self.systems.stat().st_mode & 0o777, 0o700)
            self.configure("memory", {"name": "siem", "type": "stdout", "style": "ndjson"})
            done = self.etwship("run")  # beside the other one, which has the folder
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assertIn(f"warning: {EVENTS} events wait in {self.systems} for output siem", done.stderr)
            agent.terminate()
            self.assertEqual(agent.wait(TIMEOUT_S), DONE)
        self.assertEqual(self.waiting(), {"siem": EVENTS})
        done = self.etwship("spool", "forget", "siem")
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(self.waiting(), {})

    def test_where_nothing_is_memory_has_nothing(self):
        self.configure("memory", self.local())
        done = self.etwship("spool", "stat")
        self.assertEqual((done.returncode, done.stdout), (FAILED, ""))
        self.assertIn("nothing waits on a disk", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[arg for arg in sys.argv if arg != "--full"])
