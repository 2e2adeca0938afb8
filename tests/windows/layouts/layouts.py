"""What etwship declares of Windows, compared with a second source: the crate windows-sys, which is generated
from Microsoft's metadata of the Windows SDK.

layouts.tsv says which name of ours is which of the crate's. The compiler for Windows says what ours are,
from the files themselves; a program in Rust says what theirs are. The latter is built for this machine: the
crate's types have fixed sizes, so every 64-bit system lays them out as Windows does.

Exit code 77: no cargo, no compiler for Windows, or the crate cannot be had.
"""

import fnmatch
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
COMPILER = "x86_64-w64-mingw32-gcc"
SKIPPED = 77
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
MODULES = """
use core::mem::{offset_of, size_of};
use windows_sys::core::GUID;
use windows_sys::Wdk::Storage::FileSystem::*;
use windows_sys::Wdk::System::{SystemInformation::*, Threading::*};
use windows_sys::Win32::Foundation::*;
use windows_sys::Win32::Networking::{WinHttp::*, WinInet::*, WinSock::*};
use windows_sys::Win32::Security::{Credentials::*, *};
use windows_sys::Win32::Storage::FileSystem::*;
use windows_sys::Win32::System::{
    Diagnostics::Etw::*, Rpc::*, Services::*, SystemServices::*, Time::*, WindowsProgramming::*,
};
"""


# ---- our declarations ------------------------------------------------------------------------------


def code_of(path):
    """A file of ours without its comments, and of what begins with # constants alone."""
    text = re.sub(r"/\*.*?\*/", " ", (TOP / path).read_text(), flags=re.S)
    return re.sub(r"^#(?!define \w+ )(?:.*\\\n)*.*", "", text, flags=re.M)


def members(body):
    """The names in the body of a struct; those of unions and structs without a name are its own."""
    names = []
    for part in re.sub(r"\b(?:union|struct)\s*\{|\}", " ", body).split(";"):
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", part)
        plain = re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", part.strip())
        if part.strip():
            names.append((pointer or plain)[1])
    return names


def declared(path):
    """What a file declares: constants, and structures with their members, as layouts.tsv names them."""
    code = code_of(path)
    names = []
    for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", code, re.S | re.M):
        names.append("struct " + name)
        names += [f"{name}.{member}" for member in members(body)]
    for body in re.findall(r"\benum(?: \w+)? \{(.*?)\}", code, re.S):
        names += re.findall(r"(?:^|,)\s*(\w+)", body)
    names += re.findall(r"^#define (\w+) \S", code, re.M)
    return names


# ---- layouts.tsv ---------------------------------------------------------------------------------


class Row:
    """One name of ours: what it is there, or why it is nothing there."""

    def __init__(self, path, columns, structure):
        self.path = path
        self.ours = columns[0]
        self.theirs = columns[1] if len(columns) > 1 else ""
        last = columns[2] if len(columns) > 2 else ""
        self.reason = last if self.theirs == "-" else ""
        self.end = "" if self.reason else last # the member of theirs where ours ends
        self.structure = structure  # the row of the structure that it is a member of
        self.key = f"{path}: {self.ours}"

    def is_structure(self):
        return self.ours.startswith("struct ")

    def is_compared(self):
        return self.theirs != "-"

    def in_c(self):
        """Names of what is printed, and C expressions."""
        if self.is_structure():
            return [("size", f"sizeof({self.ours})")]
        if self.structure:
            owner, member = self.ours.split(".")
            return [("offset", f"offsetof(struct {owner}, {member})"),
                    ("size", f"sizeof(((struct {owner} *)0)->{member})")]
        return [("value", self.ours)]

    def in_rust(self):
        if self.is_structure():
            whole = f"size_of::<{self.theirs}>()"
            return [("size", f"offset_of!({self.theirs}, {self.end})" if self.end else whole)]
        if self.structure:
            owner = self.structure.theirs
            return [("offset", f"offset_of!({owner}, {self.theirs})"),
                    ("size", f"size_behind(|p: *const {owner}| unsafe {{ &raw const (*p).{self.theirs} }})")]
        return [("value", self.theirs)]


def read_table():
    """Files, and whether all that each declares is listed; and the rows."""
    files, rows, path, structure = {}, [], None, None
    for line in (HERE / "layouts.tsv").read_text().splitlines():
        columns = line.split("\t")
        if not line or line.startswith("#"):
            continue
        if columns[0] == "file":
            path, structure = columns[1], None
            files[path] = columns[2] == "all"
            continue
        if columns[0].startswith("."):
            columns[0] = structure.ours.removeprefix("struct ") + columns[0]
            row = Row(path, columns, structure)
        else:
            row = Row(path, columns, None)
            structure = row if row.is_structure() else None
        rows.append(row)
    return files, rows


