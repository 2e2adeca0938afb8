"""MOF text on traces: of a provider of this test, and of kernel classes, beside the built-in table.

The text (tests/support/mof) says what Windows' own classes say; the table was made from other sources,
too, and is checked against independent readers by other tests. Both have to see the same in every event
that both describe; so has a schema pack that the text was exported to.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import common

CLASSES = Path(__file__).resolve().parent.parent / "support" / "mof"
# Of traces with events of these classes: how many are decoded by the text at least.
LEAST = {
    "dotnet-performance-DynamicEvents.etl": 2885,
    "etl-parser-ShutdownPerfDiagLogger.etl": 17007,
    "perfview-net.4.5.2.x86.etl": 102958,
    "perfview-net.4.5.x86-2016.etl": 32993,
    "syzygy-image_32_v2-win7.etl": 26,
    "syzygy-image_64_v2-win7.etl": 26,
    "syzygy-process_32_v1-win7.etl": 2,
    "syzygy-process_32_v3-win7.etl": 8,
    "syzygy-process_64_v3-win7.etl": 8,
}
SAME = ("name", "task_name", "class_guid", "opcode", "opcode_name", "version")
SHOWN = 2
START = 134397270000000000  # FILETIME of 2026-11-21T09:30:00Z


def lines(trace, *options):
    """Yields the event of each line, as it stands there."""
    command = [common.binary(), "dump", *map(str, options), str(trace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield from process.stdout
    if process.returncode:
        sys.exit(f"FAILED: {' '.join(command)}: exit code {process.returncode}")


def facts(event):
    return ({key: event["event"].get(key) for key in SAME}, event["provider"], event.get("data"),
            event.get("payload_rest"))


def compare(trace, text, others):
    """Returns how many events the text decodes, and for each of the other sides those in which it sees another
    thing."""
    decoded, different = 0, [[] for _ in others]
    for ours, *theirs in zip(*(lines(trace, *options) for options in (text, *others)), strict=True):
        event = json.loads(ours)
        if "data" not in event:
            continue
        decoded += 1
        for found, line in zip(different, theirs):
            if line != ours and is_different(event, other := json.loads(line)):
                found.append((facts(event), facts(other)))
    return decoded, different


def is_different(ours, theirs):
    # The table knows what builds of Windows append without a new version.
    appended = [key for key in theirs.get("data", {}) if key not in ours["data"]]
    if appended == ["ThreadName"] and "payload_rest" in ours:
        ours = {key: value for key, value in ours.items() if key != "payload_rest"}
        theirs["data"].pop("ThreadName")
    return facts(ours) != facts(theirs)


# ---- a provider of this file's own --------------------------------------------------------------------

PROVIDER = """\
[Dynamic, Guid("{7c3bd4d1-5ee2-4877-bb8e-19e2f15f2fd2}")]
class Example_Printing : EventTrace {};

[Dynamic, Guid("{0ff1ce00-5ee2-4877-bb8e-19e2f15f2fd2}"), EventVersion(1), DisplayName("Job")]
class Job_V1 : Example_Printing {};

[Dynamic, EventType{1, 2}, EventTypeName{"Start", "End"}]
class Job_V1_Types : Job_V1
{
    [WmiDataId(1), Format("x")] uint32 JobId;
    [WmiDataId(2), Pointer] uint32 Context;
    [WmiDataId(3), Format("w")] string Document;
    [WmiDataId(4), StringTermination("Counted")] string Printer;
    [WmiDataId(5), Extension("IPAddr")] object Client;
    [WmiDataId(6), Extension("Port")] object ClientPort;
    [WmiDataId(7), Values{"Queued", "Printing", "Failed"}] uint8 State;
    [WmiDataId(8), BitMap{"0", "4"}, BitValues{"Duplex", "Colour"}] uint32 Options;
};
"""
EVENT_CLASS = "0ff1ce00-5ee2-4877-bb8e-19e2f15f2fd2"
PAYLOAD = (struct.pack("<IQ", 0x2A, 0xFFFFA90F94BE60C0) + "report.docx\0".encode("utf-16-le") +
           struct.pack("<H", 5) + b"LPT-3" + bytes([192, 0, 2, 7]) + struct.pack(">H", 9100) +
           struct.pack("<BI", 1, 0x11))
# EVENT_TRACE_HEADER (evntrace.h) of header type 20; versions 1 and 3, of which the text has no class, and 0.
DATA = {"JobId": "0x2a", "Context": "0xffffa90f94be60c0", "Document": "report.docx",
        "Printer": "LPT-3", "Client": "192.0.2.7", "ClientPort": 9100, "State": 1,
        "State_name": "Printing", "Options": 17, "Options_name": ["Duplex", "Colour"]}


def record(type_, version, payload):
    return struct.pack("<HBBBBHIIq16sQ", 48 + len(payload), 20, 0xC0, type_, 4, version, 1176, 1168,
                       START, uuid.UUID(EVENT_CLASS).bytes_le, 0) + payload


def own_provider(report, folder):
    text, records, trace = folder / "printing.mof", folder / "records.bin", folder / "printing.etl"
    text.write_text(PROVIDER, encoding="utf-16")
    made = [record(1, 1, PAYLOAD), record(2, 3, PAYLOAD + b"new"), record(1, 0, PAYLOAD)]
    records.write_bytes(b"".join(struct.pack("<I", len(raw)) + raw for raw in made))
    subprocess.run([os.environ["ETWSHIP_ETLGEN"], "--clock", "system", "--cpus", "1", "--records",
                    records, "-o", trace], check=True, stdout=subprocess.DEVNULL)
    found = common.dump("--schema", text, trace)
    report.equal("events", len(found), 3)
    for event, type_, name in zip(found, (1, 2), ("Start", "End")):
        report.equal(f"{name}: provider", event["provider"],
                     {"name": "Example_Printing", "guid": "7c3bd4d1-5ee2-4877-bb8e-19e2f15f2fd2",
                      "kind": "mof"})
        report.equal(f"{name}: name", event["event"]["name"], f"Job/{name}")
        report.equal(f"{name}: opcode", event["event"]["opcode"], type_)
        report.equal(f"{name}: data", event.get("data"), DATA)
    report.equal("what a newer version appends", found[1].get("payload_rest"), b"new".hex())
    report.equal("an older version", found[2].get("data"), None)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own_provider(report, folder)
        if not (Path(os.environ.get("ETWSHIP_SHARED") or "missing") / "data" / "etl").is_dir():
            print("no real traces (ETWSHIP_SHARED): only that of this test")
            report.finish()
        pack = folder / "kernel.pack"
        text = ["--schema", CLASSES, "--schema-source", "mof"]
        common.run("schema", "export", "-o", pack, *text)
        others = {"table": ["--schema-source", "kernel"], "pack": ["--schema", pack, "--schema-source", "pack"]}
        for name, least in LEAST.items():
            trace = common.trace(name)
            decoded, different = compare(trace, text, others.values())
            report.true(f"{name}: events by MOF text", decoded >= least, decoded)
            for what, found in zip(others, different):
                print(f"{name}: {decoded} events by MOF text, {len(found)} differ by {what}")
                report.true(f"{name}: the same by {what}", not found, found[:SHOWN])
    report.finish()


if __name__ == "__main__":
    main()
