"""Times on the command line and for people: --start, --end, --utc-offset; --pretty and --uint64.

What should be selected is worked out from the JSON of the whole trace; zones are those of Python's
tz database.
"""

import gzip
import json
import re
import struct
import unittest
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cli_rig import DAMAGED, DONE, FAILED, USAGE, Cli

STAMP = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{7})(Z|[+-]\d\d:\d\d)", re.MULTILINE)
# Of the first record of a trace of 64 bits: WMI_BUFFER_HEADER, SYSTEM_TRACE_HEADER, and of
# TRACE_LOGFILE_HEADER what stands before TimeZone.
TIME_ZONE_AT = 72 + 32 + 72


def ticks(text):
    """100 ns since 1970 of a time with seven digits and a zone."""
    match = STAMP.match(text)
    moment = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
    return int(moment.timestamp()) * 10**7 + int(match[2])


def leaves(value, path=""):
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from leaves(member, f"{path}.{name}" if path else name)
    else:
        yield path, value


def zone_information(bias, standard, daylight):
    """TIME_ZONE_INFORMATION; the changes as month, day of week, day, hour."""
    def change(month, weekday, day, hour):
        return struct.pack("<8H", 0, month, weekday, day, hour, 0, 0, 0)
    return (struct.pack("<i", bias) + bytes(64) + change(*standard) + struct.pack("<i", 0) +
            bytes(64) + change(*daylight) + struct.pack("<i", -60))


