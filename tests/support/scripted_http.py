"""A web server that does what real ones seldom do, in the moment that a test wants it.

    with Server(Lines(), every(10, Fault(Reply(429, headers={"Retry-After": "1"})))) as server:
        ... send to server.url ...
    server.app.records, server.seen

What a request would do (an app: a callable from Request to Reply) and what goes wrong on the way (faults:
a callable from Request to Fault or None, asked once the headers are there) are told apart, so that a fault
can strike before or behind the moment in which the request is obeyed. Apps: Lines keeps JSON records of any
framing, Bulk is a store with ids and the `_bulk` API. TLS with certificates of an Authority, made by openssl.

Requests of all connections are handled one at a time, so apps and faults need no locks.
"""

import base64
import collections
import contextlib
import functools
import gzip
import hashlib
import itertools
import json
import select
import shutil
import socket
import socketserver
import ssl
import struct
import subprocess
import threading
import urllib.parse
import warnings
from pathlib import Path

REASONS = {100: "Continue", 102: "Processing", 200: "OK", 204: "No Content", 301: "Moved Permanently",
           307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
           404: "Not Found", 408: "Request Timeout", 409: "Conflict", 413: "Content Too Large",
           429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}


class Request:
    """`number` counts from 1 over all connections, `connection` too. `body` is as sent, `data` inflated."""

    def __init__(self, number, connection, line, headers):
        self.number, self.connection = number, connection
        self.method, self.target, self.version = line.split(" ", 2)
        self.headers = headers  # names in lower case
        parts = urllib.parse.urlsplit(self.target)
        self.path, self.query = parts.path, dict(urllib.parse.parse_qsl(parts.query, True))
        self.body = b""

    @property
    def data(self):
        encoding = self.headers.get("content-encoding", "identity")
        if encoding == "gzip":
            return gzip.decompress(self.body)
        if encoding == "zstd":
            return subprocess.run(["zstd", "-dc"], input=self.body, stdout=subprocess.PIPE,
                                  check=True).stdout
        assert encoding == "identity", encoding
        return self.body


