"""What a real trace's kernel events are mapped to, against its bytes.

The independent reader finds the records of classes TcpIp, UdpIp, Process and Image, and their payloads are
taken apart here after the MOF classes of Windows' documentation (TcpIp_TypeGroup1 and others). Every one of
them must be mapped to what that says, and no other event may be taken for one.
"""

import ipaddress
import struct
from collections import Counter

import common
import minietl

TRACE = "perfview-net.4.5.2.x86.etl"
AT_LEAST = {"network": 500, "process": 70, "library": 3000}

GROUPS = {0x03: "process", 0x06: "tcp", 0x08: "udp", 0x14: "image"}
CLASSES = {"3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c": "process",
           "9a280ac0-c8e0-11d1-84e2-00c04fb998a2": "tcp",
           "bf3a50c5-a9c9-4988-a005-2df0b7c80f80": "udp",
           "2cb15d1d-5fc1-11d2-abe1-00a0c911f518": "image"}
IPV6_FROM = 26  # types of IPv6 are those of IPv4 and 16 more
ACTIONS = {
    "tcp": {10: "tcp-sent", 11: "tcp-received", 12: "tcp-connected", 13: "tcp-disconnected",
            14: "tcp-retransmitted", 15: "tcp-accepted", 16: "tcp-reconnected", 18: "tcp-copied"},
    "udp": {10: "udp-sent", 11: "udp-received"},
    "process": {1: "process-started", 2: "process-ended", 3: "process-rundown",
                4: "process-rundown"},
    "image": {2: "image-unloaded", 3: "image-rundown", 4: "image-rundown", 10: "image-loaded"},
}
# Where the local side, which these classes call source, is who receives.
INWARD = {"tcp-received", "tcp-accepted", "tcp-copied"}


def connection(name, type_, payload):
    v6 = type_ >= IPV6_FROM
    pid, size = struct.unpack_from("<II", payload)
    width = 16 if v6 else 4
    there, here = payload[8:8 + width], payload[8 + width:8 + 2 * width]
    there_port, here_port = struct.unpack_from(">HH", payload, 8 + 2 * width)
    source, destination = (here, here_port), (there, there_port)
    action = ACTIONS[name][type_ - 16 if v6 else type_]
    if action in INWARD:
        source, destination = destination, source
    sides = tuple((str(ipaddress.ip_address(address)), port) for address, port in
                  (source, destination))
    moved = size if type_ in (10, 11, 26, 27) else None
    return action, pid, sides, name, "ipv6" if v6 else "ipv4", moved


def zero_ended(data, at):
    return data[at:data.index(b"\0", at)].decode("cp1252")


def process(type_, payload, pointer):
    pid, parent = struct.unpack_from("<II", payload, pointer)
    at = pointer + 16 + pointer + 4  # SessionId, ExitStatus, DirectoryTableBase, Flags
    if any(payload[at:at + 4]):
        at += 2 * pointer
        parts = payload[at + 1]
        sid = "-".join(["S", "1", str(int.from_bytes(payload[at + 2:at + 8], "big"))] + [
            str(part) for part in struct.unpack_from(f"<{parts}I", payload, at + 8)])
        at += 8 + 4 * parts
    else:
        sid, at = None, at + 4
    return ACTIONS["process"][type_], pid, parent, zero_ended(payload, at), sid


def image(type_, payload, pointer):
    pid, = struct.unpack_from("<I", payload, 2 * pointer)
    at = 2 * pointer + 16 + pointer + 16
    path = payload[at:].decode("utf-16-le").split("\0")[0]
    return ACTIONS["image"][type_], pid, path, path.rsplit("\\", 1)[-1]


def expected(path):
    found = {"network": Counter(), "process": Counter(), "library": Counter()}
    for records in minietl.Trace(path).by_cpu.values():
        for record in records:
            by_group = record.group is not None
            name = GROUPS.get(record.group) if by_group else CLASSES.get(record.guid)
            type_ = record.opcode
            if name == "process" and type_ == 10 and by_group:
                name = "image"  # loads have the hook of processes
            known = ACTIONS.get(name, {})
            if name in ("tcp", "udp") and (type_ in known or type_ - 16 in known):
                found["network"][connection(name, type_, record.payload)] += 1
            elif name == "process" and type_ in known:
                found["process"][process(type_, record.payload, record.pointer)] += 1
            elif name == "image" and type_ in known:
                found["library"][image(type_, record.payload, record.pointer)] += 1
    return found


def side(event, name):
    return event[name]["ip"], event[name].get("port", 0)


def mapped(path):
    found = {"network": Counter(), "process": Counter(), "library": Counter()}
    for line in common.stream("-f", "ecs", path):
        event = common.parse_strictly(line)
        kind, about, its = event["event"], event.get("process", {}), event["winlog"].get("task")
        if its in ("TcpIp", "UdpIp") and "source" in event:
            network = event["network"]
            found["network"][kind["action"], about["pid"],
                             (side(event, "source"), side(event, "destination")),
                             network["transport"], network["type"], network.get("bytes")] += 1
            ips = sorted({event["source"]["ip"], event["destination"]["ip"]})
            if sorted(event["related"]["ip"]) != ips:
                raise ValueError(f"related.ip: {event['related']}")
        elif its == "Process" and "action" in kind and "category" in kind:
            found["process"][kind["action"], about["pid"], about["parent"]["pid"], about["name"],
                             event.get("user", {}).get("id")] += 1
        elif its == "Image" and "dll" in event:
            found["library"][kind["action"], about["pid"], event["dll"]["path"],
                             event["dll"]["name"]] += 1
    return found


def main():
    report = common.Report()
    path = common.trace(TRACE)
    theirs, ours = expected(path), mapped(path)
    for name, at_least in AT_LEAST.items():
        count = sum(theirs[name].values())
        report.true(f"{name}: enough of them", count >= at_least, str(count))
        report.equal(f"{name}: missing", theirs[name] - ours[name], Counter())
        report.equal(f"{name}: not in the trace", ours[name] - theirs[name], Counter())
    report.finish()


if __name__ == "__main__":
    main()
