"""WPP messages of every flag combination and item type, and of every real trace message format.

The records are made here, from TMF files read by a reader of this file's own, and framed into a trace
by etlgen. What is expected is what Microsoft's pages say ("What are the WPP extended format
specification strings?", TRACE_MESSAGE_* in evntrace.h, the printf conversions), in Python's own
formatting. Nothing is shared with the decoder under test.
"""

import datetime
import itertools
import os
import random
import re
import struct
import subprocess
import tempfile
import uuid
from pathlib import Path

import common

SEQUENCE, GUID, COMPONENT, TIMESTAMP, PERFORMANCE, SYSTEMINFO = 1, 2, 4, 8, 0x10, 0x20
POINTER32, POINTER64 = 0x40, 0x80
USUAL = SEQUENCE | GUID | TIMESTAMP | SYSTEMINFO
START = 134397270000000000  # FILETIME of 2026-11-21T09:30:00Z, where the trace begins
GROUP = "5e1f0a52-7c1d-4a2b-9f30-1122334455aa"

STATUSES = [(0, "STATUS_SUCCESS"), (0xC0000022, "STATUS_ACCESS_DENIED"),
            (0xC000000D, "STATUS_INVALID_PARAMETER"), (0xE1234567, None)]
ERRORS = [(0, "ERROR_SUCCESS"), (5, "ERROR_ACCESS_DENIED"), (87, "ERROR_INVALID_PARAMETER"),
          (0x00F00001, None)]
RESULTS = [(0x80004005, "E_FAIL"), (0x80070005, None), (0x81230001, None)]


