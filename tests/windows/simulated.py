"""etwship.exe as it is, in a simulated Windows under Wine: sessions, providers, schemas.

The claims are those of tests/integration/live.py and machine.py, which make them for the program on
Linux. What Wine shows beyond them: functions found in DLLs, calls and callbacks by the convention of
Windows, named objects that end with their process.
"""

import json
import os
import re
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import wine

os.environ["ETWSHIP_SIM"] = str(wine.EXE)
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "integration"),
                str(Path(__file__).resolve().parents[1])]
import live  # noqa: E402
import machine  # noqa: E402
from support.waiting import wait_until  # noqa: E402


def setUpModule():
    OnWine.windows = wine.Simulated()


def tearDownModule():
    OnWine.windows.close()


def etwship(*args, **options):
    done = OnWine.windows.run(wine.EXE, *args, **options)
    return subprocess.CompletedProcess(
        done.args, done.returncode, *(out.decode("utf-8").replace("\r\n", "\n")
                                      for out in (done.stdout, done.stderr)))


class OnWine:
    windows = None

    def environment(self, *statements):
        super().environment(*statements)
        return {"ETWSIM_WORLD": "Z:" + str(self.folder / "world")}

    def run_sim(self, env, *args):
        return etwship(*args, cwd=self.folder, env=env)

    def assert_ctrl_c_ends(self, env, *args, until):
        process, terminal = self.windows.on_terminal(wine.EXE, *args, cwd=self.folder, env=env)
        with terminal:
            try:
                until(terminal)
                terminal.write(b"\x03")
                shown = wine.read_to_end(terminal)
                self.assertEqual(process.wait(wine.TIMEOUT_S), 0, shown)
            finally:
                process.kill()
                process.wait()
        self.assert_stopped(args[0])


class Watch(OnWine, live.Watch):
    # Signals of Linux, and its own answer.
    test_a_second_signal_stops_the_session_too = None
    test_a_system_without_etw_says_so = None
    test_a_reader_that_goes_ends_it = None

    def test_ctrl_c_ends_it_in_good_order(self):
        def until_events_are_shown(terminal):
            shown = b""
            while b"ImageName" not in shown:
                shown += terminal.read(4096)
        self.assert_ctrl_c_ends(self.providers(200), "watch", "-p", live.PROCESS,
                                until=until_events_are_shown)

    def test_the_host_is_this_machine(self):
        """The host's values are those of Wine's registry."""
        def value(key, name):
            said = OnWine.windows.run("reg", "query", key, "/v", name).stdout
            return re.search(rf"{name}\s+REG_\w+\s+(.*?)\s*$", said.decode("utf-8", "replace"),
                             re.MULTILINE).group(1)
        build = value(r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion", "CurrentBuildNumber")
        env = self.providers()
        for shape in ("native", "ecs"):
            done = self.run_sim(env, "watch", "-p", live.PROCESS, "-n", 3, "--format", shape)
            hosts = [json.loads(line)["host"] for line in done.stdout.splitlines()]
            self.assertEqual((done.returncode, len(hosts)), (0, 3), done.stderr)
            for host in hosts:
                self.assertEqual(host["id"], value(r"HKLM\SOFTWARE\Microsoft\Cryptography",
                                                   "MachineGuid"))
                self.assertEqual(host["architecture"], "x86_64")
                self.assertRegex(host["os"]["kernel"], rf"^\d+\.\d+\.{build}\.\d+$")
                self.assertRegex(host["os"]["name"], "^(Microsoft )?Windows ")
                self.assertTrue(host["name"])


class Providers(OnWine, live.Providers):
    pass


class Selftest(OnWine, live.Selftest):
    def test_what_keeps_it_from_running_is_one_line(self):
        done = self.run_sim(self.environment("not_administrator"), "selftest")
        self.assert_one_line(done, 1, "administrator")


class Record(OnWine, live.Record):
    def test_ctrl_c_ends_it(self):
        def until_it_runs(_):
            wait_until(lambda: self.calls_file.exists() and
                       "start" in self.calls_file.read_text())
        self.assert_ctrl_c_ends(self.providers(), "record", "-p", live.PROCESS, "-o", "out.etl",
                                until=until_it_runs)
        self.assertTrue((self.folder / "out.etl").exists())


class Run(OnWine, live.Run):
    program = "Z:" + str(wine.EXE).replace("/", "\\")

    def left_in_the_registry(self):
        """The keys that are left in Wine's registry: of notes, and of the things that they describe."""
        keys = (r"HKLM\SOFTWARE\etwship",
                r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options")
        return "".join(self.windows.run("reg", "query", key, "/s").stdout.decode("utf-8", "replace")
                       for key in keys)

    # Processes of Linux.
    test_a_killed_agent_leaves_a_program_that_the_next_one_goes_on_with = None


class Sessions(OnWine, live.Sessions):
    pass


class Agent:
    """`run` in the background, on a terminal; its output is read all the time."""

    def __init__(self, test):
        self.process, self.terminal = OnWine.windows.on_terminal(
            wine.EXE, "run", "-c", "etwship.yaml", cwd=test.folder, env=test.environment)
        self.shown = b""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        test.addCleanup(self.terminal.close)
        test.addCleanup(self.reader.join)
        test.addCleanup(self.kill)

    def read(self):
        while piece := wine.read_piece(self.terminal):
            self.shown += piece

    def said(self):
        """The output without the changes that a console makes to lines."""
        return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]", b"", self.shown).decode("utf-8", "replace")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.terminal.write(b"\x03")
        return self.process.wait(wine.TIMEOUT_S)


class OnSharedWine(OnWine):
    agent_class = Agent

    def environment_of(self, port):
        return {"ETWSIM_MACHINE": port}

    def etwship(self, *args):
        return etwship(*args, cwd=self.folder, env=self.environment)


class SharedSessions(OnSharedWine, machine.Sessions):
    test_nonsense_does_not_end_the_machine = None


class SharedProviders(OnSharedWine, machine.Providers):
    pass


class Existing(OnSharedWine, machine.Existing):
    pass


class Kept(OnSharedWine, machine.Kept):
    pass


class Load(OnSharedWine, machine.Load):
    pass


if __name__ == "__main__":
    wine.need(wine.EXE)
    wine.need(wine.ETWSIM)
    if not wine.WINE:
        wine.skip("no Wine (packaging/deps.sh windows)")
    # Not those that are imported.
    wine.main(["Watch", "Providers", "Selftest", "Record", "Run", "Sessions", "SharedSessions",
               "SharedProviders", "Existing", "Kept", "Load"])
