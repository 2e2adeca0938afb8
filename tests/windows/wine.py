"""Programs for Windows under Wine: a prefix for one run, and what is needed to skip without it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
BUILDS = Path(os.environ["ETWSHIP_WINDOWS_BUILD"])
EXE = BUILDS / "mingw" / "agent" / "etwship.exe"
TESTS = BUILDS / "mingw-tests"
WINE = os.environ.get("ETWSHIP_WINE", "")
# Beside the loader; the `wineserver` in the PATH may be a script that waits for what it starts.
SERVERS = ["wineserver64", "wineserver"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 300


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def wait_until(is_so):
    end = time.monotonic() + TIMEOUT_S
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError("it does not come")
        time.sleep(0.02)


def read_to_end(terminal):
    """What a terminal shows until nobody writes to it any more."""
    shown = b""
    while True:
        try:
            piece = terminal.read(4096)
        except OSError:  # Linux: the last writer has closed it
            piece = b""
        if not piece:
            return shown
        shown += piece


def need(path):
    if not path.exists():
        skip(f"{path} is not there (packaging/windows/cross/build.sh makes it)")


class Prefix:
    """A Windows of its own: made at first use, ended and removed with the run.

    Its services are started by the first program and live on with what that had for output: so no
    program here gets a pipe, whose end would be awaited, but files.
    """

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="etwship-wine-"))
        self.environment = {**os.environ, "WINEPREFIX": str(self.folder / "prefix"),
                            "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}
        (self.folder / "prefix").mkdir()
        # In the foreground, so that its number is known, and staying: starting Wine anew takes
        # seconds.
        self.server = subprocess.Popen([self._server_path(), "-f", "-p"], env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self.run("winecfg", "-v", "win10")  # a new prefix is Windows 7

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
        return subprocess.Popen([WINE, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                env={**self.environment, **options.pop("env", {})},
                                stdout=out, stderr=err, **options)

    def run(self, *arguments, **options):
        """Like subprocess.run; the outputs are bytes."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self.start(*arguments, out=out, err=err, **options)
            try:
                process.wait(TIMEOUT_S)
            finally:
                process.kill()
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, process.returncode, out.read(),
                                               err.read())

    def close(self):
        self.server.terminate()
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
