"""Each row of the tables in docs/guide/troubleshooting.md: it is brought about, and /health says the cause that stands
in the row's last cell. A row without a test here, and a test without a row, fail.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from status_rig import AWAY, BINARY, TIMEOUT_S, TOKEN, Rig, always, of  # noqa: E402
from support.scripted_http import LOST_BEHIND, Fault, Lines, Reply, Server  # noqa: E402
from support.waiting import wait_until  # noqa: E402

SIM = os.environ["ETWSHIP_SIM"]
FAILING_DISK = os.environ.get("ETWSHIP_FAILING_DISK")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "troubleshooting.md"
MAPPING = (400, "mapper_parsing_exception", "failed to parse field [data]")
ONE_INDEX = "rows-etwship_sample_dns"
EIO = 5
LETTERS = 40000


def rows():
    """First cell -> the causes in the last one."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] != "What happens":
            assert cells[0] not in found, cells[0]
            found[cells[0]] = cells[-1]
    return found


def causes_of(cell):
    return re.findall(r"`(\w+)`", cell)


class HealthRows(Rig):
    def setUp(self):
        super().setUp()
        self.agent = None
        self.binary = BINARY
        self.environment = dict(os.environ)

    def configure(self, *outputs, **more):
        """Like write(), for other outputs and sessions."""
        self.write()
        config = json.loads(self.config.read_text())
        config["spool"]["recorded"] = "copy"  # what waits does so on the disk
        if outputs:
            config["outputs"] = list(outputs)
        for key, value in more.items():
            config[key] = config.get(key, {}) | value if isinstance(value, dict) else value
        self.config.write_text(json.dumps(config))

    def siem(self, **more):
        return {"name": "siem", "type": "elasticsearch", "hosts": [self.server.url], "proxy": "",
                "retry": {"min": "20ms", "max": "200ms"}} | more

    def begin(self):
        log = open(self.folder / "log", "ab")
        self.addCleanup(log.close)
        self.agent = subprocess.Popen([self.binary, "run", "-c", self.config], stderr=log, env=self.environment)
        self.addCleanup(self.agent.wait)
        self.addCleanup(self.agent.kill)
        wait_until(self.is_ready, self.log, self.agent)

    def causes(self):
        code, text = self.get("/health")
        health = json.loads(text)
        self.assertEqual(code == 200, all(cause["severity"] == "note" for cause in health["causes"]))
        return {cause["id"]: cause for cause in health["causes"]}

    def wait_for(self, *causes):
        """Wait until all of them are seen, at once or one after the other, and no others. Returns them with their
        texts."""
        seen = {}

        def holds():
            seen.update(self.causes())
            return set(causes) <= set(seen)
        wait_until(holds, lambda: f"{self.get('/health')[1]}\n{self.log()}", self.agent)
        self.assertEqual(set(seen), set(causes))
        for cause in seen.values():
            self.assertTrue(cause["text"] and cause["what_to_do"])
        return seen

    def deliver_without_a_cause(self, events):
        def arrived():
            self.assertEqual(self.causes(), {})
            return len(self.store.documents()) >= events
        wait_until(arrived, self.log, self.agent)

    def with_faults(self, faults, *causes):
        self.configure(self.siem())
        self.begin()
        self.server.faults = faults
        self.add_events(50)
        seen = self.wait_for(*causes)
        self.server.faults = None
        wait_until(lambda: self.causes() == {}, self.log, self.agent)
        return seen

    def with_refusals(self, refuse, *causes, events=200, **output):
        self.store.refuse = refuse
        self.configure(self.siem(**output))
        self.begin()
        self.add_events(events)
        return self.wait_for(*causes)

    # ---- the server

    def server_away(self, *causes):
        self.with_faults(always(AWAY), *causes)

    def reply_lost(self, *causes):
        self.with_faults(always(LOST_BEHIND), *causes)

    def busy_for_single_events(self, *causes):
        self.with_refusals(lambda number, index, name, document: (429, "es_rejected_execution_exception", "queue is full"),
                           *causes)

    def retry_after(self, *causes):
        self.with_faults(always(Fault(Reply(503, "", {"Retry-After": "1"}))), *causes)

    def too_large(self, *causes):
        self.assertEqual(causes, ())
        self.configure(self.siem())
        self.begin()
        refused = []

        def too_large(request):
            if request.method == "POST" and int(request.headers["content-length"]) > 5000:
                refused.append(request)
                return Fault(Reply(413, {"error": "too large"}))
            return None
        self.server.faults = too_large
        self.add_events(300)
        self.deliver_without_a_cause(300)
        self.assertTrue(refused)

    def proxy_answers(self, failing, degraded):
        page = Reply(200, "<html>log in</html>", {"Content-Type": "text/html"})
        for reply, cause in ((page, failing), (Reply(407, ""), degraded)):
            with self.subTest(reply.status):
                self.with_faults(always(Fault(reply)), cause)
                self.agent.kill()
                self.agent.wait()

    def password_wrong(self, *causes):
        self.with_faults(always(Fault(Reply(401, {"error": {"type": "security_exception", "reason": "no such user"}}))),
                         *causes)

    def cluster_takes_nothing_new(self, *causes):
        seen = self.with_refusals(lambda *_: (400, "illegal_argument_exception",
                                              "pipeline with id [audit] does not exist"), *causes)
        self.assertIn("audit", seen[causes[0]]["text"])

    def one_index_takes_nothing(self, *causes):
        def refuse(number, index, name, document):
            return (403, "cluster_block_exception",
                    f"index [{index}] blocked by: [FORBIDDEN/8/index write (api)];") if index == ONE_INDEX else None
        seen = self.with_refusals(refuse, *causes, index="rows-{provider.name}")
        self.assertIn(ONE_INDEX, seen[causes[0]]["text"])

    def template_missing(self, *causes):
        self.assertEqual(causes, ())
        self.configure(self.siem())
        self.begin()
        self.add_events(50)
        self.deliver_without_a_cause(50)
        wait_until(lambda: "etwship setup siem" in self.log(), self.log, self.agent)

    # ---- events that are refused

    def event_refused(self, *causes):
        self.with_refusals(lambda number, *_: MAPPING if number % 25 == 0 else None, *causes)

    def every_event_refused(self, *causes):
        self.with_refusals(lambda *_: MAPPING, *causes, "output_refuses", events=5000, batch={"events": 100})

    def too_old(self, failing, refuses):
        self.server.faults = always(AWAY)
        self.configure(self.siem(retry={"min": "20ms", "max": "200ms", "max_age": "1s"}))
        self.begin()
        self.add_events(50)
        self.wait_for(failing, refuses)

    def letters_full(self, recorded, live):
        """Letters keep the reasons of refusals, so long reasons fill the room soon."""
        wrong = (400, "mapper_parsing_exception", "no number " * 250)
        self.store.refuse = lambda number, *_: None if number % 20 == 0 else wrong
        self.configure(self.siem(), spool={"recorded": "auto"})
        self.begin()
        self.add_events(LETTERS)
        wait_until(lambda: recorded in self.causes(), self.log, self.agent)
        self.agent.kill()
        self.agent.wait()
        self.simulate(f"await etwship-live Rows\nburst Rows {LETTERS} 20000\n")
        self.begin()
        wait_until(lambda: live in self.causes(), self.log, self.agent)

    def payload_does_not_fit(self, *causes):
        self.assertEqual(causes, ())
        self.store.refuse = lambda number, index, name, document: MAPPING if b'"data":{' in document else None
        self.configure(self.siem(setup={"fields": "typed"}))
        self.begin()
        self.add_events(50)
        self.deliver_without_a_cause(50)
        self.assertTrue(any(b'"data_unindexed"' in document for document in self.store.documents()))

    def unsent_id_is_there(self, *causes):
        self.store.refuse = lambda *_: (409, "version_conflict_engine_exception", "document already exists")
        self.simulate("await etwship-live Rows\nburst Rows 100 0\n")  # of a file, they may be of an earlier run
        self.begin()
        self.wait_for(*causes)

    def no_ids_and_no_answer(self, *causes):
        splunk = Server(Lines(Reply(200, {"text": "Success", "code": 0})), always(LOST_BEHIND))
        self.addCleanup(splunk.stop)
        self.configure({"name": "splunk", "type": "splunk_hec", "urls": [splunk.url], "proxy": "", "token": TOKEN,
                        "ack": {"enabled": False}, "retry": {"min": "20ms", "max": "200ms"}})
        self.begin()
        self.add_events(50)
        self.wait_for(*causes)
        splunk.faults = None
        wait_until(lambda: self.causes() == {}, self.log, self.agent)
        self.assertGreater(of(self.metrics(), "output_maybe_duplicates_total"), 0)

    # ---- outputs, the agent, the machine

    def one_output_stuck(self, *causes):
        stuck = Server(Lines(), always(Fault(Reply(200), delay_s=TIMEOUT_S)))
        self.addCleanup(stuck.stop)
        self.configure(self.siem(), {"name": "stuck", "type": "http", "url": stuck.url, "proxy": ""})
        self.begin()
        self.add_events(50)
        seen = self.wait_for(*causes)
        self.assertEqual(seen[causes[0]]["output"], "stuck")
        self.assertGreaterEqual(len(self.store.documents()), 50)

    def simulate(self, script, **session):
        self.binary = SIM
        path = self.folder / "script"
        path.write_text("provider Rows\n" + script)
        self.environment["ETWSIM_SCRIPT"] = str(path)
        self.configure(self.siem(), sessions=[{"name": "live", "providers": ["Rows"]} | session])

    def killed(self, mode, *causes):
        self.simulate("await etwship-live Rows\nburst Rows 100 0\n")
        config = json.loads(self.config.read_text())
        config["spool"] = {"mode": mode} if mode == "memory" else config["spool"]
        self.config.write_text(json.dumps(config))
        if mode == "memory":  # positions of a run before
            self.begin()
            wait_until(lambda: len(self.store.documents()) >= 100, self.log, self.agent)
            self.agent.send_signal(signal.SIGTERM)
            self.assertEqual(self.agent.wait(TIMEOUT_S), 0)
            self.store.stores.clear()
        self.begin()
        wait_until(lambda: len(self.store.documents()) >= 100, self.log, self.agent)
        wait_until(lambda: of(self.metrics(), "output_acked_events_total") >= 100, self.log, self.agent)
        self.agent.kill()
        self.agent.wait()
        self.assertEqual(self.etwship("status").returncode, 1)
        self.begin()
        self.wait_for(*causes)

    def killed_with_a_spool(self, *causes):
        self.killed("durable", *causes)

    def killed_with_a_spool_in_memory(self, *causes):
        self.killed("memory", *causes)

    def folder_is_taken(self, *causes):
        self.assertEqual(causes, ())
        self.configure(self.siem())
        self.begin()
        self.assertEqual(self.etwship("run").returncode, 1)
        self.assertEqual(self.causes(), {})
        self.agent.kill()
        self.agent.wait()
        self.configure(self.siem(), agent={"data_dir": "/proc/no/such/folder"})
        self.assertEqual(self.etwship("run").returncode, 1)
        self.assertEqual(self.etwship("status").returncode, 1)

    # ---- the disk

    def disk_full(self, *causes):
        self.configure(self.siem(), spool={"min_free_disk": "1024TB"})
        self.begin()
        self.add_events(50)
        self.wait_for(*causes)

    def disk_fails(self, with_spool, without):
        if not FAILING_DISK:
            self.skipTest("no library that lets a disk fail here")
        flag = self.folder / "fails"
        self.environment |= {"LD_PRELOAD": FAILING_DISK, "FAILING_DISK_FOLDER": str(self.folder / "data"),
                             "FAILING_DISK_FLAG": str(flag), "FAILING_DISK_NOTES": str(self.folder / "notes"),
                             "ASAN_OPTIONS": "verify_asan_link_order=0"}
        for recorded, cause in (("copy", with_spool), ("auto", without)):
            with self.subTest(recorded):
                self.configure(self.siem(), spool={"recorded": recorded})
                self.begin()
                flag.symlink_to(str(EIO))
                self.add_events(50)
                self.wait_for(cause)
                flag.unlink()
                wait_until(lambda: self.causes() == {}, self.log, self.agent)
                self.agent.kill()
                self.agent.wait()
            shutil.rmtree(self.folder / "data")

    def files_of_the_spool_go(self, lost):
        self.server.faults = always(AWAY)
        self.configure(self.siem(batch={"events": 100}))
        self.begin()
        self.add_events(5000)
        wait_until(lambda: of(self.metrics(), "output_pending_events") >= 5000, self.log, self.agent)
        self.agent.terminate()  # it commits all; the next one has none of them in memory
        self.agent.wait(TIMEOUT_S)
        self.begin()
        for path in (self.folder / "data" / "spool").glob("*.seg"):
            os.truncate(path, 100)
        self.server.faults = None
        wait_until(lambda: lost in self.causes(), self.log, self.agent)

    # ---- live sessions

    def fail_until_seen(self, function):
        """Begin with a function of Windows that fails until the test has made the file `self.seen`."""
        self.seen = self.folder / "seen"
        self.simulate(f"fail {function} 0 1450\nfile {self.seen}\nmend {function}\nawait etwship-live Rows\n")
        self.begin()

    def session_is_stopped(self, repaired, unread, gave_up):
        self.simulate("await etwship-live Rows\nstop etwship-live\n")
        self.begin()
        self.wait_for(repaired, unread)
        self.agent.kill()
        self.agent.wait()
        self.simulate("await etwship-live Rows\nstop etwship-live\n" * 6)
        self.begin()
        wait_until(lambda: gave_up in self.causes(), self.log, self.agent)

    def reading_ends_with_an_error(self, waiting, unread):
        self.fail_until_seen("ProcessTrace")
        wait_until(lambda: "1450" in self.causes().get(waiting, {"text": ""})["text"], self.log, self.agent)
        self.seen.touch()
        wait_until(lambda: set(self.causes()) == {unread}, self.log, self.agent)

    def session_cannot_start(self, *causes):
        self.fail_until_seen("StartTraceW")
        self.wait_for(*causes)
        self.seen.touch()
        wait_until(lambda: self.causes() == {}, self.log, self.agent)


