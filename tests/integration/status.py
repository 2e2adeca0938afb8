"""What a running agent shows of itself: metrics that balance, health with the right cause for what goes wrong, on TCP
and at a socket of the file system.
"""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from status_rig import AWAY, BINARY, EVENTS, TIMEOUT_S, TOKEN, Rig, always, of, parse  # noqa: E402
from support.scripted_http import Fault, Reply  # noqa: E402
from support.waiting import wait_until  # noqa: E402


class Status(Rig):
    def test_numbers_balance_and_are_the_same_everywhere(self):
        self.write()
        agent = self.start()
        self.add_events()
        wait_until(lambda: of(self.metrics(), "output_acked_events_total", output="siem") >= EVENTS,
                   self.log, agent)
        samples = self.metrics()
        self.assert_balanced(samples)
        self.assertEqual(of(samples, "session_accepted_events_total", session="traces"), EVENTS)
        self.assertEqual(of(samples, "healthy"), 1)
        self.assertEqual(of(samples, "spool_full"), 0)
        self.assertEqual(of(samples, "provider_events_total"), EVENTS)
        # ETW's losses are lost, and were never dropped. The filter's drops are intended: dropped, and not lost.
        kinds = {name: {(dict(labels)["stage"], dict(labels)["reason"]) for found, labels in samples
                        if found == f"etwship_session_{name}_events_total"} for name in ("lost", "dropped")}
        self.assertEqual(kinds["lost"] - kinds["dropped"], {("etw", "events_lost")})
        self.assertEqual(kinds["dropped"] - kinds["lost"], {("filter", "stack_walk")})
        status = json.loads(self.get("/status")[1])
        self.assertEqual(status["sessions"][0]["accepted"], EVENTS)
        self.assertEqual(status["outputs"][0]["acked"], of(samples, "output_acked_events_total"))
        self.assertEqual(status["health"]["causes"], [])
        code, text = self.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
        self.assertTrue(code == 200 and text.endswith("\n# EOF\n"))
        self.assertEqual(parse(text).keys(), samples.keys())
        if shutil.which("promtool"):
            checked = subprocess.run(["promtool", "check", "metrics"], input=self.get("/metrics")[1], text=True,
                                     capture_output=True, timeout=TIMEOUT_S, check=False)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(TIMEOUT_S), 0)
        self.assertFalse(self.path.exists())

    def test_each_trouble_of_a_server_has_its_cause(self):
        self.write()
        agent = self.start()
        page = Reply(200, "<html>log in</html>", {"Content-Type": "text/html"})
        for name, faults, cause in (
                ("away", always(AWAY), "output_failing"),
                ("busy", always(Fault(Reply(429, {"error": "slow"}))), "output_failing"),
                ("asks to wait", always(Fault(Reply(503, "", {"Retry-After": "1"}))), "output_failing"),
                ("a web page", always(Fault(page)), "output_"),
                ("no right", always(Fault(Reply(403, {"error": {"type": "security_exception",
                                                                  "reason": "no permissions"}}))),
                 "output_degraded")):
            with self.subTest(name):
                self.server.faults = faults
                self.add_events(50)
                if cause == "output_":
                    wait_until(lambda: self.get("/health")[0] == 503, self.log, agent, tick_s=0.1)
                else:
                    self.wait_for_cause(agent, cause, 503)
                self.assertEqual(self.get("/ready")[0], 200)
                self.server.faults = None
                self.wait_until_healthy(agent)
        self.store.refuse = lambda number, index, name, document: (
            (403, "cluster_block_exception", "index [x] blocked by: [FORBIDDEN/8/index write (api)];"))
        self.add_events(50)
        wait_until(lambda: self.get("/health")[0] == 503, self.log, agent, tick_s=0.1)
        self.store.refuse = None
        self.wait_until_healthy(agent)
        self.store.refuse = lambda number, index, name, document: (
            (400, "mapper_parsing_exception", "failed to parse") if number % 25 == 0 else None)
        self.add_events(50)
        self.wait_for_cause(agent, "output_refuses", 200)

    def test_status_and_top_ask_the_agent(self):
        self.write()
        done = self.etwship("status")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no agent runs", done.stderr)
        agent = self.start()
        self.add_events()
        wait_until(lambda: len(self.store.documents()) >= EVENTS, self.log, agent)
        self.wait_until_healthy(agent)
        done = self.etwship("status")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "healthy\n", ""))
        self.assertEqual(json.loads(self.etwship("status", "--json").stdout)["outputs"][0]["name"], "siem")
        done = self.etwship("top")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
        self.assertEqual(rows["etwship"][0], "healthy,")
        self.assertEqual(rows["traces"][3:], ["0", "0", "0"])
        self.assertEqual(rows["siem"][4:], ["0", "0"])
        self.assertEqual(rows["PROVIDER"], ["events/s", "undecoded/s"])
        self.assertEqual(rows["Etwship-Sample-Process"], ["0", "0"])
        self.server.faults = always(AWAY)
        self.add_events(50)
        self.wait_for_cause(agent, "output_failing", 503)
        done = self.etwship("status")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout, r"\Adegraded\ndegraded: output siem: .*\. to do: ")

    def browse(self, *options):
        """The page in a browser after its second request."""
        browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not browser:
            self.skipTest("there is no Chromium")
        return subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                               f"--user-data-dir={self.folder}/browser", "--virtual-time-budget=7000", *options,
                               f"http://127.0.0.1:{self.port}/"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              encoding="utf-8", timeout=TIMEOUT_S, check=True).stdout

    def test_the_page_shows_what_the_metrics_say(self):
        code, page = self.get_page()
        self.assertEqual(code, 200)
        self.assertLess(len(page), 40 * 1024)
        self.assertNotRegex(page, r"(src|href)=.?(https?:)?//|@import|url\(")
        self.add_events()
        wait_until(lambda: of(self.metrics(), "output_acked_events_total", output="siem") >= EVENTS, self.log)
        samples = self.metrics()
        shown = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", self.browse("--dump-dom"), flags=re.S)
        text = re.sub(r"<[^>]*>", "|", shown)
        self.assertIn("✓ healthy", text)
        rows = [re.sub(r"<[^>]*>", " ", row).split() for row in re.findall(r"<tr>.*?</tr>", shown, re.S)]
        cells = {row[0]: row[1:] for row in rows if row}
        self.assertIn(f"{int(of(samples, 'session_events_total')):,}", cells["traces"])
        self.assertIn(f"{int(of(samples, 'output_acked_events_total')):,}", cells["siem"])
        self.assertIn("Not accounted for||0 events", text)
        provider = max((dict(labels)["provider"] for name, labels in samples if name == "etwship_provider_events_total"),
                       key=lambda name: of(samples, "provider_events_total", provider=name))
        self.assertIn(f"{int(of(samples, 'provider_events_total', provider=provider)):,}", cells[provider])
        self.assertIn(json.loads(self.get("/status")[1])["config"]["hash"], text)
        self.assertRegex(shown, r'<svg[^>]*aria-label="events of session traces in the last \d+ minutes: at most ')
        for heading in re.findall(r'aria-labelledby="([^"]*)"', shown):
            self.assertIn(f'id="{heading}"', shown)
        for cell in re.findall(r"<th(?: [^>]*)?>", shown):
            self.assertIn("scope=", cell)

    def test_what_was_is_kept_and_told(self):
        self.write()
        agent = self.start()
        first = json.loads(self.get("/status")[1])
        self.assertEqual([load["result"] for load in first["loads"]], ["runs"])
        self.assertEqual(first["loads"][0]["hash"], first["config"]["hash"])
        good = self.config.read_text()
        self.config.write_text("sessions: [\n")
        agent.send_signal(signal.SIGHUP)
        self.wait_for_cause(agent, "reload_refused", 200)
        self.write(batch={"events": 100})
        agent.send_signal(signal.SIGHUP)
        wait_until(lambda: len(json.loads(self.get("/status")[1])["loads"]) == 3, self.log, agent)
        now = json.loads(self.get("/status")[1])
        self.assertEqual([load["result"] for load in now["loads"]], ["runs", "refused", "runs"])
        self.assertNotEqual(now["loads"][0]["hash"], first["config"]["hash"])
        self.config.write_text(good)
        agent.send_signal(signal.SIGHUP)
        wait_until(lambda: len(json.loads(self.get("/status")[1])["loads"]) == 4, self.log, agent)
        again = json.loads(self.get("/status")[1])
        self.assertEqual(again["config"]["hash"], first["config"]["hash"])
        self.assertIn("reload_refused", [line["id"] for line in again["recent"]])
        self.assertTrue(all(line["what_to_do"] for line in again["recent"]))
        wait_until(lambda: json.loads(self.get("/history")[1])["sessions"], self.log, agent)  # a mark every 10 s
        kept = json.loads(self.get("/history")[1])
        self.assertEqual((kept["every_s"], list(kept["sessions"]), list(kept["outputs"])), (10, ["traces"], ["siem"]))

    def get_page(self):
        self.write()
        self.start()
        return self.get("/")

    def test_status_needs_a_place_to_ask(self):
        self.write()
        config = json.loads(self.config.read_text())
        del config["status"]
        self.config.write_text(json.dumps(config))
        for command in ("status", "top"):
            done = self.etwship(command)
            self.assertEqual(done.returncode, 2)
            self.assertIn("add status:", done.stderr)

    def test_a_server_that_never_answers_is_told_as_stalled(self):
        self.write()
        agent = self.start()
        self.server.faults = always(Fault(Reply(200), delay_s=30))
        self.add_events(50)
        self.wait_for_cause(agent, "output_stalled", 503)

    def test_the_service_manager_hears_what_health_says(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(self.folder / "notify"))
        manager.settimeout(TIMEOUT_S)
        self.write()
        with open(self.folder / "log", "ab") as log:
            agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=log, env=dict(
                os.environ, NOTIFY_SOCKET=str(self.folder / "notify"), WATCHDOG_USEC="1000000"))
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)

        def hear(wanted):
            """Signs of life continue, whatever is wrong: a restart does not repair a server."""
            lives = 0
            while True:
                name, _, value = manager.recv(65536).decode().partition("=")
                lives += name == "WATCHDOG"
                if name == "STATUS" and wanted(value) and lives:
                    return value
        wait_until(self.is_ready, self.log, agent)
        self.server.faults = always(AWAY)
        self.add_events(50)
        self.wait_for_cause(agent, "output_failing", 503)
        said = hear(lambda value: value.startswith("degraded: "))
        self.assertRegex(said, r"^degraded: output siem: .*; session traces: \d+ received")
        self.server.faults = None
        self.wait_until_healthy(agent)
        hear(lambda value: value.startswith("session traces: "))

    def test_a_configuration_that_is_refused_is_told_until_it_is_mended(self):
        self.write()
        agent = self.start()
        good = self.config.read_text()
        self.config.write_text("sessions: [\n")
        agent.send_signal(signal.SIGHUP)
        self.wait_for_cause(agent, "reload_refused", 200)
        self.config.write_text(good)
        agent.send_signal(signal.SIGHUP)
        wait_until(lambda: json.loads(self.get("/health")[1])["causes"] == [], self.log, agent)

    def test_a_reload_moves_the_server(self):
        self.write()
        agent = self.start()
        self.write({"unix": str(self.path)})
        agent.send_signal(signal.SIGHUP)

        def is_gone():
            try:
                self.get("/health")
                return False
            except OSError:
                return True
        wait_until(is_gone, self.log, agent)

        def answers():  # the old socket may be there for a moment
            try:
                return self.ask_local("/health")[:12] == b"HTTP/1.1 200"
            except OSError:
                return False
        wait_until(answers, self.log, agent)

    def ask_local(self, path):
        with socket.socket(socket.AF_UNIX) as local:
            local.connect(str(self.path))
            local.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            return b"".join(iter(lambda: local.recv(65536), b""))

    def test_which_clients_may_ask(self):
        self.write({"listen": f"127.0.0.1:{self.port}", "unix": str(self.path), "token": TOKEN})
        agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        wait_until(self.path.exists, process=agent)
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        wait_until(lambda: self.ask_local("/ready")[:12] == b"HTTP/1.1 200", process=agent)
        self.assertEqual(self.get("/metrics")[0], 401)
        self.assertEqual(self.get("/metrics", Authorization=f"Bearer {TOKEN}")[0], 200)
        self.assertEqual(self.get("/metrics", Authorization=f"Bearer {TOKEN}", Host="evil.example")[0], 403)
        self.assertEqual(self.get("/nothing", Authorization=f"Bearer {TOKEN}")[0], 404)

    def tap(self, query):
        """A connection that taps: a file of its lines, after the head."""
        local = socket.socket(socket.AF_UNIX)
        self.addCleanup(local.close)
        local.connect(str(self.path))
        local.settimeout(TIMEOUT_S)
        local.sendall(f"GET /tap?{query} HTTP/1.1\r\n\r\n".encode())
        lines = local.makefile("rb")
        self.addCleanup(lines.close)
        status = lines.readline()
        while lines.readline() != b"\r\n":
            pass
        return status, lines

    def add_until(self, process):
        """Ship events until `process` has seen enough."""
        while process.poll() is None:
            self.add_events(50)
            try:
                process.wait(0.5)
            except subprocess.TimeoutExpired:
                pass

    def test_events_are_shown_as_they_pass(self):
        self.write()
        agent = self.start()
        for name in ("traces", "siem"):
            with self.subTest(name):
                tap = subprocess.Popen([BINARY, "tap", name, "-n", "5", "--where", "process.pid > 0", "-c", self.config],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                self.addCleanup(tap.kill)
                self.add_until(tap)
                out, err = tap.communicate()
                self.assertEqual(tap.returncode, 0, err)
                events = [json.loads(line) for line in out.splitlines()]
                self.assertEqual(len(events), 5)
                self.assertTrue(all(event["process"]["pid"] > 0 and event["etw"]["session"] == "traces"
                                    for event in events))
        for arguments, code, word in ((["nothing"], 2, "no running session or output"),
                                      (["siem", "--where", "a =="], 2, "expression"),
                                      (["siem", "--rate", "0"], 2, "from 1 to")):
            with self.subTest(arguments):
                done = self.etwship("tap", *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(word, done.stderr)
        self.assertEqual(self.get("/tap?of=siem")[0], 403)
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(TIMEOUT_S), 0)

    def test_what_is_beyond_the_rate_is_left_out_and_counted(self):
        self.write()
        agent = self.start()
        status, lines = self.tap("of=traces&rate=10")
        self.assertEqual(status, b"HTTP/1.1 200 OK\r\n")
        self.add_events(2000)
        wait_until(lambda: len(self.store.documents()) >= 2000, self.log, agent)
        agent.send_signal(signal.SIGTERM)
        got = [json.loads(line) for line in lines]  # up to the end, which the stop is
        self.assertEqual(agent.wait(TIMEOUT_S), 0)
        shown = [line for line in got if "tap" not in line]
        self.assertEqual(len(shown) + sum(line["tap"]["omitted"] for line in got if "tap" in line), 2000)
        self.assertLess(len(shown), 200)

    def test_a_tap_that_is_not_read_delays_nothing(self):
        self.write()
        agent = self.start()
        taps = [self.tap("of=traces&rate=10000") for _ in range(4)]
        self.assertEqual([status.split()[1] for status, _ in taps], [b"200"] * 4)
        self.assertEqual(self.tap("of=traces")[0].split()[1], b"429")
        self.assertEqual(self.etwship("tap", "traces").returncode, 1)
        self.add_events(5000)
        wait_until(lambda: len(self.store.documents()) >= 5000, self.log, agent)
        self.assert_balanced(self.metrics())

    def test_a_reload_ends_a_tap(self):
        self.write()
        agent = self.start()
        _, lines = self.tap("of=siem")
        self.write(batch={"events": 100})
        agent.send_signal(signal.SIGHUP)
        self.assertEqual(list(lines), [])
        wait_until(self.is_ready, self.log, agent)
        self.assertEqual(self.tap("of=siem")[0].split()[1], b"200")

    def test_addresses_of_others_are_refused_by_check(self):
        for listen, word in (("0.0.0.0:9187", "add tls and token"), ("10.0.0.1:1", "add tls and token"),
                             ("[::]:80", "add tls and token"), ("127.0.0.1", "not an address and port"),
                             ("127.0.0.1:0", "not an address and port"), ("::1:80", "not an address and port"),
                             ("example.org:80", "not an address and port")):
            with self.subTest(listen):
                self.write({"listen": listen})
                done = self.etwship("check")
                self.assertEqual(done.returncode, 2)
                self.assertIn(word, done.stderr)
        self.write({"listen": "127.0.0.1:9187", "token": "short"})
        self.assertIn("token", self.etwship("check").stderr)

    def make_certificate(self, name="cert"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", f"{self.folder}/{name}.key", "-out", f"{self.folder}/{name}.pem", "-days", "2",
                        "-subj", "/CN=agent.example", "-addext", "subjectAltName=DNS:agent.example"],
                       check=True, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)

    def tls_status(self, name="cert"):
        return {"listen": f"0.0.0.0:{self.port}", "token": TOKEN,
                "tls": {"cert": f"{self.folder}/{name}.pem", "key": f"{self.folder}/{name}.key"}}

    def get_tls(self, path, cert="cert", **headers):
        """A request like that of a scraper on another machine, which has the certificate and the agent's name."""
        context = ssl.create_default_context(cafile=self.folder / f"{cert}.pem")
        with socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S) as plain:
            with context.wrap_socket(plain, server_hostname="agent.example") as secure:
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                secure.sendall(f"GET {path} HTTP/1.1\r\nHost: agent.example:{self.port}\r\n{lines}\r\n".encode())
                head, _, body = b"".join(iter(lambda: secure.recv(65536), b"")).partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode()

    def start_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl")
        self.make_certificate()
        self.write(self.tls_status())
        log = open(self.folder / "log", "ab")
        self.addCleanup(log.close)
        agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=log)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        wait_until(self.is_ready_tls, self.log, agent)
        return agent

    def is_ready_tls(self, cert="cert"):
        try:
            return self.get_tls("/ready", cert, Authorization=f"Bearer {TOKEN}")[0] == 200
        except OSError:
            return False

    def test_other_machines_ask_over_tls_with_the_token(self):
        agent = self.start_tls()
        self.add_events()
        wait_until(lambda: len(self.store.documents()) >= EVENTS, self.log, agent)
        self.assertEqual(self.get_tls("/metrics")[0], 401)
        code, text = self.get_tls("/metrics", Authorization=f"Bearer {TOKEN}")
        self.assertEqual(code, 200)
        self.assert_balanced(parse(text))
        with self.assertRaises((OSError, http.client.HTTPException)):
            self.get("/ready")  # without TLS
        self.assertEqual(self.etwship("status").stdout, "healthy\n")
        self.assertEqual(json.loads(self.etwship("status", "--json").stdout)["outputs"][0]["name"], "siem")
        self.assertIn("siem", self.etwship("top").stdout)
        tap = subprocess.Popen([BINARY, "tap", "siem", "-n", "2", "-c", self.config], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(tap.kill)
        self.add_until(tap)
        out, err = tap.communicate()
        self.assertEqual((tap.returncode, err, len(out.splitlines())), (0, "", 2))
        self.make_certificate("new")
        self.write(self.tls_status("new"))
        done = self.etwship("status")  # before the reload: another program may answer there
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("does not have the certificate", done.stderr)
        agent.send_signal(signal.SIGHUP)
        wait_until(lambda: self.is_ready_tls("new"), self.log, agent)
        self.assertEqual(self.etwship("status").stdout, "healthy\n")
        self.assertNotIn(TOKEN, self.log())

    def test_unfinished_handshakes_hold_up_no_other_client(self):
        agent = self.start_tls()
        hello = ssl.MemoryBIO()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="agent.example").do_handshake()
        except ssl.SSLWantReadError:
            pass
        greeting = hello.read()
        slow = []
        for i in range(200):
            slow.append(socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S))
            self.addCleanup(slow[-1].close)
            slow[-1].sendall(greeting[:i * 3 if i % 2 else len(greeting)])
        self.add_events(2000)
        wait_until(lambda: len(self.store.documents()) >= 2000, self.log, agent)
        self.assertEqual(self.get_tls("/health", Authorization=f"Bearer {TOKEN}")[0], 200)
        with socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertNotIn(b"HTTP", plain.recv(100))  # at most a TLS alert

    def test_a_key_with_a_password_is_refused_without_a_prompt(self):
        self.make_certificate()
        subprocess.run(["openssl", "ec", "-aes256", "-passout", "pass:x", "-in", f"{self.folder}/cert.key", "-out",
                        f"{self.folder}/locked.key"], check=True, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)
        status = self.tls_status()
        status["tls"]["key"] = f"{self.folder}/locked.key"
        self.write(status)
        log = open(self.folder / "log", "ab")
        self.addCleanup(log.close)
        agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=log, stdin=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        wait_until(lambda: "locked.key: it holds no key in PEM, without a password" in self.log(), self.log, agent)

    def test_tls_is_checked(self):
        self.make_certificate()
        good = self.tls_status()
        for change, word in (({"tls": {"cert": good["tls"]["cert"]}}, "cert and key belong together"),
                             ({"listen": None, "unix": str(self.path), "token": None}, "it applies to listen only"),
                             ({"token": None}, "add tls and token"), ({"tls": None}, "add tls and token")):
            with self.subTest(change):
                self.write({key: value for key, value in (good | change).items() if value is not None})
                done = self.etwship("check")
                self.assertEqual(done.returncode, 2)
                self.assertIn(word, done.stderr)

    def test_a_port_that_is_taken_keeps_no_agent_from_running(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", self.port))
            taken.listen()
            self.write({"listen": f"127.0.0.1:{self.port}"})
            self.add_events()
            with open(self.folder / "log", "wb") as log:
                agent = subprocess.Popen([BINARY, "run", "-c", self.config], stderr=log)
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)
            wait_until(lambda: len(self.store.documents()) >= EVENTS, self.log, agent)
            self.assertIn("status: cannot listen at port", self.log())


if __name__ == "__main__":
    unittest.main()
