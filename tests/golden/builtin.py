"""Layouts that are part of the program, beside the public manifests and the bare payloads.

- Every event of the real traces comes out the same with and without the manifests' folder, line by
  line, in both formats. What differs is named here, with the reason: what newer runtimes added to
  maps, and where the built-in layout says more than the file does.
- All that the public manifests define of these providers is defined here.
- Events that no manifest at hand describes are read once more from their raw bytes, with the struct
  module alone.
- The names of providers are known where no definition is, and a definition's own name goes first.
"""

import json
import re
import struct
from collections import Counter
from itertools import zip_longest

import common

CLR = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
RUNDOWN = "a669021c-c450-4609-a035-5af59af4df18"
POWERSHELL = "a0c1853b-5c40-4b15-8766-3cf1c58f985a"
TRACES = ("perfview-gcevents.etl", "perfview-net.4.5.x86-2016.etl", "perfview-net.4.5.2.x86.etl",
          "dotnet-performance-DynamicEvents.etl", "perfview-smallEtlFile.etl", "tx-Process.etl")

# Events that the folder describes by a dump alone, without names, maps and texts (derived/ there).
POORER_THERE = {(CLR, 202), (CLR, 204)}
# Those that it does not describe.
UNKNOWN_THERE = {(CLR, 4, 2), (CLR, 10, 4), (CLR, 205, 4), (CLR, 208, 0), (CLR, 209, 0),
                 (RUNDOWN, 10, 0), (RUNDOWN, 280, 0)}
# Bits and values that newer runtimes named: there they are numbers.
NEW_WORDS = ("PinnedHeap", "JitHelper", "IbcOptimized", "ReadyToRunModule",
             "PartialReadyToRunModule", "Pinned", "CooperativeBlocking", "TieredPGO", "Older",
             "DependentHandle", "NewFQ", "Steal", "BGC", "ArrayRankBit")


def key_of(event):
    """Provider, id and version of an event in either format."""
    if "winlog" not in event:
        return (event["provider"].get("guid"), event["event"].get("code"),
                event["event"].get("version"))
    winlog = event["winlog"]
    return (common.bare_guid(winlog.get("provider_guid")), int(event["event"].get("code", -1)),
            int(winlog.get("version", 0)))


