"""etwship.exe as a service, under Wine, whose services.exe starts, stops and removes it.

What Wine does not have, and nothing here shows: delayed starts, recovery actions (that a service was
killed, Wine does not even notice), service SIDs, required privileges, virtual accounts, shutdowns
that services hear of, an Event Log that keeps what it is given.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.scripted_http import Bulk, Server  # noqa: E402
from support.waiting import wait_until  # noqa: E402

SOURCES = Path(__file__).resolve().parents[2]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
EVENTS = 3000


@unittest.skipUnless(wine.WINE, "no Wine (packaging/deps.sh windows)")
class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = wine.Prefix(events=True)
        # A service is refused where others may write, as they may in /tmp: on C: they may not.
        cls.drive = cls.prefix.folder / "prefix" / "drive_c"
        cls.exe = cls.drive / "etwship.exe"
        shutil.copy(wine.EXE, cls.exe)
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o",
                        str(cls.drive / "one.etl")], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.prefix.close()

    def setUp(self):
        # A blank, and letters of no code page: the command line of a service is written once and
        # taken apart again.
        self.folder = self.drive / ("f\u00fcr " + self.id().rpartition(".")[2])
        self.folder.mkdir()
        self.config = self.folder / "c.yaml"

    def tearDown(self):
        self.etwship("uninstall")

    def etwship(self, *arguments):
        return self.prefix.run(self.exe, "service", *arguments, cwd=self.folder)

    def do(self, *arguments, code=0):
        done = self.etwship(*arguments)
        self.assertEqual(done.returncode, code, f"{done}\n{self.said()}")
        return (done.stderr if code else done.stdout).decode()

    def status(self):
        lines = self.do("status").splitlines()
        return {line.partition(" ")[0]: line.partition(" ")[2].strip() for line in lines}

    def wait_for_state(self, state):
        wait_until(lambda: self.status()["state"].startswith(state))

    def configure(self, output, follow=True, **agent):
        self.config.write_text(json.dumps({
            "version": 1, "agent": {"data_dir": "data", **agent},
            "sessions": [{"name": "t", "type": "file", "paths": ["../one.etl"], "follow": follow}],
            "outputs": [{"name": "o", **output}]}))

    def configure_file(self, **more):
        self.configure({"type": "file", "path": "out.ndjson"}, **more)

    def shipped(self):
        out = self.folder / "out.ndjson"
        return out.read_bytes().count(b"\n") if out.exists() else 0

    def said(self):
        """The entries of the Event Log, as Wine shows them."""
        return self.prefix.said.read_text(errors="replace")

    def wait_until_said(self, text, before):
        wait_until(lambda: text in self.said()[len(before):])

    # ---- the life of a service ----------------------------------------------------------------

    def test_it_is_installed_started_ships_is_stopped_and_removed(self):
        self.configure_file(log={"file": "agent.log"})
        self.do("install", "-c", "c.yaml")
        found = self.status()
        self.assertTrue(found["state"].startswith("stopped"))
        self.assertTrue(found["start"].startswith("automatic"))
        self.assertEqual(found["account"], "LocalSystem")
        self.assertRegex(found["command"], r'^"[A-Z]:\\[^"]+\.exe" run --service -c "[A-Z]:\\[^"]+"$')
        self.do("start")
        self.assertRegex(self.status()["state"], r"^running, process \d+$")
        self.assertIn("already", self.do("start"))
        wait_until(lambda: self.shipped() == EVENTS)
        self.do("stop")
        # Its process is gone, and with it what it had to write.
        self.assertIn("ended: session t:", (self.folder / "agent.log").read_text())
        self.assertEqual(self.status()["state"], "stopped")
        self.do("stop")
        self.do("uninstall")
        self.assertIn("not installed", self.do("status", code=1))
        self.assertTrue(self.config.exists() and (self.folder / "data").is_dir())
        self.assertEqual(self.shipped(), EVENTS)

    def test_it_ships_over_http(self):
        store = Bulk()
        with Server(store) as server:
            self.configure({"type": "elasticsearch", "hosts": [server.url]})
            self.do("install", "-c", "c.yaml")
            self.do("start")
            wait_until(lambda: len(store.documents()) == EVENTS)
            self.do("stop")
        self.assertEqual(sum(map(len, store.stores.values())), EVENTS)

    def test_uninstalling_a_running_one_stops_it_in_good_order(self):
        self.configure_file(log={"file": "agent.log"})
        self.do("install", "-c", "c.yaml")
        self.do("start")
        self.do("uninstall")
        self.assertIn("ended: session t:", (self.folder / "agent.log").read_text())
        self.do("install", "-c", "c.yaml")  # nothing of it is left

    def test_a_second_installation_is_reported_and_changes_nothing(self):
        self.configure_file()
        self.do("install", "-c", "c.yaml")
        before = self.status()
        self.assertIn("installed already", self.do("install", "-c", "other.yaml", code=1))
        self.assertEqual(self.status(), before)

    def test_without_one_there_is_nothing_to_start_stop_or_remove(self):
        for verb in ["start", "stop", "uninstall", "status"]:
            self.assertIn("etwship service install", self.do(verb, code=1))

    def test_one_whose_files_are_all_delivered_ends_by_itself(self):
        self.configure_file(follow=False)
        self.do("install", "-c", "c.yaml")
        self.do("start")
        self.wait_for_state("stopped")
        self.assertEqual(self.status()["state"], "stopped")
        self.assertEqual(self.shipped(), EVENTS)

    # ---- another configuration -----------------------------------------------------------------

    def test_a_reload_takes_the_configuration_that_is_there_now(self):
        before = self.said()
        self.configure_file(log={"file": "agent.log"})
        self.do("install", "-c", "c.yaml")
        self.assertIn("is not running", self.do("reload", code=1))
        self.do("start")
        wait_until(lambda: self.shipped() == EVENTS)
        state = self.status()["state"]

        self.do("reload")
        self.wait_until_said("reload: nothing has changed", before)

        self.configure({"type": "file", "path": "second.ndjson"}, log={"file": "agent.log"})
        second = self.folder / "second.ndjson"
        self.do("reload")
        self.wait_until_said("reload: the new configuration runs", before)
        shutil.copy(self.drive / "one.etl", self.folder / "again.etl")
        config = json.loads(self.config.read_text())
        config["sessions"][0]["paths"].append("again.etl")
        config["sessions"].append({"name": "u", "type": "file", "paths": ["again.etl"], "follow": True})
        self.config.write_text(json.dumps(config))
        self.do("reload")
        wait_until(lambda: second.exists() and second.read_bytes().count(b"\n") >= EVENTS)

        # The process and its service are the same all the time.
        self.assertEqual(self.status()["state"], state)
        self.do("stop")
        self.assertEqual(self.shipped(), EVENTS)

    def test_a_reload_of_a_wrong_configuration_is_refused(self):
        self.configure_file()
        self.do("install", "-c", "c.yaml")
        self.do("start")
        wait_until(lambda: self.shipped() == EVENTS)
        self.config.write_text("version: 1\nsesions: []\n")
        self.assertRegex(self.do("reload", code=2), r"c\.yaml:2:1: error: unknown key 'sesions'")
        self.assertTrue(self.status()["state"].startswith("running"))
        self.do("stop")

    # ---- policy ------------------------------------------------------------------------------

    def test_the_policy_of_the_machine_goes_before_command_line_and_file(self):
        key = r"HKLM\SOFTWARE\Policies\etwship"
        self.addCleanup(self.prefix.run, "reg", "delete", key, "/f")
        store = Bulk()
        with Server(store) as server:
            self.configure({"type": "elasticsearch", "hosts": ["http://127.0.0.1:1"]})
            self.config.rename(self.folder / "demanded.yaml")
            demanded = "C:\\" + self.folder.name + r"\demanded.yaml"
            for name, value in [("OutputUrl", server.url), ("ConfigFile", demanded)]:
                done = self.prefix.run("reg", "add", key, "/v", name, "/d", value, "/f")
                self.assertEqual(done.returncode, 0, done)
            done = self.prefix.run(self.exe, "check", "--json")
            self.assertEqual(done.returncode, 0, done)
            found = json.loads(done.stdout)
            self.assertEqual(found["policy"], {"ConfigFile": demanded, "OutputUrl": server.url})
            self.assertEqual(found["file"], demanded)
            self.assertEqual(found["config"]["outputs"][0]["hosts"], [server.url])
            self.do("install", "-c", "another.yaml")
            self.do("start")
            wait_until(lambda: len(store.documents()) == EVENTS)
            self.do("stop")
        self.prefix.run("reg", "add", key, "/v", "OutputUrl", "/d", "siem", "/f")
        self.assertIn("policy OutputUrl", self.do("start", code=2))

    # ---- trouble ------------------------------------------------------------------------------

    def test_a_mistake_in_the_configuration_is_named_at_the_start_and_in_the_event_log(self):
        before = self.said()
        self.config.write_text("version: 1\nsesions: []\n")
        self.do("install", "-c", "c.yaml")
        said = self.do("start", code=2)
        self.assertRegex(said, r"c\.yaml:2:1: error: unknown key 'sesions'")
        self.assertEqual(self.status()["state"], "stopped, exit code 2")
        self.assertRegex(self.said()[len(before):], r"(?s)c\.yaml.*exit code 2")

    def test_one_that_others_could_use_is_refused_with_the_command_that_mends_it(self):
        before = self.said()
        self.configure_file(follow=False)
        self.do("install", "-c", "c.yaml")
        self.config.chmod(0o666)
        self.assertIn("c.yaml: Everyone", self.do("start", code=2))
        self.assertRegex(self.said()[len(before):],
                         r'c\.yaml: Everyone \(S-1-1-0\) may write it\. to correct it: icacls .*C:')
        self.assertEqual(self.shipped(), 0)
        self.config.chmod(0o600)
        self.do("start")
        wait_until(lambda: self.shipped() == EVENTS)

    def test_one_that_others_could_use_is_not_installed(self):
        self.configure_file(follow=False)
        self.config.chmod(0o666)
        self.assertIn("not installed, as others could", self.do("install", "-c", "c.yaml", code=2))
        self.config.chmod(0o600)
        others = self.folder / "others"
        others.mkdir()
        others.chmod(0o777)
        program = shutil.copy(wine.EXE, others / "etwship.exe")
        done = self.prefix.run(program, "service", "install", "-c", "c.yaml", cwd=self.folder)
        self.assertEqual(done.returncode, 2, done)
        self.assertRegex(done.stderr.decode(), r"not installed.*others\S*: Everyone")
        self.assertIn("not installed", self.do("status", code=1))

    def test_one_that_launches_a_program_is_refused_unless_that_is_meant(self):
        before = self.said()
        self.config.write_text(json.dumps({
            "sessions": [{"name": "h", "type": "heap", "launch": "C:\\a.exe"}],
            "outputs": [{"type": "file", "path": "out.ndjson"}]}))
        self.do("install", "-c", "c.yaml")
        self.assertIn("write in_service: true", self.do("start", code=2))
        self.assertIn("write in_service: true", self.said()[len(before):])

    def test_without_a_configuration_it_runs_and_waits_for_one(self):
        before = self.said()
        self.do("install", "-c", "c.yaml")
        self.assertEqual(self.etwship("start").returncode, 0)
        self.wait_until_said("there is no configuration", before)
        found = self.status()
        self.assertTrue(found["state"].startswith("running"))
        self.assertIn("no configuration", found["idle"])
        self.configure_file()
        wait_until(lambda: self.shipped() == EVENTS)
        after = self.status()
        self.assertEqual(after.pop("idle", None), None)
        self.assertEqual(after["state"], found["state"])  # the same process

        # Nor does it end when there is nothing to do any more.
        config = json.loads(self.config.read_text())
        config["sessions"][0]["enabled"] = False
        self.config.write_text(json.dumps(config))
        self.do("reload")
        self.wait_until_said("no session is enabled", before)
        self.assertEqual(self.status()["state"], found["state"])
        self.do("stop")

    # ---- where it says something --------------------------------------------------------------

    def test_starts_and_stops_and_warnings_are_events(self):
        before = self.said()
        # Nobody listens there.
        self.configure({"type": "elasticsearch", "hosts": ["http://127.0.0.1:1"]}, shutdown="1s")
        self.do("install", "-c", "c.yaml")
        self.assertIn("runs", self.do("start"))
        self.wait_until_said("runs, with the configuration", before)
        self.wait_until_said("output o", before)
        self.do("stop")
        self.wait_until_said("stopped on request", before)

    def test_its_log_is_in_the_folder_of_logs_if_there_is_one(self):
        logs = self.drive / "ProgramData" / "etwship" / "logs"
        logs.mkdir(parents=True)
        self.configure_file(follow=False)
        self.do("install", "-c", "c.yaml")
        self.do("start")
        self.wait_for_state("stopped")
        log = logs / "etwship.log"
        self.assertTrue(log.exists(), self.said())
        self.assertIn("ended: session t:", log.read_text())

    def test_its_command_line_at_a_terminal_is_a_program_as_any(self):
        self.configure_file(follow=False)
        done = self.prefix.run(self.exe, "run", "--service", "-c", "c.yaml", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"did not start this", done.stderr)
        self.assertEqual(self.shipped(), EVENTS)


class Messages(unittest.TestCase):
    """The texts that the Event Log finds for the service's event numbers, in the DLL and in the program."""

    def test_every_event_has_a_text_under_its_number(self):
        source = (SOURCES / "agent/service/windows/service_messages.mc").read_text()
        wanted = re.findall(r"^MessageId=(\d+)\nSeverity=(\w+)\n.*\n.*\n(.*)$", source, re.M)
        self.assertGreater(len(wanted), 20)
        # The two highest bits (winerror.h).
        severities = {"Informational": 1, "Warning": 2, "Error": 3}
        for file in [wine.MESSAGES, wine.EXE]:
            resources = subprocess.run(
                [wine.TOOLS + "windres", "-J", "coff", str(file), "-O", "rc"], check=True,
                stdout=subprocess.PIPE).stdout.decode()
            found = re.findall(r"MessageId = 0x([0-9a-f]+)\s+(\S.*?)\\n\\n%1\\n", resources)
            self.assertEqual([(int(number, 16), text) for number, text in found],
                             sorted((severities[severity] << 30 | int(number), text)
                                    for number, severity, text in wanted))

    def test_the_dll_has_no_code_to_run(self):
        headers = subprocess.run([wine.TOOLS + "objdump", "-p", str(wine.MESSAGES)], check=True,
                                 stdout=subprocess.PIPE).stdout.decode()
        self.assertRegex(headers, r"AddressOfEntryPoint\s+0+\n")
        self.assertNotIn("DLL Name", headers)  # of what it would need


if __name__ == "__main__":
    wine.need(wine.EXE)
    wine.main()
