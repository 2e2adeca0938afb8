"""Programs for Windows under Wine: a prefix for one run, and what is needed to skip without it."""

import fcntl
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import unittest
from pathlib import Path

SKIPPED = 77
BUILDS = Path(os.environ["ETWSHIP_WINDOWS_BUILD"])
TESTS = BUILDS / "mingw"
EXE = TESTS / "agent" / "etwship.exe"
MESSAGES = EXE.with_name("etwship-messages.dll")
ETWSIM = TESTS / "tests" / "support" / "etw_sim" / "etwsim.dll"
TOOLS = "x86_64-w64-mingw32-"
WINE = os.environ.get("ETWSHIP_WINE", "")
# Beside the loader; the `wineserver` in the PATH may be a script that waits for what it starts.
SERVERS = ["wineserver64", "wineserver"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
TRIES = 3


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def read_piece(terminal):
    """The next output on a terminal; nothing: no program writes to it any more."""
    try:
        return terminal.read(4096)
    except OSError:  # Linux: the last writer has closed it
        return b""


def read_to_end(terminal):
    """All output on a terminal, until no program writes to it any more."""
    shown = b""
    while piece := read_piece(terminal):
        shown += piece
    return shown


def need(path):
    if not path.exists():
        skip(f"{path} is not there (packaging/windows/cross/build.sh makes it)")


def names_of(suite):
    """The names by which unittest finds the tests of a suite again."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names_of(test)
        else:
            yield test.id().removeprefix("__main__.")


def main(names=None):
    """Run the tests of the script, and those that failed once more with a Wine of their own.

    Wine itself fails now and then, the more so on a busy machine: a program does not begin, a service
    that has ended at once "does not answer" (error 1053). Four of 135 runs of msi.py met that. A test
    that fails twice has failed.
    """
    here = sys.modules["__main__"]
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names, here) if names else loader.loadTestsFromModule(here)
    ids = list(names_of(suite))
    result = unittest.TextTestRunner().run(suite)
    failed = [test.id() for test, _ in result.failures + result.errors]
    if not failed:
        sys.exit(0)
    # What failed in setUpClass has no name of its own.
    again = [name for name in ids if any(name in one for one in failed)] or ids
    print(f"Once more, with another Wine: {', '.join(again)}", file=sys.stderr)
    sys.exit(not unittest.TextTestRunner().run(loader.loadTestsFromNames(again, here)).wasSuccessful())


def exports(dll):
    """The names that a DLL exports."""
    headers = subprocess.run([TOOLS + "objdump", "-p", str(dll)], check=True,
                             stdout=subprocess.PIPE).stdout.decode()
    table = headers.split("[Ordinal/Name Pointer] Table", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\s+\[\s*\d+\](?: \+base\[\s*\d+\]\s+[0-9a-f]+)? (\w+)$", table, re.M)


class Prefix:
    """A Windows of its own: made at first use, ended and removed with the run.

    Its services are started by the first program and live on with what that had for output: so no
    program here gets a pipe, whose end would be awaited, but files.
    """

    def __init__(self, events=False):
        """`events`: events for the Event Log, which Wine does not keep, go to self.said, as Wine shows them. Only
        services write them, because they inherit that output."""
        self.folder = Path(tempfile.mkdtemp(prefix="etwship-wine-"))
        self.said = self.folder / "said"
        self.system = self.folder / "prefix" / "drive_c" / "windows" / "system32"
        self.environment = {**os.environ, "WINEPREFIX": str(self.folder / "prefix"),
                            "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}
        for _ in range(TRIES):
            (self.folder / "prefix").mkdir()
            # In the foreground, so that its number is known, and staying: starting Wine anew takes
            # seconds.
            self.server = subprocess.Popen([self._server_path(), "-f", "-p"], env=self.environment,
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
            self._make(["winecfg", "-v", "win10"],  # a new prefix is Windows 7
                       {"WINEDEBUG": "-all,+eventlog"} if events else {})
            if self._is_whole():
                return
            self._end_server()
            shutil.rmtree(self.folder / "prefix", ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        raise RuntimeError("Wine has made no whole prefix")

    def _is_whole(self):
        """On a busy machine the setup of a prefix was seen to stop early while `winecfg` succeeded. Without the
        providers of cryptography, which it registers late, no certificate is trusted."""
        providers = r"HKLM\Software\Microsoft\Cryptography\Defaults\Provider Types\Type 024"
        return self.run("reg", "query", providers).returncode == 0

    def _make(self, command, environment):
        """The first program makes the prefix, and starts services that live on with its output. It fails if the
        server is still making its folder ("chdir to /tmp/wine-…: No such file or directory")."""
        with open(self.said, "wb") as said:
            for _ in range(TRIES):
                process = self.start(*command, out=said, err=said, env=environment)
                try:
                    code = process.wait(TIMEOUT_S)
                finally:
                    process.kill()
                    process.wait()
                if code == 0:
                    break

    @staticmethod
    def _server_path():
        folders = [str(Path(WINE).parent), os.environ.get("PATH", "")]
        for folder in folders:
            for name in SERVERS:
                found = shutil.which(name, path=folder)
                if found:
                    return found
        skip("no wineserver")

    def start(self, *arguments, out, err, **options):
        return subprocess.Popen([WINE, *map(str, arguments)],
                                stdin=options.pop("stdin", subprocess.DEVNULL),
                                env={**self.environment, **options.pop("env", {})},
                                stdout=out, stderr=err, **options)

    def run(self, *arguments, **options):
        """Like subprocess.run; the outputs are bytes, without Wine's own messages at the end of a process with
        several threads. A program that failed without a word is run once more, because none does so here by itself:
        on a busy machine Wine was seen to fail before the program begins, in a DLL or by the loss of its server's
        connection."""
        done = self._run(*arguments, **options)
        silent = not done.stdout and not done.stderr
        return self._run(*arguments, **options) if done.returncode and silent else done

    def _run(self, *arguments, timeout_s=TIMEOUT_S, **options):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self.start(*arguments, out=out, err=err, **options)
            try:
                process.wait(timeout_s)
            finally:
                process.kill()
            out.seek(0)
            err.seek(0)
            said = re.sub(rb"^wine client error:.*\n", b"", err.read(), flags=re.M)
            return subprocess.CompletedProcess(arguments, process.returncode, out.read(), said)

    def on_terminal(self, *arguments, **options):
        """Start it with a terminal for all three streams: the process, and the other end.

        Wine turns the signal of a terminal into the event of a console.
        """
        outer, inner = pty.openpty()
        environment = {**self.environment, "TERM": "xterm", **options.pop("env", {})}
        process = subprocess.Popen(
            [WINE, *map(str, arguments)], stdin=inner, stdout=inner, stderr=inner,
            env=environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options)
        os.close(inner)
        # Who reads the terminal waits for the end of a program that Wine keeps from ending.
        net = threading.Timer(TIMEOUT_S, process.kill)
        net.daemon = True
        net.start()
        return process, os.fdopen(outer, "r+b", 0)

    def hand_on(self, dll, names, source=None):
        """Replace a DLL of Wine by one with the exports `names`: each leads to an export of another DLL, or of the C
        file `source`."""
        lines = "".join(f"    {name} = {target}\n" for name, target in sorted(names.items()))
        with tempfile.TemporaryDirectory() as scratch:
            definition = Path(scratch) / f"{dll}.def"
            definition.write_text(f"LIBRARY {dll}.dll\nEXPORTS\n{lines}")
            main = source or Path(scratch) / "main.c"
            if not source:
                main.write_text("int main_of_dll(void) { return 1; }\n")
            made = Path(scratch) / f"{dll}.dll"
            subprocess.run([TOOLS + "gcc", "-shared", "-nostdlib", "-Wl,-e,main_of_dll", "-o",
                            made, main, definition, "-lkernel32"], check=True)
            # The old one may be in use: it is replaced, not overwritten.
            os.replace(shutil.copy(made, self.system / f"{dll}.new"), self.system / f"{dll}.dll")

    def _end_server(self):
        self.server.send_signal(signal.SIGINT)  # ends its programs, too; SIGTERM leaves them behind
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()

    def close(self):
        self._end_server()
        shutil.rmtree(self.folder, ignore_errors=True)


class Simulated(Prefix):
    """A Windows whose Event Tracing is the simulator's, for programs as they are.

    What they load are DLLs of Windows' names that only hand on: tdh.dll to etwsim.dll, sechost.dll
    what etwsim.dll has to that, and everything else to a copy of Wine's own.
    """

    def __init__(self):
        super().__init__()
        self.environment["WINEDLLOVERRIDES"] += ";tdh,sechost=n,b"
        shutil.copy(ETWSIM, self.system)
        shutil.copy(self.system / "sechost.dll", self.system / "sechost_b.dll")
        simulated = {name: f"etwsim.{name}" for name in exports(ETWSIM)}
        own = {name: f"sechost_b.{name}" for name in exports(self.system / "sechost_b.dll")}
        self.hand_on("tdh", simulated)
        self.hand_on("sechost", {**own, **simulated})


class Unkind(Prefix):
    """A Windows that judges certificates like the real one (unkind_crypt32.c)."""

    def __init__(self):
        super().__init__()
        self.environment["WINEDLLOVERRIDES"] += ";crypt32=n,b"
        own = {name: f"crypt32_b.{name}" for name in exports(self.system / "crypt32.dll")}
        self._copy_builtin("crypt32", "crypt32_b")
        self.hand_on("crypt32", {**own, "CertGetCertificateChain": "unkind_get_chain"},
                     Path(__file__).resolve().parent / "unkind_crypt32.c")

    def _copy_builtin(self, dll, name):
        """Wine's own DLL with another name. Wine looks for its Linux half by that name, too."""
        library = self.folder / "wine"
        for half, suffix in [("x86_64-windows", "dll"), ("x86_64-unix", "so")]:
            found = [folder / half / f"{dll}.{suffix}" for folder in self._libraries()
                     if (folder / half / f"{dll}.{suffix}").exists()]
            if not found:
                skip(f"no {dll}.{suffix} of Wine")
            (library / half).mkdir(parents=True)
            shutil.copy(found[0], library / half / f"{name}.{suffix}")
        shutil.copy(library / "x86_64-windows" / f"{name}.dll", self.system)
        self.environment["WINEDLLPATH"] = str(library)

    @staticmethod
    def _libraries():
        """Folders that may hold what Wine is made of."""
        beside = Path(WINE).resolve().parent
        return [beside, beside / "wine", beside.parent / "lib" / "wine",
                *sorted(Path("/usr/lib").glob("*-linux-gnu/wine"))]
