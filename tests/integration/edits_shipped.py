"""Rules that edit, on their way: what was hashed or removed is in no shape of an event, in no path,
message, request, spool or dead letter; and edits change with a reload from one event to the next.
"""

import hmac
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from reload import Rig  # noqa: E402
from support.scripted_http import Bulk, Server  # noqa: E402
from support.spool_rig import BINARY, EVENTS, TIMEOUT_S, SpoolRig  # noqa: E402

LOSSES = 3
KEY = "0123456789abcdef-key-of-the-tests"
OTHER_KEY = "another-key-of-the-tests-89abcdef"
# Of the generated trace: who asks for what, from where, and what was started.
FIELDS = ["data.Client.User", "data.QueryName", "data.CommandLine", "data.UserSid", "data.UserSID",
          "data.Text", "extended.sid", "data.arg11", "process.user", "process.command_line"]


def hashed(key, text):
    return hmac.new(key.encode(), text.encode(), "sha256").hexdigest()


def rules(key=KEY):
    hash_, remove = [f for f in FIELDS if f != "process.user"], ["process.user", "data.QueryResults"]
    return [{"hash": {"fields": hash_, "key": key}}, {"remove": {"fields": remove}}]


def secrets_of(event):
    """Texts that are too long to be a part of another text by chance."""
    data = event.get("data", {})
    found = [data.get("Client", {}).get("User")] if isinstance(data.get("Client"), dict) else []
    found += [data.get(f[5:]) for f in FIELDS if f.startswith("data.") and f.count(".") == 1]
    found.append(event.get("extended", {}).get("sid"))
    return {text for text in found if isinstance(text, str) and len(text) > 8}


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from texts_in(member)


class Shapes(SpoolRig):
    def plain(self, *options):
        done = subprocess.run([BINARY, "dump", *options, self.trace], check=True, timeout=TIMEOUT_S,
                              stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def events(self, path):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        return [e for e in events if "gap" not in e and "gap" not in e.get("etw", {})]

    def test_no_shape_has_what_was_hashed_or_removed(self):
        self.trace = self.make_trace("shapes", 1500, "--tmf", str(self.folder / "sample.tmf"))
        plain = self.plain("--schema", str(self.folder))
        outputs = [{"name": n, "type": "file", "path": str(self.folder / n)} | more for n, more in (
            ("native", {}), ("ecs", {"format": "ecs"}),
            ("by", {"path": str(self.folder / "by" / "{data.Client.User}.ndjson")}))]
        self.write(*outputs, filters=rules())
        config = json.loads(self.config.read_text())
        config["schema"] = [{"type": "folder", "path": str(self.folder)}]
        self.config.write_text(json.dumps(config))
        self.run_agent()
        native = self.events(self.folder / "native")
        ecs = self.events(self.folder / "ecs")
        self.assertEqual((len(native), len(ecs)), (len(plain), len(plain)))
        some = 0
        for before, *after in zip(plain, native, ecs):
            for secret in secrets_of(before):
                some += 1
                for event in after:
                    for text in texts_in({k: v for k, v in event.items() if k != "agent"}):
                        self.assertNotIn(secret, text)
                if secret in before.get("message", ""):
                    for event in after:
                        self.assertIn(hashed(KEY, secret), event["message"])
        self.assertGreater(some, 1000)
        self.assertTrue(any(e["provider"]["kind"] == "wpp" and hashed(KEY, p["data"]["arg11"])
                            in e["message"] for p, e in zip(plain, native) if "arg11" in
                            p.get("data", {})))
        users = {e["data"]["Client"]["User"] for e in plain if "Client" in e.get("data", {})}
        self.assertEqual({path.stem for path in (self.folder / "by").iterdir()},
                         {hashed(KEY, user) for user in users} | {"unknown"})

    def test_neither_requests_nor_what_waits_on_the_disk_have_it(self):
        """Every tenth document is refused, and becomes a dead letter."""
        def refuse(number, *_):
            return (400, "mapper_parsing_exception", "failed to parse field [data.a] of type [long]") \
                if number % 10 == 0 else None
        # Users and SIDs, which stand nowhere else; names of hosts do, in other events' URLs.
        secrets = {text for event in self.plain() for text in secrets_of(event)
                   if text.startswith("S-1-") or text.startswith(("CORP\\", "WORKGROUP\\"))}
        self.assertGreater(len(secrets), 10)
        with Server(Bulk(refuse)) as server:
            self.write(self.siem(server, format="native", compression="none"), spool={
                "mode": "durable", "min_free_disk": "1MB", "compression": "none"},
                filters=rules() + [{"tag": {"tags": ["edited"]}}])
            self.run_agent(code=LOSSES)
            documents = server.app.documents()
        self.assertGreater(len(documents), EVENTS / 2)
        letters = subprocess.run([BINARY, "deadletter", "list", "--json", "-c", self.config],
                                 check=True, timeout=TIMEOUT_S, stdout=subprocess.PIPE).stdout
        kept = b"".join(p.read_bytes() for p in (self.folder / "state").rglob("*") if p.is_file())
        self.assertIn(b'"tags":["edited"]', kept)
        places = [b"\n".join(documents), letters, kept]
        for secret in secrets:
            for text in (secret.encode(), json.dumps(secret)[1:-1].encode()):
                for place in places:
                    self.assertNotIn(text, place)


class Reloaded(Rig):
    def test_edits_change_from_one_event_to_the_next(self):
        self.add_trace("a")
        self.configure(self.local(), filters=rules())
        agent = self.running()
        self.configure(self.local(), filters=rules(OTHER_KEY) + [
            {"set": {"fields": {"labels.key": "other"}}}])
        self.ask(agent)
        self.add_trace("bb")
        self.wait_until(lambda: len(self.lines()) >= 2 * EVENTS)
        self.stop(agent)
        lines = [json.loads(line) for line in self.lines()]
        self.assert_all(self.lines(), 2 * EVENTS)
        others = [line.get("labels", {}).get("key") == "other" for line in lines]
        self.assertEqual(others, sorted(others))
        self.assertGreaterEqual(sum(others), EVENTS)
        names = {True: set(), False: set()}
        for line, other in zip(lines, others):
            if "QueryName" in line.get("data", {}):
                names[other].add(line["data"]["QueryName"])
        self.assertTrue(names[True] and names[False])
        self.assertFalse(names[True] & names[False])
        self.assertTrue(all(len(name) == 64 for name in names[True] | names[False]))


if __name__ == "__main__":
    unittest.main()
