"""Live sessions on a simulated Windows, in the process that simulates it: latency and throughput.

    live.py [--rate N] [--seconds N] [--burst N] [--speeds N,N] [--delivery events|raw|both] [--rounds N]

1. Latency with all defaults, from an event's own time to the moment in which its line can be read
   at the other end of standard output, at a steady rate: against the budget of the session's flush
   and one second more for 99 of 100 events.
2. A burst at several speeds (0: as fast as it goes) into a file: events a second and CPU time per
   event, what simulates Windows included; all that was written is delivered or counted as lost.
3. CPU time of events of one trace, as live events and as those of a file, by the agent alone: of its
   threads, without that of a consumer that ignores its events, which the simulation takes. A file's
   is the process's, without a run of one event. (Linux.)
4. Private memory of an agent at rest with one live session. (Linux.)

Fails where an event is neither delivered nor counted. The clock says something on a quiet machine
alone.
"""

import argparse
import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.waiting import wait_until  # noqa: E402

SIM = os.environ["ETWSHIP_SIM"]
ETLGEN = os.environ.get("ETWSHIP_ETLGEN")
NAME = "Sim-Provider"
TRACED = "Etwship.Sample.Telemetry"
# What simulates Windows: its clock, the script, and the consumer beside the agent's.
IDLE = "idle"
SIMULATION = {"etw-sim", IDLE}
COST_RATE = 20000
MOST_COST_EVENTS = 200000
REST_S = 3
FLUSH_MS = 1000
BUDGET_MS = FLUSH_MS + 1000
EPOCH = datetime.datetime(1970, 1, 1)


def start(folder, script, delivery, output, session=None):
    (folder / "script").write_text("".join(line + "\n" for line in script))
    (folder / "etwship.yaml").write_text(json.dumps({
        "agent": {"log": {"stats": 0}}, "spool": {"mode": "memory"},
        "sessions": [session or {"name": "live", "type": "realtime", "delivery": delivery,
                                 "providers": [NAME]}],
        "outputs": [output]}))
    env = dict(os.environ, ETWSIM_SCRIPT=str(folder / "script"))
    env.pop("ETWSIM_WORLD", None)
    return subprocess.Popen([SIM, "run", "-c", folder / "etwship.yaml"], env=env, cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def seconds_of(stamp):
    """An RFC 3339 time with seven digits after the point, as seconds since 1970."""
    whole, fraction = stamp.rstrip("Z").split(".")
    since = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S") - EPOCH
    return since.total_seconds() + int(fraction) / 10 ** len(fraction)


def lost_in(lines, errors):
    """The events that gaps count, or that lay in buffers that gaps count; and the number of such gaps."""
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


# ---- the agent alone -----------------------------------------------------------------------------------


def seconds_by_thread(pid):
    """Processor seconds of all threads but the first one, and but the script's, which has its name."""
    first = Path(f"/proc/{pid}/comm").read_text()
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text()
        if name != first:
            took = int((task / "schedstat").read_text().split()[0]) / 1e9
            found[name.strip()] = found.get(name.strip(), 0) + took
    return found


def reported(run):
    """The simulation's report, once the agent was given all events."""
    line = b""
    while b'"in_lost_buffers"' not in line:
        line = run.stderr.readline()
        assert line, "the agent ended early"
    return json.loads(line)


def await_events(path, count):
    """Wait until this many events are there, or counted as lost; the process may still write. Returns those that are
    there."""
    events, lost, at = 0, 0, 0

    def are_there():
        nonlocal events, lost, at
        with open(path, "rb") as file:
            file.seek(at)
            data = file.read()
        data = data[:data.rfind(b"\n") + 1]
        at += len(data)
        gaps = [json.loads(line)["gap"]["count"] for line in data.splitlines() if b'"gap":{' in line]
        events, lost = events + data.count(b"\n") - len(gaps), lost + sum(gaps)
        return events + lost >= count

    wait_until(are_there, lambda: f"{events} events and {lost} lost of {count}")
    return events


def live_cost(folder, trace):
    """Seconds for an event. Beside other programs some events may be lost, which cost less: then the figure is too
    low."""
    out = folder / "live.ndjson"
    out.unlink(missing_ok=True)
    script = [f"provider {TRACED}", f"await etwship-live {TRACED}", "consume etwship-live",
              f"replay {trace} {TRACED} {COST_RATE}", "settle", "report etwship-live"]
    session = {"name": "live", "type": "realtime", "providers": [TRACED], "process_context": False}
    with start(folder, script, "events", {"type": "file", "path": str(out)}, session) as run:
        delivered = reported(run)["delivered"]
        events = await_events(out, delivered)
        took = seconds_by_thread(run.pid)
        run.terminate()
        run.communicate()
    return (sum(s for name, s in took.items() if name not in SIMULATION) - took[IDLE]) / delivered, delivered - events


def file_cost(folder, trace):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    session = {"name": "file", "type": "file", "paths": [str(trace)], "providers": [TRACED],
               "process_context": False}
    out = folder / "file.ndjson"
    out.unlink(missing_ok=True)
    with start(folder, [], "events", {"type": "file", "path": str(out)}, session) as run:
        run.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost(folder, rounds, events):
    made = {}
    for name, count in (("one", 1), ("all", events)):
        made[name] = folder / f"{name}.etl"
        subprocess.run([ETLGEN, "--mix", "tracelogging", "--cpus", "1", "--events", str(count), "-o", made[name]],
                       check=True, stdout=subprocess.DEVNULL)
    live, file, lost = [], [], 0
    for _ in range(rounds):
        took, left_out = live_cost(folder, made["all"])
        live.append(took * 1e6)
        lost += left_out
        file.append((file_cost(folder, made["all"]) - file_cost(folder, made["one"])) / events * 1e6)
    ratio = statistics.median(a / b for a, b in zip(live, file))
    print(f"CPU of the agent alone, {events} events of a trace: live {statistics.median(live):.2f} us per event, from a "
          f"file {statistics.median(file):.2f}; {ratio:.2f} times; {lost} lost")


def rest(folder):
    """Memory at rest. Clean pages are those of programs and libraries, which the system reads again if memory is
    short."""
    script = [f"provider {NAME}", f"await etwship-live {NAME}"]
    with start(folder, script, "events", {"type": "http", "url": "http://127.0.0.1:9/"}) as run:
        time.sleep(REST_S)
        rows = dict(line.split(":") for line in Path(f"/proc/{run.pid}/smaps_rollup").read_text().splitlines()[1:])
        run.terminate()
        run.communicate()
    dirty, clean = (int(rows[f"Private_{kind}"].split()[0]) / 1024 for kind in ("Dirty", "Clean"))
    print(f"at rest with one live session: {dirty:.1f} MB private, and {clean:.1f} MB of programs")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--burst", type=int, default=1000000)
    parser.add_argument("--speeds", default="0,500000,100000")
    parser.add_argument("--delivery", default="both", choices=("events", "raw", "both"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    deliveries = ("events", "raw") if options.delivery == "both" else (options.delivery,)
    with tempfile.TemporaryDirectory() as folder:
        for delivery in deliveries:
            latency(Path(folder), options, delivery)
        for delivery in deliveries:
            for speed in options.speeds.split(","):
                burst(Path(folder), options, delivery, int(speed))
        if Path("/proc/self/schedstat").exists():
            cost(Path(folder), options.rounds, min(options.burst, MOST_COST_EVENTS))
            rest(Path(folder))


if __name__ == "__main__":
    main()
