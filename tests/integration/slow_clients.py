"""Many clients of the status server that say little and never end: events arrive as they do without them.

`--full`: 10,000 of them. How long each trace took to arrive without and with them is printed.
"""

import errno
import os
import resource
import selectors
import socket
import statistics
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from status_rig import Rig, of  # noqa: E402
from support.waiting import wait_until  # noqa: E402

CLIENTS = 10000 if "--full" in sys.argv else 300
TRACES, EVENTS = (40, 500) if "--full" in sys.argv else (5, 200)
# What a client says at once, and then a byte at a time.
WORDS = (b"", b"G", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 3000,
         b"\x16\x03\x01\x02\x00")


class Crowd:
    """Keeps so many connections open, or opening; a client that is thrown out comes again."""

    def __init__(self, port, count):
        self.address, self.count = ("127.0.0.1", port), count
        self.selector = selectors.DefaultSelector()
        self.over = threading.Event()
        self.opened = self.thrown_out = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def join(self):
        client = socket.socket()
        client.setblocking(False)
        code = client.connect_ex(self.address)
        assert code in (0, errno.EINPROGRESS), errno.errorcode[code]
        self.selector.register(client, selectors.EVENT_WRITE, WORDS[self.opened % len(WORDS)])
        self.opened += 1

    def serve(self, key, ready):
        try:
            if ready & selectors.EVENT_WRITE and key.data is not None:
                key.fileobj.send(key.data)
                self.selector.modify(key.fileobj, selectors.EVENT_READ, None)
            if ready & selectors.EVENT_READ and not key.fileobj.recv(4096):
                raise ConnectionError
        except BlockingIOError:
            pass
        except OSError:
            self.selector.unregister(key.fileobj)
            key.fileobj.close()
            self.thrown_out += 1

    def run(self):
        while not self.over.is_set():
            for _ in range(min(200, self.count - len(self.selector.get_map()))):
                self.join()
            for key, ready in self.selector.select(0.05):
                self.serve(key, ready)

    def end(self):
        self.over.set()
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


def seconds_of(agent, thread):
    """Processor time of the threads with this name, in seconds; None: of all."""
    ticks = 0
    for task in Path(f"/proc/{agent.pid}/task").iterdir():
        name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
        if thread in (None, name):
            ticks += sum(map(int, rest.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


class SlowClients(Rig):
    def ship(self, agent):
        """Ships traces; returns median and maximum of the seconds from a trace's appearance to its arrival, as
        text."""
        took = []
        for _ in range(TRACES):
            before = len(self.store.documents())
            self.add_events(EVENTS + self.made)  # another one each time
            begin = time.monotonic()
            wait_until(lambda: len(self.store.documents()) >= before + EVENTS + self.made - 1, self.log, agent, 0.005)
            took.append(time.monotonic() - begin)
        return f"{statistics.median(took):.3f} s, at most {max(took):.3f} s"

    def test_they_hold_up_no_event(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        count = min(CLIENTS, most - 200)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.write({"listen": f"127.0.0.1:{self.port}", "unix": str(self.path)})
        agent = self.start()
        alone = self.ship(agent)
        crowd = Crowd(self.port, count)
        self.addCleanup(lambda: crowd.over.is_set() or crowd.end())
        wait_until(lambda: crowd.opened >= count, self.log, agent)
        before, begin = seconds_of(agent, "status"), time.monotonic()
        among = self.ship(agent)
        cost = (seconds_of(agent, "status") - before) / (time.monotonic() - begin)
        done = self.etwship("status")  # who comes over the file system finds a place
        self.assertEqual((done.returncode, done.stdout), (0, "healthy\n"), done.stderr)
        crowd.end()  # who comes over TCP is one of thousands that wait until then
        self.assert_balanced(self.metrics())
        self.assertGreater(of(self.metrics(), "status_requests_total", result="dropped"), 0)
        self.assertEqual(self.store.twice, 0)
        print(f"{count} clients, {crowd.opened} connections, {crowd.thrown_out} thrown out. a trace took {alone} without, "
              f"{among} with them; the server's thread {100 * cost:.1f} % of a processor", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=[arg for arg in sys.argv if arg != "--full"])
