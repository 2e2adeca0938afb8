"""Traces that describe themselves, and the small facts known about others."""

import json

import common


def self_describing(report):
    path = common.trace("perfview-SelfDescribingSingleEvent.etl")
    want = json.loads(common.beside("perfview-SelfDescribingSingleEvent.expected.json")
                      .read_text(encoding="utf-8"))
    events = [e for e in common.dump(path) if e["provider"].get("name") == want["provider"]]
    if not report.equal(f"{path.name}: events of {want['provider']}", len(events), 1):
        return
    report.equal(f"{path.name}: name", events[0]["event"].get("name"), want["event"])
    report.equal(f"{path.name}: kind", events[0]["provider"].get("kind"), "tracelogging")
    first = next(iter(events[0].get("data", {}).values()), None)
    report.equal(f"{path.name}: first field", first, want["first_field_is_struct"])


def kernel_process(report):
    path = common.trace("tx-Process.etl")
    want = json.loads(common.beside("tx-Process.expected.json").read_text(encoding="utf-8"))
    manifest = common.manifests() / "tx" / "SystemEvents.man"
    events = common.dump("--schema", manifest, path)
    of_provider = [e for e in events if e["provider"].get("name") == want["provider"]]
    report.equal(f"{path.name}: events of the provider", len(of_provider), len(events))

    def count(code, version):
        return sum((e["event"]["code"], e["event"]["version"]) == (code, version) for e in events)
    report.equal(f"{path.name}: process starts", count(1, 0), want["process_start_id1_v0"])
    report.equal(f"{path.name}: process stops", count(2, 1), want["process_stop_id2_v1"])
    for event in events:
        what = f"{path.name}: event {event['etw']['sequence']}"
        report.true(f"{what}: decoded", event.get("data") and "decode_error" not in event,
                    f"{event['event']}: {event.get('decode_error')}")


def embedded(report):
    """PktMon describes every one of its 403 events with KernelTraceControl metadata."""
    path = common.trace("demikernel-PktMon.etl")
    events = [e for e in common.dump(path) if "code" in e["event"]]
    report.equal(f"{path.name}: events", len(events), 403)
    for event in events:
        what = f"{path.name}: event {event['etw']['sequence']} (id {event['event']['code']})"
        report.equal(f"{what}: provider", event["provider"].get("name"), "Microsoft-Windows-PktMon")
        report.true(f"{what}: complete", "data" in event
                    and not {"payload", "payload_rest", "decode_error"} & set(event),
                    f"{event.get('decode_error', '')} rest {event.get('payload_rest', '')[:64]}")


def hw3d(report):
    """tracefmt printed two other runs of this event. The fields must be equal to those."""
    path = common.trace("hw3d-trace.etl")
    events = [e for e in common.dump(path) if "code" in e["event"]]
    if not report.equal(f"{path.name}: events", len(events), 1):
        return
    line = common.beside("hw3d-trace.tracefmt.txt").read_text(encoding="utf-8").split("\n")[0]
    want = json.loads(line[line.index("{"):])
    meta, event = want.pop("meta"), events[0]
    report.equal(f"{path.name}: data", event.get("data"), want)
    report.equal(f"{path.name}: provider", event["provider"]["name"], meta["provider"])
    report.equal(f"{path.name}: name", event["event"].get("name"), meta["event"])
    report.equal(f"{path.name}: level", event["event"].get("level"), meta["level"])
    report.equal(f"{path.name}: channel", event["event"].get("channel"), meta["channel"])


def main():
    report = common.Report()
    self_describing(report)
    kernel_process(report)
    embedded(report)
    hw3d(report)
    report.finish()


if __name__ == "__main__":
    main()
