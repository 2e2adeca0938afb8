"""Ports of 127.0.0.1 for programs that take a number, and no socket, from a test."""

import socket


def hold_port():
    """A socket that keeps its port from all who ask for any free one, and does not listen. A program that sets
    SO_REUSEADDR, as servers do, may listen there; while none does, connections are refused."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def reserve_port(test):
    """A port that is held until the end of `test`."""
    holder = hold_port()
    test.addCleanup(holder.close)
    return holder.getsockname()[1]
