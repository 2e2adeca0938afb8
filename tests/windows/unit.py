"""The unit tests that do not ask Linux for anything, in the build for Windows, under Wine.

    unit.py [-R REGEX] [-E REGEX]      by name: those that are run, and those of them that are not
"""

import os
import subprocess
import sys

import wine


def main():
    wine.need(wine.TESTS / "CTestTestfile.cmake")
    if not wine.WINE:
        wine.skip("no Wine (packaging/deps.sh windows)")
    prefix = wine.Prefix()
    try:
        return subprocess.run(
            [os.environ["ETWSHIP_CTEST"], "--test-dir", str(wine.TESTS), "-L", "^unit$", *sys.argv[1:],
             # The same minutes of arithmetic on every system.
             "-LE", "^model$",
             # Wine on a busy machine drops a connection or an answer at times. The same programs run
             # once, and have to pass, on Linux.
             "--repeat", "until-pass:2", "--output-on-failure", "--no-tests=error", "--timeout", str(wine.TIMEOUT_S)],
            env=prefix.environment, check=False).returncode
    finally:
        prefix.close()


if __name__ == "__main__":
    sys.exit(main())
