"""The azure_logs output in a running agent, against a server that keeps to the published limits of the service."""

import base64
import hashlib
import itertools
import json
import sys
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

try:
    from azure.core.credentials import AccessToken
    from azure.core.exceptions import HttpResponseError
    from azure.monitor.ingestion import LogsIngestionClient
except ImportError:
    LogsIngestionClient = None

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import siem_rig  # noqa: E402
from support.scripted_http import Authority, Fault, Reply, Server, every  # noqa: E402

LIMIT = 1024 * 1024


class Azure:
    """Entra and the Logs Ingestion API. A token is valid for so many requests, whatever lifetime it names."""

    def __init__(self, requests_per_token=1000, limit=LIMIT):
        self.uses, self.left, self.limit = requests_per_token, 0, limit
        self.tokens, self.wrong = itertools.count(1), []
        self.token, self.records, self.largest, self.forms = None, [], 0, []

    def __call__(self, request):
        if request.path == "/tenant/oauth2/v2.0/token":
            self.forms.append(dict(urllib.parse.parse_qsl(request.body.decode())))
            self.token, self.left = f"token-{next(self.tokens)}", self.uses
            return Reply(200, {"token_type": "Bearer", "expires_in": 3600, "access_token": self.token})
        if request.path != "/dataCollectionRules/dcr-1/streams/Custom-Etw" or request.query != {
                "api-version": "2023-01-01"}:
            self.wrong.append(request.target)
            return Reply(404)
        if request.headers.get("authorization") != f"Bearer {self.token}" or self.left == 0:
            return Reply(401)
        self.left -= 1
        # Microsoft says 1 MB of both, and its client cuts at that much compressed.
        self.largest = max(self.largest, len(request.data))
        if len(request.body) > self.limit:
            return Reply(413)
        self.records += json.loads(request.data)
        return Reply(204)


class AzureLogs(siem_rig.Agent):
    def ship(self, app, faults=None, auth=None):
        with Server(app, faults) as server:
            self.url = server.url
            self.write({"type": "azure_logs", "endpoint": server.url, "dcr": "dcr-1", "stream": "Custom-Etw",
                        "proxy": "", "batch": {"events": 100},
                        "auth": {"authority": server.url, "tenant": "tenant", "client_id": "c"} |
                                (auth or {"client_secret": "s3cret-of-the-tests"})})
            said = self.run_to_the_end()
        self.assertNotIn("s3cret", said)
        self.assertEqual(app.wrong, [])
        self.assertLessEqual(app.largest, LIMIT)
        found = self.sequences(app.records)
        self.assert_all_there(found)
        self.assertEqual(sum(found.values()), self.EVENTS)
        return app

    def test_events_arrive_once_with_their_time_and_id(self):
        app = self.ship(Azure())
        for record in app.records:
            self.assertEqual(record["TimeGenerated"], record["@timestamp"])
        ids = {record["etwship_id"] for record in app.records}
        self.assertEqual(len(ids), len(app.records))

    def test_a_token_that_ends_amid_the_flow_costs_no_event(self):
        app = self.ship(Azure(requests_per_token=3))
        self.assertGreater(next(app.tokens), 5)

    def test_requests_that_are_too_big_go_in_halves(self):
        self.ship(Azure(limit=5000))

    def test_what_the_service_does_not_take_comes_again_once(self):
        for status in (401, 403, 404, 429, 500, 503):
            with self.subTest(status):
                fault = Fault(Reply(status, headers={"Retry-After": "0"}))
                self.ship(Azure(), every(9, fault))


    def test_an_application_with_a_certificate_signs_its_identity(self):
        if not Authority.openssl():
            self.skipTest("no openssl")
        authority = Authority(self.folder)
        certificate, key = authority.issue("app", key=("rsa:2048",))
        both = self.folder / "both.pem"
        both.write_bytes(certificate.read_bytes() +
                         authority.run("rsa", "-in", str(key), "-traditional"))
        for auth in ({"certificate": str(certificate), "key": str(key)}, {"certificate": str(both)}):
            with self.subTest(auth):
                # The next token has an assertion of its own.
                app = self.ship(Azure(requests_per_token=15), auth=auth | {"method": "certificate"})
                self.assertEqual(len({form["client_assertion"] for form in app.forms}), len(app.forms))
                self.assertGreater(len(app.forms), 1)
                for form in app.forms:
                    self.assert_signed(form, authority, certificate)

    def assert_signed(self, form, authority, certificate):
        self.assertEqual(form["client_assertion_type"],
                         "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        self.assertEqual(form["scope"], "https://monitor.azure.com/.default")
        self.assertNotIn("client_secret", form)
        parts = form["client_assertion"].split(".")
        head, claims, signature = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in parts)
        der = authority.run("x509", "-in", str(certificate), "-outform", "DER")
        thumbprint = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).decode().rstrip("=")
        self.assertEqual(json.loads(head), {"alg": "PS256", "typ": "JWT", "x5t#S256": thumbprint})
        claims = json.loads(claims)
        self.assertEqual({name: claims[name] for name in ("aud", "iss", "sub")},
                         {"aud": f"{self.url}/tenant/oauth2/v2.0/token", "iss": "c", "sub": "c"})
        self.assertEqual(claims["exp"] - claims["nbf"], 600)
        self.assertLess(abs(claims["nbf"] - time.time()), 300)
        public = self.folder / "public.pem"
        public.write_bytes(authority.run("x509", "-in", str(certificate), "-noout", "-pubkey"))
        (self.folder / "signature").write_bytes(signature)
        authority.run("dgst", "-sha256", "-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32",
                      "-verify", str(public), "-signature", "signature", data=".".join(parts[:2]).encode())


