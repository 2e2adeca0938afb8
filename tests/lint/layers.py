"""What a room may include: the lines of etwship_room() against the sources, the compiler and the pages.

    layers.py BUILD     a build folder with compile_commands.json; run from the top of the tree
    layers.py --write   put what the lines say into the tables of agent/README.md and agent/rooms.md

Every room is asked for every header of every other one, by its own compiler command: what its line names must be
found, and nothing else. What its objects need lies in libraries that it is linked with, as far as they are built.
Headers of the system and of libraries are held to SYSTEM. Neither layers nor headers include each other in a circle;
that rooms do not, and come after those that they use, is for CMake.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

LAYERS_PAGE, ROOMS_PAGE = Path("agent/README.md"), Path("agent/rooms.md")
LISTS = [Path("agent/CMakeLists.txt"), Path("config/CMakeLists.txt"), Path("outputs/CMakeLists.txt")]
MAX_SOURCES, MAX_LINES = 25, 6000
KEYS = ("PER_SYSTEM", "WITHOUT", "USES", "LINKS", "SYSTEM", "LIBS")
# Headers of C that reach nothing outside the function that calls them, but for what it is given.
PLAIN = {f"{name}.h" for name in ("errno", "inttypes", "limits", "stdarg", "stdbool", "stddef", "stdint", "stdio",
                                  "stdlib", "string")}
OS_FOLDERS = {"linux", "windows"}
OS_HEADER = re.compile(r"(sys|netinet|arpa|linux)/.*|(unistd|pthread|fcntl|dirent|signal|poll|dlfcn|windows|winsock2|"
                       r"winternl|authz|sddl|lmaccess|lmerr)\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
# Of libraries, as the page names them.
LIBRARIES = {"archive.h": "libarchive", "curl/curl.h": "libcurl", "expat.h": "expat", "isa-l/crc.h": "ISA-L",
             "isa-l/igzip_lib.h": "ISA-L", "librdkafka/rdkafka.h": "librdkafka", "openssl/bio.h": "OpenSSL",
             "openssl/crypto.h": "OpenSSL", "openssl/err.h": "OpenSSL", "openssl/evp.h": "OpenSSL",
             "openssl/rsa.h": "OpenSSL", "openssl/ssl.h": "OpenSSL",
             "pcre2.h": "PCRE2", "sqlite3.h": "SQLite", "xxhash.h": "xxHash", "yaml.h": "libyaml", "zlib.h": "zlib",
             "zstd.h": "zstd"}


class Room:
    def __init__(self, name, words):
        self.name, self.layer = name, name.split("/")[0]
        self.per_system = "PER_SYSTEM" in words
        self.uses, self.links, self.system = (words.get(key, []) for key in ("USES", "LINKS", "SYSTEM"))
        self.rooms = set()  # those it uses, with `pipeline/*` as all rooms of that layer

    def may_use(self, header, room):
        return not header.endswith("_own.h") and (header in self.uses or room in self.rooms)

    def layers(self):
        return {used.split("/")[0] for used in self.uses} - {self.layer}


def read_rooms():
    rooms = {}
    for path in LISTS:
        for name, text in re.findall(r"^etwship_room\(([\w/]+)([^)]*)\)", path.read_text(encoding="utf-8"), re.M):
            words, key = {}, None
            for word in text.split():
                if word in KEYS:
                    key = word
                    words[key] = []
                else:
                    words[key].append(word)
            rooms[name] = Room(name, words)
    for room in rooms.values():
        room.rooms = {name for name, other in rooms.items() if {name, f"{other.layer}/*"} & set(room.uses)}
    return rooms


def room_of(name, rooms):
    """The room of a file; None: its folder is not a room."""
    folder = name.rpartition("/")[0]
    parent, _, last = folder.rpartition("/")
    if folder not in rooms and last in OS_FOLDERS and parent in rooms and rooms[parent].per_system:
        folder = parent
    return rooms.get(folder)


def folder_of(layer):
    folder = Path("agent", layer)
    return folder if folder.is_dir() else Path(layer)


def read_sources(rooms):
    """The includes of each file: {"pipeline/source/source.c": [("store/store.h", None), (None, "stdlib.h")]}."""
    found = {}
    for layer in sorted({room.layer for room in rooms.values()}):
        for path in sorted(folder_of(layer).rglob("*")):
            if path.suffix in (".c", ".h", ".def"):
                name = f"{layer}/{path.relative_to(folder_of(layer)).as_posix()}"
                found[name] = INCLUDE.findall(path.read_text(encoding="utf-8"))
    return found


def check_folders(rooms, sources):
    """Checks that each source lies in a room, and that no library is too large."""
    for name in sources:
        if not room_of(name, rooms):
            yield f"{name}: its folder is no room: no line etwship_room() names it"
    for room in rooms.values():
        for system, other in (("linux", "windows"), ("windows", "linux")):
            files = [name for name in sources if room_of(name, rooms) is room and
                     not (room.per_system and f"/{other}/" in name)]
            count = sum(name.endswith(".c") for name in files)
            lines = sum((folder_of(room.layer).parent / name).read_bytes().count(b"\n") for name in files)
            if count > MAX_SOURCES or lines > MAX_LINES:
                yield f"{room.name} has {count} sources and {lines} lines for {system}: at most {MAX_SOURCES} and " \
                      f"{MAX_LINES} are one room"


def check_system(rooms, sources):
    """Checks that <headers> in use are named, and that each named one is included."""
    used = {name: {"OS"} for name in rooms}
    for name, includes in sources.items():
        room = room_of(name, rooms)
        in_os_folder = bool(OS_FOLDERS & set(name.split("/")))
        for _, header in includes:
            if not room or not header or header in PLAIN:
                continue
            used[room.name].add(header)
            if in_os_folder and "OS" in room.system:
                continue
            if header not in room.system:
                yield f"{name}: <{header}> is not in the SYSTEM of {room.name}"
            elif OS_HEADER.fullmatch(header) and not in_os_folder:
                yield f"{name}: <{header}> outside the folders linux and windows"
    for room in rooms.values():
        for header in sorted(set(room.system) - used[room.name]):
            yield f"SYSTEM of {room.name} names <{header}>, which nothing there includes"


def reach(sources, name, found):
    if name in sources and name not in found:
        found.add(name)
        for include, _ in sources[name]:
            reach(sources, include, found)
    return found


def check_uses(rooms, sources):
    """Checks that the lines name existing files, and all included ones, also in sources of other systems."""
    reached = {name: set() for name in rooms}
    for name, includes in sources.items():
        room = room_of(name, rooms)
        if not room:
            continue
        reached[room.name] |= reach(sources, name, set())
        for include, _ in includes:
            other = room_of(include, rooms)
            if "/" in include and other is not room and not room.may_use(include, other and other.name):
                yield f"{name}: {include} is not in the USES of {room.name}"
    for room in rooms.values():
        found = reached[room.name] | {other.name for other in (room_of(name, rooms) for name in reached[room.name]) if other}
        for used in [*room.uses, *room.links]:
            if used not in rooms and used not in sources and not used.endswith("/*"):
                yield f"the line of {room.name} names {used}, which is not there"
        for used in room.uses:
            if used not in found and not any(name.startswith(used.removesuffix("*")) for name in found):
                yield f"USES of {room.name} names {used}, which nothing there includes"
        if "cli" in room.layers():
            yield f"USES of {room.name} names cli, the program, which nothing includes"


def circles(edges):
    """The groups of nodes that reach each other (Tarjan's strongly connected components)."""
    index, low, stack, groups = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            at = stack.index(node)
            groups.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return [group for group in groups if len(group) > 1]


def check_circles(rooms, sources):
    layers = {}
    for room in rooms.values():
        layers.setdefault(room.layer, {}).update({used: f"{room.name} uses {used}" for used in room.layers()})
    files = {name: {include: f"{name} includes {include}" for include, _ in includes if include in sources}
             for name, includes in sources.items()}
    for what, graph in [("layers", layers), ("files", files)]:
        for group in circles(graph):
            reasons = [graph[a][b] for a in group for b in group if b in graph.get(a, {})]
            yield f"{what} in a circle: {', '.join(group)}: {'; '.join(reasons[:6])}"


def target_of(room):
    return "room_" + room.name.replace("/", "_")


def found_by_compiler(entry, headers):
    """The ${headers} that a source compiled as ${entry} could include."""
    command = shlex.split(entry["command"])
    if Path(command[0]).name == "ccache":
        command = command[1:]
    out = command.index("-o")
    options = [word for word in command[:out] + command[out + 2:] if word not in ("-c", entry["file"])]
    text = "".join(f'#if __has_include("{name}")\nfound "{name}"\n#endif\n' for name in headers)
    done = subprocess.run([*options, "-E", "-P", "-x", "c", "-"], cwd=entry["directory"], input=text, text=True,
                          stdout=subprocess.PIPE, check=True)
    return set(re.findall(r'^\s*found "([^"]+)"', done.stdout, re.M))


def check_compiler(rooms, sources, build):
    headers = {name: room_of(name, rooms) for name in sources if not name.endswith(".c")}
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        target = re.search(r"CMakeFiles/(room_\w+)\.dir/", entry["command"])
        if target:
            commands.setdefault(target[1], entry)
    tried = 0
    for room in rooms.values():
        others = [name for name, other in headers.items() if other is not room]
        may = {name for name in others if room.may_use(name, headers[name] and headers[name].name)}
        if target_of(room) not in commands:  # a room of headers
            continue
        found = found_by_compiler(commands[target_of(room)], others)
        tried += len(others) - len(may)
        for name in sorted(found - may):
            yield f"{room.name} can include {name}, which its USES does not name"
        for name in sorted(may - found):
            yield f"{room.name} cannot include {name}, which its USES names"
    print(f"{len(rooms)} rooms, {tried} forbidden pairs of room and header tried")
    if not tried:
        yield "no forbidden pair was tried"


def check_links(rooms, build):
    """Checks that a room is linked with the rooms that have the symbols of its objects: a declaration can be written
    by hand, or made from a table."""
    archives = {path: room for room in rooms.values() for path in build.glob(f"*/lib{target_of(room)}.a")}
    if not archives:
        return
    done = subprocess.run(["nm", "-gA", *archives], text=True, stdout=subprocess.PIPE, check=True)
    needed, defined = [], {}
    for path, member, kind, symbol in re.findall(r"^(.*?\.a):(.*?):[0-9a-f ]* (\w) (\S+)$", done.stdout, re.M):
        room = archives[Path(path)]
        if kind == "U":
            needed.append((room, member, symbol))
        else:
            defined[symbol] = room
    for room, member, symbol in needed:
        other = defined.get(symbol, room)
        if other is not room and not (other.name in room.rooms or other.name in room.links or
                                      other.layer in room.layers()):
            yield f"{room.name} ({member}) needs {symbol} of {other.name}, which its line does not name"
    print(f"{len(archives)} libraries, {len(needed)} symbols that they need")


def brief(used):
    """Several rooms or headers of a layer in short form: `store/{ids,store}.h`."""
    by_layer = {}
    for name in used:
        layer, _, rest = name.partition("/")
        by_layer.setdefault((layer, rest.endswith(".h")), []).append(rest)
    for (layer, are_headers), rests in by_layer.items():
        if "" in rests:
            yield f"`{layer}`"
            rests = [rest for rest in rests if rest]
        if len(rests) == 1:
            yield f"`{layer}/{rests[0]}`"
        elif rests:
            yield f"`{layer}/{{{','.join(rest.removesuffix('.h') for rest in rests)}}}" + ("`" if not are_headers else ".h`")


def libraries(system):
    if any(name == "OS" or OS_HEADER.fullmatch(name) for name in system):
        yield "the operating system"
    yield from dict.fromkeys(LIBRARIES[name] for name in system if name in LIBRARIES)


def of_room(room):
    """The second column of the table of rooms."""
    return ", ".join([*brief(room.uses), *libraries(room.system)]) or "-"


def of_layer(layer, rooms):
    """The second column of the table of layers."""
    mine = [room for room in rooms.values() if room.layer == layer]
    named = set().union(*(room.rooms for room in mine))
    layers_used = set().union(*(room.layers() for room in mine))
    words = []
    for other in reversed(dict.fromkeys(room.layer for room in rooms.values())):
        whole = [name for name, room in rooms.items() if room.layer == other]
        singles = [used for room in mine for used in room.uses if used.startswith(other + "/") and used not in rooms and
                   room_of(used, rooms) and room_of(used, rooms).name not in named]
        if other != layer and other in layers_used:
            words += [other] if set(whole) <= named else [*filter(named.__contains__, whole), *sorted(set(singles))]
    return ", ".join([*brief(words), *libraries([name for room in mine for name in room.system])]) or "-"


def wanted_pages(rooms):
    def rows(page, column):
        return re.sub(r"^\| `([\w./]+)` \|[^|]*\|(?=[^|]*\|$)(.*)$",
                      lambda match: f"| `{match[1]}` | {column(match[1])} |{match[2]}", page, flags=re.M)

    layers = {room.layer for room in rooms.values()}

    def layer_column(name):
        name = name.removeprefix("../")
        return of_layer(name, rooms) if name in layers else "-"

    return {LAYERS_PAGE: rows(LAYERS_PAGE.read_text(encoding="utf-8"), layer_column),
            ROOMS_PAGE: rows(ROOMS_PAGE.read_text(encoding="utf-8"),
                             lambda name: of_room(rooms[name]) if name in rooms else "-")}


def check_pages(rooms):
    for page, text in wanted_pages(rooms).items():
        names = re.findall(r"^\| `(?:\.\./)?([\w/]+)` \|", text, re.M)
        wanted = list(dict.fromkeys(room.layer for room in rooms.values())) if page is LAYERS_PAGE else list(rooms)
        for name in sorted(set(wanted) - set(names)):
            yield f"{page}: its table has no row for {name}"
        if page is ROOMS_PAGE and names != wanted:
            yield f"{page}: other rows, or in another order, than the lines of etwship_room()"
        if text != page.read_text(encoding="utf-8"):
            yield f"{page}: another table than the lines of etwship_room(): run tests/lint/layers.py --write"


def main():
    rooms = read_rooms()
    if sys.argv[1:] == ["--write"]:
        for page, text in wanted_pages(rooms).items():
            page.write_text(text, encoding="utf-8")
        return 0
    sources, build = read_sources(rooms), Path(sys.argv[1])
    complaints = [*check_folders(rooms, sources), *check_system(rooms, sources), *check_uses(rooms, sources),
                  *check_circles(rooms, sources), *check_compiler(rooms, sources, build), *check_links(rooms, build),
                  *check_pages(rooms)]
    print("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
