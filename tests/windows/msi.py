"""The package for Windows Installer under Wine: installed, run, upgraded, removed.

What Wine's msiexec does otherwise than Windows, and how that is met here:

- It removes the older version of an upgrade by an uninstallation of its own, without UPGRADINGPRODUCTCODE
  and outside of the transaction: a failed upgrade does not bring that back. So what Windows calls in which
  order is called here by hand, with the command lines that stand in the package.
- It rolls back in the order in which things were done, not backwards: the program is gone before its own
  action, which is called by hand here as well.
- Not there at all: access lists as Windows enforces them, accounts of services, recovery actions.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import wine

SOURCES = Path(__file__).resolve().parents[2]
PACKAGING = SOURCES / "packaging" / "windows"
sys.path.insert(0, str(SOURCES / "tests" / "support"))
from scripted_http import Bulk, Server  # noqa: E402
from waiting import wait_until  # noqa: E402

ETLGEN = os.environ["ETWSHIP_ETLGEN"]
EVENTS = 2000
UPGRADE = "{00000000-0000-0000-0000-000000000001}"


def build(folder, *arguments, **environment):
    """The path of a package made with msi/build.sh."""
    done = subprocess.run([PACKAGING / "msi" / "build.sh", "-o", folder / "etwship.msi", *arguments],
                          stdout=subprocess.PIPE, check=False, env={**os.environ, **environment})
    if done.returncode == wine.SKIPPED:
        raise unittest.SkipTest("no wixl or msitools (packaging/deps.sh windows)")
    assert done.returncode == 0, done
    return Path(done.stdout.decode().strip())


def table(package, name):
    """Rows of a table of a package, by their first column."""
    text = subprocess.run(["msiinfo", "export", package, name], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    rows = [line.split("\t") for line in text.replace("\r", "").splitlines()[3:]]
    return {row[0]: row[1:] for row in rows}


def set_up_folder(prefix):
    folder = prefix.folder / "packages"
    folder.mkdir()
    return folder


@unittest.skipUnless(wine.WINE, "no Wine (packaging/deps.sh windows)")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = wine.Prefix(events=True)
        cls.addClassCleanup(cls.prefix.close)
        # Again: on a busy machine it was seen to stay the Windows 7 that Wine begins with.
        cls.prefix.run("winecfg", "-v", "win10")
        cls.package = build(set_up_folder(cls.prefix))
        cls.drive = cls.prefix.folder / "prefix" / "drive_c"
        cls.data = cls.drive / "ProgramData" / "etwship"
        cls.config = cls.data / "config" / "etwship.yaml"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o",
                        str(cls.drive / "one.etl")], check=True, stdout=subprocess.DEVNULL)

    def setUp(self):
        self.program = self.drive / "Program Files" / "etwship" / "etwship.exe"

    def tearDown(self):
        self.msiexec("/x", self.package, "REMOVEDATA=1")
        shutil.rmtree(self.data, ignore_errors=True)

    # ---- what is done -------------------------------------------------------------------------

    def msiexec(self, how, package, *properties):
        self.done = self.prefix.run("msiexec", how, self.windows_path(package), "/qn", *properties)
        return self.done.returncode

    def install(self, *properties, package=None):
        self.assertEqual(self.msiexec("/i", package or self.package, *properties), 0,
                         f"{self.done}\n{self.said()}")

    def said(self):
        return self.prefix.said.read_text(errors="replace")[-3000:]

    def etwship(self, *arguments):
        return self.prefix.run(self.program, *arguments)

    def status(self):
        done = self.etwship("service", "status")
        self.assertEqual(done.returncode, 0, done)
        lines = done.stdout.decode().splitlines()
        return {line.partition(" ")[0]: line.partition(" ")[2].strip() for line in lines}

    def assert_runs(self, runs=True):
        self.assertRegex(self.status()["state"], "^running" if runs else "^stopped")

    def assert_nothing_is_noted(self):
        """The note of undo is valid for one transaction only."""
        done = self.prefix.run("reg", "query", r"HKLM\SOFTWARE\etwship", "/v", "SetupNote")
        self.assertNotEqual(done.returncode, 0, done)
        done = self.prefix.run("reg", "query", r"HKLM\SOFTWARE\etwship", "/v", "InstallDir")
        self.assertEqual(done.returncode, 0, done)

    def write_config(self, url, path=None):
        path = path or self.drive / "my f\u00fcrst configuration.yaml"
        path.write_text(json.dumps({
            "version": 1,
            "sessions": [{"name": "t", "type": "file", "paths": [r"C:\one.etl"], "follow": True}],
            "outputs": [{"name": "o", "type": "elasticsearch", "hosts": [url]}]}))
        path.chmod(0o600)
        return "C:\\" + path.name

    def install_running(self, server, *properties):
        self.install(f"CONFIGFILE={self.write_config(server.url)}", *properties)
        wait_until(lambda: len(server.app.documents()) >= EVENTS, lambda: self.why_nothing_comes(server))

    def why_nothing_comes(self, server):
        log = self.data / "logs" / "etwship.log"
        return (f"{len(server.app.documents())} of {EVENTS} events have come in {len(server.seen)} requests; "
                f"{self.status()}\n{self.config.read_text()}\n"
                f"{log.read_text(errors='replace') if log.exists() else 'no log'}\n{self.said()}")

    # ---- the life of an installation ----------------------------------------------------------

    def test_a_silent_installation_ships_from_a_folder_with_blanks_and_letters(self):
        self.program = self.drive / "Pr\u00f6gram Files" / "et wship" / "etwship.exe"
        with Server(Bulk()) as server:
            self.install_running(server, "INSTALLDIR=C:\\Pr\u00f6gram Files\\et wship")
            self.assert_nothing_is_noted()
            found = self.status()
            self.assertRegex(found["state"], r"^running, process \d+$")
            self.assertRegex(found["start"], "^automatic")
            self.assertEqual(found["account"], "LocalSystem")
            self.assertEqual(
                found["command"], r'"C:\Pr' "\u00f6" r'gram Files\et wship\etwship.exe" run --service '
                r'-c "C:\ProgramData\etwship\config\etwship.yaml"')
            self.assertEqual({path.name for path in self.program.parent.iterdir()}, {
                "etwship.exe", "etwship-messages.dll", "LICENSE.txt", "NOTICES.txt", "TRY.md", "CHECKLIST.md",
                "example.yaml", "etwship.spdx.json"})
            self.assertEqual({path.name for path in self.data.iterdir()} &
                             {"config", "spool", "logs", "schema"},
                             {"config", "spool", "logs", "schema"})
            # Without REMOVEDATA all stays but the program and the service.
            self.assertEqual(self.msiexec("/x", self.package), 0)
            self.assertFalse(self.program.exists())
            log = (self.data / "logs" / "etwship.log").read_text()
            self.assertIn("ended: session t:", log)
            self.assertTrue(self.config.exists())
            self.assertEqual(sum(map(len, server.app.stores.values())), EVENTS)

    def test_properties_become_the_first_configuration_and_an_edited_one_is_never_written_over(self):
        key = self.data.parent / "it's the key.txt"
        key.write_text("id:secret")
        key.chmod(0o600)
        self.install("OUTPUT_URL=https://127.0.0.1:9/it's", "STARTSERVICE=0",
                     "API_KEY_FILE=C:\\ProgramData\\it's the key.txt")
        text = self.config.read_text()
        self.assertIn("hosts: ['https://127.0.0.1:9/it''s']", text)
        self.assertIn(r"api_key: 'file:C:\ProgramData\it''s the key.txt'", text)
        self.assertNotIn("secret", text + self.said())
        self.assertEqual(self.etwship("check", "-c", self.windows_path(self.config)).returncode, 0)
        self.assert_runs(False)
        edited = text + "# mine\n"
        self.config.write_text(edited)
        self.assertEqual(self.msiexec("/x", self.package), 0)
        self.install("OUTPUT_URL=http://127.0.0.1:10", "STARTSERVICE=0")
        self.assertEqual(self.config.read_text(), edited)
        self.assertEqual(self.msiexec("/x", self.package, "REMOVEDATA=1"), 0)
        self.assertFalse(self.data.exists())

    @staticmethod
    def windows_path(path):
        return "Z:" + str(path).replace("/", "\\")

    def test_without_properties_it_reads_and_sends_nothing(self):
        self.install()
        self.assertIn("enabled: false", self.config.read_text())
        # It waits for another one, as monitors look for services that do not run.
        wait_until(lambda: "no session is enabled" in self.said())
        self.assert_runs()

    # ---- upgrades -----------------------------------------------------------------------------

    def test_an_upgrade_stops_a_running_service_in_good_order_and_starts_it_again(self):
        folder = self.prefix.folder / "next"
        folder.mkdir()
        following = build(folder, "-v", "99.0.0")
        try:
            with Server(Bulk()) as server:
                self.install_running(server)
                before = self.config.read_text()
                self.install("STARTSERVICE=0", package=following)  # it runs, so it will
                self.assert_runs()
                self.assert_nothing_is_noted()
                log = (self.data / "logs" / "etwship.log").read_text()
                self.assertIn("ended: session t:", log)
                self.assertEqual(self.config.read_text(), before)
                self.assertEqual(self.etwship("service", "stop").returncode, 0)
                self.assertNotEqual(self.msiexec("/i", self.package), 0)  # older than what is there
                self.assert_runs(False)
        finally:
            self.msiexec("/x", following)

    def actions(self):
        """The command lines of the package, in the order of Windows' upgrade."""
        found = {name: row[2] for name, row in table(self.package, "CustomAction").items()}
        for name, value in [("UPGRADINGPRODUCTCODE", UPGRADE), ("WIX_UPGRADE_DETECTED", UPGRADE)]:
            found = {name_: line.replace(f"[{name}]", value) for name_, line in found.items()}
        return {name: [word or quoted for quoted, word in
                       re.findall(r'"([^"]*)"|(\S+)', re.sub(r"\[[A-Z_]+\]", "", line))]
                for name, line in found.items()}

    def test_an_upgrade_that_fails_is_rolled_back_step_by_step_as_windows_does_it(self):
        broken = self.prefix.folder / "broken.exe"
        source = self.prefix.folder / "broken.c"
        source.write_text("int main(void) { return 1; }\n")
        subprocess.run([wine.TOOLS + "gcc", "-o", broken, source], check=True)
        call = self.actions()
        with Server(Bulk()) as server:
            self.install_running(server)
            before = self.status()
            config = self.config.read_text()
            kept = self.prefix.folder / "kept.exe"
            shutil.copy(self.program, kept)
            for following, set_up in [(broken, 1), (wine.EXE, 0)]:
                with self.subTest(str(following)):
                    self.assertEqual(self.etwship(*call["Retire"]).returncode, 0)
                    self.assert_runs(False)
                    shutil.copy(following, self.program)
                    self.assertEqual(self.etwship(*call["Setup"]).returncode, set_up)
                    # Now something fails: backwards, from here.
                    self.assertEqual(self.etwship(*call["UndoSetup"]).returncode, set_up)
                    shutil.copy(kept, self.program)
                    self.assertEqual(self.etwship(*call["UndoRetire"]).returncode, 0)
                    self.assert_runs()
                    after = self.status()
                    self.assertEqual({**after, "state": ""}, {**before, "state": ""})
                    self.assertEqual(self.config.read_text(), config)

    def test_a_first_installation_that_fails_leaves_no_service_and_no_configuration(self):
        wrong = self.drive / "wrong.yaml"
        wrong.write_text("version: 1\nsesions: []\n")
        wrong.chmod(0o600)
        self.program = self.drive / "first" / "etwship.exe"
        self.program.parent.mkdir()
        shutil.copy(wine.EXE, self.program)
        done = self.etwship("service", "setup", "--config-file", r"C:\wrong.yaml", "--start", "1")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(b"unknown key 'sesions'", done.stderr)
        self.assertTrue(self.config.exists())
        self.assertEqual(self.etwship("service", "undo", "--upgrade", "").returncode, 0)
        self.assertFalse(self.config.exists())
        self.assertIn(b"not installed", self.etwship("service", "status").stderr)
        self.assertEqual(self.etwship("service", "undo").returncode, 0)  # again: nothing is left to do
        # What a user has changed in between stays.
        done = self.etwship("service", "setup", "--start", "0")
        self.assertEqual(done.returncode, 0, done)
        edited = self.config.read_text() + "# mine\n"
        self.config.write_text(edited)
        done = self.etwship("service", "undo")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(b"was changed after the installation", done.stderr)
        self.assertEqual(self.config.read_text(), edited)

    def test_a_repair_leaves_the_service_and_its_configuration_alone(self):
        with Server(Bulk()) as server:
            self.install_running(server)
            before = self.status()
            (self.program.parent / "TRY.md").unlink()
            self.install("REINSTALL=ALL", "REINSTALLMODE=amus")
            self.assertTrue((self.program.parent / "TRY.md").exists())
            self.assertEqual(self.status(), before)  # the same process

    def test_the_service_of_another_program_stays_and_so_do_the_data(self):
        self.install("STARTSERVICE=0")
        other = self.drive / "other" / "etwship.exe"
        other.parent.mkdir()
        shutil.copy(wine.EXE, other)
        self.assertEqual(self.etwship("service", "uninstall").returncode, 0)
        installed = self.program
        self.program = other
        self.assertEqual(self.etwship("service", "install").returncode, 0)
        before = self.status()
        self.assertEqual(self.msiexec("/x", self.package, "REMOVEDATA=1"), 0)
        self.assertFalse(installed.exists())
        self.assertEqual(self.status(), before)
        self.assertTrue(self.config.exists())
        self.assertEqual(self.etwship("service", "undo").returncode, 0)  # of nothing
        self.assertEqual(self.status(), before)
        self.assertEqual(self.etwship("service", "uninstall").returncode, 0)


if __name__ == "__main__":
    wine.need(wine.EXE)
    wine.main()