# ---- what both sides say -------------------------------------------------------------------------


def narrow(value):
    """Both sides may take a number for signed or not; a GUID has 128 bits."""
    return value & 0xffffffff if -2**31 <= value < 2**32 else value % 2**128


def run(command, **options):
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S, **options)


def ask_compiler(rows, folder):
    """Values by key and kind, as numbers in the text of an assembly."""
    values = {}
    for path in {row.path: None for row in rows}:
        asked = [(row.key, kind, code) for row in rows if row.path == path for kind, code in row.in_c()]
        lines = [f'#include "{path}"', "#include <stddef.h>", "void layouts(void);", "void layouts(void)", "{"]
        for number, (_, _, code) in enumerate(asked):
            lines.append(f'    __asm__ volatile("@@ {number} %0" : : "i"((long long)({code})));')
        source = folder / "ours.c"
        source.write_text("\n".join([*lines, "}", ""]))
        done = run([COMPILER, "-std=c11", "-S", "-w", "-D_WIN32_WINNT=0x0602", f"-I{TOP}", f"-I{TOP}/agent",
                    "-o", "-", str(source)])
        if done.returncode != 0:
            raise AssertionError(f"{path}: {done.stderr}")
        for number, value in re.findall(r"@@ (\d+) \$(-?\d+)", done.stdout):
            key, kind, _ = asked[int(number)]
            values[key, kind] = narrow(int(value))
    return values


def ask_crate(asked, folder):
    """Values by key and kind, of expressions in Rust."""
    lines = [MODULES,
             "fn size_behind<T, F>(_: fn(*const T) -> *const F) -> usize { size_of::<F>() }",
             "#[allow(dead_code)]",
             "fn guid(g: GUID) -> u128 {",
             "    let tail = u64::from_be_bytes(g.data4) as u128;",
             "    (g.data1 as u128) << 96 | (g.data2 as u128) << 80 | (g.data3 as u128) << 64 | tail",
             "}", "fn main() {"]
    for number, (_, _, code) in enumerate(asked):
        lines.append(f'    println!("{number} {{}}", ({code}) as i128);')
    (folder / "main.rs").write_text("\n".join([*lines, "}", ""]))
    done = run(["cargo", "run", "--quiet", "--locked", "--offline"], cwd=folder)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    values = {}
    for number, value in re.findall(r"^(\d+) (-?\d+)$", done.stdout, re.M):
        key, kind, _ = asked[int(number)]
        values[key, kind] = narrow(int(value))
    return values


# ---- tables of names, whose rows are called as Windows calls them -------------------------------------


def kernel_flags():
    """EVENT_TRACE_FLAG_*: the first word of the masks in kernel_flags.def, the words above bear a number."""
    rows = re.findall(r"^KERNEL_FLAG\((\w+), (0x\w+)\)", code_of("agent/input/live/kernel_flags.def"), re.M)
    return {"EVENT_TRACE_FLAG_" + name.upper(): int(mask, 16) for name, mask in rows if int(mask, 16) < 0x20000000}


def system_providers():
    """System…ProviderGuid, and SYSTEM_…_KW_* by their bits."""
    code = code_of("agent/etw/session/etw_kernel_provider.c")
    values = {}
    for name, numbers, keywords in re.findall(r'\{"System(\w+)Provider",\s*GUID\((.*?)\),(.*?)\}', code, re.S):
        parts = [int(number, 16) for number in numbers.split(",")]
        digits = "".join(f"{part:0{width}x}" for part, width in zip(parts, [8, 4, 4] + [2] * 8, strict=True))
        values[f"System{name}ProviderGuid"] = int(digits, 16)
        words = "".join(re.findall(r'"([^"]*)"', keywords)).split()
        values.update({f"SYSTEM_{name.upper()}_KW_{word}": 1 << bit for bit, word in enumerate(words)})
    return values


def status_names():
    """The names of error codes."""
    rows = re.findall(r'\{(0x[0-9a-f]+|\d+), "(\w+)"\}', code_of("agent/event/value/status_names.c"))
    return {name: int(number, 0) for number, name in rows}


NAMES = {"agent/input/live/kernel_flags.def": kernel_flags, "agent/etw/session/etw_kernel_provider.c": system_providers,
         "agent/event/value/status_names.c": status_names}


