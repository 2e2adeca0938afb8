"""What a layer may include: the lines of etwship_layer() against the sources, the compiler and README.

    layers.py BUILD     a build folder with compile_commands.json; run from the top of the tree
    layers.py --write   put what the lines say into the table of agent/README.md

Every layer is asked for every header of every other one, by its own compiler command: what its line names must be
found, and nothing else. Headers of the system and of libraries are held to SYSTEM. Neither layers nor folders nor
headers include each other in a circle. Inside a layer, a folder includes those that its row of README names before it.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path("agent/README.md")
LISTS = [Path("agent/CMakeLists.txt"), Path("config/CMakeLists.txt"), Path("outputs/CMakeLists.txt")]
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


class Layer:
    def __init__(self, name, folder, words):
        self.name, self.folder = name, folder
        self.uses, self.system = words.get("USES", []), words.get("SYSTEM", [])

    def may_use(self, header):
        return header in self.uses or header.split("/")[0] in (self.name, *self.uses)


def read_layers():
    layers = {}
    for path in LISTS:
        for name, text in re.findall(r"^etwship_layer\((\w+)([^)]*)\)", path.read_text(encoding="utf-8"), re.M):
            words, key = {}, None
            for word in text.split():
                if word in ("SOURCES", "USES", "SYSTEM", "LIBS"):
                    key = word
                else:
                    words.setdefault(key, []).append(word)
            folder = Path("agent", name)
            layers[name] = Layer(name, folder if folder.is_dir() else Path(name), words)
    return layers


def read_sources(layers):
    """Of each file its includes: {"pipeline/source/source.c": [("store/store.h", None), (None, "stdlib.h")]}."""
    found = {}
    for layer in layers.values():
        for path in sorted(layer.folder.rglob("*")):
            if path.suffix in (".c", ".h", ".def"):
                name = f"{layer.name}/{path.relative_to(layer.folder).as_posix()}"
                found[name] = INCLUDE.findall(path.read_text(encoding="utf-8"))
    return found


def check_system(layers, sources):
    """Whether <headers> are named, and each that is named is included."""
    used = {name: set() for name in layers}
    for name, includes in sources.items():
        layer = layers[name.split("/")[0]]
        in_os_folder = bool(OS_FOLDERS & set(name.split("/")))
        for _, header in includes:
            if not header or header in PLAIN:
                continue
            used[layer.name].add(header)
            if in_os_folder and "OS" in layer.system:
                continue
            if header not in layer.system:
                yield f"{name}: <{header}> is not in the SYSTEM of {layer.name}"
            elif OS_HEADER.fullmatch(header) and not in_os_folder:
                yield f"{name}: <{header}> outside the folders linux and windows"
    for layer in layers.values():
        for header in layer.system:
            if header != "OS" and header not in used[layer.name]:
                yield f"SYSTEM of {layer.name} names <{header}>, which nothing there includes"


def reach(sources, name, found):
    if name in sources and name not in found:
        found.add(name)
        for include, _ in sources[name]:
            reach(sources, include, found)
    return found


def check_uses(layers, sources):
    """Whether the lines name what is there, and what is included, in sources of other systems, too."""
    for name, includes in sources.items():
        layer = layers[name.split("/")[0]]
        for include, _ in includes:
            if "/" in include and not layer.may_use(include):
                yield f"{name}: {include} is not in the USES of {layer.name}"
    reached = {name: set() for name in layers}
    for name in sources:
        reached[name.split("/")[0]] |= reach(sources, name, set())
    for layer in layers.values():
        for used in layer.uses:
            if used not in layers and used not in sources:
                yield f"USES of {layer.name} names {used}, which is not there"
            elif not any(name == used or name.startswith(used + "/") for name in reached[layer.name]):
                yield f"USES of {layer.name} names {used}, which nothing there includes"
            if used.split("/")[0] == "cli":
                yield f"USES of {layer.name} names {used}: cli is the program, which nothing includes"


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


def check_circles(layers, sources):
    def edges(key):
        found = {}
        for name, includes in sources.items():
            for include, _ in includes:
                if include in sources and key(include) != key(name):
                    found.setdefault(key(name), {})[key(include)] = f"{name} includes {include}"
        return found

    lines = {layer.name: {used.split("/")[0]: "" for used in layer.uses} for layer in layers.values()}
    for what, graph in [("lines of layers", lines), ("layers", edges(lambda name: name.split("/")[0])),
                        ("folders", edges(lambda name: name.rpartition("/")[0])), ("files", edges(str))]:
        for group in circles(graph):
            reasons = [graph[a][b] for a in group for b in group if b in graph.get(a, {})]
            yield f"{what} in a circle: {', '.join(group)}: {'; '.join(filter(None, reasons[:6]))}"


def room_of(name):
    """The folder of a file inside its layer; "": none."""
    return name.split("/")[1] if name.count("/") > 1 else ""


def check_rooms(layers, sources):
    """Whether the page's second table names each folder of a layer, and whether none includes a later one."""
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("\n## Rooms of the large layers\n")[2].partition("\n## ")[0]
    # An item that begins with no folder is the layer's own.
    orders = {layer: [re.match(r"(?:`(\w+)`)?", item)[1] or "" for item in row.split(" · ")]
              for layer, row in re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.M)}
    for layer in layers.values():
        rooms = {room_of(name) for name in sources if name.startswith(layer.name + "/")} - OS_FOLDERS
        order = orders.get(layer.name, [])
        if order and set(order) - OS_FOLDERS != rooms:
            yield f"{PAGE}: the row of {layer.name} names other folders than there are: {sorted(rooms ^ set(order))}"
        elif len(rooms) > 1 and not order and layer.folder.parts[0] == "agent":
            yield f"{PAGE}: the table of folders has no row for {layer.name}"
    for name, includes in sources.items():
        layer = name.split("/")[0]
        order = orders.get(layer, [])
        for include, _ in includes:
            rooms = (room_of(name), room_of(include))
            if include.startswith(layer + "/") and set(rooms) <= set(order) and \
                    order.index(rooms[1]) > order.index(rooms[0]):
                yield f"{name} includes {include}, whose folder comes after its own in {PAGE}"


