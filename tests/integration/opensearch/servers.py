"""Servers to test the outputs against: OpenSearch, OpenSearch with its security plug-in, and
Elasticsearch, each one node in a process of its own on a free port of the loopback interface.

What they are made of comes from Maven (pom.xml) and is kept outside of the tree, in
${XDG_CACHE_HOME:-~/.cache}/etwship. Where Java, Maven or the network is missing, `fetch` raises
Missing and says which.
"""

import base64
import contextlib
import fcntl
import hashlib
import http.client
import json
import os
import re
import selectors
import shutil
import ssl
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "etwship"

# The one that Maven would take of itself is another with every Maven.
CLASSPATH_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

# Nets under what does not end, no measures.
MAVEN_S = 900
START_S = 180
STOP_S = 60
REQUEST_S = 60

# One compiler is enough for a node that lives for seconds.
JVM = ["-Xms512m", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]

COMMON = {
    "cluster.name": "etwship",
    "node.name": "n1",
    "network.host": "127.0.0.1",
    "http.port": "0",
    "transport.port": "0",
    "discovery.type": "single-node",
    "cluster.routing.allocation.disk.threshold_enabled": "false",
    "node.processors": "1",
}


class Missing(Exception):
    """What these tests need is not here."""


# ---- what they are made of ------------------------------------------------------------------------


@contextlib.contextmanager
def locked(name):
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(*command):
    """Its exit code, and the last lines that it printed."""
    try:
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MAVEN_S,
                              check=False)
    except subprocess.TimeoutExpired:
        return -1, f"no end after {MAVEN_S} s"
    lines = done.stdout.decode(errors="replace").splitlines()
    return done.returncode, "\n    ".join(lines[-15:])


def fetch(kind, pom=HERE / "pom.xml"):
    """The files that the profile ${kind} of ${pom} names, in order."""
    for tool in ("java", "javac", "mvn"):
        if not shutil.which(tool):
            raise Missing(f"{tool} is not installed (packaging/deps.sh test installs it)")
    listed = CACHE / f"{kind}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:16]}.classpath"
    with locked("maven.lock"):
        if not listed.exists() or not all(map(os.path.exists, listed.read_text().split(":"))):
            print(f"Fetching the servers of profile {kind} with Maven", flush=True)
            made = listed.with_suffix(".new")
            failed, said = run(
                "mvn", "-q", "-B", "-C", "-ntp", "-f", pom, "-P", kind,
                f"-Dmaven.repo.local={CACHE / 'maven'}", f"{CLASSPATH_PLUGIN}:build-classpath",
                f"-Dmdep.outputFile={made}")
            if failed:
                why = re.search(r"\[ERROR\] (.+)", said)
                raise Missing(f"Maven could not fetch it: {why[1] if why else said}")
            made.rename(listed)
    return [Path(file) for file in listed.read_text().split(":")]


def compiled(source, jars, folder):
    folder.mkdir()
    failed, said = run("javac", "-d", folder, "-cp", ":".join(map(str, jars)), HERE / source)
    if failed:
        raise AssertionError(f"{source}:\n    {said}")
    return folder


def without_version(jar):
    return re.sub(r"-\d.*", "", jar.name)


class Kind:
    """How nodes of one kind are started. Made once, used for any number of nodes."""

    scheme = "http"
    plugins = ()

    def __init__(self, name):
        self.work = tempfile.TemporaryDirectory(prefix="etwship-servers-")
        self.folder = Path(self.work.name)
        self.jars = fetch(name)

    def close(self):
        self.work.cleanup()

    def furnish(self, home):
        (home / "config").mkdir()

    def headers(self, user):
        return {}

    def context(self):
        return None


class OpenSearch(Kind):
    def __init__(self):
        super().__init__("opensearch")
        classes = compiled("OpenSearch.java", self.jars, self.folder / "classes")
        self.command = ["-cp", ":".join(map(str, [classes, *self.jars])), "OpenSearch"]
        self.settings = COMMON | {"http.type": "netty4", "transport.type": "netty4"}
        self.plugins = ["org.opensearch.transport.Netty4Plugin"]


