"""The corrections of layouts (agent/schema/corrections.tsv) against real manifests and real payloads.

Every row names a field that a known manifest has, and no manifest that tells a type says another one than
the row. Events made of random values are decoded by Microsoft's own manifests, by the same ones without
out types and lengths, as tools write them from a running Windows, and by layouts that other tools wrote:
what is mapped to the Elastic Common Schema must be the same, and addresses, ports and times must be what
was put into the payloads here. Stacks of the CLR are taken apart after ClrStackWalkTraceData of TraceEvent.
"""

import ipaddress
import json
import os
import random
import re
import struct
import subprocess
import tempfile
import uuid
from collections import namedtuple
from pathlib import Path
from xml.etree import ElementTree

import common
import minietl

AGENT = Path(__file__).resolve().parents[2] / "agent"
TABLE = AGENT / "schema" / "corrections.tsv"
MAP = AGENT / "event" / "ecs_map.tsv"
CLR_TRACE = "perfview-net.4.5.2.x86.etl"
CLR = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
STACK_WALK = 82

Row = namedtuple("Row", "provider guid events versions field was type out length count before known")
Field = namedtuple("Field", "name type out length count nested")

# Providers with a manifest of Microsoft's and layouts of others.
FULL = {"Microsoft-Windows-Kernel-Network": "tx/SystemEvents.man",
        "Microsoft-Windows-Kernel-Process": "tx/SystemEvents.man",
        "Microsoft-Windows-Kernel-File": "tx/SystemEvents.man",
        "Microsoft-Windows-Kernel-Registry": "tx/SystemEvents.man",
        "Microsoft-Windows-TCPIP": "tx/tcp.man", "Microsoft-Windows-HttpService": "tx/HTTP_Server.man",
        "Microsoft-Windows-WinINet": "tx/IE_Client.man"}
# What is network's, by the names that Microsoft's manifests give it.
FACTS = {("Microsoft-Windows-Kernel-Network", name): out for name, out in
         (("dport", "Port"), ("sport", "Port"), ("daddr", "IPv"), ("saddr", "IPv"))}
# In an ecs event whatever the mapping; the rest is what is mapped.
COMMON = ("@timestamp", "agent.", "data_stream.", "ecs.", "event.code", "event.created", "event.dataset",
          "event.kind", "event.provider", "event.sequence", "event.severity", "host.", "log.", "message",
          "winlog.")
START = 134397270000000000  # 2026-11-21T09:30:00Z


# ---- tables and manifests, read here -------------------------------------------------------------------


def rows():
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("\t")) for line in lines[1:]]


def numbers(spec, most):
    found = set()
    for part in spec.split(","):
        first, dash, last = part.partition("-")
        found |= set(range(most + 1)) if part == "*" else set(
            range(int(first), int(last or (most if dash else first)) + 1))
    return found


def local(text):
    return (text or "").split(":")[-1]


def number(text):
    return int(text, 16) if text.lower().startswith("0x") else int(text)


def fields_of(element, nested=False):
    found = []
    for data in element:
        if local(data.tag.replace("}", ":")) == "struct":
            found += fields_of(data, True)
        elif data.get("name"):
            found.append(Field(data.get("name"), local(data.get("inType")), local(data.get("outType")),
                               data.get("length"), data.get("count"), nested))
    return found


def read_manifest(path):
    """{GUID: {(id, version): fields}}"""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return {}
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
    found = {}
    for provider in root.iter("provider"):
        templates = {template.get("tid"): fields_of(template) for template in provider.iter("template")}
        events = found.setdefault((provider.get("guid") or "").strip("{}").lower(), {})
        for event in provider.iter("event"):
            if event.get("value"):
                key = number(event.get("value")), number(event.get("version") or "0")
                events[key] = templates.get(event.get("template"), [])
    return found


