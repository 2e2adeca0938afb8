"""Counts and field values against the baselines of PerfView's TraceEvent library.

A baseline has `COUNT type:number` for every type and `EVENT` lines for the first five events of
each, with values cut to 20 characters and numbers in groups of thousands. Where its numbers can be
trusted, and under which names, stands in perfview_types.py.
"""

import re
from collections import Counter, defaultdict
from datetime import datetime

import common
import minietl
import perfview_types as types

CLR_PROVIDERS = "Microsoft-Windows-DotNETRuntime"
UNCOMPARED = re.compile(f"{CLR_PROVIDERS}|Windows Kernel/PerfInfo/Sample")
EVENT_LINE = re.compile(r"EVENT ([\d,.]+): (.+?) PID=(-?\d+); TID=(-?\d+); PName=.*?; "
                        r"ProceNum=(\d+); DataLen=(\d+); (.*)")
# Relative times are rounded to the microsecond from a double.
ROUNDING_100NS = 6


class Shown:
    """One EVENT line."""

    def __init__(self, match):
        self.time_100ns = round(float(match[1].replace(",", "")) * 10_000)
        self.type, self.cpu = match[2], int(match[5])
        self.pid, self.tid = int(match[3]), int(match[4])
        self.fields = dict(part.split("=", 1) for part in re.split(r"; ", match[7]) if "=" in part)


def baseline(path):
    counts, shown = {}, defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("COUNT "):
                name, count = line[len("COUNT "):].rstrip("\n").rsplit(":", 1)
                counts[name] = int(count)
            else:
                match = EVENT_LINE.match(line)
                if match:
                    event = Shown(match)
                    shown[event.type].append(event)
    return counts, shown


def key_of(event):
    code = event["event"].get("code")
    return common.class_of(event), event["event"]["opcode"] if code is None else code


def text_matches(got, shown):
    return got.startswith(shown[:-3]) if shown.endswith("...") else got.strip() == shown.strip()


def time_matches(got, shown):
    """2021-09-09T14:59:35.7990000Z against 21/09/09 14:59:35.79..."""
    return got[2:].replace("-", "/").replace("T", " ").startswith(shown[:20].rstrip("."))


def number_matches(got, shown):
    plain = shown.replace(",", "")
    want = int(plain, 16) if plain.lower().startswith("0x") else int(plain)
    # A negative number may be our unsigned one, and the other way round.
    return (got - want) % (1 << 32) == 0 if want < 0 or got < 0 else got == want


def names_match(names, shown):
    """The order of a bit map's names is the manifest's here and the bits' there."""
    if not isinstance(names, list):
        return text_matches(names, shown)
    *whole, last = re.split(r"\||, ", shown)
    return set(whole) <= set(names) and any(text_matches(name, last) for name in names)


def endpoint(address):
    text = address["address"]
    return f"[{text}]:{address['port']}" if ":" in text else f"{text}:{address['port']}"


def value_matches(data, name, shown):
    got, meaning = data[name], data.get(f"{name}_name")
    if isinstance(got, bool):
        return str(got) == shown
    if isinstance(got, dict):
        return text_matches(endpoint(got), shown)
    if isinstance(got, str) and re.match(r"\d{4}-\d\d-\d\dT", got):
        return time_matches(got, shown)
    plain = re.fullmatch(r"-?[\d,]+|0x[0-9a-fA-F]+", shown)
    if plain and (isinstance(got, int) or str(got).startswith("0x")):
        return number_matches(common.number(got), shown)
    if meaning is not None:
        return names_match(meaning, shown)
    return isinstance(got, str) and text_matches(got, shown)


def compare_fields(report, what, event, shown):
    renamed = types.RENAMED.get(common.class_of(event), {})
    data = event.get("data", {})
    by_lower_case = {name.lower(): name for name in data}
    for field, text in shown.fields.items():
        name = renamed.get(field, field)
        if name is None:
            continue
        name = by_lower_case.get(name.lower())
        if not report.true(f"{what}.{field}", name, f"not among {list(data)}"):
            continue
        report.true(f"{what}.{field}", value_matches(data, name, text),
                    f"got {data[name]!r} {data.get(f'{name}_name', '')!r}, shown as {text!r}")


def compare_event(report, what, event, shown, start_100ns):
    time = filetime(event["@timestamp"]) - start_100ns
    report.true(f"{what}: time", abs(time - shown.time_100ns) <= ROUNDING_100NS,
                f"{time / 10000} ms, expected {shown.time_100ns / 10000} ms")
    report.equal(f"{what}: processor", event["etw"]["cpu"], shown.cpu)
    # PerfView replaces the ids of many kernel events by those of the payload.
    if "code" in event["event"]:
        report.equal(f"{what}: pid", event.get("process", {}).get("pid", -1), shown.pid)
        report.equal(f"{what}: tid", event.get("process", {}).get("thread", {}).get("id", -1),
                     shown.tid)
    compare_fields(report, what, event, shown)