class Elasticsearch(Kind):
    """8.19 finds its parts by the names of modules, and netty in a folder of its own."""

    OWN_FOLDER = ("netty-", "transport-netty4-", "elasticsearch-ssl-config-")

    def __init__(self):
        super().__init__("elasticsearch")
        classes = compiled("Elasticsearch.java", self.jars, self.folder / "classes")
        path = [jar for jar in self.jars if not jar.name.startswith(self.OWN_FOLDER)]
        self.command = ["--module-path", ":".join(map(str, path)), "--add-modules",
                        "ALL-MODULE-PATH", "-cp", str(classes), "Elasticsearch"]
        self.settings = COMMON

    def furnish(self, home):
        module = home / "modules" / "transport-netty4"
        for folder in (home / "config", home / "plugins", module):
            folder.mkdir(parents=True)
        for jar in self.jars:
            if jar.name.startswith(self.OWN_FOLDER):
                (module / jar.name).symlink_to(jar)
        version = next(jar for jar in self.jars if jar.name.startswith("transport-netty4-")
                       ).stem.removeprefix("transport-netty4-")
        (module / "plugin-descriptor.properties").write_text(
            "name=transport-netty4\ndescription=HTTP\n"
            f"version={version}\nelasticsearch.version={version}\njava.version=17\n"
            "classname=org.elasticsearch.transport.netty4.Netty4Plugin\n")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, timeout=REQUEST_S,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


