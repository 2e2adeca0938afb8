"""Sessions that Windows starts at boot: installed, started, read and gone on with.

The machine (machine.py) boots by a script: it starts what the registry says, events come while no
agent runs, and then one does. What was written before it came is in a file, and comes once, whatever
happens to the agent.
"""

import json
import os
import re
import socket
import unittest

import machine  # noqa: E402

ROOT = r"SYSTEM\CurrentControlSet\Control\WMI\Autologger"
KEY = ROOT + "\\etwship-live"
PARTS = ROOT.split("\\")
ABOVE = "".join("\\".join(PARTS[:n + 1]) + "\n" for n in range(len(PARTS)))


class Boot(machine.Shared):
    build = 20348  # can convert a session to real time

    def environment_of(self, port):
        return dict(super().environment_of(port), ETWSIM_REGISTRY=str(self.folder / "registry"))

    def machine_environment(self):
        (self.folder / "world").write_text(f"windows {self.build}\n")
        return dict(os.environ, ETWSIM_WORLD=str(self.folder / "world"),
                    ETWSIM_REGISTRY=str(self.folder / "registry"))

    def configure(self, session="", more=""):
        (self.folder / "etwship.yaml").write_text(
            "agent: {data_dir: data, log: {stats: 0}}\n"
            f"sessions: [{{name: live, providers: [{machine.NAME}], boot: true{session}}}{more}]\n"
            f"{self.spool}outputs: [{{type: file, path: out.ndjson}}]\n")

    def start(self, *_args, **_options):
        return self.agent_class(self)

    def autologger(self, *args):
        done = self.etwship("autologger", *args)
        return done.returncode, done.stdout, done.stderr

    def installed(self):
        path = self.folder / "registry"
        return path.read_text() if path.exists() else ""

    def status(self):
        code, out, err = self.autologger("status", "-c", "etwship.yaml", "--json")
        self.assertEqual((code, err), (0, self.unknown()))
        return {row["name"]: row for row in map(json.loads, out.splitlines())}

    @staticmethod
    def unknown():
        """No program registers the providers of this machine by name."""
        return (f"etwship: warning: session live: this machine knows no provider {machine.NAME}. its GUID "
                "is derived from its name, as for TraceLogging providers; if it has another one, "
                "write the GUID\n")

    def install(self):
        code, out, err = self.autologger("install", "-c", "etwship.yaml")
        self.assertEqual(code, 0, err)
        self.assertIn(self.unknown(), err)
        self.assertIn("etwship-live: installed", out)

    def boot(self):
        return self.do("boot")["started"]

    def sequences(self):
        """The numbers of the events that were shipped. Each was written once."""
        data = self.out.read_bytes() if self.out.exists() else b""
        events = [json.loads(line) for line in data[:data.rfind(b"\n") + 1].splitlines()]
        self.assertEqual({event["etw"]["session"] for event in events} - {"live"}, set())
        # The file does not say where it was written: here.
        self.assertEqual({event["host"]["name"] for event in events} - {socket.gethostname()}, set())
        # What the simulator's providers write is a number that counts up.
        return sorted(int.from_bytes(bytes.fromhex(event["payload"])[:8], "little")
                      for event in events if "gap" not in event and "payload" in event)

    def assert_once(self, count):
        machine.wait_until(lambda: len(self.sequences()) >= count,
                           lambda: f"{len(self.sequences())} of {count}")
        self.assertEqual(self.sequences(), list(range(count)))


class Handed(Boot):
    def test_what_came_before_the_agent_and_after_comes_once(self):
        self.configure()
        self.install()
        self.assertEqual(self.boot(), 1)
        self.burst(1000)
        row = self.status()["etwship-live"]
        self.assertEqual((row["status"], row["running"], row["real_time"]), (0, True, False))
        self.assertEqual(len(row["files"]), 1)
        self.assertTrue(row["files"][0]["path"].endswith("data/boot/live.etl.0001"))
        agent = self.start()
        self.read_by(agent)
        self.burst(500)
        self.do("settle")
        self.assert_once(1500)
        self.assertEqual(self.shipped()[1], self.gaps)
        self.assertTrue(self.status()["etwship-live"]["real_time"])
        self.assertEqual(agent.stop(), 0)
        # Again, without a boot between: the file was read.
        agent = self.start()
        self.read_by(agent)
        self.burst(10)
        self.do("settle")
        self.assert_once(1510)
        self.assertEqual(agent.stop(), 0)

    gaps = {}

    def test_a_killed_agent_has_read_the_file_once(self):
        self.configure()
        self.install()
        self.boot()
        self.burst(20000)
        for _ in range(3):
            had = len(set(self.sequences()))
            agent = self.start()
            # More of it than the last one had shipped, where there is more.
            machine.wait_until(lambda: len(set(self.sequences())) > min(had, 20000 - 1))
            agent.kill()
        agent = self.start()
        self.read_by(agent)
        machine.wait_until(lambda: len(set(self.sequences())) == 20000)
        self.assertEqual(agent.stop(), 0)
        # What a killed one wrote and could not note is cut off and written again.
        self.assertEqual(self.sequences(), list(range(20000)))
        again = self.start()
        self.read_by(again)
        self.burst(1)
        self.do("settle")
        self.assert_once(20001)
        self.assertEqual(again.stop(), 0)
        self.assert_once(20001)

    def test_every_boot_has_a_file_and_none_is_left_out(self):
        self.configure()
        self.install()
        for _ in range(3):
            self.boot()
            self.burst(100)
            self.do("shutdown")
        self.boot()
        self.burst(100)
        self.assertEqual(len(self.status()["etwship-live"]["files"]), 4)
        agent = self.start()
        self.read_by(agent)
        self.assert_once(400)
        self.assertEqual(agent.stop(), 0)
        self.do("shutdown")
        # The number goes round; the new file is another one.
        self.boot()
        self.burst(100)
        self.assertEqual(len(self.status()["etwship-live"]["files"]), 4)
        agent = self.start()
        self.read_by(agent)
        self.assert_once(500)
        self.assertEqual(agent.stop(), 0)

    def test_without_an_autologger_the_agent_starts_the_session(self):
        self.configure()
        agent = self.start()
        self.read_by(agent)
        self.burst(20)
        self.do("settle")
        self.assert_once(20)
        self.assertEqual(agent.stop(), 0)


