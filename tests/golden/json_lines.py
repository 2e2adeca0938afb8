"""Every line of `dump` on every trace, in both shapes, with and without definitions of providers,
is one strict JSON object; native ones have the documented members in their order. Without --full, native
ones with definitions and ecs ones without."""

import json
import sys

import common

KEY_ORDER = [
    "@timestamp", "provider", "event", "process", "file", "etw", "activity_id",
    "related_activity_id", "data", "payload", "payload_rest", "decode_error", "extended", "wpp", "gap", "guard", "message", "host",
    "agent", "labels", "tags"]
ALLOWED = set(KEY_ORDER)
REQUIRED = {"@timestamp", "provider", "event", "etw"}
REQUIRED_OF_ECS = {"@timestamp", "ecs", "event", "host", "winlog"}
NOT_FINITE = {"NaN", "Infinity", "-Infinity", "+Infinity", "inf", "-inf", "nan"}


def unexplained_null(value):
    """Path of the first null that is no NaN or infinity with its name beside it, else None."""
    if isinstance(value, dict):
        for key, item in value.items():
            if item is None:
                if value.get(f"{key}_name") not in NOT_FINITE:
                    return f".{key}"
            elif isinstance(item, (dict, list)):
                found = unexplained_null(item)
                if found:
                    return f".{key}{found}"
    elif isinstance(value, list):
        for item in value:
            # A list has no room for names: its not finite members are plain nulls.
            found = unexplained_null(item) if isinstance(item, (dict, list)) else None
            if found:
                return f"[]{found}"
    return None


def parse(line):
    """The object of a line: UTF-8, no repeated key, no raw control character, no half of a surrogate
    pair. Raises ValueError, or UnicodeError, if the line is invalid."""
    if line[-1:] != b"\n":
        raise ValueError("no end of the line")
    event = common.parse_strictly(line[:-1].decode("utf-8", "strict"))
    if b"\\ud" in line.lower():
        json.dumps(event, ensure_ascii=False).encode("utf-8", "strict")
    if not isinstance(event, dict):
        raise ValueError("no object")
    return event


def faults_of_native(event):
    keys = list(event)
    if not REQUIRED <= event.keys() <= ALLOWED:
        yield f"keys: {keys}"
    if keys != [key for key in KEY_ORDER if key in event]:
        yield f"key order: {keys}"
    null = unexplained_null(event)
    if null:
        yield f"null: {null}"
    if "data" in event and "payload" in event:
        yield "data and payload"
    if "decode_error" in event and not event.keys() & {"payload", "payload_rest", "data"}:
        yield f"decode_error: {keys}"


def faults_of_ecs(event):
    missing = REQUIRED_OF_ECS - event.keys()
    if missing:
        yield f"no {missing}"


def the_reader_is_strict(report):
    """Lines that no output may ship."""
    refused = [b'{}', b'[]\n', b'{"a":1}{"a":2}\n', b'{"a":1,"a":2}\n',
               b'{"b":{"a":1,"\\u0061":2}}\n', b'{"a":"\xff"}\n', b'{"a":"\xed\xa0\x80"}\n',
               b'{"a":"\t"}\n', b'{"a":NaN}\n', b'{"a":"\\ud83d"}\n', b'{"\\uDE00":1}\n']
    for line in refused:
        try:
            parse(line)
            report.true(f"{line!r} is refused", False, "it is not")
        except ValueError:
            report.checked += 1


NATIVE, ECS = (faults_of_native, []), (faults_of_ecs, ["-f", "ecs"])


def check(report, trace, runs):
    for faults_of, shape, schema in runs:
        count = 0
        for line in common.stream(*shape, *schema, trace):
            count += 1
            try:
                faults = list(faults_of(parse(line)))
            except ValueError as error:
                faults = [f"{error}: {line[:200]!r}"]
            for fault in faults:
                report.true(f"{trace.name} {' '.join(shape)} {bool(schema)}:{count}", False, fault)
        report.checked += count
        report.true(f"{trace.name}: events", count, "none")


def main():
    report = common.Report()
    the_reader_is_strict(report)
    definitions = ["--schema", common.manifests()] if common.manifests().is_dir() else None
    if not definitions:
        print("without definitions of providers: they are not there")
    runs = [(*NATIVE, definitions or []), (*ECS, [])]
    if definitions and "--full" in sys.argv:
        runs += [(*NATIVE, []), (*ECS, definitions)]
    for trace in common.traces():
        check(report, trace, runs)
    report.finish()


if __name__ == "__main__":
    main()
