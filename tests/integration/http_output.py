"""The http output in a running agent: faults of the server and of the way there, TLS, proxies.

The server is the scripted one of tests/support; what it took is compared with what the trace holds.
HTTP/2 goes through haproxy, where that is installed.
"""

import collections
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import scripted_http2 as http2  # noqa: E402
from scripted_http import (LOST_BEFORE, LOST_BEHIND, Authority, Bulk, Fault, Lines,  # noqa: E402
                           Reply, Server, every, script)

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
EVENTS = 6000
DONE, LOSSES = 0, 3
SECRET = "5ecret-of-the-tests"


def environment():
    """This process's environment, without proxies."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


class Agent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared_folder = tempfile.TemporaryDirectory()
        cls.shared = Path(cls.shared_folder.name)
        cls.trace = cls.shared / "t.etl"
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", str(EVENTS), "-o", cls.trace],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.shared_folder.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, url, agent=None, **keys):
        output = {"type": "http", "batch": {"events": 100},
                  "retry": {"min": "10ms", "max": "50ms"}, "workers": 1} | keys
        output |= {"hosts": [url]} if output["type"] == "elasticsearch" else {"url": url}
        agent = agent or {}
        config = {"agent": agent, "outputs": [output],
                  "spool": {"min_free_disk": "1MB"} | ({} if "data_dir" in agent else {"mode": "memory"}),
                  "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}]}
        path = self.folder / "etwship.yaml"
        path.write_text(json.dumps(config))
        return path

    def run_agent(self, url, env=None, **keys):
        done = subprocess.run([BINARY, "run", "-c", self.write(url, **keys)], check=False,
                              timeout=TIMEOUT_S, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=env or environment())
        self.assertNotIn(SECRET, done.stderr)
        return done

    def run_until_told(self, url, env=None, **keys):
        """The exit code and the messages of a run that stops at the first warning of the output."""
        config = self.write(url, agent={"shutdown": "10ms"}, **keys)
        with subprocess.Popen([BINARY, "run", "-c", config], stderr=subprocess.PIPE, text=True,
                              stdout=subprocess.DEVNULL, env=env or environment()) as agent:
            said, told = [], False
            for line in agent.stderr:
                said.append(line)
                if not told and "warning: output http" in line:
                    told = True
                    agent.send_signal(signal.SIGTERM)
            code = agent.wait(TIMEOUT_S)
        self.assertNotIn(SECRET, "".join(said))
        return code, "".join(said)

    def deliver(self, server, code=DONE, **keys):
        """The events that the server accepted, as (sequence -> how often); events of the agent are left out."""
        done = self.run_agent(server.url, **keys)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.taken(server), done

    def taken(self, server):
        return self.taken_of(server.app)

    def taken_of(self, app):
        events = [record.get("event", record) if "provider" not in record else record
                  for record in app.records]
        return collections.Counter(event["etw"]["sequence"] for event in events
                                   if event["provider"].get("name") != "etwship")

    def assert_each_once(self, taken):
        self.assertEqual([key for key, count in taken.items() if count != 1], [])
        self.assertEqual(len(taken), EVENTS)


class Faults(Agent):
    def test_what_the_server_did_not_take_comes_again_once(self):
        later = {"Retry-After": "0"}
        faults = {
            "429": Fault(Reply(429, headers=later)),
            "503": Fault(Reply(503)),
            "408": Fault(Reply(408, close=True)),
            "lost before": LOST_BEFORE,
            "closed before": Fault(reset=False),
            "an end among the headers": Fault(Reply(200, cut=15)),
            "a short body": Fault(Reply(200, b"no", length=100, close=True)),
            "no http": Fault(Reply(200, cut=3)),
            "early": Fault(Reply(503, close=True), early=True),
            "early and gone": Fault(early=True),
        }
        for name, fault in faults.items():
            with self.subTest(name), Server(Lines(), every(4, fault)) as server:
                taken, _ = self.deliver(server)
                self.assert_each_once(taken)

    def test_a_lost_reply_costs_no_event_and_only_what_it_was_for_comes_twice(self):
        with Server(Lines(), every(10, LOST_BEHIND)) as server:
            taken, done = self.deliver(server)
            self.assertEqual(len(taken), EVENTS)
            lost = len(server.posts()) // 10
            self.assertEqual(sum(taken.values()) - EVENTS, lost * 100)
            self.assertIn(f"{lost * 100} maybe duplicates", done.stderr)

    def test_replies_that_come_slowly_or_behind_others_are_taken(self):
        replies = (Reply(200, b"x" * 400, piece=40, pause_s=0.01), Reply(200, interim=(100, 102)),
                   Reply(202, b"y" * 5000, chunked=True), Reply(204), Reply(200, {"text": "Success"}))
        for reply in replies:
            with self.subTest(reply.status), Server(Lines(reply)) as server:
                taken, _ = self.deliver(server, batch={"events": 2000})
                self.assert_each_once(taken)

    def test_retry_after_is_waited_for(self):
        with Server(Lines(), script(Fault(Reply(503, headers={"Retry-After": "2"})))) as server:
            # Far more than the agent would wait by itself, and far less than the net of a test.
            begun = time.monotonic()
            taken, _ = self.deliver(server)
            self.assertGreaterEqual(time.monotonic() - begun, 2)
            self.assert_each_once(taken)

    def test_too_large_requests_go_in_halves_and_only_what_never_fits_is_refused(self):
        def too_large(request):
            return Fault(Reply(413)) if int(request.headers["content-length"]) > 20000 else None
        with Server(Lines(), too_large) as server:
            taken, done = self.deliver(server, batch={"events": 1000})
            self.assert_each_once(taken)
            refused = [r for r in server.posts() if int(r.headers["content-length"]) > 20000]
            self.assertLess(len(refused), 20, done.stderr)

    def test_an_event_that_is_refused_costs_no_other_one(self):
        class Choosy(Lines):
            def __call__(self, request):
                if b'"sequence":777,' in request.data:
                    return Reply(400, {"text": "Invalid data format", "code": 6})
                return super().__call__(request)
        with Server(Choosy()) as server:
            taken, _ = self.deliver(server, LOSSES, agent={"data_dir": str(self.folder / "state")})
            self.assertEqual(set(range(1, EVENTS + 1)) - set(taken), {777})
            self.assertEqual(max(taken.values()), 1)

    def test_a_server_that_refuses_everything_for_a_while_gets_all_of_it_once_mended(self):
        class WrongIndex(Lines):
            refusals = 40

            def __call__(self, request):
                self.refusals -= 1
                if self.refusals >= 0:
                    return Reply(400, {"text": "Incorrect index", "code": 7})
                return super().__call__(request)
        with Server(WrongIndex()) as server:
            taken, done = self.deliver(server, agent={"data_dir": str(self.folder / "state")})
            self.assert_each_once(taken)
            self.assertRegex(done.stderr, "degraded: .*status 400.*Incorrect index")

    def test_every_framing_and_compression_brings_each_event_once(self):
        kinds = ["none", "gzip"] + (["zstd"] if shutil.which("zstd") else [])
        for framing in ("ndjson", "json_array", "splunk_hec"):
            for compression in kinds:
                with self.subTest(framing, compression=compression), Server(Lines()) as server:
                    taken, _ = self.deliver(server, framing=framing, compression=compression)
                    self.assert_each_once(taken)

    def test_messages_are_one_line_each(self):
        class Text:
            def __init__(self):
                self.lines = []

            def __call__(self, request):
                self.lines += request.data.decode().splitlines()
                return Reply(200)
        want = subprocess.run([BINARY, "dump", self.trace], check=True, stdout=subprocess.PIPE,
                              timeout=TIMEOUT_S).stdout
        want = [json.loads(line).get("message") for line in want.splitlines()]
        with Server(Text()) as server:
            self.assertEqual(self.run_agent(server.url, framing="message").returncode, DONE)
            lines = [line for line in server.app.lines if not line.startswith('{"@timestamp"') or
                     json.loads(line)["provider"].get("name") != "etwship"]
        self.assertGreaterEqual(len(lines), EVENTS)
        for line, message in zip(lines, want):
            if message is None:
                self.assertTrue(line.startswith("{"))
            else:
                self.assertEqual(line, message.replace("\r", " ").replace("\n", " "))

    def test_a_redirect_is_not_followed_and_takes_no_token_along(self):
        with Server(Lines()) as elsewhere:
            moved = Reply(307, headers={"Location": elsewhere.url})
            with Server(Lines(moved)) as server:
                code, said = self.run_until_told(server.url, auth={"bearer": SECRET})
                self.assertEqual(code, LOSSES)
                self.assertIn("307", said)
                self.assertIn(elsewhere.url, said)
            self.assertEqual(elsewhere.seen, [])

    def test_a_server_that_never_answers_holds_up_no_stop(self):
        class Silent(Lines):
            def __call__(self, request):
                return Reply(200, b"x" * 100000, piece=1, pause_s=3600)
        with Server(Silent()) as server:
            config = self.write(server.url, agent={"shutdown": "500ms"})
            with subprocess.Popen([BINARY, "run", "-c", config], stderr=subprocess.PIPE,
                                  env=environment()) as agent:
                server.wait_for(server.posts)
                agent.send_signal(signal.SIGTERM)
                agent.stderr.read()
                # Its own time limit is 90 s; the net below is half of that.
                self.assertEqual(agent.wait(45), LOSSES)

    def test_no_secret_is_in_a_log(self):
        """run_until_told() looks for it."""
        class Echo(Lines):
            def __call__(self, request):
                super().__call__(request)
                return Reply(500, f"you sent {request.headers}")
        for keys in ({"auth": {"bearer": SECRET}}, {"headers": {"X-Key": SECRET}},
                     {"auth": {"user": "u", "password": SECRET}},
                     {"auth": {"api_key": f"id:{SECRET}"}}):
            with self.subTest(keys), Server(Echo()) as server:
                self.assertIn("status 500", self.run_until_told(server.url, **keys)[1])
        self.assertIn("proxy", self.run_until_told(
            "http://127.0.0.1:1", proxy=f"http://u:{SECRET}@127.0.0.1:1")[1])


@unittest.skipUnless(Authority.openssl(), "no openssl here")
class Tls(Agent):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ca = Authority(cls.shared)
        cls.good = cls.ca.issue("good")
        cls.other_name = cls.ca.issue("other-name", "DNS:elsewhere.example,IP:192.0.2.1")
        cls.expired = cls.ca.expired()
        cls.future = cls.ca.issue("future", start="20480101000000Z", end="20490101000000Z")
        cls.client = cls.ca.issue("client", "")
        cls.stranger = Authority(cls.shared, "stranger")

    def arrives(self, context, tls, url=None, **keys):
        """True if the events arrive; and the messages of the run."""
        with Server(Lines(), tls=context) as server:
            code, said = self.run_until_told(url(server) if url else server.url, tls=tls,
                                             auth={"bearer": SECRET}, **keys)
            if code == DONE:
                self.assert_each_once(self.taken(server))
                return None
            self.assertEqual(server.seen, [])  # nothing was sent, no token above all
            self.assertEqual(code, LOSSES, said)
            return said

    def test_only_a_server_that_is_trusted_gets_anything(self):
        ca, stranger = {"ca": str(self.ca.ca)}, {"ca": str(self.stranger.ca)}
        pin, other = self.ca.pin(self.good[0]), self.ca.pin(self.other_name[0])
        trust, name, key = "not trusted", "not trusted", "none of tls.pin_sha256"
        rows = [
            (self.good, ca, None),
            (self.good, {}, trust),
            (self.good, stranger, trust),
            (self.good, stranger | {"verify": "none"}, None),
            (self.other_name, ca, name),
            (self.other_name, ca | {"verify": "ca"}, None),
            (self.other_name, stranger | {"verify": "ca"}, trust),
            (self.expired, ca, "renew it on the server"),
            (self.expired, ca | {"verify": "ca"}, "renew it on the server"),
            (self.future, ca, "set this machine's clock"),
            (self.expired, ca | {"verify": "none"}, None),
            (self.good, ca | {"pin_sha256": [pin]}, None),
            (self.good, ca | {"pin_sha256": [other, pin]}, None),
            (self.good, ca | {"pin_sha256": [other]}, key),
            (self.good, {"verify": "none", "pin_sha256": [pin]}, None),
            (self.good, {"verify": "none", "pin_sha256": [other]}, key),
            (self.good, {"ca": str(self.folder / "none.pem")}, "tls.ca"),
        ]
        for certificate, tls, words in rows:
            with self.subTest(certificate=certificate[0].stem, tls=tls):
                said = self.arrives(self.ca.server(*certificate), tls)
                self.assertEqual(said is None, words is None, said)
                self.assertIn(words or "", said or "")

    def test_authorities_that_are_replaced_are_read_again(self):
        old, new = (Authority(self.folder, name) for name in ("old", "new"))
        contexts = [authority.server(*authority.issue(f"of-{authority.name}")) for authority in (old, new)]
        ca = self.folder / "trusted.pem"
        shutil.copy(old.ca, ca)

        def replace(request):
            if request.number != 3:
                return None
            server.tls = contexts[1]
            shutil.copy(new.ca, ca)
            return Fault(Reply(503, close=True))

        with Server(Lines(), replace, tls=contexts[0]) as server:
            taken, _ = self.deliver(server, tls={"ca": str(ca)})
            self.assert_each_once(taken)

    def test_an_authority_is_known_by_its_fingerprint_if_servers_send_it_along(self):
        hexadecimal = self.ca.fingerprint(self.ca.ca)
        ca, stranger = {"ca": hexadecimal}, {"ca": self.ca.fingerprint(self.stranger.ca)}
        colons = ":".join(hexadecimal[i:i + 2].upper() for i in range(0, 64, 2))
        middle = self.ca.issue("middle", "")
        chained = self.ca.server(*self.good, chain=self.ca.ca)
        none, name = "none of the server's certificates has the fingerprint", "not trusted"
        rows = [
            (chained, ca, None),
            (chained, {"ca": colons}, None),
            (chained, ca | {"pin_sha256": [self.ca.pin(self.good[0])]}, None),
            (chained, ca | {"pin_sha256": [self.ca.pin(middle[0])]}, "none of tls.pin_sha256"),
            (chained, stranger, none),
            # It is sent along, but has not signed this one.
            (self.ca.server(*self.good, chain=self.stranger.ca), stranger, name),
            (self.ca.server(*self.good), ca, none),
            (self.ca.server(*self.other_name, chain=self.ca.ca), ca, name),
            (self.ca.server(*self.other_name, chain=self.ca.ca), ca | {"verify": "ca"}, None),
            (self.ca.server(*self.expired, chain=self.ca.ca), ca, "expired"),
            # No authority, but the very certificate: no other server can have its key.
            (self.ca.server(*self.good), {"ca": self.ca.fingerprint(self.good[0])}, None),
            # A certificate that may not sign others.
            (self.ca.server(*self.good, chain=middle[0]),
             {"ca": self.ca.fingerprint(middle[0])}, name),
        ]
        for number, (context, tls, words) in enumerate(rows):
            with self.subTest(number, tls=tls):
                said = self.arrives(context, tls)
                self.assertEqual(said is None, words is None, said)
                self.assertIn(words or "", said or "")

    def test_a_server_is_asked_for_its_authority_once(self):
        chained = self.ca.server(*self.good, chain=self.ca.ca)
        with Server(Lines(Reply(200, close=True)), tls=chained) as server:
            taken, _ = self.deliver(server, tls={"ca": self.ca.fingerprint(self.ca.ca)})
            self.assert_each_once(taken)
            self.assertEqual([request.connection for request in server.seen],
                             list(range(2, len(server.seen) + 2)))

    def test_a_fingerprint_is_looked_for_behind_a_proxy_and_with_our_certificate_too(self):
        context = self.ca.server(*self.good, chain=self.ca.ca, clients=self.ca.ca,
                                 newest=ssl.TLSVersion.TLSv1_2)
        tls = {"ca": self.ca.fingerprint(self.ca.ca),
               "cert": str(self.client[0]), "key": str(self.client[1])}
        with Server(Lines()) as proxy:
            self.assertIsNone(self.arrives(context, tls, proxy=proxy.url))
            self.assertEqual({request.method for request in proxy.seen}, {"CONNECT"})

    def test_the_oldest_version_is_what_is_set(self):
        ca = {"ca": str(self.ca.ca)}
        for newest, tls, arrives in ((ssl.TLSVersion.TLSv1_2, ca, True),
                                     (ssl.TLSVersion.TLSv1_2, ca | {"min_version": "1.3"}, False),
                                     (ssl.TLSVersion.TLSv1_3, ca | {"min_version": "1.3"}, True),
                                     (ssl.TLSVersion.TLSv1_1, ca, False)):
            with self.subTest(newest.name, tls=tls):
                said = self.arrives(self.ca.server(*self.good, newest=newest), tls)
                self.assertEqual(said is None, arrives, said)

    def test_we_show_our_certificate_where_it_is_asked_for(self):
        context = self.ca.server(*self.good, clients=self.ca.ca)
        ours = {"cert": str(self.client[0]), "key": str(self.client[1])}
        ca = {"ca": str(self.ca.ca)}
        self.assertIsNone(self.arrives(context, ca | ours))
        self.assertIsNotNone(self.arrives(context, ca))
        wrong = self.arrives(context, ca | ours | {"key": str(self.good[1])})
        self.assertIn("tls.key", wrong)
        both = self.ca.pkcs12(*self.client)
        self.assertIsNone(self.arrives(context, ca | {"cert": str(both)}))

    def test_a_name_is_checked_too(self):
        self.assertIsNone(self.arrives(
            self.ca.server(*self.good), {"ca": str(self.ca.ca)},
            url=lambda server: f"https://localhost:{server.port}"))

    def test_a_server_without_tls_is_told(self):
        said = self.arrives(None, {"ca": str(self.ca.ca)},
                            url=lambda server: f"https://127.0.0.1:{server.port}")
        self.assertIn("no TLS", said)


class Proxies(Agent):
    def test_a_proxy_passes_requests_on(self):
        with Server(Lines()) as proxy:
            done = self.run_agent("http://collector.example/in",
                                  proxy=f"http://u:{SECRET}@127.0.0.1:{proxy.port}")
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assert_each_once(self.taken(proxy))
            self.assertEqual({request.target for request in proxy.posts()},
                             {"http://collector.example/in"})
            self.assertTrue(proxy.seen[0].headers["proxy-authorization"].startswith("Basic "))

    def test_the_environment_names_a_proxy_unless_the_configuration_does(self):
        with Server(Lines()) as proxy, Server(Lines()) as server:
            env = environment() | {"http_proxy": f"http://127.0.0.1:{proxy.port}"}
            self.assertEqual(self.run_agent("http://collector.example/", env).returncode, DONE)
            self.assert_each_once(self.taken(proxy))
            self.assertEqual(self.run_agent(server.url, env, proxy="").returncode, DONE)
            self.assert_each_once(self.taken(server))
            count = len(proxy.seen)
            env |= {"no_proxy": "127.0.0.1"}
            server.app.records.clear()
            self.assertEqual(self.run_agent(server.url, env).returncode, DONE)
            self.assert_each_once(self.taken(server))
            self.assertEqual(len(proxy.seen), count)

    @unittest.skipUnless(Authority.openssl(), "no openssl here")
    def test_https_goes_through_a_tunnel_that_sees_no_token(self):
        ca = Authority(self.folder)
        with Server(Lines()) as proxy, \
                Server(Lines(), tls=ca.server(*ca.issue("good"))) as server:
            done = self.run_agent(server.url, proxy=proxy.url, auth={"bearer": SECRET},
                                  tls={"ca": str(ca.ca)})
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assert_each_once(self.taken(server))
            self.assertEqual({request.method for request in proxy.seen}, {"CONNECT"})
            self.assertNotIn("authorization", proxy.seen[0].headers)


@unittest.skipUnless(Authority.openssl(), "no openssl here")
class Leaving(Agent):
    """Servers that end a connection of HTTP/2, or one request on it."""

    def deliver_to(self, app, fault, **keys):
        ca = Authority(self.folder)
        with http2.Server2(app, every(5, fault), ca.server(*ca.issue("good"))) as server:
            done = self.run_agent(server.url, tls={"ca": str(ca.ca)}, compression="none",
                                  batch={"events": 300}, **keys)
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assertGreater(next(server.numbers), EVENTS // 300, "no HTTP/2")

    def test_what_was_not_looked_at_comes_again_once(self):
        for fault in (http2.GOAWAY_UNSEEN, http2.REFUSED, http2.GOAWAY_ANSWERED):
            with self.subTest(fault):
                app = Lines()
                self.deliver_to(app, fault)
                self.assert_each_once(self.taken_of(app))

    def test_what_was_obeyed_and_not_answered_comes_again_and_is_there_once_where_it_has_a_name(self):
        for fault in (http2.GOAWAY_UNANSWERED, http2.RESET):
            with self.subTest(fault):
                app = Lines()
                self.deliver_to(app, fault)
                taken = self.taken_of(app)
                self.assertEqual(len(taken), EVENTS)
                self.assertGreater(sum(taken.values()), EVENTS)
        for fault in (http2.GOAWAY_UNSEEN, http2.REFUSED, http2.GOAWAY_ANSWERED,
                      http2.GOAWAY_UNANSWERED, http2.RESET):
            with self.subTest(fault, output="elasticsearch"):
                app = Bulk()
                self.deliver_to(app, fault, type="elasticsearch")
                found = [name for store in app.stores.values() for name in store if len(name) == 60]
                self.assertEqual(len(found), EVENTS)


@unittest.skipUnless(Authority.openssl() and shutil.which("haproxy"), "no haproxy here")
class Http2(Agent):
    def test_http2_is_spoken_where_it_is_offered(self):
        ca = Authority(self.folder)
        certificate, key = ca.issue("good")
        both = self.folder / "both.pem"
        both.write_bytes(certificate.read_bytes() + key.read_bytes())
        with Server(Lines()) as server:
            # haproxy takes an inherited socket, so that the port is ours before it starts.
            with socket.create_server(("127.0.0.1", 0)) as listener:
                port = listener.getsockname()[1]
                config = self.folder / "haproxy.cfg"
                config.write_text(
                    "defaults\n mode http\n timeout connect 5s\n timeout client 60s\n"
                    " timeout server 60s\n"
                    f"frontend f\n bind fd@{listener.fileno()} ssl crt {both} alpn h2,http/1.1\n"
                    " http-request set-header X-Version %[req.ver]\n default_backend b\n"
                    f"backend b\n server s 127.0.0.1:{server.port}\n")
                with subprocess.Popen(["haproxy", "-db", "-f", config], stderr=subprocess.DEVNULL,
                                      pass_fds=[listener.fileno()]) as front:
                    done = self.run_agent(f"https://127.0.0.1:{port}", tls={"ca": str(ca.ca)},
                                          compression="gzip")
                    front.terminate()
            self.assertEqual(done.returncode, DONE, done.stderr)
            self.assert_each_once(self.taken(server))
            self.assertEqual({request.headers["x-version"] for request in server.posts()}, {"2.0"})


if __name__ == "__main__":
    unittest.main()
