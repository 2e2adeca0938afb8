"""Two decoders, one truth: Microsoft-Build is described twice in its trace.

Once by the XML manifest that the EventSource wrote into the trace, once by the TRACE_EVENT_INFO
that Windows made of it. Both must give the same fields and values for every event both describe.
"""

import common

TRACE = "msbuild-PerfViewData.etl"
PROVIDER = "d44a2098-821f-5808-4cea-1e24e982ca37"
DESCRIBED_AT_LEAST = 5600  # of 5682; the rest has only one of the two descriptions


def events_by_sequence(path, source):
    return {e["etw"]["sequence"]: e for e in common.dump("--schema-source", source, path)
            if e["provider"].get("guid") == PROVIDER}


def main():
    report = common.Report()
    path = common.trace(TRACE)
    manifest = events_by_sequence(path, "eventsource")
    embedded = events_by_sequence(path, "embedded")
    report.equal("events", sorted(manifest), sorted(embedded))
    both = [n for n in manifest if "data" in manifest[n] and "data" in embedded.get(n, {})]
    report.true("events decoded by both", len(both) >= DESCRIBED_AT_LEAST, f"{len(both)}")
    for sequence in both:
        one, other = manifest[sequence], embedded[sequence]
        what = f"event {sequence} (id {one['event']['code']})"
        report.equal(f"{what}: fields", list(one["data"]), list(other["data"]))
        report.equal(f"{what}: data", one["data"], other["data"])
        for key in ("payload_rest", "decode_error"):
            report.equal(f"{what}: {key}", one.get(key), other.get(key))
    report.finish()


if __name__ == "__main__":
    main()
