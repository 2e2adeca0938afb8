"""Events of providers that the mapping knows, made field by field, against what they are to be.

The layouts are those of Windows' own manifests; what is expected is worked out by hand. An event has exactly
the expected fields beside those that every event has. And: what rules do to a field holds for what is mapped
from it.
"""

import ipaddress
import json
import os
import struct
import subprocess
import tempfile
import unittest
import uuid
from pathlib import Path
from xml.sax.saxutils import quoteattr

BINARY = os.environ["ETWSHIP_BIN"]
ETLGEN = os.environ["ETWSHIP_ETLGEN"]
TIMEOUT_S = 120

FILETIME = 134397270001234567
STAMP = "2026-11-21T09:30:00.1234567Z"
PID, TID = 1234, 5678
# In every event, whatever the mapping.
COMMON = ("@timestamp", "agent.", "data_stream.", "ecs.", "event.code", "event.created", "event.dataset",
          "event.kind", "event.provider", "event.sequence", "event.severity", "host.", "log.", "message",
          "winlog.activity_id", "winlog.channel", "winlog.event_data", "winlog.flags", "winlog.keywords", "winlog.level",
          "winlog.opcode", "winlog.p", "winlog.record_id", "winlog.session", "winlog.task", "winlog.thread_id",
          "winlog.version")

DNS = ("Microsoft-Windows-DNS-Client", "1c95126e-7eea-49a9-a3fe-a378b03ddb4d")
KERNEL_PROCESS = ("Microsoft-Windows-Kernel-Process", "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716")
KERNEL_NETWORK = ("Microsoft-Windows-Kernel-Network", "7dd42a49-5329-4832-8dfd-43d979153a88")
KERNEL_FILE = ("Microsoft-Windows-Kernel-File", "edd08927-9cc4-4e65-b970-c2560fb5c289")
TCPIP = ("Microsoft-Windows-TCPIP", "2f07e2ee-15db-40f1-90ef-9d7ba282188a")
HTTP = ("Microsoft-Windows-HttpService", "dd5ef90a-6398-47a4-ad34-4dcecdef795f")
POWERSHELL = ("Microsoft-Windows-PowerShell", "a0c1853b-5c40-4b15-8766-3cf1c58f985a")
SECURITY = ("Microsoft-Windows-Security-Auditing", "54849625-5478-4994-a5ba-3e3b0328c30d")
SYSMON = ("Microsoft-Windows-Sysmon", "5770385f-c22a-43e0-bf4c-06f5698ffbd9")
TASKS = ("Microsoft-Windows-TaskScheduler", "de7b24ea-73c8-4a09-985d-5bdadcfa9017")
DEFENDER = ("Microsoft-Windows-Windows Defender", "11cd958a-c507-4ef3-b3f2-5fd9dfbd2c78")
WMI = ("Microsoft-Windows-WMI-Activity", "1418ef04-b0b4-4623-bf7e-d74ab47bbdaa")

EVENTLOG = ("Microsoft-Windows-Eventlog", "fc65ddd8-d6ef-4962-83d5-6e5cfe9ce148")
# Of the header: audits that failed, and those that did not (winmeta.xml).
FAILED, SUCCEEDED = 0x8010000000000000, 0x8020000000000000
KEYWORDS = {4625: FAILED, 4634: SUCCEEDED, 4624: SUCCEEDED, 4728: SUCCEEDED, 4742: SUCCEEDED, 5145: FAILED,
            1102: 0x4020000000000000}

OWN = {"process.pid": PID, "process.thread.id": TID}
NOBODY = bytes.fromhex("010100000000000000000000")


def sid(*parts):
    return struct.pack("<BB", 1, len(parts) - 1) + parts[0].to_bytes(6, "big") + struct.pack(
        f"<{len(parts) - 1}I", *parts[1:])


def socket_address(address, port):
    address = ipaddress.ip_address(address)
    if address.version == 4:
        return struct.pack("<HH", 2, port << 8 & 0xff00 | port >> 8) + address.packed + bytes(8)
    return struct.pack(">BBHI", 23, 0, port, 0) + address.packed + bytes(4)


def text(value):
    return value.encode("utf-16-le") + b"\0\0"


# How fields are described, and their values as bytes.
TYPES = {
    "text": ('inType="win:UnicodeString"', text),
    "ansi": ('inType="win:AnsiString"', lambda value: value.encode("cp1252") + b"\0"),
    "u8": ('inType="win:UInt8"', lambda value: struct.pack("<B", value)),
    "u16": ('inType="win:UInt16"', lambda value: struct.pack("<H", value)),
    "u32": ('inType="win:UInt32"', lambda value: struct.pack("<I", value)),
    "i32": ('inType="win:Int32"', lambda value: struct.pack("<i", value)),
    "u64": ('inType="win:UInt64"', lambda value: struct.pack("<Q", value)),
    "hex32": ('inType="win:HexInt32"', lambda value: struct.pack("<I", value)),
    "pointer": ('inType="win:Pointer"', lambda value: struct.pack("<Q", value)),
    "ntstatus": ('inType="win:UInt32" outType="win:NTSTATUS"',
                 lambda value: struct.pack("<I", value)),
    "hresult": ('inType="win:Int32" outType="win:HResult"', lambda value: struct.pack("<I", value)),
    "bool": ('inType="win:Boolean"', lambda value: struct.pack("<I", value)),
    "time": ('inType="win:FILETIME"', lambda value: struct.pack("<Q", value)),
    "guid": ('inType="win:GUID"', lambda value: uuid.UUID(value).bytes_le),
    "sid": ('inType="win:SID"', lambda value: value),
    "ip4": ('inType="win:UInt32" outType="win:IPv4"',
            lambda value: ipaddress.IPv4Address(value).packed),
    "ip6": ('inType="win:Binary" outType="win:IPv6" length="16"',
            lambda value: ipaddress.IPv6Address(value).packed),
    "port": ('inType="win:UInt16" outType="win:Port"', lambda value: struct.pack(">H", value)),
    "sock4": ('inType="win:Binary" outType="win:SocketAddress" length="16"',
              lambda value: socket_address(*value)),
    "sock6": ('inType="win:Binary" outType="win:SocketAddress" length="28"',
              lambda value: socket_address(*value)),
}

