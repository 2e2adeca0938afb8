"""Changes the code at random, one place at a time, and asks the unit tests whether they notice.

    run.py [--per-folder N] [--seed N] [--folder FOLDER]... [--integration] [--least PERCENT] [--jobs N]

The sources are copied to build/mutation and built there. A mutant is one operator, applied
to one line of a function: another comparison, `&&` for `||`, a negation or a `+ 1` that is left out, another
`true` or `false`, a statement that is deleted. Functions are drawn first, then a place in each, so that long ones
do not count more. A mutant is caught if a unit test of its layer fails, crashes, or takes ten times as long: the
tests that are named after its file run first, the others of the layer if those pass. With --integration the
integration tests judge what all of these let pass. Tests that fail without any change are named and left out.

What is caught by none survives, and is listed with its line before and after: a test is missing there, or nothing
that the line does can be seen (an optimisation, a second check of one fact), and then it may be simpler. What
compiles to the same code does not count. About one change in eight cannot be seen all the same, so no sample
reaches 100 %. One seed gives the same mutants as long as the sources stay, also with --folder.

FOLDER is one of the layers: base, store, outputs and so on. The exit code is 1 if less than PERCENT of the
mutants were caught.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
SOURCE = WORK / "src"
BUILD = WORK / "build"
RUN = WORK / "run"
PRODUCT = ("agent", "config", "outputs")

BUILD_TIMEOUT_S = 3600
LONGEST_TEST_S = 120
LEAST_TEST_TIMEOUT_S = 10
SLOWER = 10
SKIPPED = 77
# A mutant may allocate, or write, without an end.
MEMORY_BYTES = 8 << 30
FILE_BYTES = 2 << 30

# Each is applied at one match in one line of code.
OPERATORS = tuple((re.compile(pattern), replacement) for pattern, replacement in (
    (r" == ", " != "),
    (r" != ", " == "),
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" &&(?= |$)", " ||"),
    (r" \|\|(?= |$)", " &&"),
    (r"(?<=[(\s])!(?=[a-z(])", ""),
    (r" [-+] 1\b(?!\.)", ""),
    (r"(?<=\breturn )true(?=;)", "false"),
    (r"(?<=\breturn )false(?=;)", "true"),
    (r"(?<= = )true(?=;)", "false"),
    (r"(?<= = )false(?=;)", "true"),
    (r"^\s+(break|continue);$", ";"),
    (r"^\s+\*?[a-z]\w*((->|\.)\w+|\[[^]]+\])* [-+*|&^]?= [^;{]+;$", ";"),
    (r"^\s+(--|\+\+)?\*?[a-z]\w*((->|\.)\w+|\[[^]]+\])*(--|\+\+);$", ";"),
    (r"^\s+[a-z]\w+\([^;{]*\);$", ";"),
))
# Not code, or checked when it is compiled.
LEFT_ALONE = re.compile(r"\s*(\*[ /]|\*$|/\*|//|#|static_assert|assert\b|case |default:)")
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"' r"|'(?:[^'\\]|\\.)*'")


# ---- places -----------------------------------------------------------------------------------------------


def code_of(line):
    """The line without its comment, with blanks in place of what stands in quotes."""
    line = LITERAL.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', line)
    return line.split("/*")[0].rstrip()


def functions(path):
    """For each function of a file its places: (line number, operator, match number)."""
    found = None
    for number, line in enumerate((SOURCE / path).read_text().splitlines()):
        if line == "{":
            found = []
        elif line == "}" and found is not None:
            if found:
                yield found
            found = None
        elif found is not None and not LEFT_ALONE.match(line):
            found += [(number, operator, match)
                      for operator, (pattern, _) in enumerate(OPERATORS)
                      for match in range(len(list(pattern.finditer(code_of(line)))))]


def mutate(path, place):
    """Write the mutant into the copy; return the file's text, and the line, before, and the line after."""
    number, operator, wanted = place
    text = (SOURCE / path).read_text()
    lines = text.splitlines()
    before = lines[number]
    pattern, replacement = OPERATORS[operator]
    match = list(pattern.finditer(code_of(before)))[wanted]
    lines[number] = before[:match.start()] + replacement + before[match.end():]
    (SOURCE / path).write_text("\n".join(lines) + "\n")
    return text, before.strip(), lines[number].strip()


# ---- building and running ---------------------------------------------------------------------------------


def limit_resources():
    """Of this process and all that it starts."""
    for kind, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, FILE_BYTES)):
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, timeout_s, **options):
    """The exit code; None: it took too long, and was ended with all that it had started."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True, **options) as process:
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def build_all(args):
    return run(["ninja", "-C", str(BUILD), f"-j{args.jobs}"], BUILD_TIMEOUT_S) == 0


def integration_passes(args):
    return run(["ctest", "--test-dir", str(BUILD), "-L", "integration", "-LE", "full", f"-j{args.jobs}",
                "--stop-on-failure"], BUILD_TIMEOUT_S) == 0


def remove(folder):
    """With the disks of its own that a test which was ended had mounted there."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[1].startswith(folder + "/"):
            run(["umount", line.split()[1]], BUILD_TIMEOUT_S)
    shutil.rmtree(folder, ignore_errors=True)


