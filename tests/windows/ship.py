"""etwship.exe ships over HTTP: under Wine, to the scripted server, over the loopback of Linux.

What Wine shows: sockets, libcurl with its Schannel code, and that the certificate is checked against a CA
file, the host's name, the time and pins; whether it was revoked, which is told as Windows tells it
(wine.Unkind). What it does not show: Windows' own Schannel; its store of
authorities, since Wine's TLS takes every certificate where no CA file is given; certificates of clients in
files, as Wine 8 does not find the one of an imported file that has a key; HTTP/2, which is agreed on inside of TLS
(ALPN).
"""

import base64
import json
import os
import re
import socketserver
import struct
import subprocess
import sys
import threading
import tty
import unittest
from pathlib import Path

import wine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from scripted_http import LOST_BEHIND, Authority, Bulk, Reply, Server, every  # noqa: E402
from waiting import wait_until  # noqa: E402

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# The agent has an id for every run.
NOW = re.compile(rb'(?<=,"agent":){[^}]*}')
EVENTS = 3000
RSA = ("rsa:2048",)
LOSSES = 3
WRONG = (400, "mapper_parsing_exception", "failed to parse field [data.a] of type [long]")
HERE = Path(__file__).resolve().parent
# What libcurl and Schannel load, at the first call at the latest. Not crypt32: Wine's own schannel.dll
# looks for it everywhere. That etwship.exe is not linked with it, program.py shows.
PLANTED_DLLS = ["bcrypt", "cryptbase", "dnsapi", "iphlpapi", "msasn1", "mswsock", "ncrypt",
                "schannel", "secur32", "sspicli", "winhttp"]


class Broker(socketserver.ThreadingTCPServer):
    """Reads the first bytes of each connection over TLS, then closes it."""

    daemon_threads = True

    def __init__(self, context):
        super().__init__(("127.0.0.1", 0), None)
        self.context, self.asked = context, []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def finish_request(self, request, client_address):
        try:
            with self.context.wrap_socket(request, server_side=True) as connection:
                self.asked.append(connection.recv(8))
        except OSError:  # no agreement
            pass

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