def found_by_compiler(entry, headers):
    """Which of ${headers} a source could include that is compiled as ${entry} says."""
    command = shlex.split(entry["command"])
    if Path(command[0]).name == "ccache":
        command = command[1:]
    out = command.index("-o")
    options = [word for word in command[:out] + command[out + 2:] if word not in ("-c", entry["file"])]
    text = "".join(f'#if __has_include("{name}")\nfound "{name}"\n#endif\n' for name in headers)
    done = subprocess.run([*options, "-E", "-P", "-x", "c", "-"], cwd=entry["directory"], input=text, text=True,
                          stdout=subprocess.PIPE, check=True)
    return set(re.findall(r'^\s*found "([^"]+)"', done.stdout, re.M))


def check_compiler(layers, sources, build):
    headers = [name for name in sources if not name.endswith(".c")]
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        target = re.search(r"CMakeFiles/etwship_(\w+)\.dir/", entry["command"])
        if target:
            commands.setdefault(target[1], entry)
    tried = 0
    for layer in layers.values():
        others = [name for name in headers if name.split("/")[0] != layer.name]
        may = {name for name in others if layer.may_use(name)}
        found = found_by_compiler(commands[layer.name], others)
        tried += len(others) - len(may)
        for name in sorted(found - may):
            yield f"{layer.name} can include {name}, which its USES does not name"
        for name in sorted(may - found):
            yield f"{layer.name} cannot include {name}, which its USES names"
    print(f"{tried} forbidden pairs of layer and header tried")
    if not tried:
        yield "no forbidden pair was tried"


def brief(used):
    """Of several headers of a layer: `store/{ids,store}.h`."""
    by_layer = {}
    for name in used:
        layer, _, header = name.partition("/")
        by_layer.setdefault(layer, []).append(header)
    for layer, headers in by_layer.items():
        inside = [name.removesuffix(".h") if all(other.endswith(".h") for other in headers) else name
                  for name in headers]
        if headers == [""]:
            yield f"`{layer}`"
        elif len(headers) == 1:
            yield f"`{layer}/{headers[0]}`"
        else:
            yield f"`{layer}/{{{','.join(inside)}}}" + ("`" if inside == headers else ".h`")


def may_include(layer):
    """The second column of the page's table."""
    words = list(brief(layer.uses))
    if any(name == "OS" or OS_HEADER.fullmatch(name) for name in layer.system):
        words.append("the operating system")
    libraries = dict.fromkeys(LIBRARIES[name] for name in layer.system if name in LIBRARIES)
    return ", ".join([*words, *libraries]) or "-"


def wanted_page(layers, page):
    def row(match):
        layer = layers.get(match[1].removeprefix("../"))
        return f"| `{match[1]}` | {may_include(layer) if layer else '-'} |{match[2]}"

    return re.sub(r"^\| `([\w./]+)` \|[^|]*\|(?=[^|]*\|$)(.*)$", row, page, flags=re.M)


def check_page(layers):
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(?:\.\./)?(\w+)` \|", page, re.M))
    for name in sorted(set(layers) - named):
        yield f"{PAGE}: its table has no row for {name}"
    if wanted_page(layers, page) != page:
        yield f"{PAGE}: another table than the lines of etwship_layer(): run tests/lint/layers.py --write"


def main():
    layers = read_layers()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(wanted_page(layers, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    sources = read_sources(layers)
    complaints = [*check_system(layers, sources), *check_uses(layers, sources), *check_circles(layers, sources),
                  *check_rooms(layers, sources), *check_compiler(layers, sources, Path(sys.argv[1])), *check_page(layers)]
    print("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