# By the first words of the first cell.
TESTS = {
    "The server is away": HealthRows.server_away,
    "A reply is lost": HealthRows.reply_lost,
    "The server is too busy for some events": HealthRows.busy_for_single_events,
    "The server asks to wait": HealthRows.retry_after,
    "A request is too large": HealthRows.too_large,
    "A proxy, a login page": HealthRows.proxy_answers,
    "Password, key, certificate": HealthRows.password_wrong,
    "The cluster accepts nothing new": HealthRows.cluster_takes_nothing_new,
    "One index of several": HealthRows.one_index_takes_nothing,
    "The index template is missing": HealthRows.template_missing,
    "The server can never take an event": HealthRows.event_refused,
    "The server refuses every event": HealthRows.every_event_refused,
    "Events wait longer than": HealthRows.too_old,
    "Dead letters have no more room": HealthRows.letters_full,
    "With `setup: {fields: typed}`": HealthRows.payload_does_not_fit,
    "An `_id` is there": HealthRows.unsent_id_is_there,
    "A destination that has no ids": HealthRows.no_ids_and_no_answer,
    "One of several outputs is stuck": HealthRows.one_output_stuck,
    "The agent is killed with": HealthRows.killed_with_a_spool_in_memory,
    "The agent is killed": HealthRows.killed_with_a_spool,
    "The data folder cannot be made": HealthRows.folder_is_taken,
    "The disk is full": HealthRows.disk_full,
    "The disk fails": HealthRows.disk_fails,
    "Files of the spool are removed": HealthRows.files_of_the_spool_go,
    "Another program stops a session": HealthRows.session_is_stopped,
    "Windows ends the reading": HealthRows.reading_ends_with_an_error,
    "A live session cannot be started": HealthRows.session_cannot_start,
}
UNMADE = {
    "The clock is set": "the clock is the machine's: unit.base and unit.store turn one of their own",
    "The agent is stopped in the middle of a reload": "no agent answers any more: integration.reload_live",
}


def match(first):
    found = [name for name in {**TESTS, **UNMADE} if first.startswith(name)]
    return max(found, key=len) if found else None


def add_tests():
    for first, cell in rows().items():
        name = match(first)
        if name in TESTS:
            word = re.sub(r"\W+", "_", name).strip("_").lower()
            setattr(HealthRows, f"test_{word}", lambda self, name=name, cell=cell: TESTS[name](self, *causes_of(cell)))


class Table(unittest.TestCase):
    def test_every_row_has_its_test(self):
        found = [match(first) for first in rows()]
        self.assertNotIn(None, found, list(rows()))
        self.assertEqual(sorted(found), sorted([*TESTS, *UNMADE]))

    def test_every_cause_is_one_of_the_agent(self):
        table = (PAGE.parents[2] / "agent" / "app" / "watch" / "agent_causes.def").read_text(encoding="utf-8")
        known = re.findall(r'^CAUSE\(\w+, "(\w+)"', table, re.M)
        self.assertLessEqual({cause for cell in rows().values() for cause in causes_of(cell)}, set(known))


add_tests()
if __name__ == "__main__":
    unittest.main()
