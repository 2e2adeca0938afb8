"""What a terminal is given: names from traces and definitions never steer it, and are spelt in one
way everywhere.

The names come from a manifest whose provider and task have line breaks, a C1 control and a control
that turns the direction of text. How they are to be shown is what json.dumps makes of them.
"""

import json
import subprocess
import unittest
import unicodedata

from cli_rig import DONE, ETLGEN, TIMEOUT_S, USAGE, Cli

HOSTILE = "Evil\n\x9b2J\u202eexe\u2066.\u2028x"


def shown(name):
    return json.dumps(name)[1:-1]


def xml(name):
    return "".join(c if 0x20 <= ord(c) < 0x7f else f"&#{ord(c)};" for c in name)


class Terminal(Cli):
    def setUp(self):
        super().setUp()
        self.evil = self.folder / "evil.etl"
        self.manifest = self.folder / "evil.man"
        subprocess.run([ETLGEN, "--mix", "manifest", "--events", "40", "--metadata", "none",
                        "--manifest", str(self.manifest), "-o", str(self.evil)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)
        text = self.manifest.read_text(encoding="utf-8")
        for name in ("Etwship-Sample-Process", "ProcessStart"):
            self.assertIn(f'name="{name}"', text)
            text = text.replace(f'name="{name}"', f'name="{xml(HOSTILE)}"')
        self.manifest.write_text(text.replace('task="ProcessStart"', f'task="{xml(HOSTILE)}"'),
                                 encoding="utf-8")

    def assert_safe(self, text, *, has_name=True):
        # Tabs stand between the columns of `schema list`.
        bad = [f"U+{ord(c):04X}" for c in text
               if c not in "\n\t" and (unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp"))]
        self.assertEqual(bad, [], text)
        if has_name:
            self.assertIn(shown(HOSTILE), text)
        self.assertFalse([line for line in text.splitlines() if line.startswith("\\u009b")], text)

    def test_names_are_safe_wherever_they_are_listed(self):
        for command in (("providers",), ("providers", HOSTILE), ("schema", "list"),
                        ("schema", "show", HOSTILE), ("stat", self.evil),
                        ("dump", "--pretty", self.evil),
                        ("dump", "--pretty", "--fields", "provider.name", self.evil)):
            with self.subTest(command=command):
                done = self.expect(DONE, *command, "--schema", self.manifest)
                self.assert_safe(done.out)

    def test_the_closing_summary_of_run_is_safe(self):
        path = self.write("evil.yaml", (
            f"version: 1\nagent: {{data_dir: '{self.folder}/state'}}\n"
            "spool: {min_free_disk: 1MB}\n"
            f"schema: [{{type: folder, path: '{self.manifest}'}}]\n"
            f"sessions: [{{name: s, type: file, paths: ['{self.evil}']}}]\n"
            f"outputs: [{{name: o, type: file, path: '{self.folder}/out.ndjson'}}]\n"))
        self.assert_safe(self.expect(DONE, "run", "-c", path).err)

    def test_what_errors_quote_is_safe(self):
        for command in ((HOSTILE,), ("dump", f"--{HOSTILE}", self.evil),
                        ("dump", "--where", f"'{HOSTILE}", self.evil),
                        ("dump", "--schema", self.folder / HOSTILE, self.evil),
                        ("dump", "-p", f"a:{HOSTILE}", self.evil), ("schema", HOSTILE)):
            with self.subTest(command=command):
                # The place in an expression is shown on a line of its own, up to a line break.
                self.assert_safe(self.expect(USAGE, *command).err,
                                 has_name="--where" not in command)


if __name__ == "__main__":
    unittest.main()
