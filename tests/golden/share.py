"""The share of events that come out decoded, per trace, with every manifest at hand.

What neither the trace nor a manifest nor the kernel tables describe is listed here. Everything else must be
decoded.
"""

from collections import Counter

import common

# Compressed XML, whose layout nothing public describes: class and opcode.
WINSAT = "ed54dff8-c409-4cf6-bf83-05e1e61a09c4"
UNDESCRIBED = {(WINSAT, 33), (WINSAT, 35), (WINSAT, 37)}


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
        for key, count in (raw + partial).items():
            report.true(f"{path.name}: {key} undecoded", key[:2] in UNDESCRIBED, f"{count} of {counts[key]}")
        report.true(f"{path.name}: events", numbers[0] > 0, "none")
    row("all", *totals)
    report.finish()


if __name__ == "__main__":
    main()