def known_layouts():
    """[(whose, {GUID: {(id, version): fields}})] of all real manifests."""
    folder = common.manifests()
    found = [(str(path.relative_to(folder)), read_manifest(path))
             for path in sorted([*folder.rglob("*.man"), *folder.rglob("*.manifest.xml")])]
    table = {}
    for line in (folder / "derived" / "event_fields.tsv").read_text("utf-8").splitlines()[1:]:
        _, guid, id_, version, *fields = line.split("\t")
        parts = [part.split(":") for part in fields[0].split(",") if part] if fields else []
        table.setdefault(guid.lower(), {})[int(id_), int(version)] = [
            Field(part[0], part[1], "", part[2] if len(part) > 2 else None, None, False)
            for part in parts]
    return found + [("derived/event_fields.tsv", table)]


def same_name(a, b):
    return a.replace(" ", "") == b.replace(" ", "")


# ---- the rows ----------------------------------------------------------------------------------------


def rows_are_of_known_fields(report, layouts):
    for row in rows():
        for id_ in sorted(numbers(row.events, 0xFFFF)):
            has = False
            for _, providers in layouts:
                for (event, version), fields in providers.get(row.guid, {}).items():
                    if event == id_ and version in numbers(row.versions, 255):
                        has |= any(same_name(field.name, row.field) for field in fields)
            report.true(f"{row.provider} {id_} {row.field}: a known manifest has it", has)


def rows_say_what_manifests_say(report, layouts):
    """A manifest that has out types is Microsoft's."""
    compared = 0
    for row in rows():
        for whose, providers in layouts:
            if whose.startswith("derived/") and "Sysmon.schema" not in whose:
                continue
            for (id_, version), fields in providers.get(row.guid, {}).items():
                if id_ not in numbers(row.events, 0xFFFF) or whose == "tx/asp.man":
                    continue
                for field in (f for f in fields if same_name(f.name, row.field)):
                    what = f"{row.provider} {id_} {row.field} in {whose}"
                    compared += 1
                    report.equal(f"{what}: in type", row.type, field.type)
                    if row.out != "-":
                        report.equal(f"{what}: out type", row.out, field.out)
                    if row.length != "-":
                        report.equal(f"{what}: length", row.length, field.length)
                    if row.count != "-" and row.field != "Stack":
                        report.equal(f"{what}: count", row.count, field.count)
    report.true("rows that a manifest of Microsoft's tells of", compared > 500, str(compared))


def what_is_networks_has_a_row(report, layouts):
    """Fields that Microsoft's manifests show as ports and addresses, in manifests without out types."""
    full = dict(layouts)
    corrected = {(row.guid, id_, row.field) for row in rows() if row.out != "-"
                 for id_ in numbers(row.events, 0xFFFF)}
    for (name, field), out in FACTS.items():
        mine = [row for row in rows() if (row.provider, row.field) == (name, field)]
        report.true(f"{name} {field}", mine and all(row.out.startswith(out) for row in mine), str(mine))
    for name, path in FULL.items():
        for guid, events in full[path].items():
            others = full.get(f"derived/{name}.man", {}).get(guid, {})
            for key, fields in events.items():
                for field in fields:
                    if key in others and not field.nested and field.out in (
                            "Port", "IPv4", "IPv6", "SocketAddress"):
                        report.true(f"{name} {key} {field.name}: has a row",
                                    (guid, key[0], field.name.replace(" ", "")) in corrected)


# ---- events ------------------------------------------------------------------------------------------


def address(rng):
    return ipaddress.ip_address(rng.getrandbits(32) | 1 if rng.randrange(2) else rng.getrandbits(128))


def socket_address(rng):
    its, port = address(rng), rng.randrange(1, 65536)
    if its.version == 4:
        return struct.pack("<H", 2) + struct.pack(">H", port) + its.packed + bytes(8), (its, port)
    raw = struct.pack("<H", 23) + struct.pack(">HI", port, 0) + its.packed + bytes(4)
    return raw, (its, port)


SIZES = {"Int8": 1, "UInt8": 1, "Int16": 2, "UInt16": 2, "Int32": 4, "UInt32": 4, "HexInt32": 4,
         "Int64": 8, "UInt64": 8, "HexInt64": 8}


