"""A real Prometheus (Debian: prometheus) scrapes an agent while servers die, a disk fills up, sessions are stopped and the
agent is killed. Both equations of docs/reference/metrics.md hold in every single scrape.

ETWSHIP_PROMETHEUS_S: how long, in seconds.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request
from collections import defaultdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from status_rig import AWAY, ETLGEN, TIMEOUT_S, Rig, always  # noqa: E402
from support import small_disk  # noqa: E402
from support.ports import reserve_port  # noqa: E402
from support.scripted_http import Fault, Reply  # noqa: E402
from support.waiting import wait_until  # noqa: E402

SIM = os.environ["ETWSHIP_SIM"]
SECONDS = int(os.environ.get("ETWSHIP_PROMETHEUS_S", "300"))
SKIPPED = 77
ROUND_S = 4
DISK = "48m"
IN = ("metadata", "joined", "filtered", "accepted", "dropped")
OUT = ("filtered", "rolled_up", "acked", "dead_lettered", "dropped")


class Prometheus(Rig):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        self.has_disk = small_disk.mount(self, self.disk, f"size={DISK}")
        script = self.folder / "script"
        script.write_text("provider Sim-Process\nawait etwship-live Sim-Process\n" +
                          "burst Sim-Process 3000 300\nstop etwship-live\n" + "burst Sim-Process 30000 300\nstop etwship-live\n" * 200)
        self.environment = dict(os.environ, ETWSIM_SCRIPT=str(script))
        self.batch = 500
        self.actions = {}

    def write(self, **output):
        self.config.write_text(json.dumps({
            "agent": {"data_dir": str(self.disk / "data"), "log": {"stats": "1s", "level": "warning"}},
            "status": {"listen": f"127.0.0.1:{self.port}"},
            "spool": {"min_free_disk": "1MB", "max_size": "32MB"},
            "sessions": [{"name": "traces", "type": "file", "follow": True, "paths": [f"{self.traces}/*.etl"]},
                         {"name": "live", "type": "realtime", "providers": ["Sim-Process"]}],
            "outputs": [{"name": "siem", "type": "elasticsearch", "hosts": [self.server.url], "proxy": "",
                         "retry": {"min": "20ms", "max": "500ms"}, "batch": {"events": self.batch}},
                        {"name": "file", "type": "file", "path": str(self.folder / "out.ndjson"),
                         "filters": [{"drop": "event.code == 1"}]}]}))

    def begin(self):
        log = open(self.folder / "log", "ab")
        self.addCleanup(log.close)
        agent = subprocess.Popen([SIM, "run", "-c", self.config], stderr=log, env=self.environment)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        try:
            wait_until(self.is_ready, process=agent)
        except AssertionError as problem:
            raise AssertionError(self.log()[-20000:]) from problem
        return agent

    def add(self, count):
        """Add another trace; an equal trace would count as the same one."""
        self.made += 1
        made = self.folder / "made.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(count + self.made), "-o", made], check=True,
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        made.rename(self.traces / f"{self.made}.etl")

    def start_prometheus(self):
        self.prometheus = f"127.0.0.1:{reserve_port(self)}"
        config = self.folder / "prometheus.yaml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "etwship", "static_configs": [{"targets": [f"127.0.0.1:{self.port}"]}]}]}))
        log = open(self.folder / "prometheus.log", "wb")
        self.addCleanup(log.close)
        server = subprocess.Popen(["prometheus", f"--config.file={config}", f"--web.listen-address={self.prometheus}",
                                   f"--storage.tsdb.path={self.folder}/tsdb"], stdout=log, stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_until(lambda: self.query("up"), (self.folder / "prometheus.log").read_text, server)

    def query(self, query):
        try:
            url = f"http://{self.prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": query})
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as reply:
                return json.load(reply)["data"]["result"]
        except OSError:
            return []

    def samples(self, name, *labels):
        """(time of the scrape, labels) -> the sum of the values of that scrape."""
        found = defaultdict(float)
        for series in self.query(f"etwship_{name}[{SECONDS + 600}s]"):
            key = tuple(series["metric"][label] for label in labels)
            for at, value in series["values"]:
                found[(at, *key)] += float(value)
        return found

    # ---- what goes wrong, a round each

    def nothing(self, agent):
        return agent

    def the_server_is_away(self, agent):
        self.server.faults = always(AWAY)
        return agent

    def the_server_is_busy(self, agent):
        self.server.faults = always(Fault(Reply(429, {"error": "slow"})))
        return agent

    def the_server_refuses_some(self, agent):
        self.store.refuse = lambda number, index, name, document: (
            (400, "mapper_parsing_exception", "failed to parse") if number % 25 == 0 else None)
        return agent

    def the_disk_is_full(self, agent):
        if self.has_disk:
            with open(self.disk / "filler", "wb", buffering=0) as filler:
                try:
                    while True:
                        filler.write(bytes(1 << 20))
                except OSError:
                    pass
        return agent

    def another_configuration_comes(self, agent):
        self.batch = 1000 - self.batch
        self.write()
        agent.send_signal(signal.SIGHUP)
        return agent

    def the_agent_is_killed(self, agent):
        agent.kill()
        agent.wait()
        # In an hour they would fill the disk, and hold up what can wait.
        self.assertEqual(self.etwship("deadletter", "purge").returncode, 0)
        return self.begin()

    def all_is_well_again(self):
        self.server.faults = None
        self.store.refuse = None
        (self.disk / "filler").unlink(missing_ok=True)

    def test_every_scrape_balances(self):
        self.batch = 400
        self.write()
        agent = self.begin()
        self.start_prometheus()
        rounds = (self.nothing, self.the_server_is_away, self.the_server_is_busy, self.the_server_refuses_some,
                  self.the_disk_is_full, self.another_configuration_comes, self.the_agent_is_killed)
        until, number = time.monotonic() + SECONDS, 0
        while time.monotonic() < until:
            agent = rounds[number % len(rounds)](agent)
            number += 1
            self.add(3000)
            time.sleep(ROUND_S)  # for scrapes to see it
            self.all_is_well_again()
            for old in sorted(self.traces.iterdir(), key=lambda path: int(path.stem))[:-20]:
                old.unlink()
            self.assertIsNone(agent.poll(), self.log())
        self.assertEqual([value for value in self.samples("conservation_error").values() if value], [])
        scrapes = self.assert_sessions_balance()
        self.assertLessEqual(scrapes, self.assert_outputs_balance())  # there may be another one by now
        self.assertGreater(len(scrapes), SECONDS // 4)
        repaired = [value for (_, action), value in self.samples("session_guard_actions_total", "action").items()
                    if action == "repaired"]
        self.assertGreater(max(repaired), 0)
        told = self.samples("healthy").values()
        self.assertIn(0, told)
        self.assertIn(1, told)
        slow = max(float(value) for series in self.query(f"scrape_duration_seconds[{SECONDS + 600}s]")
                   for _, value in series["values"])
        print(f"{SECONDS} s, {number} rounds, {len(scrapes)} scrapes, disk {'filled' if self.has_disk else 'left alone'}, "
              f"the slowest scrape took {slow:.3f} s", file=sys.stderr)

    def assert_sessions_balance(self):
        received = self.samples("session_events_total", "session")
        parts = [self.samples(f"session_{part}_events_total", "session") for part in IN]
        for key, value in received.items():
            self.assertEqual(value, sum(part[key] for part in parts), key)
        return {at for at, _ in received}

    def assert_outputs_balance(self):
        offered = self.samples("output_offered_events_total", "output")
        parts = [self.samples(f"output_{part}_events_total", "output") for part in OUT]
        parts.append(self.samples("output_pending_events", "output"))
        for key, value in offered.items():
            self.assertEqual(value, sum(part[key] for part in parts), key)
        return {at for at, _ in offered}


if __name__ == "__main__":
    if not shutil.which("prometheus"):
        print("there is no prometheus: apt-get install prometheus", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
