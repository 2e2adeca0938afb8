"""WPP messages out of PDB files, in place of the TMF files that describe the same.

The messages are those of wpp.py, and all real ones where they are: written as annotations into PDB files
(pdb_files.py), each must decode as its TMF file says.
"""

import os
import random
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import common
import pdb_files
import wpp


def modules_of(texts):
    """{module: annotations}, one module for each TMF file."""
    return {f"C:\\build\\{name}.obj": pdb_files.annotations(text) for name, text in texts.items()}


def warnings(*arguments):
    done = subprocess.run([common.binary(), *map(str, arguments)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=common.RUN_TIMEOUT_S, check=True)
    return done.stderr.decode().splitlines()


def compare(report, name, folder, schema, formats):
    wpp.compare(report, name, folder, schema, [(key, wpp.USUAL | wpp.POINTER64) for key in formats],
                formats)
    stat, = common.stat("--schema", schema, folder / f"{name}.etl")
    report.equal(f"{name}: missing", stat["missing"], [])


def by_hand(report, folder, modules, formats):
    """Streams of many blocks, shuffled. Blocks that are as large as a stream, or larger, are among the
    sizes."""
    rng = random.Random("blocks")
    for size in (512, 1024, 2048, 4096, 8192, 32768):
        pdb = folder / f"by_hand_{size}.pdb"
        pdb_files.write_by_hand(pdb, modules, size, rng)
        compare(report, f"by_hand_{size}", folder, pdb, formats)


def by_llvm(report, folder, modules, formats):
    for size in (512, 1024, 2048, 4096):
        pdb = folder / f"by_llvm_{size}.pdb"
        pdb_files.write_by_llvm(pdb, modules, size)
        compare(report, f"by_llvm_{size}", folder, pdb, formats)


def show_alike(report, folder, modules, tmf):
    """The output of `schema show` is equal for all groups."""
    pdb = folder / "show.pdb"
    pdb_files.write_by_hand(pdb, modules, 4096, random.Random("show"))
    groups = sorted({strings[1][:36] for module in modules.values() for _, strings in module})
    for group in groups:
        report.equal(f"show {group}", common.run("schema", "show", group, "--schema", pdb),
                     common.run("schema", "show", group, "--schema", tmf))


SOURCE = r"""
#define MESSAGE(line, number, text) __annotation(L"TMF:", \
    L"a5bbbdd9-73f9-3bed-93aa-521a4c96d934 driver // SRC=main.c MJ= MN=", \
    L"#typev  main_c" line L" " number L" \"%0" text L"\" //   LEVEL=ERROR FLAGS=IO", \
    L"{", L"value, ItemLong -- 10", L"}")
static __inline __attribute__((always_inline)) void inlined(void) { MESSAGE(L"3", L"12", L"in"); }
int helper(int value) { MESSAGE(L"1", L"10", L"value=0x%10!x!"); return value + 1; }
int entry(void) { inlined(); MESSAGE(L"2", L"11", L"[%!FUNC!] gr\xfc\xdf\x20ac"); return helper(3); }
"""


def by_compiler(report, folder):
    """Annotations as a compiler writes them, with their functions. (The linker of this test leaves functions out.)
    The source recognises the file by its content."""
    source = folder / "driver.c"
    source.write_text(SOURCE, encoding="utf-8")
    pdb, made = folder / "driver.symbols", folder / "driver.obj"
    subprocess.run(["clang", "-target", "x86_64-pc-windows-msvc", "-fms-extensions", "-g", "-gcodeview", "-O1",
                    "-c", source, "-o", made], check=True)
    pdb_files.write_by_hand(pdb, {"driver.obj": pdb_files.object_symbols(made)}, 512, random.Random(1))
    shown = common.run("schema", "show", "a5bbbdd9-73f9-3bed-93aa-521a4c96d934", "--schema", pdb)
    report.equal("by a compiler", shown.decode().splitlines(), [
        "    10 helper main.c:1 ERROR IO (wpp)", '        "%0value=0x%10!x!"',
        "        arg10: ItemLong, value",
        "    11 entry main.c:2 ERROR IO (wpp)", '        "%0[%!FUNC!] gr\u00fc\u00df\u20ac"',
        "        arg10: ItemLong, value",
        "    12 entry main.c:3 ERROR IO (wpp)", '        "%0in"', "        arg10: ItemLong, value"])


def damaged(report, folder):
    """A record of size 0 costs the rest of its module, and is reported with its place."""
    def message(group):
        return "f", ["TMF:", f"{group} m // SRC=a.c MJ= MN=", '#typev a_c1 10 "x" // LEVEL=L', "{", "}"]

    groups = [f"{number:08x}-0000-0000-0000-000000000000" for number in range(3)]
    pdb = folder / "damaged.pdb"
    pdb_files.write_by_llvm(pdb, {"one.obj": [message(groups[0]), message(groups[1])],
                                  "two.obj": [message(groups[2])]})
    data = bytearray(pdb.read_bytes())
    record = data.index(b"TMF:\0" + groups[1].encode()) - 12
    data[record:record + 2] = struct.pack("<H", 0)
    pdb.write_bytes(data)
    listed = common.run("schema", "list", "--schema", pdb).decode().splitlines()
    report.equal("what is left", [line for line in listed if line.split("\t")[3:4] == ["wpp"]],
                 ["m\t10\t0\twpp\tf"] * 2)
    said = warnings("schema", "list", "--schema", pdb)
    report.true("damage is told", len(said) == 1 and re.fullmatch(
        rf"etwship: warning: {re.escape(str(pdb))}\(one\.obj\):\d+: a record has no kind: "
        r"the rest of this module is skipped", said[0]), str(said))


def fastlink(report, folder):
    pdb = folder / "fastlink.pdb"
    pdb_files.write_by_llvm(pdb, {}, features=("VC140", "MinimalDebugInfo"))
    said = warnings("schema", "list", "--schema", pdb)
    report.true("what is missing is told", len(said) == 1 and "/DEBUG:FASTLINK" in said[0], str(said))


def public(report, folder):
    """Of public symbols, only parts that their maker marked are left, without names of functions, files and
    arguments."""
    group = "4ed73968-00d8-34f3-557f-85fe0ce17799"
    message = ["TMF:", f"{group} drv // SRC=Unknown_cxx00 MJ= MN=",
               '#typev Unknown_cxx00 94 "%0Object:0x%10!p!" //   LEVEL=TRACE_LEVEL_INFORMATION FLAGS=USB',
               "{", "Arg, ItemPtr -- 10", "}", "PUBLIC_TMF:"]
    pdb = folder / "public.pdb"
    pdb_files.write_by_llvm(pdb, {"a.obj": [(None, message)]}, stripped=True)
    report.equal("public: said", warnings("schema", "list", "--schema", pdb), [])
    shown = common.run("schema", "show", group, "--schema", pdb).decode().splitlines()
    report.equal("public: shown", shown, [
        "    94 Unknown_cxx00 TRACE_LEVEL_INFORMATION USB (wpp)",
        '        "%0Object:0x%10!p!"', "        arg10: ItemPtr, Arg"])
    pdb_files.write_by_llvm(pdb, {"a.obj": []}, stripped=True)
    said = warnings("schema", "list", "--schema", pdb)
    report.true("public: nothing left", len(said) == 1 and "no private symbols" in said[0], str(said))


def main():
    report = common.Report()
    texts = {"own": wpp.own_formats()}
    folder_of_real = Path(os.environ.get("ETWSHIP_SHARED") or "missing") / "data" / "manifests"
    files = sorted(folder_of_real.glob("tmf-*/*.tmf"))
    texts.update({file.stem: file.read_text(encoding="utf-8") for file in files})
    formats = {}
    for text in texts.values():
        for key, message in wpp.read_formats(text).items():
            formats.setdefault(key, message)
    modules = modules_of(texts)
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        by_hand(report, folder, modules, formats)
        if files:
            report.equal("real messages", len(formats), 2612 + len(wpp.read_formats(texts["own"])))
            show_alike(report, folder, modules_of({f.stem: texts[f.stem] for f in files}),
                       folder_of_real)
        else:
            print("no real trace message formats (ETWSHIP_SHARED): only those of this test")
        if shutil.which("clang"):
            by_compiler(report, folder)
        else:
            print("no clang: no annotations of a compiler")
        if pdb_files.pdbutil():
            by_llvm(report, folder, modules, formats)
            damaged(report, folder)
            fastlink(report, folder)
            public(report, folder)
        else:
            print("no llvm-pdbutil (Debian package llvm): only PDB files of this test's own writer")
    print(f"{len(formats)} messages, {sum(map(len, modules.values()))} annotations")
    report.finish()


main()
