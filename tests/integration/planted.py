"""What lies where the agent writes and is not its own: planted links and files, names that look like those
of rotated files, names by the thousand, certificates that are not there.

Works on traces made by etlgen (ETWSHIP_ETLGEN). Each test is a method whose name is its claim.
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
EVENTS = 3000

DONE, FAILED, USAGE = 0, 1, 2


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared_folder = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.shared_folder.name) / "t.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o", cls.trace],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.shared_folder.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out"
        self.out.mkdir()

    def write(self, *outputs, **settings):
        config = {"agent": {"data_dir": str(self.folder / "state"), "shutdown": "1s"},
                  "spool": {"min_free_disk": "1MB"},
                  "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
                  "outputs": list(outputs), **settings}
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(config))
        return path

    def file(self, path, **keys):
        return {"name": "o", "type": "file", "path": str(path), "retry": {"min": "50ms", "max": "50ms"}, **keys}

    def etwship(self, *args):
        return subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S)

    def names(self):
        return sorted(str(p.relative_to(self.out)) for p in self.out.rglob("*") if p.is_file())

    def test_a_file_that_a_link_leads_to_is_not_changed_and_its_reason_is_told(self):
        victim = self.folder / "victim"
        victim.write_text("precious\n")
        path = self.out / "ev.ndjson"
        for plant in (path.symlink_to, path.hardlink_to):
            plant(victim)
            config = self.write(self.file(path))
            self.assertIn("link", self.etwship("test-output", "o", "-c", config).stdout)
            with subprocess.Popen([BINARY, "run", "-c", config], stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, text=True) as agent:
                told = next((line for line in agent.stderr if "link" in line and "output o" in line), None)
                agent.terminate()
                agent.stderr.read()
                agent.wait(TIMEOUT_S)
            self.assertIsNotNone(told)
            self.assertEqual(victim.read_text(), "precious\n")
            self.etwship("dump", "-o", path, self.trace)
            self.assertEqual(victim.read_text(), "precious\n")
            path.unlink()
            # What waited goes out as soon as the link is gone.
            self.assertEqual(self.etwship("run", "-c", config).returncode, DONE)
            self.assertEqual(len(path.read_text().splitlines()), EVENTS)
            subprocess.run(["rm", "-r", self.folder / "state", path], check=True)

    def test_a_log_that_is_a_link_is_not_written_to(self):
        victim = self.folder / "victim"
        victim.write_text("precious\n")
        (self.out / "agent.log").symlink_to(victim)
        config = self.write(self.file(self.out / "e"))
        done = self.etwship("run", "-c", config, "--set", f"agent.log.file={self.out / 'agent.log'}")
        self.assertEqual(victim.read_text(), "precious\n")
        self.assertIn("is a link", done.stderr)

    def test_what_the_system_opens_is_written_to_by_its_names(self):
        for path in ("/dev/stdout", "/proc/self/fd/1", "/dev/null"):
            if not Path(path).exists():
                continue
            done = self.etwship("run", "-c", self.write(self.file(path)))
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assertEqual(len([line for line in done.stdout.splitlines() if line.startswith("{")]),
                             0 if path == "/dev/null" else EVENTS)
            subprocess.run(["rm", "-r", self.folder / "state"], check=True)

    def test_planted_names_of_rotated_files_stay_whose_they_are(self):
        path = self.out / "ev.ndjson"
        planted = [f"ev.ndjson.{n}" for n in ("1", "3", "999999999999", "999999999999999999", "7.gz", "4.gz.tmp")]
        for name in planted:
            (self.out / name).write_text("theirs\n")
        victim = self.folder / "victim"
        victim.write_text("precious\n")
        (self.out / "ev.ndjson.8.gz.tmp").symlink_to(victim)
        config = self.write(self.file(path, rotate={"size": "100KB", "keep": 3, "gzip": True}))
        for _ in range(2):
            done = self.etwship("run", "-c", config)
            self.assertEqual(done.returncode, DONE, done.stderr)
        for name in planted:
            self.assertEqual((self.out / name).read_text(), "theirs\n", name)
        self.assertEqual(victim.read_text(), "precious\n")
        ours = [name for name in self.names() if name not in planted and name != "ev.ndjson"
                and not (self.out / name).is_symlink()]
        self.assertEqual(len(ours), 3, ours)

    def test_only_our_files_are_kept_or_removed_over_restarts(self):
        config = self.write(self.file(self.out / "{provider.name}.e", rotate={"size": "20KB", "keep": 1}))
        stranger = self.out / "Etwship-Sample-Dns.e.1"
        stranger.write_text("theirs\n")
        self.assertEqual(self.etwship("run", "-c", config).returncode, DONE)
        self.assertEqual(stranger.read_text(), "theirs\n")
        rotated = [name for name in self.names() if name.rsplit(".", 1)[1].isdigit()]
        self.assertEqual(len(rotated), len({name.rsplit(".", 1)[0] for name in rotated if name != stranger.name}) + 1)
        # Nothing but events lies there.
        self.assertEqual([name for name in self.names() if name.startswith(".")], [])

    def test_a_template_whose_files_could_take_each_others_names_is_refused(self):
        for path, rotate in (("co/{provider.name}", {"size": "1MB", "keep": 1}),
                             ("{provider.name}{event.id}", {"age": "1d"}),
                             ("{provider.name}-%Y-{event.id}.e", {"keep": 2})):
            config = self.write(self.file(self.out / path, rotate=rotate))
            for command in ("check", "run"):
                done = self.etwship(command, "-c", config)
                self.assertEqual(done.returncode, USAGE, path)
                self.assertIn("path: ", done.stderr)
        for one, other in (("a", "a.5"), ("{provider.name}.e", "x.e"), ("%Y", "{event.id}")):
            config = self.write(self.file(self.out / one), {**self.file(self.out / other), "name": "p"})
            self.assertEqual(self.etwship("check", "-c", config).returncode, USAGE, (one, other))

    def test_names_by_the_thousand_make_no_more_files_than_allowed(self):
        config = self.write(self.file(self.out / "{etw.sequence}.e", max_files=25))
        done = self.etwship("run", "-c", config)
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual(len(self.names()), 26)
        self.assertEqual(sum(len((self.out / n).read_text().splitlines()) for n in self.names()), EVENTS)
        self.assertIn("max_files: there are 25 files", done.stderr)

    def test_folders_that_others_may_write_are_told(self):
        self.out.chmod(0o1777)
        config = self.write(self.file(self.out / "ev.ndjson"))
        for command in (("check",), ("run",), ("test-output", "o")):
            done = self.etwship(*command, "-c", config)
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assertIn(f"{self.out}: everybody may put files there", done.stderr)
        self.out.chmod(0o755)
        self.assertEqual(self.etwship("check", "-c", config).stderr, "")

    def test_files_of_tls_that_are_not_there_are_errors(self):
        for key in ("ca", "cert"):
            tls = {"ca": str(self.folder / "none.pem")} if key == "ca" else {
                "cert": str(self.folder / "none.pem"), "key": str(self.trace)}
            config = self.write({"name": "h", "type": "http", "url": "https://127.0.0.1:1/", "tls": tls})
            done = self.etwship("check", "-c", config)
            self.assertEqual(done.returncode, USAGE)
            self.assertIn(f"output h: {key}: ", done.stderr)
            self.assertIn("none.pem", done.stderr)

    def test_the_query_of_an_address_is_shown_nowhere(self):
        config = self.write({"name": "h", "type": "http", "url": "http://127.0.0.1:1/hook?key=5ec4e7",
                             "retry": {"min": "10ms", "max": "10ms", "max_age": "1s"}})
        for command in (("check", "-v"), ("check", "--json", "-v"), ("run",), ("test-output", "h")):
            done = self.etwship(*command, "-c", config)
            self.assertNotIn("5ec4e7", done.stdout + done.stderr, command)
            self.assertIn("127.0.0.1", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