def filetime(time):
    seconds = datetime.strptime(time[:19], "%Y-%m-%dT%H:%M:%S") - minietl.FILETIME_EPOCH
    return (seconds.days * 86400 + seconds.seconds) * 10_000_000 + int(time[20:27])


def compare(report, name, known, schemas=(), fields=()):
    path = common.trace(f"{name}.etl")
    counts, shown = baseline(common.beside(f"{name}.baseline.txt"))
    options = [option for schema in schemas for option in ("--schema", schema)]
    first_five, found = defaultdict(list), Counter()
    for event in common.dump("--metadata", "--stack-walk", "events", *options, path):
        key = key_of(event)
        found[key] += 1
        if found[key] <= 5:
            first_five[key].append(event)
    for kind, count in counts.items():
        if kind not in known:
            report.true(f"{name}: {kind}", UNCOMPARED.match(kind), "not in the tables of the test")
        else:
            report.equal(f"{name}: number of {kind}", found[known[kind]], count)
    start_100ns = minietl.Trace(path).start_100ns
    for kind in known:
        key = known[kind]
        # Of ManifestData PerfView shows the envelope; here it is metadata without fields.
        if kind not in shown or key[0] not in fields or kind.endswith("/ManifestData"):
            continue
        report.equal(f"{name}: {kind} shown", len(first_five[key]), len(shown[kind]))
        for index, (event, line) in enumerate(zip(first_five[key], shown[kind])):
            compare_event(report, f"{name}: {kind} {index}", event, line, start_100ns)


# Types whose fields mean the same in both; the rest is compared by counts.
MERGED_FIELDS = {
    types.DISK_IO, types.TCP_IP, types.UDP_IP, types.PAGE_FAULT, types.IMAGE, types.IMAGE_ID,
    types.PERFVIEW, types.TPL, types.FRAMEWORK, types.DNS_CLIENT, types.IMMERSIVE_SHELL,
    types.KERNEL_FILE, types.KERNEL_PROCESS, types.KERNEL_EVENT_TRACING}


def compare_primitive_types(report):
    """Every field of every event; the SYSTEMTIME, whose milliseconds PerfView gets wrong, against
    the bytes."""
    name = "perfview-primitive-types"
    path = common.trace(f"{name}.etl")
    _, shown = baseline(common.beside(f"{name}.baseline.txt"))
    trace = minietl.Trace(path)
    payloads = {trace.time_text(r.ticks): r.payload for records in trace.by_cpu.values()
                for r in records if r.kind == "event"}
    events = [e for e in common.dump(path) if e["provider"].get("name") == "solar_system"]
    lines = shown["solar_system/PrimitiveTypesTest"]
    report.equal(f"{name}: events", len(events), len(lines))
    for index, (event, line) in enumerate(zip(events, lines)):
        what = f"{name}: event {index}"
        report.equal(f"{what}: name", event["event"].get("name"), "PrimitiveTypesTest")
        report.equal(f"{what}: fields", list(event.get("data", {})), list(line.fields))
        system_time = line.fields.pop("system_time_type")
        # A character there is its number.
        report.equal(f"{what}.char_type", ord(event["data"].get("char_type", "\0")),
                     int(line.fields.pop("char_type")))
        compare_event(report, what, event, line, trace.start_100ns)
        raw = payloads[event["@timestamp"]][-16:]
        year, month, _, *rest = (int.from_bytes(raw[i:i + 2], "little") for i in range(0, 16, 2))
        day, hour, minute, second, ms = rest
        got = event["data"].get("system_time_type", "")
        report.equal(f"{what}.system_time_type", got.rstrip("Z"),
                     f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}")
        report.true(f"{what}.system_time_type", time_matches(got, system_time[:17]), system_time)


def main():
    report = common.Report()
    merged = types.CLASSIC | types.EVENTS
    compare(report, "perfview-net.4.5.2.x86", merged, fields=MERGED_FIELDS)
    compare(report, "perfview-net.4.5.x86-2016", merged, fields=MERGED_FIELDS)
    clr = common.manifests() / "perfview" / "ClrEtwAll.man"
    compare(report, "perfview-gcevents", types.CLASSIC | types.CLR_NAMES, schemas=[clr])
    compare_primitive_types(report)
    report.finish()


if __name__ == "__main__":
    main()
