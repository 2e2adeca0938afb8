"""`etwship support`: what the bundle holds, who may read it, and that no secret is in it.

A secret of every kind that a configuration can carry is planted, each by the way that it can come: as it is,
in a variable, in a file. The log holds all of them in every spelling. Then each member is searched.
"""

import base64
import json
import os
import re
import stat
import subprocess
import tempfile
import unittest
import urllib.parse
import zipfile
from pathlib import Path

BINARY = os.environ["ETWSHIP_BIN"]
SIM = os.environ["ETWSHIP_SIM"]  # the same with a registry
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 120
DONE, FAILED, USAGE, LOSSES = 0, 1, 2, 3

# By what it is planted as: secrets with letters that JSON and addresses spell otherwise among
# them, and one with a character that is not seen.
SECRETS = {
    "api_key": "kid-4711:Zk9-api-key-value",
    "password": 'pa"ss\\w/rd+9',
    "bearer": "bearer-9f8e7d6c5b4a",
    "proxy": "http://gateuser:gatepw-1q2w3e@127.0.0.1:8080",
    "header": "Splunk 5f2c-HEC-1b9e",
    "header_of_a_variable": "X9-header-variable",
    "query": "sig=A1b2C3d4E5f6&se=2027",
    "token": "status-token-5f6e7d8c9b0a",
    "hec_token": "hec-token-0a1b2c3d",
    "client_secret": "Q~client/secret+8b7a",
    "key_password": "opens/the+key-3c4d",
    "rdkafka": "ssl-keystore-5e6f7a8b",
    "hash_key": "hash-key-\u202e0123456789abcdef",
    "of_a_file": "token-in-a-file-77aa88bb",
    "variable": "shared-by-variable-31337",
}

CONFIG = r"""
agent:
  data_dir: {folder}/data
  log: {{file: {folder}/agent.log}}
  labels: {{site: '${{ETWSHIP_TEST_SITE}}'}}
spool: {{min_free_disk: 1MB, recorded: copy}}
status: {{listen: '127.0.0.1:9187', token: '{token}'}}
sessions: [{{name: f, type: file, paths: ['{folder}/*.etl']}}]
filters:
  - hash: {{fields: [data.UserName], key: '{hash_key}'}}
outputs:
  - name: es
    type: elasticsearch
    enabled: false
    hosts: ['http://127.0.0.1:9200']
    auth: {{api_key: '{api_key}'}}
    proxy: '{proxy}'
  - {{name: es2, type: elasticsearch, enabled: false, hosts: ['http://127.0.0.1:9200'], auth: {{user: ann, password: '{password}'}}}}
  - {{name: es3, type: elasticsearch, enabled: false, hosts: ['http://127.0.0.1:9200'], auth: {{bearer: '{bearer}'}}}}
  - {{name: es4, type: elasticsearch, enabled: false, hosts: ['http://127.0.0.1:9200'], auth: {{bearer: 'file:{folder}/token.txt'}}}}
  - {{name: hook, type: http, enabled: false, url: 'http://127.0.0.1:9/in?{query}', headers: {{Authorization: '{header}', X-Key: '${{ETWSHIP_TEST_HEADER}}'}}}}
  - {{name: hec, type: splunk_hec, enabled: false, urls: ['http://127.0.0.1:8088'], token: '{hec_token}'}}
  - name: azure
    type: azure_logs
    enabled: false
    endpoint: 'https://127.0.0.1:9'
    dcr: dcr-00000000000000000000000000000000
    stream: Custom-Etwship
    auth: {{tenant: 00000000-0000-0000-0000-000000000000, client_id: 00000000-0000-0000-0000-000000000001, client_secret: '{client_secret}'}}
  - name: kafka
    type: kafka
    enabled: false
    brokers: ['127.0.0.1:9']
    topic: t
    tls: {{cert: {folder}/c.pem, key: {folder}/k.pem, key_password: '{key_password}'}}
    rdkafka: {{ssl.keystore.password: '{rdkafka}'}}
  - {{name: local, type: file, path: {folder}/out.ndjson}}
"""


# What is secret by itself, of secrets that have parts.
PARTS = {
    "key of api_key": "Zk9-api-key-value",
    "credentials of header": "5f2c-HEC-1b9e",
    "password of proxy": "gatepw-1q2w3e",
}


def percent(text, form):
    """Percent-encoded as in an address, with hexadecimal digits of either case."""
    return re.sub("%..", lambda m: getattr(m[0], form)(), urllib.parse.quote(text, safe=""))


def spellings(secret):
    """The spellings that programs may give it."""
    return [secret, json.dumps(secret)[1:-1], percent(secret, "upper"), percent(secret, "lower"),
            base64.b64encode(secret.encode()).decode().rstrip("=")]


