"""Nothing that an event passes through calls the printf family: a program that has seen twice as many
events has called it as often."""

import collections
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
COUNT = os.environ["ETWSHIP_PRINTF_COUNT"]
TIMEOUT_S = 300
EVENTS = 3000
# Log lines, blocks and files do come with more events. A call for each event of even the rarest kind, one of
# 17, would be ten times as many.
ALLOWED = EVENTS // 17 // 10


class Printf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        for share in (1, 2):
            subprocess.run([ETLGEN, "--events", str(EVENTS * share), "--mix", "all", "--descriptors", "100000",
                            "--tmf", str(cls.folder / "mix.tmf"), "-o", str(cls.trace(share))],
                           check=True, capture_output=True, timeout=TIMEOUT_S)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def trace(cls, share):
        return cls.folder / f"{share}.etl"

    def calls(self, *arguments):
        counts = self.folder / "counts"
        env = os.environ | {"LD_PRELOAD": COUNT, "PRINTF_COUNT_FILE": str(counts)}
        done = subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=env,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        calls = collections.Counter()
        for line in counts.read_text(errors="replace").splitlines():
            match = re.match(r"(\d+) (.*)", line)
            calls[match[2] if match else "…"] += int(match[1]) if match else 0
        self.assertTrue(calls)
        return calls

    def assert_none_per_event(self, arguments_of):
        few, many = (self.calls(*arguments_of(share)) for share in (1, 2))
        more = {name: many[name] - few[name] for name in many if many[name] > few[name]}
        self.assertLessEqual(sum(more.values()), ALLOWED, more)

    def test_native(self):
        self.assert_none_per_event(
            lambda share: ["dump", "--schema", str(self.folder / "mix.tmf"), str(self.trace(share))])

    def test_ecs_and_otel(self):
        for shape in ("ecs", "otel"):
            self.assert_none_per_event(
                lambda share, shape=shape: ["dump", "-f", shape, "--schema", str(self.folder / "mix.tmf"),
                                            str(self.trace(share))])

    def test_run_into_files_by_fields(self):
        def run(share):
            out = self.folder / f"out{share}"
            config = {"agent": {"data_dir": str(self.folder / f"data{share}")},
                      "sessions": [{"name": "trace", "type": "file", "paths": [str(self.trace(share))]}],
                      "outputs": [{"name": "files", "type": "file",
                                   "path": str(out / "{provider.kind}-%Y-%m-%d-%H%M.ndjson")}]}
            path = self.folder / f"{share}.yaml"
            path.write_text(json.dumps(config))
            return ["run", "--config", str(path)]
        self.assert_none_per_event(run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
