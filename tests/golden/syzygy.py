"""The six traces of Syzygy's test generator: exact fields of classic image and process events.

Two of them were written by a 32-bit program with payloads in the 64-bit layout, so they also show
that the default pointer size finds the layout that fits the bytes.
"""

import json

import common

# The generator's name -> the names of the MOF classes, which changed with the class version.
MOF_NAMES = {"ImageBase": ["BaseAddress"], "ImageSize": ["ModuleSize"],
             "FileName": ["ImageFileName"], "ImageChecksum": ["ImageCheckSum"]}


def value(event, name):
    data = event.get("data", {})
    for candidate in (name, *MOF_NAMES.get(name, ())):
        if candidate in data:
            return data[candidate]
    return None


def same(got, want):
    if isinstance(want, int):
        return got is not None and common.number(got) & 0xFFFFFFFF_FFFFFFFF == want
    return got == want


def main():
    report = common.Report()
    for path in common.traces():
        if not path.name.startswith("syzygy-"):
            continue
        with open(path.with_suffix(".expected.jsonl"), encoding="utf-8") as file:
            expected = [json.loads(line) for line in file]
        events = common.dump(path)
        report.equal(f"{path.name}: events", len(events), len(expected))
        for index, (got, want) in enumerate(zip(events, expected)):
            what = f"{path.name}: event {index}"
            report.equal(f"{what}: opcode", got["event"]["opcode"], want["opcode"])
            report.equal(f"{what}: version", got["event"]["version"], want["version"])
            report.true(f"{what}: complete",
                        not {"payload", "payload_rest", "decode_error"} & set(got),
                        f"{ {k: got[k] for k in got if k.startswith(('payload', 'decode'))} }")
            for name in want.keys() - {"opcode", "version"}:
                got_value = value(got, name)
                report.true(f"{what}: {name}", same(got_value, want[name]),
                            f"got {got_value!r}, expected {want[name]!r}")
    report.finish()


if __name__ == "__main__":
    main()
