"""The packages for Windows, from outside: the same program makes the same bytes, what the tables of the MSI
say, signatures, and the bill of materials. msi.py runs the MSI."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import wine

SOURCES = Path(__file__).resolve().parents[2]
PACKAGING = SOURCES / "packaging" / "windows"
VENV = SOURCES / "build" / "venv" / "bin" / "python"
# CustomAction table (learn.microsoft.com, "Custom Action In-Script Execution Options").
PROGRAM_OF_PACKAGE, IN_SCRIPT, ROLLBACK, COMMIT, NO_IMPERSONATE, CONTINUE = \
    18, 1024, 256, 512, 2048, 64
SET_PROPERTY = 51


def table(package, name):
    """Rows of a table of a package, by their first column."""
    text = subprocess.run(["msiinfo", "export", package, name], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    rows = [line.split("\t") for line in text.replace("\r", "").splitlines()[3:]]
    return {row[0]: row[1:] for row in rows}


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="etwship-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.first = cls.build("first")

    @classmethod
    def build(cls, name, **environment):
        """MSI and zip, made in folder `name` from a copy of the program in it."""
        folder = cls.folder / name
        folder.mkdir()
        program = shutil.copy(wine.EXE, folder / "program")
        shutil.copy(wine.MESSAGES, folder)
        environment = {**os.environ, "TMPDIR": str(folder), **environment}
        msi = subprocess.run([PACKAGING / "msi" / "build.sh", "-p", program, "-o", folder / "e.msi"],
                             check=False, env=environment, stdout=subprocess.PIPE)
        if msi.returncode == wine.SKIPPED:
            wine.skip("no wixl or msitools (packaging/deps.sh windows)")
        archive = subprocess.run([PACKAGING / "zip.sh", program, folder], check=True,
                                 env=environment, stdout=subprocess.PIPE)
        if msi.returncode:
            raise AssertionError(msi)
        return Path(msi.stdout.decode().strip()), Path(archive.stdout.decode().strip())

    # ---- the same bytes -----------------------------------------------------------------------

    def test_another_folder_time_zone_and_clock_make_the_same_packages(self):
        # The clock has moved on since the first were made; the copy of the program is newer.
        second = self.build("another folder", TZ="Asia/Kathmandu", LC_ALL="C")
        for a, b in zip(self.first, second):
            self.assertEqual(hashlib.sha256(a.read_bytes()).hexdigest(),
                             hashlib.sha256(b.read_bytes()).hexdigest(), a.name)

    def test_another_source_date_makes_other_times_and_nothing_else_of_the_numbers(self):
        third = self.build("other date", SOURCE_DATE_EPOCH="1700000000")
        said = subprocess.run(["msiinfo", "suminfo", third[0]], check=True, stdout=subprocess.PIPE,
                              env={**os.environ, "TZ": "UTC"}).stdout.decode()
        self.assertEqual(re.findall(r"(?:Created|Last saved): (.*)", said),
                         ["Tue Nov 14 22:13:20 2023"] * 2)

    # ---- the MSI ------------------------------------------------------------------------------

    def test_every_action_that_changes_something_has_its_twin_in_front(self):
        actions = table(self.first[0], "CustomAction")
        sequence = table(self.first[0], "InstallExecuteSequence")
        at = {name: int(row[1]) for name, row in sequence.items()}
        deferred = PROGRAM_OF_PACKAGE | IN_SCRIPT | NO_IMPERSONATE
        for name in ["Retire", "Setup"]:
            # What could be undone is first forgotten, then noted: never that of another transaction.
            begin, twin = "Begin" + name, "Undo" + name
            self.assertEqual(int(actions[begin][0]), deferred)
            self.assertEqual(int(actions[twin][0]), deferred | ROLLBACK | CONTINUE)
            self.assertEqual(int(actions[name][0]), deferred)
            self.assertLess(at[begin], at[twin])
            self.assertLess(at[twin], at[name])
            self.assertEqual(sequence[twin][0], sequence[name][0])
        # But in an upgrade the newer version needs the note of the older one.
        self.assertEqual(sequence["BeginSetup"][0],
                         sequence["Setup"][0] + " AND NOT WIX_UPGRADE_DETECTED")
        self.assertEqual(int(actions["Forget"][0]), deferred | COMMIT | CONTINUE)
        self.assertEqual(sequence["Forget"][0], sequence["Setup"][0])
        # A repair, which everybody may ask for, runs nothing with all rights.
        for name, (condition, _) in sequence.items():
            if name in actions and int(actions[name][0]) & IN_SCRIPT:
                self.assertIn(condition.split(" AND ")[0], ["NOT Installed", 'REMOVE="ALL"'])
        self.assertEqual(int(actions["FindInstallDir"][0]), SET_PROPERTY)
        # Nothing that writes into the script may come before the older version is removed.
        self.assertEqual(at["RemoveExistingProducts"], at["InstallInitialize"] + 1)
        order = sorted(at, key=at.get)
        wanted = ["InstallInitialize", "RemoveExistingProducts", "UndoRetire", "Retire",
                  "RemoveFiles", "InstallFiles", "UndoSetup", "Setup", "InstallFinalize"]
        self.assertEqual([name for name in order if name in wanted], wanted)
        self.assertEqual(sequence["Retire"][0], 'REMOVE="ALL"')

    def test_its_properties_reach_the_action(self):
        line = table(self.first[0], "CustomAction")["Setup"][2]
        self.assertEqual(set(re.findall(r'"\[(\w+)\]"', line)), {
            "CONFIGFILE", "OUTPUT_URL", "API_KEY_FILE", "SERVICE_ACCOUNT", "STARTSERVICE",
            "WIX_UPGRADE_DETECTED"})

    def test_a_property_that_anything_goes_by_reaches_the_half_with_the_rights(self):
        package = self.first[0]
        values = [row[2] for row in table(package, "CustomAction").values()]
        values += [row[3] for row in table(package, "Registry").values()]
        conditions = [row[0] for row in table(package, "InstallExecuteSequence").values()]
        conditions += table(package, "LaunchCondition")
        # Public ones are in capitals alone.
        used = set(re.findall(r"\[([A-Z_]+)\]", " ".join(values)))
        for condition in conditions:
            used |= set(re.findall(r"\b[A-Z_]+\b", re.sub(r'"[^"]*"', "", condition)))
        # Those of Windows Installer itself, and what is looked for here.
        used -= {"NOT", "AND", "OR", "REMOVE", "UPGRADINGPRODUCTCODE", "OLDINSTALLDIR", "WINDOWSBUILD"}
        secure = table(package, "Property")["SecureCustomProperties"][0].split(";")
        self.assertEqual(len(secure), len(set(secure)))
        self.assertEqual(set(secure), used | {"WIX_DOWNGRADE_DETECTED"})
        page = (PACKAGING / "README.md").read_text()
        documented = set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.M))
        self.assertEqual(set(secure) - {"WIX_UPGRADE_DETECTED", "WIX_DOWNGRADE_DETECTED"}, documented)

    def test_only_an_administrator_configures_what_was_assigned(self):
        conditions = table(self.first[0], "LaunchCondition")
        [guard] = [condition for condition in conditions if "MsiTrueAdminUser" in condition]
        given = set(re.findall(r"[A-Z_]{4,}", guard[guard.index("NOT (") + 4:]))
        line = table(self.first[0], "CustomAction")["Setup"][2]
        # All that `setup` is given but whether it starts.
        self.assertEqual(given, set(re.findall(r'"\[(\w+)\]"', line)) - {
            "STARTSERVICE", "WIX_UPGRADE_DETECTED"} | {"INSTALLDIR"})
        self.assertTrue(any("INSTALLDIR ~= OLDINSTALLDIR" in condition for condition in conditions))

    def test_programs_have_their_version(self):
        version = table(self.first[0], "Property")["ProductVersion"][0]
        files = table(self.first[0], "File")
        for name, file in [("etwship.exe", "etwship.exe"), ("messages", "etwship-messages.dll")]:
            self.assertTrue(files[name][1].endswith(file))
            self.assertEqual(files[name][3:5], [version + ".0", "1033"])
            self.assertNotIn(name, table(self.first[0], "MsiFileHash"))

    # ---- manifests ----------------------------------------------------------------------------

    def manifests(self, url):
        out = self.folder / "manifests"
        subprocess.run(["python3", "-B", PACKAGING / "manifests.py", "--url", url, "--msi", self.first[0],
                        "--out", out], check=True, stdout=subprocess.DEVNULL)
        return out

    def test_winget_gets_the_numbers_of_this_very_package(self):
        url = "https://downloads.example/etwship.msi?a=1&b=2"
        folder = self.manifests(url) / "winget"
        found = {}
        for path in sorted(folder.iterdir()):
            # A key on each line, or an item of a list: enough of YAML to read these.
            lines = path.read_text().splitlines()
            found[path.name] = {key: value.strip("'") for key, value in
                                re.findall(r"^[ -]*(\w+): (\S.*)$", "\n".join(lines), re.M)}
        self.assertEqual(list(found), ["etwship.etwship.installer.yaml", "etwship.etwship.locale.en-US.yaml",
                                       "etwship.etwship.yaml"])
        properties = table(self.first[0], "Property")
        installer = found["etwship.etwship.installer.yaml"]
        self.assertEqual(installer["InstallerUrl"], url)
        self.assertEqual(installer["InstallerSha256"],
                         hashlib.sha256(self.first[0].read_bytes()).hexdigest().upper())
        self.assertEqual(installer["ProductCode"], properties["ProductCode"][0])
        self.assertEqual(installer["UpgradeCode"], properties["UpgradeCode"][0])
        for name, kind in [("installer", "installer"), ("locale.en-US", "defaultLocale"), ("", "version")]:
            one = found[f"etwship.etwship.{name}.yaml".replace("..", ".")]
            self.assertEqual(one["PackageIdentifier"], "etwship.etwship")
            self.assertEqual(one["PackageVersion"], properties["ProductVersion"][0])
            self.assertEqual((one["ManifestType"], one["ManifestVersion"]), (kind, "1.6.0"))
        # What its schema asks for (manifest.defaultLocale.1.6.0.json).
        self.assertLessEqual({"PackageLocale", "Publisher", "PackageName", "License", "ShortDescription"},
                             set(found["etwship.etwship.locale.en-US.yaml"]))

    def test_chocolatey_gets_them_too(self):
        url = "https://downloads.example/etwship.msi?a=1&b=2"
        folder = self.manifests(url) / "chocolatey"
        space = "{http://schemas.microsoft.com/packaging/2015/06/nuspec.xsd}"
        metadata = ElementTree.parse(folder / "etwship.nuspec").getroot().find(space + "metadata")
        self.assertEqual(metadata.find(space + "version").text,
                         table(self.first[0], "Property")["ProductVersion"][0])
        for key in ["id", "authors", "description"]:
            self.assertTrue(metadata.find(space + key).text)
        script = (folder / "tools" / "chocolateyinstall.ps1").read_text()
        given = dict(re.findall(r"^    (\w+) += '([^']*)'$", script, re.M))
        self.assertEqual(given["url64bit"], url)
        self.assertEqual(given["checksum64"].lower(), hashlib.sha256(self.first[0].read_bytes()).hexdigest())
        self.assertEqual((given["checksumType64"], given["fileType"]), ("sha256", "msi"))
        self.assertIn("validExitCodes = @(0, 3010, 1641)", script)

    def test_an_address_that_would_leave_its_quotes_is_refused(self):
        for url in ["http://a/e.msi", "https://a/e.msi'; calc; '", "https://a/e msi"]:
            done = subprocess.run(["python3", "-B", PACKAGING / "manifests.py", "--url", url, "--msi",
                                   self.first[0], "--out", self.folder / "none"], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout), (1, b""), done)

    # ---- signatures ---------------------------------------------------------------------------

    def test_the_package_and_the_program_in_it_are_signed(self):
        for tool in ["openssl", "osslsigncode", "msiextract"]:
            if not shutil.which(tool):
                self.skipTest(f"no {tool}")
        certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                        "/CN=etwship test", "-addext", "extendedKeyUsage=codeSigning", "-keyout",
                        key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        package, _ = self.build("signed", ETWSHIP_SIGN_CERT=str(certificate),
                                ETWSHIP_SIGN_KEY=str(key))
        out = self.folder / "extracted"
        out.mkdir()
        subprocess.run(["msiextract", "-C", out, package], check=True, stdout=subprocess.DEVNULL)
        program = next(out.glob("**/etwship.exe"))
        self.assertGreater(program.stat().st_size, wine.EXE.stat().st_size)
        for file in [package, program, program.with_name("etwship-messages.dll")]:
            done = subprocess.run(["osslsigncode", "verify", "-CAfile", certificate, "-in", file],
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout.decode())

    def test_without_a_key_nothing_is_signed(self):
        file = shutil.copy(wine.EXE, self.folder / "unsigned.exe")
        done = subprocess.run([PACKAGING / "sign.sh", file], check=False, stderr=subprocess.PIPE,
                              env={**os.environ, "ETWSHIP_SIGN_CERT": "certificate.pem"})
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(file.read_bytes(), wine.EXE.read_bytes())

    # ---- the bill of materials ----------------------------------------------------------------

    def materials(self):
        folder = self.folder / "archive"
        if not folder.exists():
            shutil.unpack_archive(self.first[1], folder)
        return next(folder.glob("*/etwship.spdx.json"))

    def test_it_names_the_program_and_every_library_whose_license_is_given(self):
        path = self.materials()
        packages = {package["name"]: package for package in json.loads(path.read_text())["packages"]}
        digest = hashlib.sha256(wine.EXE.read_bytes()).hexdigest()
        self.assertEqual(packages["etwship"]["checksums"][0]["checksumValue"], digest)
        notices = (path.parent / "NOTICES.txt").read_text()
        named = {name.removesuffix("-x86-64-dev") for name in packages}
        self.assertEqual(set(re.findall(r"^==== (\S+) ====", notices, re.M)),
                         named - {"etwship", "gcc-mingw-w64-x86-64-win32"})
        for name, package in packages.items():
            self.assertRegex(package["versionInfo"], r"^\d", name)
            if name != "etwship" and not name.startswith(("mingw-w64", "gcc-mingw-w64")):
                self.assertRegex(package["checksums"][0]["checksumValue"], "^[0-9a-f]{64}$", name)
                self.assertRegex(package["externalRefs"][0]["referenceLocator"], r"^pkg:(cargo|generic)/", name)

    def test_it_is_spdx_for_a_reader_of_others(self):
        check = ("import sys\n"
                 "from spdx_tools.spdx.parser.parse_anything import parse_file\n"
                 "from spdx_tools.spdx.validation.document_validator import "
                 "validate_full_spdx_document\n"
                 "document = parse_file(sys.argv[1])\n"
                 "print(len(document.packages), document.creation_info.spdx_version)\n"
                 "print(*validate_full_spdx_document(document), sep='\\n')\n")
        has = VENV.exists() and subprocess.run([VENV, "-c", "import spdx_tools"], check=False,
                                               stderr=subprocess.DEVNULL).returncode == 0
        if not has:
            self.skipTest("no spdx-tools (tests/install.sh)")
        done = subprocess.run([VENV, "-c", check, self.materials()], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        count = len(json.loads(self.materials().read_text())["packages"])
        self.assertEqual(done.stdout.decode().split(), [str(count), "SPDX-2.3"])


if __name__ == "__main__":
    wine.need(wine.EXE)
    wine.main()
