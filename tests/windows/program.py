"""etwship.exe from outside: what it is linked with, and the same bytes as the Linux build.

The program is looked at with objdump, and run under Wine. Each test is a method whose name is its
claim.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

import wine

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TRACES = Path(os.environ["ETWSHIP_SHARED"]) / "data" / "etl"
OBJDUMP = "x86_64-w64-mingw32-objdump"
# HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\KnownDLLs: these come from the system's
# folder, whatever lies beside the program.
KNOWN_DLLS = {"advapi32.dll", "kernel32.dll", "msvcrt.dll", "shell32.dll"}
# event.created of ecs is when the program ran.
NOW = re.compile(rb'(?<="created":")[^"]*')
REAL_TRACES = ["tx-HTTP_Server.etl", "krabsetw-powershell.etl", "perfview-primitive-types.etl",
               "dotnet-performance-DynamicEvents.etl", "etl-parser-AMSITrace.etl",
               "perfview-SelfDescribingSingleEvent.etl", "syzygy-image_64_v2-win7.etl"]


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.headers = subprocess.run([OBJDUMP, "-p", str(wine.EXE)], check=True,
                                     stdout=subprocess.PIPE).stdout.decode()

    def test_it_is_linked_with_dlls_that_nobody_can_plant(self):
        found = {name.lower() for name in re.findall(r"DLL Name: (\S+)", self.headers)}
        self.assertIn("kernel32.dll", found)
        self.assertLessEqual(found, KNOWN_DLLS)

    def test_it_can_lie_anywhere_in_memory_and_its_data_does_not_run(self):
        # PE format, "DLL characteristics".
        flags = int(re.search(r"^DllCharacteristics\s+([0-9a-f]+)", self.headers, re.M)[1], 16)
        for name, bit in [("HIGH_ENTROPY_VA", 0x20), ("DYNAMIC_BASE", 0x40), ("NX_COMPAT", 0x100)]:
            self.assertTrue(flags & bit, name)

    def test_it_can_be_moved_at_all(self):
        self.assertRegex(self.headers, r"Entry 5 [0-9a-f]*[1-9a-f][0-9a-f]* \S+ Base Relocation")

    def test_it_says_that_it_speaks_utf8_and_knows_long_paths(self):
        image = wine.EXE.read_bytes()
        for text in [b"UTF-8</activeCodePage>", b"true</longPathAware>", b'level="asInvoker"',
                     "OriginalFilename".encode("utf-16-le")]:
            self.assertIn(text, image)


@unittest.skipUnless(wine.WINE, "no Wine (packaging/deps.sh windows)")
class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = wine.Prefix()
        cls.folder = cls.prefix.folder
        cls.trace = cls.folder / "one.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", "3000", "-o", str(cls.trace)],
                       check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.prefix.close()

    def etwship(self, *arguments, folder=None):
        return self.prefix.run(wine.EXE, *arguments, cwd=folder or self.folder)

    def linux(self, *arguments, folder=None):
        return subprocess.run([BINARY, *arguments], cwd=folder or self.folder, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def assert_same(self, *arguments, folder=None):
        expected = self.linux(*arguments, folder=folder)
        found = self.etwship(*arguments, folder=folder)
        self.assertEqual(found.returncode, expected.returncode, found.stderr)
        self.assertTrue(expected.stdout)
        self.assertTrue(NOW.sub(b"", found.stdout) == NOW.sub(b"", expected.stdout),
                        f"{arguments}: other bytes")

    def test_version_tells_the_compiler_and_the_libraries(self):
        done = self.etwship("version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout.decode(), r"\Aetwship [0-9.]+ \(.+\)\ncompiler gcc .+\n")

    def test_a_made_trace_gives_the_bytes_of_linux_in_every_format(self):
        self.assert_same("dump", "-f", "native", "one.etl")
        self.assert_same("dump", "-f", "ecs", "one.etl")
        self.assert_same("dump", "--pretty", "one.etl")
        self.assert_same("stat", "one.etl")

    def test_real_traces_give_the_bytes_of_linux(self):
        if not TRACES.is_dir():
            self.skipTest(f"no traces at {TRACES}")
        for name in REAL_TRACES:
            with self.subTest(trace=name):
                self.assert_same("dump", name, folder=TRACES)

    def test_paths_may_be_long_and_in_any_script(self):
        folder = self.folder / ("Ереванский-журнал-" * 5) / ("日本語" * 20) / "x" / ("y" * 100)
        folder.mkdir(parents=True)
        copy = folder / "ärger 🙂.etl"
        copy.write_bytes(self.trace.read_bytes())
        units = len(str(copy).encode("utf-16-le")) // 2
        self.assertGreater(units, 260)
        out = folder / "次.ndjson"
        done = self.etwship("dump", "-o", "Z:" + str(out), "Z:" + str(copy))
        self.assertEqual(done.returncode, self.linux("dump", str(copy)).returncode, done.stderr)
        lines = out.read_bytes().split(b"\n")
        self.assertEqual(len(lines), len(self.linux("dump", str(copy)).stdout.split(b"\n")))
        self.assertIn("ärger 🙂.etl".encode(), lines[0])

    def test_patterns_are_ours_to_expand(self):
        folder = self.folder / "many" / "deep"
        folder.mkdir(parents=True)
        for name in ["a.etl", "b.etl"]:
            (folder / name).write_bytes(self.trace.read_bytes())
        done = self.etwship("stat", "many\\**\\A.ETL")
        self.assertEqual(done.returncode, self.linux("stat", "one.etl").returncode, done.stderr)
        self.assertIn(b"a.etl", done.stdout)
        self.assertNotIn(b"b.etl", done.stdout)

    def test_a_missing_file_is_told_with_its_name(self):
        done = self.etwship("dump", "gibt-es-nicht-ä.etl")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("gibt-es-nicht-ä.etl", done.stderr.decode("utf-8"))

    def test_run_ships_a_trace_to_a_file(self):
        (self.folder / "c.yaml").write_text(
            "version: 1\nagent: {data_dir: state}\n"
            "sessions:\n  - {name: t, type: file, paths: [one.etl]}\n"
            "outputs:\n  - {name: f, type: file, path: 'out/shipped.ndjson'}\n")
        done = self.etwship("run", "-c", "c.yaml")
        events = self.linux("dump", "one.etl").stdout.count(b"\n")
        self.assertIn(done.returncode, (0, 3), done.stderr.decode())
        shipped = (self.folder / "out" / "shipped.ndjson").read_bytes()
        self.assertEqual(shipped.count(b"\n"), events, done.stderr.decode())


if __name__ == "__main__":
    wine.need(wine.EXE)
    unittest.main()
