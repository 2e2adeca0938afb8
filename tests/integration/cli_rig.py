"""What tests of the command line share: traces made by etlgen (ETWSHIP_ETLGEN), a folder for each
test, and calls of the program (ETWSHIP_BIN).
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 120

DONE, FAILED, USAGE, DAMAGED = 0, 1, 2, 3


class Done:
    def __init__(self, completed):
        self.code = completed.returncode
        self.out = completed.stdout.decode("utf-8")
        self.err = completed.stderr.decode("utf-8")

    def events(self):
        return [json.loads(line) for line in self.out.splitlines()]


class Cli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared_folder = tempfile.TemporaryDirectory()
        cls.trace = cls.make_trace("one.etl", 500)
        # Another trace, not the beginning of the first: that would be taken for a copy of it.
        cls.other = cls.make_trace("two.etl", 300, "--seed", "2")

    @classmethod
    def tearDownClass(cls):
        cls.shared_folder.cleanup()

    @classmethod
    def make_trace(cls, name, events, *options):
        path = Path(cls.shared_folder.name) / name
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), *options,
                        "-o", str(path)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        return path

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def etwship(self, *arguments, given=b"", **variables):
        """Run the program; ${given} is its standard input."""
        environment = os.environ | {"XDG_STATE_HOME": str(self.folder), "HOME": str(self.folder)}
        return Done(subprocess.run(
            [BINARY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            input=given, env=environment | variables, cwd=self.folder,
            timeout=TIMEOUT_S, check=False))

    def expect(self, code, *arguments, **variables):
        done = self.etwship(*arguments, **variables)
        self.assertEqual(done.code, code, f"{arguments}: {done.err}")
        return done

    def assert_error(self, done, *words, but=()):
        """One line per error, each with the program's name. Other lines may start with `but`."""
        errors = [line for line in done.err.splitlines() if not line.startswith(tuple(but))]
        self.assertTrue(errors, "no error on stderr")
        for line in errors:
            self.assertTrue(line.startswith("etwship: "), line)
        for word in words:
            self.assertIn(str(word), "\n".join(errors))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path