@unittest.skipUnless(LogsIngestionClient, "no azure-monitor-ingestion")
class MicrosoftsClient(unittest.TestCase):
    """Microsoft's own client works with the server of these tests as with the real one."""

    EVENTS = [{"TimeGenerated": "2026-11-21T09:30:00.1234567Z", "n": number, "text": "ä" * 200}
              for number in range(8000)]

    class Credential:
        def __init__(self, url):
            self.url = url

        def get_token(self, *scopes, **_):
            form = {"grant_type": "client_credentials", "client_id": "c", "client_secret": "s", "scope": scopes[0]}
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"{self.url}/tenant/oauth2/v2.0/token",
                             urllib.parse.urlencode(form).encode()) as reply:
                said = json.load(reply)
            return AccessToken(said["access_token"], int(time.time()) + said["expires_in"])

    def upload(self, app, faults=None):
        with Server(app, faults) as server:
            # Only the tests speak to it without TLS.
            with LogsIngestionClient(server.url, self.Credential(server.url), proxies={}, retry_total=2,
                                     retry_backoff_factor=0.01) as client:
                client.upload("dcr-1", "Custom-Etw", self.EVENTS, enforce_https=False)
        self.assertEqual(app.wrong, [])

    def test_it_uploads_all_in_requests_of_at_most_the_limit(self):
        app = Azure()
        self.upload(app)
        self.assertEqual(sorted(record["n"] for record in app.records), list(range(len(self.EVENTS))))

    def test_it_tries_again_what_the_service_asks_it_to(self):
        for status in (429, 500, 503):
            with self.subTest(status):
                app = Azure()
                self.upload(app, every(2, Fault(Reply(status, headers={"Retry-After": "0"}))))
                self.assertEqual(len(app.records), len(self.EVENTS))

    def test_it_gives_up_on_what_will_not_change(self):
        for app in (Azure(requests_per_token=0), Azure(limit=10)):
            with self.assertRaises(HttpResponseError):
                self.upload(app)
            self.assertEqual(app.records, [])


if __name__ == "__main__":
    siem_rig.main()