# (provider, id, version, [(field, type, value)], expected)
EVENTS = [
    (DNS, 3008, 0, [
        ("QueryName", "text", "www.example.com."), ("QueryType", "u32", 28),
        ("QueryOptions", "u64", 0x4000), ("QueryStatus", "u32", 0),
        ("QueryResults", "text", "type:  5 edge.example.net;2001:db8::7;::ffff:198.51.100.7;")],
     OWN | {"event.action": "dns-answer", "event.category": ["network"],
            "event.type": ["protocol", "end"], "event.outcome": "success",
            "dns.type": "answer", "dns.question.name": "www.example.com",
            "dns.question.type": "AAAA", "dns.response_code": "NOERROR",
            "dns.answers": [{"data": "edge.example.net", "type": "CNAME"},
                            {"data": "2001:db8::7", "type": "AAAA"},
                            {"data": "198.51.100.7", "type": "A"}],
            "dns.resolved_ip": ["2001:db8::7", "198.51.100.7"], "network.protocol": "dns",
            "related.hosts": ["www.example.com", "edge.example.net"],
            "related.ip": ["2001:db8::7", "198.51.100.7"]}),
    (DNS, 3008, 0, [
        ("QueryName", "text", "nowhere.example"), ("QueryType", "u32", 1),
        ("QueryOptions", "u64", 0), ("QueryStatus", "u32", 9003), ("QueryResults", "text", "")],
     OWN | {"event.action": "dns-answer", "event.category": ["network"],
            "event.type": ["protocol", "end"], "event.outcome": "failure", "error.code": "9003",
            "dns.type": "answer", "dns.question.name": "nowhere.example",
            "dns.question.type": "A", "dns.response_code": "NXDOMAIN", "network.protocol": "dns",
            "related.hosts": ["nowhere.example"]}),
    (KERNEL_PROCESS, 1, 3, [
        ("ProcessID", "u32", 4306), ("ProcessSequenceNumber", "u64", 9),
        ("CreateTime", "time", FILETIME), ("ParentProcessID", "u32", 97),
        ("SessionID", "u32", 1), ("ImageName", "text", "\\Device\\HarddiskVolume3\\a\\b.exe")],
     {"event.action": "process-started", "event.category": ["process"], "event.type": ["start"],
      "process.pid": 4306, "process.parent.pid": 97, "process.start": STAMP,
      "process.name": "b.exe", "process.executable": "\\Device\\HarddiskVolume3\\a\\b.exe"}),
    (KERNEL_PROCESS, 2, 1, [
        ("ProcessID", "u32", 4306), ("CreateTime", "time", FILETIME), ("ExitTime", "time", FILETIME),
        ("ExitCode", "u32", 3221225477), ("ImageName", "ansi", "b.exe")],
     {"event.action": "process-ended", "event.category": ["process"], "event.type": ["end"],
      "process.pid": 4306, "process.start": STAMP, "process.end": STAMP,
      "process.exit_code": 3221225477, "process.name": "b.exe"}),
    (KERNEL_NETWORK, 12, 0, [
        ("PID", "u32", 4306), ("size", "u32", 0), ("daddr", "ip4", "198.51.100.7"),
        ("saddr", "ip4", "192.0.2.9"), ("dport", "port", 443), ("sport", "port", 50123)],
     {"event.action": "tcp-connected", "event.category": ["network"],
      "event.type": ["connection", "start"], "process.pid": 4306, "source.ip": "192.0.2.9",
      "source.port": 50123, "destination.ip": "198.51.100.7", "destination.port": 443,
      "network.direction": "egress", "network.transport": "tcp", "network.type": "ipv4",
      "related.ip": ["192.0.2.9", "198.51.100.7"]}),
    (KERNEL_NETWORK, 31, 0, [
        ("PID", "u32", 0xffffffff), ("size", "u32", 0), ("daddr", "ip6", "2001:db8::1"),
        ("saddr", "ip6", "2001:db8::2"), ("dport", "port", 50123), ("sport", "port", 0)],
     OWN | {"event.action": "tcp-accepted", "event.category": ["network"],
            "event.type": ["connection", "start"], "source.ip": "2001:db8::1",
            "source.port": 50123, "destination.ip": "2001:db8::2",
            "network.direction": "ingress", "network.transport": "tcp", "network.type": "ipv6",
            "related.ip": ["2001:db8::1", "2001:db8::2"]}),
    (KERNEL_FILE, 26, 1, [
        ("Irp", "pointer", 1), ("FilePath", "text", "\\Device\\HarddiskVolume3\\t\\a.tar.gz")],
     OWN | {"event.action": "file-deleted", "event.category": ["file"],
            "event.type": ["deletion"], "file.path": "\\Device\\HarddiskVolume3\\t\\a.tar.gz",
            "file.name": "a.tar.gz", "file.extension": "gz",
            "file.directory": "\\Device\\HarddiskVolume3\\t"}),
    (TCPIP, 1034, 0, [
        ("LocalAddress", "sock4", ("192.0.2.9", 50123)),
        ("RemoteAddress", "sock4", ("198.51.100.7", 25)), ("Status", "ntstatus", 0xc0000236),
        ("ProcessId", "u32", 77)],
     {"event.action": "tcp-connect-failed", "event.category": ["network"],
      "event.type": ["connection", "end"], "event.outcome": "failure",
      "error.code": "0xc0000236", "process.pid": 77, "source.ip": "192.0.2.9",
      "source.port": 50123, "destination.ip": "198.51.100.7", "destination.port": 25,
      "network.direction": "egress", "network.transport": "tcp", "network.type": "ipv4",
      "related.ip": ["192.0.2.9", "198.51.100.7"]}),
    (TCPIP, 1300, 0, [
        ("LocalAddress", "sock4", ("192.0.2.9", 50123)),
        ("RemoteAddress", "sock4", ("198.51.100.7", 25)), ("Pid", "u32", 77)],
     {"event.action": "tcp-rundown", "event.category": ["network"],
      "event.type": ["connection", "info"], "process.pid": 77, "source.ip": "192.0.2.9",
      "source.port": 50123, "destination.ip": "198.51.100.7", "destination.port": 25,
      "network.transport": "tcp", "network.type": "ipv4",
      "related.ip": ["192.0.2.9", "198.51.100.7"]}),
    (HTTP, 21, 0, [
        ("ConnectionObj", "pointer", 1), ("LocalAddr", "sock6", ("2001:db8::2", 80)),
        ("RemoteAddr", "sock6", ("::ffff:192.0.2.4", 4000))],
     OWN | {"event.action": "tcp-accepted", "event.category": ["network"],
            "event.type": ["connection", "start"], "source.ip": "192.0.2.4", "source.port": 4000,
            "destination.ip": "2001:db8::2", "destination.port": 80,
            "network.direction": "ingress", "network.transport": "tcp", "network.type": "ipv4",
            "related.ip": ["192.0.2.4", "2001:db8::2"]}),
    (HTTP, 2, 0, [("RequestObj", "pointer", 1), ("HttpVerb", "u32", 4),
                  ("Url", "text", "http://Web.Example:8080/a/b?c=1&d")],
     OWN | {"event.action": "http-request-parsed", "event.category": ["network", "web"],
            "event.type": ["protocol", "info"], "url.full": "http://Web.Example:8080/a/b?c=1&d",
            "url.original": "http://Web.Example:8080/a/b?c=1&d", "url.scheme": "http",
            "url.domain": "web.example", "url.port": 8080, "url.path": "/a/b",
            "url.query": "c=1&d", "related.hosts": ["web.example"]}),
    (POWERSHELL, 4104, 1, [
        ("MessageNumber", "i32", 1), ("MessageTotal", "i32", 2),
        ("ScriptBlockText", "text", "Get-Item \"a\"\n"), ("ScriptBlockId", "text", "7c-1"),
        ("Path", "text", "C:\\s\\x.ps1")],
     OWN | {"event.action": "powershell-script-block", "event.category": ["process"],
            "event.type": ["info"], "powershell.sequence": 1, "powershell.total": 2,
            "powershell.file.script_block_text": "Get-Item \"a\"\n",
            "powershell.file.script_block_id": "7c-1", "file.path": "C:\\s\\x.ps1",
            "file.name": "x.ps1", "file.extension": "ps1", "file.directory": "C:\\s"}),
    (POWERSHELL, 4103, 1, [
        ("ContextInfo", "text", "        Severity = Informational\r\n        Host Application = "
         "powershell.exe -nop\r\n        Command Name = Get-Item\r\n        Script Name = \r\n"),
        ("UserData", "text", ""), ("Payload", "text", "x")],
     OWN | {"event.action": "powershell-pipeline", "event.category": ["process"],
            "event.type": ["info"], "process.command_line": "powershell.exe -nop",
            "process.args": ["powershell.exe", "-nop"], "process.args_count": 2,
            "powershell.command.name": "Get-Item", "powershell.command.invocation_details": [{"value": "x"}]}),
    (POWERSHELL, 4103, 2, [
        ("ContextInfo", "text", "        Severity = Informational\r\n        Host Name = ConsoleHost\r\n"
         "        Host ID = 7\r\n        Engine Version = 5.1\r\n        Script Name = C:\\s\\x.ps1\r\n"
         "        User = CORP\\smith\r\n        Connected User = CORP\\jones\r\n        Shell ID = Ms.PS\r\n"),
        ("Payload", "text", "CommandInvocation(Get-Item): \"Get-Item\"\r\n"
         "ParameterBinding(Get-Item): name=\"Path\"; value=\"C:\\\"\r\n")],
     OWN | {"event.action": "powershell-pipeline", "event.category": ["process"], "event.type": ["info"],
            "process.title": "ConsoleHost", "process.entity_id": "7", "powershell.engine.version": "5.1",
            "file.path": "C:\\s\\x.ps1", "file.name": "x.ps1", "file.extension": "ps1", "file.directory": "C:\\s",
            "user.name": "jones", "user.domain": "CORP", "powershell.connected_user.name": "jones",
            "powershell.connected_user.domain": "CORP", "powershell.id": "Ms.PS", "related.user": ["jones", "smith"],
            "powershell.command.invocation_details": [
                {"type": "CommandInvocation", "related_command": "Get-Item", "value": "\"Get-Item\""},
                {"type": "ParameterBinding", "related_command": "Get-Item", "name": "\"Path\"",
                 "value": "\"C:\\\""}]}),
    (SECURITY, 4624, 2, [
        ("SubjectUserSid", "sid", sid(5, 18)), ("SubjectUserName", "text", "PC$"),
        ("SubjectDomainName", "text", "CORP"), ("TargetUserSid", "sid", sid(5, 21, 1, 2, 3, 500)),
        ("TargetUserName", "text", "smith"), ("TargetDomainName", "text", "CORP"),
        ("LogonType", "u32", 10), ("WorkstationName", "text", "LAPTOP-7"),
        ("ProcessId", "pointer", 0x2a8), ("ProcessName", "text", "C:\\Windows\\System32\\s.exe"),
        ("IpAddress", "text", "192.0.2.4"), ("IpPort", "text", "0")],
     {"event.action": "logged-in", "event.category": ["authentication"], "event.type": ["start"],
      "event.outcome": "success", "user.id": "S-1-5-21-1-2-3-500", "user.name": "smith",
      "user.domain": "CORP", "process.pid": 680, "process.name": "s.exe",
      "process.executable": "C:\\Windows\\System32\\s.exe", "source.ip": "192.0.2.4",
      "source.domain": "LAPTOP-7", "related.ip": ["192.0.2.4"], "related.user": ["PC$", "smith"],
      "related.hosts": ["LAPTOP-7"], "winlog.logon.type": "RemoteInteractive"}),
    (SECURITY, 4625, 0, [
        ("TargetUserSid", "sid", NOBODY), ("TargetUserName", "text", "smith"),
        ("TargetDomainName", "text", "-"), ("Status", "hex32", 0xc000006d),
        ("SubStatus", "hex32", 0), ("WorkstationName", "text", "-"), ("ProcessId", "pointer", 0),
        ("ProcessName", "text", "-"), ("IpAddress", "text", "::ffff:192.0.2.4"),
        ("IpPort", "text", "-")],
     OWN | {"event.action": "logon-failed", "event.category": ["authentication"],
            "event.type": ["start"], "event.outcome": "failure", "error.code": "0xc000006d",
            "user.name": "smith", "source.ip": "192.0.2.4", "related.ip": ["192.0.2.4"],
            "related.user": ["smith"], "winlog.logon.failure.status": "STATUS_LOGON_FAILURE"}),
    # As the XML of an event log has it: all is text.
    (SECURITY, 4625, 1, [
        ("SubjectUserSid", "text", "S-1-5-18"), ("SubjectLogonId", "text", "0x3e7"),
        ("TargetUserSid", "text", "S-1-0-0"), ("TargetUserName", "text", "smith@CORP.EXAMPLE"),
        ("TargetDomainName", "text", ""), ("Status", "text", "0xc000006d"), ("FailureReason", "text", "%%2313"),
        ("SubStatus", "text", "0xc000006a"), ("LogonType", "text", "3"), ("WorkstationName", "text", "PC-7"),
        ("ProcessId", "text", "0x2a8"), ("ProcessName", "text", "C:\\w\\s.exe"), ("IpAddress", "text", "192.0.2.4"),
        ("IpPort", "text", "50123")],
     {"event.action": "logon-failed", "event.category": ["authentication"], "event.type": ["start"],
      "event.outcome": "failure", "error.code": "0xc000006a", "user.name": "smith", "process.pid": 680,
      "process.name": "s.exe", "process.executable": "C:\\w\\s.exe", "source.ip": "192.0.2.4", "source.port": 50123,
      "source.domain": "PC-7", "related.ip": ["192.0.2.4"], "related.hosts": ["PC-7"], "related.user": ["smith"],
      "winlog.logon.type": "Network", "winlog.logon.id": "0x3e7",
      "winlog.logon.failure.reason": "Unknown user name or bad password.",
      "winlog.logon.failure.status": "STATUS_LOGON_FAILURE",
      "winlog.logon.failure.sub_status": "STATUS_WRONG_PASSWORD"}),
    (SECURITY, 4634, 0, [
        ("TargetUserSid", "text", "S-1-5-21-1"), ("TargetUserName", "text", "smith"),
        ("TargetDomainName", "text", "CORP"), ("TargetLogonId", "text", "0x4a5"), ("LogonType", "text", "2")],
     OWN | {"event.action": "logged-out", "event.category": ["authentication"], "event.type": ["end"],
            "event.outcome": "success", "user.id": "S-1-5-21-1", "user.name": "smith", "user.domain": "CORP",
            "related.user": ["smith"], "winlog.logon.id": "0x4a5", "winlog.logon.type": "Interactive"}),
    (SECURITY, 4697, 0, [
        ("SubjectUserSid", "text", "S-1-5-18"), ("SubjectUserName", "text", "PC$"),
        ("SubjectDomainName", "text", "CORP"), ("SubjectLogonId", "text", "0x3e7"), ("ServiceName", "text", "svc"),
        ("ServiceFileName", "text", "C:\\s.exe"), ("ServiceType", "text", "0x10")],
     OWN | {"event.action": "service-installed", "event.category": ["iam", "configuration"],
            "event.type": ["admin", "change"], "user.id": "S-1-5-18", "user.name": "PC$", "user.domain": "CORP",
            "related.user": ["PC$"], "service.name": "svc", "service.type": "Win32 Own Process",
            "winlog.logon.id": "0x3e7"}),
    (SECURITY, 4706, 0, [
        ("SubjectUserName", "text", "smith"), ("TdoType", "text", "2"), ("TdoDirection", "text", "3"),
        ("TdoAttributes", "text", "32")],
     OWN | {"event.action": "domain-trust-added", "event.category": ["configuration"], "event.type": ["creation"],
            "user.name": "smith", "related.user": ["smith"], "winlog.trustType": "TRUST_TYPE_UPLEVEL",
            "winlog.trustDirection": "TRUST_DIRECTION_BIDIRECTIONAL",
            "winlog.trustAttribute": "TRUST_ATTRIBUTE_WITHIN_FOREST"}),
    (SECURITY, 4728, 0, [
        ("MemberName", "text", "CN=Jones\\, A,OU=People,DC=corp,DC=example"), ("MemberSid", "text", "S-1-5-21-9"),
        ("TargetUserName", "text", "Ops"), ("TargetDomainName", "text", "CORP"), ("TargetSid", "text", "S-1-5-21-7"),
        ("SubjectUserSid", "text", "S-1-5-21-8"), ("SubjectUserName", "text", "smith")],
     OWN | {"event.action": "added-member-to-group", "event.category": ["iam"], "event.type": ["group", "change"],
            "event.outcome": "success", "group.id": "S-1-5-21-7", "group.name": "Ops", "group.domain": "CORP",
            "user.target.id": "S-1-5-21-9", "user.target.name": "Jones\\, A", "user.target.domain": "corp",
            "user.target.group.id": "S-1-5-21-7", "user.target.group.name": "Ops",
            "user.target.group.domain": "CORP", "user.id": "S-1-5-21-8", "user.name": "smith",
            "related.user": ["smith", "Jones\\, A"]}),
    (SECURITY, 4742, 0, [
        ("TargetUserName", "text", "PC-7$"), ("TargetDomainName", "text", "CORP"), ("TargetSid", "text", "S-1-5-21-7"),
        ("SubjectUserName", "text", "smith")],
     OWN | {"event.action": "changed-computer-account", "event.category": ["iam"], "event.type": ["change", "admin"],
            "event.outcome": "success", "winlog.computerObject.id": "S-1-5-21-7",
            "winlog.computerObject.name": "PC-7$", "winlog.computerObject.domain": "CORP", "user.name": "smith",
            "related.user": ["smith"]}),
    (SECURITY, 5145, 0, [
        ("SubjectUserName", "text", "smith"), ("IpAddress", "text", "192.0.2.4"), ("IpPort", "text", "50123"),
        ("ShareName", "text", "\\\\*\\C$"), ("ShareLocalPath", "text", "\\??\\C:\\"),
        ("RelativeTargetName", "text", "w\\a.txt")],
     OWN | {"event.action": "network-share-object-access-checked", "event.category": ["network", "file"],
            "event.type": ["info", "access"], "event.outcome": "failure", "user.name": "smith",
            "related.user": ["smith"], "source.ip": "192.0.2.4", "source.port": 50123, "related.ip": ["192.0.2.4"],
            "file.directory": "\\??\\C:\\", "file.name": "a.txt", "file.extension": "txt"}),
    (EVENTLOG, 1102, 0, [
        ("SubjectUserSid", "text", "S-1-5-21-8"), ("SubjectUserName", "text", "smith"),
        ("SubjectDomainName", "text", "CORP"), ("SubjectLogonId", "text", "0x4a5")],
     OWN | {"event.action": "audit-log-cleared", "event.category": ["iam"], "event.type": ["admin", "change"],
            "event.outcome": "success", "user.id": "S-1-5-21-8", "user.name": "smith", "user.domain": "CORP",
            "related.user": ["smith"], "winlog.logon.id": "0x4a5"}),
    (SYSMON, 7, 3, [
        ("RuleName", "text", "T1574"), ("ProcessGuid", "text", "{00112233-4455-6677-8899-AABBCCDDEEFF}"),
        ("ProcessId", "text", "4306"), ("Image", "text", "C:\\w\\a.exe"), ("ImageLoaded", "text", "C:\\w\\b.dll"),
        ("Hashes", "text", "MD5=0F"), ("Product", "text", "B"), ("Signed", "text", "true"),
        ("Signature", "text", "Corp"), ("SignatureStatus", "text", "Valid"), ("User", "text", "CORP\\smith")],
     {"event.action": "image-loaded", "event.category": ["library"], "event.type": ["start"], "rule.name": "T1574",
      "process.entity_id": "{00112233-4455-6677-8899-aabbccddeeff}", "process.pid": 4306,
      "process.executable": "C:\\w\\a.exe", "process.name": "a.exe", "dll.path": "C:\\w\\b.dll",
      "dll.name": "b.dll", "dll.hash.md5": "0f", "dll.pe.product": "B", "dll.code_signature.exists": True,
      "dll.code_signature.valid": True, "dll.code_signature.status": "Valid",
      "dll.code_signature.subject_name": "Corp", "file.path": "C:\\w\\b.dll", "file.name": "b.dll",
      "file.directory": "C:\\w", "file.extension": "dll", "file.hash.md5": "0f", "file.pe.product": "B",
      "file.code_signature.exists": True, "file.code_signature.valid": True, "file.code_signature.status": "Valid",
      "file.code_signature.subject_name": "Corp", "user.name": "smith", "user.domain": "CORP",
      "related.user": ["smith"], "related.hash": ["0f"]}),
    (SYSMON, 10, 3, [
        ("SourceProcessGUID", "guid", "00112233-4455-6677-8899-aabbccddeeff"), ("SourceProcessId", "u32", PID),
        ("SourceThreadId", "u32", 77), ("SourceImage", "text", "C:\\w\\a.exe"), ("SourceUser", "text", "CORP\\smith")],
     {"event.action": "process-accessed", "event.category": ["process"], "event.type": ["access"],
      "process.entity_id": "{00112233-4455-6677-8899-aabbccddeeff}", "process.pid": PID, "process.thread.id": 77,
      "process.executable": "C:\\w\\a.exe", "process.name": "a.exe", "user.name": "smith", "user.domain": "CORP",
      "related.user": ["smith"]}),
    (SYSMON, 22, 5, [
        ("ProcessId", "text", "4306"), ("QueryName", "text", "a.example"), ("QueryStatus", "text", "9003"),
        ("QueryResults", "text", "-")],
     {"event.action": "dns-answer", "event.category": ["network"],
      "event.type": ["protocol", "end", "connection", "info"], "event.outcome": "failure", "error.code": "9003",
      "process.pid": 4306, "dns.type": "answer", "dns.question.name": "a.example", "dns.response_code": "NXDOMAIN",
      "network.protocol": "dns", "sysmon.dns.status": "DNS_ERROR_RCODE_NAME_ERROR",
      "related.hosts": ["a.example"]}),
    (SYSMON, 23, 5, [
        ("ProcessId", "text", "4306"), ("TargetFilename", "text", "C:\\w\\b.exe"), ("Hashes", "text", "SHA1=AB"),
        ("IsExecutable", "text", "true"), ("Archived", "text", "false")],
     {"event.action": "file-deleted", "event.category": ["file"], "event.type": ["deletion"], "process.pid": 4306,
      "file.path": "C:\\w\\b.exe", "file.name": "b.exe", "file.directory": "C:\\w", "file.extension": "exe",
      "file.hash.sha1": "ab", "related.hash": ["ab"], "sysmon.file.is_executable": True,
      "sysmon.file.archived": False}),
    (SECURITY, 4688, 2, [
        ("SubjectUserSid", "sid", sid(5, 18)), ("SubjectUserName", "text", "PC$"),
        ("SubjectDomainName", "text", "CORP"), ("NewProcessId", "pointer", 0x10d2),
        ("NewProcessName", "text", "C:\\w\\cmd.exe"), ("ProcessId", "pointer", 0x61),
        ("CommandLine", "text", "cmd /c \"dir\""), ("TargetUserSid", "sid", NOBODY),
        ("TargetUserName", "text", "-"), ("TargetDomainName", "text", "-"),
        ("ParentProcessName", "text", "C:\\w\\explorer.exe")],
     {"event.action": "process-started", "event.category": ["process"], "event.type": ["start"],
      "process.pid": 4306, "process.name": "cmd.exe", "process.executable": "C:\\w\\cmd.exe",
      "process.command_line": "cmd /c \"dir\"", "process.args": ["cmd", "/c", "dir"], "process.args_count": 3,
      "process.parent.pid": 97,
      "process.parent.name": "explorer.exe",
      "process.parent.executable": "C:\\w\\explorer.exe", "user.id": "S-1-5-18",
      "user.name": "PC$", "user.domain": "CORP", "related.user": ["PC$"]}),
    (SECURITY, 4732, 0, [
        ("MemberName", "text", "-"), ("MemberSid", "sid", sid(5, 21, 9)),
        ("TargetUserName", "text", "Administrators"), ("TargetDomainName", "text", "Builtin"),
        ("TargetSid", "sid", sid(5, 32, 544)), ("SubjectUserSid", "sid", sid(5, 21, 8)),
        ("SubjectUserName", "text", "smith"), ("SubjectDomainName", "text", "CORP")],
     OWN | {"event.action": "added-member-to-group", "event.category": ["iam"],
            "event.type": ["group", "change"], "group.id": "S-1-5-32-544",
            "group.name": "Administrators", "group.domain": "Builtin",
            "user.target.id": "S-1-5-21-9", "user.target.group.id": "S-1-5-32-544",
            "user.target.group.name": "Administrators", "user.target.group.domain": "Builtin",
            "user.id": "S-1-5-21-8", "user.name": "smith", "user.domain": "CORP", "related.user": ["smith"]}),
    (SYSMON, 1, 5, [
        ("ProcessGuid", "guid", "00112233-4455-6677-8899-aabbccddeeff"),
        ("ProcessId", "u32", 4306), ("Image", "text", "C:\\w\\cmd.exe"),
        ("Company", "text", "-"), ("CommandLine", "text", "cmd"),
        ("User", "text", "CORP\\smith"),
        ("Hashes", "text", "SHA1=AB,MD5=0F,IMPHASH=C1"), ("ParentProcessId", "u32", 97),
        ("ParentImage", "text", "C:\\w\\explorer.exe")],
     {"event.action": "process-started", "event.category": ["process"], "event.type": ["start"],
      "process.entity_id": "{00112233-4455-6677-8899-aabbccddeeff}", "process.pid": 4306,
      "process.name": "cmd.exe", "process.executable": "C:\\w\\cmd.exe",
      "process.command_line": "cmd", "process.args": ["cmd"], "process.args_count": 1, "process.hash.sha1": "ab", "process.hash.md5": "0f",
      "process.pe.imphash": "c1", "process.parent.pid": 97,
      "process.parent.name": "explorer.exe",
      "process.parent.executable": "C:\\w\\explorer.exe", "user.name": "smith",
      "user.domain": "CORP", "related.user": ["smith"], "related.hash": ["0f", "ab"]}),
    (SYSMON, 3, 5, [
        ("ProcessGuid", "guid", "00112233-4455-6677-8899-aabbccddeeff"),
        ("ProcessId", "u32", 4306), ("Image", "text", "C:\\w\\nc.exe"),
        ("User", "text", "CORP\\smith"), ("Protocol", "text", "tcp"), ("Initiated", "bool", 1),
        ("SourceIp", "text", "192.0.2.9"), ("SourceHostname", "text", "PC-7"),
        ("SourcePort", "u16", 50123), ("DestinationIp", "text", "198.51.100.7"),
        ("DestinationHostname", "text", "-"), ("DestinationPort", "u16", 443),
        ("DestinationPortName", "text", "https")],
     {"event.action": "network-connection", "event.category": ["network"],
      "event.type": ["connection", "start", "protocol"],
      "process.entity_id": "{00112233-4455-6677-8899-aabbccddeeff}", "process.pid": 4306,
      "process.name": "nc.exe", "process.executable": "C:\\w\\nc.exe", "user.name": "smith",
      "user.domain": "CORP", "source.ip": "192.0.2.9", "source.domain": "PC-7",
      "source.port": 50123, "destination.ip": "198.51.100.7", "destination.port": 443,
      "network.direction": "egress", "network.transport": "tcp", "network.type": "ipv4",
      "network.protocol": "https", "related.user": ["smith"], "related.hosts": ["PC-7"],
      "related.ip": ["192.0.2.9", "198.51.100.7"]}),
    (SYSMON, 5, 3, [
        ("ProcessGuid", "guid", "00000000-0000-0000-0000-000000000000"),
        ("ProcessId", "u32", 4306)],
     {"event.action": "process-ended", "event.category": ["process"], "event.type": ["end"],
      "process.pid": 4306}),
    (SYSMON, 13, 2, [
        ("ProcessId", "u32", PID), ("Image", "text", "C:\\w\\reg.exe"),
        ("TargetObject", "text", "HKLM\\SOFTWARE\\Run\\x"), ("Details", "text", "y")],
     OWN | {"event.action": "registry-value-set", "event.category": ["configuration", "registry"],
            "event.type": ["change"], "registry.data.type": "REG_SZ", "registry.data.strings": ["y"], "process.name": "reg.exe",
            "process.executable": "C:\\w\\reg.exe", "registry.hive": "HKLM",
            "registry.path": "HKLM\\SOFTWARE\\Run\\x", "registry.key": "SOFTWARE\\Run",
            "registry.value": "x"}),
    (TASKS, 129, 0, [
        ("TaskName", "text", "\\t"), ("Path", "text", "C:\\w\\t.exe"), ("ProcessID", "u32", 4306)],
     {"event.action": "scheduled-task-process-created", "event.category": ["process"],
      "event.type": ["start"], "process.pid": 4306, "process.name": "t.exe",
      "process.executable": "C:\\w\\t.exe"}),
    (TASKS, 106, 0, [("TaskName", "text", "\\t"), ("UserContext", "text", "S-1-5-18")],
     OWN | {"event.action": "scheduled-task-created", "event.category": ["configuration"],
            "event.type": ["creation"], "user.id": "S-1-5-18"}),
    (DEFENDER, 1116, 0, [
        ("Threat Name", "text", "Virus:DOS/EICAR_Test_File"),
        ("Detection User", "text", "CORP\\smith")],
     OWN | {"event.action": "malware-detected", "event.category": ["malware"],
            "event.type": ["info"], "user.name": "smith", "user.domain": "CORP",
            "related.user": ["smith"]}),
    (WMI, 5858, 0, [
        ("Id", "text", "{1}"), ("ClientMachine", "text", "PC-7"), ("User", "text", "CORP\\smith"),
        ("ClientProcessId", "u32", 7), ("ResultCode", "hresult", 0x80041032)],
     OWN | {"event.action": "wmi-operation-failed", "event.category": ["api"],
            "event.type": ["end"], "event.outcome": "failure", "error.code": "0x80041032",
            "user.name": "smith", "user.domain": "CORP", "source.domain": "PC-7",
            "related.user": ["smith"], "related.hosts": ["PC-7"]}),
    # Not mapped: another number, and another provider with a known one.
    (DNS, 1000, 0, [("QueryName", "text", "a.example")], OWN),
    (("Other-Provider", "6e7c1a52-0d4b-4c8e-9a37-5b0f1d2c3e42"), 3008, 0,
     [("QueryName", "text", "a.example")], OWN),
]