class Times(Cli):
    def stamps(self, *arguments, **variables):
        done = self.expect(DONE, "dump", *arguments, **variables)
        return [ticks(e["@timestamp"]) for e in done.events()]

    def shown(self, *arguments, **variables):
        text = self.expect(DONE, "dump", "--pretty", *arguments, **variables).out
        return [match[0] for match in STAMP.finditer(text)]

    def test_the_end_of_a_time_may_be_left_out(self):
        everything = self.stamps(self.trace)
        day = datetime.fromtimestamp(everything[0] // 10**7, timezone.utc)
        for start, count in ((f"{day:%Y}", len(everything)), (f"{day:%Y-%m}", len(everything)),
                             (f"{day:%Y-%m-%d}", len(everything)),
                             (f"{day:%Y-%m-%dT%H:%M}", len(everything)),
                             (f"{day:%Y-%m-%dT%H:%M}Z", len(everything)),
                             (f"{day + timedelta(days=1):%Y-%m-%d}", 0)):
            with self.subTest(start=start):
                self.assertEqual(len(self.stamps("--start", start, self.trace)), count)
                self.assertEqual(len(self.stamps("--end", start, self.trace)),
                                 len(everything) - count)

    def test_a_time_without_a_zone_is_in_that_of_utc_offset(self):
        everything = self.stamps(self.trace)
        middle = everything[len(everything) // 2]
        moment = datetime.fromtimestamp(middle // 10**7, timezone.utc)
        for hours in (-5, 2):
            text = f"{moment + timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}.{middle % 10**7:07}"
            self.assertEqual(self.stamps("--start", text, "--utc-offset", f"{hours:+03}:00",
                                         self.trace), [t for t in everything if t >= middle])
            self.assertEqual(self.stamps("--start", f"{text}{hours:+03}:00", self.trace),
                             [t for t in everything if t >= middle])

    def test_a_duration_counts_back_from_the_end_of_the_traces(self):
        def end_of(trace):
            return ticks(json.loads(self.expect(DONE, "stat", "--json", trace).out)
                         ["header"]["end_time"])
        for traces in ((self.trace,), (self.trace, self.other), (self.other, self.trace)):
            everything = self.stamps(*traces)
            limit = max(map(end_of, traces)) - 5 * 10**4
            with self.subTest(traces=len(traces)):
                after = [t for t in everything if t >= limit]
                self.assertTrue(0 < len(after) < len(everything))
                self.assertEqual(self.stamps("--start", "-5ms", *traces), after)
                self.assertEqual(self.stamps("--end", "-5ms", *traces),
                                 [t for t in everything if t < limit])
                self.assertEqual(self.stamps("--start", "-1h", *traces), everything)

    def test_a_trace_that_was_never_closed_ends_with_its_last_record(self):
        trace = self.make_trace("unclosed.etl", 500, "--unclosed")
        every_record = self.stamps("--metadata", "--stack-walk", "events", trace)
        limit = max(every_record) - 5 * 10**4
        want = [t for t in self.stamps(trace) if t >= limit]
        self.assertTrue(want)
        self.assertEqual(self.stamps("--start", "-5ms", trace), want)

    def test_times_that_are_none_are_refused_with_a_way_out(self):
        for arguments, word in ((("--start", "yesterday"), "-1h"), (("--end", "2026-13"), "'2026-13'"),
                                (("--start", "-1"), "'-1'"), (("--start", "-"), "'-' is not a duration"),
                                (("--utc-offset", "berlin", "--pretty"), "local"),
                                (("--utc-offset", "+2:00", "--pretty"), "+02:00"),
                                (("--utc-offset", "+01:00"), "--pretty"),
                                (("--start", "2026-12", "--end", "2026-11"), "end")):
            with self.subTest(arguments=arguments):
                self.assert_error(self.expect(USAGE, "dump", *arguments, self.trace), word)
        missing = self.folder / "missing.etl"
        self.assert_error(self.expect(USAGE, "dump", "--start", "-1h", missing), "missing.etl")
        self.assert_error(self.expect(FAILED, "dump", "--start", "2026", missing), "missing.etl")
        self.assert_error(self.expect(USAGE, "dump", "--start", "-1h", "-"), "standard input")

    def test_packed_traces_and_standard_input_tell_their_end_and_their_zone(self):
        data = self.trace.read_bytes()
        packed = self.folder / "one.etl.gz"
        packed.write_bytes(gzip.compress(data))
        for arguments in (("--start", "-5ms"), ("--end", "-5ms"),
                          ("--utc-offset", "trace", "--start", "2026-01-01")):
            want = self.stamps(*arguments, self.trace)
            self.assertTrue(want)
            for name, given in ((packed, b""), ("-", data), ("-", packed.read_bytes())):
                with self.subTest(arguments=arguments, name=name):
                    self.assertEqual(self.stamps(*arguments, name, given=given), want)

    def test_asking_standard_input_for_its_end_hides_no_damage(self):
        packed = gzip.compress(self.trace.read_bytes())[:-2000]
        whole = self.expect(DAMAGED, "dump", "-", given=packed)
        asked = self.expect(DAMAGED, "dump", "--start", "-9999d", "-", given=packed)
        self.assertIn("truncated", whole.err)
        self.assertEqual((asked.out, asked.err), (whole.out, whole.err))

    def test_pretty_times_are_the_same_moments_in_another_zone(self):
        everything = self.stamps("-n", 50, self.trace)
        for offset in ("+00:00", "+02:00", "-03:30", "+05:45"):
            shown = self.shown("-n", 50, "--utc-offset", offset, self.trace)
            self.assertEqual([ticks(t) for t in shown], everything)
            end = "Z" if offset == "+00:00" else offset
            self.assertTrue(all(t.endswith(end) for t in shown), shown[0])
            # What is shown can be given back.
            self.assertEqual(self.stamps("-n", 1, "--start", shown[-1], self.trace),
                             everything[-1:])

    def test_local_is_the_time_of_this_machine(self):
        for name in ("America/New_York", "Asia/Kolkata", "UTC"):
            try:
                zone = ZoneInfo(name)
            except ZoneInfoNotFoundError:
                self.skipTest("no tz database")
            everything = self.stamps("-n", 5, self.trace)
            want = [datetime.fromtimestamp(t // 10**7, zone).isoformat() for t in everything]
            shown = self.shown("-n", 5, "--utc-offset", "local", self.trace, TZ=name)
            self.assertEqual([re.sub(r"\.\d{7}", "", t).replace("Z", "+00:00") for t in shown], want)

    def test_trace_is_the_time_of_the_machine_that_recorded(self):
        trace = self.folder / "sydney.etl"
        data = bytearray(self.trace.read_bytes())
        # Sydney: summer time from the first Sunday of October to that of April.
        zone = zone_information(-600, (4, 0, 1, 3), (10, 0, 1, 2))
        data[TIME_ZONE_AT:TIME_ZONE_AT + len(zone)] = zone
        trace.write_bytes(data)
        counts = json.loads(self.expect(DONE, "stat", "--json", trace).out)
        self.assertEqual(counts["header"]["tz_bias_min"], -600)
        shown = self.shown("-n", 5, "--utc-offset", "trace", trace)
        self.assertEqual([ticks(t) for t in shown], self.stamps("-n", 5, trace))
        self.assertTrue(all(t.endswith("+11:00") for t in shown), shown[0])
        self.assertEqual(self.stamps("--start", shown[3][:-6], "--utc-offset", "trace", trace),
                         self.stamps("--start", shown[3], trace))

    def test_json_stays_in_utc(self):
        plain = self.expect(DONE, "dump", self.trace).out
        self.assertEqual(self.expect(DONE, "dump", "--start", "2000", "--utc-offset", "+05:00",
                                     self.trace).out, plain)

    def test_pretty_with_ecs_shows_the_fields_of_ecs(self):
        for fields in ((), ("--fields", "event.action,winlog.event_data")):
            events = self.expect(DONE, "dump", "-f", "ecs", "-n", 30, *fields, self.trace).events()
            text = self.expect(DONE, "dump", "-f", "ecs", "--pretty", "-n", 30, *fields,
                               self.trace).out
            blocks = re.split(r"(?m)^(?=\d{4}-)", text)[1:]
            self.assertEqual(len(blocks), len(events))
            for block, event in zip(blocks, events):
                paths = [line.split("  ")[2] for line in block.splitlines()[1:]]
                self.assertEqual(paths, [path for path, _ in leaves(event)])

    def test_pretty_shows_every_frame_of_a_stack(self):
        trace = self.make_trace("stacks.etl", 2000)
        events = self.expect(DONE, "dump", trace).events()
        want = [e["extended"]["stack"] for e in events if e.get("extended", {}).get("stack")]
        self.assertTrue(want)
        text = self.expect(DONE, "dump", "--pretty", trace).out
        shown = re.findall(r"^    stack  (\d+) frames?\n((?: {8}0x[0-9a-f]+\n)+)", text, re.MULTILINE)
        self.assertEqual([frames.split() for _, frames in shown], want)
        self.assertEqual([int(count) for count, _ in shown], [len(stack) for stack in want])

    def test_uint64_chooses_how_json_has_large_numbers(self):
        def dumped(*options):
            return [dict(leaves(e["data"])) for e in
                    self.expect(DONE, "dump", *options, self.trace).events() if "data" in e]
        plain, numbers = dumped(), dumped("--uint64", "number")
        strings = dumped("--uint64", "string")
        self.assertEqual(plain, numbers)
        changed = 0
        for number, string in zip(numbers, strings):
            self.assertEqual(number.keys(), string.keys())
            for path in number:
                if number[path] != string[path]:
                    self.assertIsInstance(number[path], int)
                    self.assertEqual(str(number[path]), string[path])
                    changed += 1
        self.assertGreater(changed, 0)
        self.assert_error(self.expect(USAGE, "dump", "--uint64", "hex", self.trace), "--uint64")


if __name__ == "__main__":
    unittest.main()
