"""File systems of a test's own, in memory. They are mounted where only this process and those that it starts from
then on see them: whatever ends these takes the mounts along."""

import ctypes
import subprocess
import sys

CLONE_NEWNS = 0x00020000  # linux/sched.h
apart = False


def live_apart():
    """False: the system does not let us."""
    global apart
    if not apart and sys.platform == "linux":
        apart = ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0 and subprocess.run(
            ["mount", "--make-rprivate", "/"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    return apart


def mount(case, folder, options):
    """An empty file system in `folder` until the end of the test `case`, as in "size=8m". False: it cannot be had
    here, as by who is not root."""
    done = live_apart() and subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder],
                                           stderr=subprocess.DEVNULL, check=False).returncode == 0
    if done:
        case.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
    return done