class Certificates:
    """An authority, and what it has signed: NAME.pem and NAME.key, the latter as PKCS #8."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = folder / "ca.pem"
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 30, "-subj", "/CN=ca",
                "-keyout", folder / "ca.key", "-out", self.ca)

    def sign(self, name, extensions="subjectAltName=IP:127.0.0.1,DNS:localhost"):
        request, extras = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extras.write_text(extensions + "\n")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout",
                self.folder / f"{name}.key", "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.folder / "ca.key",
                "-CAcreateserial", "-days", 30, "-extfile", extras, "-out",
                self.folder / f"{name}.pem")


class Security(Kind):
    """OpenSearch with TLS, users and roles. Has admin:admin, who may change them, and
    readall:readall."""

    scheme = "https"

    def __init__(self):
        super().__init__("security")
        jars = [jar for jar in self.jars if jar.suffix == ".jar"]
        classes = compiled("OpenSearch.java", jars, self.folder / "classes")
        self.plugin = self.folder / "plugin"
        with zipfile.ZipFile(next(jar for jar in self.jars if jar.suffix == ".zip")) as archive:
            archive.extractall(self.plugin)
        names = set(map(without_version, jars))
        jars += [jar for jar in sorted(self.plugin.glob("*.jar"))
                 if without_version(jar) not in names]
        self.command = ["-cp", ":".join(map(str, [classes, *jars])), "OpenSearch"]
        tls = self.folder / "tls"
        tls.mkdir()
        self.certificates = Certificates(tls)
        for name in ("node", "admin"):
            self.certificates.sign(name)
        security = "plugins.security."
        self.plugins = ["org.opensearch.transport.Netty4Plugin",
                        "org.opensearch.security.OpenSearchSecurityPlugin"]
        # With http.type set, the port would speak plain HTTP.
        self.settings = COMMON | {
            security + "ssl.http.enabled": "true",
            security + "ssl.http.clientauth_mode": "OPTIONAL",
            security + "ssl.transport.enforce_hostname_verification": "false",
            security + "allow_default_init_securityindex": "true",
            security + "allow_unsafe_democertificates": "true",
            security + "authcz.admin_dn.0": "CN=admin",
            security + "restapi.roles_enabled.0": "all_access",
            security + "nodes_dn.0": "CN=node",
        } | {f"{security}ssl.{layer}.{key}_filepath": file
             for layer in ("transport", "http")
             for key, file in (("pemcert", "node.pem"), ("pemkey", "node.key"),
                               ("pemtrustedcas", "ca.pem"))}

    def furnish(self, home):
        super().furnish(home)
        for name in ("node.pem", "node.key", "ca.pem"):
            shutil.copy(self.certificates.folder / name, home / "config" / name)
        shutil.copytree(self.plugin / "config", home / "config" / "opensearch-security")

    def headers(self, user):
        return {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}

    def context(self):
        return ssl.create_default_context(cafile=self.certificates.ca)


# ---- one node ------------------------------------------------------------------------------------


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class Server:
    """A node with a folder of its own. Ends with this process, however that ends."""

    def __init__(self, kind, **settings):
        """${settings}: further ones of the node, '__' for '.'."""
        self.kind = kind
        self.settings = {key.replace("__", "."): str(value) for key, value in settings.items()}
        self.work = tempfile.TemporaryDirectory(prefix="etwship-node-")
        self.home = Path(self.work.name)
        self.process = None
        self.port = 0
        self.user = "admin:admin"
        kind.furnish(self.home)
        self.start()

    @property
    def url(self):
        return f"{self.kind.scheme}://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.kill()
        self.work.cleanup()

    def log(self):
        return (self.home / "node.log").read_text(errors="replace")[-4000:]

    def start(self):
        """Again with the same port and folder. Returns when the node can be written to."""
        wanted = self.kind.settings | self.settings | {"http.port": str(self.port)}
        arguments = [f"{key}={value}" for key, value in wanted.items()]
        arguments += [f"plugin={name}" for name in self.kind.plugins]
        with (self.home / "node.log").open("a") as log:
            self.process = subprocess.Popen(
                ["java", *JVM, *self.kind.command, str(self.home), *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=self.home)
        try:
            self.port = self.read_port()
            self.wait_ready()
        except BaseException:
            self.kill()
            raise

    def read_port(self):
        deadline = time.monotonic() + START_S
        text = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                if selector.select(deadline - time.monotonic()):
                    part = os.read(self.process.stdout.fileno(), 4096)
                    text += part
                    found = re.search(rb"^port (\d+)$", text, re.MULTILINE)
                    if found:
                        return int(found[1])
                    if not part:
                        break
        raise AssertionError(f"the server did not start: {self.log()}")

    def wait_ready(self):
        """The port is open before anything can be stored."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                answer = self.request(
                    "GET", "/_cluster/health?wait_for_status=yellow&timeout=10s")
                if answer.status == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            # Nothing tells when the plug-in for security has written its own index.
            time.sleep(0.1)
        raise AssertionError(f"the server did not become ready: {self.log()}")

    def kill(self):
        """As a crash does. Harmless where nothing runs."""
        if self.process:
            self.process.kill()
            self.process.wait(STOP_S)
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def stop(self):
        self.process.stdin.close()
        self.process.wait(STOP_S)
        self.kill()

    def request(self, method, path, body=None, headers=None, user=None):
        """One request on a connection of its own. ${body}: bytes, or what becomes JSON."""
        sent = dict(self.kind.headers(user or self.user))
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        sent = {name: value for name, value in sent.items() if value is not None}
        context = self.kind.context()
        if context:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=REQUEST_S,
                                                     context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_S)
        with contextlib.closing(connection):
            connection.request(method, path, body, sent)
            reply = connection.getresponse()
            return Answer(reply.status, reply.headers, reply.read())

    def ask(self, method, path, body=None, **options):
        """The JSON of a reply that must be a good one."""
        answer = self.request(method, path, body, **options)
        if answer.status not in (200, 201):
            raise AssertionError(f"{method} {path}: {answer.status} {answer.body[:2000]!r}")
        return answer.json()

    def bulk(self, target, *lines, **options):
        """A bulk of lines, each bytes or what becomes JSON."""
        body = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n"
                        for line in lines)
        path = options.pop("path", f"/{target}/_bulk")
        headers = {"Content-Type": "application/x-ndjson"} | options.pop("headers", {})
        return self.request("POST", path, body, headers=headers, **options)

    def count(self, target):
        self.ask("POST", f"/{target}/_refresh")
        return self.ask("GET", f"/{target}/_count")["count"]

    def documents(self, target, source=True):
        """Every document of ${target} by its id, in pages."""
        self.ask("POST", f"/{target}/_refresh")
        found = {}
        page = self.ask("POST", f"/{target}/_search?scroll=1m",
                        {"size": 5000, "_source": source, "sort": ["_doc"]})
        while page["hits"]["hits"]:
            for hit in page["hits"]["hits"]:
                assert hit["_id"] not in found
                found[hit["_id"]] = hit.get("_source")
            page = self.ask("POST", "/_search/scroll",
                            {"scroll": "1m", "scroll_id": page["_scroll_id"]})
        return found
