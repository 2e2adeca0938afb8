"""Events of providers whose layouts are part of the program, without any file that describes them.

Payloads are made field by field, as Windows' own manifests have them; what is expected is worked out by
hand. Known as well: names of providers whose events nothing describes.
"""

import json
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import ecs_map_events as made

BUILTIN = "Microsoft-Windows-Kernel-Network"
WLAN = ("Microsoft-Windows-WLAN-AutoConfig", "9580d7dd-0379-4658-9870-d5be7d52d6de")
NOBODY = ("?", "00000000-1111-2222-3333-444444444444")

# (provider, id, version, [(field, type, value)], data as it is shown)
EVENTS = [
    (made.KERNEL_NETWORK, 10, 0, [
        ("PID", "u32", 4306), ("size", "u32", 517), ("daddr", "ip4", "198.51.100.7"),
        ("saddr", "ip4", "192.0.2.9"), ("dport", "port", 443), ("sport", "port", 50123),
        ("startime", "u32", 1), ("endtime", "u32", 2), ("seqnum", "u32", 3), ("connid", "u32", 4)],
     {"PID": 4306, "size": 517, "daddr": "198.51.100.7", "saddr": "192.0.2.9", "dport": 443,
      "sport": 50123, "startime": 1, "endtime": 2, "seqnum": 3, "connid": 4}),
    (made.KERNEL_NETWORK, 27, 0, [
        ("PID", "u32", 4), ("size", "u32", 9), ("daddr", "ip6", "2001:db8::1"),
        ("saddr", "ip6", "2001:db8::2"), ("dport", "port", 53), ("sport", "port", 1),
        ("seqnum", "u32", 5), ("connid", "u32", 6)],
     {"PID": 4, "size": 9, "daddr": "2001:db8::1", "saddr": "2001:db8::2", "dport": 53, "sport": 1,
      "seqnum": 5, "connid": 6}),
    (made.KERNEL_PROCESS, 6, 0, [
        ("ImageBase", "pointer", 0x7ff700000000), ("ImageSize", "pointer", 0x1000),
        ("ProcessID", "u32", 77), ("ImageCheckSum", "u32", 8), ("TimeDateStamp", "u32", 9),
        ("DefaultBase", "pointer", 0), ("ImageName", "text", "\\Device\\a.dll")],
     {"ImageBase": "0x7ff700000000", "ImageSize": "0x1000", "ProcessID": 77, "ImageCheckSum": 8,
      "TimeDateStamp": 9, "DefaultBase": "0x0", "ImageName": "\\Device\\a.dll"}),
    (made.DNS, 1013, 0, [
        ("QueryName", "text", "a.example"), ("AddressLength", "u32", 16),
        ("Address", "sock4", ("192.0.2.53", 53))],
     {"QueryName": "a.example", "AddressLength": 16,
      "Address": {"address": "192.0.2.53", "port": 53, "family": 2}}),
    (made.POWERSHELL, 4104, 1, [
        ("MessageNumber", "i32", 1), ("MessageTotal", "i32", 2), ("ScriptBlockText", "text", "1+1"),
        ("ScriptBlockId", "text", "id"), ("Path", "text", "")],
     {"MessageNumber": 1, "MessageTotal": 2, "ScriptBlockText": "1+1", "ScriptBlockId": "id",
      "Path": ""}),
    # Of a version to come, and of providers without a layout: the bytes.
    (made.KERNEL_NETWORK, 10, 9, [("PID", "u32", 4306)], None),
    (WLAN, 8001, 0, [("A", "u32", 1)], None),
    (NOBODY, 1, 0, [("A", "u32", 1)], None),
]