class Layer:
    """The sources of one folder with their object files, and the unit tests that are run for them."""

    def __init__(self, name, objects, args, scratch):
        self.name, self.objects, self.args, self.scratch = name, objects, args, scratch
        self.code = {}
        folder = ROOT / "tests" / "unit" / name
        # In seconds: how long a test may take.
        self.limits = {path.stem.removeprefix("test_"): LONGEST_TEST_S for path in sorted(folder.glob("test_*.c"))}

    def build(self, tests):
        targets = [f"unit_{self.name}_{test}" for test in tests]
        return run(["ninja", "-C", str(BUILD), f"-j{self.args.jobs}", *targets], BUILD_TIMEOUT_S) == 0

    def run_test(self, test):
        folder = tempfile.mkdtemp(dir=RUN)
        scratch = tempfile.mkdtemp(dir=self.scratch)
        environment = {**os.environ, "TMPDIR": scratch, "ETWSHIP_SHARED": str(ROOT.parent / "shared")}
        begin = time.monotonic()
        code = run([str(BUILD / "tests" / "unit" / f"unit_{self.name}_{test}")], self.limits[test],
                   cwd=folder, env=environment)
        remove(folder)
        remove(scratch)
        return code in (0, SKIPPED), time.monotonic() - begin

    def measure(self):
        """Leave out what fails without a change, and learn how long the others take."""
        if not self.build(self.limits):
            sys.exit(f"{self.name}: its unit tests do not build")
        self.code = {path: compiled.read_bytes() for path, compiled in self.objects.items() if compiled.exists()}
        for test in list(self.limits):
            passed, seconds = self.run_test(test)
            if passed:
                self.limits[test] = max(LEAST_TEST_TIMEOUT_S, SLOWER * seconds)
            else:
                print(f"{self.name:12} left out: unit.{self.name}.{test} fails here without a change",
                      flush=True)
                del self.limits[test]

    def any_fails(self, tests):
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            results = [pool.submit(self.run_test, test) for test in tests]
            for result in concurrent.futures.as_completed(results):
                if not result.result()[0]:
                    pool.shutdown(wait=False, cancel_futures=True)
                    return True
        return False

    def judge(self, path):
        """'caught', 'survived', or 'invalid': the mutant does not compile, or to the same code."""
        own = [test for test in self.limits if test == path.stem or test.startswith(path.stem + "_")]
        others = [test for test in self.limits if test not in own]
        for tests in (own, others):
            if tests and (not self.build(tests) or self.objects[path].read_bytes() == self.code[path]):
                return "invalid"
            if tests and self.any_fails(tests):
                return "caught"
        if self.args.integration:
            return "survived" if build_all(self.args) and integration_passes(self.args) else "caught"
        return "survived"


# ---- the whole --------------------------------------------------------------------------------------------


def prepare(args):
    shutil.rmtree(SOURCE, ignore_errors=True)
    remove(str(RUN))
    RUN.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT, SOURCE, symlinks=True, ignore=lambda folder, names: [
        name for name in names if Path(folder) == ROOT and (name == ".git" or name.startswith("build"))])
    if run(["cmake", "-G", "Ninja", "-S", str(SOURCE), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_C_FLAGS_DEBUG=-O1", "-DCMAKE_C_FLAGS=-w", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            "-DETWSHIP_TESTS=ON", f"-DETWSHIP_SHARED={ROOT.parent / 'shared'}"], BUILD_TIMEOUT_S) != 0:
        sys.exit(f"the sources cannot be configured in {BUILD}")
    if args.integration and not (build_all(args) and integration_passes(args)):
        sys.exit("integration tests fail here without a change")


def sources_by_layer():
    """What is compiled here, so nothing that only Windows compiles."""
    found = defaultdict(dict)
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if not path.is_relative_to(SOURCE):
            continue
        path = path.relative_to(SOURCE)
        name = path.parts[1] if path.parts[0] == "agent" else path.parts[0]
        if path.parts[0] in PRODUCT and (ROOT / "tests" / "unit" / name).is_dir():
            found[name].setdefault(path, BUILD / re.search(r" -o (\S+)", entry["command"])[1])
    return dict(sorted(found.items()))


def sample(layer, args, survivors):
    """Judge mutants of a layer; return how many were caught and how many there were."""
    dice = random.Random(f"{args.seed} {layer.name}")
    drawn = [(path, places) for path in sorted(layer.code) for places in functions(path)]
    dice.shuffle(drawn)
    caught = total = 0
    for path, places in drawn:
        if total == args.per_folder:
            break
        place = dice.choice(places)
        text, before, after = mutate(path, place)
        outcome = layer.judge(path)
        (SOURCE / path).write_text(text)
        if outcome == "invalid":
            continue
        total += 1
        caught += outcome == "caught"
        if outcome == "survived":
            survivors.append(f"{path}:{place[0] + 1}\n    - {before}\n    + {after}")
            print(f"survived {survivors[-1]}", flush=True)
    return caught, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--per-folder", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", action="append")
    parser.add_argument("--integration", action="store_true")
    parser.add_argument("--least", type=int, default=80)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and what runs is ended with it
    limit_resources()
    prepare(args)
    layers = sources_by_layer()
    unknown = set(args.folder or ()) - set(layers)
    if unknown:
        parser.error(f"no such folder: {', '.join(sorted(unknown))}; there are {', '.join(layers)}")
    survivors = []
    caught = total = 0
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = tempfile.mkdtemp(prefix="mutation-", dir=in_memory)
    try:
        for name, objects in layers.items():
            if args.folder and name not in args.folder:
                continue
            layer = Layer(name, objects, args, scratch)
            layer.measure()
            caught_here, total_here = sample(layer, args, survivors)
            print(f"{name:12} {caught_here} of {total_here} caught", flush=True)
            caught += caught_here
            total += total_here
    finally:
        remove(scratch)
        remove(str(RUN))
    print(f"{caught} of {total} mutants were caught ({100 * caught // max(total, 1)} %); "
          f"{len(survivors)} survived", flush=True)
    return 0 if total and 100 * caught >= args.least * total else 1


if __name__ == "__main__":
    sys.exit(main())
