"""A server of HTTP/2 (RFC 9113) that takes its leave as it is told: what HTTP/1.1 has no words for.

    with Server2(Lines(), every(10, GOAWAY_UNSEEN), authority.server(*pair)) as server:
        ... send to server.url ...

Apps and faults as in scripted_http.py, but a fault is one of the words below. Requests are told apart by
whether they have a body, since nothing here reads their headers (HPACK): those that have go to the app.
"""

import itertools
import socket
import socketserver
import struct
import threading
import contextlib
import ssl

from scripted_http import Request

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
REFUSED_STREAM, INTERNAL_ERROR = 7, 2
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STATUS = {200: b"\x88", 404: b"\x8d"}  # of HPACK's static table

# Not obeyed, and the connection ends: a server that is shut down.
GOAWAY_UNSEEN = "goaway, the request is not looked at"
# Obeyed, but the connection ends without the reply.
GOAWAY_UNANSWERED = "goaway, obeyed and not answered"
# Answered, but nothing more is taken on this connection.
GOAWAY_ANSWERED = "goaway, then the answer"
# Not obeyed; the connection stays.
REFUSED = "refused stream"
# Obeyed, and reset.
RESET = "reset stream"


class _Handler(socketserver.BaseRequestHandler):
    def handle(self):
        with contextlib.suppress(ConnectionError, ssl.SSLError, EOFError, OSError):
            self.request.settimeout(60)
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.request = self.server.owner.tls.wrap_socket(self.request, server_side=True)
            self.file = self.request.makefile("rb")
            if self.exactly(len(PREFACE)) == PREFACE:
                self.serve()
        with contextlib.suppress(OSError):
            self.request.shutdown(socket.SHUT_RDWR)
        self.request.close()

    def exactly(self, size):
        data = self.file.read(size)
        if len(data) != size:
            raise EOFError
        return data

    def send(self, kind, flags, stream, payload=b""):
        self.request.sendall(struct.pack(">I", len(payload))[1:] + bytes((kind, flags))
                             + struct.pack(">I", stream) + payload)

    def serve(self):
        self.send(SETTINGS, 0, 0)
        bodies = {}
        while True:
            head = self.exactly(9)
            size = int.from_bytes(head[:3], "big")
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            payload = self.exactly(size)
            if kind == SETTINGS and not flags & ACK:
                self.send(SETTINGS, ACK, 0)
            elif kind == PING and not flags & ACK:
                self.send(PING, ACK, 0, payload)
            elif kind == HEADERS:
                bodies[stream] = b""
            elif kind == DATA:
                bodies[stream] += payload
                if size:
                    for window in (0, stream):
                        self.send(WINDOW_UPDATE, 0, window, struct.pack(">I", size))
            if kind in (HEADERS, DATA) and flags & END_STREAM and not self.answer(
                    stream, bodies.pop(stream)):
                return

    def reply(self, stream, status, body):
        if not body:
            self.send(HEADERS, END_HEADERS | END_STREAM, stream, STATUS[status])
            return
        self.send(HEADERS, END_HEADERS, stream, STATUS[status])
        for at in range(0, len(body), 16000):
            self.send(DATA, 0, stream, body[at:at + 16000])
        self.send(DATA, END_STREAM, stream)

    def answer(self, stream, body):
        server = self.server.owner
        if not body:
            self.reply(stream, 404, b"")
            return True
        with server.lock:
            request = Request(next(server.numbers), 0, "POST /_bulk HTTP/2", {})
            request.body = body
            fault = server.faults(request)
            done = server.app(request) if fault not in (GOAWAY_UNSEEN, REFUSED) else None
        if fault in (REFUSED, RESET):
            code = REFUSED_STREAM if fault == REFUSED else INTERNAL_ERROR
            self.send(RST_STREAM, 0, stream, struct.pack(">I", code))
            return True
        if fault:
            last = stream - 2 if fault == GOAWAY_UNSEEN else stream
            self.send(GOAWAY, 0, 0, struct.pack(">II", max(last, 0), 0))
        if fault in (None, GOAWAY_ANSWERED):
            self.reply(stream, done.status, done.body)
        return fault is None


class _Threads(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


class Server2:
    def __init__(self, app, faults, tls):
        self.app, self.faults, self.tls = app, faults, tls
        tls.set_alpn_protocols(["h2"])
        self.lock, self.numbers = threading.Lock(), itertools.count(1)
        self.tcp = _Threads(("127.0.0.1", 0), _Handler)
        self.tcp.owner = self
        self.url = f"https://127.0.0.1:{self.tcp.server_address[1]}"
        self.thread = threading.Thread(target=self.tcp.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tcp.shutdown()
        self.tcp.server_close()
        self.thread.join()