class Support(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etwship-support-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "etwship.yaml"
        self.bundle = self.folder / "bundle.zip"
        self.config.write_text(CONFIG.format(folder=self.folder, **SECRETS))
        (self.folder / "token.txt").write_text(SECRETS["of_a_file"] + "\n")
        (self.folder / "token.txt").chmod(0o600)

    def etwship(self, code, *arguments, unset=(), binary=BINARY):
        environment = {**os.environ, "HOME": str(self.folder), "ETWSIM_REGISTRY": str(self.folder / "registry"),
                       "ETWSHIP_TEST_SITE": SECRETS["variable"],
                       "ETWSHIP_TEST_HEADER": SECRETS["header_of_a_variable"]}
        for name in unset:
            del environment[name]
        done = subprocess.run([binary, *map(str, arguments)], env=environment, cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def support(self, code=DONE, **options):
        return self.etwship(code, "support", "-o", self.bundle, "-c", self.config, **options)

    def members(self):
        with zipfile.ZipFile(self.bundle) as bundle:
            self.assertIsNone(bundle.testzip())
            return {name: bundle.read(name).decode() for name in bundle.namelist()}

    def write_log(self):
        lines = []
        for name, secret in (SECRETS | PARTS).items():
            lines += [f"line about {name}: {text} and more" for text in spellings(secret)]
            lines.append("cut " + "x" * 50 + secret[:len(secret) // 2] + "…")
        pair = base64.b64encode(f"ann:{SECRETS['password']}".encode()).decode()
        lines += [f"> Authorization: Basic {pair}", "to http://old:rotated-2021@10.0.0.1/x?old=rotated-2022",
                  '{"password":"rotated-2023"}', "Authorization: ApiKey rotated-2024", "token=rotated-2025",
                  "the last line"]
        (self.folder / "agent.log").write_text("\n".join(lines) + "\n")

    def search(self, members):
        for name, text in members.items():
            for key, secret in (SECRETS | PARTS).items():
                for spelling in spellings(secret):
                    self.assertNotIn(spelling, text, f"{name} holds {key}")
                # What was cut within a secret.
                self.assertNotIn(secret[:max(8, len(secret) // 2)], text, f"{name} holds a part of {key}")
            self.assertNotIn("rotated-202", text, name)

    def test_no_secret_of_any_kind_is_in_any_member(self):
        self.write_log()
        self.support()
        members = self.members()
        self.search(members)
        self.assertIn("the last line", members["log.txt"])
        self.assertIn("user: ann", members["config.yaml"])
        self.assertGreater(members["log.txt"].count("***"), 40)

    def test_every_key_that_is_secret_was_planted(self):
        reference = self.etwship(DONE, "check", "--print-reference").stdout
        keys = set(re.findall(r"^\|[^|]*?`[^`|]*?([a-z_0-9]+)`[^|]*\| *secret", reference, re.M))
        self.assertEqual(keys, {"api_key", "password", "bearer", "proxy", "key", "token", "client_secret",
                                "key_password"},
                         "plant the others here, too")

    def test_nothing_shows_when_the_configuration_has_errors(self):
        self.write_log()
        text = self.config.read_text()
        self.config.write_text(text.replace("api_key:", "api_keyy:").replace("sessions:", "sesions:"))
        self.support(LOSSES)
        members = self.members()
        self.search(members)
        self.assertIn("api_keyy", members["check.txt"])
        self.assertIn("INCOMPLETE", members["README.txt"])
        self.assertIn("the last line", members["log.txt"])
        self.assertIn("name: local", members["config.yaml"])

    def test_a_variable_that_is_not_set_here_leaves_the_rest(self):
        self.support(LOSSES, unset=["ETWSHIP_TEST_HEADER"])
        members = self.members()
        self.assertIn("ETWSHIP_TEST_HEADER is not set", members["check.txt"])
        self.assertIn("name: hook", members["config.yaml"])

    def test_without_a_readable_configuration_the_log_stays_out(self):
        self.write_log()
        self.config.write_text("outputs: [}\n")
        self.support(LOSSES)
        members = self.members()
        self.assertNotIn("log.txt", members)
        self.assertNotIn("config.yaml", members)
        self.search(members)

    def demand(self, **values):
        """Set a value by Group Policy."""
        key = "SOFTWARE\\Policies\\etwship"
        lines = ["SOFTWARE", "SOFTWARE\\Policies", key]
        lines += [f"{key}\t{name}\t1\t{text.encode().hex()}" for name, text in values.items()]
        (self.folder / "registry").write_text("\n".join(lines) + "\n")

    def test_it_shows_what_the_policy_of_the_machine_makes_of_the_configuration(self):
        url = f"https://policy.example/in?{SECRETS['query']}-of-the-policy"
        self.demand(OutputName="hook", OutputUrl=url, OutputCa="/policy.pem")
        self.support(binary=SIM)
        members = self.members()
        self.search(members)
        self.assertIn("OutputUrl       https://policy.example/in?***\n", members["check.txt"])
        self.assertIn("https://policy.example/in", members["config.yaml"])
        self.assertIn("/policy.pem", members["config.yaml"])
        self.assertNotIn("http://127.0.0.1:9/in", members["config.yaml"])

    def test_a_policy_that_applies_to_no_output_gives_no_key_away(self):
        self.demand(OutputUrl="https://policy.example/in?key-of-the-policy")
        self.support(binary=SIM)
        self.assertIn("https://policy.example/in?***\n", self.members()["check.txt"])

    def test_a_policy_that_makes_no_sense_is_said(self):
        for value, text in [({"OutputName": "nosuch", "OutputUrl": "https://policy.example/"},
                             "policy OutputName: no output with an address is called 'nosuch'"),
                            ({"ServiceAccount": "root"}, "policy ServiceAccount: ")]:
            with self.subTest(text):
                self.bundle.unlink(missing_ok=True)
                self.demand(**value)
                self.support(LOSSES, binary=SIM)
                members = self.members()
                self.search(members)
                self.assertIn(text, members["check.txt"])
                self.assertIn("name: hook", members["config.yaml"])

    def test_a_real_run_is_in_it(self):
        subprocess.run([ETLGEN, "--mix", "realistic", "--events", "300", "-o", str(self.folder / "one.etl")],
                       check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
        self.etwship(DONE, "run", "-c", self.config)
        self.support()
        members = self.members()
        self.search(members)
        self.assertIn("etwship ", members["version.txt"])
        self.assertRegex(members["system.txt"], r"^time 20\d\d-\d\d-\d\dT[\d:]{8}\.\d+Z, local time is ")
        self.assertRegex(members["status.txt"], r"process \d+ used it last; no process has this number now")
        self.assertIn("spool/catalogue.db", members["files.txt"])
        self.assertIn("local", members["spool.txt"])
        self.assertIn("agent.memory", members["limits.txt"])
        for name in members:
            self.assertIn(name, members["README.txt"] + "README.txt")

    def test_only_its_owner_may_read_it(self):
        before = os.umask(0)
        try:
            self.support()
        finally:
            os.umask(before)
        self.assertEqual(stat.S_IMODE(self.bundle.stat().st_mode), 0o600)

    def test_what_is_there_stays(self):
        for target in ["file", "link", "dangling link"]:
            with self.subTest(target):
                mine = self.folder / "mine"
                mine.write_text("mine")
                self.bundle.unlink(missing_ok=True)
                if target == "file":
                    self.bundle.write_text("mine")
                else:
                    self.bundle.symlink_to(mine if target == "link" else self.folder / "nothing")
                done = self.support(FAILED)
                self.assertIn("already exists", done.stderr)
                self.assertEqual(mine.read_text(), "mine")
                self.assertFalse((self.folder / "nothing").exists())

    def test_a_log_that_is_a_link_is_not_followed(self):
        (self.folder / "private").write_text("somebody's own\n")
        (self.folder / "agent.log").symlink_to(self.folder / "private")
        self.support(LOSSES)
        self.assertNotIn("somebody's own", "".join(self.members().values()))
        (self.folder / "agent.log").unlink()
        self.bundle.unlink()
        os.link(self.folder / "private", self.folder / "agent.log")
        self.support(LOSSES)
        self.assertNotIn("somebody's own", "".join(self.members().values()))

    def test_a_large_log_is_its_last_lines(self):
        with (self.folder / "agent.log").open("w") as log:
            for number in range(60000):
                log.write(f"line {number} of a long log, which is more than anybody wants to read\n")
        (self.folder / "agent.log.1").write_text("older\n")
        self.support()
        lines = self.members()["log.txt"].splitlines()
        self.assertLess(sum(map(len, lines)), 1024 * 1024)
        self.assertEqual(lines[-1][:10], "line 59999")
        self.assertRegex(lines[0], r"^line \d+ of")

    def test_an_older_log_comes_before_a_short_one(self):
        (self.folder / "agent.log").write_text("newer\n")
        (self.folder / "agent.log.1").write_text("older\n")
        self.support()
        self.assertEqual(self.members()["log.txt"], "older\nnewer\n")

    def test_it_says_what_is_missing_on_the_command_line(self):
        self.assertIn("-o FILE.zip", self.etwship(USAGE, "support").stderr)

    def test_a_folder_that_is_missing_is_said(self):
        done = self.etwship(FAILED, "support", "-o", self.folder / "none/bundle.zip", "-c", self.config)
        self.assertIn("bundle.zip", done.stderr)

    def test_unzip_reads_it(self):
        self.support()
        try:
            done = subprocess.run(["unzip", "-t", str(self.bundle)], capture_output=True, text=True, check=False,
                                  timeout=TIMEOUT_S)
        except FileNotFoundError:
            self.skipTest("no unzip")
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
