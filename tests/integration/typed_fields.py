"""`setup: {fields: typed}` without a server: what `check` says of it, and the template that `setup` would
put.
"""

import json
import unittest

from cli_rig import DONE, USAGE, Cli

# Two providers by hand: one number, one text, one float, one address and one name for two things.
MANIFEST = """<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"
    xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events"
    xmlns:xs="http://www.w3.org/2001/XMLSchema"><instrumentation><events>
  <provider name="Corp-One" guid="{{11111111-2222-3333-4444-555555555501}}" symbol="A"
      resourceFileName="a" messageFileName="a">
    <templates>
      <template tid="t1"><data name="Status" inType="win:UInt32"/>
        <data name="Size" inType="win:UInt64"/><data name="Share" inType="win:Double"/></template>
      <template tid="t2"><data name="From" inType="win:UInt32" outType="win:IPv4"/>
        <data name="At" inType="win:FILETIME"/><data name="Key" inType="win:HexInt64"/></template>
    </templates>
    <events><event value="1" version="0" template="t1" symbol="e1"/>
      <event value="2" version="0" template="t2" symbol="e2"/></events>
  </provider>
  <provider name="Corp-Two" guid="{{11111111-2222-3333-4444-555555555502}}" symbol="B"
      resourceFileName="b" messageFileName="b">
    <templates>
      <template tid="t1"><data name="Status" inType="win:UnicodeString"/>
        <data name="Size" inType="win:Int32"/>{more}</template>
    </templates>
    <events><event value="7" version="3" template="t1" symbol="e1"/></events>
  </provider>
</events></instrumentation></instrumentationManifest>
"""


