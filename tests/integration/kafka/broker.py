"""A broker of Apache Kafka to test the output with: one node, in a process of its own, on free ports of the
loopback interface. What it is made of comes from Maven, as servers.py of the folder beside says.
"""

import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "opensearch"), str(Path(__file__).resolve().parents[2])]
from support.ports import hold_port
from support.scripted_http import Authority
from servers import JVM, Missing, fetch  # noqa: F401 (the tests import Missing from here)

POM = Path(__file__).parent / "pom.xml"
# Nets under what does not end, no measures.
START_S = 180
STOP_S = 60
SERVER = "kafka.server.KafkaRaftServer"  # logs STARTED when the broker takes requests
STARTED = "Kafka Server started"
CLUSTER = "AAAAAAAAQACAAAAAAAAAAQ"
USERS = 'user_admin="admin-secret" user_agent="agent-secret"'
SCRAM = "SCRAM-SHA-512"


class Running:
    """A process whose output a thread collects, so that a test can wait for words in it."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.text = ""
        self.ended = False
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.text += line.decode(errors="replace")
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def await_words(self, words, timeout):
        with self.changed:
            self.changed.wait_for(lambda: words in self.text or self.ended, timeout)
            if words not in self.text:
                raise AssertionError(f"never printed: {words}\n{self.text[-3000:]}")

    def wait(self, timeout):
        """Its exit code, once it has ended and all its output is in `text`."""
        code = self.process.wait(timeout)
        self.reader.join(timeout)
        self.process.stdout.close()
        return code

    def kill(self, timeout):
        self.process.kill()
        self.wait(timeout)


class Broker:
    """Listens at `plain`, where everybody is admin, and at these, where ACLs hold for the user agent: `sasl`, by SASL
    PLAIN without TLS; where openssl is there `scram`, by SCRAM over TLS; and `certified`, by the certificate of a
    client. `authority` has issued the broker's."""

    def __init__(self):
        self.jars = fetch("kafka", POM)
        self.work = tempfile.TemporaryDirectory(prefix="etwship-kafka-")
        self.folder = Path(self.work.name)
        self.authority = Authority(self.folder) if Authority.openssl() else None
        self.holders = [hold_port() for _ in range(5)]
        plain, sasl, scram, certified, self.control = (holder.getsockname()[1] for holder in self.holders)
        self.address, self.sasl, self.scram, self.certified = (
            f"127.0.0.1:{port}" for port in (plain, sasl, scram, certified))
        self.java = ["java", *JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                     f"-Dorg.slf4j.simpleLogger.log.{SERVER}=info", "-cp", ":".join(map(str, self.jars))]
        self.file = self.folder / "server.properties"
        self.file.write_text("\n".join(f"{key}={value}" for key, value in self.properties().items()) + "\n")
        self.run("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", self.file,
                 "--add-scram", f"{SCRAM}=[name=agent,password=agent-secret]")
        self.running = None
        self.start()

    def properties(self):
        listeners = {"PLAINTEXT": self.address, "SASL_PLAINTEXT": self.sasl}
        tls = {}
        if self.authority:
            listeners |= {"SASL_SSL": self.scram, "SSL": self.certified}
            certificate, key = self.authority.issue("broker")
            both = self.folder / "broker-both.pem"
            both.write_text(Path(key).read_text() + Path(certificate).read_text())
            tls = {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": both,
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": self.authority.ca,
                "listener.name.ssl.ssl.client.auth": "required",
                "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
                "listener.name.sasl_ssl.sasl.enabled.mechanisms": SCRAM,
                f"listener.name.sasl_ssl.{SCRAM.lower()}.sasl.jaas.config":
                    "org.apache.kafka.common.security.scram.ScramLoginModule required;",
            }
        shown = ",".join(f"{name}://{address}" for name, address in listeners.items())
        return tls | {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{self.control}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{shown},CONTROLLER://127.0.0.1:{self.control}",
            "advertised.listeners": shown,
            "listener.security.protocol.map": ",".join(
                [f"{name}:{name}" for name in listeners] + ["CONTROLLER:PLAINTEXT"]),
            "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config":
                f"org.apache.kafka.common.security.plain.PlainLoginModule required {USERS};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:admin",
            "log.dirs": self.folder / "logs",
            "num.partitions": 3,
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 2,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
        }

    def run(self, *arguments):
        """One of Kafka's own commands."""
        done = subprocess.run([*self.java, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=START_S, check=False, text=True)
        if done.returncode:
            raise AssertionError(f"{arguments[0]}: {done.stdout[-3000:]}")

    def quota(self, bytes_per_second):
        """Of everybody without a login; None: without limit."""
        change = ["--delete-config", "producer_byte_rate"] if bytes_per_second is None else [
            "--add-config", f"producer_byte_rate={bytes_per_second}"]
        self.run("kafka.admin.ConfigCommand", "--bootstrap-server", self.address, "--alter", *change,
                 "--entity-type", "users", "--entity-name", "ANONYMOUS")

    def start(self):
        self.running = Running([*self.java, "kafka.Kafka", self.file])
        try:
            self.running.await_words(STARTED, START_S)
        except BaseException:
            self.kill()
            raise

    def kill(self):
        """As a crash does. Harmless if it is not running."""
        if self.running:
            self.running.kill(STOP_S)
            self.running = None

    def close(self):
        self.kill()
        for holder in self.holders:
            holder.close()
        self.work.cleanup()
