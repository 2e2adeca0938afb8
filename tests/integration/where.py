"""`dump --where EXPR` gives exactly the lines that a reader of the whole dump would have picked.

Expressions are made from what the traces hold: a value somewhere in some event, and tests that ask
for it. What they should give is worked out here, from the JSON alone. Traces of etlgen, and the
real ones of ETWSHIP_SHARED where they are.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
PATH_CHECK = os.environ["ETWSHIP_PATH_CHECK"]
SHARED = Path(os.environ.get("ETWSHIP_SHARED", "")) / "data" / "etl"
TIMEOUT_S = 300
# Bigger traces are asked less.
SMALL_BYTES, MANY, FEW = 2_000_000, 10, 3


def etwship(*arguments, code=0):
    done = subprocess.run([BINARY, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    if done.returncode not in ((0, 3) if code == 0 else (code,)):
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()}")
    return done


def lines_of(done):
    # Not splitlines: values may hold other line ends.
    return done.stdout.decode("utf-8").split("\n")[:-1]


# ---- what an expression should give ----------------------------------------------------------


def fold(text):
    """Simple case folding: one character for one character."""
    return "".join(c.casefold() if len(c.casefold()) == 1 else
                   c.lower() if len(c.lower()) == 1 else c for c in text)


def values(node, path):
    """Every value at a path, which is a list of names and of None for `any element`."""
    if not path:
        return [node]
    if path[0] is None:
        return [v for item in node for v in values(item, path[1:])] if isinstance(node, list) else []
    if isinstance(node, dict) and path[0] in node:
        return values(node[path[0]], path[1:])
    return []


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Test:
    """An expression, and a function that says whether an event fulfils it."""

    def __init__(self, text, holds):
        self.text = text
        self.holds = holds


def text_of(path):
    out = ""
    for name in path:
        if name is None:
            out += "[*]"
        elif re.fullmatch(r"@?[A-Za-z0-9_]+", name):
            out += ("." if out else "") + name
        else:
            quote = "'" if "'" not in name else '"'
            out += f"[{quote}{name}{quote}]"
    return out


def quoted(text, rng):
    quote = rng.choice("'\"")
    return quote + text.replace(quote, quote * 2) + quote


def is_guid(text):
    return re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text)


def any_value(path, check):
    return lambda event: any(check(v) for v in values(event, path))


def text_tests(path, value, rng):
    name = text_of(path)
    strings = lambda check: any_value(path, lambda v: isinstance(v, str) and check(v))
    folded = fold(value)
    start = rng.randrange(len(value) + 1)
    part = value[start:start + rng.randrange(1, 9)]
    shouted = value.upper() if fold(value.upper()) == folded else value
    yield Test(f"{name} == {quoted(value, rng)}", strings(lambda v: fold(v) == folded))
    yield Test(f"{name} != {quoted(value, rng)}",
               any_value(path, lambda v: not isinstance(v, str) or fold(v) != folded))
    yield Test(f"{name} in ('2000', {quoted(shouted, rng)})" if not is_guid(value) else
               f"{name} in ({quoted(shouted, rng)})", strings(lambda v: fold(v) in (folded, "2000")))
    yield Test(f"{name} == {quoted(value, rng)}c", strings(lambda v: v == value))
    yield Test(f"{name} contains {quoted(part, rng)}", strings(lambda v: fold(part) in fold(v)))
    yield Test(f"{name} contains {quoted(part, rng)}c", strings(lambda v: part in v))
    yield Test(f"{name} startswith ({quoted(value[:start], rng)}, 'zzz')",
               strings(lambda v: fold(v).startswith((fold(value[:start]), "zzz"))))
    yield Test(f"{name} endswith {quoted(value[start:], rng)}",
               strings(lambda v: fold(v).endswith(fold(value[start:]))))
    if not set("*?") & set(part):
        yield Test(f"{name} like {quoted('*' + part + '*', rng)}",
                   strings(lambda v: fold(part) in fold(v)))
    if part.isascii() and part.isprintable():
        pattern = re.escape(part)
        yield Test(f"{name} matches {quoted(pattern, rng)}",
                   strings(lambda v: fold(part) in fold(v)))


def number_tests(path, value, rng):
    name = text_of(path)
    numbers = lambda check: any_value(path, lambda v: is_number(v) and check(v))
    other = value + rng.choice((-1, 1)) if isinstance(value, int) and value > 0 else value
    yield Test(f"{name} == {value}", numbers(lambda v: v == value))
    yield Test(f"{name} != {value}", any_value(path, lambda v: not is_number(v) or v != value))
    yield Test(f"{name} < {value}", numbers(lambda v: v < value))
    yield Test(f"{name} >= {other}", numbers(lambda v: v >= other))
    yield Test(f"{name} in (77, {other}-{value})" if other <= value else
               f"{name} in (77, {value}-{other})",
               numbers(lambda v: v == 77 or min(value, other) <= v <= max(value, other)))
    if isinstance(value, int) and value > 0:
        yield Test(f"{name} == 0x{value:x}", numbers(lambda v: v == value))
        if path[-1] is not None:
            yield Test(f"{name} has {value}", lambda event: any(
                isinstance(v, int) and v & value == value for v in values(event, path)) and not any(
                    isinstance(v, list) for v in values(event, path)))


def tests_of(path, value, rng):
    yield Test(f"exists({text_of(path)})", lambda event: bool(values(event, path)))
    yield Test(f"not exists({text_of(path)})", lambda event: not values(event, path))
    if isinstance(value, bool):
        yield Test(f"{text_of(path)} == {str(value).lower()}",
                   any_value(path, lambda v: v is value))
    elif isinstance(value, str):
        yield from text_tests(path, value, rng)
    elif is_number(value):
        yield from number_tests(path, value, rng)
    if path[-1] is None and isinstance(value, str):
        yield Test(f"{text_of(path[:-1])} has {quoted(value, rng)}", any_value(
            path, lambda v: isinstance(v, str) and fold(v) == fold(value)))


def leaves(node, path=()):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, path + (key,))
    elif isinstance(node, list):
        for item in node:
            yield from leaves(item, path + (None,))
    elif node is not None:
        yield list(path), node


def can_be_said(path):
    return all(name is None or (name and not ("'" in name and '"' in name)) for name in path)


def is_comparable(path, value):
    # The types of header fields are known: what they cannot be, is an error.
    return not (isinstance(value, str) and len(value) > 2000)


def random_test(events, rng):
    """One test, or two joined, about a value of some event."""
    while True:
        path, value = rng.choice(list(leaves(rng.choice(events))))
        if can_be_said(path) and is_comparable(path, value):
            break
    one = rng.choice(list(tests_of(path, value, rng)))
    kind = rng.randrange(5)
    if kind == 0:
        return Test(f"not ({one.text})", lambda event: not one.holds(event))
    if kind < 3:
        two = random_test(events, rng)
        if kind == 1:
            return Test(f"({one.text}) and ({two.text})",
                        lambda event: one.holds(event) and two.holds(event))
        return Test(f"({one.text}) or ({two.text})",
                    lambda event: one.holds(event) or two.holds(event))
    return one


# ---- tests ------------------------------------------------------------------------------------


class Where(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.folder.name) / "mix.etl"
        subprocess.run([ETLGEN, "--mix", "all", "--events", "2000", "-o", str(cls.trace)],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_trace(self, trace, count):
        rng = random.Random(trace.name)
        lines = lines_of(etwship("dump", trace))
        events = [json.loads(line) for line in lines]
        shown = [event for event in events if "gap" not in event]
        if not shown:
            return
        for _ in range(count):
            test = random_test(shown, rng)
            # What was lost is told in any case.
            expected = [line for line, event in zip(lines, events)
                        if "gap" in event or test.holds(event)]
            got = lines_of(etwship("dump", "--where", test.text, trace))
            self.assertEqual(len(got), len(expected), f"{trace.name}: {test.text}")
            self.assertEqual(got, expected, f"{trace.name}: {test.text}")

    def test_a_generated_trace_gives_what_a_reader_of_it_would_pick(self):
        self.check_trace(self.trace, 120)

    def test_real_traces_give_what_a_reader_of_them_would_pick(self):
        traces = sorted(SHARED.glob("*.etl"))
        if not traces:
            self.skipTest("no traces in ETWSHIP_SHARED")
        for trace in traces:
            with self.subTest(trace=trace.name):
                self.check_trace(trace, MANY if trace.stat().st_size < SMALL_BYTES else FEW)

    def test_every_value_by_its_path_is_the_value_in_the_json(self):
        traces = [self.trace, *sorted(SHARED.glob("*.etl"))]
        done = subprocess.run([PATH_CHECK, *map(str, traces)], stdout=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode("utf-8", "replace")[:2000])

    def test_a_mistake_is_shown_with_its_place_and_is_a_usage_error(self):
        for text, place, words in [
                ("provder.name == 'x'", "1:1", "did you mean provider.name?"),
                ("event.level < error", "1:15", "less severe"),
                ("true and\n  data.A =", "2:10", "write =="),
                ("data.A matches 'a('", "1:19", "missing closing parenthesis"),
                ("", "1:1", "expected")]:
            done = etwship("dump", "--where", text, self.trace, code=2)
            self.assertEqual(done.stdout, b"")
            message, *shown = done.stderr.decode().splitlines()
            self.assertTrue(message.startswith(f"etwship: --where:{place}: error: "), message)
            self.assertIn(words, message)
            line, column = map(int, place.split(":"))
            self.assertEqual(shown[0], "  " + (text.split("\n") + [""])[line - 1])
            self.assertEqual(shown[1], "  " + " " * (column - 1) + "^")

    def test_a_misspelt_field_of_the_payload_is_told_where_nothing_passes(self):
        name = "Etwship-Sample-Dns"
        event = json.loads(lines_of(etwship("dump", "-n", 1, "-p", name, self.trace))[0])
        field = max(event["data"], key=len)
        wrong = field[:-2] + field[-1] + field[-2] if field[-1] != field[-2] else field + "x"
        done = etwship("dump", "--where", f"data.{wrong} == 'x'", self.trace)
        self.assertEqual(done.stdout, b"")
        self.assertIn(f"did you mean data.{field}?", done.stderr.decode())
        # Events that describe themselves are known once they were met.
        for known in (field, "Secure"):
            done = etwship("dump", "--where", f"data.{known} == 'not there'", self.trace)
            self.assertIn(b"nothing matched", done.stderr)
            self.assertNotIn(b"did you mean", done.stderr)

    def test_members_that_only_formats_of_messages_tell_are_names(self):
        for test in ("wpp.function == 'main'", "wpp.line > 0", "wpp.args has 'i'",
                     "exists(wpp.module)", "exists(gap.output)"):
            self.assertEqual(etwship("dump", "--where", test, self.trace).stdout, b"", test)

    def test_a_limit_counts_the_events_that_pass(self):
        passing = lines_of(etwship("dump", "--where", "event.opcode == 1", self.trace))
        self.assertGreater(len(passing), 10)
        self.assertEqual(
            lines_of(etwship("dump", "-n", "7", "--where", "event.opcode == 1", self.trace)),
            passing[:7])

    def test_both_a_provider_and_an_expression_must_let_an_event_pass(self):
        name = "Etwship-Sample-Dns"
        by_name = lines_of(etwship("dump", "-p", name, self.trace))
        both = lines_of(etwship("dump", "-p", name, "--where", "event.code == 3008", self.trace))
        self.assertTrue(both)
        self.assertEqual(both, [line for line in by_name
                                if json.loads(line)["event"].get("code") == 3008])

    def test_strict_minds_only_the_events_that_pass(self):
        undecoded = [json.loads(line) for line in lines_of(etwship("dump", self.trace))
                     if '"payload":' in line]
        if not undecoded:
            self.skipTest("everything decodes")
        etwship("dump", "--strict", "--where", "exists(payload)", self.trace, code=3)
        done = subprocess.run([BINARY, "dump", "--strict", "--where", "not exists(payload)",
                               self.trace], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_shape_is_filtered_by_the_native_fields(self):
        native = lines_of(etwship("dump", "--where", "process.pid == 4", self.trace))
        ecs = lines_of(etwship("dump", "-f", "ecs", "--where", "process.pid == 4", self.trace))
        self.assertEqual(len(native), len(ecs))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
