"""Whose the events of live sessions are, on a simulated Windows.

One session hears of a process from Microsoft-Windows-Kernel-Process, which names the events of another one.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

SIM = os.environ["ETWSHIP_SIM"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under what does not end, no measure.
TIMEOUT_S = 300
KERNEL_PROCESS = uuid.UUID("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716")
APP = uuid.UUID("0b5e0fd0-1d6e-4d4f-9d2b-5d2a3f2a9c11")
EPOCH_S = 11644473600  # from 1601 to 1970
PID, PARENT, STRANGER = 4100, 888, 4200
PATH = "\\Device\\HarddiskVolume3\\Program Files\\App\\app.exe"


def filetime(seconds):
    return int((seconds + EPOCH_S) * 10_000_000)


def record(provider, code, version, pid, ticks, payload=b""):
    """EVENT_HEADER with 64-bit pointers, without extended items."""
    size = 0x50 + len(payload)
    header = struct.pack("<HBBHHIIq", size, 0x13, 0xC0, 0x40, 0, 77, pid, ticks)
    descriptor = struct.pack("<HBBBBHQ", code, version, 0, 4, 0, 0, 0)
    data = header + provider.bytes_le + descriptor + bytes(0x18) + payload
    return struct.pack("<I", size) + data


def started(created):
    """Event 1 in version 3: CreateTime, MandatoryLabel S-1-16-8192, ImageName."""
    label = struct.pack("<BB6BI", 1, 1, 0, 0, 0, 0, 0, 16, 0x2000)
    return struct.pack("<IQQIQIIII", PID, 901, created, PARENT, 17, 1, 0, 3, 0) + label + \
        PATH.encode("utf-16-le") + b"\0\0" + bytes(8) + b"\0\0" + b"\0\0"


class Processes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.out = self.folder / "out.ndjson"
        self.created = filetime(time.time() - 3600)

    def generate(self, name, *records):
        path = self.folder / f"{name}.records"
        path.write_bytes(b"".join(records))
        subprocess.run([ETLGEN, "--records", path, "-o", self.folder / f"{name}.etl"], check=True,
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)

    def events(self):
        """Events by session. Only whole lines count, because the agent may be writing one."""
        data = self.out.read_bytes() if self.out.exists() else b""
        found = {}
        for line in data[:data.rfind(b"\n") + 1].splitlines():
            event = json.loads(line)
            if event["provider"].get("name") != "etwship":
                found.setdefault(event["etw"]["session"], []).append(event)
        return found

    def named(self, session):
        return [event["process"] for event in self.events().get(session, [])
                if "name" in event["process"]]

    def test_a_process_that_one_session_hears_of_names_the_events_of_another(self):
        self.generate("kernel", record(KERNEL_PROCESS, 1, 3, PARENT, 1000, started(self.created)))
        self.generate("app", record(APP, 1, 0, PID, 1000), record(APP, 2, 0, STRANGER, 1001))
        (self.folder / "world").write_text(
            f"provider Microsoft-Windows-Kernel-Process guid {KERNEL_PROCESS}\n"
            f"provider App guid {APP}\n"
            "emit Microsoft-Windows-Kernel-Process kernel.etl rounds 1\n"
            "emit App app.etl rate 100\n")
        (self.folder / "etwship.yaml").write_text(
            "agent: {data_dir: data, log: {stats: 0}}\n"
            "spool: {mode: memory}\n"
            "sessions:\n"
            f"- {{name: kernel, type: realtime, providers: ['{KERNEL_PROCESS}']}}\n"
            f"- {{name: apps, type: realtime, providers: ['{APP}']}}\n"
            f"- {{name: plain, type: realtime, providers: ['{APP}'], process_context: false}}\n"
            f"- {{name: some, type: realtime, providers: ['{APP}'],\n"
            "   filters: [{keep: \"process.name == 'app.exe'\"}, {drop: 'true'}]}\n"
            "outputs: [{type: file, path: out.ndjson}]\n")
        agent = subprocess.Popen([SIM, "run", "-c", "etwship.yaml"], cwd=self.folder,
                                 env=dict(os.environ, ETWSIM_WORLD=str(self.folder / "world")),
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        wait_until(lambda: self.named("apps") and self.named("some") and
                   self.events().get("plain"), process=agent)
        agent.terminate()
        self.assertEqual(agent.wait(TIMEOUT_S), 0)
        for process in self.named("apps") + self.named("some"):
            self.assertEqual(process["pid"], PID)
            self.assertEqual((process["name"], process["executable"]), ("app.exe", PATH))
            self.assertEqual(process["parent"], {"pid": PARENT})
            self.assertEqual((process["integrity"], process["session_id"]), ("medium", 1))
        self.assertEqual({event["process"]["pid"] for event in self.events()["apps"]},
                         {PID, STRANGER})
        self.assertEqual({event["process"]["pid"] for event in self.events()["some"]}, {PID})
        self.assertEqual(self.named("plain"), [])


if __name__ == "__main__":
    unittest.main()
