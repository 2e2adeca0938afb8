"""Waits for changes without a notification: files, counters and processes of others."""

import os
import time

TIMEOUT_S = int(os.environ.get("ETWSHIP_AWAIT_S", "90"))
TICK_S = 0.02
REST, MOST_S = 4, 1  # how many times as long as a look took; at most


def wait_until(holds, why="what is waited for does not come", process=None, tick_s=TICK_S):
    """Look until `holds()`: no system tells everywhere what another process did to a file. While
    `process` runs, if there is one. `why` may be a function. A net under a test, no measure. A look that takes
    long is not made again at once: it would take the processor from what it waits for."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        begun = time.monotonic()
        if holds():
            return
        if process is not None and process.poll() is not None:
            raise AssertionError(f"the process ended with {process.returncode}")
        now = time.monotonic()
        if now > end:
            raise AssertionError(why() if callable(why) else why)
        time.sleep(max(tick_s, min(MOST_S, REST * (now - begun))))


def text_so_far(file):
    """What is in `file`, which a process may be writing: its place in the file is ours, too, and is not to move."""
    descriptor = file.fileno()
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode()