def stamp(filetime):
    time = datetime.datetime(1601, 1, 1) + datetime.timedelta(microseconds=filetime // 10)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{filetime % 10_000_000:07d}Z"


# ---- values: (bytes, members of data behind the name, text where nothing or `s` is asked for, number)

def integer(code, pick, *, hexadecimal=False, unsigned=False):
    def make(rng, _):
        value = pick(rng)
        raw = struct.pack("<" + code, value)
        shown = value
        if unsigned:
            shown = int.from_bytes(raw, "little")
        data = f"0x{int.from_bytes(raw, 'little'):x}" if hexadecimal else shown
        text = str(data)
        return raw, {"": data}, text, shown
    return make


def bits(size):
    return lambda rng: rng.choice([0, 1, -1, 42, rng.randrange(-(1 << size * 8 - 1), 1 << size * 8 - 1)])


def pointer(rng, width):
    value = rng.choice([0, 0x1000, rng.getrandbits(width * 8)])
    return value.to_bytes(width, "little"), {"": f"0x{value:x}"}, f"0x{value:x}", value


def text(encoding, counted=False, order="<"):
    def make(rng, _):
        value = rng.choice(["", "x", "core-state", "a \"quoted\" \\ path", "gr\u00fc\u00dfe"])
        raw = value.encode(encoding)
        end = "\0".encode(encoding)
        raw = struct.pack(order + "H", len(raw)) + raw if counted else raw + end
        return raw, {"": value}, value, None
    return make


def code(rows, shape, signed=False):
    def make(rng, _):
        value, name = rng.choice(rows)
        shown = value - (1 << 32) if signed and value >> 31 else value
        data = {"": shown}
        if name:
            data["_name"] = name
        number = shape % value
        return struct.pack("<I", value), data, f"{number}({name})" if name else number, value
    return make


def listed(size, names):
    def make(rng, _):
        value = rng.randrange(len(names) + 1)
        data = {"": value}
        if value < len(names):
            data["_name"] = names[value]
        shown = f"0x{value:08x}" + (f"({names[value]})" if value < len(names) else "")
        return value.to_bytes(size, "little"), data, shown, value
    return make


def chosen(size, names):
    def make(rng, _):
        value = rng.getrandbits(len(names))
        on = [name for bit, name in enumerate(names) if value >> bit & 1]
        return value.to_bytes(size, "little"), {"": value, "_name": on}, f"[{','.join(on)}]", value
    return make


def guid(rng, _):
    value = uuid.UUID(int=rng.getrandbits(128))
    return value.bytes_le, {"": str(value)}, str(value), None


def sid(rng, _):
    if rng.randrange(4) == 0:
        return b"NULL\0", {}, "NULL", None  # WPP_LOGPSID of the WDK's templates
    parts = [rng.getrandbits(32) for _ in range(rng.randrange(1, 6))]
    raw = bytes([1, len(parts), 0, 0, 0, 0, 0, 5]) + b"".join(struct.pack("<I", p) for p in parts)
    shown = "S-1-5-" + "-".join(map(str, parts))
    return raw, {"": shown}, shown, None


def dump(rng, _):
    raw = rng.randbytes(rng.randrange(20))
    return struct.pack("<H", len(raw)) + raw, {"": raw.hex()}, raw.hex(" "), None


def address(rng, _):
    raw = rng.randbytes(4)
    shown = ".".join(map(str, raw))
    return raw, {"": shown}, shown, None


def address6(rng, _):
    tail = rng.randrange(1, 0x10000)
    shown = f"2001:db8::{tail:x}"
    return bytes.fromhex("20010db8" + "00" * 10) + tail.to_bytes(2, "big"), {"": shown}, shown, None


def mac(rng, _):
    raw = rng.randbytes(6)
    return raw, {"": raw.hex()}, raw.hex(":"), None


def port(rng, _):
    value = rng.randrange(65536)
    return struct.pack(">H", value), {"": value}, str(value), value


def moment(rng, _):
    value = START + rng.randrange(10**12)
    return struct.pack("<Q", value), {"": stamp(value)}, stamp(value), None


def span_of(units):
    """`102ms` and `5.000s` are what tracefmt wrote; days and hours are those of Microsoft's page."""
    ms = units // 10_000
    if ms < 1000:
        return f"{ms}ms"
    if ms < 60_000:
        return f"{ms / 1000:.3f}s"
    rest = datetime.timedelta(seconds=ms // 1000)
    return f"{rest.days}~{datetime.timedelta(seconds=rest.seconds)}"


def duration(rng, _):
    value = rng.choice([0, 1_020_000, 50_000_000, 610_000_000, rng.randrange(10**16)])
    return struct.pack("<q", value), {"": value}, span_of(value), value


def due(rng, _):
    value = START + rng.randrange(10**12) if rng.randrange(2) else -rng.randrange(10_000, 10**13)
    shown = stamp(value) if value > 0 else f"-{span_of(-value)}"
    return struct.pack("<q", value), {"": value}, shown, value


def oid(rng, _):
    value = rng.choice([0x10101, rng.getrandbits(32)])
    return struct.pack("<I", value), {"": f"0x{value:x}"}, f"0x{value:08x}", value


def double(rng, _):
    value = rng.choice([0.5, -1.25, 1024.75, 3.140625, 2.5e-7])
    return struct.pack("<d", value), {"": value}, f"{value:g}", value


def fourcc(rng, _):
    value = "".join(rng.choice("ABCXYZ12") for _ in range(4))
    return value.encode(), {"": value}, value, None


IRQLS = ["Low", "APC", "DPC"]
ITEMS = {
    "ItemChar": integer("b", bits(1)), "ItemUChar": integer("B", lambda r: r.getrandbits(8)),
    "ItemShort": integer("h", bits(2)), "ItemLong": integer("i", bits(4)),
    "ItemULong": integer("I", lambda r: r.getrandbits(32)),
    "ItemLongLong": integer("q", bits(8)), "ItemLongLongO": integer("q", bits(8)),
    "ItemULongLong": integer("Q", lambda r: r.getrandbits(64)),
    "ItemLongLongX": integer("q", bits(8), hexadecimal=True),
    "ItemLongLongXX": integer("q", bits(8), hexadecimal=True),
    "ItemDouble": double, "ItemPtr": pointer,
    "ItemString": text("cp1252"), "ItemRString": text("cp1252"), "ItemPString": text("cp1252", True),
    "ItemWString": text("utf-16le"), "ItemRWString": text("utf-16le"),
    "ItemPWString": text("utf-16le", True), "ItemDSString": text("cp1252", True, ">"),
    "ItemDSWString": text("utf-16le", True, ">"), "ItemCharShort": integer("b", bits(1)),
    "ItemChar4": fourcc, "ItemHexDump": dump,
    "ItemHEXDump": dump, "ItemGuid": guid, "ItemCLSID": guid, "ItemLIBID": guid, "ItemIID": guid,
    "ItemSid": sid, "ItemNTSTATUS": code(STATUSES, "0x%08x"),
    "ItemNDIS_STATUS": code(STATUSES, "0x%08x"), "ItemWINERROR": code(ERRORS, "%d"),
    "ItemHRESULT": code(RESULTS[:1] + RESULTS[2:], "0x%08x", signed=True),
    "ItemNDIS_OID": oid,
    "ItemListByte(Low,APC,DPC)": listed(1, IRQLS), "ItemListShort(false,true)": listed(
        2, ["false", "true"]), "ItemListLong(FALSE,TRUE)": listed(4, ["FALSE", "TRUE"]),
    "ItemSetByte(1,2,3,4,5,6,7,8)": chosen(1, list("12345678")),
    "ItemSetShort(a,b,c)": chosen(2, list("abc")), "ItemSetLong(a,b,c)": chosen(4, list("abc")),
    "ItemEnum(_KIND)": integer("i", bits(4)),
    "ItemFlagsEnum(_FLAGS)": integer("I", lambda r: r.getrandbits(32), hexadecimal=True),
    "ItemIPAddr": address, "ItemIPV6Addr": address6, "ItemMACAddr": mac, "ItemPort": port,
    "ItemTimestamp": moment, "ItemTimeDelta": duration, "ItemWaitTime": due,
}


# ---- trace message formats

# `%0` is a marker of its own: digits behind it are the driver's text. Of a double WPP says `s`, with
# the precision of the source code.
TEXTS = [("%02 devices found", []), ("%0802.11 scan on %10!d!", ["ItemLong"]),
         ("%0100% of %10!u!", ["ItemULong"]), ("%0%10!.2s! V", ["ItemDouble"]),
         ("%0%10!d!0 of %11!s!0", ["ItemLong", "ItemString"])]


def own_formats():
    """One message per item type, one with all of them, one without arguments, and TEXTS."""
    lines = [f"{GROUP} sample // SRC=sample.c MJ= MN="]
    names = list(ITEMS)
    sets = [[name] for name in names] + [names, []]
    made = [("%0<" + "|".join(f"%{10 + i}!s!" for i in range(len(types))) + ">", types)
            for types in sets] + TEXTS
    for number, (format_, types) in enumerate(made, 10):
        lines += [f'#typev sample_c{number} {number} "{format_}" //   LEVEL=L FLAGS=F FUNC=f{number}',
                  "{"]
        lines += [f"x[{i}], {type_} -- {10 + i}" for i, type_ in enumerate(types)] + ["}"]
    return "\n".join(lines) + "\n"


def read_formats(text_):
    """(guid, number) -> module, source, line, format, level, flags, function, [(name, type)]."""
    found = {}
    group = module = source = None
    pattern = re.compile(r'#typev (\S+)_c(?:pp)?(\d+) (\d+) "(.*)" //   LEVEL=(\S+)(?: FLAGS=(\S+))?'
                         r'(?: FUNC=(.*))?$')
    lines = iter(text_.splitlines())
    for line in lines:
        head = re.match(r"([0-9a-f-]{36}) (\S+) // SRC=(.*) MJ=", line)
        if head:
            group, module, source = head.groups()
        message = pattern.match(line)
        if not message:
            continue
        arguments = []
        for row in lines:
            if row == "}":
                break
            argument = re.match(r"(.*), (Item\w+(?:\(.*\))?) -- \d+$", row)
            if argument:
                arguments.append(argument.groups())
        _, number_line, number, format_, level, flags, function = message.groups()
        found.setdefault((group, int(number)), {
            "module": module, "source": source, "line": int(number_line), "format": format_,
            "level": level, "flags": flags, "function": function, "arguments": arguments})
    return found


def printf(spec, value, own, width):
    """The text of one argument."""
    conversion = spec[-1]
    shape = re.sub(r"I64|I32|I|ll|l|h|w", "", spec)
    if conversion == "s" and "." in shape and isinstance(value, float):
        return f"%{shape[:-1]}f" % value
    if conversion == "s" or value is None:
        return f"%{shape[:-1]}s" % own
    if conversion == "p":
        return f"{value:0{width * 2}X}"
    if conversion in "uxXo" and value < 0:
        value += 1 << {"h": 16}.get(spec[-2:-1], width * 8)
    return f"%{shape.replace('u', 'd')}" % value


def fill(message, values, widths):
    constants = {"FUNC": message["function"], "LEVEL": message["level"], "FLAGS": message["flags"]}

    def insert(match):
        if match[1]:
            return constants[match[1]]
        number = int(match[2])
        if number == 0:
            return ""
        _, _, own, value = values[number - 10]
        return printf(match[3] or "s", value, own, widths[number - 10])
    shown = re.sub(r"%!(\w+)!|%(0|[1-9]\d?)(?:(?<!%0)!([^!]*)!)?", insert, message["format"])
    return shown.lstrip(" ") if message["format"].startswith("%0") else shown


# ---- records

def encode(number, flags, payload, fields):
    body = b""
    if flags & SEQUENCE:
        body += struct.pack("<I", fields["sequence"])
    if flags & COMPONENT:
        body += struct.pack("<I", fields["component"])
    elif flags & GUID:
        body += uuid.UUID(fields["guid"]).bytes_le
    if flags & TIMESTAMP:
        body += struct.pack("<q", fields["time"])
    if flags & SYSTEMINFO:
        body += struct.pack("<II", fields["tid"], fields["pid"])
    body += payload
    return struct.pack("<HBBHH", 8 + len(body), 0, 0x90, number, flags) + body


def unsigned_of(format_, index, type_):
    """Items are unsigned: `u`, `x`, `X`, `o` in the text show that."""
    first = re.search(rf"%{10 + index}!([^!]*)!", format_)
    return type_ in ("ItemChar", "ItemCharShort", "ItemShort", "ItemLong", "ItemLongLong", "ItemLongLongO") and \
        first and first[1][-1] in "uxXo"


def make_event(rng, index, key, message, flags):
    width = 4 if flags & POINTER32 and not flags & POINTER64 else 8
    values, widths, data = [], [], {}
    for place, (_, type_) in enumerate(message["arguments"]):
        raw, members, own, value = ITEMS[type_](rng, width)
        if unsigned_of(message["format"], place, type_):
            value = int.from_bytes(raw, "little")
            members = {"": value}
        if type_ == "ItemPtr" and re.search(rf"%{10 + place}!I[du]!", message["format"]):
            members = {"": value}
        values.append((raw, members, own, value))
        widths.append(width if type_ == "ItemPtr" else len(raw))
        data.update({f"arg{10 + place}{suffix}": member for suffix, member in members.items()})
    payload = b"".join(raw for raw, *_ in values)
    fields = {"sequence": index + 1, "component": 7000 + index, "guid": key[0],
              "time": START + 10 * index, "tid": 100 + index, "pid": 200 + index}
    return encode(key[1], flags, payload, fields), {
        "flags": flags, "fields": fields, "data": data, "payload": payload.hex(), "key": key,
        "message": message, "text": fill(message, values, widths) if message["format"] else None}


def expect(report, what, event, made, time):
    fields, flags, message = made["fields"], made["flags"], made["message"]
    known = flags & GUID and not flags & COMPONENT
    report.equal(f"{what}: time", event["@timestamp"], stamp(time))
    report.equal(f"{what}: source of the time", event["etw"].get("timestamp_source"),
                 None if flags & TIMESTAMP else "buffer")
    report.equal(f"{what}: process", event.get("process"),
                 {"pid": fields["pid"], "thread": {"id": fields["tid"]}}
                 if flags & SYSTEMINFO else None)
    report.equal(f"{what}: number", event["event"]["code"], made["key"][1])
    wpp = {"message_number": made["key"][1], "message_flags": f"0x{flags:x}"}
    if flags & SEQUENCE:
        wpp["sequence"] = fields["sequence"]
    if flags & COMPONENT:
        wpp["component_id"] = fields["component"]
    if not known:
        report.equal(f"{what}: wpp", event["wpp"], wpp)
        report.equal(f"{what}: provider", event["provider"], {"kind": "wpp"})
        report.equal(f"{what}: payload", event.get("payload"), made["payload"] or None)
        report.true(f"{what}: not decoded", not {"data", "message"} & set(event), str(event))
        return
    for name in ("module", "source", "line", "function", "level", "flags"):
        if message[name]:
            wpp[name] = message[name]
    wpp["args"] = [name for name, _ in message["arguments"]]
    wpp["types"] = [type_ for _, type_ in message["arguments"]]
    report.equal(f"{what}: wpp", event["wpp"], wpp)
    report.equal(f"{what}: provider", event["provider"],
                 {"name": message["module"], "guid": made["key"][0], "kind": "wpp"})
    report.equal(f"{what}: data", event.get("data"), made["data"])
    report.equal(f"{what}: message", event.get("message"), made["text"])
    report.true(f"{what}: whole", not {"payload_rest", "decode_error"} & set(event), str(event))


def compare(report, name, folder, schema, chosen_, formats):
    """Compare one record each of ${chosen_}: (key, flags), in this order."""
    rng = random.Random(name)
    made = [make_event(rng, index, key, formats[key], flags)
            for index, (key, flags) in enumerate(chosen_)]
    records, trace = folder / f"{name}.bin", folder / f"{name}.etl"
    records.write_bytes(b"".join(struct.pack("<I", len(raw)) + raw for raw, _ in made))
    subprocess.run([os.environ["ETWSHIP_ETLGEN"], "--clock", "system", "--cpus", "1", "--records",
                    records, "-o", trace], check=True, stdout=subprocess.DEVNULL)
    events = common.dump("--schema", schema, trace)
    if not report.equal(f"{name}: events", len(events), len(made)):
        return
    time = START
    for index, (event, (_, want)) in enumerate(zip(events, made)):
        time = want["fields"]["time"] if want["flags"] & TIMESTAMP else time
        expect(report, f"{name} {index} ({want['key'][1]}, 0x{want['flags']:x})", event, want, time)
    stat, = common.stat("--schema", schema, trace)
    known = sum(bool(w["flags"] & GUID and not w["flags"] & COMPONENT) for _, w in made)
    report.equal(f"{name}: decoded", stat["decode"]["decoded"], known)
    report.equal(f"{name}: undecoded", stat["decode"]["undecoded"], len(made) - known)


def missing_formats(report, trace):
    """`stat` names the files that a trace needs; records without a GUID need none."""
    messages = sum(e["provider"].get("guid") == GROUP for e in common.dump(trace))
    report.true("messages with a GUID", messages > 0)
    stat, = common.stat(trace)
    report.true("missing, as JSON", {"kind": "wpp", "guid": GROUP, "count": messages}
                in stat["missing"], str(stat["missing"]))
    lines = [line.split() for line in common.lines(common.run("stat", trace)) if ".tmf" in line]
    report.equal("missing, as text", lines, [[str(messages), f"{GROUP}.tmf"]])


def unknown_without_arguments(report, folder):
    """A message has a text, so without its format it is unknown, even if it has no arguments."""
    raw = encode(10, GUID | TIMESTAMP, b"", {"guid": GROUP, "time": START})
    records, trace = folder / "bare.bin", folder / "bare.etl"
    records.write_bytes(struct.pack("<I", len(raw)) + raw)
    subprocess.run([os.environ["ETWSHIP_ETLGEN"], "--clock", "system", "--cpus", "1", "--records",
                    records, "-o", trace], check=True, stdout=subprocess.DEVNULL)
    stat, = common.stat(trace)
    report.equal("bare: undecoded", stat["decode"]["undecoded"], 1)
    report.equal("bare: missing", stat["missing"], [{"kind": "wpp", "guid": GROUP, "count": 1}])
    for command in ("stat", "dump"):
        common.run(command, trace)
        report.true(f"bare: {command} --strict", common.run(command, "--strict", trace, check=(3,))
                    is not None)


def views(report, trace, schema, formats):
    """Other ways to use messages: filters, the ecs event, the values of a format."""
    key = (GROUP, 10 + len(ITEMS))
    names = [name for name, _ in formats[key]["arguments"]]
    everything = common.dump("--schema", schema, trace)
    this = f" and event.code == {key[1]}"
    for test in (f"wpp.function == '{formats[key]['function']}'", f"wpp.args has '{names[-1]}'",
                 f"wpp.line == {formats[key]['line']}", "wpp.types has 'ItemWaitTime'",
                 "wpp.module == 'sample' and wpp.source == 'sample.c'" + this,
                 "wpp.level == 'L' and wpp.flags == 'F'" + this, "message startswith '<'" + this):
        events = common.dump("--schema", schema, "--where", test, trace)
        report.true(f"--where {test}", key[1] in {e["event"]["code"] for e in events})
        report.true(f"--where {test}: not all", len(events) < len(everything))
    untimed = common.dump("--schema", schema, "--where", "etw.timestamp_source == 'buffer'", trace)
    report.equal("without a time", len(untimed), sum(
        not int(e["wpp"]["message_flags"], 16) & TIMESTAMP for e in everything))
    native = common.dump("--schema", schema, "--where", "event.code == 10", trace)
    ecs = common.dump("--schema", schema, "--where", "event.code == 10", "-f", "ecs", trace)
    report.equal("messages as ecs", [e.get("message") for e in ecs],
                 [e.get("message") for e in native])
    shown = common.run("schema", "show", f"{GROUP}:10", "--schema", schema).decode().splitlines()
    report.equal("schema show", shown, [
        "    10 f10 sample.c:10 L F (wpp)", '        "%0<%10!s!>"', "        arg10: ItemChar, x[0]"])


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        schema = folder / "schema"
        schema.mkdir()
        (schema / f"{GROUP}.tmf").write_text(own_formats(), encoding="utf-8")
        own = read_formats(own_formats())
        report.equal("own formats", len(own), len(ITEMS) + 2 + len(TEXTS))
        all_items = (GROUP, 10 + len(ITEMS))
        flags = [sum(c) for c in itertools.product(
            (TIMESTAMP, 0), (0, SEQUENCE), (0, GUID), (0, COMPONENT), (0, PERFORMANCE),
            (0, SYSTEMINFO), (0, POINTER32, POINTER64, POINTER32 | POINTER64))]
        compare(report, "flags", folder, schema, [(all_items, f) for f in flags], own)
        compare(report, "items", folder, schema,
                [(key, USUAL | p) for _ in range(8) for key in own for p in (POINTER32, POINTER64)],
                own)
        real_folder = Path(os.environ.get("ETWSHIP_SHARED") or "missing") / "data" / "manifests"
        missing_formats(report, folder / "flags.etl")
        unknown_without_arguments(report, folder)
        for name in ("flags", "items"):
            views(report, folder / f"{name}.etl", schema, own)
        files = sorted(real_folder.glob("tmf-*/*.tmf"))
        if files:
            real = {}
            for file in files:
                for key, message in read_formats(file.read_text(encoding="utf-8")).items():
                    real.setdefault(key, message)
            report.equal("real messages", len(real), 2612)
            for pointer_flag in (POINTER32, POINTER64):
                compare(report, f"real{pointer_flag}", folder, real_folder,
                        [(key, USUAL | pointer_flag) for key in real], real)
        else:
            print("no real trace message formats (ETWSHIP_SHARED): only those of this test")
    report.finish()


if __name__ == "__main__":
    main()
