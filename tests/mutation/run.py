"""Changes the code at random, one place at a time, and asks the tests whether they notice.

    run.py [--per-folder N] [--seed N] [--folder FOLDER]... [--memory] [--integration [REGEX]] [--least PERCENT]
        [--jobs N]
    run.py --again [--memory] [--integration [REGEX]]

The sources are copied to build/mutation and built there as the preset `ci` builds them: with ccache in
CMAKE_C_COMPILER_LAUNCHER most of that is there already. A mutant is one operator, applied
to one line of a function: another comparison, `&&` for `||`, a negation or a `+ 1` that is left out, another
`true` or `false`, a statement that is deleted. Functions are drawn first, then a place in each, so that long ones
do not count more. A mutant is caught if a unit test of its layer, or the fixed inputs of a fuzz target that is named
after one of its files, fails, crashes, or takes ten times as long. Tests that are named after its file run first,
then those of its folder, then the others of its layer that its file is linked into, the fastest first. Those that
take long judge only what they are named after. With --memory the short tests of its file and folder run once more
under Valgrind, which sees without another build most of what the preset `asan` sees in the same tests: what is not
freed, and what is read beyond an end. With --integration the integration tests that REGEX names judge what all of
these let pass; without REGEX these are a few that take seconds. Tests that fail without any change are named and left
out.

What is caught by none survives, and is listed with its line before and after: a test is missing there, or nothing
that the line does can be seen (an optimisation, a second check of one fact), and then it may be simpler. What
does not compile without a warning, or to the same code, does not count. About one change in eight cannot be seen all
the same, so no sample reaches 100 %. One seed gives the same mutants as long as the sources stay, also with --folder.
--again judges only what survived last, with the tests as they are now. build/mutation/results.json has them all.

FOLDER is a folder of the product: agent/base, agent/schema (with those in it), outputs/http and so on. The exit code
is 1 if less than PERCENT of the mutants were caught.
"""

import argparse
import concurrent.futures
import filecmp
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
BUILD = SOURCE / "build" / "ci"  # as far from the sources as the preset has it, so that ccache knows the commands
RUN = WORK / "run"
RESULTS = WORK / "results.json"
PRODUCT = ("agent", "config", "outputs")
FUZZ = "fuzz_"
FUZZERS = SOURCE / "tests" / "fuzz"
MEMORY, MEMORY_ERROR = "memory:", 99
VALGRIND = ("valgrind", "--quiet", f"--error-exitcode={MEMORY_ERROR}", "--leak-check=full",
            "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite")
PROGRAMS = ("etwship", "etlgen", "etwship-sim")
FAST_INTEGRATION = "^integration.(cli|names|definitions|outputs|explain|planted|config_files|otel|agent)$"

BUILD_TIMEOUT_S = 3600
LONGEST_TEST_S = 120
LEAST_TEST_TIMEOUT_S = 10
SLOW_TEST_S = 20
SHORT_TEST_S = 1
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


def build(args, targets):
    return run(["ninja", "-C", str(BUILD), f"-j{args.jobs}", *map(str, targets)], BUILD_TIMEOUT_S) == 0


def integration_passes(args):
    return build(args, PROGRAMS) and run(["ctest", "--test-dir", str(BUILD), "-L", "integration", "-LE", "full", "-R",
                                          args.integration, f"-j{args.jobs}", "--stop-on-failure"],
                                         BUILD_TIMEOUT_S) == 0


def symbols(*binaries):
    """The names that others can link with and that are defined in them."""
    done = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", *map(str, binaries)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[0] for line in done.stdout.splitlines() if " " in line}