def manifest():
    providers = {}
    for provider, number, version, fields, _ in EVENTS:
        layout = [(name, kind) for name, kind, _ in fields]
        before = providers.setdefault(provider, {}).setdefault((number, version), layout)
        assert before == layout, (provider, number)
    parts = ['<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">'
             '<instrumentation><events>']
    for (name, guid), events in providers.items():
        parts.append(f'<provider name="{name}" guid="{{{guid}}}" symbol="S" resourceFileName="r" '
                     'messageFileName="m"><events>')
        parts += [f'<event value="{number}" version="{version}" template="t{number}v{version}"/>'
                  for number, version in events]
        parts.append("</events><templates>")
        for (number, version), layout in events.items():
            parts.append(f'<template tid="t{number}v{version}">')
            parts += [f"<data name={quoteattr(field)} {TYPES[kind][0]}/>" for field, kind in layout]
            parts.append("</template>")
        parts.append("</templates></provider>")
    parts.append("</events></instrumentation></instrumentationManifest>")
    return "".join(parts)


def record(provider, number, version, fields):
    """EVENT_HEADER (evntcons.h) of header type 19, and the payload."""
    payload = b"".join(TYPES[kind][1](value) for _, kind, value in fields)
    guid = uuid.UUID(provider[1]).bytes_le
    descriptor = struct.pack("<HBBBBHQ", number, version, 0, 4, 0, 0, KEYWORDS.get(number, 0))
    return struct.pack("<HBBHHIIq16s16sQ16s", 80 + len(payload), 19, 0xC0, 0x40, 0, TID, PID,
                       FILETIME, guid, descriptor, 0, bytes(16)) + payload


