"""How often the threads of an agent wake up that has nothing to do.

Counted by Linux (voluntary_ctxt_switches of /proc/PID/task), with a spool on a disk, an output over
HTTP, one to a file, a folder that is followed, a status server without clients and, on a simulated
Windows, a live session. Whoever polls
wakes up as often as the clock says, whatever the machine, so counts are compared with the time
that has passed. What each thread does is printed.
"""

import datetime
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
SIM = os.environ["ETWSHIP_SIM"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under what does not end, no measure.
TIMEOUT_S = 300
EVENTS = 200
STATUS_EVERY = "1s"
STATUSES = 6
# The status events that are delivered meanwhile are part of it: about 30 on two processors.
MOST_PER_SECOND = 60
# Without them: the live session looks at its counters once a second, the folder is looked at every other
# second. The rest is to sleep until something happens.
MOST_AT_REST = 2
WINDOW_S = 10
PROVIDER = "Etwship-Idle"
SIMULATOR = "etw-sim"  # the machine's own thread


class Destination(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format, *args):
        pass


def switches(pid):
    """By thread: its name, and the number of its waits."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        rows = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
        found[task.name] = (rows["Name"].strip(), int(rows["voluntary_ctxt_switches"]))
    return found


def report(before, after, passed):
    """Wake-ups a second, of all threads."""
    total = 0
    for task, (name, count) in sorted(after.items()):
        count -= before.get(task, (name, 0))[1]
        if name != SIMULATOR:
            total += count
            print(f"{name:16} {count / passed:6.2f} a second")
    print(f"{'all':16} {total / passed:6.2f} a second")
    return total / passed


def seconds(stamp):
    return datetime.datetime.fromisoformat(stamp[:26]).timestamp()


@unittest.skipUnless(Path("/proc/self/task").is_dir(), "the system counts no switches here")
class Idle(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.out = self.folder / "out.ndjson"
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        subprocess.run([ETLGEN, "--events", str(EVENTS), "-o", self.traces / "a.etl"], check=True,
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Destination)
        serving = threading.Thread(target=self.server.serve_forever)
        serving.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(serving.join)
        self.addCleanup(self.server.shutdown)

    def start(self, binary, status_every, *sessions):
        config = self.folder / "etwship.yaml"
        config.write_text(json.dumps({
            "agent": {"data_dir": str(self.folder / "data"), "log": {"stats": status_every}},
            "spool": {"min_free_disk": "1MB"}, "status": {"unix": str(self.folder / "s")},
            "sessions": [{"type": "file", "follow": True, "paths": [f"{self.traces}/*.etl"]},
                         *sessions],
            "outputs": [{"type": "http", "url": f"http://127.0.0.1:{self.server.server_port}/"},
                        {"type": "file", "path": str(self.out)}]}))
        world = self.folder / "world"
        world.write_text(f"provider {PROVIDER}\n")
        agent = subprocess.Popen([binary, "run", "-c", config], stderr=subprocess.DEVNULL,
                                 env=dict(os.environ, ETWSIM_WORLD=str(world)))
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def stop(self, agent):
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(TIMEOUT_S), 0)

    def lines(self):
        data = self.out.read_bytes() if self.out.exists() else b""
        return [json.loads(line) for line in data[:data.rfind(b"\n") + 1].splitlines()]

    def statuses(self):
        return [event["@timestamp"] for event in self.lines() if "status" in event]

    def test_status_events_cost_a_few_wake_ups_each(self):
        agent = self.start(BINARY, STATUS_EVERY)
        wait_until(lambda: len(self.lines()) >= EVENTS and self.statuses(), process=agent)
        begin = len(self.statuses())
        wait_until(lambda: len(self.statuses()) > begin, process=agent)
        before, first = switches(agent.pid), self.statuses()[-1]
        begin = len(self.statuses())
        wait_until(lambda: len(self.statuses()) >= begin + STATUSES, process=agent)
        after, last = switches(agent.pid), self.statuses()[-1]
        self.stop(agent)
        rate = report(before, after, seconds(last) - seconds(first))
        self.assertGreater(rate, 0)
        self.assertLess(rate, MOST_PER_SECOND)

    def test_an_agent_at_rest_sleeps(self):
        """The test waits until the agent is at rest after the last event; how long that takes depends on the
        machine."""
        agent = self.start(SIM, "0", {"name": "live", "providers": [PROVIDER]})
        wait_until(lambda: len(self.lines()) >= EVENTS, process=agent)
        end = time.monotonic() + TIMEOUT_S
        rate = MOST_AT_REST + 1
        while rate > MOST_AT_REST:
            self.assertLess(time.monotonic(), end, "it does not come to rest")
            before, begin = switches(agent.pid), time.monotonic()
            wait_until(lambda: time.monotonic() >= begin + WINDOW_S, process=agent)
            rate = report(before, switches(agent.pid), time.monotonic() - begin)
        self.assertGreater(rate, 0)
        self.stop(agent)


if __name__ == "__main__":
    unittest.main()
