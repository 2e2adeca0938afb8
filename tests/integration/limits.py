"""What `agent.limits` asks of the system, and an agent that gets no memory from it.

On a simulated Windows of its own process, as in machine.py, so that only the agent is short of memory:
RLIMIT_AS of Linux refuses what a job object of Windows would, an allocation.
"""

import json
import resource
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import machine  # noqa: E402
from machine import NAME, SESSION, wait_until  # noqa: E402

FEW = 1000
RUNS = "reload: the new configuration runs"


class Limits(machine.Shared):
    def configure(self, **limits):
        fresh = self.folder / "etwship.yaml.new"
        fresh.write_text(json.dumps({
            "agent": {"data_dir": "data", "memory": "64MB", "log": {"stats": "0"},
                      "limits": limits},
            "spool": {"min_free_disk": "1MB"},
            "sessions": [{"name": "live", "type": "realtime", "providers": [NAME]}],
            "outputs": [{"type": "file", "path": "out.ndjson"}]}))
        fresh.rename(self.folder / "etwship.yaml")

    def start_with(self, **limits):
        self.configure(**limits)
        agent = machine.Agent(self)
        self.read_by(agent)
        return agent

    def reload(self, agent, **limits):
        before = agent.said().count(RUNS)
        self.configure(**limits)
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: agent.said().count(RUNS) > before, agent.said)

    def nice_values(self, agent):
        """The nice values of all threads: proc_pid_stat(5), the 17th value after the name."""
        tasks = Path(f"/proc/{agent.process.pid}/task").iterdir()
        return {int((task / "stat").read_text().rpartition(")")[2].split()[16]) for task in tasks}

    def test_priorities_hold_for_all_threads_and_change_with_a_reload(self):
        agent = self.start_with(priority="below_normal")
        self.assertEqual(self.nice_values(agent), {10})
        self.assertIn("limits of the system: priority below_normal\n", agent.said())
        self.reload(agent, priority="idle")
        self.assertEqual(self.nice_values(agent), {19})
        self.assertIn("limits of the system: priority idle\n", agent.said())
        self.assertEqual(agent.stop(), 0, agent.said())

    def test_what_does_not_hold_is_told(self):
        agent = self.start_with(memory="1GB", cpu="12.5%")
        said = agent.said()
        self.assertIn("agent.limits.memory is not in effect: ", said)
        self.assertIn("MemoryMax=1073741824", said)
        self.assertIn("agent.limits.cpu is not in effect: ", said)
        self.assertIn("CPUQuota=", said)
        self.assertNotIn("limits of the system", said)
        self.reload(agent)
        self.assertEqual(agent.said().count("is not in effect"), 2)
        self.assertEqual(agent.stop(), 0, agent.said())

    def test_a_limit_below_the_memory_of_the_agent_is_refused(self):
        self.configure(memory="63MB")
        done = self.etwship("check", "-c", "etwship.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("agent.memory, 64MB, lets the agent use more than this limit of the system allows",
                      done.stderr)
        self.configure(memory="70MB")
        done = self.etwship("check", "-c", "etwship.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("write 80MB or more", done.stderr)
        self.assertIn("limits that the system enforces: memory 70MB", done.stdout)

    def test_events_that_get_no_memory_are_counted_and_those_after_them_come(self):
        agent = self.start_with()
        self.burst(FEW)
        wait_until(lambda: self.shipped()[0] == FEW, agent.said)
        pid = agent.process.pid
        status = Path(f"/proc/{pid}/status").read_text()
        now = int(status.partition("VmSize:")[2].split()[0]) * 1024
        if now > 1 << 40:
            self.skipTest("a sanitizer has taken all addresses")
        before = resource.prlimit(pid, resource.RLIMIT_AS, (now, resource.RLIM_INFINITY))
        self.burst(machine.BURST)
        self.do("settle")
        resource.prlimit(pid, resource.RLIMIT_AS, before)
        during, _ = self.shipped()
        self.burst(FEW)
        self.do("settle")
        report = self.do(f"report {SESSION}")
        self.assertEqual(agent.stop(), 0, agent.said())
        events, gaps = self.shipped()
        buffers = gaps.pop("etw/realtime_buffers_lost", (0, 0))
        self.assertEqual(buffers[0], report["buffers_lost"])
        lost = sum(total for total, _ in gaps.values()) + report["in_lost_buffers"]
        print(f"{during} of {FEW + machine.BURST} events while there was no memory, {events} in all, "
              f"{gaps}")
        self.assertEqual(events + lost, report["sent"], (gaps, report, agent.said()))
        self.assertGreaterEqual(events, 2 * FEW)


if __name__ == "__main__":
    unittest.main()
