"""etwship.exe from outside: what it is linked with, and the same bytes as the Linux build.

The program is looked at with objdump, and run under Wine. Each test is a method whose name is its
claim.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import wine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TRACES = Path(os.environ["ETWSHIP_SHARED"]) / "data" / "etl"
HERE = Path(__file__).resolve().parent
MISTAKES = HERE.parent / "integration" / "five_mistakes.yaml"
TOOLS = wine.TOOLS
# Of HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\KnownDLLs: these come from the system's
# folder, whatever lies beside the program.
KNOWN_DLLS = {"advapi32.dll", "kernel32.dll", "msvcrt.dll", "ole32.dll", "psapi.dll", "rpcrt4.dll",
              "sechost.dll", "shell32.dll", "user32.dll", "ws2_32.dll"}
# What is loaded at run time, or would be by a careless library.
PLANTED_DLLS = ["bcrypt", "cryptbase", "iphlpapi", "ntmarta", "profapi", "secur32", "tdh", "userenv", "uxtheme",
                "version"]
# event.created of ecs is when the program ran; the agent has an id for every run.
NOW = re.compile(rb'(?<="created":")[^"]*|(?<=,"agent":){[^}]*}')
REAL_TRACES = ["tx-HTTP_Server.etl", "krabsetw-powershell.etl", "perfview-primitive-types.etl",
               "dotnet-performance-DynamicEvents.etl", "etl-parser-AMSITrace.etl",
               "perfview-SelfDescribingSingleEvent.etl", "syzygy-image_64_v2-win7.etl"]


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.headers = subprocess.run([TOOLS + "objdump", "-p", str(wine.EXE)], check=True,
                                     stdout=subprocess.PIPE).stdout.decode()
        cls.resources = subprocess.run(
            [TOOLS + "windres", "-J", "coff", str(wine.EXE), "-O", "rc"], check=True,
            stdout=subprocess.PIPE).stdout.decode()

    def test_it_is_linked_with_dlls_that_no_user_can_plant(self):
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

    def test_its_manifest_speaks_utf8_knows_long_paths_and_asks_for_no_rights(self):
        manifest = self.resources.partition("1 24 /* RT_MANIFEST */")[2]
        for text in ["UTF-8</activeCodePage>", "true</longPathAware>", 'level=""asInvoker""',
                     'processorArchitecture=""*""']:
            self.assertIn(text, manifest)

    def test_its_properties_are_those_of_the_program(self):
        said = subprocess.run([BINARY, "version"], check=True, stdout=subprocess.PIPE).stdout
        number = said.split()[1].decode()
        self.assertIn(f'VALUE "ProductVersion", "{number}"', self.resources)
        self.assertIn(f" FILEVERSION {number.replace('.', ', ')}, 0", self.resources)
        self.assertIn('VALUE "OriginalFilename", "etwship.exe"', self.resources)


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
        # Weaknesses of these two are mended by a new etwship alone, so their versions must be known.
        self.assertRegex(done.stdout.decode(), r", librdkafka [2-9]\.[0-9.]+, OpenSSL 3\.[0-9.]+\r?\n")

    def test_a_support_bundle_is_whole_and_holds_no_secret(self):
        (self.folder / "bundle.yaml").write_text(
            "agent: {data_dir: data, log: {file: agent.log}}\nsessions: [{name: f, type: file, paths: [one.etl]}]\n"
            "outputs: [{name: es, type: elasticsearch, hosts: ['http://127.0.0.1:9'], "
            "auth: {api_key: 'id:hunter2hunter2'}}]\n")
        (self.folder / "agent.log").write_text("a line, and hunter2hunter2\n")
        done = self.etwship("support", "-o", "bundle.zip", "-c", "bundle.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        with zipfile.ZipFile(self.folder / "bundle.zip") as bundle:
            self.assertIsNone(bundle.testzip())
            members = {name: bundle.read(name).decode() for name in bundle.namelist()}
        self.assertLessEqual({"README.txt", "version.txt", "config.yaml", "check.txt", "status.txt"}, set(members))
        self.assertEqual(members["log.txt"], "a line, and ***\n")
        self.assertNotIn("hunter2", "".join(members.values()))
        self.assertIn("service", members["status.txt"])
        again = self.etwship("support", "-o", "bundle.zip", "-c", "bundle.yaml")
        self.assertEqual(again.returncode, 1)
        self.assertIn(b"already exists", again.stderr)

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

    def test_exit_codes_say_how_it_ended(self):
        cut = self.folder / "cut.etl"
        cut.write_bytes(self.trace.read_bytes()[:100000])
        for arguments, code in [(["version"], 0), (["dump", "nowhere.etl"], 1), (["dump"], 2),
                                (["nonsense"], 2), (["dump", "cut.etl"], 3)]:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.linux(*arguments).returncode, code)
                self.assertEqual(self.etwship(*arguments).returncode, code)

    def test_check_finds_the_same_mistakes(self):
        expected = self.linux("check", "-c", MISTAKES.name, folder=MISTAKES.parent)
        found = self.etwship("check", "-c", MISTAKES.name, folder=MISTAKES.parent)
        self.assertEqual(found.returncode, 2)
        self.assertEqual(found.stderr.replace(b"\r", b""), expected.stderr)

    def configuration(self, folder, session, outputs):
        folder.mkdir()
        (folder / "one.etl").write_bytes(self.trace.read_bytes())
        (folder / "c.yaml").write_text(
            "version: 1\nagent: {data_dir: state, log: {stats: 1h}}\nspool: {min_free_disk: 1MB}\n"
            f"sessions:\n  - {{name: t, type: file, paths: ['*.etl']{session}}}\n"
            f"outputs:\n{outputs}")
        return folder

    def test_run_ships_what_the_linux_agent_ships_to_files_and_stdout(self):
        outputs = ("  - {name: f, type: file, path: 'out/%Y/shipped.ndjson'}\n"
                   "  - {name: s, type: stdout, style: ndjson, format: ecs}\n")
        here = self.configuration(self.folder / "ours", "", outputs)
        there = self.configuration(self.folder / "theirs", "", outputs)
        expected = self.linux("run", "-c", "c.yaml", folder=here)
        found = self.etwship("run", "-c", "c.yaml", folder=there)
        self.assertEqual(found.returncode, expected.returncode, found.stderr)
        self.assertGreater(expected.stdout.count(b"\n"), 1000)
        self.assertTrue(NOW.sub(b"", found.stdout) == NOW.sub(b"", expected.stdout), "stdout")
        files = sorted(path.relative_to(here) for path in here.glob("out/*/*"))
        self.assertTrue(files)
        self.assertEqual(files, sorted(path.relative_to(there) for path in there.glob("out/*/*")))
        for path in files:
            self.assertTrue(NOW.sub(b"", (there / path).read_bytes()) ==
                            NOW.sub(b"", (here / path).read_bytes()), path)
        # What was delivered is known when it starts again.
        again = self.etwship("run", "-c", "c.yaml", folder=there)
        self.assertEqual(again.stdout, b"", again.stderr)

    def test_a_spool_on_a_disk_outlives_the_agent(self):
        # Nobody listens there: everything waits.
        folder = self.configuration(
            self.folder / "durable-ж", "",
            "  - {name: away, type: http, url: 'http://127.0.0.1:9', retry: {min: 10ms, max: 100ms}}\n"
            "  - {name: f, type: file, path: out.ndjson}\n")
        config = folder / "c.yaml"
        config.write_text(config.read_text().replace("agent: {", "agent: {shutdown: 1s, ", 1))
        events = self.linux("dump", "one.etl").stdout.count(b"\n")
        process, terminal = self.prefix.on_terminal(wine.EXE, "run", "-c", "c.yaml", cwd=folder)
        out = folder / "out.ndjson"
        with terminal:
            try:
                wait_until(lambda: process.poll() is not None or (
                    out.exists() and out.read_bytes().count(b"\n") >= events))
                self.assertIsNone(process.poll())
            finally:
                process.kill()
                process.wait()
        verified = self.etwship("spool", "verify", "-c", "c.yaml", folder=folder)
        self.assertIn(b"all good", verified.stdout, verified.stderr)
        exported = self.etwship("spool", "export", "away", "-c", "c.yaml", folder=folder)
        self.assertEqual(exported.stdout.count(b"\n"), events, exported.stderr)
        # Nothing is read again, and what waits is delivered by whoever comes next.
        config.write_text("".join(line for line in config.read_text().splitlines(True)
                                  if "name: f," not in line).replace(
            "type: http, url: 'http://127.0.0.1:9', retry: {min: 10ms, max: 100ms}",
            "type: file, path: late.ndjson"))
        done = self.etwship("run", "-c", "c.yaml", folder=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        late = (folder / "late.ndjson").read_bytes()
        self.assertTrue(NOW.sub(b"", late) == NOW.sub(b"", exported.stdout))

    def test_ctrl_c_ends_it_in_order(self):
        # That closing the window, logging off and shutting down end it in order, too, only Windows
        # can show.
        folder = self.configuration(self.folder / "endless", ", follow: true",
                                    "  - {name: f, type: file, path: out.ndjson}\n")
        events = self.linux("dump", "one.etl").stdout.count(b"\n")
        out = folder / "out.ndjson"
        process, terminal = self.prefix.on_terminal(wine.EXE, "run", "-c", "c.yaml", cwd=folder)
        with terminal:
            try:
                wait_until(lambda: out.exists() and
                                out.read_bytes().count(b"\n") == events)
                terminal.write(b"\x03")
                shown = wine.read_to_end(terminal)
                self.assertEqual(process.wait(wine.TIMEOUT_S), 0, shown)
            finally:
                process.kill()
                process.wait()
        self.assertIn(b"output f: %d events" % events, shown)

    def test_a_dll_that_lies_beside_it_is_not_loaded(self):
        folder = self.configuration(self.folder / "planted", "", "  - {type: stdout}\n")
        program = folder / "etwship.exe"
        program.write_bytes(wine.EXE.read_bytes())
        careless = folder / "careless.exe"
        cc = TOOLS + "gcc"
        subprocess.run([cc, "-o", careless, HERE / "careless.c"], check=True)
        subprocess.run([cc, "-shared", "-o", folder / "bcrypt.dll", HERE / "planted.c"],
                       check=True)
        trap = folder / "planted.txt"
        # Wine prefers a DLL of others where the search finds one.
        environment = {"WINEDLLOVERRIDES": "mscoree,mshtml=;" + ",".join(PLANTED_DLLS) + "=n,b"}
        self.assertEqual(self.prefix.run(careless, "bcrypt.dll", cwd=folder,
                                         env=environment).returncode, 0)
        self.assertTrue(trap.exists(), "the DLL shows nothing")
        trap.unlink()
        for name in PLANTED_DLLS:
            (folder / (name + ".dll")).write_bytes((folder / "bcrypt.dll").read_bytes())
        done = self.prefix.run(program, "run", "-c", "c.yaml", cwd=folder, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(trap.exists())


if __name__ == "__main__":
    wine.need(wine.EXE)
    wine.main()
