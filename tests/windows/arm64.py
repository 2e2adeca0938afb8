"""etwship.exe for ARM64: what its file says, that its packages say the same, and that it runs, under Debian's
Wine for arm64 and an emulator (arm64_wine.sh). The build is that of the preset mingw-arm64."""

import http.server
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
EXE = Path(os.environ["ETWSHIP_WINDOWS_BUILD"]) / "mingw-arm64" / "agent" / "etwship.exe"
HERE = Path(__file__).resolve().parent
PACKAGING = HERE.parents[1] / "packaging" / "windows"
TRACES = Path(os.environ["ETWSHIP_SHARED"]) / "data" / "etl"
SKIPPED = 77
# A net under an emulator that does not end, no measure.
TIMEOUT_S = 900
# What all of Windows on ARM64 has, and loads from the system's folder.
SYSTEM_DLLS = {"advapi32.dll", "bcrypt.dll", "crypt32.dll", "kernel32.dll", "ws2_32.dll"}
NOW = re.compile(rb'(?<="created":")[^"]*|(?<=,"agent":){[^}]*}')


def readobj(option):
    for name in ["llvm-readobj", "llvm-readobj-14"]:
        if shutil.which(name):
            return subprocess.run([name, option, EXE], check=True, stdout=subprocess.PIPE).stdout.decode()
    raise unittest.SkipTest("no llvm-readobj (packaging/deps.sh test)")


class Image(unittest.TestCase):
    def test_it_is_for_arm64_and_can_lie_anywhere_in_memory(self):
        headers = readobj("--file-headers")
        self.assertIn("IMAGE_FILE_MACHINE_ARM64", headers)
        for name in ["DYNAMIC_BASE", "HIGH_ENTROPY_VA", "NX_COMPAT"]:
            self.assertIn("IMAGE_DLL_CHARACTERISTICS_" + name, headers)

    def test_every_dll_comes_from_the_folder_of_the_system(self):
        names = {name.lower() for name in re.findall(r"Import \{\s*Name: (\S+)", readobj("--coff-imports"))}
        # Names that begin so are no files: Windows knows by itself what they stand for.
        dlls = {name for name in names if not name.startswith("api-ms-win-crt-")}
        self.assertIn("kernel32.dll", dlls)
        self.assertLessEqual(dlls, SYSTEM_DLLS)
        # LOAD_LIBRARY_SEARCH_SYSTEM32.
        self.assertIn("DependentLoadFlags: 0x800", readobj("--coff-load-config"))

    def test_the_texts_of_its_events_are_for_arm64_too(self):
        done = subprocess.run([PACKAGING / "arch.sh", EXE.parent / "etwship-messages.dll"], check=True,
                              stdout=subprocess.PIPE)
        self.assertEqual(done.stdout, b"arm64\n")

    def test_it_has_its_manifest_properties_and_texts(self):
        resources = readobj("--coff-resources")
        for name in ["MANIFEST", "VERSIONINFO", "MESSAGETABLE"]:
            self.assertIn(f"Type: {name}", resources)


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etwship-arm64-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_archive_is_called_and_filled_for_arm64(self):
        done = subprocess.run([PACKAGING / "zip.sh", EXE, self.folder], check=True, stdout=subprocess.PIPE)
        path = Path(done.stdout.decode().strip())
        self.assertRegex(path.name, r"^etwship-[0-9.]+-windows-arm64\.zip$")
        with zipfile.ZipFile(path) as archive:
            for name in ["etwship.exe", "etwship-messages.dll"]:
                self.assertEqual(archive.read(f"{path.stem}/{name}"), (EXE.parent / name).read_bytes())
            bill = archive.read(f"{path.stem}/etwship.spdx.json").decode()
            self.assertIn("pkg:pypi/ziglang@", bill)
            self.assertNotIn("gcc-mingw", bill)
            self.assertIn("==== ziglang ====", archive.read(f"{path.stem}/NOTICES.txt").decode())

    def test_windows_installer_takes_it_for_arm64(self):
        package = self.folder / "e.msi"
        done = subprocess.run([PACKAGING / "msi" / "build.sh", "-p", EXE, "-o", package], check=False)
        if done.returncode == SKIPPED:
            self.skipTest("no wixl or msitools (packaging/deps.sh windows)")
        self.assertEqual(done.returncode, 0)
        said = subprocess.run(["msiinfo", "suminfo", package], check=True, stdout=subprocess.PIPE).stdout.decode()
        self.assertRegex(said, r"Template: Arm64;1033")
        self.assertIn("Version: 500", said)


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="etwship-arm64-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        shutil.copy(EXE, cls.folder / "etwship.exe")
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", "2000", "-o", str(cls.folder / "one.etl")],
                       check=True, stdout=subprocess.DEVNULL)
        done = cls.etwship("version")
        if done.returncode == SKIPPED:
            raise unittest.SkipTest(done.stderr.decode().strip())

    @classmethod
    def etwship(cls, *arguments):
        return subprocess.run([HERE / "arm64_wine.sh", cls.folder, r"Z:\files\etwship.exe", *arguments],
                              check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S)

    def assert_same(self, name, *arguments):
        """The bytes are those of Linux, except for the path, which is shown as it was given."""
        expected = subprocess.run([BINARY, *arguments, name], cwd=self.folder, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        found = self.etwship(*arguments, r"Z:\files" + "\\" + name)
        self.assertEqual(found.returncode, expected.returncode, found.stderr)
        path = rb"Z:\\files\\"
        self.assertTrue(expected.stdout)
        self.assertTrue(NOW.sub(b"", found.stdout.replace(path, b"")) == NOW.sub(b"", expected.stdout),
                        f"{arguments} {name}: other bytes")

    def test_it_starts_and_says_what_it_is(self):
        done = self.etwship("version")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("text engine neon", done.stdout.decode())

    def test_a_made_trace_gives_the_bytes_of_linux(self):
        self.assert_same("one.etl", "dump", "-f", "native")
        self.assert_same("one.etl", "dump", "-f", "ecs")

    def test_a_real_trace_gives_the_bytes_of_linux(self):
        name = "perfview-primitive-types.etl"
        if not (TRACES / name).exists():
            self.skipTest(f"no traces at {TRACES}")
        shutil.copy(TRACES / name, self.folder)
        self.assert_same(name, "dump")

    def test_it_ships_over_http_and_keeps_its_place(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        server.bodies = []
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            (self.folder / "etwship.yaml").write_text(
                "agent: {data_dir: 'Z:\\files\\data'}\nspool: {min_free_disk: 1MB}\n"
                "sessions: [{name: f, type: file, paths: ['Z:\\files\\one.etl']}]\n"
                f"outputs: [{{name: h, type: http, url: 'http://127.0.0.1:{server.server_port}/', compression: none}}]\n")
            for _ in range(2):
                done = self.etwship("run", "-c", r"Z:\files\etwship.yaml")
                self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
        lines = [line for body in server.bodies for line in body.split(b"\n") if b'"session":"f"' in line]
        dumped = subprocess.run([BINARY, "dump", "one.etl"], cwd=self.folder, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.count(b"\n")
        self.assertEqual(len(lines), dumped)


if __name__ == "__main__":
    unittest.main()