def plain(value):
    """Numbers as numbers, whatever their form; names beside values are left out."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if not k.endswith("_name")}
    if isinstance(value, list):
        return [plain(v) for v in value]
    try:
        return common.number(value)
    except ValueError:
        return value


def has_new_word(value):
    text = json.dumps(value)
    return any(word in text for word in NEW_WORDS)


def compare_values(report, where, here, there):
    for name in sorted(set(here) | set(there)):
        a, b = here.get(name), there.get(name)
        if a != b and has_new_word(a):
            # The same number beside it, or the bits that have a name there, too.
            known = [x for x in b if not x.startswith("0x")] if isinstance(b, list) else []
            report.true(f"{where}: {name}", all(x in a for x in known), f"{a} beside {b}")
        elif name.endswith("_raw") and b is None:
            report.equal(f"{where}: {name}", a, int(there[name[:-4]]))
        else:
            report.equal(f"{where}: {name}", a, b)


def data_of(event):
    return event.get("winlog", event).get("data" if "winlog" not in event else "event_data", {})


def compare(report, where, here, there, seen):
    key = key_of(here)
    if key in UNKNOWN_THERE:
        seen["not described there"] += 1
        report.true(f"{where}: decoded here", data_of(here) and "payload_rest" not in here, here)
        return
    if key[:2] in POORER_THERE:
        seen["poorer there"] += 1
        data, other = data_of(here), data_of(there)
        named = {k for k in data if k + "_name" in data or k + "_raw" in data}
        for name in set(data) & set(other) - named - {"Values"}:  # structs are none there
            report.equal(f"{where}: {name}", plain(data[name]), plain(other[name]))
        return
    compare_values(report, where, data_of(here), data_of(there))
    if there.get("message") == "NONE":  # the manifest's text for events that say nothing
        there.pop("message")
    if has_new_word(here.get("message", "")):
        here.pop("message", None)
        there.pop("message", None)
    for event in (here, there):
        event.pop("data", None)
        event.get("winlog", {}).pop("event_data", None)
    report.equal(where, here, there)


# When the program wrote the line.
CREATED = re.compile(rb'"created":"[^"]*"')


def compare_trace(report, path, form, seen):
    lines = zip_longest(common.stream("-f", form, path),
                        common.stream("-f", form, "--no-builtin", "--schema", common.manifests(), path))
    for number, pair in enumerate(lines):
        where = f"{path.name} {form} {number}"
        if not all(pair):
            report.true(where, False, "one of the two has fewer events")
            return
        here, there = (CREATED.sub(b'"created":""', line) for line in pair)
        seen["events"] += 1
        report.checked += 1
        if here == there:
            seen["same lines"] += 1
        else:
            compare(report, where, json.loads(here), json.loads(there), seen)


# ---- definitions ---------------------------------------------------------------------------------

# provider -> the file whose definitions are among the built-in ones.
PUBLIC = {f"Microsoft-Windows-DotNETRuntime{part}": "perfview/ClrEtwAll.man"
          for part in ("", "Rundown", "Private", "Stress")} | {
              f"Microsoft-Windows-Kernel-{part}": "tx/SystemEvents.man"
              for part in ("Process", "File", "Network", "Registry")}
# What newer runtimes changed: keywords of two events.
NEW_KEYWORDS = {("Microsoft-Windows-DotNETRuntime", 23, 0),
                ("Microsoft-Windows-DotNETRuntime", 80, 1)}


def definitions(provider, *arguments):
    listed = json.loads(common.run("providers", provider, "--json", *arguments))
    return {(e["code"], e["version"]): e for e in listed["events"]}


def check_definitions(report):
    """Not all events occur in a trace, so this compares the definitions of the manifests."""
    for provider, name in PUBLIC.items():
        here = definitions(provider, "--schema-source", "builtin")
        there = definitions(provider, "--schema", common.manifests() / name,
                            "--schema-source", "manifest")
        report.equal(f"{provider}: not here", sorted(set(there) - set(here)), [])
        for key in sorted(set(there) & set(here)):
            a, b = here[key], there[key]
            if b.get("message") == "NONE":
                del b["message"]
            for field in b["fields"]:  # what the built-in layout says is right to begin with
                field.pop("corrected", None)
            ignored = {"source"} | ({"keywords"} if (provider, *key) in NEW_KEYWORDS else set())
            for member in sorted((set(a) | set(b)) - ignored):
                report.equal(f"{provider} {key}: {member}", a.get(member), b.get(member))


# ---- from the bytes --------------------------------------------------------------------------------

def text16(payload, at):
    end = at
    while payload[end:end + 2] != b"\0\0":
        end += 2
    return payload[at:end].decode("utf-16-le"), end + 2


def read_allocation_tick(payload):
    amount, kind, instance, amount64, type_id = struct.unpack_from("<IIHQQ", payload)
    name, at = text16(payload, 26)
    heap, address, size = struct.unpack_from("<IQQ", payload, at)
    return {"AllocationAmount": amount, "AllocationKind": kind, "ClrInstanceID": instance,
            "AllocationAmount64": amount64, "TypeID": type_id, "TypeName": name, "HeapIndex": heap,
            "Address": address, "ObjectSize": size}, at + 20


def read_global_history(payload):
    names = ("FinalYoungestDesired", "NumHeaps", "CondemnedGeneration", "Gen0ReductionCount",
             "Reason", "GlobalMechanisms", "ClrInstanceID", "PauseMode", "MemoryPressure",
             "CondemnReasons0", "CondemnReasons1", "Count")
    values = dict(zip(names, struct.unpack_from("<QiIIIIHIIIII", payload)))
    times = struct.unpack_from(f"<{values['Count']}I", payload, 50)
    return values | {"Values": [{"Time": time} for time in times]}, 50 + 4 * len(times)


def read_fit_buckets(payload):
    """A bucket is a struct in the runtime's memory: 32 bits, 32 bits, a pointer."""
    instance, kind, total, count = struct.unpack_from("<HHQH", payload)
    buckets = [dict(zip(("Index", "Count", "Size"), struct.unpack_from("<IIQ", payload, 14 + 16 * i)))
               for i in range(count)]
    assert sum(bucket["Size"] for bucket in buckets) == total
    return {"ClrInstanceID": instance, "BucketKind": kind, "TotalSize": total, "Count": count,
            "Values": buckets}, 14 + 16 * count


