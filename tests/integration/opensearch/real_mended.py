"""What a server refuses until a user corrects it: every event waits, none is lost, none is there twice, and
the output says so.

    real_mended.py opensearch|elasticsearch
"""

import json

import etwship

FEW = 2000
SOON = {"min": "20ms", "max": "200ms"}
TIME = "2026-11-21T09:30:00Z"


class Mended(etwship.ServerCase):
    def wait(self, config, words, mend):
        """A run whose output is degraded, until ${mend}: in the log, and in its status."""
        agent = etwship.Agent(self, config)
        agent.wait_for_text("output siem: degraded: ")
        self.assertIn(words, agent.text())
        agent.wait_until(lambda: self.states()[-1:] == [True])
        mend()
        text = agent.end()
        self.assertEqual(text.count("output siem: degraded: "), 1, text)
        self.assertEqual(text.count("output siem: delivers again"), 1, text)
        self.assertEqual([state for state, before in zip(self.states(), [None, *self.states()])
                          if state != before][-2:], [True, False])
        self.assertEqual(self.dead_letters(config), "")

    def local(self):
        """A file that tells what the agent says of itself."""
        return [{"name": "local", "type": "file", "path": str(self.folder / "local"),
                 "filters": [{"keep": "provider.name == 'etwship'"}, {"drop": True}]}]

    def states(self):
        """Whether the output was degraded, at each status."""
        file = self.folder / "local"
        text = file.read_bytes() if file.exists() else b""
        events = map(json.loads, text[:text.rfind(b"\n") + 1].splitlines())
        return [output["degraded"] for event in events if event["event"]["name"] == "status"
                for output in event["status"]["outputs"] if output["name"] == "siem"]

    def dead_letters(self, config):
        return self.etwship("deadletter", "list", "--json", "-c", config)

    def watched(self, **more):
        """A configuration that says how things are, often. With one worker: of two, one may still
        hear what was wrong when the other delivers again."""
        return self.config(self.trace(FEW), others=self.local(), retry=SOON, workers=1,
                           agent={"log": {"stats": "50ms", "level": "warning"}}, **more)

    def watched_index(self, **more):
        """The same for a plain index, whose template is there."""
        config = self.watched(data_stream=None, index=self.dataset, **more)
        self.etwship("setup", "siem", "-c", config)
        return config

    def assert_every_event_once(self, events, target=None):
        """Beside them are those of the agent itself, which are of no session."""
        found = self.server.documents(target or self.stream, ["etw"]).values()
        self.assertEqual(sorted(document["etw"]["sequence"] for document in found
                                if "session" in document.get("etw", {})),
                         list(range(1, events + 1)))

    def test_a_block_is_waited_out(self):
        """A write block is a 403 of the item, a full disk a 429. Neither is a fault of set-up."""
        for block in ("write", "read_only_allow_delete"):
            dataset = {"dataset": f"{self.dataset}.{block}"}
            stream = f"logs-{self.dataset}.{block}-default"
            config = self.ready(self.trace(FEW), data_stream=dataset, retry=SOON)
            self.server.bulk(stream, {"create": {"_id": "first"}}, {"@timestamp": TIME})
            self.server.ask("PUT", f"/{stream}/_settings", {f"index.blocks.{block}": True})
            agent = etwship.Agent(self, config)
            agent.wait_for_text("cluster_block_exception")
            self.server.ask("PUT", f"/{stream}/_settings", {f"index.blocks.{block}": None})
            self.assertNotIn("degraded", agent.end())
            self.assertEqual(self.dead_letters(config), "")
            self.assertEqual(self.server.count(stream), FEW + 1)
            self.assert_every_event_once(FEW, stream)
            self.forget()

    def test_an_index_that_may_not_be_made(self):
        def allow(value):
            self.server.ask("PUT", "/_cluster/settings",
                            {"persistent": {"action.auto_create_index": value}})

        config = self.watched_index()
        self.addCleanup(allow, None)
        allow("false")
        self.wait(config, "index_not_found_exception", lambda: allow(None))
        self.assert_every_event_once(FEW, self.dataset)

    def test_an_index_that_is_closed(self):
        config = self.watched_index()
        self.server.ask("PUT", f"/{self.dataset}")
        self.server.ask("POST", f"/{self.dataset}/_close")
        self.wait(config, "index_closed_exception",
                  lambda: self.server.ask("POST", f"/{self.dataset}/_open"))
        self.assert_every_event_once(FEW, self.dataset)

    def test_an_alias_that_is_required_and_missing(self):
        made = f"{self.dataset}-1"
        config = self.watched_index(require_alias=True)
        self.wait(config, "[require_alias] request flag is [true]",
                  lambda: self.server.ask("PUT", f"/{made}", {"aliases": {self.dataset: {}}}))
        self.assert_every_event_once(FEW, made)

    def test_a_data_stream_that_is_required_and_missing(self):
        if self.dialect == "opensearch":
            self.skipTest("OpenSearch does not know it")
        config = self.watched(require_data_stream=True)
        self.wait(config, "requires a data stream",
                  lambda: self.etwship("setup", "siem", "-c", config))
        self.assert_every_event_once(FEW)

    def test_one_index_with_a_wrong_mapping_beside_others(self):
        """Each of its events is refused with a 400 of its own. Two deliveries may be bad events."""
        batch = 100
        wrong = f"{self.dataset}-etwship_sample_dns"
        self.server.ask("PUT", f"/{wrong}", {"mappings": {"properties": {"data": {"type": "integer"}}}})
        agent = etwship.Agent(self, self.config(
            self.trace(FEW), data_stream=None, index=self.dataset + "-{provider.name}", retry=SOON,
            workers=1, batch={"events": batch}))
        agent.wait_for_text(f"degraded: {wrong} accepts no events: status 400 ")
        # A quarter of the events goes there.
        agent.wait_until(lambda: self.server.count(f"{self.dataset}-*") >= FEW * 7 // 10)
        letters = len(self.dead_letters(agent.config).splitlines())
        self.assertLess(letters, 2 * batch)
        self.server.ask("DELETE", f"/{wrong}")
        self.assertIn(f"{wrong} accepts events again", agent.end(etwship.LOSSES))
        self.assertEqual(len(self.dead_letters(agent.config).splitlines()), letters)
        self.assertEqual(self.server.count(f"{self.dataset}-*"), FEW - letters)

    def test_a_setting_that_the_server_does_not_know(self):
        """A single event does not show that it refuses all of them."""
        if self.dialect != "opensearch":
            self.skipTest("Elasticsearch knows them all")
        config = self.config(self.trace(1), require_data_stream=True, retry=SOON,
                             agent={"shutdown": "100ms"})
        agent = etwship.Agent(self, config)
        agent.wait_for_text("output siem: degraded: ")
        self.assertIn("unknown parameter [require_data_stream]", agent.text())
        agent.process.terminate()
        agent.end(etwship.LOSSES)
        self.assertEqual(self.dead_letters(config), "")
        self.run_agent(self.ready(self.trace(1)))
        self.assert_every_event_once(1)

    def test_a_pipeline_that_is_missing(self):
        pipeline = f"/_ingest/pipeline/{self.dataset}"
        config = self.watched(pipeline=self.dataset)
        self.etwship("setup", "siem", "-c", config)
        self.wait(config, "the ingest pipeline does not exist",
                  lambda: self.server.ask("PUT", pipeline, {"processors": []}))
        self.assert_every_event_once(FEW)


if __name__ == "__main__":
    etwship.main(Mended)