def remove(folder):
    """With the disks of its own that a test which was ended had mounted there."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[1].startswith(folder + "/"):
            run(["umount", line.split()[1]], BUILD_TIMEOUT_S)
    shutil.rmtree(folder, ignore_errors=True)


class Layer:
    """The sources of one layer with their object files, and the unit tests that are run for them."""

    def __init__(self, name, objects, args, scratch):
        self.name, self.objects, self.args, self.scratch = name, objects, args, scratch
        self.code, self.seconds, self.symbols = {}, {}, {}
        self.unclean = set()  # tests in which Valgrind finds something without a change

    def target(self, test):
        return test if test.startswith(FUZZ) else f"unit_{self.name}_{test}"

    def program(self, test):
        return BUILD / "tests" / ("fuzz" if test.startswith(FUZZ) else "unit") / self.target(test)

    def run_test(self, test, wrapper=()):
        folder = tempfile.mkdtemp(dir=RUN)
        # As ctest has it: what commits thousands of times does so in memory, and others ask whose folder it is.
        scratch = tempfile.mkdtemp(dir=self.scratch if self.name == "store" or test == "out_file_restart" else None)
        environment = {**os.environ, "TMPDIR": scratch, "ETWSHIP_SHARED": str(ROOT.parent / "shared")}
        limit = max(LEAST_TEST_TIMEOUT_S, SLOWER * self.seconds[test]) if test in self.seconds else LONGEST_TEST_S
        begin = time.monotonic()
        code = run([*wrapper, str(self.program(test))], LONGEST_TEST_S if wrapper else limit, cwd=folder,
                   env=environment)
        remove(folder)
        remove(scratch)
        passed = code != MEMORY_ERROR if wrapper else code in (0, SKIPPED)
        return passed, time.monotonic() - begin

    def measure(self):
        """Leave out what fails without a change, and learn how long the others take."""
        folder = SOURCE / "tests" / "unit" / self.name
        tests = [path.stem.removeprefix("test_") for path in sorted(folder.glob("test_*.c"))]
        tests += [FUZZ + path.stem for path in self.objects if (FUZZERS / f"{FUZZ}{path.stem}.c").exists()]
        objects = [compiled.relative_to(BUILD) for compiled in self.objects.values()]
        if not build(self.args, [*map(self.target, tests), *objects]):
            sys.exit(f"{self.name}: its unit tests do not build")
        self.code = {path: compiled.read_bytes() for path, compiled in self.objects.items()}
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            for test, (passed, seconds) in zip(tests, pool.map(self.run_test, tests)):
                if passed:
                    self.seconds[test] = seconds
                    self.symbols[test] = symbols(self.program(test))
                else:
                    print(f"{self.name:12} left out: {self.target(test)} fails here without a change", flush=True)

    def rounds(self, path):
        """The tests for a file: those named after it, after others of its folder, the rest."""
        names = symbols(self.objects[path])
        neighbours = [other.stem for other in self.objects if folder_of(other) == folder_of(path)]
        own, near, far = [], [], []
        for name in sorted(self.seconds, key=self.seconds.get):
            test = name.removeprefix(FUZZ)
            if test == path.stem or test.startswith(path.stem + "_"):
                own.append(name)
            elif self.seconds[name] > SLOW_TEST_S or not names & self.symbols[name]:
                continue
            elif any(test == stem or test.startswith(stem + "_") for stem in neighbours):
                near.append(name)
            else:
                far.append(name)
        return [tests for tests in (own, near, far) if tests]

    def first_failure(self, tests, wrapper=()):
        """The name of a test that fails; None: all pass."""
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            results = {pool.submit(self.run_test, test, wrapper): test for test in tests}
            for result in concurrent.futures.as_completed(results):
                if not result.result()[0]:
                    pool.shutdown(wait=False, cancel_futures=True)
                    return self.target(results[result])
        return None

    def is_clean(self, target):
        """Does Valgrind find nothing in it without a change? If not, it is not asked again."""
        test = next(test for test in self.seconds if self.target(test) == target)
        if build(self.args, [target]) and self.run_test(test, VALGRIND)[0]:
            return True
        self.unclean.add(test)
        return False

    def judge(self, path):
        """What caught the mutant, or 'none'; or 'invalid': it does not compile, or to the same code."""
        compiled = self.objects[path]
        if not build(self.args, [compiled.relative_to(BUILD)]) or compiled.read_bytes() == self.code[path]:
            return "invalid"
        rounds = self.rounds(path)
        for tests in rounds:
            if not build(self.args, map(self.target, tests)):
                return "invalid"
            failed = self.first_failure(tests)
            if failed:
                return failed
        short = [test for tests in rounds[:2] for test in tests
                 if self.seconds[test] < SHORT_TEST_S and test not in self.unclean]
        failed = self.args.memory and self.first_failure(short, VALGRIND)
        if failed:
            return f"{MEMORY} {failed}"
        return "integration" if self.args.integration and not integration_passes(self.args) else "none"


# ---- the whole --------------------------------------------------------------------------------------------


def files_of(top):
    """Without those of git, of builds, and the caches of Python."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != "__pycache__" and (Path(folder) != top or not name.startswith(
            (".git", "build")))]
        yield from ((Path(folder) / name).relative_to(top) for name in names if name != ".git")


