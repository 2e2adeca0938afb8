"""Live sessions on a simulated Windows, in the process that simulates it: latency and throughput.

    live.py [--rate N] [--seconds N] [--burst N] [--speeds N,N] [--delivery events|raw|both]

1. Latency with all defaults, from an event's own time to the moment in which its line can be read
   at the other end of standard output, at a steady rate: against the budget of the session's flush
   and one second more for 99 of 100 events.
2. A burst at several speeds (0: as fast as it goes) into a file: events a second and CPU time per
   event, what simulates Windows included; all that was written is delivered or counted as lost.

Fails where an event is neither delivered nor counted. The clock says something on a quiet machine
alone.
"""

import argparse
import datetime
import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

SIM = os.environ["ETWSHIP_SIM"]
NAME = "Sim-Provider"
FLUSH_MS = 1000
BUDGET_MS = FLUSH_MS + 1000
EPOCH = datetime.datetime(1970, 1, 1)


def start(folder, script, delivery, output):
    (folder / "script").write_text("".join(line + "\n" for line in script))
    (folder / "etwship.yaml").write_text(json.dumps({
        "agent": {"log": {"stats": 0}}, "spool": {"mode": "memory"},
        "sessions": [{"name": "live", "type": "realtime", "delivery": delivery,
                      "providers": [NAME]}],
        "outputs": [output]}))
    env = dict(os.environ, ETWSIM_SCRIPT=str(folder / "script"))
    env.pop("ETWSIM_WORLD", None)
    return subprocess.Popen([SIM, "run", "-c", folder / "etwship.yaml"], env=env, cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def seconds_of(stamp):
    """An RFC 3339 time with seven digits behind the point, as seconds since 1970."""
    whole, fraction = stamp.rstrip("Z").split(".")
    since = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S") - EPOCH
    return since.total_seconds() + int(fraction) / 10 ** len(fraction)


def lost_in(lines, errors):
    """Events that gaps count, or that were in buffers which they count; and how many came."""
    events = 0
    report = next(line for line in errors.splitlines() if b'"in_lost_buffers"' in line)
    lost = json.loads(report)["in_lost_buffers"]
    for line in lines:
        gap = json.loads(line)["gap"] if b'"gap"' in line else None
        events += gap is None
        lost += gap["count"] if gap and gap["unit"] == "events" else 0
    return lost, events


def check(sent, events, lost, what):
    if events + lost != sent:
        raise SystemExit(f"{what}: {events} delivered and {lost} lost are not {sent}")


def latency(folder, options, delivery):
    count = options.rate * options.seconds
    script = [f"provider {NAME}", f"await etwship-live {NAME}",
              f"burst {NAME} {count} {options.rate}", "settle", "report etwship-live", "leave"]
    lines, took = [], []
    with start(folder, script, delivery, {"type": "stdout"}) as run:
        for line in run.stdout:
            now = time.time()
            lines.append(line)
            if b'"gap"' not in line:
                took.append((now - seconds_of(json.loads(line)["@timestamp"])) * 1000)
        errors = run.stderr.read()
    lost, events = lost_in(lines, errors)
    check(count, events, lost, "latency")
    took.sort()
    p50, p99 = took[len(took) // 2], took[len(took) * 99 // 100]
    print(f"latency, delivery: {delivery}, {options.rate} events/s for {options.seconds} s: "
          f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, most {took[-1]:.0f} ms "
          f"(budget for p99: {BUDGET_MS} ms, {'kept' if p99 <= BUDGET_MS else 'MISSED'}); "
          f"{lost} lost")


def burst(folder, options, delivery, speed):
    out = folder / "out.ndjson"
    out.unlink(missing_ok=True)
    script = [f"provider {NAME}", f"await etwship-live {NAME}",
              f"burst {NAME} {options.burst} {speed}", "settle", "report etwship-live", "leave"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    with start(folder, script, delivery, {"type": "file", "path": str(out)}) as run:
        errors = run.communicate()[1]
    took = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with open(out, "rb") as file:
        lost, events = lost_in(file, errors)
    check(options.burst, events, lost, "burst")
    print(f"burst, delivery: {delivery}, {options.burst} events at "
          f"{f'{speed}/s' if speed else 'full speed'}: {events} delivered, {lost} lost; "
          f"{events / took:.0f} events/s, {cpu / options.burst * 1e6:.2f} us CPU per event written")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--burst", type=int, default=1000000)
    parser.add_argument("--speeds", default="0,500000,100000")
    parser.add_argument("--delivery", default="both", choices=("events", "raw", "both"))
    options = parser.parse_args()
    deliveries = ("events", "raw") if options.delivery == "both" else (options.delivery,)
    with tempfile.TemporaryDirectory() as folder:
        for delivery in deliveries:
            latency(Path(folder), options, delivery)
        for delivery in deliveries:
            for speed in options.speeds.split(","):
                burst(Path(folder), options, delivery, int(speed))


if __name__ == "__main__":
    main()
