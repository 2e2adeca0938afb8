"""tx-HTTP_Server.evtx, an event log that Windows made, against another reader's objects: every event and value."""

import json

import common
import http_server

LOG = "tx-HTTP_Server.evtx"
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
    report.finish()


if __name__ == "__main__":
    main()
