"""Every line of `dump` on every trace is one strict JSON object in the documented shape."""

import common

KEY_ORDER = [
    "@timestamp", "provider", "event", "process", "etw", "activity_id", "related_activity_id",
    "data", "payload", "payload_rest", "decode_error", "extended", "wpp", "gap", "guard", "message", "host",
    "agent", "labels", "tags"]
REQUIRED = {"@timestamp", "provider", "event", "etw"}
NOT_FINITE = {"NaN", "Infinity", "-Infinity", "+Infinity", "inf", "-inf", "nan"}


def unexplained_null(value, path):
    """Path of the first null that is no NaN or infinity with its name beside it, else None."""
    if isinstance(value, dict):
        for key, item in value.items():
            where = f"{path}.{key}"
            if item is None and value.get(f"{key}_name") not in NOT_FINITE:
                return where
            found = unexplained_null(item, where)
            if found:
                return found
    elif isinstance(value, list):
        for item in value:
            # A list has no room for names: its not finite members are plain nulls.
            found = None if item is None else unexplained_null(item, f"{path}[]")
            if found:
                return found
    return None


def check_line(report, what, line):
    try:
        event = common.parse_strictly(line.decode("utf-8", "strict"))
    except ValueError as error:
        report.true(what, False, f"{error}: {line[:200]!r}")
        return
    keys = list(event)
    report.true(f"{what}: keys", set(keys) <= set(KEY_ORDER) and REQUIRED <= set(keys), f"{keys}")
    report.equal(f"{what}: key order", keys, [key for key in KEY_ORDER if key in event])
    report.equal(f"{what}: null", unexplained_null(event, ""), None)
    report.true(f"{what}: data or payload", not {"data", "payload"} <= set(keys), "both")
    report.true(f"{what}: decode_error", "decode_error" not in event or "payload" in event
                or "payload_rest" in event or "data" in event, f"{keys}")


def main():
    report = common.Report()
    for trace in common.traces():
        output = common.run("dump", trace)
        report.true(f"{trace.name}: ends with a line end", output.endswith(b"\n"), "cut off")
        for index, line in enumerate(output.split(b"\n")[:-1], 1):
            check_line(report, f"{trace.name}:{index}", line)
    report.finish()


if __name__ == "__main__":
    main()
