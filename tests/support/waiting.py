"""Waits for what tells nobody that it has changed: files, counters and processes of others."""

import time

TIMEOUT_S = 200
TICK_S = 0.02


def wait_until(holds, why="what is waited for does not come", process=None, tick_s=TICK_S):
    """Look until `holds()`: no system tells everywhere what another process did to a file. While
    `process` runs, if there is one. `why` may be a function. A net under a test, no measure."""
    end = time.monotonic() + TIMEOUT_S
    while not holds():
        if process is not None and process.poll() is not None:
            raise AssertionError(f"the process ended with {process.returncode}")
        if time.monotonic() > end:
            raise AssertionError(why() if callable(why) else why)
        time.sleep(tick_s)
