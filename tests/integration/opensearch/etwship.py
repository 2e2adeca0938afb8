"""The program with an output to a server of servers.py, for the tests beside this file."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 600

DONE, FAILED, USAGE, LOSSES = 0, 1, 2, 3


def make_trace(path, events, *options):
    subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), *options, "-o",
                    str(path)], check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
    return path


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etwship-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, *outputs, traces=(), **agent):
        """A configuration. JSON is YAML."""
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps({
            "version": 1,
            # Without events of its own, so that every document is an event of a trace.
            "agent": {"data_dir": str(self.folder / "state"), "log": {"stats": "0s"}} | agent,
            "spool": {"mode": "memory"},
            "sessions": [{"name": f"s{i}", "type": "file", "paths": [str(trace)]}
                         for i, trace in enumerate(traces or ["none.etl"])],
            "outputs": list(outputs)}))
        return path

    def output(self, url, **more):
        return {"name": "siem", "type": "elasticsearch", "hosts": [url]} | more

    def etwship(self, *arguments, code=DONE):
        """What it prints on both streams, held to its exit code."""
        done = subprocess.run([BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
                              check=False)
        text = done.stdout.decode()
        self.assertEqual(done.returncode, code, text)
        return text