def value_of(rng, field, pointer):
    """(bytes, the possible values in the ecs event)"""
    if field.type == "Binary" and field.out == "SocketAddress":
        return socket_address(rng)
    if field.type == "Binary" and field.out == "IPv6":
        its = ipaddress.IPv6Address(rng.getrandbits(128))
        return its.packed, (its, None)
    if field.out == "IPv4":
        its = ipaddress.IPv4Address(rng.getrandbits(32))
        return its.packed, (its, None)
    if field.out == "Port":
        port = rng.randrange(1, 65536)
        return struct.pack(">H", port), (None, port)
    if field.type == "FILETIME":
        time = START + rng.randrange(10**12)
        return struct.pack("<Q", time), time
    if field.type in SIZES:
        return rng.randrange(1, 100).to_bytes(SIZES[field.type], "little"), None
    if field.type in ("Pointer", "Boolean"):
        size = 4 if field.type == "Boolean" else pointer
        raw = rng.getrandbits(1 if field.type == "Boolean" else 31)
        return raw.to_bytes(size, "little"), None
    if field.type == "GUID":
        return rng.randbytes(16), None
    if field.type == "SID":
        return struct.pack("<BBHIIII", 1, 3, 0, 0x05000000, 21, rng.getrandbits(31), 500), None
    end = 0 if field.length else 1
    text = rng.choice(["\\Device\\HarddiskVolume3\\a.txt", "example.com", "https://example.com/x?y=1"])
    if field.type == "UnicodeString":
        return (text + "\0" * end).encode("utf-16le"), None
    if field.type == "AnsiString":
        return (text + "\0" * end).encode(), None
    if field.type == "Binary" and field.length:
        return rng.randbytes(6), None
    return None, None


def payload_of(rng, fields, pointer):
    """(bytes, {name: value}); None: the layout has other fields."""
    if not fields or any(field.nested or field.count for field in fields):
        return None
    made = [value_of(rng, field, pointer) for field in fields]
    raws = {}
    for field, (raw, _) in zip(fields, made):
        if raw is None:
            return None
        raws[field.name] = raw
    for field, (raw, _) in zip(fields, made):
        if field.length and not field.length.isdigit():
            holder = next((f for f in fields if f.name == field.length), None)
            if holder is None or holder.type not in SIZES:
                return None
            units = len(raw) // (2 if field.type == "UnicodeString" else 1)
            raws[holder.name] = units.to_bytes(SIZES[holder.type], "little")
    if len(raws) != len(fields):
        return None
    return b"".join(raws.values()), {field.name: its for field, (_, its) in zip(fields, made)}


def record(guid, key, payload, pointer):
    """EVENT_HEADER (evntcons.h)."""
    descriptor = struct.pack("<HBBBBHQ", key[0], key[1], 0, 4, 0, 0, 0)
    header, flag = (19, 0x40) if pointer == 8 else (18, 0x20)
    return struct.pack("<HBBHHIIq16s16sQ16s", 80 + len(payload), header, 0xC0, flag, 0, 1, 2, START,
                       uuid.UUID(guid).bytes_le, descriptor, 0, bytes(16)) + payload


def flat(event, path=""):
    for key, its in event.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(its, dict):
            yield from flat(its, inner)
        else:
            yield inner, its


def mapped(event):
    return {path: its for path, its in flat(event) if not path.startswith(COMMON)}


def ecs_rows():
    found = {}
    for line in MAP.read_text(encoding="utf-8").splitlines()[1:]:
        provider, events, versions, field, source, conversion = line.split("\t")[:6]
        if conversion in ("ip", "port", "time") and provider in FULL and versions == "*":
            found.setdefault((provider, field), []).append(
                (numbers(events, 0xFFFF), source, conversion))
    return found


def shown(its, conversion):
    if conversion == "time":
        return minietl.filetime_text(its)
    if its is None or isinstance(its, int):
        return None
    if conversion == "port":
        return its[1]
    plain = its[0] and getattr(its[0], "ipv4_mapped", None) or its[0]
    return str(plain) if plain is not None else None


def expected(provider, key, values, table):
    """The expected addresses, ports and times, by the first row with a value."""
    found = {}
    for (whose, field), candidates in table.items():
        for events, source, conversion in candidates:
            if whose == provider and key[0] in events and values.get(source) is not None:
                its = shown(values[source], conversion)
                if its is not None:
                    found.setdefault(field, its)
    return found


