"""The spool on a disk, in an agent that runs: a disk that is full, cannot be written, loses files.

On file systems of the tests' own, in memory, where the system lets us mount them. Each test is a method
whose name is its claim.
"""

import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.scripted_http import Bulk, Server  # noqa: E402
from support.spool_rig import DONE, EVENTS, FAILED, LOSSES, SpoolRig, down  # noqa: E402


# What the log says of a full disk: which of them comes first is chance.
NO_ROOM = "takes no more|No space"


class SpoolFaults(SpoolRig):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "state"
        self.spool_folder = self.disk / "spool"
        self.arriving = self.folder / "arriving"
        self.arriving.mkdir()

    def mount(self, size):
        self.disk.mkdir()
        if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", self.disk],
                check=False, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("cannot mount a file system here")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.disk], check=True)

    def fill(self, keep=0):
        """Takes all room but ${keep} bytes, in a file that is returned."""
        other = self.disk / "other"
        with open(other, "ab", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
            file.truncate(max(0, file.tell() - keep))
        return other

    def follow(self, *outputs, **more):
        self.write(*outputs, traces=[self.arriving / "*.etl"], follow=True, poll="20ms", **more)

    def arrive(self, name, events, seed):
        """A trace comes, in one moment."""
        trace = self.make_trace(name, events, "--seed", str(seed))
        beside = self.folder / "beside"
        beside.write_bytes(trace.read_bytes())
        beside.rename(self.arriving / f"{name}.etl")

    def stored(self, server):
        return sum(event["provider"].get("name") != "etwship"
                   for event in map(json.loads, server.app.documents()))

    def gaps(self, server):
        return [event["gap"] for event in map(json.loads, server.app.documents()) if "gap" in event]

    def lines_with(self, agent, text):
        return [line for line in self.said(agent).splitlines() if text in line]

    # ---- a full disk ----------------------------------------------------------------------------

    def test_a_disk_that_is_full_at_the_start_empties_by_the_outputs(self):
        self.mount("48m")
        with Server(Bulk(), down) as server:
            self.left_behind(server)
            self.fill()
            server.faults = None
            self.run_agent()
            self.assert_each_once(server.app.documents())
            self.assertEqual(self.stat()[1]["siem"]["events"], 0)

    def becomes_full(self, spool):
        self.mount("48m")
        with Server(Bulk(), down) as server:
            self.follow(self.siem(server), spool=spool)
            agent = self.start_agent()
            self.arrive("first", EVENTS, 3)
            self.waits_for("siem", EVENTS)
            other = self.fill()
            self.arrive("second", EVENTS, 4)
            self.wait_until(lambda: re.search(NO_ROOM, self.said(agent)))
            server.faults = None
            self.wait_until(lambda: self.stored(server) == 2 * EVENTS)
            self.waits_for("siem", 0)
            self.assertTrue(other.exists())
            self.arrive("third", 1000, 5)
            self.wait_until(lambda: self.stored(server) == 2 * EVENTS + 1000)
            other.unlink()
            self.wait_until((self.spool_folder / "ballast").exists)
            self.stop(agent)
            self.assertLess(len(re.findall(NO_ROOM, self.said(agent))), 5, self.said(agent))
            self.assertEqual(server.app.twice, 0)
            self.assertEqual(self.gaps(server), [])

    def test_a_disk_that_becomes_full_empties_by_the_outputs_and_takes_more_then(self):
        self.becomes_full({"min_free_disk": "0"})

    def test_a_disk_that_gets_low_empties_by_the_outputs_and_takes_more_then(self):
        self.becomes_full({})

    def test_a_disk_that_others_fill_to_the_last_byte_is_freed_of_what_outputs_have(self):
        self.mount("48m")
        over = threading.Event()

        def fill_for_ever():
            with open(self.disk / "more", "ab", buffering=0) as more:
                while not over.wait(0.001):
                    with contextlib.suppress(OSError):
                        more.write(bytes(4096))

        with Server(Bulk(), down) as server:
            self.follow(self.siem(server), spool={"min_free_disk": "0"})
            agent = self.start_agent()
            self.arrive("first", EVENTS, 3)
            self.waits_for("siem", EVENTS)
            first = min(self.spool_folder.glob("*.seg"))
            self.fill()
            other = threading.Thread(target=fill_for_ever)
            other.start()
            self.addCleanup(other.join)
            self.addCleanup(over.set)
            self.arrive("second", EVENTS, 4)
            self.wait_until(lambda: re.search(NO_ROOM, self.said(agent)))
            # Not even what is kept for this is left to the agent.
            (self.spool_folder / "ballast").unlink(missing_ok=True)
            server.faults = None
            self.wait_until(lambda: not first.exists())
            over.set()
            other.join()
            (self.disk / "more").unlink()
            self.wait_until(lambda: self.stored(server) == 2 * EVENTS)
            self.stop(agent)
            self.assertEqual((server.app.twice, self.gaps(server)), (0, []))

    def test_a_full_disk_that_gets_room_by_others_goes_on(self):
        self.mount("48m")
        with Server(Bulk(), down) as server:
            self.follow(self.siem(server))
            agent = self.start_agent()
            self.waits_for("siem", 0)
            other = self.fill()
            self.arrive("first", EVENTS, 3)
            self.wait_until(lambda: re.search(NO_ROOM, self.said(agent)))
            other.unlink()
            self.waits_for("siem", EVENTS)
            server.faults = None
            self.wait_until(lambda: self.stored(server) == EVENTS)
            self.stop(agent)
            self.assertRegex(self.said(agent), "there is room again|it is written again")
            self.assertEqual(server.app.twice, 0)

    def test_a_disk_with_less_than_is_to_stay_free_is_told_with_a_way_out(self):
        self.write(self.local(), spool={"min_free_disk": "1024TB"}, agent={"shutdown": "50ms"})
        agent = self.start_agent()
        self.wait_until(lambda: "takes no more" in self.said(agent))
        # Events that wait for room inside the agent are undelivered; those unread are not.
        self.stop(agent, (DONE, LOSSES))
        self.assertRegex(self.said(agent),
                         f"the disk of {self.spool_folder} takes no more: [0-9]+ [KM]B are free, and "
                         "[0-9]+ MB are to stay so\\. sessions wait .* lower spool.min_free_disk, free "
                         "some, or set another agent.data_dir\n")

    # ---- a disk that cannot be written --------------------------------------------------------------

    @staticmethod
    def failed_calls(notes):
        return len(notes.read_text().splitlines()) if notes.exists() else 0

    def waited_out(self, number):
        """Told once, in the system's words or, where the catalogue meets it first, in SQLite's; and once
        that it is over."""
        trouble = re.compile("nput/output error|I/O error|ead-only|readonly")
        flag = self.folder / "fails"
        notes = self.folder / "notes"
        library = os.environ.get("ETWSHIP_FAILING_DISK")
        if not library:
            self.skipTest("no library that lets a disk fail here")
        with Server(Bulk()) as server:
            self.follow(self.siem(server))
            agent = self.start_agent(LD_PRELOAD=library, FAILING_DISK_FOLDER=str(self.disk),
                                     FAILING_DISK_FLAG=str(flag), FAILING_DISK_NOTES=str(notes),
                                     ASAN_OPTIONS="verify_asan_link_order=0")
            self.arrive("first", EVENTS, 3)
            self.wait_until(lambda: self.stored(server) == EVENTS)
            flag.symlink_to(str(number))
            self.arrive("second", EVENTS, 4)
            self.wait_until(lambda: trouble.search(self.said(agent)))
            failed = self.failed_calls(notes)  # it is tried again, which is not to be told
            self.wait_until(lambda: self.failed_calls(notes) >= failed + 6)
            flag.unlink()
            self.wait_until(lambda: self.stored(server) == 2 * EVENTS)
            self.waits_for("siem", 0)
            self.stop(agent)
            self.assertLess(len(trouble.findall(self.said(agent))), 3, self.said(agent))
            self.assertIn("it is written again", self.said(agent))
            self.assertEqual(server.app.twice, 0)

    def test_a_disk_that_is_read_only_for_a_while_is_waited_out(self):
        self.waited_out(errno.EROFS)

    def test_a_disk_that_fails_for_a_while_is_waited_out(self):
        self.waited_out(errno.EIO)

    def test_a_folder_that_cannot_be_written_is_refused_with_words(self):
        self.mount("8m")
        self.remount("ro")
        self.write(self.local())
        told = self.run_agent(FAILED)
        self.assertIn("set agent.data_dir to a folder that can be written", told)
        self.assertEqual(told.count("\n"), 1)
        self.remount("rw")
        self.run_agent()

    # ---- files that go ------------------------------------------------------------------------------

    def deleted(self, server, *patterns, remove=Path.unlink):
        """Under an agent that has what the run before has left, of which little is in its memory."""
        self.follow(self.siem(server), agent={"shutdown": "50ms"})
        agent = self.start_agent()
        self.arrive("first", EVENTS, 3)
        self.waits_for("siem", EVENTS)
        self.stop(agent)
        agent = self.start_agent()
        asked = len(server.posts())
        self.wait_until(lambda: len(server.posts()) > asked)
        for pattern in patterns:
            for path in self.spool_folder.glob(pattern):
                remove(path)
        if "*" in patterns:
            self.spool_folder.rmdir()
        server.faults = None
        self.arrive("second", 1000, 4)
        self.wait_until(lambda: self.of_file(server, "second.etl") == 1000)
        return agent

    def of_file(self, server, name):
        return sum(json.loads(document)["etw"].get("file", "").endswith(name)
                   for document in server.app.documents())

    def assert_all_is_told(self, server, agent):
        """What does not arrive is a gap."""
        self.wait_until(lambda: self.of_file(server, "first.etl") +
                        sum(gap["count"] for gap in self.gaps(server)) == EVENTS)
        self.waits_for("siem", 0)
        self.arrive("third", 1000, 5)
        self.wait_until(lambda: self.of_file(server, "third.etl") == 1000)
        self.stop(agent, (LOSSES if self.gaps(server) else DONE,))
        self.assertEqual(server.app.twice, 0)
        agent = self.start_agent()  # which takes nothing for new
        self.arrive("fourth", 1000, 6)
        self.wait_until(lambda: self.of_file(server, "fourth.etl") == 1000)
        self.stop(agent)
        self.assertEqual(server.app.twice, 0)

    def test_segments_that_are_deleted_cost_no_more_than_was_in_them(self):
        with Server(Bulk(), down) as server:
            agent = self.deleted(server, "*.seg")  # which is open, so it may be read still
            self.assert_all_is_told(server, agent)

    def test_segments_that_are_cut_are_told_as_gaps(self):
        with Server(Bulk(), down) as server:
            agent = self.deleted(server, "*.seg", remove=lambda path: os.truncate(path, 100))
            self.assert_all_is_told(server, agent)
            self.assertGreater(sum(gap["count"] for gap in self.gaps(server)), 0)
            self.assertEqual({gap["reason"] for gap in self.gaps(server)}, {"damaged"})

    def test_a_catalogue_that_is_deleted_is_written_anew(self):
        for patterns in (["catalogue.db"], ["catalogue.db*"]):
            with self.subTest(patterns=patterns), Server(Bulk(), down) as server:
                agent = self.deleted(server, *patterns)
                self.assert_all_is_told(server, agent)
                self.assertEqual(self.gaps(server), [])
                self.assertIn("it was written anew", self.said(agent))
            for path in (*self.arriving.iterdir(), *self.spool_folder.iterdir()):
                path.unlink()

    def test_a_spool_that_is_deleted_is_begun_anew(self):
        with Server(Bulk(), down) as server:
            agent = self.deleted(server, "*")
            self.assert_all_is_told(server, agent)


if __name__ == "__main__":
    unittest.main(argv=[arg for arg in sys.argv if arg != "--full"])
