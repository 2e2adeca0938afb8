"""A broker of Apache Kafka to test the output with: one node, in a process of its own, on free ports of the
loopback interface. What it is made of comes from Maven, as servers.py of the folder beside says.
"""

import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "opensearch"))
from servers import JVM, Missing, fetch  # noqa: F401 (Missing is for who uses this)

POM = Path(__file__).parent / "pom.xml"
# Nets under what does not end, no measures.
START_S = 180
CLUSTER = "AAAAAAAAQACAAAAAAAAAAQ"
USERS = 'user_admin="admin-secret" user_agent="agent-secret"'


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
        self.java = ["java", *JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", ":".join(map(str, jars))]
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
        self.process = None
        self.start()

    def start(self):
        self.log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen([*self.java, "kafka.Kafka", self.file], stdout=self.log, stderr=self.log,
                                        stdin=subprocess.DEVNULL)
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError((self.folder / "log").read_text(errors="replace")[-3000:])
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.plain)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the broker does not listen")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        self.work.cleanup()
