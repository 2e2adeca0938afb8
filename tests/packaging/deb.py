"""The .deb: built twice, looked at, and installed in a root of its own (deb_root.py).

The latter under fakeroot and as a user that may not write anywhere else; that nothing of it is on
this system afterwards is looked at, too. What systemd says of the unit is asked where it is there,
and so is lintian.
"""

import ctypes
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = Path(os.environ["ETWSHIP_BIN"])
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TOP = Path(__file__).resolve().parents[2]
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
NOBODY = 65534
# What `systemd-analyze security` may say at most, in tenths: its "OK" begins at 5.
EXPOSURE_AT_MOST = 15

CONFIG = "etc/etwship/etwship.yaml"
UNIT = "usr/lib/systemd/system/etwship.service"
ENABLED = "etc/systemd/system/multi-user.target.wants/etwship.service"


def run(*command, code=0, **options):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
                          check=False, **options)
    if code is not None and done.returncode != code:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def run_fakeroot(*command, **options):
    """Exit code and output of a command under fakeroot.

    fakeroot ends when its daemon is gone, which nobody may ever see where the first process of a
    container does not wait for its children. So they become this program's.
    """
    prctl, set_child_subreaper = ctypes.CDLL(None, use_errno=True).prctl, 36
    with tempfile.TemporaryFile() as output:
        if prctl(set_child_subreaper, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
        # Waited for here, and not by the object.
        process = subprocess.Popen(["fakeroot", "--", *map(str, command)],
                                   stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, **options)
        ended = 0
        while ended != process.pid:
            ended, status = os.waitpid(-1, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        prctl(set_child_subreaper, 0, 0, 0, 0)
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace")


def build(out, **environment):
    """One package, by the project's script."""
    said = run(TOP / "packaging/linux/build-deb.sh", "-o", out, BINARY,
               env={**os.environ, **environment})
    return Path(said.splitlines()[-1])


def setUpModule():
    """The package that all tests are about."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    Built.folder = Path(folder.name)
    Built.package = build(Built.folder)


def system_state():
    """What an installation would leave on this system."""
    places = ["/etc/passwd", "/etc/group", "/etc/etwship", "/var/lib/etwship", "/var/log/etwship",
              "/usr/bin/etwship", "/var/lib/dpkg/info/etwship.list", f"/{UNIT}", f"/{ENABLED}",
              "/usr/lib/sysusers.d/etwship.conf",
              "/var/lib/systemd/deb-systemd-helper-enabled/etwship.service.dsh-also"]

    def state(path):
        if path.is_dir():
            return sorted(str(inner) for inner in path.rglob("*"))
        return path.read_bytes() if path.is_file() else path.is_symlink()
    return {place: state(Path(place)) for place in places}


class Built(unittest.TestCase):
    """The package as it lies there."""

    @classmethod
    def setUpClass(cls):
        cls.tree = cls.folder / "tree"
        run("dpkg-deb", "-R", cls.package, cls.tree)
        cls.unit = (cls.tree / UNIT).read_text()

    def field(self, name):
        return run("dpkg-deb", "-f", self.package, name).strip()

    def test_it_is_the_version_of_the_project(self):
        said = json.loads(run(BINARY, "version", "--json"))
        self.assertEqual(self.field("Version"), said["version"])
        self.assertEqual(self.package.name, "etwship_{}_{}.deb".format(
            said["version"], run("dpkg", "--print-architecture").strip()))

    def test_two_builds_are_equal_to_the_byte(self):
        again = build(self.folder / "again", TZ="Asia/Kathmandu", LC_ALL="C.UTF-8")
        self.assertEqual(again.read_bytes(), self.package.read_bytes())

    def test_it_depends_on_the_libraries_of_the_program(self):
        depends = self.field("Depends")
        for library in ("libc6", "libcurl", "libyaml", "libsqlite3", "libpcre2", "libexpat",
                        "libarchive13", "libssl3"):
            self.assertRegex(depends, rf"\b{library}")
        self.assertNotIn("${", depends)

    def test_the_only_conffile_is_the_configuration(self):
        self.assertEqual((self.tree / "DEBIAN/conffiles").read_text(), f"/{CONFIG}\n")
        files = run("dpkg-deb", "-c", self.package).splitlines()
        self.assertTrue(all(" root/root " in line for line in files))
        self.assertEqual([line for line in files if " ./etc/" in line and not line.endswith("/")],
                         [line for line in files if line.endswith(f" ./{CONFIG}")])

    def test_the_manual_names_every_command(self):
        page = gzip.decompress((self.tree / "usr/share/man/man1/etwship.1.gz").read_bytes()).decode()
        commands = re.findall(r"^  ([a-z-]+) +\w", run(BINARY, "--help"), re.M)
        self.assertGreater(len(commands), 10)
        for command in commands:
            self.assertRegex(page, rf"(?m)^\.BR? {command}\b")

    def test_shells_complete_what_the_program_says(self):
        for shell, path in (("bash", "bash-completion/completions/etwship"),
                            ("zsh", "zsh/vendor-completions/_etwship")):
            self.assertEqual((self.tree / "usr/share" / path).read_text(),
                             run(BINARY, "completion", shell))

    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian")
        run("lintian", "--fail-on", "error", "--allow-root", self.package)

    def verify(self, unit):
        """What systemd has against the unit, in a root with the few others that every service needs."""
        with tempfile.TemporaryDirectory() as root:
            units = Path(root) / Path(UNIT).parent
            units.mkdir(parents=True)
            for name in ("sysinit", "basic", "shutdown", "multi-user"):
                (units / f"{name}.target").write_text(f"[Unit]\nDescription={name}\n")
            (units / "etwship.service").write_text(unit)
            program = Path(root) / "usr/bin/etwship"
            program.parent.mkdir()
            shutil.copy(self.tree / "usr/bin/etwship", program)
            (Path(root) / "bin").symlink_to("usr/bin")
            shutil.copy(shutil.which("kill"), program.with_name("kill"))
            return run("systemd-analyze", "verify", "--man=no", f"--root={root}", "etwship.service",
                       code=None)

    def test_the_unit_is_good_and_hardened(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        self.assertEqual(self.verify(self.unit), "")
        self.assertIn("Frobnicate", self.verify(self.unit + "\n[Service]\nFrobnicate=yes\n"))
        self.assertIn("nothing-there", self.verify(
            self.unit.replace("/usr/bin/etwship", "/usr/bin/nothing-there")))
        run("systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE_AT_MOST}",
            self.tree / UNIT)

    def test_the_unit_fits_the_program(self):
        unit = dict(re.findall(r"(?m)^(\w+)=(.*)$", self.unit))
        program, *arguments = unit["ExecStart"].split()
        self.assertTrue((self.tree / program.lstrip("/")).is_file())
        self.assertEqual(arguments, ["run", "-c", f"/{CONFIG}"])
        # Usage and configuration (2) are not worth another start.
        self.assertIn("2", unit["RestartPreventExitStatus"].split())
        user = re.search(r"(?m)^u (\S+)", (self.tree / "usr/lib/sysusers.d/etwship.conf").read_text())
        self.assertEqual(unit["User"], user[1])


class Installed(unittest.TestCase):
    def test_a_root_of_its_own_is_all_that_changes(self):
        before = system_state()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            identity = {}
            for part in (Built.package, ETLGEN, TOP / "tests/packaging/deb_root.py"):
                shutil.copy(part, folder)
            if os.getuid() == 0:
                identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
                for path in (folder, *folder.iterdir()):
                    os.chown(path, NOBODY, NOBODY)
            code, said = run_fakeroot(
                "python3", "-B", folder / "deb_root.py", cwd=folder,
                env={**os.environ, "HOME": name, "TMPDIR": name,
                     "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                     "ETWSHIP_DEB": str(folder / Built.package.name),
                     "ETWSHIP_ETLGEN": str(folder / Path(ETLGEN).name)}, **identity)
        self.assertEqual(code, 0, said)
        self.assertEqual(system_state(), before)


if __name__ == "__main__":
    unittest.main()
