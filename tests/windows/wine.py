"""Programs for Windows under Wine: a prefix for one run, and what is needed to skip without it."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
BUILD = Path(os.environ["ETWSHIP_WINDOWS_BUILD"])
EXE = BUILD / "agent" / "etwship.exe"
WINE = os.environ.get("ETWSHIP_WINE", "")
SERVER = shutil.which("wineserver") or "/usr/lib/wine/wineserver64"
# A net under a program that does not end, no measure.
TIMEOUT_S = 300


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def need_build():
    if not EXE.exists():
        skip(f"{EXE} is not there (packaging/windows/cross/build.sh makes it)")


class Prefix:
    """A Windows of its own: made at first use, ended and removed with the run."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="etwship-wine-"))
        self.environment = {**os.environ, "WINEPREFIX": str(self.folder / "prefix"),
                            "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}
        (self.folder / "prefix").mkdir()
        self.server("-p")  # it stays: starting Wine anew takes seconds
        # Its services live on with what they are started with: no pipe, whose end would be awaited.
        subprocess.run([WINE, str(EXE), "version"], env=self.environment, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)

    def server(self, option):
        subprocess.run([SERVER, option], env=self.environment, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)

    def run(self, *arguments, **options):
        return subprocess.run([WINE, *map(str, arguments)], env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False, **options)

    def close(self):
        self.server("-k")
        shutil.rmtree(self.folder, ignore_errors=True)
