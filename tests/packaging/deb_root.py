"""A .deb in a root in which there is nothing else: installed, upgraded, removed, purged.

Run by deb.py under fakeroot, so that dpkg believes to be root and owners look as they would be.
Maintainer scripts run for the root from outside of it (DPKG_ROOT).
"""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

PACKAGE = Path(os.environ["ETWSHIP_DEB"])
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 300

CONFIG = "etc/etwship/etwship.yaml"
UNIT = "usr/lib/systemd/system/etwship.service"
ENABLED = "etc/systemd/system/multi-user.target.wants/etwship.service"


def run(*command, code=0):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
                          check=False)
    if code is not None and done.returncode != code:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class Installed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.root = self.folder / "root"
        for name in ("etc", "usr", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"):
            (self.root / name).mkdir(parents=True)
        self.install_dependencies()

    def dpkg(self, *arguments, code=0):
        return run("dpkg", f"--root={self.root}", f"--log={self.folder}/dpkg.log",
                   "--force-script-chrootless", "--force-unsafe-io", *arguments, code=code)

    def query(self, field):
        return run("dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W", "-f", field,
                   "etwship", code=None)

    def install_dependencies(self):
        """What it depends on is said to be there, in the versions that are on this system."""
        depends = run("dpkg-deb", "-f", PACKAGE, "Depends")
        stanzas = []
        for name in re.findall(r"(?:^|,|\|) *([a-z0-9.+-]+)", depends.strip()):
            known = run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version} ${Architecture}\n",
                        name, code=None).split()
            if known[:1] == ["installed"]:
                stanzas.append(f"Package: {name}\nStatus: install ok installed\nVersion: {known[1]}\n"
                               f"Architecture: {known[2]}\nMaintainer: x\nDescription: x\n")
                (self.root / f"var/lib/dpkg/info/{name}.list").touch()
        self.assertGreater(len(stanzas), 5)
        (self.root / "var/lib/dpkg/status").write_text("\n".join(stanzas))

    def status(self):
        return self.query("${db:Status-Want} ${db:Status-Status}")

    def owners(self, *names):
        """Owner, group and mode of each."""
        states = [(self.root / name).stat() for name in names]
        return [f"{state.st_uid}:{state.st_gid} {state.st_mode & 0o7777:o}" for state in states]

    def group(self):
        line = re.search(r"(?m)^etwship:[^:]*:(\d+):", (self.root / "etc/group").read_text())
        return line[1]

    def newer(self, config_tail):
        """A package of a later version, whose configuration ends differently."""
        tree = self.folder / "newer"
        run("dpkg-deb", "-R", PACKAGE, tree)
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(r"(?m)^Version: .*", r"\g<0>+later", control.read_text()))
        with open(tree / CONFIG, "a", encoding="utf-8") as config:
            config.write(config_tail)
        run("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, self.folder / "newer.deb")
        return self.folder / "newer.deb"

    def ship_a_trace(self):
        """What the installed program makes of the installed configuration, once it is enabled."""
        program = self.root / "usr/bin/etwship"
        self.assertIn("good", run(program, "check", "-c", self.root / CONFIG))
        traces, events = self.folder / "traces", self.folder / "events"
        traces.mkdir()
        run(ETLGEN, "--mix", "realistic", "--events", "300", "-o", traces / "one.etl")
        config = (self.root / CONFIG).read_text()
        for old, new in (("enabled: false", "enabled: true"), ("follow: true", "follow: false"),
                         ("/srv/traces", str(traces)), ("/var/log/etwship", str(events))):
            self.assertIn(old, config)
            config = config.replace(old, new)
        ours = self.folder / "ours.yaml"
        ours.write_text(config)
        run(program, "run", "-c", ours, "--set", f"agent.data_dir={self.folder}/data",
            "--set", "spool.min_free_disk=1MB")
        self.assertEqual(sum(len(path.read_text().splitlines()) for path in events.iterdir()), 300)

    def test_a_package_lives_and_leaves_nothing(self):
        self.dpkg("--install", PACKAGE)
        self.assertEqual(self.status(), "install installed")
        self.assertRegex((self.root / "etc/passwd").read_text(),
                         r"(?m)^etwship:[^:]*:\d+:\d+:[^:]*:/var/lib/etwship:/usr/sbin/nologin$")
        self.assertEqual(self.owners("etc/etwship", CONFIG, "usr/bin/etwship"),
                         [f"0:{self.group()} 750", f"0:{self.group()} 640", "0:0 755"])
        self.assertEqual(os.readlink(self.root / ENABLED), f"/{UNIT}")
        self.assertFalse((self.root / "var/lib/etwship").exists())  # the service's, at its start
        self.ship_a_trace()

        # A changed configuration, and rights that the administrator gave, outlive a new version.
        mine = (self.root / CONFIG).read_text() + "# mine\n"
        (self.root / CONFIG).write_text(mine)
        (self.root / CONFIG).chmod(0o600)
        (self.root / "etc/etwship").chmod(0o700)
        for name in ("var/lib/etwship/spool", "var/log/etwship"):
            (self.root / name).mkdir(parents=True)
            (self.root / name / "kept").write_text("events")
        (self.root / ENABLED).unlink()  # systemctl disable
        self.dpkg("--force-confold", "--install", self.newer("# of the new version\n"))
        self.assertIn("+later", self.query("${Version}"))
        self.assertEqual((self.root / CONFIG).read_text(), mine)
        self.assertEqual(self.owners("etc/etwship", CONFIG),
                         [f"0:{self.group()} 700", f"0:{self.group()} 600"])
        self.assertFalse(os.path.lexists(self.root / ENABLED))

        self.dpkg("--remove", "etwship")
        self.assertEqual(self.status(), "deinstall config-files")
        self.assertFalse((self.root / "usr/bin/etwship").exists())
        self.assertFalse((self.root / UNIT).exists())
        self.assertEqual((self.root / CONFIG).read_text(), mine)
        for name in ("var/lib/etwship/spool/kept", "var/log/etwship/kept"):
            self.assertEqual((self.root / name).read_text(), "events")

        # Back again: what was changed is still the administrator's.
        self.dpkg("--force-confold", "--install", PACKAGE)
        self.assertEqual((self.root / CONFIG).read_text(), mine)
        self.assertEqual(self.owners("etc/etwship", CONFIG),
                         [f"0:{self.group()} 700", f"0:{self.group()} 600"])
        self.assertFalse(os.path.lexists(self.root / ENABLED))

        self.dpkg("--purge", "etwship")
        self.assertNotIn("installed", self.status())
        left = [path for path in self.root.rglob("*etwship*")
                if "var/lib/dpkg" not in str(path.relative_to(self.root))]
        self.assertEqual(left, [])

    def test_an_unchanged_configuration_is_replaced_by_a_newer_one(self):
        self.dpkg("--install", PACKAGE)
        self.dpkg("--install", self.newer("# of the new version\n"))
        self.assertTrue((self.root / CONFIG).read_text().endswith("# of the new version\n"))
        self.assertEqual(self.owners(CONFIG), [f"0:{self.group()} 640"])

    def test_a_missing_library_is_a_reason_not_to_be_installed(self):
        status = self.root / "var/lib/dpkg/status"
        stanzas = status.read_text().split("\n\n")
        status.write_text("\n\n".join(s for s in stanzas if "Package: libcurl" not in s))
        self.assertIn("libcurl", self.dpkg("--install", PACKAGE, code=1))


if __name__ == "__main__":
    unittest.main()