# ---- the tests --------------------------------------------------------------------------------------


def cannot(reason):
    print(f"Nothing to compare with: {reason}")
    sys.exit(SKIPPED)


def fetch_crate(folder):
    """Puts the crate's list beside the program. What cargo has already, it does not ask for."""
    for tool in ["cargo", "rustc", COMPILER]:
        if not shutil.which(tool):
            cannot(f"no {tool} (packaging/deps.sh windows)")
    if sys.byteorder != "little" or platform.architecture()[0] != "64bit":
        cannot("this machine lays structures out in another way than a 64-bit Windows")
    for name in ["Cargo.toml", "Cargo.lock"]:
        shutil.copy(HERE / name, folder)
    (folder / "main.rs").write_text("fn main() {}\n")
    if run(["cargo", "fetch", "--locked", "--offline"], cwd=folder).returncode == 0:
        return
    done = run(["cargo", "fetch", "--locked"], cwd=folder)
    if done.returncode != 0:
        if "checksum" in done.stderr:
            raise AssertionError(done.stderr)
        cannot(f"cargo cannot fetch the crate: {done.stderr.strip().splitlines()[-1].strip()}")


class Layouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files, cls.rows = read_table()
        cls.compared = [row for row in cls.rows if row.is_compared()]
        cls.names = {path: read() for path, read in NAMES.items()}
        asked = [(row.key, kind, code) for row in cls.compared for kind, code in row.in_rust()]
        asked += [(path, name, f"guid({name})" if name.endswith("Guid") else name)
                  for path, names in cls.names.items() for name in names
                  if f"{path}: {name}" not in {row.key for row in cls.rows}]
        with tempfile.TemporaryDirectory(prefix="etwship-layouts-") as name:
            folder = Path(name)
            fetch_crate(folder)
            cls.theirs = ask_crate(asked, folder)
            cls.ours = ask_compiler(cls.compared, folder)

    def listed(self, path, name):
        """Has the table this declaration, or a structure around it that is not compared?"""
        whole = "struct " + name.partition(".")[0]
        return any(name == row.ours or not row.is_compared() and (fnmatch.fnmatchcase(name, row.ours) or
                   fnmatch.fnmatchcase(whole, row.ours)) for row in self.rows if row.path == path)

    def test_all_that_is_declared_is_compared_or_says_why_not(self):
        for path in [path for path, is_whole in self.files.items() if is_whole]:
            self.assertTrue(declared(path), path)
            missing = [name for name in declared(path) if not self.listed(path, name)]
            self.assertEqual(missing, [], f"{path} declares what tests/windows/layouts/layouts.tsv does not have")

    def test_all_members_of_a_compared_structure_are_listed(self):
        for row in self.compared:
            if row.is_structure():
                owner = row.ours.removeprefix("struct ") + "."
                found = [name for name in declared(row.path) if name.startswith(owner)]
                self.assertTrue(found, row.key)
                self.assertEqual([name for name in found if not self.listed(row.path, name)], [])

    def test_the_table_has_no_name_twice_and_none_that_is_gone(self):
        keys = [row.key for row in self.rows]
        self.assertEqual(sorted(set(keys)), sorted(keys))
        for row in self.rows:
            known = self.names.get(row.path) or declared(row.path)
            self.assertTrue(fnmatch.filter(known, row.ours), row.key)

    def test_what_is_not_compared_has_a_reason(self):
        for row in self.rows:
            self.assertEqual(bool(row.reason), not row.is_compared(), row.key)
            self.assertTrue(row.theirs, row.key)

    def test_sizes_offsets_and_constants_are_those_of_the_metadata(self):
        self.assertEqual(self.ours.keys(), {key for key in self.theirs if key[0] not in NAMES})
        different = [f"{key} has the {kind} {value}, in the metadata {self.theirs[key, kind]}"
                     for (key, kind), value in self.ours.items() if self.theirs[key, kind] != value]
        self.assertEqual(different, [])

    def test_names_mean_the_numbers_of_the_metadata(self):
        different = []
        for path, names in self.names.items():
            self.assertGreater(len(names), 20, path)
            found = {name: self.theirs[path, name] for name in names if (path, name) in self.theirs}
            different += [f"{name} is {names[name]:#x}, in the metadata {value:#x}"
                          for name, value in found.items() if narrow(names[name]) != value]
        self.assertEqual(different, [])


if __name__ == "__main__":
    unittest.main()
