"""The counts of `etwship stat --json` equal those of an independent reader, for every trace."""

import common

NAMES = [
    "size", "buffers", "records", "header_types", "buffer_flags", "buffer_types", "cpus",
    "system_groups", "system_events", "classic_providers", "classic_events", "event_providers",
    "events", "message_providers", "messages", "tracelogging", "extended_data",
    "event_header_flags", "eventsource_manifest_records", "ktc_metadata_opcodes"]
TIMES = ["start_time", "end_time", "boot_time"]


def cut_to_us(time):
    """Cuts 7 digits of a second to 6, because the reader of the reference counts kept microseconds."""
    return time[:-2] + "Z" if time and len(time.split(".")[-1]) == 8 else time


def header(report, name, got, want):
    for key in want:
        if not report.true(f"{name}: header.{key}", key in got, "missing"):
            continue
        if key in TIMES:
            report.equal(f"{name}: header.{key}", cut_to_us(got[key]), want[key])
        else:
            report.equal(f"{name}: header.{key}", got[key], want[key])


def counts(report, name, got, want):
    for key in NAMES:
        if not report.true(f"{name}: {key}", key in got, "missing"):
            continue
        if isinstance(want[key], dict):
            for item in sorted(set(want[key]) | set(got[key])):
                report.equal(f"{name}: {key}[{item}]", got[key].get(item), want[key].get(item))
        else:
            report.equal(f"{name}: {key}", got[key], want[key])


def main():
    report = common.Report()
    for trace in common.traces():
        objects = common.stat(trace)
        if not report.equal(f"{trace.name}: objects", len(objects), 1):
            continue
        got, want = objects[0], common.walk_counts(trace)
        counts(report, trace.name, got, want)
        header(report, trace.name, got.get("header", {}), want["header"])
        report.equal(f"{trace.name}: damage", got.get("damage"), [])
        decode = got.get("decode", {})
        report.equal(f"{trace.name}: decoded + partial + undecoded",
                     sum(decode.get(key, 0) for key in ("decoded", "partial", "undecoded")),
                     decode.get("events"))
        report.equal(f"{trace.name}: events + metadata",
                     decode.get("events", 0) + decode.get("metadata", 0), want["records"])
    report.finish()


if __name__ == "__main__":
    main()
