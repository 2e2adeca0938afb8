"""The outputs syslog and relp in a running agent, against rsyslog (imtcp with gtls, imudp, imrelp).

Debian: rsyslog, rsyslog-gnutls, rsyslog-relp. What is missing is skipped. `--full` kills either side 50 times.
"""

import json
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import siem_rig  # noqa: E402
from support.ports import reserve_port  # noqa: E402
from support.scripted_http import Authority  # noqa: E402
from support.waiting import wait_until  # noqa: E402

RSYSLOG = shutil.which("rsyslogd") or shutil.which("rsyslogd", path="/usr/sbin:/sbin")
MODULES = [Path(folder) for folder in ("/usr/lib/x86_64-linux-gnu/rsyslog", "/usr/lib/aarch64-linux-gnu/rsyslog",
                                       "/usr/lib/rsyslog", "/usr/lib64/rsyslog")]
SKIPPED = 77


def has(module):
    return any((folder / f"{module}.so").exists() for folder in MODULES)


def free_udp_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Receiver:
    """rsyslog that writes each message at once, and answers RELP after that."""
    START = b'{"app":"'  # no text has these bytes in it: its quotes are escaped

    def __init__(self, folder, inputs, tls=""):
        self.folder, self.file = folder, folder / "received"
        self.config = folder / "rsyslog.conf"
        self.config.write_text(
            f'global(workDirectory="{folder}" maxMessageSize="256k" '
            f'parser.escapeControlCharactersOnReceive="off" {tls})\n'
            'main_queue(queue.type="Direct")\n' + inputs +
            'template(name="t" type="list") { constant(value="{\\"app\\":\\"") property(name="app-name") '
            'constant(value="\\",\\"sd\\":\\"") property(name="structured-data" format="json") '
            'constant(value="\\",\\"msg\\":\\"") property(name="msg" format="json") constant(value="\\"}\\n") }\n'
            f'action(type="omfile" file="{self.file}" template="t")\n')
        self.file.touch()
        self.start()

    def start(self):
        pid_file = self.folder / "pid"
        pid_file.unlink(missing_ok=True)
        self.process = subprocess.Popen([RSYSLOG, "-n", "-f", self.config, "-i", pid_file],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(siem_rig.TIMEOUT_S)

    def size(self):
        return self.file.stat().st_size

    def messages(self):
        found = []
        for line in self.file.read_bytes().split(b"\n"):
            # What a kill cut off has no end, and the next message stands right behind it.
            try:
                found.append(json.loads(line[line.rfind(self.START):]))
            except ValueError:
                continue
        return found

    def events(self):
        return [json.loads(message["msg"]) for message in self.messages()]


class Syslog(siem_rig.Agent):
    def receiver(self, inputs, tls=""):
        receiver = Receiver(self.folder, inputs, tls)
        self.addCleanup(receiver.stop)
        return receiver

    def output(self, kind, port, **keys):
        return {"type": kind, "address": f"127.0.0.1:{port}", "batch": {"events": 50}} | keys

    def await_port(self, port):
        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        wait_until(listens)

    def expected(self):
        dump = subprocess.run([siem_rig.BINARY, "dump", self.trace], check=True, stdout=subprocess.PIPE,
                              timeout=siem_rig.TIMEOUT_S).stdout
        return [json.loads(line) for line in dump.splitlines()]

    def payloads(self, events):
        """The parts of an event that do not depend on the run, by its number."""
        return {event["etw"]["sequence"]: (event["@timestamp"], event["provider"], event.get("data"))
                for event in events if event["provider"].get("name") != "etwship"}

    def tls(self):
        if not (has("lmnsd_gtls") and Authority.openssl()):
            self.skipTest("no rsyslog-gnutls or openssl")
        authority = Authority(self.folder)
        certificate, key = authority.issue("server")
        return authority, (f'defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile="{authority.ca}" '
                           f'defaultNetstreamDriverCertFile="{certificate}" '
                           f'defaultNetstreamDriverKeyFile="{key}"')

    def test_every_message_arrives_whole_over_tls(self):
        authority, tls = self.tls()
        port = reserve_port(self)
        receiver = self.receiver(
            'module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" '
            f'StreamDriver.Authmode="anon")\ninput(type="imtcp" port="{port}" address="127.0.0.1")\n', tls)
        self.await_port(port)
        self.write(self.output("syslog", port, tls={"ca": str(authority.ca)}))
        self.run_to_the_end()
        wait_until(lambda: len(self.payloads(receiver.events())) == self.EVENTS)
        self.assertEqual(self.payloads(receiver.events()), self.payloads(self.expected()))
        self.assertIn('[etw@32473 provider=', receiver.messages()[0]["sd"])

    def test_a_certificate_of_another_authority_is_not_trusted(self):
        _, tls = self.tls()
        port = reserve_port(self)
        self.receiver('module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" '
                      f'StreamDriver.Authmode="anon")\ninput(type="imtcp" port="{port}" address="127.0.0.1")\n', tls)
        self.await_port(port)
        other = self.folder / "other"
        other.mkdir()
        self.write(self.output("syslog", port, tls={"ca": str(Authority(other).ca)}))
        done = subprocess.run([siem_rig.BINARY, "test-output", "siem", "-c", self.config], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=siem_rig.TIMEOUT_S, env=siem_rig.environment())
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("certificate is not trusted", done.stdout)

    def test_every_message_arrives_whole_over_tcp(self):
        port = reserve_port(self)
        receiver = self.receiver(
            f'module(load="imtcp")\ninput(type="imtcp" port="{port}" address="127.0.0.1")\n')
        self.await_port(port)
        self.write(self.output("syslog", port, transport="tcp"), labels={"ort": "Köln ]\\\""})
        self.assertNotIn("may be lost", self.run_to_the_end())
        wait_until(lambda: len(self.payloads(receiver.events())) == self.EVENTS)
        self.assertEqual(self.payloads(receiver.events()), self.payloads(self.expected()))
        self.assertEqual({event["labels"]["ort"] for event in receiver.events()}, {"Köln ]\\\""})

    def test_datagrams_arrive_as_messages(self):
        port = free_udp_port()
        receiver = self.receiver(
            f'module(load="imudp")\ninput(type="imudp" port="{port}" address="127.0.0.1")\n')
        self.write(self.output("syslog", port, transport="udp", app_name="x-{etw.session}"))

        def arrives():
            # Nobody says when it listens: what comes too early is gone.
            self.run_to_the_end()
            return receiver.size() > 0
        wait_until(arrives)
        receiver.stop()
        expected = self.payloads(self.expected())
        for number, payload in self.payloads(receiver.events()).items():
            self.assertEqual(payload, expected[number])
        self.assertEqual({message["app"] for message in receiver.messages()}, {"x-s"})

    def test_relp_loses_nothing_when_the_receiver_is_killed(self):
        port = reserve_port(self)
        receiver = self.relp_receiver(port)
        self.write(self.output("relp", port, transport="tcp"))
        agent = self.start()
        kills = 0
        for _ in range(self.KILLS):
            size = receiver.size()
            wait_until(lambda s=size: receiver.size() > s or agent.poll() is not None, tick_s=0.002)
            kills += agent.poll() is None
            receiver.kill()
            receiver.start()
        said = agent.stderr.read()
        self.assertEqual(agent.wait(siem_rig.TIMEOUT_S), siem_rig.DONE, said)
        receiver.stop()
        found = self.sequences(receiver.events())
        self.assert_all_there(found)
        self.assertGreater(kills, 0)
        self.assertLessEqual(sum(found.values()) - self.EVENTS, self.count(said, "maybe duplicates"))
        print(f"receiver killed {kills} times, {sum(found.values()) - self.EVENTS} duplicates")

    def test_relp_loses_nothing_when_the_agent_is_killed(self):
        port = reserve_port(self)
        receiver = self.relp_receiver(port)
        self.await_port(port)
        self.write(self.output("relp", port, transport="tcp"), durable=True)

        def some_more(agent, number):
            size = receiver.size()
            wait_until(lambda: receiver.size() > size + number * 20000 or agent.poll() is not None, tick_s=0.002)

        self.kill_on_the_way(some_more)
        receiver.stop()
        found = self.sequences(receiver.events())
        self.assertGreater(self.kills, 0)
        self.assert_all_there(found)
        print(f"agent killed {self.kills} times, {sum(found.values()) - self.EVENTS} duplicates")

    def relp_receiver(self, port):
        if not has("imrelp"):
            self.skipTest("no rsyslog-relp")
        return self.receiver(f'module(load="imrelp")\ninput(type="imrelp" port="{port}" '
                             'address="127.0.0.1" maxDataSize="256k")\n')


if __name__ == "__main__":
    if not RSYSLOG:
        print("skipped: no rsyslogd (Debian: rsyslog rsyslog-gnutls rsyslog-relp)")
        sys.exit(SKIPPED)
    siem_rig.main()
