"""Traces and definitions that were changed at random, and a judge of all that comes out of the program.

    mutate.py [--runs N | --seconds N] [--seed N] [--keep FOLDER]

Fuzz targets look at one module each and for crashes. Here the whole program reads what was made of good
traces, generated and real ones, and of definitions: as `dump` in each format, `stat` and `run`. Whatever
it reads, its output must be valid UTF-8 of one JSON object a line with no key twice, show no character raw
that would steer a terminal, be of a size that its input explains, and leave no line to anybody else. The
same seed gives the same inputs. What fails is kept, with the command and the reason.

Time is not measured: a limit on processor time ends what hangs, and that is a failure.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
SHARED = os.environ.get("ETWSHIP_SHARED")
DONE = (0, 1, 3)  # done; failed; finished, but something was damaged
CPU_S = 120  # of one process
MOST_BYTES = 1 << 30
SMALL_BYTES = 300 * 1024  # of a real trace that takes part
# docs/reference/events.md, "How long an event may be", and what surrounds the values.
FREE_BYTES, RATIO, AROUND = 16 * 1024, 256, 16 * 1024
MAX_EVENT_BYTES = 8 * 1024 * 1024
LEAST_RECORD_BYTES = 8
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064"
                    "\u2066-\u2069\ufeff]")
EDGES = (0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000,
         0xFFFFFFFF)
HOSTILE = ("\n", "\r\netwship: error: ", "\x1b[2J", "\x7f", "\x9b", "\u202e", "\u2066", "\ufeff",
           "\u2028", "\ud800", "\udc00\ud800", '"', "\\", '","a":"', "\0", "%1" * 40, "%99", "%n",
           "n" * 300, "\x01" * 200, "A_name", "A", "../..", "{", "}", "\U0001f468\u200d")
EXPRESSIONS = ("true", "provider.name matches '(.+)+$'", "not (message matches '^(a|aa)+$')",
               "event.level <= 3", "exists(data.ImageName) or exists(message)", "process.name == 'x'")
RULES = ({"drop": "event.level > 4"}, {"keep": "message matches '(a+)+$'"},
         {"tag": {"tags": ["\u202e\n"]}}, {"set": {"fields": {"labels.a": "{provider.name}{message}"}}},
         {"truncate": {"fields": ["message"], "bytes": 64}},
         {"sample": {"rate": "1/2", "by": "process.pid"}},
         {"rollup": {"by": ["provider.name"], "every": "1s"}})


class Wrong(Exception):
    pass


# ---- inputs -------------------------------------------------------------------------------------------

def generate(folder):
    """Valid traces of all kinds, and definitions that some of them need."""
    for number, options in enumerate((
            ["--mix", "all"], ["--mix", "realistic", "--metadata", "last"], ["--mix", "tracelogging"],
            ["--mix", "eventsource"], ["--mix", "kernel", "--pointer", "4"], ["--mix", "wpp"],
            ["--mix", "manifest", "--metadata", "none"], ["--mix", "all", "--windows-7"],
            ["--mix", "all", "--compress", "lznt1"], ["--mix", "realistic", "--lost", "3"])):
        extra = []
        if "none" in options:
            extra = ["--manifest", folder / "definitions.man"]
        if "wpp" in options:
            extra = ["--tmf", folder / "definitions.tmf"]
        subprocess.run([ETLGEN, *options, *extra, "--events", "60", "--cpus", "2", "--buffer-size",
                        "4096", "--seed", str(number), "-o", folder / f"made{number}.etl"],
                       check=True, stdout=subprocess.DEVNULL)
    real = Path(SHARED, "data", "etl") if SHARED else None
    for path in sorted(real.glob("*.etl")) if real and real.is_dir() else ():
        if path.stat().st_size <= SMALL_BYTES:
            shutil.copy(path, folder)
    return (sorted(folder.glob("*.etl")),
            [path for path in sorted(folder.glob("definitions.*"))])


def change_bytes(rng, data, others):
    """One mutation of a trace."""
    at = rng.randrange(len(data))
    kind = rng.randrange(8)
    if kind == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        size = rng.choice((1, 2, 4))
        data[at:at + size] = struct.pack("<I", rng.choice(EDGES))[:size]
    elif kind == 2:  # a text of the same size, so that what follows stays in place
        text = rng.choice(HOSTILE).encode("utf-16-le" if rng.random() < 0.7 else "utf-8",
                                          "surrogatepass")
        data[at:at + len(text)] = text
    elif kind == 3:
        size = rng.randrange(1, 200)
        start = rng.randrange(len(data))
        data[at:at + size] = data[start:start + size]
    elif kind == 4:
        other = rng.choice(others)
        size = rng.randrange(1, 400)
        start = rng.randrange(len(other))
        data[at:at + size] = other[start:start + size]
    elif kind == 5:
        place = find_text(rng, data)
        text = rng.choice(HOSTILE).encode("utf-16-le", "surrogatepass")
        data[place:place + len(text)] = text
    elif kind == 6:  # numbers near a number that is one of sizes
        place = at & ~1
        (size,) = struct.unpack_from("<H", bytes(data[place:place + 2]) + b"\0\0")
        data[place:place + 2] = struct.pack("<H", (size + rng.choice((-8, -2, -1, 1, 2, 8))) & 0xFFFF)
    else:
        del data[len(data) - rng.randrange(min(len(data), 4096)):]


def find_text(rng, data):
    """A place in bytes that look like UTF-16."""
    for _ in range(64):
        at = rng.randrange(len(data)) & ~1
        piece = bytes(data[at:at + 8])
        if len(piece) == 8 and not any(piece[1::2]) and all(32 <= c < 127 for c in piece[::2]):
            return at
    return 0


def change_text(rng, text):
    """One mutation of definitions; names are the important part."""
    kind = rng.randrange(5)
    names = [match for match in re.finditer(r"[A-Za-z][A-Za-z0-9]{3,}", text)]
    if not names:
        return text
    name = rng.choice(names)
    if kind == 0:
        return text[:name.start()] + rng.choice(HOSTILE) + text[name.start():]
    if kind == 1:
        return text[:name.start()] + name.group() * rng.choice((2, 30, 2000)) + text[name.end():]
    if kind == 2:
        other = rng.choice(names)
        return text[:name.start()] + other.group() + text[name.end():]
    if kind == 3:
        start = rng.randrange(len(text))
        end = min(len(text), start + rng.randrange(200))
        return text[:end] + text[start:end] + text[end:]
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return text
    number = rng.choice(numbers)
    return text[:number.start()] + str(rng.choice(EDGES)) + text[number.end():]


# ---- the judge ----------------------------------------------------------------------------------------

def members(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise Wrong(f"a key twice: {sorted(key for key in keys if keys.count(key) > 1)[0]!r}")
    return dict(pairs)


def no_constant(word):
    raise Wrong(f"{word} is no JSON")


def text_of(what, data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Wrong(f"{what}: no UTF-8: {error}") from None
    found = UNSEEN.search(text)
    if found:
        raise Wrong(f"{what}: {found.group()!r} at {found.start()}")
    if text and not text.endswith("\n"):
        raise Wrong(f"{what}: no end of the last line")
    return text


def objects_of(data):
    events = []
    for line in text_of("output", data).split("\n")[:-1]:
        try:
            event = json.loads(line, object_pairs_hook=members, parse_constant=no_constant)
            json.dumps(event, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            raise Wrong(f"no JSON: {error}: {line[:200]!r}") from None
        if not isinstance(event, dict):
            raise Wrong(f"no object: {line[:200]!r}")
        events.append(event)
    return events


def judge_size(data, input_bytes):
    lines = data.split(b"\n")[:-1]
    if max(map(len, lines), default=0) > MAX_EVENT_BYTES + AROUND:
        raise Wrong(f"an event of {max(map(len, lines))} bytes")
    if len(lines) > input_bytes // LEAST_RECORD_BYTES + 16:
        raise Wrong(f"{len(lines)} events of {input_bytes} bytes")
    most = len(lines) * (FREE_BYTES + AROUND) + RATIO * input_bytes
    if len(data) > most:
        raise Wrong(f"{len(data)} bytes of {len(lines)} events and {input_bytes} bytes")


def judge_errors(data):
    for line in text_of("stderr", data).split("\n")[:-1]:
        known = line.startswith(("etwship: ", "  ", "output ")) or re.match(r"\d+ (events|gaps)", line)
        if not known:
            raise Wrong(f"a line of nobody on stderr: {line[:200]!r}")


# ---- runs ---------------------------------------------------------------------------------------------

def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))


def run(arguments, folder):
    out, err = folder / "stdout", folder / "stderr"
    with out.open("wb") as out_file, err.open("wb") as err_file:
        done = subprocess.run([BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL,
                              stdout=out_file, stderr=err_file, preexec_fn=limits, check=False)
    if done.returncode not in DONE:
        raise Wrong(f"exit status {done.returncode}: {err.read_bytes()[-600:]!r}")
    judge_errors(err.read_bytes())
    return out.read_bytes()


def run_agent(rng, folder, trace, schema, style):
    output = folder / "agent.ndjson"
    config = folder / "agent.json"
    output.unlink(missing_ok=True)
    places = {"schema": [{"type": "folder", "path": str(schema)}]} if schema else {}
    config.write_text(json.dumps(places | {
        "agent": {"log": {"stats": "0s"}},
        "filters": rng.sample(RULES, rng.randrange(4)),
        "sessions": [{"name": "s", "type": "file", "paths": [str(trace)]}],
        "outputs": [{"type": "file", "path": str(output), "format": style}]}), encoding="utf-8")
    run(["run", "-c", config], folder)
    return output.read_bytes() if output.exists() else b""


def judge(rng, folder, trace, schema):
    """Run random commands of the program; dump always."""
    definitions = ["--schema", schema] if schema else []
    input_bytes = trace.stat().st_size
    if schema:
        input_bytes += sum(path.stat().st_size for path in schema.iterdir())
    numbers = {}
    for style in ("native", "ecs"):
        data = run(["dump", *definitions, "-f", style, trace], folder)
        events = objects_of(data)
        judge_size(data, input_bytes * 16)  # compressed buffers say more than their bytes
        numbers[style] = len(events)
        if style == "native":
            found = [event["etw"]["sequence"] for event in events if "sequence" in event.get("etw", {})]
            if len(set(found)) != len(found):
                raise Wrong("a number twice")
    if numbers["native"] != numbers["ecs"]:
        raise Wrong(f"not as many events in each format: {numbers}")
    way = rng.randrange(5)
    if way == 0:
        text_of("pretty", run(["dump", "--pretty", *definitions, trace], folder))
    elif way == 1:
        text_of("stat", run(["stat", *definitions, trace], folder))
        objects_of(run(["stat", "--json", *definitions, trace], folder))
    elif way == 2:
        objects_of(run(["dump", *definitions, "--where", rng.choice(EXPRESSIONS), trace], folder))
    elif way == 3:
        objects_of(run_agent(rng, folder, trace, schema, rng.choice(("native", "ecs"))))
    else:
        text_of("fields", run(["dump", "--pretty", "--fields", "provider.name,data,message",
                               *definitions, trace], folder))


def one(rng, folder, traces, definitions):
    """One mutated trace, sometimes with mutated definitions."""
    data = bytearray(rng.choice(traces))
    for _ in range(rng.choice((1, 2, 4, 16, 64))):
        if data:
            change_bytes(rng, data, traces)
    trace = folder / "trace.etl"
    trace.write_bytes(data or b"\0")
    schema = None
    if rng.random() < 0.5:
        schema = folder / "schema"
        shutil.rmtree(schema, ignore_errors=True)
        schema.mkdir()
        for name, text in definitions:
            for _ in range(rng.choice((0, 1, 3, 10))):
                text = change_text(rng, text)
            (schema / name).write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    judge(rng, folder, trace, schema)


def keep(folder, place, number, why):
    target = place / f"failure-{number}"
    shutil.copytree(folder, target, dirs_exist_ok=True)
    (target / "why").write_text(why + "\n", encoding="utf-8", errors="backslashreplace")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("mutate-failures"))
    options = parser.parse_args()
    end = time.monotonic() + options.seconds if options.seconds else None
    failures = number = 0
    with tempfile.TemporaryDirectory() as memory:
        corpus, folder = Path(memory, "corpus"), Path(memory, "work")
        corpus.mkdir()
        paths, texts = generate(corpus)
        traces = [path.read_bytes() for path in paths]
        definitions = [(path.name, path.read_text(encoding="utf-8-sig")) for path in texts]
        while (number < options.runs if end is None else time.monotonic() < end) and failures < 20:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            number += 1
            try:
                one(random.Random(f"{options.seed}/{number}"), folder, traces, definitions)
            except Wrong as wrong:
                failures += 1
                print(f"input {number} of seed {options.seed}: {str(wrong)[:1000]!a}", flush=True)
                keep(folder, options.keep, number, str(wrong))
            if number % 1000 == 0:
                print(f"{number} inputs, {failures} failures", flush=True)
    print(f"{number} inputs of {len(traces)} traces, {failures} failures")
    return 1 if failures or number == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
