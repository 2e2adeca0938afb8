"""Packed traces and standard input from outside: what `dump`, `stat`, `schema` and `run` make of them is what they
make of the traces that were packed.

The packers are Python's own (gzip, zipfile), the zstd program, and a writer of cabinets beside this file's
support. Each test is a method whose name is its claim.
"""

import contextlib
import gzip
import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings
import zipfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import cabinet  # noqa: E402
from support.waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
HAS_ARCHIVES = os.environ.get("ETWSHIP_ARCHIVES", "1") == "1"
TIMEOUT_S = 300  # a net under what does not end, no measure
DONE, FAILED, USAGE, LOSSES = 0, 1, 2, 3
PLAIN = 1500  # events of the trace c, which is not packed
LARGE = 80000
BUFFER_BYTES = 65536
EVENTS = {"a": 3000, "b": 2000}

archives = unittest.skipUnless(HAS_ARCHIVES, "this build has no libarchive")


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", "-c", "-f", *options], input=data, check=True, stdout=subprocess.PIPE,
                          timeout=TIMEOUT_S).stdout


def write_zip(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one test writes a name twice
        for name, data in members:
            archive.writestr(name, data)


class Packed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.traces = Path(folder.name)
        cls.bytes = {}
        for cpus, (name, events) in enumerate([*EVENTS.items(), ("c", PLAIN)], 2):  # so that their headers differ
            path = cls.traces / f"{name}.etl"
            subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(events), "--cpus", str(cpus), "-o",
                            path], check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
            cls.bytes[name] = path.read_bytes()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()

    def tearDown(self):
        self.assertEqual(list(self.temporary.iterdir()), [])

    def etwship(self, *arguments, code=DONE, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        if "input" in options:
            del options["stdin"]
        options.setdefault("env", os.environ | {"TMPDIR": str(self.temporary)})
        done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, timeout=TIMEOUT_S, check=False,
                              cwd=self.folder, **options)
        done.err = done.stderr.decode()
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}: {done.err}")
        return done

    def dump(self, *arguments, **options):
        return self.etwship("dump", "--etw-file", "path", *arguments, **options)

    def put(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def plain(self, names, shown):
        """The output of dump for the traces `names`, with the names `shown`."""
        out = self.dump(*(self.traces / f"{n}.etl" for n in names)).stdout
        for name, other in zip(names, shown):
            path = json.dumps(str(self.traces / f"{name}.etl"), ensure_ascii=False).encode()
            out = out.replace(b'"file":' + path, b'"file":' + json.dumps(other, ensure_ascii=False).encode())
        return out

    def assert_same(self, path, names, shown=None, **options):
        done = self.dump(path, **options)
        self.assertEqual(done.stdout, self.plain(names, shown or [str(path)]))
        self.assertEqual(done.err, "")
        self.assertEqual(done.stdout.count(b"\n"), sum(EVENTS[n] for n in names))

    # What it is packed with.

    def test_a_packed_trace_gives_what_the_trace_gives(self):
        a = self.bytes["a"]
        half = len(a) // 3
        skippable = b"\x52\x2a\x4d\x18\x04\x00\x00\x00abcd"
        for name, data in (
                ("one.etl.gz", gzip.compress(a)),
                ("stored.etl.gz", gzip.compress(a, 0)),
                ("members.etl.gz", gzip.compress(a[:half]) + gzip.compress(b"") + gzip.compress(a[half:])),
                ("padded.etl.gz", gzip.compress(a) + bytes(100000)),
                ("one.etl.zst", zstd(a)),
                ("checked.etl.zst", zstd(a, "--check", "-19")),
                ("frames.etl.zst", zstd(a[:half]) + skippable + zstd(a[half:])),
                ("skip.etl.zst", skippable + zstd(a)),
                # It is the content that counts.
                ("plain.etl.gz", a),
                ("plain.zip", a),
                ("gzip.etl", gzip.compress(a)),
                ("zstd.etl", zstd(a))):
            with self.subTest(name):
                self.assert_same(self.put(name, data), ["a"])

    @archives
    def test_all_traces_of_an_archive_are_merged_by_time(self):
        members = [(f"deep/in/{n}.ETL" if n == "a" else f"{n}.etl", self.bytes[n]) for n in EVENTS]
        others = [("readme.txt", b"no trace"), ("deep/", b""), ("z.etl.txt", b"neither")]
        paths = {n: self.folder / n for n in ("deflated.zip", "stored.zip", "mszip.cab", "stored.cab", "zip.etl")}
        write_zip(paths["deflated.zip"], others + members)
        write_zip(paths["stored.zip"], members + others, zipfile.ZIP_STORED)
        write_zip(paths["zip.etl"], members)
        cabinet.write(paths["mszip.cab"], members + others[:1])
        cabinet.write(paths["stored.cab"], others[:1] + members, cabinet.STORED)
        for name, path in paths.items():
            with self.subTest(name):
                self.assert_same(path, EVENTS, [f"{path}/{member}" for member, _ in members])

    @archives
    def test_names_in_an_archive_are_shown_in_one_line_and_are_all_different(self):
        path = self.folder / "names.zip"
        write_zip(path, [("ü/\x01\n\x7f.etl", self.bytes["a"]), ("../../b.etl", self.bytes["b"]),
                         ("../../b.etl", self.bytes["b"])])
        events = [json.loads(line) for line in self.dump(path).stdout.splitlines()]
        self.assertEqual({e["etw"]["file"] for e in events},
                         {f"{path}/ü/\\x01\\x0a\\x7f.etl", f"{path}/../../b.etl", f"{path}/../../b.etl#3"})
        self.assertEqual(len(events), EVENTS["a"] + 2 * EVENTS["b"])
        data = path.read_bytes().replace("ü/\x01".encode(), b"\xfc\xff/\x01")
        flags = bytes([0x00, 0x08])  # names are UTF-8
        self.put("names.zip", data.replace(b"PK\x03\x04\x14\x00" + flags, b"PK\x03\x04\x14\x00\x00\x00")
                 .replace(b"PK\x01\x02\x14\x03\x14\x00" + flags, b"PK\x01\x02\x14\x03\x14\x00\x00\x00"))
        files = {json.loads(line)["etw"]["file"] for line in self.dump(path).stdout.splitlines()}
        self.assertIn(f"{path}/\\xfc\\xff/\\x01\\x0a\\x7f.etl", files)

    @archives
    def test_a_pattern_finds_packed_and_plain_traces(self):
        write_zip(self.folder / "a.zip", [("a.etl", self.bytes["a"])])
        self.put("b.etl.gz", gzip.compress(self.bytes["b"]))
        shown = [f"{self.folder}/a.zip/a.etl", f"{self.folder}/b.etl.gz"]
        self.assert_same(self.folder / "*", EVENTS, shown)

    # Standard input.

    def test_standard_input_is_read_from_a_pipe_and_from_a_file(self):
        a = self.bytes["a"]
        for data in (a, gzip.compress(a), zstd(a)):
            self.assert_same("-", ["a"], input=data)
            path = self.put("in", b"12345678" + data)
            with path.open("rb") as file:
                file.seek(8, os.SEEK_SET)
                os.lseek(file.fileno(), 8, os.SEEK_SET)
                self.assert_same("-", ["a"], stdin=file)
        done = self.dump("-", self.traces / "b.etl", input=a)
        self.assertEqual(done.stdout, self.plain(EVENTS, ["-", str(self.traces / "b.etl")]))

    @archives
    def test_an_archive_is_read_from_standard_input(self):
        path = self.folder / "both.zip"
        write_zip(path, [(f"{n}.etl", self.bytes[n]) for n in EVENTS])
        self.assert_same("-", EVENTS, ["-/a.etl", "-/b.etl"], input=path.read_bytes())

    def test_what_is_no_trace_on_standard_input_is_said(self):
        self.assertIn("standard input is empty", self.dump("-", code=FAILED, input=b"").err)
        self.assertIn("-: not an .etl trace", self.dump("-", code=FAILED, input=b"x" * 1000).err)
        master, terminal = os.openpty()
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, master)
            stack.callback(os.close, terminal)
            self.assertIn("standard input is a terminal", self.dump("-", code=USAGE,
                                                                       stdin=terminal).err)

    # Other commands.

    def stat(self, *arguments, **options):
        lines = self.etwship("stat", "--json", *arguments, **options).stdout.splitlines()
        found = [json.loads(line) for line in lines]
        for each in found:
            each.pop("decode_seconds")
        return found

    def test_stat_and_schema_take_them_too(self):
        a, path = self.bytes["a"], self.traces / "a.etl"
        packed = self.put("a.etl.gz", gzip.compress(a))
        expected = self.stat(path)
        self.assertEqual(self.stat(packed), [expected[0] | {"file": str(packed)}])
        self.assertEqual(self.stat("-", input=a), [expected[0] | {"file": "-"}])
        self.assertEqual(self.stat("-", input=zstd(a)), [expected[0] | {"file": "-"}])
        for operand, options in ((packed, {}), ("-", {"input": a})):
            for verb in (("list",), ("show", "Etwship-Sample-Dns")):
                self.assertEqual(self.etwship("schema", *verb, operand, **options).stdout,
                                 self.etwship("schema", *verb, path).stdout)
            self.etwship("schema", "export", "-o", "packed.pack", operand, **options)
            self.etwship("schema", "export", "-o", "plain.pack", path)
            self.assertEqual((self.folder / "packed.pack").read_bytes(), (self.folder / "plain.pack").read_bytes())

    @archives
    def test_stat_tells_of_each_trace_of_an_archive(self):
        expected = self.stat(*(self.traces / f"{n}.etl" for n in EVENTS))
        cabinet.write(self.folder / "both.cab", [(f"{n}.etl", self.bytes[n]) for n in EVENTS])
        shown = [e | {"file": f"both.cab/{n}.etl"} for e, n in zip(expected, EVENTS)]
        self.assertEqual(self.stat("both.cab"), shown)

    # What is damaged.

    def assert_damaged(self, name, data, unpacked, word, told=None, shown=None):
        """The file is read like the traces that could be unpacked, and the damage is reported with name and place."""
        path, shown = self.put(name, data), shown or str(self.folder / name)
        plain = self.put("unpacked.etl", unpacked)
        done = self.dump(path, code=LOSSES)
        # A trace that ends between two buffers looks whole.
        expected = self.dump(plain, code=LOSSES if len(unpacked) % BUFFER_BYTES else DONE)
        self.assertEqual(done.stdout, expected.stdout.replace(str(plain).encode(), shown.encode()))
        self.assertTrue(done.stdout)
        self.assertRegex(done.err, rf"warning: {told or shown}: damaged at byte \d+: in the packed file: .*{word}")
        [found] = self.stat(path, code=LOSSES)
        self.assertEqual(found["damage_count"], len(found["damage"]))
        return found["damage"]

    def test_what_came_out_of_a_damaged_file_is_read_and_the_damage_told(self):
        a = self.bytes["a"]
        gz, zst = gzip.compress(a), zstd(a, "--check")
        cut = len(gz) * 2 // 3
        damage = self.assert_damaged("cut.etl.gz", gz[:cut], zlib.decompressobj(31).decompress(gz[:cut]),
                                     "truncated here")
        self.assertEqual(damage[0], {"offset": cut, "what": "in the packed file: the data is truncated here"})
        cut = subprocess.run(["zstd", "-q", "-d", "-c"], input=zst[:len(zst) // 2], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False, timeout=TIMEOUT_S).stdout
        self.assertTrue(a.startswith(cut))
        self.assert_damaged("cut.etl.zst", zst[:len(zst) // 2], cut, "truncated here")
        self.assert_damaged("sum.etl.gz", gz[:-8] + bytes(4) + gz[-4:], a, "incorrect data check")
        self.assert_damaged("length.etl.gz", gz[:-4] + bytes(4), a, "incorrect length check")
        self.assert_damaged("sum.etl.zst", zst[:-4] + bytes(4), a, "checksum")
        self.assert_damaged("behind.etl.gz", gz + b"other bytes", a, "unknown bytes follow")
        self.assert_damaged("second.etl.gz", gz + gz[:18], a, "truncated here")

    @archives
    def test_what_came_out_of_a_damaged_archive_is_read_and_the_damage_told(self):
        a, path = self.bytes["a"], self.folder / "a.zip"
        write_zip(path, [("a.etl", a)], zipfile.ZIP_STORED)
        data = path.read_bytes()
        start = data.index(b"a.etl") + len("a.etl")
        cut = data[:start + len(a) * 2 // 3]
        for told in ("cut.zip", "cut.zip/a.etl"):
            self.assert_damaged("cut.zip", cut, cut[start:], "list of files" if told == "cut.zip" else "Truncated",
                                self.folder / told, str(self.folder / "cut.zip/a.etl"))
        wrong = bytearray(data)
        wrong[14] ^= 1  # the checksum in the first local header
        self.assert_damaged("crc.zip", wrong, a, "CRC", None, str(self.folder / "crc.zip/a.etl"))
        path = self.folder / "a.cab"
        cabinet.write(path, [("a.etl", a)])
        data = bytearray(path.read_bytes())
        blocks = 10
        at = blocks * cabinet.BLOCK_BYTES
        behind = cabinet.block(a[at:at + cabinet.BLOCK_BYTES], a[at - cabinet.BLOCK_BYTES:at], cabinet.MSZIP)
        data[data.index(behind) + len(behind) - 1] ^= 0x40
        self.assert_damaged("flip.cab", data, a[:blocks * cabinet.BLOCK_BYTES], "Checksum", None,
                            str(self.folder / "flip.cab/a.etl"))

    def test_any_damage_ends_as_it_should(self):
        rng = random.Random(11)
        small = self.bytes["b"][:65536 * 3]
        packed = [("x.gz", gzip.compress(small)), ("x.zst", zstd(small))]
        if HAS_ARCHIVES:
            write_zip(self.folder / "x.zip", [("x.etl", small), ("y.etl", small)])
            cabinet.write(self.folder / "x.cab", [("x.etl", small), ("y.etl", small)])
            packed += [(n, (self.folder / n).read_bytes()) for n in ("x.zip", "x.cab")]
        for name, data in packed:
            for _ in range(15):
                wrong = bytearray(data)
                for _ in range(rng.randrange(1, 4)):
                    wrong[rng.randrange(len(wrong))] ^= 1 << rng.randrange(8)
                wrong = wrong[:rng.randrange(len(wrong))] if rng.random() < 0.3 else wrong
                path = self.put(name, wrong)
                done = subprocess.run([BINARY, "dump", "--etw-file", "path", path], capture_output=True,
                                      timeout=TIMEOUT_S, check=False,
                                      env=os.environ | {"TMPDIR": str(self.temporary)})
                self.assertIn(done.returncode, (DONE, FAILED, LOSSES), done.stderr)
                self.assertTrue(done.returncode == DONE or done.stderr)
                for line in done.stdout.splitlines():
                    json.loads(line)

    # What is not read.

    def refused(self, path, words):
        self.assertIn(words, self.dump(path, code=FAILED).err)
        self.assertIn(words, self.etwship("stat", path, code=FAILED).err)

    def test_what_is_not_read_is_said_clearly(self):
        a = self.bytes["a"]
        self.refused(self.put("a.etl.xz", lzma.compress(a)),
                     "is packed with xz, which is not supported. unpack it first")
        self.refused(self.put("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(30)), "is packed with 7-Zip")
        self.refused(self.put("empty.etl.gz", gzip.compress(b"")), "not an .etl trace: the file is empty")
        self.refused(self.put("twice.etl.gz", gzip.compress(gzip.compress(a))), "not an .etl trace")

    @archives
    def test_what_is_not_read_in_an_archive_is_said_clearly_and_the_rest_is_read(self):
        path, whole = self.folder / "a.zip", [("b.etl", self.bytes["b"])]
        write_zip(path, [("readme.txt", b"x")])
        self.refused(path, "a.zip: holds no file whose name ends in .etl or .evtx (number of files: 1)")
        write_zip(path, [("a.etl.gz", gzip.compress(self.bytes["a"])), *whole])
        self.refused(path, "a.zip/a.etl.gz: is a packed file inside an archive. unpack the archive first")
        self.assertEqual(self.dump(path, code=FAILED).stdout, self.plain("b", [f"{path}/b.etl"]))
        for method, name in ((zipfile.ZIP_BZIP2, "bzip"), (zipfile.ZIP_LZMA, "lzma")):
            write_zip(path, [("a.etl", self.bytes["a"])], method)
            self.refused(path, f"a.zip/a.etl: uses an unsupported packing method: ZIP")
            self.assertIn(name, self.dump(path, code=FAILED).err)
        write_zip(path, [("a.etl", self.bytes["a"])])
        data = bytearray(path.read_bytes())
        for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            data[data.index(signature) + flags] |= 1
        self.refused(self.put("locked.zip", data), "locked.zip/a.etl: is encrypted. unpack it with its password first")

    @unittest.skipIf(HAS_ARCHIVES, "this build has libarchive")
    def test_without_libarchive_an_archive_is_refused(self):
        write_zip(self.folder / "a.zip", [("a.etl", self.bytes["a"])])
        self.refused(self.folder / "a.zip", "built without libarchive. unpack it first")

    def test_without_a_folder_for_temporary_files_it_is_said(self):
        path = self.put("a.etl.gz", gzip.compress(self.bytes["a"]))
        done = self.dump(path, code=FAILED, env=os.environ | {"TMPDIR": str(self.folder / "none")})
        self.assertIn("cannot make a temporary file. set TMPDIR to a folder with room", done.err)

    # The agent.

    def write(self, paths, data_dir=True, **session):
        config = self.folder / "etwship.yaml"
        config.write_text(json.dumps({
            "agent": {"log": {"stats": "0s"}} | ({"data_dir": str(self.folder / "state")} if data_dir else {}),
            "sessions": [{"name": "s", "type": "file", "paths": [str(p) for p in paths]} | session],
            "outputs": [{"name": "o", "type": "file", "path": str(self.folder / "out.ndjson"),
                         "batch": {"events": 300}}]} | (
                             {"spool": {"min_free_disk": "1MB", "sync": {"interval": "5ms"}}} if data_dir else {})))
        return config

    def events(self):
        out = self.folder / "out.ndjson"
        return [json.loads(line) for line in out.read_bytes().splitlines()] if out.exists() else []

    def assert_each_once(self, names, times=1):
        expected = [json.loads(line)["@timestamp"] for name in names
                    for line in self.plain([name], [name]).splitlines()] * times
        self.assertEqual(sorted(e["@timestamp"] for e in self.events()), sorted(expected))
        self.assertEqual(sorted(e["etw"]["sequence"] for e in self.events()), list(range(1, len(expected) + 1)))

    def make_sources(self):
        sources = [self.put("a.etl.gz", gzip.compress(self.bytes["a"]))]
        if HAS_ARCHIVES:
            sources.append(self.folder / "b.zip")
            write_zip(sources[-1], [("b.etl", self.bytes["b"])])
        else:
            sources.append(self.put("b.etl.zst", zstd(self.bytes["b"])))
        return sources

    def test_a_killed_agent_goes_on_in_a_packed_trace_where_it_was(self):
        rng = random.Random(5)
        # Large enough to be killed in, first.
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(LARGE), "-o", self.folder / "large.etl"],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        expected = [json.loads(line)["@timestamp"] for path in (
            self.folder / "large.etl", *(self.traces / f"{n}.etl" for n in "abc"))
            for line in self.dump(path).stdout.splitlines()]
        large = self.put("large.etl.gz", gzip.compress((self.folder / "large.etl").read_bytes(), 1))
        sources = [large, *self.make_sources(), self.traces / "c.etl"]
        total = len(expected)
        for merge in ("each", "all"):
            config = self.write(sources, merge=merge)
            kills = 0
            for seen in (1, 1, rng.randrange(1, large.stat().st_size)):
                with tempfile.TemporaryFile() as log:
                    agent = subprocess.Popen([BINARY, "run", "-c", config], stderr=log,
                                             env=os.environ | {"TMPDIR": str(self.temporary)})
                    self.addCleanup(agent.wait)
                    self.addCleanup(agent.kill)
                    out = self.folder / "out.ndjson"
                    wait_until(lambda a=agent, s=seen, o=out: a.poll() is not None
                               or (o.exists() and o.stat().st_size >= s), tick_s=0.001)
                    kills += agent.poll() is None
                    agent.send_signal(signal.SIGKILL)
                    agent.wait(TIMEOUT_S)
                self.assertEqual(list(self.temporary.iterdir()), [])
                # What cannot be unpacked now must not be counted as if it was not there.
                if self.etwship("run", "-c", config, code=None,
                                env=os.environ | {"TMPDIR": str(self.folder / "none")}).returncode == DONE:
                    break
            done = self.etwship("run", "-c", config)
            self.assertEqual(sorted(e["@timestamp"] for e in self.events()), sorted(expected))
            self.assertEqual(sorted(e["etw"]["sequence"] for e in self.events()), list(range(1, total + 1)))
            self.assertGreater(kills, 0)
            self.assertNotIn("damaged", done.err)
            (self.folder / "out.ndjson").unlink()
            shutil.rmtree(self.folder / "state")

    def test_the_unpacked_copy_of_a_trace_that_is_done_is_the_same_trace(self):
        sources = self.make_sources()
        self.etwship("run", "-c", self.write(sources))
        self.assert_each_once(EVENTS)
        for source in sources:
            source.unlink()
        self.etwship("run", "-c", self.write([self.traces / f"{n}.etl" for n in EVENTS]))
        self.assert_each_once(EVENTS)

    def test_a_trace_beside_its_packed_copy_comes_twice_as_any_copy_does(self):
        packed = self.put("copy.etl.gz", gzip.compress(self.bytes["a"]))
        config = self.write([packed, self.traces / "a.etl"])
        self.etwship("run", "-c", config)
        self.assert_each_once("a", times=2)
        self.etwship("run", "-c", config)
        self.assert_each_once("a", times=2)

    def test_without_a_data_folder_nothing_is_left(self):
        config = self.write(self.make_sources(), data_dir=False)
        before = sorted(self.folder.iterdir())
        self.etwship("run", "-c", config)
        self.assertEqual(sorted(self.folder.iterdir()), sorted([*before, self.folder / "out.ndjson"]))
        self.assert_each_once(EVENTS)

    def test_damage_of_a_packed_trace_is_a_loss_of_the_agent(self):
        cut = gzip.compress(self.bytes["a"])[:-100000]
        done = self.etwship("run", "-c", self.write([self.put("cut.etl.gz", cut)]), code=LOSSES)
        self.assertIn(f"cut.etl.gz: damaged at byte {len(cut)}: in the packed file: the data is truncated here",
                      done.err)
        self.assertTrue(self.events())

    def test_packed_traces_are_not_followed(self):
        config = self.write([self.folder / "*.etl.gz"], follow=True)
        done = self.etwship("check", "-c", config, code=USAGE)
        self.assertIn("follow cannot read packed files", done.stdout.decode() + done.err)
        self.put("a.etl", gzip.compress(self.bytes["a"]))
        config = self.write([self.folder / "*.etl"], follow=True, poll="10ms")
        with tempfile.TemporaryFile() as log:
            agent = subprocess.Popen([BINARY, "run", "-c", config], stderr=log)
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)

            def said():
                return os.pread(log.fileno(), 1 << 20, 0).decode()
            wait_until(lambda: "is packed with gzip; packed files do not grow" in said(), said, agent)
            agent.terminate()
            agent.wait(TIMEOUT_S)


if __name__ == "__main__":
    unittest.main()