class Closed(Handed):
    """These tests with a session that cannot leave its file: it is closed, and a new one begins."""

    build = 19045
    gaps = {"agent/boot_session_closed": (0, 1)}


class Commands(Boot):
    def test_installing_again_changes_what_has_changed(self):
        self.configure()
        self.assertEqual(self.status()["etwship-live"]["installed"], False)
        self.install()
        self.boot()
        self.configure(", buffers: {size: 128KB}")
        self.assertEqual(self.status()["etwship-live"]["differences"],
                         ["BufferSize: 256, configured: 128"])
        self.install()
        row = self.status()["etwship-live"]
        self.assertEqual((row["differences"], row["status"]), ([], 0))
        self.assertIn(KEY + "\tFileCounter\t4\t01000000\n", self.installed())

    def test_windows_writes_what_rules_can_keep(self):
        """Events of bursts have id 7 and level 4."""
        self.configure(session=", filters: [{keep: event.level < 4 and event.code == 7}, {drop: 'true'}]")
        self.install()
        self.assertIn("\tEnableLevel\t4\t03000000\n", self.installed())
        self.assertIn("\tEventIds\t3\t0700feff\n", self.installed())  # 7 and 65534
        self.assertEqual(self.boot(), 1)
        self.burst(1000)
        self.do(f"burst {machine.NAME} 20 0 3")
        agent = self.start()
        self.read_by(agent)
        machine.wait_until(lambda: len(self.sequences()) >= 20)
        self.assertEqual(agent.stop(), 0)
        self.assertEqual(len(self.sequences()), 20)

    def test_a_system_session_has_its_flags_at_boot(self):
        self.configure(", type: system, flags: [process, image_load]")
        text = (self.folder / "etwship.yaml").read_text()
        (self.folder / "etwship.yaml").write_text(
            text.replace(f"providers: [{machine.NAME}], ", ""))
        code, _, err = self.autologger("install", "-c", "etwship.yaml")
        self.assertEqual(code, 0)
        self.assertIn("kernel flags of the Global Logger alone", err)
        self.boot()
        self.assertEqual(self.sessions("query", machine.SESSION)[machine.SESSION]["kernel_flags"],
                         "0x5")

    def test_why_windows_could_not_start_it_is_told(self):
        self.configure()
        self.install()
        (self.folder / "data" / "boot").rmdir()
        self.assertEqual(self.boot(), 0)
        row = self.status()["etwship-live"]
        self.assertEqual((row["status"], row["running"], row["files"]), (3, False, []))
        _, out, _ = self.autologger("status", "-c", "etwship.yaml")
        self.assertIn("last boot: failed: the folder does not exist. make it first (error 3)", out)
        # The agent does without.
        agent = self.start()
        self.read_by(agent)
        self.burst(5)
        self.do("settle")
        self.assert_once(5)
        self.assertEqual(agent.stop(), 0)

    def test_remove_takes_its_own_and_leaves_the_others(self):
        foreign = (f"{ABOVE}{ROOT}\\DefenderApiLogger\n{ROOT}\\DefenderApiLogger\tStart\t4\t01000000\n"
                   f"{ROOT}\\etwship-mine\n{ROOT}\\etwship-mine\tGuid\t1\t7b7d\n")
        (self.folder / "registry").write_text(foreign)
        self.configure()
        self.install()
        self.assertIn(KEY, self.installed())
        code, out, err = self.autologger("remove")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(self.installed(), foreign)
        self.assertEqual(sorted(out.splitlines()), [
            "1 autologgers of others: unchanged",
            "etwship-live: removed. its running session does not stop",
            "etwship-mine: unchanged, as etwship has not installed it"])
        code, _, err = self.autologger("remove", "mine")
        self.assertEqual(code, 1)
        self.assertIn("its name or Guid differs", err)

    def test_a_foreign_autologger_of_the_name_is_not_overwritten(self):
        foreign = f"{ABOVE}{KEY}\n{KEY}\tGuid\t1\t7b7d\n"
        (self.folder / "registry").write_text(foreign)
        self.configure()
        code, _, err = self.autologger("install", "-c", "etwship.yaml")
        self.assertEqual(code, 1)
        self.assertIn("that etwship has not installed", err)
        self.assertEqual(self.installed(), foreign)

    def test_what_no_session_wants_any_more_is_told(self):
        self.configure()
        self.install()
        self.configure(more=", {name: b, type: record, providers: [P], log_file: {path: t.etl}, "
                            "boot: true}")
        text = (self.folder / "etwship.yaml").read_text()
        (self.folder / "etwship.yaml").write_text(text.replace("boot: true}, {", "boot: false}, {"))
        code, out, _ = self.autologger("install", "-c", "etwship.yaml")
        self.assertEqual(code, 0)
        self.assertIn("etwship-b: installed", out)
        self.assertIn("etwship-live: unchanged", out)
        self.assertRegex(self.installed(), re.escape(f"{ROOT}\\etwship-b") + "\tMaxFileSize\t4\t0{8}\n")


if __name__ == "__main__":
    unittest.main()
