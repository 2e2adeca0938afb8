"""`etwship autologger` and the registry as Wine has it: written, looked at with `reg`, removed.

What Windows does with the values at boot only the simulator shows (tests/integration/autologger.py).
"""

import json
import re
import unittest

import wine

ROOT = r"HKLM\SYSTEM\CurrentControlSet\Control\WMI\Autologger"
PROVIDER = "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}"
CONFIG = """\
agent: {data_dir: 'C:\\etwship ä'}
spool: {min_free_disk: 1MB}
sessions:
- name: live
  boot: true
  providers: ['1c95126e-7eea-49a9-a3fe-a378b03ddb4d:4:1,3:0x8000000000000010']
- {name: rec, type: record, boot: true, log_file: {path: 'C:\\t.etl'}, providers:
   ['1c95126e-7eea-49a9-a3fe-a378b03ddb4d']}
- {name: off, enabled: false, boot: true, providers: ['1c95126e-7eea-49a9-a3fe-a378b03ddb4d']}
outputs: [{type: file, path: 'C:\\out.ndjson'}]
"""


@unittest.skipUnless(wine.WINE, "no Wine (packaging/deps.sh windows)")
class Registry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = wine.Prefix()
        (cls.prefix.folder / "c.yaml").write_text(CONFIG, encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.prefix.close()

    def autologger(self, *arguments):
        done = self.prefix.run(wine.EXE, "autologger", *arguments, cwd=self.prefix.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode("utf-8")

    def reg(self, *arguments):
        return self.prefix.run("reg", *arguments)

    def values(self, key):
        """The values of a key by name, in the form of `reg query`."""
        done = self.reg("query", f"{ROOT}\\{key}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {name: (kind, text.strip()) for name, kind, text in
                re.findall(r"^ +(\S+) +(REG_\w+) *(.*?)\r?$", done.stdout.decode("cp437"), re.M)}

    def exists(self, key):
        return self.reg("query", f"{ROOT}\\{key}").returncode == 0

    def status(self):
        rows = map(json.loads, self.autologger("status", "-c", "c.yaml", "--json").splitlines())
        return {row["name"]: row for row in rows}

    def test_it_is_installed_told_and_removed(self):
        self.reg("add", f"{ROOT}\\Theirs", "/v", "Start", "/t", "REG_DWORD", "/d", "1", "/f")
        self.assertFalse(self.status()["etwship-live"]["installed"])
        self.autologger("install", "-c", "c.yaml")
        values = self.values("etwship-live")
        self.assertEqual(values["Start"], ("REG_DWORD", "0x1"))
        self.assertEqual(values["FileMax"], ("REG_DWORD", "0x4"))
        self.assertEqual(values["LogFileMode"], ("REG_DWORD", "0x8800001"))
        self.assertEqual(values["Guid"][0], "REG_SZ")
        self.assertEqual(self.values("etwship-rec")["MaxFileSize"], ("REG_DWORD", "0x0"))
        self.assertEqual(self.values("etwship-rec")["FileName"], ("REG_SZ", "C:\\t.etl"))
        provider = self.values(f"etwship-live\\{PROVIDER}")
        self.assertEqual(provider["EnableLevel"], ("REG_DWORD", "0x4"))
        self.assertEqual(provider["MatchAnyKeyword"][0], "REG_QWORD")  # Wine does not show it
        self.assertEqual(self.values(f"etwship-live\\{PROVIDER}\\Filters")["EventIds"],
                         ("REG_BINARY", "01000300"))
        self.assertFalse(self.exists("etwship-off"))

        row = self.status()["etwship-live"]
        self.assertEqual((row["installed"], row["owner"], row["differences"]), (True, "etwship", []))
        self.assertNotIn("status", row)
        for name, number in [("Status", "5"), ("BufferSize", "64"), ("Boot", "1")]:
            self.reg("add", f"{ROOT}\\etwship-live", "/v", name, "/t", "REG_DWORD", "/d", number,
                     "/f")
        row = self.status()["etwship-live"]
        self.assertEqual(row["differences"],
                         ["BufferSize: 64, configured: 256", "Boot: 1, configured: none"])
        self.assertEqual(row["status"], 5)
        self.assertIn("administrator", row["status_name"])
        self.assertIn("(error 5)", self.autologger("status", "-c", "c.yaml"))
        self.autologger("install", "-c", "c.yaml")
        row = self.status()["etwship-live"]
        self.assertEqual((row["differences"], row["status"]), ([], 5))

        self.assertIn("1 autologgers of others: unchanged", self.autologger("remove"))
        self.assertFalse(self.exists("etwship-live"))
        self.assertFalse(self.exists("etwship-rec"))
        self.assertTrue(self.exists("Theirs"))

    def test_the_path_is_one_that_windows_can_open_at_boot(self):
        self.autologger("install", "-c", "c.yaml")
        row = self.status()["etwship-live"]
        self.assertEqual(row["differences"], [])
        self.assertEqual(self.values("etwship-live")["FileName"],
                         ("REG_SZ", "C:\\etwship ä\\boot\\live.etl"))
        folder = self.prefix.folder / "prefix" / "drive_c" / "etwship ä" / "boot"
        self.assertTrue(folder.is_dir())
        self.autologger("remove", "live")
        self.assertFalse(self.exists("etwship-live"))
        self.autologger("remove")


if __name__ == "__main__":
    wine.main()