def prepare(args):
    remove(str(RUN))
    for folder in (RUN, SOURCE):
        folder.mkdir(parents=True, exist_ok=True)
    ours = set(files_of(ROOT))
    for path in set(files_of(SOURCE)) - ours:
        (SOURCE / path).unlink()
    for path in ours:
        # What an older run changed and put back is newer than its object, and stays so.
        if not (SOURCE / path).exists() or not filecmp.cmp(ROOT / path, SOURCE / path, shallow=False):
            (SOURCE / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, SOURCE / path)
    if run(["cmake", "-G", "Ninja", "-S", str(SOURCE), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=Release",
            "-DETWSHIP_LTO=OFF", "-DETWSHIP_TESTS=ON", "-DETWSHIP_UNITS_APART=ON",
            f"-DETWSHIP_SHARED={ROOT.parent / 'shared'}"], BUILD_TIMEOUT_S) != 0:
        sys.exit(f"the sources cannot be configured in {BUILD}")
    if args.integration and not integration_passes(args):
        sys.exit("integration tests fail here without a change")


def folder_of(path):
    """The folder that a source belongs to: what is for one system belongs to the folder above."""
    return path.parent.parent if path.parent.name == "linux" else path.parent


def sources_by_layer():
    """What is compiled here, so nothing that only Windows compiles."""
    found = defaultdict(dict)
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if not path.is_relative_to(SOURCE):
            continue
        path = path.relative_to(SOURCE)
        name = path.parts[1] if path.parts[0] == "agent" else path.parts[0]
        if path.parts[0] in PRODUCT and name != path.name:
            found[name].setdefault(path, BUILD / re.search(r" -o (\S+)", entry["command"])[1])
    return dict(sorted(found.items()))


def try_mutant(layer, path, place):
    """What became of it, as a row of the results; None: it is none."""
    while True:
        text, before, after = mutate(path, place)
        by = layer.judge(path)
        (SOURCE / path).write_text(text)
        if not by.startswith(MEMORY) or layer.is_clean(by.removeprefix(MEMORY + " ")):
            break
    if by == "invalid":
        return None
    row = {"path": str(path), "place": place, "before": before, "after": after, "by": by}
    if by == "none":
        print(f"survived {path}:{place[0] + 1}\n    - {before}\n    + {after}", flush=True)
    return row


def sample(layer, folder, args):
    """Judge mutants of a folder."""
    dice = random.Random(f"{args.seed} {folder}")
    drawn = [(path, places) for path in sorted(layer.code) if folder_of(path) == folder for places in functions(path)]
    dice.shuffle(drawn)
    rows = []
    for path, places in drawn:
        if len(rows) == args.per_folder:
            break
        row = try_mutant(layer, path, dice.choice(places))
        rows += [row] if row else []
    return rows


def sample_again(layer, last):
    """Judge once more what survived and is still there."""
    rows = []
    for row in last:
        if row["by"] != "none" or Path(row["path"]) not in layer.code:
            continue
        lines = (SOURCE / row["path"]).read_text().splitlines()
        if [line.strip() for line in lines[row["place"][0]:row["place"][0] + 1]] == [row["before"]]:
            rows.append(try_mutant(layer, Path(row["path"]), row["place"]))
        else:
            print(f"changed since: {row['path']}:{row['place'][0] + 1} {row['before']}", flush=True)
    return [row for row in rows if row]


def wanted(path, args):
    return not args.folder or any(path.is_relative_to(folder) for folder in args.folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--per-folder", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", action="append", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--integration", nargs="?", const=FAST_INTEGRATION)
    parser.add_argument("--least", type=int, default=80)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and what runs is ended with it
    limit_resources()
    last = json.loads(RESULTS.read_text()) if args.again else []
    survived = {Path(row["path"]) for row in last if row["by"] == "none"}
    prepare(args)
    rows = []
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = tempfile.mkdtemp(prefix="mutation-", dir=in_memory)
    try:
        for name, objects in sources_by_layer().items():
            if not any(wanted(path, args) and (path in survived or not args.again) for path in objects):
                continue
            layer = Layer(name, objects, args, scratch)
            layer.measure()
            if args.again:
                rows += sample_again(layer, last)
                continue
            for folder in sorted({folder_of(path) for path in objects if wanted(path, args)}):
                here = sample(layer, folder, args)
                print(f"{str(folder):30} {sum(row['by'] != 'none' for row in here)} of {len(here)} caught", flush=True)
                rows += here
                RESULTS.write_text(json.dumps(rows, indent=1))
    finally:
        remove(scratch)
        remove(str(RUN))
    caught = sum(row["by"] != "none" for row in rows)
    alone = {by: sum(row["by"].startswith(by) for row in rows) for by in (MEMORY, "integration")}
    print(f"{caught} of {len(rows)} mutants were caught ({100 * caught // max(len(rows), 1)} %), of them "
          f"{alone[MEMORY]} by Valgrind alone and {alone['integration']} by integration tests alone; "
          f"{len(rows) - caught} survived", flush=True)
    return 0 if rows and 100 * caught >= args.least * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
