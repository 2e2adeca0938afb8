"""OpenSearch with TLS, users and roles: credentials and rights that are missing, and those that are
enough.

    real_security.py
"""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import etwship
import servers

EXAMPLE = Path(__file__).resolve().parents[3] / "config" / "examples" / "elasticsearch.yaml"
EVENTS = 2000
PASSWORD = "kR8!vTq2#wZx"


class Security(etwship.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = servers.Server(cls.kind)
        cls.addClassCleanup(cls.server.close)
        cls.ca = cls.kind.certificates.ca

    def output_of(self, user, password, **more):
        tls = {"ca": str(self.ca)}
        return self.output(self.server.url, **({"auth": {"user": user, "password": password},
                                                "tls": tls} | more))

    def try_output(self, user, password, code=etwship.FAILED, **more):
        config = self.write(self.output_of(user, password, **more))
        return self.etwship("test-output", "siem", "-c", config, code=code)

    def make_user(self, name, cluster, pattern, index):
        api = "/_plugins/_security/api"
        self.server.ask("PUT", f"{api}/roles/{name}", {
            "cluster_permissions": cluster,
            "index_permissions": [{"index_patterns": [pattern], "allowed_actions": index}]})
        self.server.ask("PUT", f"{api}/internalusers/{name}", {
            "password": PASSWORD, "opendistro_security_roles": [name]})

    def test_each_layer_that_is_wrong_is_named(self):
        text = self.try_output("admin", "wrong")
        self.assertIn("certificate is trusted", text)
        self.assertRegex(text, r"fault: .*status 401.*check auth")
        self.assertNotIn("wrong", text)

        text = self.try_output("admin", "admin", tls={})
        self.assertIn("fault: certificates (TLS): ", text)

        plain = self.server.url.replace("https://", "http://")
        text = self.try_output("admin", "admin", hosts=[plain])
        self.assertRegex(text, r"fault: reply \(HTTP\): .* write https://")

        text = self.try_output("readall", "readall")
        self.assertIn("security_exception", text)

    def test_setup_says_which_rights_it_needs_and_they_are_enough(self):
        config = self.write(self.output_of("readall", "readall"))
        text = self.etwship("setup", "siem", "-c", config, code=etwship.FAILED)
        self.assertIn("security_exception", text)
        told = re.search(r"OpenSearch: setup needs the cluster permissions (.*?); shipping needs "
                         r"the cluster permissions (.*?) and, for (\S+), the index permissions "
                         r"(.*)$", text, re.MULTILINE)
        self.assertIsNotNone(told, text)
        setup, shipping, pattern, index = (re.split(r", | and ", part) for part in told.groups())
        self.make_user("preparer", setup, pattern[0], ["indices:monitor/data_stream/*"])
        self.make_user("shipper", shipping, pattern[0], index)
        config = self.write(self.output_of("preparer", PASSWORD))
        self.assertIn("is in place", self.etwship("setup", "siem", "-c", config))
        self.assertNotIn("fault: ", self.try_output("shipper", PASSWORD, etwship.DONE))

    def test_the_example_ships_every_trace_of_a_folder(self):
        traces = self.folder / "traces" / "inner"
        traces.mkdir(parents=True)
        etwship.make_trace(traces / "one.etl", EVENTS)
        example = self.folder / "elasticsearch.yaml"
        shutil.copy(EXAMPLE, example)
        environment = os.environ | {
            "ETWSHIP_TRACES": str(traces.parent), "ES_URL": self.server.url, "ES_USER": "admin",
            "ES_PASSWORD": "admin"}

        def etwship_with(*arguments):
            done = subprocess.run(
                [etwship.BINARY, *arguments, "-c", example, "--set",
                 f"outputs.siem.tls.ca={self.ca}", "--set", "agent.log.stats=0",
                 "--set", f"agent.data_dir={self.folder / 'state'}",
                 "--set", "spool.min_free_disk=1MB"],
                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=etwship.TIMEOUT_S, check=False)
            self.assertEqual(done.returncode, etwship.DONE, done.stdout.decode())

        etwship_with("setup", "siem")
        etwship_with("run")
        documents = self.server.documents("logs-etw.events-prod").values()
        self.assertEqual(sorted(document["event"]["sequence"] for document in documents),
                         list(range(1, EVENTS + 1)))
        for document in documents:
            self.assertEqual(document["data_stream"],
                             {"type": "logs", "dataset": "etw.events", "namespace": "prod"})

    def test_a_user_without_rights_costs_no_event_once_the_rights_are_there(self):
        """Each reply is a 200, each item in it a 403."""
        stream = {"dataset": "etw.late"}
        self.make_user("late", ["cluster:monitor/main", "indices:data/write/bulk"], "other-*",
                       ["indices:data/read/get"])
        trace = etwship.make_trace(self.folder / "late.etl", EVENTS)
        config = self.write(self.output_of("admin", "admin", data_stream=stream))
        self.etwship("setup", "siem", "-c", config)
        config = self.write(self.output_of("late", PASSWORD, data_stream=stream,
                                           retry={"min": "20ms", "max": "200ms"}), traces=[trace])
        agent = etwship.Agent(self, config)
        agent.wait_for_text("output siem: degraded: ")
        self.assertIn("security_exception", agent.text())
        self.make_user("late", ["cluster_composite_ops"], "logs-etw.late-*",
                       ["crud", "create_index", "indices:admin/mapping/auto_put"])
        agent.end()
        self.assertEqual(self.server.count("logs-etw.late-default"), EVENTS)


def main():
    try:
        Security.kind = servers.Security()
    except servers.Missing as error:
        print(f"skipped: {error}")
        sys.exit(77)
    try:
        good = unittest.main(exit=False).result.wasSuccessful()
    finally:
        Security.kind.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
