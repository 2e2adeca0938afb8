"""The program with an output to a server of servers.py, for the tests beside this file."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import servers

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 600

DONE, FAILED, USAGE, LOSSES = 0, 1, 2, 3
FULL = "--full" in sys.argv


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


class Agent:
    """A run that is watched while it goes on."""

    def __init__(self, case, config):
        self.case, self.config = case, config
        self.log = case.folder / "run.log"
        self.file = self.log.open("wb")
        self.process = subprocess.Popen(
            [BINARY, "run", "-c", str(config)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self.file)
        case.addCleanup(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.file.close()

    def text(self):
        return self.log.read_text(errors="replace")

    def wait_until(self, holds):
        """Neither server nor files tell when they change: they are looked at."""
        deadline = time.monotonic() + TIMEOUT_S
        while not holds():
            self.case.assertIsNone(self.process.poll(), self.text())
            self.case.assertLess(time.monotonic(), deadline, self.text())
            time.sleep(0.05)

    def wait_for_text(self, text):
        self.wait_until(lambda: text in self.text())

    def end(self, code=DONE):
        self.case.assertEqual(self.process.wait(TIMEOUT_S), code, self.text())
        return self.text()


class ServerCase(Case):
    """One server for all tests, a store for each. `main` sets `dialect` and `kind`."""

    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.server = servers.Server(cls.kind, **cls.settings)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.dataset = f"t{self.id().rsplit('.', 1)[1]}".lower()[:60]
        self.stream = f"logs-{self.dataset}-default"

    def config(self, *traces, others=(), agent=None, **more):
        more.setdefault("data_stream", {"dataset": self.dataset})
        output = self.output(self.server.url, **more)
        output = {key: value for key, value in output.items() if value is not None}
        return self.write(output, *others, traces=traces, **(agent or {}))

    def trace(self, events, name="trace.etl", *options):
        return make_trace(self.folder / name, events, *options)

    def ready(self, *traces, **more):
        config = self.config(*traces, **more)
        self.etwship("setup", "siem", "-c", config)
        return config

    def forget(self):
        """What was read and acknowledged."""
        shutil.rmtree(self.folder / "state", ignore_errors=True)

    def run_agent(self, config, code=DONE):
        return self.etwship("run", "-c", config, code=code)

    def assert_every_event_once(self, events, target=None):
        """By their number, and by their sequence numbers."""
        count = self.server.count(target or self.stream)
        documents = self.server.documents(target or self.stream, ["etw.sequence"])
        numbers = sorted(document["etw"]["sequence"] for document in documents.values())
        if FULL:
            print(f"_count {count}, sum of the sequence numbers {sum(numbers)}: of {events} events "
                  f"{events - len(set(numbers))} lost, {len(numbers) - len(set(numbers))} twice")
        self.assertEqual(count, events)
        self.assertEqual(numbers, list(range(1, events + 1)))

    def skip_the_other_dialect(self):
        if self.dialect != "opensearch" and not FULL:
            self.skipTest("one server does for what has no dialect; --full takes both")


def main(*cases):
    """Run their tests, or those named in the command line, against the server named there."""
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    chosen = [argument for argument in arguments if argument.startswith("test_")]
    name = next(argument for argument in arguments if argument not in chosen)
    try:
        kind = {"opensearch": servers.OpenSearch, "elasticsearch": servers.Elasticsearch}[name]()
    except servers.Missing as error:
        print(f"skipped: {error}")
        sys.exit(77)
    suite = unittest.TestSuite()
    for case in cases:
        case.kind, case.dialect = kind, name
        suite.addTests(test for test in unittest.defaultTestLoader.loadTestsFromTestCase(case)
                       if not chosen or test.id().rsplit(".", 1)[1] in chosen)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        good = unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()
    finally:
        kind.close()
    sys.exit(0 if good else 1)
