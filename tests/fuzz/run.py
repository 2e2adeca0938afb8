"""Runs the libFuzzer targets for long, one after another on each processor, and prints a table.

    run.py --fuzz-build DIR --seeds-build DIR [--corpus DIR] [--runs N] [--seconds N] [--jobs N]
           [TARGET...]

`--fuzz-build` is a build with ETWSHIP_FUZZ=ON, `--seeds-build` an ordinary one: its replay programs write
the seeds (`--write-seeds`) that a corpus starts from. `--corpus` keeps one folder a target, so that a later
run continues where an earlier one stopped; without it, the corpora are temporary.

A target ends after `--runs` executions or `--seconds`, whatever comes first; 0 means no limit. The table
says for each one how many executions there were, at what rate, and how many inputs its corpus has. Exit
code 1: a target crashed, hung or exceeded its memory; the input lies in the corpus folder beside it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MAX_INPUT_BYTES = 1 << 16
INPUT_TIMEOUT_S = 60
MEMORY_MB = 4096


def targets_of(build):
    folder = Path(build) / "tests" / "fuzz"
    return sorted(p.name for p in folder.glob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))


def figure(name, text):
    found = re.findall(rf"stat::{name}:\s+(\d+)", text)
    return int(found[-1]) if found else 0


def fuzz(target, args, corpora):
    corpus = Path(corpora) / target
    corpus.mkdir(parents=True, exist_ok=True)
    replay = Path(args.seeds_build).resolve() / "tests" / "fuzz" / target
    subprocess.run([replay, "--write-seeds", corpus], check=True, stdout=subprocess.DEVNULL)

    command = [Path(args.fuzz_build).resolve() / "tests" / "fuzz" / target, corpus,
               f"-max_len={MAX_INPUT_BYTES}", f"-timeout={INPUT_TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}",
               f"-artifact_prefix={corpora}/{target}-", "-print_final_stats=1", "-verbosity=1"]
    if args.runs:
        command.append(f"-runs={args.runs}")
    if args.seconds:
        command.append(f"-max_total_time={args.seconds}")
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          errors="replace", cwd=corpora)
    count = sum(1 for _ in corpus.iterdir())
    rate = figure("average_exec_per_sec", done.stderr)
    print(f"{target:28} {figure('number_of_executed_units', done.stderr):>12,} {rate:>8,}/s {count:>7,} inputs"
          f"  {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print("\n".join(done.stderr.splitlines()[-40:]), flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fuzz-build", required=True)
    parser.add_argument("--seeds-build", required=True)
    parser.add_argument("--corpus")
    parser.add_argument("--runs", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()

    targets = args.targets or targets_of(args.fuzz_build)
    if not targets:
        sys.exit(f"{args.fuzz_build}: no fuzz target is built there")
    with tempfile.TemporaryDirectory() as scratch:
        corpora = Path(args.corpus or scratch).resolve()
        corpora.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(args.jobs) as pool:
            good = list(pool.map(lambda target: fuzz(target, args, corpora), targets))
    print(f"{sum(good)} of {len(good)} targets ran clean")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