class TypedFields(Cli):
    def configuration(self, setup, providers=("Corp-One", "Corp-Two"), format="native", more=""):
        manifest = MANIFEST.replace("{{", "{").replace("}}", "}").replace("{more}", more)
        self.write("corp.man", manifest)
        session = {"name": "s", "type": "file", "paths": ["none.etl"]}
        if providers:
            session["providers"] = list(providers)
        return self.write("c.yaml", json.dumps({
            "version": 1, "agent": {"data_dir": "state"}, "spool": {"mode": "memory"},
            "schema": [{"type": "folder", "path": "corp.man"}],
            "sessions": [session],
            "outputs": [{"name": "siem", "type": "elasticsearch", "hosts": ["http://127.0.0.1:1"],
                         "format": format, "setup": setup}]}))

    def told(self, *arguments, **more):
        path = self.configuration({"fields": "typed"}, *arguments, **more)
        told = json.loads(self.expect(DONE, "check", "--json", "-c", path).out)["typed_fields"]
        self.assertEqual([one["output"] for one in told], ["siem"])
        return told[0]["payloads"]

    def template(self, setup, *arguments, **more):
        path = self.configuration(setup, *arguments, **more)
        lines = self.expect(DONE, "setup", "siem", "-c", path, "--dry-run").out.splitlines()
        put = lines.index("PUT /_index_template/etwship-logs-etw.native")
        return json.loads(lines[put + 1]), "\n".join(lines)

    def test_without_it_nothing_is_said(self):
        for setup in ({}, {"timestamps": "date_nanos"}, {"fields": "flattened"}):
            path = self.configuration(setup)
            self.assertNotIn("typed", json.loads(
                self.expect(DONE, "check", "--json", "-c", path).out).keys())
            self.assertNotIn("fields of payloads", self.expect(DONE, "check", "-c", path).out)

    def test_counts_and_conflicts_are_told(self):
        told = self.told()
        self.assertEqual((told["definitions"], told["fields"], told["typed"]), (3, 6, 6))
        self.assertEqual((told["unknown_providers"], told["open_sessions"]), (0, 0))
        self.assertEqual([(c["field"], c["becomes"]) for c in told["conflicts"]],
                         [("Size", "a signed number"), ("Status", "text")])
        status = {one["type"]: one["event"] for one in told["conflicts"][1]["is"]}
        self.assertEqual(status, {"text": "Corp-Two:7:3", "a number": "Corp-One:1:0"})
        out = self.expect(DONE, "check", "-c", self.configuration({"fields": "typed"})).out
        self.assertIn("6 of 6 fields of payloads, by 3 definitions, have types of their own", out)
        self.assertIn("Status is text in Corp-Two:7:3, a number in Corp-One:1:0: text", out)

    def test_only_events_that_are_asked_for_count(self):
        self.assertEqual(self.told(["Corp-One"])["fields"], 6)
        self.assertEqual(self.told(["Corp-One"])["conflicts"], [])
        self.assertEqual(self.told(["Corp-One::2"])["fields"], 3)

    def test_what_is_not_known_is_told(self):
        told = self.told(["Corp-One", "Corp-Tow"])
        self.assertEqual(told["unknown_providers"], 1)
        self.assertEqual(self.told([])["open_sessions"], 1)
        path = self.configuration({"fields": "typed"}, ["Corp-Tow"])
        self.assertIn("no definition, such as Corp-Tow",
                      self.expect(DONE, "check", "-c", path).out)

    def test_the_template_has_these_types(self):
        made, said = self.template({"fields": "typed", "timestamps": "date_nanos"})
        properties = made["template"]["mappings"]["properties"]
        self.assertEqual(properties["@timestamp"], {"type": "date_nanos"})
        self.assertEqual(properties["data"]["dynamic"], False)
        self.assertEqual(
            {name: field["type"] for name, field in properties["data"]["properties"].items()},
            {"Status": "keyword", "Size": "long", "Share": "double", "From": "ip",
             "At": "date_nanos", "Key": "keyword"})
        self.assertIn("# note:  Status is text in Corp-Two:7:3", said)
        made, _ = self.template({})
        self.assertEqual(made["template"]["mappings"]["properties"]["data"]["type"], "flattened")
        self.assertEqual(made["template"]["settings"], {})

    def test_the_room_of_an_index_is_kept(self):
        more = "".join(f'<data name="Text{i}" inType="win:UnicodeString"/>' for i in range(500))
        made, said = self.template({"fields": "typed", "max_fields": 400}, more=more)
        properties = made["template"]["mappings"]["properties"]

        def count(fields):
            return sum(1 + count(field.get("properties", {})) + count(field.get("fields", {}))
                       for field in fields.values())

        self.assertLessEqual(count(properties), 400)
        self.assertGreater(count(properties), 300)
        self.assertEqual(made["template"]["settings"], {"index.mapping.total_fields.limit": 400})
        # What ranges are for goes first.
        self.assertIn("Share", properties["data"]["properties"])
        self.assertIn("have no room", said)
        made, said = self.template({"fields": "typed", "max_fields": 1000}, more=more)
        self.assertNotIn("have no room", said)
        self.assertEqual(made["template"]["settings"], {})

    def test_traces_tell_what_describes_itself(self):
        path = self.configuration({"fields": "typed"}, [])
        text = path.read_text().replace("none.etl", str(self.trace))
        path.write_text(text)
        lines = self.expect(DONE, "setup", "siem", "-c", path, "--dry-run").out.splitlines()
        made = json.loads(next(line for line in lines if line.startswith("{")))
        names = made["template"]["mappings"]["properties"]["data"]["properties"]
        self.assertGreater(len(names), 5)
        dumped = self.expect(DONE, "dump", self.trace).out.splitlines()
        self.assertLessEqual({name for line in dumped for name in json.loads(line).get("data", {})
                              if not name.endswith("_name")}, set(names))

    def test_mistakes_are_told(self):
        for setup, words in (({"fields": "typd"}, "typed"), ({"timestamps": "nanos"}, "date_nanos"),
                             ({"max_fields": 2000}, "fields: typed"),
                             ({"fields": "typed", "max_fields": 10}, "max_fields")):
            self.assertIn(words, self.expect(USAGE, "check", "-c", self.configuration(setup)).err)


if __name__ == "__main__":
    unittest.main()
