"""clang-tidy over the program's sources (not the tests) with the checks of .clang-tidy.

    tidy.py BUILD [--deep]     a build folder with compile_commands.json; run from the top of the tree

--deep has the static analyser follow as many states of a function as it does by itself: 225,000. Else it
stops at 12,000, as all files would take a quarter of an hour otherwise.

What was found clean is remembered outside the clone by a hash of all that clang-tidy saw of it, and
not looked at again until that changes.
"""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
FOLDERS = ("agent/", "config/", "outputs/")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "etwship" / "tidy"
ARGUMENTS = ["--quiet", "--extra-arg=-Wno-unknown-warning-option",
             "--extra-arg=-Wno-ignored-optimization-argument"]
STATES = [f"--extra-arg={word}"
          for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=12000")]


def commands(build):
    """The commands of this build only: it has none for sources of other systems. Options that only GCC understands
    are left out."""
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        entry["command"] = re.sub(r" -mmemset-strategy=\S+", "", entry["command"])
        source = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
        if source.startswith(FOLDERS):
            found[source] = entry
    return found


def recorded(build):
    """Of each object that is younger than all that was compiled into it, the files of the project in it. The build
    knows them; to ask clang for each source takes a sixth of the time that clang-tidy takes."""
    done = subprocess.run(["ninja", "-C", build, "-t", "deps"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    found = {}
    for block in done.stdout.split("\n\n"):
        head, *lines = block.strip().splitlines() or [""]
        names = [line.strip() for line in lines if not line.startswith("    /usr/")]
        with contextlib.suppress(OSError):
            made = (build / head.partition(": #deps ")[0]).stat().st_mtime_ns
            if head.endswith("(VALID)") and all((build / name).stat().st_mtime_ns <= made for name in names):
                found[head.partition(": #deps ")[0]] = names
    return found


def asked(entry, options):
    """The same from clang; None: the source includes a missing file."""
    done = subprocess.run(["clang", "-MM", "-w", *options], cwd=entry["directory"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.replace("\\\n", " ").split()[1:] if done.returncode == 0 else None


def seen(entry, common, known):
    """A hash of a source and of all project files that it includes; None: it includes a missing file, which
    clang-tidy reports better."""
    command = shlex.split(entry["command"])
    out = command.index("-o")
    options = [word for word in command[1:out] + command[out + 2:] if word != "-c"]
    names = known.get(command[out + 1]) or asked(entry, options)
    if names is None:
        return None
    told = [word for word in options if word.startswith(("-W", "-std", "-m", "-D"))]
    key = hashlib.sha256(common + " ".join(told).encode())
    for path in sorted({os.path.realpath(os.path.join(entry["directory"], name)) for name in names}):
        key.update(b"\0" + Path(path).read_bytes())
    return key.hexdigest()


def check(source, entry, folder, arguments, common, known):
    key = seen(entry, common, known)
    if key and (CACHE / key).exists():
        return ""
    done = subprocess.run(["clang-tidy", "-p", folder, *arguments, source],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0 and not done.stdout.strip() and key:
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / key).touch()
    return "" if done.returncode == 0 else f"{source}:\n{done.stdout}{done.stderr}"


def main():
    if not shutil.which("clang-tidy") or not shutil.which("clang"):
        print("skipped: clang-tidy is not installed")
        return SKIPPED
    build = Path(sys.argv[1])
    entries, known = commands(build), recorded(build)
    arguments = ARGUMENTS + ([] if "--deep" in sys.argv else STATES)
    version = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, check=True).stdout
    common = version + Path(".clang-tidy").read_bytes() + " ".join(arguments).encode()
    with tempfile.TemporaryDirectory() as folder:
        with open(Path(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(list(entries.values()), file)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            checked = pool.map(lambda item: check(*item, folder, arguments, common, known),
                               sorted(entries.items()))
            said = [text for text in checked if text]
    print("".join(said), end="")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
