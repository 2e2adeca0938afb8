"""What packaging/deps.sh does where apt cannot do all: with an apt and a dpkg of the test's own.

These keep what is installed, what can be had and whether the lists are stale in files, and write down how
they were called.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# A net under a program that does not end, no measure.
TIMEOUT_S = 60

# STATE is the folder of the files. A list that is stale names packages that the mirror has no more.
TOOLS = {
    "id": "echo 0",
    "dpkg-query": """
for name in "$@"; do :; done
if grep -q -x -e "$name" "$STATE/installed"; then echo installed; else exit 1; fi""",
    "apt-cache": """
for name in "$@"; do :; done
if grep -q -x -e "$name" "$STATE/known"; then printf '%s:\\n  Candidate: 1.0\\n' "$name"
else printf '%s:\\n  Candidate: (none)\\n' "$name"; fi""",
    "apt-get": """
echo "$*" >>"$STATE/calls"
case $1 in
update)
    [ ! -e "$STATE/no-network" ] || { echo "E: The repository has no Release file"; exit 100; }
    rm -f "$STATE/stale"
    [ ! -e "$STATE/known-later" ] || mv "$STATE/known-later" "$STATE/known"
    [ ! -e "$STATE/one-list-fails" ] || { echo "E: one of the lists"; exit 100; } ;;
install)
    [ ! -e "$STATE/no-network" ] || { echo "E: Unable to fetch some archives"; exit 100; }
    [ ! -e "$STATE/stale" ] || { echo "E: 404"; exit 100; }
    for name in "$@"; do
        case $name in
        -* | install) ;;
        *) grep -q -x -e "$name" "$STATE/known" || { echo "E: Unable to locate package $name"; exit 100; } ;;
        esac
    done
    for name in "$@"; do
        case $name in -* | install) ;; *) echo "$name" >>"$STATE/installed" ;; esac
    done ;;
esac""",
}


def words(part):
    """The packages that deps.sh names for a part, with all alternatives."""
    script = (TOP / "packaging/deps.sh").read_text()
    return [word.split("|") for word in re.search(rf'^{part}="([^"]*)"', script, re.M)[1].split()]


class Deps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etwship-deps-")
        self.addCleanup(folder.cleanup)
        self.state = Path(folder.name)
        self.bin = self.state / "bin"
        self.bin.mkdir()
        for name, text in TOOLS.items():
            (self.bin / name).write_text("#!/bin/sh\n" + text + "\n")
            (self.bin / name).chmod(0o755)
        for name in ["sh", "env", "sed", "grep", "head", "mktemp", "rm", "tr", "cat", "mv"]:
            (self.bin / name).symlink_to(shutil.which(name))
        self.build = [names[0] for names in words("build")]
        self.put("installed", [])
        self.put("known", self.build + [name for part in ["test", "windows"]
                                        for names in words(part) for name in names])
        self.put("calls", [])

    def put(self, name, lines=()):
        (self.state / name).write_text("".join(line + "\n" for line in lines))

    def has(self, name):
        return set((self.state / name).read_text().split())

    def forget(self, *names):
        self.put("known", self.has("known") - set(names))

    def cargo(self, version):
        (self.bin / "cargo").write_text(f"#!/bin/sh\necho cargo {version} '(abc 2026-01-01)'\n")
        (self.bin / "cargo").chmod(0o755)

    def run_deps(self, *parts, code=0):
        done = subprocess.run([TOP / "packaging/deps.sh", *parts], check=False, text=True,
                              env={"PATH": str(self.bin), "STATE": str(self.state)},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def test_it_installs_what_is_missing(self):
        self.put("installed", self.build[1:])
        self.assertEqual(self.run_deps("build"), "")
        self.assertEqual(self.has("installed"), set(self.build))
        self.assertEqual((self.state / "calls").read_text(),
                         f"install -y -q --no-install-recommends {self.build[0]}\n")

    def test_where_all_is_there_apt_is_not_called(self):
        self.put("installed", self.build)
        self.assertEqual(self.run_deps("build"), "")
        self.assertEqual(self.has("calls"), set())

    def test_stale_lists_are_fetched_anew(self):
        self.put("stale")
        self.assertEqual(self.run_deps("build"), "")
        self.assertEqual(self.has("installed"), set(self.build))

    def test_a_system_without_lists(self):
        (self.state / "known").rename(self.state / "known-later")
        self.put("known", [])
        self.assertEqual(self.run_deps("build"), "")
        self.assertEqual(self.has("installed"), set(self.build))

    def test_a_list_that_cannot_be_had_does_not_matter_where_another_has_the_packages(self):
        self.put("stale")
        self.put("one-list-fails")
        self.assertEqual(self.run_deps("build"), "")
        self.assertEqual(self.has("installed"), set(self.build))

    def test_one_package_that_the_release_does_not_have_keeps_no_other_away(self):
        self.forget("valgrind")
        said = self.run_deps("test")
        self.assertEqual(said, "No package valgrind: without it are left out: the tests under Valgrind\n")
        self.assertLessEqual(set(self.build) | {"maven", "haproxy"}, self.has("installed"))

    def test_a_package_that_has_another_name_in_another_release(self):
        self.forget("libclang-rt-14-dev", "openjdk-17-jdk-headless")
        self.assertEqual(self.run_deps("test"), "")
        self.assertLessEqual({"libclang-rt-dev", "default-jdk-headless"}, self.has("installed"))
        # And once it is there it is not asked for again.
        self.put("calls", [])
        self.assertEqual(self.run_deps("test"), "")
        self.assertEqual(self.has("calls"), set())

    def test_a_package_that_every_build_needs(self):
        self.forget("libyaml-dev")
        said = self.run_deps("build", code=1)
        self.assertEqual(said, "No package libyaml-dev: etwship cannot be built\n")

    def test_without_a_network_it_says_why_and_what_is_left_out(self):
        self.put("installed", self.build)
        self.put("no-network")
        said = self.run_deps("test").splitlines()
        self.assertEqual(said[0], "apt-get: Unable to fetch some archives")
        self.assertEqual(len(said) - 1, len(words("test")))
        for line in said[1:]:
            self.assertRegex(line, r"^No package \S+: without it are left out: ")

    def test_cargo_is_installed_where_there_is_none_that_is_new_enough(self):
        for version, wanted in [("1.95.0", False), ("1.85.0", False), ("1.84.1", True), ("0.66.0", True),
                                (None, True)]:
            with self.subTest(version=version):
                self.put("installed", [])
                (self.bin / "cargo").unlink(missing_ok=True)
                if version:
                    self.cargo(version)
                self.put("known", self.has("known") | {"cargo-web", "cargo"})
                self.run_deps("windows")
                self.assertEqual("cargo-web" in self.has("installed"), wanted)


class Requirements(unittest.TestCase):
    """tests/requirements.txt, which pip takes with --require-hashes."""

    def test_it_pins_all_that_the_tests_ask_for(self):
        lock = (TOP / "tests/requirements.txt").read_text()
        pinned = dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\\n +--hash=sha256:[0-9a-f]{64}", lock, re.M))
        for path in ["tests/bench/peers/requirements.txt", "tests/integration/requirements.txt"]:
            for line in (TOP / path).read_text().split():
                name, _, version = line.partition("==")
                found = pinned.get(re.sub(r"[-_.]+", "-", name).lower())
                self.assertIsNotNone(found, f"{path}: {line}")
                self.assertIn(version, ["", found], path)


if __name__ == "__main__":
    unittest.main()