class Reply:
    """`body`: bytes, text, or what becomes JSON. `length`: the Content-Length to claim. `cut`: send so many
    bytes of the reply, then close. `piece`, `pause_s`: so slowly. `interim`: statuses sent before it."""

    def __init__(self, status=200, body=b"", headers=None, *, length=None, cut=None, piece=None,
                 pause_s=0.0, close=False, interim=(), chunked=False):
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers = {"Content-Type": "application/json"} | (headers or {})
        self.status, self.headers = status, headers or {}
        self.body = body.encode() if isinstance(body, str) else body
        self.length, self.cut, self.piece, self.pause_s = length, cut, piece, pause_s
        self.close, self.interim, self.chunked = close or cut is not None, interim, chunked

    def encode(self):
        headers = dict(self.headers)
        body = self.body
        if self.chunked:
            headers["Transfer-Encoding"] = "chunked"
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part)
                            for part in (body[i:i + 50] for i in range(0, len(body), 50))) + b"0\r\n\r\n"
        elif self.status != 204:
            headers["Content-Length"] = str(len(body) if self.length is None else self.length)
        if self.close:
            headers["Connection"] = "close"
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Other')}\r\n\r\n" for status in self.interim]
        lines.append(f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Other')}\r\n")
        lines += [f"{name}: {value}\r\n" for name, value in headers.items()]
        return "".join(lines).encode() + b"\r\n" + body


class Fault:
    """`reply`: given instead of the app's; None: the connection breaks (`reset`: by a reset, else closed).
    `obeyed`: the app sees the request all the same. `early`: without reading the body."""

    def __init__(self, reply=None, *, obeyed=False, reset=True, early=False, delay_s=0.0):
        self.reply, self.obeyed, self.reset = reply, obeyed, reset
        self.early, self.delay_s = early, delay_s


LOST_BEFORE = Fault()
LOST_BEHIND = Fault(obeyed=True)


def every(n, fault, method="POST"):
    """Every n-th request of `method`."""
    count = itertools.count(1)
    return lambda request: fault if request.method == method and next(count) % n == 0 else None


def script(*faults, method="POST"):
    """One after the other, None for none; behind the last all goes well."""
    rest = collections.deque(faults)
    return lambda request: rest.popleft() if rest and request.method == method else None


class _Handler(socketserver.BaseRequestHandler):
    def handle(self):
        server = self.server.owner
        number = next(server.connections)
        with contextlib.suppress(ConnectionError, ssl.SSLError, EOFError, socket.timeout):
            if server.tls:
                self.request.settimeout(30)
                self.request = server.tls.wrap_socket(self.request, server_side=True)
            self.request.settimeout(None)
            self.file = self.request.makefile("rb")
            while self.one(server, number):
                pass
        with contextlib.suppress(OSError):
            self.request.shutdown(socket.SHUT_RDWR)
        self.request.close()

    def one(self, server, connection):
        line = self.file.readline(65536).decode("latin-1").rstrip("\r\n")
        if " HTTP/1." not in line:
            return False  # the end, or no HTTP
        headers = {}
        while text := self.file.readline(65536).decode("latin-1").rstrip("\r\n"):
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        with server.lock:
            request = Request(next(server.numbers), connection, line, headers)
            server.seen.append(request)
            fault = server.faults(request) if server.faults else None
            server.lock.notify_all()
        if request.method == "CONNECT" and not fault:
            return self.tunnel(request)
        if not (fault and fault.early):
            request.body = self.read_body(headers)
        with server.lock:
            reply = None
            if not fault or fault.obeyed:
                reply = server.app(request)
            if not server.keep_bodies:
                request.body = b""
            server.lock.notify_all()
        if fault:
            server.stopped.wait(fault.delay_s)
            reply = fault.reply
        return self.answer(server, reply, fault)

    def read_body(self, headers):
        if headers.get("expect", "").lower() == "100-continue":
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(self.file.readline(), 16):
                body += self.exactly(size)
                self.file.readline()
            self.file.readline()
            return body
        return self.exactly(int(headers.get("content-length", 0)))

    def exactly(self, size):
        data = self.file.read(size)
        if len(data) != size:
            raise EOFError
        return data

    def answer(self, server, reply, fault):
        if reply is None:
            if not fault or fault.reset:
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # Both descriptors: makefile() holds the socket open.
                self.file.close()
                socket.socket.close(self.request)
            return False
        data = reply.encode()
        data = data if reply.cut is None else data[:reply.cut]
        piece = reply.piece or len(data)
        for at in range(0, len(data), piece):
            self.request.sendall(data[at:at + piece])
            if reply.pause_s and server.stopped.wait(reply.pause_s):
                return False
        return not reply.close and not (fault and fault.early)

    def tunnel(self, request):
        host, port = request.target.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as there:
            self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            ends = {self.request: there, there: self.request}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return False
                    ends[end].sendall(data)


class _Threads(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64


class Server:
    """`tls`: an ssl.SSLContext (Authority.server). A context manager; stop() may be called before."""

    def __init__(self, app, faults=None, *, tls=None, port=0, keep_bodies=False):
        self.app, self.faults, self.tls, self.keep_bodies = app, faults, tls, keep_bodies
        self.seen = []
        self.lock, self.stopped = threading.Condition(), threading.Event()
        self.connections, self.numbers = itertools.count(1), itertools.count(1)
        self.tcp = _Threads(("127.0.0.1", port), _Handler)
        self.tcp.owner = self
        self.port = self.tcp.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.tcp.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.stopped.set()
        self.tcp.shutdown()
        self.tcp.server_close()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.stopped.is_set():
            self.stop()

    def posts(self):
        return [request for request in self.seen if request.method == "POST"]

    def wait_for(self, what, timeout_s=60):
        """Until what() is true, which is asked under the lock after each request. A net under a test,
        no measure."""
        with self.lock:
            if not self.lock.wait_for(what, timeout_s):
                raise TimeoutError(what)


def values_of(text):
    """The JSON values that stand in `text`, with anything of a framing between them."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at] in "[], \r\n\t":
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        yield value


class Lines:
    """Takes JSON values of any framing and keeps them in order of arrival."""

    def __init__(self, reply=None):
        self.records = []
        self.reply = reply or Reply(200)

    def __call__(self, request):
        self.records.extend(values_of(request.data.decode()))
        return self.reply


@functools.lru_cache(maxsize=1000)
def paths_below(name, paths):
    return tuple(path[1:] for path in paths if path and path[0] in (name, "*"))


def keep_paths(value, paths):
    """What `filter_path` leaves of a reply. `paths`: a tuple of tuples of names."""
    if isinstance(value, list):
        kept = [keep_paths(item, paths) for item in value]
        return [item for item in kept if item not in ({}, None)]
    if not isinstance(value, dict):
        return value if () in paths else None
    result = {}
    for name, inner in value.items():
        below = paths_below(name, paths)
        if () in below:
            result[name] = inner
        elif below:
            kept = keep_paths(inner, below)
            if kept not in ({}, None, []):
                result[name] = kept
    return result


class Bulk:
    """The `_bulk` API over a store by index and id. `refuse`: a callable of the number of the item (from 1,
    over all requests), its index, id and document (bytes), that gives (status, type, reason) or None."""

    def __init__(self, refuse=None):
        self.refuse = refuse
        self.stores = collections.defaultdict(dict)  # index -> id -> document
        self.twice = 0  # creations of what was there
        self.items, self.made = itertools.count(1), itertools.count(1)

    def documents(self):
        return [document for store in list(self.stores.values()) for document in list(store.values())]

    def __call__(self, request):
        if not request.path.endswith("/_bulk"):
            return self.other(request)
        index = request.path[1:-len("/_bulk")] or None
        lines = request.data.split(b"\n")
        if lines[-1] != b"" or len(lines) < 3:
            return Reply(400, {"error": {"type": "illegal_argument_exception", "reason":
                                         "The bulk request must be terminated by a newline [\\n]"},
                               "status": 400})
        items = [self.item(json.loads(action), document, index)
                 for action, document in zip(lines[0:-1:2], lines[1:-1:2])]
        errors = any("error" in inner for item in items for inner in item.values())
        result = {"took": 1, "errors": errors, "items": items}
        if "filter_path" in request.query:
            paths = tuple(tuple(path.split(".")) for path in request.query["filter_path"].split(","))
            result = keep_paths(result, paths)
        return Reply(200, result)

    def item(self, action, document, index):
        (word, about), = action.items()
        index = about.get("_index", index)
        name = about.get("_id") or f"made-{next(self.made)}"
        result = {"_index": index, "_id": name}
        refused = self.refuse(next(self.items), index, name, document) if self.refuse else None
        if not refused and word == "create" and name in self.stores[index]:
            self.twice += 1
            refused = (409, "version_conflict_engine_exception", "document already exists")
        if refused:
            status, kind, reason = refused
            result |= {"status": status, "error": {"type": kind, "reason": reason}}
        else:
            self.stores[index][name] = document
            result |= {"status": 201, "result": "created"}
        return {word: result}

    def other(self, request):
        if request.path == "/":
            return Reply(200, {"version": {"number": "2.19.6", "distribution": "opensearch"}})
        return Reply(404, {"error": "no such thing", "status": 404})


class Authority:
    """Certificates in `folder`: ca.pem, and what issue() makes. Skip tests where openssl() is None. `key`: how
    it signs, in the words of openssl's -newkey."""

    EC = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")

    def __init__(self, folder, name="ca", key=EC):
        self.folder, self.name = Path(folder), name
        self.ca = self.folder / f"{name}.pem"
        self.run("req", "-x509", "-newkey", *key, "-nodes",
                 "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "30",
                 "-subj", f"/CN=Tests {name}")
        (self.folder / f"{name}.txt").touch()
        (self.folder / f"{name}.cnf").write_text(
            f"[ca]\ndefault_ca=x\n[x]\ndatabase={name}.txt\nnew_certs_dir=.\nrand_serial=yes\n"
            "default_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n")

    @staticmethod
    def openssl():
        return shutil.which("openssl")

    def run(self, *args, data=None):
        return subprocess.run([self.openssl(), *args], cwd=self.folder, input=data, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def issue(self, name, names="IP:127.0.0.1,DNS:localhost", start=None, end=None, crl=None, key=EC):
        """NAME.pem and NAME.key. `start`, `end`: YYYYMMDDHHMMSSZ. `crl`: where the list of revoked
        certificates is said to lie."""
        self.run("req", "-new", "-newkey", *key, "-nodes",
                 "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.folder / f"{name}.ext").write_text(
            (f"subjectAltName={names}\n" if names else "") +
            (f"crlDistributionPoints=URI:{crl}\n" if crl else ""))
        dates = (["-startdate", start] if start else []) + (["-enddate", end] if end else ["-days", "20"])
        self.run("ca", "-batch", "-config", f"{self.name}.cnf", "-cert", f"{self.name}.pem",
                 "-keyfile", f"{self.name}.key", "-in", f"{name}.csr", "-out", f"{name}.pem",
                 "-extfile", f"{name}.ext", "-notext", *dates)
        return self.folder / f"{name}.pem", self.folder / f"{name}.key"

    def expired(self, name="expired"):
        return self.issue(name, start="20200101000000Z", end="20210101000000Z")

    def revoke(self, certificate):
        """Revoke it; the list of the revoked, in DER."""
        common = ["-config", f"{self.name}.cnf", "-cert", f"{self.name}.pem", "-keyfile",
                  f"{self.name}.key"]
        self.run("ca", *common, "-revoke", str(certificate))
        self.run("ca", *common, "-gencrl", "-crldays", "7", "-out", f"{self.name}.crl")
        return self.run("crl", "-in", f"{self.name}.crl", "-outform", "DER")

    def pkcs12(self, certificate, key):
        """Both in one file, NAME.pfx, without a password."""
        both = Path(certificate).with_suffix(".pfx")
        self.run("pkcs12", "-export", "-in", str(certificate), "-inkey", str(key), "-out", str(both),
                 "-passout", "pass:")
        return both

    def pin(self, certificate):
        """SHA-256 of its public key in base64."""
        key = self.run("x509", "-in", str(certificate), "-noout", "-pubkey")
        der = self.run("pkey", "-pubin", "-outform", "DER", data=key)
        return base64.b64encode(hashlib.sha256(der).digest()).decode()

    def fingerprint(self, certificate):
        """SHA-256 of the certificate in hex."""
        der = self.run("x509", "-in", str(certificate), "-outform", "DER")
        return hashlib.sha256(der).hexdigest()

    def server(self, certificate, key, *, chain=None, clients=None, newest=None):
        """An ssl.SSLContext. `chain`: certificate sent behind it; `clients`: the authority of those that a
        client must show; `newest`: ssl.TLSVersion."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if chain:
            both = self.folder / f"{Path(certificate).stem}-chain.pem"
            both.write_bytes(Path(certificate).read_bytes() + Path(chain).read_bytes())
            certificate = both
        context.load_cert_chain(certificate, key)
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        if newest:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of old versions
                context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
                context.maximum_version = newest
            context.set_ciphers("ALL:@SECLEVEL=0")
        return context
