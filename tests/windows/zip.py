"""The archive that people download: what lies in it, and that it is what was built."""

import os
import re
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

import wine

SOURCES = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCES / "tests"))
from support import powershell  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([SOURCES / "packaging/windows/zip.sh"], check=True,
                              stdout=subprocess.PIPE)
        path = SOURCES / done.stdout.decode().strip()
        cls.name = path.stem
        with zipfile.ZipFile(path) as archive:
            cls.files = {entry: archive.read(entry) for entry in archive.namelist()
                         if not entry.endswith("/")}

    def text(self, name):
        return self.files[f"{self.name}/{name}"].decode()

    def test_it_is_one_folder_with_the_program_and_pages(self):
        version = subprocess.run([BINARY, "version"], check=True, stdout=subprocess.PIPE)
        self.assertEqual(self.name, f"etwship-{version.stdout.split()[1].decode()}-windows-x64")
        self.assertEqual(set(self.files), {f"{self.name}/{name}" for name in [
            "CHECKLIST.md", "LICENSE.txt", "NOTICES.txt", "TRY.md", "etwship-messages.dll", "etwship.exe",
            "etwship.spdx.json", "etwship.yaml", "install.ps1", "policy/etwship.admx",
            "policy/en-US/etwship.adml"]})
        self.assertTrue(self.files[f"{self.name}/etwship.exe"] == wine.EXE.read_bytes())

    @unittest.skipUnless(powershell.can_read(), "no tree-sitter-powershell (tests/install.sh)")
    def test_scripts_are_written_in_powershell(self):
        chocolatey = SOURCES / "packaging/windows/chocolatey/tools/chocolateyinstall.ps1.in"
        completion = subprocess.run([BINARY, "completion", "powershell"], check=True, stdout=subprocess.PIPE)
        for script in [self.text("install.ps1"), chocolatey.read_text(), completion.stdout.decode()]:
            self.assertEqual(powershell.mistakes(script), [])
            # Half of one is none: what reads them would tell.
            self.assertTrue(powershell.mistakes(script + "\nif ($true) {"))

    def test_its_script_goes_back_step_by_step(self):
        """The script is read, not run: there is no PowerShell here."""
        script = self.text("install.ps1").replace("\r", "")
        listed = re.search(r"^\$files = (.*)$", script, re.M)[1]
        self.assertEqual({f"{self.name}/{file}" for file in re.findall(r"'([^']+)'", listed)},
                         {name for name in self.files if name.count("/") == 1} -
                         {f"{self.name}/install.ps1"})
        before, change = script.split("# ---- the change", 1)
        change, back = change.split("# ---- back to what there was", 1)
        self.assertNotRegex(before.split("# ---- what can fail")[1], r"Invoke-Service|Move-Files|Copy-Item")
        # The service stops, what is there is moved aside, and only then something new comes.
        places = [change.index(words) for words in [
            "try {", "Invoke-Service forget", "Invoke-Service retire", "$aside = New-Aside",
            "Move-Files $InstallDir $aside", "Copy-Item", "Invoke-Service setup", "} catch {",
            "if ($code -eq 0)"]]
        self.assertEqual(places, sorted(places))
        self.assertNotIn("-Force", change)  # nothing is overwritten
        # Each step backwards by itself, the newer version's first.
        for line in back.splitlines():
            if re.search(r"Invoke-Service|-Files|Remove-|Move-|Copy-", line):
                self.assertRegex(line, r"Invoke-Step '[^']+' \{ .* \}", line)
        self.assertNotIn("throw", back)
        steps = re.findall(r"Invoke-Step '([^']+)'", back)
        self.assertEqual(steps, ["undo", "the files of before", "undo of the version before",
                                 "what was replaced", "the files of this version"])
        self.assertTrue(back.rstrip().endswith("exit $code"))

    def test_it_names_the_license_of_every_library(self):
        notices = self.text("NOTICES.txt")
        found = re.findall(r"^==== (\S+) ====\r\n\r\n(?=\S| +\S|\r\n)", notices, re.M)
        self.assertEqual(sorted(found), ["curl", "expat", "libarchive", "libisal", "librdkafka", "libyaml", "libzstd",
                                         "mingw-w64", "nghttp2", "openssl", "pcre2", "sqlite3", "xxhash", "zlib"])
        for words in ["Expat maintainers", "Kirill Simonov", "Philip Hazel", "Yann Collet",
                      "Jean-loup Gailly", "MinGW-w64", "disclaims copyright", "Zoltan Herczeg", "Tim Kientzle",
                      "Magnus Edenhill", "Apache License"]:
            self.assertTrue(words.lower() in notices.lower(), words)

    def test_its_example_is_a_good_configuration(self):
        done = subprocess.run([BINARY, "check", "-c", "packaging/windows/etwship.yaml"],
                              cwd=SOURCES, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_its_pages_have_the_line_ends_of_windows(self):
        for name in ["LICENSE.txt", "TRY.md", "CHECKLIST.md", "etwship.yaml", "NOTICES.txt",
                     "install.ps1", "policy/etwship.admx"]:
            self.assertNotRegex(self.text(name), r"(?<!\r)\n")


if __name__ == "__main__":
    wine.need(wine.EXE)
    wine.main()
