"""The syslog output in a running agent, against syslog-ng: messages of any text arrive whole.

Debian's syslog-ng and rsyslog cannot both be installed. Where it is missing, its packages are fetched and unpacked
outside the clone; without apt or a network the test is skipped.
"""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import siem_rig  # noqa: E402
from support.ports import reserve_port  # noqa: E402
from support.scripted_http import Authority  # noqa: E402
from support.waiting import wait_until  # noqa: E402

PACKAGES = ["syslog-ng-core", "libivykis0", "libnet1", "libwrap0", "libjson-c5", "libglib2.0-0", "libpcre3"]
SKIPPED = 77
PROVIDER = uuid.UUID("5b7b3c0e-9f0f-4b6e-8a51-1f6d2c9e7a44")
# A text of ETW ends at a NUL, so none can be in one.
TEXTS = ["plain", "Grüße aus Köln 🚀", "two\nlines\r\nand\ta tab", "\x01\x1b[0m\x7f\u0085\u2028", "",
         "[x y=\"z\"] \\ | = %1 <13>1", "\n\n1 <13>1 - - - - - - false", "ä" * 31000 + "\n" + "x" * 1000]
MANIFEST = f"""<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
<instrumentation xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events"><events>
<provider name="Said" guid="{{{PROVIDER}}}" symbol="SAID">
<events><event value="1" version="0" template="text" message="$(string.text)"/></events>
<templates><template tid="text"><data name="size" inType="win:UInt16"/>
<data name="text" inType="win:UnicodeString" length="size"/></template></templates>
</provider></events></instrumentation>
<localization><resources culture="en-US"><stringTable><string id="text" value="%2"/></stringTable></resources>
</localization></instrumentationManifest>"""


def record(text):
    """EVENT_HEADER of evntcons.h and the payload, after its size as etlgen wants it."""
    units = text.encode("utf-16-le")
    payload = struct.pack("<H", len(units) // 2) + units
    size = 80 + len(payload)
    descriptor = struct.pack("<HBBBBHQ", 1, 0, 0, 4, 0, 0, 0)
    return struct.pack("<IHBBHHIIq", size, size, 19, 0xC0, 0x40, 0, 7, 42, 1000) + \
        PROVIDER.bytes_le + descriptor + bytes(24) + payload


def cache():
    top = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "etwship"
    top.mkdir(parents=True, exist_ok=True)
    return top / f"syslog-ng-{hashlib.sha256(' '.join(PACKAGES).encode()).hexdigest()[:16]}"


def unpack(kept):
    """Download and unpack the packages; returns whether that worked."""
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        folder = Path(name)
        done = subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=siem_rig.TIMEOUT_S)
        if done.returncode:
            return False
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
        (folder / "root").replace(kept)
    return True


def find():
    """The command, its environment and the folder of its modules; None: there is none."""
    installed = shutil.which("syslog-ng", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if installed:
        return [installed], dict(os.environ)
    kept = cache()
    if not kept.exists() and not (shutil.which("apt-get") and shutil.which("dpkg-deb") and unpack(kept)):
        return None
    modules = next((kept / "usr/lib/syslog-ng").glob("*/libsyslogformat.so")).parent
    folders = [*kept.glob("usr/lib/*-linux-gnu"), *kept.glob("lib/*-linux-gnu"), modules.parent]
    return [str(kept / "usr/sbin/syslog-ng"), f"--module-path={modules}"], dict(
        os.environ, LD_LIBRARY_PATH=":".join(map(str, folders)))


class SyslogNg(siem_rig.Agent):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = Path(cls.shared_folder.name)
        (folder / "said.man").write_text(MANIFEST, encoding="utf-8")
        (folder / "said.records").write_bytes(b"".join(map(record, TEXTS)))
        cls.said = folder / "said.etl"
        subprocess.run([siem_rig.ETLGEN, "--cpus", "1", "--buffer-size", "262144", "--records",
                        folder / "said.records", "-o", cls.said],
                       check=True, timeout=siem_rig.TIMEOUT_S, stdout=subprocess.DEVNULL)

    def receive(self, driver):
        """A receiver that writes each message as JSON; returns a function that gives the messages."""
        command, environment = FOUND
        out = self.folder / "received"
        out.touch()
        config = self.folder / "syslog-ng.conf"
        config.write_text(
            "@version: 3.38\noptions { keep-hostname(yes); log-msg-size(262144); stats-freq(0); };\n"
            f"source s {{ {driver} }};\n"
            f"destination d {{ file(\"{out}\" template(\"$(format-json app=$PROGRAM msg=$MESSAGE "
            "provider=${.SDATA.etw@32473.provider})\\n\")); };\nlog { source(s); destination(d); };\n")
        process = subprocess.Popen(
            [*command, "-F", "-f", config, "-R", self.folder / "persist", "-p", self.folder / "pid", "-c",
             self.folder / "control", "--no-caps"], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait, siem_rig.TIMEOUT_S)
        self.addCleanup(process.terminate)
        return lambda: [json.loads(line) for line in out.read_bytes().split(b"\n")[:-1]]

    def ship(self, driver, trace, count, **keys):
        received = self.receive(driver)
        self.write({"type": "syslog", "max_message": "256KB", "batch": {"events": 50}} | keys)
        config = json.loads(self.config.read_text())
        config["sessions"][0]["paths"] = [str(trace)]
        config["schema"] = [{"type": "folder", "path": str(self.said.parent)}]
        self.config.write_text(json.dumps(config))
        # It is tried again until the receiver listens.
        self.run_to_the_end()

        def messages():
            return [message for message in received() if message.get("provider") != "etwship"]
        wait_until(lambda: len(messages()) >= count)
        return messages()

    def test_messages_of_any_text_arrive_whole(self):
        port = reserve_port(self)
        found = self.ship(f'syslog(ip(127.0.0.1) port({port}) transport("tcp"));', self.said, len(TEXTS),
                          address=f"127.0.0.1:{port}", transport="tcp")
        events = [json.loads(message["msg"]) for message in found]
        self.assertEqual([event["data"]["text"] for event in events], TEXTS)
        self.assertEqual({message["provider"] for message in found}, {"Said"})

    def test_text_keeps_its_line_breaks(self):
        port = reserve_port(self)
        texts = [text for text in TEXTS if text]
        found = self.ship(f'syslog(ip(127.0.0.1) port({port}) transport("tcp"));', self.said, len(TEXTS),
                          address=f"127.0.0.1:{port}", transport="tcp", message="text")
        # An event without a text goes as it is.
        said = [message["msg"] for message in found if not message["msg"].startswith("{")]
        self.assertEqual(said, texts)

    def test_every_event_arrives_over_tls(self):
        if not Authority.openssl():
            self.skipTest("no openssl")
        authority = Authority(self.folder)
        certificate, key = authority.issue("server")
        port = reserve_port(self)
        found = self.ship(f'syslog(ip(127.0.0.1) port({port}) transport("tls") tls(key-file("{key}") '
                          f'cert-file("{certificate}") peer-verify(optional-untrusted)));', self.trace, self.EVENTS,
                          address=f"127.0.0.1:{port}", tls={"ca": str(authority.ca)})
        found = self.sequences(json.loads(message["msg"]) for message in found)
        self.assert_all_there(found)
        self.assertEqual(set(found.values()), {1})


if __name__ == "__main__":
    FOUND = find()
    if not FOUND:
        print("skipped: no syslog-ng (Debian: syslog-ng-core)")
        sys.exit(SKIPPED)
    siem_rig.main()