def flat(event, path=""):
    for key, value in event.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            yield from flat(value, inner)
        else:
            yield inner, value


def unique(pairs):
    assert len(dict(pairs)) == len(pairs), f"a key stands twice: {pairs}"
    return dict(pairs)


class Events(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.memory = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.memory.name)
        cls.manifest = cls.folder / "known.man"
        cls.trace = cls.folder / "known.etl"
        cls.manifest.write_text(manifest(), encoding="utf-8")
        records = cls.folder / "records.bin"
        made = [record(*event[:4]) for event in EVENTS]
        records.write_bytes(b"".join(struct.pack("<I", len(raw)) + raw for raw in made))
        subprocess.run([ETLGEN, "--clock", "system", "--cpus", "1", "--records", str(records), "-o",
                        str(cls.trace)], check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.memory.cleanup()

    def lines(self, output):
        return [json.loads(line, object_pairs_hook=unique) for line in output.splitlines()]

    def mapped(self, event):
        return {path: value for path, value in flat(event) if not path.startswith(COMMON)}

    def test_events_have_what_they_are_to_have(self):
        done = subprocess.run([BINARY, "dump", "-f", "ecs", "--schema", str(self.manifest),
                               str(self.trace)], check=True, timeout=TIMEOUT_S,
                              stdout=subprocess.PIPE)
        found = self.lines(done.stdout)
        self.assertEqual(len(found), len(EVENTS))
        for event, (provider, number, _, fields, expected) in zip(found, EVENTS):
            with self.subTest(provider=provider[0], event=number):
                self.assertEqual(self.mapped(event), expected)
                self.assertEqual(event["winlog"]["process_id"], str(PID))
                data = event["winlog"]["event_data"]
                self.assertLessEqual({name for name, kind, value in fields if value != ""},
                                     set(data))

    def edited(self, *rules):
        """The events after the rules ${rules}."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        output = folder / "out.json"
        config = folder / "run.yaml"
        config.write_text(json.dumps({
            "spool": {"mode": "memory"},
            "schema": [{"type": "folder", "path": str(self.manifest)}],
            "sessions": [{"name": "s", "type": "file", "paths": [str(self.trace)]}],
            "filters": rules,
            "outputs": [{"name": "o", "type": "file", "path": str(output), "format": "ecs"}]}))
        subprocess.run([BINARY, "run", "-c", str(config)], check=True, timeout=TIMEOUT_S,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = self.lines(output.read_bytes())
        self.assertEqual(len(found), len(EVENTS))
        return found

    def test_what_rules_do_holds_for_what_is_mapped(self):
        key = self.folder / "key"
        key.write_text("0123456789abcdef")
        key.chmod(0o600)
        found = self.edited(
            {"remove": {"fields": ["data.CommandLine", "data.saddr"]}},
            {"hash": {"fields": ["data.QueryName", "data.IpAddress"], "key": f"file:{key}"}},
            {"truncate": {"fields": ["data.ScriptBlockText"], "bytes": 3}},
            {"rename": {"fields": {"data.FilePath": "Path"}}})
        for event, (provider, number, _, _, expected) in zip(found, EVENTS):
            with self.subTest(provider=provider[0], event=number):
                changed = dict(expected)
                self.change(changed, event["winlog"]["event_data"])
                self.assertEqual(self.mapped(event), changed)

    def test_rules_for_a_process_hold_for_what_is_mapped_to_it(self):
        """Fields that are mapped to the same field are edited with it, and so is everything below it or equal to
        it."""
        gone = ("process.command_line", "process.args", "process.args_count", "process.executable", "user.name")
        found = self.edited(
            {"remove": {"fields": ["process.command_line", "process.parent"]}},
            {"hash": {"fields": ["process.executable", "process.user.name", "data.Image"],
                      "key": "0123456789abcdef"}})
        left_out = set()
        for event, (provider, number, _, _, expected) in zip(found, EVENTS):
            with self.subTest(provider=provider[0], event=number):
                data = event["winlog"]["event_data"]
                changed = {path: value for path, value in expected.items()
                           if path not in gone and not path.startswith("process.parent.")}
                if "user.name" in expected:
                    others = [expected[path] for path in expected
                              if path.startswith("user.") and path.count(".") > 1]
                    users = [name for name in expected["related.user"]
                             if name in others or number == 4624 and name != expected["user.name"]]
                    changed.pop("related.user")
                    changed |= {"related.user": users} if users else {}
                if "Image" in data and "process.executable" in expected:
                    self.assertRegex(data["Image"], "^[0-9a-f]{64}$")
                    changed["process.executable"] = changed["process.name"] = data["Image"]
                self.assertEqual(self.mapped(event), changed)
                left_out |= set(expected) - set(changed)
        self.assertLessEqual({"process.command_line", "process.executable", "process.parent.pid",
                              "process.parent.executable", "user.name"}, left_out)

    def change(self, expected, data):
        """${expected} after these rules; hashed values are those of the payload."""
        if "ContextInfo" not in data:
            for field in ("command_line", "args", "args_count"):
                expected.pop(f"process.{field}", None)
        if "daddr" in data:
            side = "destination" if expected["network.direction"] == "ingress" else "source"
            address = expected.pop(f"{side}.ip")
            expected["related.ip"] = [other for other in expected["related.ip"] if other != address]
        if "dns.question.name" in expected:
            self.assertRegex(data["QueryName"], "^[0-9a-f]{64}$")
            expected["dns.question.name"] = data["QueryName"]
            expected["related.hosts"][0] = data["QueryName"]
        if "IpAddress" in data:
            del expected["source.ip"], expected["related.ip"]
        if "ScriptBlockText" in data:
            expected["powershell.file.script_block_text"] = "Get"
        if data.get("Path", "").endswith(".gz"):
            for field in ("path", "name", "extension", "directory"):
                del expected[f"file.{field}"]


if __name__ == "__main__":
    unittest.main()
