"""tx-HTTP_Server.evtx, an event log that Windows made, against another reader's objects: every event and value. With the
provider's manifest, each event against the one of the trace that Windows made the log of: message, names, values."""

import json
from collections import defaultdict

import common
import http_server

LOG = "tx-HTTP_Server.evtx"
TRACE = "tx-HTTP_Server.etl"
# Windows could not render the payload of these events, and says so in their ProcessingErrorData.
UNRENDERED_ID = 2


def same_value(got, want):
    if isinstance(want, str) and isinstance(got, str):
        return got.lower() == want.lower()
    return got == want


def compare_data(report, what, got, want):
    report.equal(f"{what}: fields in order", list(got), [name for name, _ in want])
    for name, value in want:
        report.true(f"{what}.{name}", same_value(got.get(name), value),
                    f"got {got.get(name)!r}, expected {value!r}")


def key_of(event):
    return event["@timestamp"], event["etw"]["cpu"], event["event"]["code"]


def compare_with_trace(report):
    """Windows did not render some events. Of these the log has other values than the trace, so they must have no
    message."""
    manifest = common.manifests() / "tx" / "HTTP_Server.man"
    by_key = defaultdict(list)
    for event in common.dump("--schema", manifest, common.trace(TRACE)):
        by_key[key_of(event)].append(event)
    for got in common.dump("--schema", manifest, common.trace(LOG)):
        want = by_key[key_of(got)].pop(0)
        what = f"record {got['event'].pop('record_id')} and the trace"
        want["event"].pop("channel")  # a log has its name alone
        report.equal(f"{what}: event", got["event"], want["event"])
        if got["event"]["code"] == UNRENDERED_ID:
            report.true(f"{what}: no message", "message" not in got, got.get("message"))
        else:
            report.equal(f"{what}: data", got["data"], want["data"])
            report.equal(f"{what}: message", got.get("message"), want["message"])


def main():
    report = common.Report()
    path = common.trace(LOG)
    with open(common.beside("tx-HTTP_Server.expected.jsonl"), encoding="utf-8") as file:
        expected = [json.loads(line) for line in file]
    events = common.dump(path)
    report.equal("events", len(events), len(expected))
    by_id = {event["event"]["record_id"]: event for event in events}
    for want in expected:
        what = f"event {want['n']} (id {want['id']}, {want['time']})"
        got = by_id.get(want["n"])
        if not report.true(what, got is not None, "not in the output"):
            continue
        report.equal(f"{what}: time", got["@timestamp"], want["time"])
        report.equal(f"{what}: id", got["event"]["code"], want["id"])
        report.equal(f"{what}: kind", got["provider"]["kind"], "eventlog")
        http_server.compare_header(report, what, got, want)
        data = got.get("data", {})
        if want["id"] == UNRENDERED_ID:
            report.equal(f"{what}: what Windows says", list(data), ["ProcessingErrorData"])
        else:
            compare_data(report, what, data, want["data"])
    compare_with_trace(report)
    report.finish()


if __name__ == "__main__":
    main()
