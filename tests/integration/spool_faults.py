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
from support import small_disk  # noqa: E402
from support.scripted_http import Bulk, Server  # noqa: E402
from support.spool_rig import (BINARY, DONE, EVENTS, FAILED, LOSSES, TIMEOUT_S, SpoolRig,  # noqa: E402
                               down)


# What the log says of a full disk: which of them comes first is chance.
NO_ROOM = "too little free space|No space"

WRONG = (400, "mapper_parsing_exception", "no number")


def refuse_hundredth(number, index, name, document):
    return WRONG if json.loads(document)["etw"].get("sequence", 1) % 100 == 0 else None


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


PAGE = 4096
CATALOGUE_DAMAGE = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE),
    "garbage in the head": lambda path: overwrite(path, 0, b"x" * 100),
    "garbage": lambda path: path.write_bytes(b"x" * 5000),
    "zeroed pages": lambda path: overwrite(path, 2 * PAGE, bytes(path.stat().st_size - 2 * PAGE)),
    "zeroed letters": lambda path: overwrite(path, path.stat().st_size // 2, bytes(
        path.stat().st_size // 4)),
}


class SpoolFaults(SpoolRig):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "state"
        self.spool_folder = self.disk / "spool"
        self.arriving = self.folder / "arriving"
        self.arriving.mkdir()

    def mount(self, size):
        self.disk.mkdir()
        if not small_disk.mount(self, self.disk, f"size={size},mode=0700"):
            self.skipTest("cannot mount a file system here")

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.disk], check=True)

    def fill(self, keep=0):
        """Fill the disk except for ${keep} bytes; returns the file."""
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
        """A trace appears at one moment."""
        trace = self.make_trace(name, events, "--seed", str(seed))
        beside = self.folder / "beside"
        beside.write_bytes(trace.read_bytes())
        beside.rename(self.arriving / f"{name}.etl")

    def stored(self, server):
        """The number of events of traces."""
        return sum(b'"provider":{"name":"etwship"' not in document for document in server.app.documents())

    def gaps(self, server):
        events = (json.loads(document) for document in server.app.documents() if b'"gap"' in document)
        return [event["gap"] for event in events if "gap" in event]

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
            self.assertRegex(self.said(agent), "there is room again|the agent writes to it again")
            self.assertEqual(server.app.twice, 0)

    def test_a_disk_below_min_free_disk_is_reported_with_a_remedy(self):
        self.write(self.local(), spool={"min_free_disk": "1024TB"}, agent={"shutdown": "50ms"})
        agent = self.start_agent()
        self.wait_until(lambda: "too little free space" in self.said(agent))
        # Events that wait for room inside the agent are undelivered; those unread are not.
        self.stop(agent, (DONE, LOSSES))
        self.assertRegex(self.said(agent),
                         f"the disk of {self.spool_folder} has too little free space: [0-9]+ [KM]B are free, and "
                         "spool.min_free_disk is [0-9]+ MB\\. sessions wait .* lower spool.min_free_disk, free "
                         "some space, or set another agent.data_dir\n")

    # ---- a disk that cannot be written --------------------------------------------------------------

    @staticmethod
    def failed_calls(notes):
        return len(notes.read_text().splitlines()) if notes.exists() else 0

    def waited_out(self, number):
        """The agent reports the fault once, in the system's words or, if the catalogue meets it first, in SQLite's;
        and reports once that it is over."""
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
            self.assertIn("the agent writes to it again", self.said(agent))
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
        """Remove files under an agent that has the previous run's events, of which few are in its memory."""
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
                   for document in server.app.documents() if name.encode() in document)

    def assert_all_is_told(self, server, agent):
        """A gap counts every event that does not arrive."""
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
                self.assertIn("the agent has written it again", self.said(agent))
            for path in (*self.arriving.iterdir(), *self.spool_folder.iterdir()):
                path.unlink()

    def test_a_spool_that_is_deleted_is_begun_anew(self):
        with Server(Bulk(), down) as server:
            agent = self.deleted(server, "*")
            self.assert_all_is_told(server, agent)

    # ---- dead letters ---------------------------------------------------------------------------

    def deadletter(self, *arguments, code=DONE):
        done = subprocess.run([BINARY, "deadletter", *arguments, "-c", self.config], check=False,
                              capture_output=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def letters(self):
        return [json.loads(line) for line in self.deadletter("list", "--json").stdout.splitlines()]

    def with_letters(self, server):
        """A spool with dead letters, of which some were removed and some sent again: the rest."""
        server.app.refuse = refuse_hundredth
        self.write(self.siem(server))
        self.run_agent(LOSSES)
        self.assertEqual(len(self.letters()), EVENTS // 100)
        self.deadletter("purge", "3", "5")
        server.app.refuse = None
        self.deadletter("replay", "1", "7", "200")
        letters = self.letters()
        self.assertEqual([letter["id"] for letter in letters],
                         [n for n in range(1, EVENTS // 100) if n not in (1, 3, 5, 7)])
        return letters

    def test_dead_letters_come_back_when_the_catalogue_is_made_anew(self):
        for name, damage in CATALOGUE_DAMAGE.items():
            with self.subTest(name), Server(Bulk()) as server:
                letters = self.with_letters(server)
                for behind in ("-wal", "-shm"):
                    (self.spool_folder / f"catalogue.db{behind}").unlink(missing_ok=True)
                catalogue = self.spool_folder / "catalogue.db"
                damage(catalogue)
                # Commands say that it cannot be read, and not that there is nothing.
                self.deadletter("list", code=FAILED)
                told = self.run_agent()
                self.assertIn(f"{len(letters)} dead letters were found in their files", told)
                self.assertEqual(self.letters(), letters)
                # And again: what is removed now stays so.
                self.deadletter("purge", str(letters[0]["id"]))
                catalogue.unlink()
                self.run_agent()
                self.assertEqual(self.letters(), letters[1:])
                done = json.loads(self.deadletter("replay", "--json").stdout)
                self.assertEqual(done["delivered"], len(letters) - 1)
                self.assertEqual(self.letters(), [])
                catalogue.unlink()
                self.run_agent()
                self.assertEqual(self.letters(), [])
            subprocess.run(["rm", "-r", self.disk], check=True)

    def test_dead_letters_come_back_when_the_catalogue_is_older_or_its_log_is_lost(self):
        with Server(Bulk(refuse_hundredth)) as server:
            self.follow(self.siem(server))
            self.arrive("first", EVENTS, 3)
            agent = self.start_agent()
            catalogue = self.spool_folder / "catalogue.db"
            self.wait_until(lambda: catalogue.exists() and len(self.letters()) == EVENTS // 100)
            self.stop(agent, (LOSSES,))
            older = catalogue.read_bytes()
            agent = self.start_agent()
            self.arrive("second", EVENTS, 4)
            self.wait_until(lambda: len(self.letters()) == 2 * EVENTS // 100)
            letters = self.letters()
            self.deadletter("purge", "1", "201")
            agent.kill()
            agent.wait()
            for behind in ("-wal", "-shm"):
                (self.spool_folder / f"catalogue.db{behind}").unlink(missing_ok=True)
            catalogue.write_bytes(older)
            server.app.refuse = None
            agent = self.start_agent()
            left = [letter for letter in letters if letter["id"] not in (1, 201)]
            self.wait_until(lambda: "were found in their files" in self.said(agent))
            self.assertEqual(self.letters(), left)
            self.stop(agent)

    def test_dead_letters_that_cannot_be_read_are_told_as_a_gap(self):
        with Server(Bulk()) as server:
            letters = self.with_letters(server)
            (files,) = (self.spool_folder / "letters").glob("*.let")
            data = bytearray(files.read_bytes())
            lost = [letters[20], letters[50]]
            for letter in lost:
                at = data.index(json.dumps(letter["document"]["etw"]["sequence"]).encode(),
                                data.index(letter["document"]["@timestamp"].encode()))
                data[at] ^= 1
            files.write_bytes(data)
            for path in self.spool_folder.glob("catalogue.db*"):
                path.unlink()
            told = self.run_agent(LOSSES)
            self.assertIn("dead letters were found in their files; 2 are lost", told)
            self.assertEqual(self.gaps(server), [{"stage": "spool", "reason": "dead_letters_damaged",
                                                  "unit": "events", "count": 2, "exact": True,
                                                  "to": self.gaps(server)[0]["to"]}])
            left = [letter for letter in letters if letter not in lost]
            self.assertEqual(self.letters(), left)
            # Once.
            for path in self.spool_folder.glob("catalogue.db*"):
                path.unlink()
            self.run_agent()
            self.assertEqual(self.letters(), left)
            self.assertEqual(len(self.gaps(server)), 1)

    def test_a_spool_without_a_catalogue_is_verified_by_its_files(self):
        with Server(Bulk(), down) as server:
            self.left_behind(server)
            stat = self.stat()[1]["siem"]
        for path in self.spool_folder.glob("catalogue.db*"):
            path.unlink()
        self.assertIn(b"spool verify", self.spool("stat", code=FAILED).stderr)
        told = json.loads(self.spool("verify", "--json", code=LOSSES).stdout)
        self.assertEqual(told, {"batches": stat["batches"], "damaged": 0, "catalogue_faults": 1,
                                "skipped_bytes": 0, "dead_letters": 0, "damaged_dead_letters": 0})
        segments = sorted(self.spool_folder.glob("*.seg"))
        size = sum(path.stat().st_size for path in segments)
        self.assertIn(f"{len(segments)} segments of {size} bytes: {stat['batches']} batches with "
                      f"{stat['events']} events are good, 0 are damaged".encode(),
                      self.spool("verify", code=LOSSES).stdout)
        overwrite(segments[0], segments[0].stat().st_size // 2, b"xxxx")
        (self.spool_folder / "catalogue.db").write_bytes(b"x" * 5000)
        done = self.spool("verify", "--json", code=LOSSES)
        told = json.loads(done.stdout)
        self.assertEqual((told["batches"], told["damaged"]), (stat["batches"], 1))
        self.assertIn(segments[0].name.encode(), done.stderr)

    def test_dead_letters_without_a_catalogue_are_counted_by_verify(self):
        with Server(Bulk()) as server:
            letters = self.with_letters(server)
        for path in self.spool_folder.glob("catalogue.db*"):
            path.unlink()
        told = json.loads(self.spool("verify", "--json", code=LOSSES).stdout)
        self.assertEqual((told["dead_letters"], told["damaged_dead_letters"]), (len(letters), 0))

    def test_letter_files_that_were_removed_are_made_anew(self):
        with Server(Bulk()) as server:
            letters = self.with_letters(server)
            subprocess.run(["rm", "-r", self.spool_folder / "letters"], check=True)
            server.app.refuse = lambda number, *_: WRONG
            self.write(self.siem(server), traces=[self.make_trace("few", 3, "--seed", "9")],
                       name="other")
            self.run_agent(LOSSES)
            both = self.letters()
            self.assertEqual(len(both), len(letters) + 3)
            for path in self.spool_folder.glob("catalogue.db*"):
                path.unlink()
            server.app.refuse = None
            self.run_agent()
            self.assertEqual(self.letters(), both)


if __name__ == "__main__":
    unittest.main(argv=[arg for arg in sys.argv if arg != "--full"])