class Builtin(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.memory = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.memory.name)
        cls.trace = cls.folder / "events.etl"
        records = cls.folder / "records.bin"
        raw = [made.record(*event[:4]) for event in EVENTS]
        records.write_bytes(b"".join(struct.pack("<I", len(r)) + r for r in raw))
        subprocess.run([made.ETLGEN, "--clock", "system", "--cpus", "1", "--records", str(records),
                        "-o", str(cls.trace)],
                       check=True, timeout=made.TIMEOUT_S, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.memory.cleanup()

    def etwship(self, *arguments):
        done = subprocess.run([made.BINARY, *map(str, arguments)], check=True,
                              timeout=made.TIMEOUT_S, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        return done.stdout

    def dump(self, *arguments):
        return [json.loads(line) for line in
                self.etwship("dump", *arguments, self.trace).splitlines()]

    def test_events_are_decoded_without_a_file(self):
        found = self.dump()
        self.assertEqual(len(found), len(EVENTS))
        for event, (provider, number, version, _, data) in zip(found, EVENTS):
            with self.subTest(provider=provider[0], event=number, version=version):
                self.assertEqual(event.get("data"), data)
                self.assertEqual("payload" in event, data is None)
                self.assertNotIn("payload_rest", event)
                self.assertEqual(event["provider"]["kind"], "manifest" if data else "unknown")

    def test_known_providers_have_their_name(self):
        for event, (provider, *_) in zip(self.dump(), EVENTS):
            with self.subTest(provider=provider[0]):
                name = None if provider is NOBODY else provider[0]
                self.assertEqual(event["provider"].get("name"), name)
        self.assertEqual(len(self.dump("-p", WLAN[0].upper())), 1)
        self.assertEqual(len(self.dump("--where", f"provider.name == '{WLAN[0]}'")), 1)

    def test_stat_tells_the_source(self):
        told = json.loads(self.etwship("stat", "--json", self.trace))
        decoded = sum(data is not None for *_, data in EVENTS)
        self.assertEqual(told["decode"]["by_source"], {"builtin": decoded})
        self.assertEqual({t["source"] for t in told["types"]}, {"builtin", "none"})

    def test_it_can_be_left_out(self):
        for event, (provider, *_) in zip(self.dump("--no-builtin"), EVENTS):
            self.assertNotIn("data", event)
            self.assertEqual(event["provider"].get("name"),
                             None if provider is NOBODY else provider[0])
        self.assertEqual(self.dump("--schema-source", "builtin"), self.dump())
        for command in ("dump", "stat", "providers"):
            done = subprocess.run(
                [made.BINARY, command, "--schema-source", "builtin", "--no-builtin", str(self.trace)],
                capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn("--no-builtin", done.stderr)

    def test_a_definition_of_the_user_goes_first_where_it_fits(self):
        pack = self.folder / "own.pack"
        fields = "".join(f'  field "F{i}" UInt32\n' for i in range(9))
        pack.write_text(f'etwship-pack 1\nprovider {made.KERNEL_NETWORK[1]} "Own-Name"\n'
                        f'event manifest 10 0\n{fields}')
        own, other, *_ = self.dump("--schema", pack)
        self.assertEqual(own["provider"]["name"], "Own-Name")
        self.assertEqual(list(own["data"]), [f"F{i}" for i in range(9)])
        self.assertEqual(other["provider"]["name"], BUILTIN)
        pack.write_text(pack.read_text().replace('"F8" UInt32', '"F8" UInt64'))
        wrong, *_ = self.dump("--schema", pack)
        self.assertEqual(wrong["data"], EVENTS[0][4])

    def test_the_agent_has_it_too(self):
        for layouts, decoded in ((True, 5), (False, 0)):
            with self.subTest(layouts=layouts):
                output = self.folder / f"out-{layouts}.json"
                config = self.folder / "run.yaml"
                config.write_text(json.dumps({
                    "agent": {"builtin_layouts": layouts},
                    "spool": {"mode": "memory"},
                    "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
                    "outputs": [{"name": "o", "type": "file", "path": str(output)}]}))
                self.etwship("run", "-c", config)
                found = [json.loads(line) for line in output.read_text().splitlines()]
                self.assertEqual(len(found), len(EVENTS))
                self.assertEqual(sum("data" in event for event in found), decoded)
                self.assertEqual(found[-2]["provider"]["name"], WLAN[0])

    def test_what_is_built_in_is_not_exported(self):
        pack = self.folder / "exported.pack"
        self.etwship("schema", "export", "-o", pack, self.trace)
        self.assertNotIn("event ", pack.read_text())

    def test_providers_are_listed_and_found(self):
        listed = [json.loads(line) for line in self.etwship("providers", "--json").splitlines()]
        names = [row.get("name", "") for row in listed]
        self.assertEqual(names, sorted(names))
        by_name = {row.get("name"): row for row in listed}
        self.assertEqual(by_name[BUILTIN]["kind"], "manifest")
        self.assertGreater(by_name[BUILTIN]["event_count"], 20)
        self.assertEqual((by_name[WLAN[0]]["guid"], by_name[WLAN[0]]["event_count"]), (WLAN[1], 0))
        shown = json.loads(self.etwship("providers", WLAN[1], "--json"))
        self.assertEqual((shown["name"], shown["events"]), (WLAN[0], []))
        # A further name of a GUID finds the same provider.
        alias = json.loads(self.etwship("providers", "Microsoft-ETW-ESE", "--json"))
        self.assertEqual(alias["name"], "Microsoft-Windows-ESE")


if __name__ == "__main__":
    unittest.main()
