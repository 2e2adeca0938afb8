"""The share of events that come out decoded, per trace, with every manifest at hand.

Events that neither the trace nor a manifest nor the kernel tables describe is listed here with
its number. Everything else must be decoded.
"""

from collections import Counter

import common

EVENTLOG_DIAGNOSTICS = "36c23e18-0e66-11d9-bbeb-505054503030"
BUILD = "d44a2098-821f-5808-4cea-1e24e982ca37"
SYSTEM_CONFIG = "01853a65-418f-4f36-aefc-dc0f1d2fd235"
SYSTEM_CONFIG_EX = "9b79ee91-b5fd-41c0-a243-4248e266e9d0"
WINSAT = "ed54dff8-c409-4cf6-bf83-05e1e61a09c4"

# (provider or class, id or opcode, version) -> how many the trace holds.
UNDESCRIBED = {
    "pywintrace-eventlog.etl": dict.fromkeys(
        [(EVENTLOG_DIAGNOSTICS, code, 0) for code in (8001, 8002, 8003, 8004, 8009, 8010)], 1),
    "msbuild-PerfViewData.etl": {(BUILD, 53, 0): 1, (BUILD, 54, 0): 1},
    "perfview-net.4.5.2.x86.etl": {(SYSTEM_CONFIG, 22, 4): 78},
    "perfview-net.4.5.x86-2016.etl": {(SYSTEM_CONFIG, 22, 3): 117, (SYSTEM_CONFIG, 10, 2): 1},
}
# In any trace: layouts without a public description.
UNDESCRIBED_ANYWHERE = {
    (SYSTEM_CONFIG_EX, 36), (SYSTEM_CONFIG_EX, 37), (WINSAT, 33), (WINSAT, 35), (WINSAT, 37)}


def key_of(event):
    code = event["event"].get("code", event["event"].get("opcode"))
    return common.class_of(event), code, event["event"].get("version")


def row(name, count, decoded, partial, rest):
    share = f"{100 * decoded / count:6.2f} %" if count else "      - "
    print(f"{name:42} {count:8} {decoded:8} {partial:8} {rest:8} {share}")


def main():
    report = common.Report()
    common.shared()
    totals = [0, 0, 0, 0]
    print(f"{'trace':42} {'events':>8} {'decoded':>8} {'partial':>8} {'raw':>8}    share")
    for path in common.traces():
        counts, partial, raw = Counter(), Counter(), Counter()
        for event in common.dump("--schema", common.manifests(), path):
            if common.is_of_agent(event):
                continue
            key = key_of(event)
            counts[key] += 1
            if not common.is_decoded(event):
                raw[key] += 1
            elif "decode_error" in event:
                partial[key] += 1
        numbers = [sum(counts.values()), 0, sum(partial.values()), sum(raw.values())]
        numbers[1] = numbers[0] - numbers[2] - numbers[3]
        totals = [a + b for a, b in zip(totals, numbers)]
        row(path.name, *numbers)
        floor = UNDESCRIBED.get(path.name, {})
        for key, count in (raw + partial).items():
            if key[:2] not in UNDESCRIBED_ANYWHERE:
                report.true(f"{path.name}: {key} undecoded", count <= floor.get(key, 0),
                            f"{count} of {counts[key]}, at most {floor.get(key, 0)} allowed")
        report.true(f"{path.name}: events", numbers[0] > 0, "none")
    row("all", *totals)
    report.finish()


if __name__ == "__main__":
    main()
