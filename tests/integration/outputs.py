"""The file output in a running agent: kills between rotations, a full disk, shared paths.

Works on traces made by etlgen (ETWSHIP_ETLGEN), so it needs nothing else. Each test is a method
whose name is its claim.
"""

import collections
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import small_disk  # noqa: E402
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 120
EVENTS = 20000
KILLS = 15

DONE, USAGE = 0, 2


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared_folder = tempfile.TemporaryDirectory()
        cls.traces = []
        for seed in (1, 2):
            trace = Path(cls.shared_folder.name) / f"{seed}.etl"
            subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS // 2), "--seed",
                            str(seed), "-o", str(trace)],
                           check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
            cls.traces.append(trace)

    @classmethod
    def tearDownClass(cls):
        cls.shared_folder.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, *outputs):
        config = {
            "agent": {"data_dir": str(self.folder / "state")},
            "spool": {"min_free_disk": "1MB"},
            "sessions": [{"name": f"s{i}", "type": "file", "paths": [str(trace)]}
                         for i, trace in enumerate(self.traces)],
            "outputs": list(outputs),
        }
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(config))
        return path

    def events(self, top):
        """How often each event is in the files below `top`; events of the agent are left out."""
        found = collections.Counter()
        for path in sorted(Path(top).rglob("*")):
            if not path.is_file():
                continue
            self.assertNotEqual(path.suffix, ".tmp")
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            for line in data.splitlines():
                event = json.loads(line)
                if event["provider"].get("name") != "etwship":
                    found[(event["etw"]["session"], event["etw"]["sequence"])] += 1
        return found

    def assert_every_event_once(self, top):
        found = self.events(top)
        self.assertEqual(len(found), EVENTS)
        self.assertEqual([key for key, count in found.items() if count != 1], [])

    def kill_and_go_on(self, config, top, rng):
        """Kill the agent again and again, each time after a few more files, and then let it end."""
        def files():
            return sum(1 for path in top.rglob("*") if path.is_file())

        for _ in range(KILLS):
            enough = files() + rng.randrange(8)
            agent = subprocess.Popen([BINARY, "run", "-c", config], stderr=subprocess.DEVNULL)
            wait_until(lambda: agent.poll() is not None or files() >= enough, tick_s=0.001)
            time.sleep(rng.random() / 50)  # any moment: what is waited for is a kill
            agent.kill()
            status = agent.wait()
            self.assertIn(status, (DONE, -signal.SIGKILL))
            if status == DONE:
                return
        subprocess.run([BINARY, "run", "-c", config], check=True, timeout=TIMEOUT_S,
                       stderr=subprocess.DEVNULL)

    def test_kills_between_rotations_leave_every_event_once(self):
        # Each rotation costs four syncs, and some disks take 100 ms for one.
        rotations = ({"size": "300KB", "gzip": True}, {"size": "200KB", "age": "10s"})
        for seed, rotate in enumerate(rotations):
            top = self.folder / f"out{seed}"
            config = self.write({
                "type": "file", "fsync": "10ms", "rotate": rotate,
                "path": str(top / "{etw.session}" / "{provider.name}-%Y%m%d.ndjson")})
            self.kill_and_go_on(config, top, random.Random(seed))
            self.assert_every_event_once(top)
            subprocess.run(["rm", "-r", self.folder / "state"], check=True)

    def test_a_full_disk_is_waited_for_and_costs_no_event(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if not small_disk.mount(self, disk, "size=40m"):
            self.skipTest("cannot mount a small tmpfs here")
        ballast = disk / "ballast"
        with ballast.open("wb") as file:
            for _ in range(38):
                file.write(bytes(1 << 20))
        config = self.write({"type": "file", "path": str(disk / "out" / "e.ndjson"),
                             "rotate": {"size": "8MB"}})
        with subprocess.Popen([BINARY, "run", "-c", config], stderr=subprocess.PIPE) as agent:
            told = next((line for line in agent.stderr if b"No space left" in line), None)
            ballast.unlink()
            agent.stderr.read()
            self.assertIsNotNone(told)
            self.assertEqual(agent.wait(TIMEOUT_S), DONE)
        self.assert_every_event_once(disk / "out")

    def test_two_outputs_on_one_path_are_refused(self):
        path = str(self.folder / "e.ndjson")
        config = self.write({"type": "file", "path": path}, {"type": "file", "path": path})
        checked = subprocess.run([BINARY, "check", "-c", config], check=False,
                                 stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.assertIn(b"path", checked.stderr)
        self.assertNotEqual(checked.stderr, b"")


if __name__ == "__main__":
    unittest.main()
