"""PDB files with the trace messages of TMF files, made in two ways: by LLVM's llvm-pdbutil from YAML, and
by a writer of this file's own, which can put the blocks of streams into any order.

Own files follow "The MSF File Format", "The PDB DBI Stream" and "The Module Information Stream" in the
documentation of LLVM. Nothing is shared with the reader under test.
"""

import json
import re
import shutil
import struct
import subprocess


def annotations(text):
    """[(function, strings)] of a TMF file's messages, as the preprocessor puts them into the symbols:
    each with the line of its GUID, and without its function, which is the one around it."""
    made, group, strings, function = [], None, None, None
    for line in text.splitlines():
        if re.match(r"[0-9a-f-]{36} ", line):
            group = line
        elif line.startswith("#typev "):
            head, _, function = line.partition(" FUNC=")
            strings = ["TMF:", group, head]
        elif strings:
            strings.append(line)
            if line == "}":
                made.append((function, strings))
                strings = None
    return made


# ---- by LLVM

def pdbutil():
    """The program, or None."""
    names = ["llvm-pdbutil"] + [f"llvm-pdbutil-{version}" for version in range(30, 13, -1)]
    return next(filter(None, map(shutil.which, names)), None)


def _yaml_records(module):
    for function, strings in module:
        annotation = {"Kind": "S_ANNOTATION",
                      "AnnotationSym": {"Offset": 0, "Segment": 1, "Strings": strings}}
        if function is None:
            yield annotation
            continue
        yield {"Kind": "S_GPROC32", "ProcSym": {
            "CodeSize": 1, "DbgStart": 0, "DbgEnd": 0, "FunctionType": 0, "Offset": 0, "Segment": 1,
            "Flags": [], "DisplayName": function}}
        yield annotation
        yield {"Kind": "S_END", "ScopeEndSym": {}}


def write_by_llvm(path, modules, block_size=4096, features=("VC140",), stripped=False):
    """${modules}: {name: [(function, strings)]}; without function: None."""
    # JSON is YAML.
    path.with_suffix(".yaml").write_text(json.dumps({
        "MSF": {"SuperBlock": {"BlockSize": block_size}},
        "PdbStream": {"Age": 1, "Features": list(features)},
        "DbiStream": {"VerHeader": "V70", "Flags": 2 if stripped else 0, "Modules": [
            {"Module": name, "ObjFile": name,
             "Modi": {"Signature": 4, "Records": list(_yaml_records(module))}}
            for name, module in modules.items()]}}), encoding="utf-8")
    subprocess.run([pdbutil(), "yaml2pdb", f"-pdb={path}", path.with_suffix(".yaml")], check=True)


# ---- by hand

def _record(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<HH", 2 + len(body), kind) + body


def _symbols(module):
    made = struct.pack("<I", 4)
    for function, strings in module:
        made += _record(0x1110, bytes(35) + function.encode() + b"\0")
        texts = b"".join(string.encode() + b"\0" for string in strings)
        made += _record(0x1019, struct.pack("<IHH", 0, 1, len(strings)) + texts)
        made += _record(0x0006, b"")
    return made


def _dbi(symbols, first_stream):
    entries = b""
    for place, (name, made) in enumerate(symbols.items()):
        entries += struct.pack("<34xHI24x", first_stream + place, len(made))
        entries += name.encode() + b"\0" + b"x.lib\0"
        entries += bytes(-len(entries) % 4)
    return struct.pack("<iI16xI28xHHI", -1, 19990903, len(entries), 0, 0x8664, 0) + entries


def _blocks(data, size):
    return [data[at:at + size].ljust(size, b"\0") for at in range(0, len(data), size)]


def msf(streams, block_size, rng):
    """The bytes of a container; every block of a stream, and of the directory, is anywhere in the file.
    None is a stream that does not exist."""
    parts = [_blocks(data or b"", block_size) for data in streams]
    needed = sum(map(len, parts))
    directory_size = 4 + 4 * len(streams) + 4 * needed
    directory_blocks = -(-directory_size // block_size)
    map_blocks = -(-4 * directory_blocks // block_size)
    free = []
    block = 3
    while len(free) < needed + directory_blocks + map_blocks:
        if block % block_size not in (1, 2):  # those are maps of free blocks
            free.append(block)
        block += 1
    rng.shuffle(free)
    file = [bytes(block_size)] * (max(free) + 1)

    def place(blocks):
        numbers = [free.pop() for _ in blocks]
        for number, content in zip(numbers, blocks):
            file[number] = content
        return struct.pack(f"<{len(numbers)}I", *numbers)

    sizes = [0xffffffff if data is None else len(data) for data in streams]
    directory = struct.pack(f"<I{len(sizes)}I", len(sizes), *sizes) + b"".join(map(place, parts))
    numbers = place(_blocks(place(_blocks(directory, block_size)), block_size))
    head = struct.pack("<32s5I", b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0", block_size, 1,
                       len(file), len(directory), 0)
    file[0] = (head + numbers).ljust(block_size, b"\0")
    return b"".join(file)


def object_symbols(path):
    """The symbols in an object file of a compiler (PE Format: COFF; their records are those of a PDB)."""
    data = path.read_bytes()
    made = struct.pack("<I", 4)
    for place in range(struct.unpack_from("<H", data, 2)[0]):
        name, size, start = struct.unpack_from("<8s8xII", data, 20 + 40 * place)
        at, end = start + 4, start + size
        while name == b".debug$S" and at + 8 <= end:
            kind, length = struct.unpack_from("<II", data, at)
            if kind == 0xf1:
                made += data[at + 8:at + 8 + length]
            at += 8 + length + -length % 4
    return made


def write_by_hand(path, modules, block_size, rng):
    """${modules} as above, or {name: object_symbols()}."""
    symbols = {name: module if isinstance(module, bytes) else _symbols(module)
               for name, module in modules.items()}
    info = struct.pack("<III16xIIIIIII", 20000404, 0, 1, 0, 0, 1, 0, 0, 0, 20140508)
    streams = [b"old directory", info, None, _dbi(symbols, 5), None, *symbols.values()]
    path.write_bytes(msf(streams, block_size, rng))