def read_heap_stats(payload):
    names = [f"{what}{i}" for i in range(4) for what in ("GenerationSize", "TotalPromotedSize")]
    names += ["FinalizationPromotedSize", "FinalizationPromotedCount", "PinnedObjectCount",
              "SinkBlockCount", "GCHandleCount", "ClrInstanceID", "GenerationSize4",
              "TotalPromotedSize4"]
    return dict(zip(names, struct.unpack_from("<10Q3IH2Q", payload))), 110


def read_settings(payload):
    names = ("HardLimit", "LOHThreshold", "PhysicalMemoryConfig", "Gen0MinBudgetConfig",
             "Gen0MaxBudgetConfig", "HighMemPercentConfig", "BitSettings", "ClrInstanceID")
    return dict(zip(names, struct.unpack_from("<5Q2IH", payload))), 50


READERS = {(CLR, 10, 4): read_allocation_tick, (CLR, 205, 4): read_global_history,
           (CLR, 209, 0): read_fit_buckets, (CLR, 4, 2): read_heap_stats,
           (RUNDOWN, 10, 0): read_settings}


def check_bytes(report, name, seen):
    """Layouts of newer runtimes, against payloads that the program shows undecoded."""
    path = common.trace(name)
    of_clr = ("-p", CLR, "-p", RUNDOWN)
    decoded = {e["etw"]["sequence"]: e for e in common.dump(*of_clr, path)}
    for raw in common.dump("--no-builtin", *of_clr, path):
        read = READERS.get(key_of(raw))
        if not read:
            continue
        payload = bytes.fromhex(raw["payload"])
        values, used = read(payload)
        where = f"{name} {key_of(raw)[1]} sequence {raw['etw']['sequence']}"
        report.equal(f"{where}: bytes used", used, len(payload))
        report.equal(where, plain(decoded[raw["etw"]["sequence"]]["data"]), values)
        seen[key_of(raw)] += 1


# ---- names -----------------------------------------------------------------------------------------

def check_names(report):
    """A provider without layouts still has its name, which selects it."""
    name = "Microsoft-Windows-Diagnostics-Networking"
    path = common.trace("pywintrace-eventlog.etl")
    events = [e for e in common.dump(path) if e["provider"]["kind"] == "unknown"]
    report.true("events without a layout", len(events) > 0, "none")
    report.equal("their provider", {e["provider"].get("name") for e in events}, {name})
    report.equal("by name", len(common.dump("-p", name.lower(), path)), len(events))
    by_rule = common.dump("--where", f"provider.name == '{name}'", path)
    report.equal("by a rule", len(by_rule), len(events))
    [told] = common.stat(path)
    report.equal("in stat", {t["provider"] for t in told["types"] if t["source"] == "none"}, {name})
    listed = common.run("providers", name, "--json")
    report.equal("in the list", json.loads(listed)["event_count"], 0)


def check_powershell(report):
    """Windows PowerShell writes the events of the public manifest of PowerShell 6."""
    path = common.trace("krabsetw-powershell.etl")
    events = [e for e in common.dump(path) if e["provider"].get("guid") == POWERSHELL]
    report.equal("PowerShell: decoded", sum(common.is_decoded(e) for e in events), 112)
    report.equal("PowerShell: with an error", sum("decode_error" in e for e in events), 0)
    report.equal("PowerShell: channels", {e["event"].get("channel_name") for e in events},
                 {f"Microsoft-Windows-PowerShell/{c}" for c in ("Operational", "Analytic")})


def main():
    report = common.Report()
    common.shared()
    seen = Counter()
    for name in TRACES:
        for form in ("native", "ecs"):
            compare_trace(report, common.trace(name), form, seen)
    for name in ("perfview-gcevents.etl", "dotnet-performance-DynamicEvents.etl"):
        check_bytes(report, name, seen)
    for key in READERS:
        report.true(f"{key} was read from its bytes", seen[key] > 0, "there is none")
    check_definitions(report)
    check_names(report)
    check_powershell(report)
    for what, count in seen.items():
        print(f"{count:8} {what}")
    report.finish()


if __name__ == "__main__":
    main()