def without_types(text):
    """A manifest in the form of tools that read a running Windows: without out types, and only with lengths that are
    fields."""
    return re.sub(r'\s(outType="[^"]*"|length="\d+")', "", text)


def make_events(rng, folder, layouts):
    events, raws = [], []
    for provider, path in FULL.items():
        derived = dict(layouts).get(f"derived/{provider}.man", {})
        for guid, its in dict(layouts)[path].items():
            if guid not in derived:
                continue
            for key in sorted(its):
                for pointer in (8, 4):
                    made = payload_of(rng, its[key], pointer)
                    if made:
                        names = {field.name.replace(" ", "") for field in its[key]}
                        theirs = {field.name.replace(" ", "") for field in derived[guid].get(key, [])}
                        events.append((provider, key, made[1], pointer, bool(theirs) and
                                       theirs <= names))
                        raws.append(record(guid, key, made[0], pointer))
    records, trace = folder / "events.bin", folder / "events.etl"
    records.write_bytes(b"".join(struct.pack("<I", len(raw)) + raw for raw in raws))
    subprocess.run([os.environ["ETWSHIP_ETLGEN"], "--clock", "system", "--cpus", "1", "--records",
                    records, "-o", trace], check=True, stdout=subprocess.DEVNULL)
    return events, trace


def events_are_the_same_by_any_manifest(report, layouts, folder):
    rng = random.Random("corrections")
    events, trace = make_events(rng, folder, layouts)
    bare, derived = folder / "bare", folder / "derived"
    bare.mkdir()
    derived.mkdir()
    for path in set(FULL.values()):
        text = (common.manifests() / path).read_text("utf-8-sig")
        (bare / Path(path).name).write_text(without_types(text), encoding="utf-8")
    for provider in FULL:
        (derived / f"{provider}.man").write_bytes(
            (common.manifests() / "derived" / f"{provider}.man").read_bytes())
    full = [arg for path in sorted(set(FULL.values()))
            for arg in ("--schema", common.manifests() / path)]
    whole = common.dump("-f", "ecs", *full, trace)
    without = common.dump("-f", "ecs", "--schema", bare, trace)
    others = common.dump("-f", "ecs", "--schema", derived, trace)
    table = ecs_rows()
    told = 0
    if not report.equal("events", (len(whole), len(without), len(others)), (len(events),) * 3):
        return
    for (provider, key, values, pointer, is_known), a, b, c in zip(events, whole, without, others):
        what = f"{provider} {key} with pointers of {pointer}"
        want = expected(provider, key, values, table)
        told += len(want)
        got = mapped(a)
        report.equal(f"{what}: as put", {path: got.get(path) for path in want}, want)
        report.equal(f"{what}: without out types", mapped(b), got)
        if is_known:
            report.equal(f"{what}: by other layouts", mapped(c), got)
    report.true("addresses, ports and times that were put", told > 300, str(told))


# ---- stacks of the CLR ---------------------------------------------------------------------------------


def stacks_have_all_frames(report):
    path = common.trace(CLR_TRACE)
    theirs = []
    for records in minietl.Trace(path).by_cpu.values():
        for its in records:
            if its.guid == CLR and its.id == STACK_WALK:
                count, = struct.unpack_from("<I", its.payload, 4)
                form = f"<{count}{'I' if its.pointer == 4 else 'Q'}"
                theirs.append([f"0x{frame:x}" for frame in struct.unpack_from(form, its.payload, 8)])
    ours = []
    for line in common.stream("--schema", common.manifests() / "perfview" / "ClrEtwAll.man",
                              "--where", f"event.code == {STACK_WALK}", path):
        event = common.parse_strictly(line)
        if event["provider"].get("guid") == CLR:
            ours.append(event["data"]["Stack"])
            report.true("whole", not {"payload_rest", "decode_error"} & set(event), line[:300])
    report.true("stacks", len(theirs) > 5000, str(len(theirs)))
    report.equal("frames", sorted(ours), sorted(theirs))


# ---- the user's own ------------------------------------------------------------------------------------


HEADER = "provider\tguid\tevents\tversions\tfield\twas\tin\tout\tlength\tcount\tbefore\tknown_from\n"


