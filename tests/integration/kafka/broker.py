"""A broker of Apache Kafka to test the output with: one node, in a process of its own, on free ports of the
loopback interface. What it is made of comes from Maven, as servers.py of the folder beside says.
"""

import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "opensearch"))
from servers import JVM, Missing, fetch  # noqa: F401 (the tests import Missing from here)

POM = Path(__file__).parent / "pom.xml"
# Nets under what does not end, no measures.
START_S = 180
STOP_S = 60
SERVER = "kafka.server.KafkaRaftServer"  # logs STARTED when the broker takes requests
STARTED = "Kafka Server started"
CLUSTER = "AAAAAAAAQACAAAAAAAAAAQ"
USERS = 'user_admin="admin-secret" user_agent="agent-secret"'


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


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Broker:
    """Listens at `plain`, where everybody is admin, and at `sasl`, by SASL PLAIN without TLS; ACLs hold for
    the user agent."""

    def __init__(self):
        jars = fetch("kafka", POM)
        self.work = tempfile.TemporaryDirectory(prefix="etwship-kafka-")
        self.folder = Path(self.work.name)
        self.plain, self.sasl, control = free_ports(3)
        self.address = f"127.0.0.1:{self.plain}"
        self.sasl_address = f"127.0.0.1:{self.sasl}"
        self.java = ["java", *JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                     f"-Dorg.slf4j.simpleLogger.log.{SERVER}=info", "-cp", ":".join(map(str, jars))]
        self.file = self.folder / "server.properties"
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        self.file.write_text("\n".join(f"{key}={value}" for key, value in {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{control}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.plain},SASL_PLAINTEXT://127.0.0.1:{self.sasl},"
                         f"CONTROLLER://127.0.0.1:{control}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.plain},SASL_PLAINTEXT://127.0.0.1:{self.sasl}",
            "listener.security.protocol.map":
                "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{login} {USERS};",
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
        }.items()) + "\n")
        subprocess.run([*self.java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", self.file], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=START_S)
        self.running = None
        self.start()

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
        self.work.cleanup()