@unittest.skipUnless(wine.WINE, "no Wine (packaging/deps.sh windows)")
class Ship(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = wine.Unkind()
        cls.folder = cls.prefix.folder
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o",
                        str(cls.folder / "one.etl")], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.prefix.close()

    def test_it_tells_how_it_is_at_a_named_pipe(self):
        config = self.folder / "pipe.yaml"
        config.write_text(json.dumps({
            "status": {"pipe": self.folder.name}, "spool": {"mode": "memory"},
            "sessions": [{"name": "t", "type": "file", "follow": True, "paths": ["one.etl"]}],
            "outputs": [{"name": "o", "type": "file", "path": "pipe.ndjson"}]}))

        def ask(*command):
            return self.prefix.run(wine.EXE, *command, "-c", config.name, cwd=self.folder)
        nobody = ask("status")
        self.assertEqual(nobody.returncode, 1)
        self.assertIn(b"no agent runs", nobody.stderr)
        agent = self.prefix.start(wine.EXE, "run", "-c", config.name, out=subprocess.DEVNULL, err=subprocess.DEVNULL,
                                  cwd=self.folder)
        try:
            wait_until(lambda: ask("status").stdout.replace(b"\r", b"") == b"healthy\n", process=agent)
            wait_until(lambda: json.loads(ask("status", "--json").stdout)["outputs"][0]["acked"] == EVENTS,
                       process=agent)
            self.assertRegex(ask("top").stdout, rb"(?m)^o +\d+ +\d+ +0 +0 +0 +0\r?$")
        finally:
            agent.kill()
            agent.wait()

    def configure(self, output, **agent):
        path = self.folder / "c.yaml"
        path.write_text(json.dumps({
            "version": 1, "agent": agent, "spool": {"mode": "memory"},
            "sessions": [{"name": "t", "type": "file", "paths": ["one.etl"]}],
            "outputs": [{"name": "o", "batch": {"events": 200},
                         "retry": {"min": "10ms", "max": "50ms"}, **output}]}))
        return ["run", "-c", path.name]

    def ship(self, output):
        """Ships, and tries once more after a failure: on a busy machine TLS under Wine has been seen to wait for
        ever."""
        command = [wine.EXE, *self.configure(output)]
        try:
            return self.prefix.run(*command, cwd=self.folder, timeout_s=60)
        except subprocess.TimeoutExpired:
            return self.prefix.run(*command, cwd=self.folder)

    @staticmethod
    def elasticsearch(server, **more):
        return {"type": "elasticsearch", "hosts": [server.url], **more}

    def test_it_stores_the_documents_of_the_linux_build_under_the_same_names_whatever_breaks(self):
        ours, theirs = Bulk(), Bulk()
        with Server(ours) as server:
            subprocess.run([BINARY, *self.configure(self.elasticsearch(server))], check=True,
                           cwd=self.folder, stderr=subprocess.DEVNULL)
        with Server(theirs, every(5, LOST_BEHIND)) as server:
            done = self.ship(self.elasticsearch(server))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(theirs.twice, 0, "no batch came twice: nothing was broken")
        self.assertEqual(sum(map(len, ours.stores.values())), EVENTS)
        self.assertEqual(self.bare(theirs), self.bare(ours))

    @staticmethod
    def bare(bulk):
        return {index: {name: NOW.sub(b"", document) for name, document in store.items()}
                for index, store in bulk.stores.items()}

    # ---- dead letters -------------------------------------------------------------------------

    def deadletter(self, *arguments, code=0):
        done = self.prefix.run(wine.EXE, "deadletter", *arguments, "-c", "c.yaml", cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def letters(self):
        return [json.loads(line) for line in self.deadletter("list", "--json").splitlines()]

    def test_what_was_refused_is_listed_shown_sent_again_and_removed(self):
        store = Bulk(lambda number, *_: WRONG if number % 600 == 0 else None)
        with Server(store) as server:
            done = self.prefix.run(wine.EXE, *self.configure(
                self.elasticsearch(server), data_dir="Zust\u00e4nde", log={"stats": "0s"}),
                cwd=self.folder)
            self.assertEqual(done.returncode, LOSSES, done.stderr)
            letters = self.letters()
            self.assertEqual([letter["id"] for letter in letters], [1, 2, 3, 4, 5])
            for letter in letters:
                self.assertEqual((letter["output"], letter["status"], letter["type"],
                                  letter["reason"], letter["index"]),
                                 ("o", *WRONG, "logs-etw.native-default"))
            self.assertEqual(len(self.deadletter("list").splitlines()), 6)
            self.assertEqual(json.loads(self.deadletter("show", "2", "--json")), letters[1])
            self.assertIn(b"mapper_parsing_exception", self.deadletter("show", "2"))
            store.refuse = lambda *_: WRONG
            self.deadletter("replay", code=LOSSES)
            self.assertEqual(len(self.letters()), 5)
            store.refuse = None
            self.deadletter("replay", "1", "4")
            self.assertEqual(self.deadletter("purge", "3").split(), [b"1", b"removed"])
            self.assertEqual([letter["id"] for letter in self.letters()], [2, 5])
            self.assertEqual(json.loads(self.deadletter("replay", "--json")),
                             {"output": "o", "delivered": 2, "refused": 0, "skipped": 0,
                              "unplaced": 0})
            self.assertEqual(self.deadletter("list", "--json"), b"")
            self.assertEqual(self.deadletter("purge").split(), [b"0", b"removed"])
        removed = letters[2]["document"]["etw"]["sequence"]
        found = [json.loads(document)["etw"]["sequence"] for document in store.documents()]
        self.assertEqual(sorted([*found, removed]), list(range(1, EVENTS + 1)))

    # ---- proxies ------------------------------------------------------------------------------

    # Flags of the settings of an account, as WinINet keeps them in the registry.
    DIRECT, NAMED, SCRIPT = 1, 2, 4

    def set_proxy(self, flags, proxy="", bypass="", script=""):
        value = struct.pack("<III", 0x46, 0, flags) + b"".join(
            struct.pack("<I", len(text)) + text.encode() for text in (proxy, bypass, script))
        key = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Internet Settings\Connections"
        done = self.prefix.run("reg", "add", key, "/f", "/v", "DefaultConnectionSettings", "/t",
                               "REG_BINARY", "/d", value.hex())
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_proxy_of_the_account_or_its_script_is_used_unless_another_is_named(self):
        store = "http://store.example:9200"
        bulk = Bulk()
        self.addCleanup(self.set_proxy, self.DIRECT)
        with Server(lambda request: Reply(200, script, {
                "Content-Type": "application/x-ns-proxy-autoconfig"})
                    if request.path == "/proxy.pac" else bulk(request)) as server:
            proxy = f"127.0.0.1:{server.port}"
            script = ("function FindProxyForURL(url, host) { return host == 'store.example' ? "
                      f"'PROXY {proxy}' : 'DIRECT'; }}")
            for what, settings, source in [
                    ("a name", (self.NAMED, f"http={proxy};https=127.0.0.1:1", "*.other"),
                     "the proxy settings of the account"),
                    ("a script", (self.SCRIPT, "", "", f"{server.url}/proxy.pac"),
                     "WPAD or a script (PAC)")]:
                self.set_proxy(*settings)
                with self.subTest(what):
                    said = self.examine_at(store)
                    self.assertIn(f"proxy http://{proxy} for {store}, by {source}", said)
                    self.assertIn(f"{store}: connected", said)
            self.assertIn("/proxy.pac", {request.path for request in server.seen})
            done = self.ship({"type": "elasticsearch", "hosts": [store]})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sum(map(len, bulk.stores.values())), EVENTS)
            self.assertIn(f"output o: proxy http://{proxy} for {store}, by {source}",
                          done.stderr.decode())
            self.assertNotIn("connected", self.examine_at(store, proxy=""))
            self.assertIn(f"no proxy for http://none.other, by {source}",
                          self.examine_at("http://none.other"))

    def examine_at(self, url, **more):
        """The output of `test-output` for a server at this address; proxies of the environment would come first."""
        command = self.configure({"type": "elasticsearch", "hosts": [url], **more})[1:]
        return self.prefix.run(wine.EXE, "test-output", "o", *command,
                               cwd=self.folder).stdout.decode()

    # ---- secrets ------------------------------------------------------------------------------

    SECRET = "s\u00e9cret:0123456789"

    def protected(self):
        given = self.folder / "given"
        given.write_text(self.SECRET + "\r\n", encoding="utf-8")
        with open(given, "rb") as stdin:
            done = self.prefix.run(wine.EXE, "secret", "protect", stdin=stdin)
        given.unlink()
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().strip()

    def test_a_secret_that_the_machine_protects_is_sent_and_never_shown(self):
        value = self.protected()
        self.assertRegex(value, r"^dpapi:[A-Za-z0-9+/]{200,}={0,2}$")
        self.assertNotIn(base64.b64encode(self.SECRET.encode())[:-4].decode(), value)
        with Server(Bulk()) as server:
            output = self.elasticsearch(server, auth={"user": "u", "password": value})
            command = self.configure(output)[1:]
            said = self.prefix.run(wine.EXE, "test-output", "o", *command, cwd=self.folder)
            sent = base64.b64decode(server.seen[-1].headers["authorization"].partition(" ")[2])
            shown = self.prefix.run(wine.EXE, "check", "-v", *command, cwd=self.folder)
            # Another system has nothing to read it with.
            away = subprocess.run([BINARY, "check", *command], cwd=self.folder, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(sent.decode(), "u:" + self.SECRET)
        for text in [said.stdout, said.stderr, shown.stdout, shown.stderr]:
            self.assertNotIn(b"0123456789", text)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual(away.returncode, 2)
        self.assertIn(b"password: DPAPI is available on Windows only", away.stderr)

    def test_a_secret_is_asked_for_without_showing_it(self):
        process, terminal = self.prefix.on_terminal(wine.EXE, "secret", "protect")
        tty.setraw(terminal.fileno())  # what is shown is the console's doing, not that of Linux
        with terminal:
            try:
                shown = b""
                while b"not shown" not in shown and (piece := wine.read_piece(terminal)):
                    shown += piece
                terminal.write(b"typed-0123456789\r")
                shown += wine.read_to_end(terminal)
                self.assertEqual(process.wait(wine.TIMEOUT_S), 0, shown)
            finally:
                process.kill()
                process.wait()
        # Wine draws each character by itself.
        shown = re.sub(rb"\x1b\[[?0-9]*[A-Za-z]|[\r\n]", b"", shown)
        self.assertIn(b"dpapi:", shown)
        self.assertNotIn(b"typed", shown)

    # ---- TLS ----------------------------------------------------------------------------------

    def authority(self):
        """An authority with RSA: Wine 8 rejects an ECDSA signature in which one of the two numbers is short, one in
        128."""
        if not Authority.openssl():
            self.skipTest("no openssl")
        folder = self.folder / self.id().rpartition(".")[2]
        folder.mkdir()
        return Authority(folder, key=RSA)

    def assert_ships(self, context, tls):
        store = Bulk()
        with Server(store, tls=context) as server:
            done = self.ship(self.elasticsearch(server, tls=tls))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sum(map(len, store.stores.values())), EVENTS)

    def assert_refuses(self, context, tls, words):
        """The program sends nothing, and says why. Under Wine a process has been seen to end without a word, once in
        a hundred starts on a busy machine: such a one is started again."""
        log = self.folder / "refused.log"
        if not self.refuses(context, tls, words, log) and log.stat().st_size == 0:
            self.refuses(context, tls, words, log)
        self.assertIn(words, log.read_text())

    def refuses(self, context, tls, words, log):
        with Server(Bulk(), tls=context) as server, open(log, "wb") as err:
            process = self.prefix.start(wine.EXE, *self.configure(self.elasticsearch(server, tls=tls)),
                                        out=subprocess.DEVNULL, err=err, cwd=self.folder)
            try:
                wait_until(lambda: words in log.read_text() or process.poll() is not None)
            finally:
                process.kill()
                process.wait()
            self.assertEqual(server.seen, [])
            return words in log.read_text()

    def test_a_server_with_a_certificate_of_the_ca_file_is_trusted(self):
        authority = self.authority()
        self.assert_ships(authority.server(*authority.issue("server")), {"ca": str(authority.ca)})

    def test_revocation_is_looked_up_and_only_strict_wants_to_know_for_sure(self):
        trusted, unknown = "certificate is trusted", "cannot find out whether the server's certificate"
        revoked = "certificate was revoked by its authority"
        authority = self.authority()
        lists = {}
        with Server(lambda request: Reply(200, lists[request.path])) as publisher:
            for setting, private, offline, withdrawn in [("strict", unknown, unknown, revoked),
                                                         ("best_effort", trusted, trusted, revoked),
                                                         ("none", trusted, trusted, trusted)]:
                tls = {"ca": str(authority.ca), "revocation": setting}
                # Wine 8 takes a certificate that it found revoked for good the second time.
                path = f"/{setting}.crl"
                pair = authority.issue(f"revoked-{setting}", crl=publisher.url + path)
                lists[path] = authority.revoke(pair[0])
                for what, pair, words in [
                        ("private", authority.issue("private"), private),
                        ("offline", authority.issue("offline", crl="http://127.0.0.1:1/x.crl"),
                         offline),
                        ("revoked", pair, withdrawn)]:
                    with self.subTest(f"{what}, {setting}"), \
                            Server(Bulk(), tls=authority.server(*pair)) as server:
                        self.assertIn(words, self.examine_at(server.url, tls=tls))
            self.assertEqual({request.path for request in publisher.seen},
                             {"/strict.crl", "/best_effort.crl"})

    def test_a_dll_that_lies_beside_it_is_not_loaded_for_tls(self):
        # program.py shows that such a DLL is found by those who look for it.
        authority = self.authority()
        program = authority.folder / "etwship.exe"
        program.write_bytes(wine.EXE.read_bytes())
        for name in PLANTED_DLLS:
            subprocess.run(["x86_64-w64-mingw32-gcc", "-shared", "-o",
                            authority.folder / (name + ".dll"), HERE / "planted.c"], check=True)
        with Server(Bulk(), tls=authority.server(*authority.issue("server"))) as server:
            output = self.elasticsearch(server, tls={"ca": str(authority.ca)})
            overrides = "mscoree,mshtml=;" + ",".join(PLANTED_DLLS) + "=n,b"
            done = self.prefix.run(program, *self.configure(output), cwd=self.folder,
                                   env={"WINEDLLOVERRIDES": overrides})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(list(self.folder.glob("**/planted.txt")))

    def test_a_broker_of_kafka_is_trusted_by_its_ca_alone(self):
        """The TLS is OpenSSL's, which librdkafka brings. Without `ca` it uses the authorities in Wine's store."""
        authority = self.authority()
        context = authority.server(*authority.issue("broker"))
        stranger = Authority(authority.folder, "stranger", RSA)
        for tls, trusts in [({"ca": str(authority.ca)}, True), ({"ca": str(stranger.ca)}, False), ({}, False)]:
            with self.subTest(tls), Broker(context) as broker:
                self.configure({"type": "kafka", "brokers": [f"127.0.0.1:{broker.server_address[1]}"], "topic": "t",
                                "connect_timeout": "20s", "tls": tls})
                done = self.prefix.run(wine.EXE, "test-output", "o", "-c", "c.yaml", cwd=self.folder)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(b"certificate verify failed" in done.stdout, not trusts, done.stdout)
                # The number of ApiVersions (Apache Kafka, protocol guide, API keys), after four bytes of size.
                self.assertEqual({request[4:6] for request in broker.asked}, {b"\0\x12"} if trusts else set())

    def test_a_server_with_a_pinned_key_is_trusted_and_another_is_not(self):
        authority = self.authority()
        certificate, key = authority.issue("server")
        context = authority.server(certificate, key)
        tls = {"ca": str(authority.ca), "pin_sha256": [authority.pin(certificate)]}
        self.assert_ships(context, tls)
        tls["pin_sha256"] = [authority.pin(authority.ca)]
        self.assert_refuses(context, tls, "pin")

    def test_an_authority_is_known_by_its_fingerprint(self):
        authority = self.authority()
        good = authority.issue("server")
        chained = authority.server(*good, chain=authority.ca)
        ca = {"ca": authority.fingerprint(authority.ca)}
        self.assert_ships(chained, ca)
        stranger = Authority(authority.folder, "stranger", RSA)
        for what, context, tls, words in [
                ("another", chained, {"ca": authority.fingerprint(stranger.ca)}, "fingerprint"),
                ("not sent", authority.server(*good), ca, "fingerprint"),
                ("did not sign", authority.server(*good, chain=stranger.ca),
                 {"ca": authority.fingerprint(stranger.ca)}, "certificate"),
                ("name", authority.server(*authority.issue("elsewhere", "DNS:elsewhere.example"),
                                          chain=authority.ca), ca, "certificate")]:
            with self.subTest(what):
                self.assert_refuses(context, tls, words)

    def test_a_certificate_of_ours_in_pem_is_refused_with_what_to_do(self):
        output = {"type": "elasticsearch", "hosts": ["https://127.0.0.1:1"],
                  "tls": {"cert": "ours.pem", "key": "ours.key"}}
        done = self.ship(output)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"openssl pkcs12 -export", done.stderr)

    def issue_with_plain_key(self, authority, name):
        """Wine 8 misreads a key in which a number has fewer bytes than its place, one key in 60."""
        while True:
            certificate, key = authority.issue(name, key=RSA)
            text = authority.run("rsa", "-in", str(key), "-noout", "-text").decode()
            numbers = re.findall(r":\n((?: +[0-9a-f:]+\n)+)", text)
            sizes = [len(re.findall("[0-9a-f]{2}", number)) for number in numbers]
            self.assertEqual(len(sizes), 7, text)
            if all(size >= least for size, least in zip(sizes, [256] * 2 + [128] * 5)):
                return certificate, key

    def test_our_certificate_may_lie_in_a_store(self):
        authority = self.authority()
        importer = authority.folder / "import_pfx.exe"
        subprocess.run(["x86_64-w64-mingw32-gcc", "-o", importer, HERE / "import_pfx.c", "-lcrypt32"],
                       check=True)
        ours = authority.pkcs12(*self.issue_with_plain_key(authority, "ours"))
        done = self.prefix.run(importer, ours)
        self.assertEqual(done.returncode, 0, done.stderr)
        context = authority.server(*authority.issue("server"), clients=authority.ca)
        with Server(Bulk(), tls=context) as server:
            for thumbprint, words in [(done.stdout.decode(), "certificate is trusted"),
                                      ("0" * 40, "check tls.ca, tls.cert, tls.key and tls.client_cert"),
                                      (None, "fault: certificates (TLS)")]:
                own = {"client_cert": f"CurrentUser\\MY\\{thumbprint}"} if thumbprint else {}
                with self.subTest(thumbprint):
                    said = self.examine_at(server.url, tls={"ca": str(authority.ca), **own})
                    self.assertIn(words, said)

    def test_certificates_of_another_authority_name_or_time_are_refused(self):
        authority = self.authority()
        stranger = Authority(authority.folder, "stranger", RSA)
        good = authority.issue("server")
        for what, pair, ca in [
                ("authority", good, stranger.ca),
                ("name", authority.issue("elsewhere", "DNS:elsewhere.example"), authority.ca),
                ("time", authority.expired(), authority.ca)]:
            with self.subTest(what):
                self.assert_refuses(authority.server(*pair), {"ca": str(ca)}, "certificate")


if __name__ == "__main__":
    wine.need(wine.EXE)
    wine.main()
