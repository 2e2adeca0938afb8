"""tx-HTTP_Server.etl against Windows' own conversion of it: every event and every value.

The expected file is Windows' .evtx of the same trace, one object per event. Windows gave up on the
291 events of id 2, whose last string has no terminator; for these the values are read here from the
bytes of the trace.
"""

import ipaddress
import json
import struct
import xml.etree.ElementTree as ElementTree
from collections import defaultdict

import common
import minietl

TRACE = "tx-HTTP_Server.etl"
UNTERMINATED_ID = 2
AF_INET, AF_INET6 = 2, 23
EVENTS = "{http://schemas.microsoft.com/win/2004/08/events}"


def sockaddr(hex_text):
    """SOCKADDR_IN or SOCKADDR_IN6 (ws2def.h, ws2ipdef.h) as the object of the native event."""
    raw = bytes.fromhex(hex_text)
    family, = struct.unpack_from("<H", raw)
    port, = struct.unpack_from(">H", raw, 2)
    if family == AF_INET:
        return {"address": ipaddress.IPv4Address(raw[4:8]), "port": port, "family": family}
    result = {"address": ipaddress.IPv6Address(raw[8:24]), "port": port, "family": family}
    scope, = struct.unpack_from("<I", raw, 24)
    return result | ({"scope_id": scope} if scope else {})


def mapped_fields(manifest):
    """(event id, field) -> {value: text} of the maps, read from the manifest."""
    root = ElementTree.parse(manifest).getroot()
    texts = {s.get("id"): s.get("value") for s in root.iter(f"{EVENTS}string")}
    maps = {}
    for value_map in root.iter(f"{EVENTS}valueMap"):
        maps[value_map.get("name")] = {
            int(item.get("value"), 0): texts[item.get("message")[len("$(string."):-1]]
            for item in value_map.iter(f"{EVENTS}map")}
    templates = {t.get("tid"): t for t in root.iter(f"{EVENTS}template")}
    fields = {}
    for event in root.iter(f"{EVENTS}event"):
        template = templates.get(event.get("template"))
        for data in template.iter(f"{EVENTS}data") if template is not None else ():
            if data.get("map"):
                fields[int(event.get("value")), data.get("name")] = maps[data.get("map")]
    return fields


def same_value(got, want):
    if isinstance(got, dict):
        return got | {"address": ipaddress.ip_address(got["address"])} == sockaddr(want)
    if isinstance(want, int):
        return common.number(got) == want
    if want.startswith("0x"):
        return isinstance(got, str) and got == got.lower() and common.number(got) == int(want, 16)
    return got == want


def compare_data(report, what, code, got, want, maps):
    names = []
    for name, value in want:
        names.append(name)
        if name not in got:
            report.true(f"{what}.{name}", False, "missing")
            continue
        report.true(f"{what}.{name}", same_value(got[name], value),
                    f"got {got[name]!r}, expected {value!r}")
        if (code, name) in maps:
            names.append(f"{name}_name")
            report.equal(f"{what}.{name}_name", (got.get(f"{name}_name") or "").strip(),
                         maps[code, name].get(value, "").strip())
    report.equal(f"{what}: fields in order", list(got), names)


def compare_header(report, what, got, want):
    event, etw, process = got["event"], got["etw"], got.get("process", {})
    report.equal(f"{what}: provider", got["provider"].get("name"), want["provider"])
    report.equal(f"{what}: guid", got["provider"].get("guid"), common.bare_guid(want["guid"]))
    for key in ("version", "level", "task", "opcode"):
        report.equal(f"{what}: {key}", event.get(key), want[key])
    report.equal(f"{what}: keywords", event.get("keywords"), want["keywords"])
    report.equal(f"{what}: activity_id", got.get("activity_id"), common.bare_guid(want["activity"]))
    report.equal(f"{what}: related_activity_id", got.get("related_activity_id"),
                 common.bare_guid(want["related_activity"]))
    report.equal(f"{what}: pid", process.get("pid"), want["pid"])
    report.equal(f"{what}: tid", process.get("thread", {}).get("id"), want["tid"])
    report.equal(f"{what}: kernel_ticks", etw.get("kernel_ticks", 0), want["kernel_time"])
    report.equal(f"{what}: user_ticks", etw.get("user_ticks", 0), want["user_time"])


def unterminated_data(trace):
    """The fields of the id 2 events: pointer, u32, UTF-16 to the end; keyed like the events."""
    found = defaultdict(list)
    for cpu, records in trace.by_cpu.items():
        for record in records:
            if record.id != UNTERMINATED_ID:
                continue
            request, verb = struct.unpack_from("<QI", record.payload)
            url = record.payload[12:].decode("utf-16-le").split("\0")[0]
            found[trace.time_text(record.ticks), cpu, record.id].append(
                [["RequestObj", f"{request:#x}"], ["HttpVerb", verb], ["Url", url]])
    return found


def main():
    report = common.Report()
    path = common.trace(TRACE)
    manifest = common.manifests() / "tx" / "HTTP_Server.man"
    with open(common.beside("tx-HTTP_Server.expected.jsonl"), encoding="utf-8") as file:
        expected = [json.loads(line) for line in file]
    events = common.dump("--schema", manifest, path)
    maps = mapped_fields(manifest)
    from_bytes = unterminated_data(minietl.Trace(path))
    report.equal("events", len(events), len(expected))
    report.equal("events of id 2 in the bytes", sum(map(len, from_bytes.values())), 291)

    # Events of one processor keep their order; between processors equal times have none.
    by_key = defaultdict(list)
    for event in events:
        by_key[event["@timestamp"], event["etw"]["cpu"], event["event"]["code"]].append(event)
    for want in expected:
        key = want["time"], want["cpu"], want["id"]
        what = f"event {want['n']} (id {want['id']}, {want['time']})"
        if not report.true(what, bool(by_key[key]), "not in the output"):
            continue
        got = by_key[key].pop(0)
        compare_header(report, what, got, want)
        data = want["data"]
        if want["id"] == UNTERMINATED_ID:
            data = from_bytes[key].pop(0)
        report.true(f"{what}: decoded", "decode_error" not in got and "payload" not in got,
                    got.get("decode_error", "raw payload"))
        compare_data(report, what, want["id"], got.get("data", {}), data, maps)
    report.equal("events beyond the expected", [k for k, left in by_key.items() if left], [])
    report.finish()


if __name__ == "__main__":
    main()
