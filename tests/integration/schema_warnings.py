"""A file with the wrong type for its name is reported once, however it was given: --schema FILE and FOLDER, `schema:`
and `wpp:` of a configuration; with its place in the form of compilers."""

import random
import re
import shutil
import unittest

from cli_rig import DONE, Cli

ENDINGS = ("man", "manifest", "xml", "mof", "mfl", "dll", "exe", "sys", "mui", "tmf", "pdb", "pack")
CONTENTS = {
    "random": random.Random(7).randbytes(5000),
    "zeros": bytes(3000),
    "text": b"some text; that is\nnone of them, 100 %\n" * 20,
    "page": b"<!-- nothing --><html><body>404 Not Found</body></html>\n",
}


class SchemaWarnings(Cli):
    def make(self, folder, content, endings=ENDINGS):
        (self.folder / folder).mkdir(exist_ok=True)
        names = [f"{folder}/a.{ending}" for ending in endings]
        for name in names:
            (self.folder / name).write_bytes(content)
        return names

    def assert_named_once(self, err, names):
        warnings = [line for line in err.splitlines() if line.startswith("etwship: warning: ")]
        for name in names:
            own = [line for line in warnings
                   if re.match(rf"etwship: warning: (.*/)?{re.escape(name)}(:\d+(:\d+)?)?: \S", line)]
            self.assertEqual(len(own), 1, f"{name}:\n{err}")
        self.assertEqual(len(warnings), len(names), err)

    def configuration(self, lines, session=""):
        return self.write("c.yaml", (
            f"version: 1\nagent: {{data_dir: state}}\nspool: {{mode: memory}}\n{lines}"
            f"sessions: [{{name: s, type: file, paths: ['{self.trace}']{session}}}]\n"
            "outputs: [{name: o, type: file, path: out.ndjson}]\n"))

    def run_anew(self, path):
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        return self.expect(DONE, "run", "-c", path).err

    def test_each_file_that_is_named(self):
        for kind, content in CONTENTS.items():
            for name in self.make(kind, content):
                with self.subTest(name=name):
                    done = self.expect(DONE, "dump", "-n", 1, "--schema", name, self.trace)
                    self.assert_named_once(done.err, [name])
                    self.assertEqual(len(done.out.splitlines()), 1)

    def test_stat_of_several_traces_names_them_once(self):
        names = self.make("random", CONTENTS["random"])
        done = self.expect(DONE, "stat", "--schema", "random", self.trace, self.other)
        self.assert_named_once(done.err, names)

    def test_each_file_of_a_folder(self):
        for kind, content in CONTENTS.items():
            names = self.make(kind, content)
            with self.subTest(kind=kind):
                done = self.expect(DONE, "dump", "-n", 1, "--schema", kind, self.trace)
                self.assert_named_once(done.err, names)

    def test_each_file_of_a_configuration(self):
        for kind, content in CONTENTS.items():
            names = self.make(kind, content)
            for path, wrong in ((kind, names), (names[0], names[:1]), (names[9], names[9:10])):
                config = self.configuration(f"schema: [{{type: folder, path: {path}}}]\n")
                with self.subTest(path=path):
                    self.assert_named_once(self.run_anew(config), wrong)
                    self.assert_named_once(
                        self.expect(DONE, "check", "--resolve", "-c", config).err, wrong)

    def test_a_file_of_any_other_name_in_a_configuration(self):
        names = self.make("other", CONTENTS["text"], ("txt",))
        self.assert_named_once(self.run_anew(
            self.configuration(f"schema: [{{type: folder, path: {names[0]}}}]\n")), names)

    def test_each_file_of_a_wpp_entry(self):
        for kind in ("random", "text"):
            names = self.make(kind, CONTENTS[kind], ("tmf", "pdb", "mof", "tmc", "txt"))
            for name in names:
                config = self.configuration("", f", providers: [{{wpp: {name}}}]")
                with self.subTest(name=name):
                    err = "\n".join(line for line in self.run_anew(config).splitlines()
                                    if "warning: session s: " not in line)
                    self.assert_named_once(err, [name])

    def test_debug_information_of_managed_code_is_expected_in_a_folder(self):
        self.make("net", b"BSJB\x01\x00\x01\x00" + bytes(100), ("pdb",))
        self.assertEqual(self.expect(DONE, "dump", "-n", 1, "--schema", "net", self.trace).err, "")


if __name__ == "__main__":
    unittest.main()