def files_of_the_user_go_first(report, folder):
    derived = common.manifests() / "derived" / "Microsoft-Windows-Kernel-Network.man"
    show = ("schema", "show", "Microsoft-Windows-Kernel-Network:10", "--schema", derived)
    report.true("marked", b"dport: UInt16 as Port, corrected" in common.run(*show))
    own = folder / "own.corrections.tsv"
    own.write_text(HEADER + "Microsoft-Windows-Kernel-Network\t-\t10\t*\tdport\t-\tUInt16\tHexInt16"
                   "\t-\t-\t-\ta test\n", encoding="utf-8")
    text = common.run(*show, "--schema", own)
    report.true("the file's row", b"dport: UInt16 as HexInt16, corrected" in text, str(text))
    report.true("other rows stay", b"sport: UInt16 as Port, corrected" in text, str(text))
    own.write_text(HEADER + "*\t-\t*\t*\t*\t-\t-\t-\t-\t-\t-\tnone\n", encoding="utf-8")
    report.true("switched off", b"corrected" not in common.run(*show, "--schema", folder))
    own.write_text(HEADER + "P\t-\tx\t*\ta\t-\t-\tPort\t-\t-\t-\t-\n", encoding="utf-8")
    done = subprocess.run([common.binary(), *map(str, show), "--schema", own], capture_output=True,
                          check=False)
    report.true("a wrong row is told by its place", f"{own}:2: events" in done.stderr.decode(),
                done.stderr.decode())
    report.true("… and the others stay", b"dport: UInt16 as Port, corrected" in done.stdout)


def the_agent_corrects_too(report, folder):
    """The agent also reads the user's files in the folders of its configuration."""
    definitions = folder / "definitions"
    definitions.mkdir()
    (definitions / "network.man").write_bytes(
        (common.manifests() / "derived" / "Microsoft-Windows-Kernel-Network.man").read_bytes())
    payload = struct.pack("<II", 1, 2) + bytes([192, 0, 2, 1, 192, 0, 2, 2]) + struct.pack(
        ">HH", 443, 5000) + bytes(16)
    raw = record("7dd42a49-5329-4832-8dfd-43d979153a88", (10, 0), payload, 8)
    records, trace = folder / "one.bin", folder / "one.etl"
    records.write_bytes(struct.pack("<I", len(raw)) + raw)
    subprocess.run([os.environ["ETWSHIP_ETLGEN"], "--clock", "system", "--cpus", "1", "--records",
                    records, "-o", trace], check=True, stdout=subprocess.DEVNULL)
    for off, want in ((False, ("192.0.2.1", 443)), (True, (None, 0xBB01))):
        if off:
            (definitions / "off.corrections.tsv").write_text(
                HEADER + "*\t-\t*\t*\t*\t-\t-\t-\t-\t-\t-\tnone\n", encoding="utf-8")
        config, output = folder / "run.yaml", folder / f"out-{off}.json"
        config.write_text(json.dumps({
            "spool": {"mode": "memory"}, "schema": [{"type": "folder", "path": str(definitions)}],
            "sessions": [{"name": "s", "type": "file", "paths": [str(trace)]}],
            "outputs": [{"name": "o", "type": "file", "path": str(output), "format": "ecs"}]}))
        common.run("run", "-c", config)
        event, = map(common.parse_strictly, output.read_text("utf-8").splitlines())
        there = event["destination"]
        report.equal(f"run, switched off {off}", (there.get("ip"), there.get("port")), want)


def main():
    report = common.Report()
    common.shared()
    layouts = known_layouts()
    rows_are_of_known_fields(report, layouts)
    rows_say_what_manifests_say(report, layouts)
    what_is_networks_has_a_row(report, layouts)
    stacks_have_all_frames(report)
    for test in (lambda folder: events_are_the_same_by_any_manifest(report, layouts, folder),
                 lambda folder: files_of_the_user_go_first(report, folder),
                 lambda folder: the_agent_corrects_too(report, folder)):
        with tempfile.TemporaryDirectory() as folder:
            test(Path(folder))
    report.finish()


if __name__ == "__main__":
    main()
