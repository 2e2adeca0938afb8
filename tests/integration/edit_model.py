"""Rules that edit, worked out on the JSON of unedited native events with hmac and hashlib: what
docs/reference/filter-language.md says, and nothing of how the agent does it."""

import hashlib
import hmac
import json

# Messages of the generated trace, by provider and code, with the fields whose values they have.
TEMPLATES = {
    ("Etwship-Sample-Dns", 3006): "DNS query is called for the name {QueryName}",
    ("Etwship-Sample-Dns", 3008):
        "DNS query is completed for the name {QueryName}, type {QueryType}, query options "
        "{QueryOptions} with status {QueryStatus} Results {QueryResults}",
    ("Etwship-Sample-Process", 1):
        "Process {ProcessID} started by parent {ParentProcessID} running in session {SessionID} "
        "with name {ImageName}",
    ("Etwship-Sample-Process", 2): "Process {ProcessID} stopped with exit code {ExitCode}",
    ("Etwship-Sample-EventSource", 1): "{Name} begins with priority {Priority}",
}
LEFT_OUT = "bytes left out, as a rule removes or hashes fields of the payload"


def load(line):
    """Numbers keep their digits, as texts that no string of an event equals."""
    return json.loads(line, parse_int=lambda n: "\0" + n, parse_float=lambda n: "\0" + n)


def number(text):
    return int(text.removeprefix("\0"))


def shown(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.removeprefix("\0")


def hashed(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def cut(text, most):
    return text.encode()[:most].decode(errors="ignore")


class Edited:
    """One event while rules are applied to it. `data` is a list of [name, value, name beside it or None, name in
    messages]; the last one serves messages also after the field was renamed."""

    def __init__(self, event):
        self.event = json.loads(json.dumps(event))
        self.message_rules = []
        data = event.get("data", {})
        names = {k for k in data if k.endswith("_name") and k[:-5] in data}
        self.data = [[k, v, data.get(k + "_name") if k + "_name" in names else None, k]
                     for k, v in self.event.get("data", {}).items() if k not in names]
        self.hidden = None

    # ---- data ---------------------------------------------------------------------------------

    def members(self, path, act):
        """Call act(get, put, drop) for the values that the path names."""
        for field in self.data:
            if field[0] is None or (path and field[0] != path[0]):
                continue
            if len(path) > 1:
                self.nested(field[1], path[1:], act)
            else:
                act(field)

    def nested(self, value, rest, act):
        if isinstance(value, list):
            for element in value:
                self.nested(element, rest, act)
        elif isinstance(value, dict) and rest[0] in value:
            if len(rest) > 1:
                self.nested(value[rest[0]], rest[1:], act)
            else:
                member = [rest[0], value[rest[0]], value.pop(rest[0] + "_name", None), None]
                keys = list(value)
                values = dict(value)
                act(member, siblings=keys)
                value.clear()
                for key in keys:
                    if key != rest[0]:
                        value[key] = values[key]
                    elif member[1] is not REMOVED:
                        value[member[0]] = member[1]

    def each_value(self, value, change):
        if isinstance(value, list):
            return [self.each_value(v, change) for v in value]
        if isinstance(value, dict):
            return {k: self.each_value(v, change) for k, v in value.items()}
        return change(value)

    def hide_bytes(self):
        for key in ("payload", "payload_rest"):
            if self.event.pop(key, None) is not None:
                before = self.event.get("decode_error")
                self.event["decode_error"] = f"{before}; {LEFT_OUT}" if before else LEFT_OUT

    def edit_data(self, kind, path, rule, value):
        if kind in ("remove", "hash"):
            self.hide_bytes()

        def act(field, siblings=None):
            taken = siblings if siblings is not None else [
                name for f in self.data for name in (f[0], f[2] is not None and f[0] + "_name")]
            if kind == "remove":
                field[1], field[2] = REMOVED, None
            elif kind == "hash":
                field[1] = self.each_value(field[1], lambda v: hashed(rule["key"], shown(v)))
                field[2] = None
            elif kind == "truncate":
                field[1] = self.each_value(field[1], lambda v: cut(v, rule["bytes"]))
            elif kind == "rename" and value not in taken and (
                    field[2] is None or value + "_name" not in taken):
                field[0] = value

        if kind == "set":
            if "data" in self.event:
                for field in self.data:
                    if field[0] == path[0]:
                        field[1], field[2] = value, None
                        return
                self.data.append([path[0], value, None, None])
            return
        self.members(path, act)
        for field in self.data:
            if field[1] is REMOVED:
                field[0] = None

    # ---- the rest ---------------------------------------------------------------------------

    def edit_other(self, kind, path, rule, value):
        event = self.event
        if path[0] == "message":
            self.message_rules.append((kind, rule, value))
        elif path[0] == "labels":
            labels = event.setdefault("labels", {})
            if len(path) == 1:
                labels.clear()
            elif kind == "set":
                labels[path[1]] = value
            elif path[1] in labels:
                text = labels.pop(path[1]) if kind == "remove" else labels[path[1]]
                if kind == "hash":
                    labels[path[1]] = hashed(rule["key"], text)
        elif path[0] in ("activity_id", "related_activity_id") and path[0] in event:
            text = event[path[0]]
            if kind == "remove":
                del event[path[0]]
            else:
                h = hashed(rule["key"], text)
                event[path[0]] = "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:32]))
        elif path == ["extended", "sid"] and "sid" in event.get("extended", {}):
            if kind == "remove":
                del event["extended"]["sid"]
            else:
                event["extended"]["sid"] = hashed(rule["key"], event["extended"]["sid"])
        elif path in (["payload"], ["tags"], ["extended"]):
            event.pop(path[0], None)

    def apply(self, kind, rule):
        if kind == "tag":
            tags = self.event.setdefault("tags", [])
            tags += [tag for tag in dict.fromkeys(rule["tags"]) if tag not in tags]
            return
        fields = rule["fields"]
        for path in fields:
            value = fields[path] if isinstance(fields, dict) else None
            steps = path.replace("[*]", "").split(".")
            if steps[0] == "data":
                self.edit_data(kind, steps[1:], rule, value)
            else:
                self.edit_other(kind, steps, rule, value)

    def message(self):
        event = self.event
        text = event.get("message")
        template = TEMPLATES.get((event["provider"].get("name"), number(event["event"].get("code", "-1"))))
        if text is not None and template:
            values = {}
            for _, value, name, original in self.data:
                if value is REMOVED:
                    value = ""
                if not isinstance(value, (list, dict)):
                    values[original] = name if isinstance(name, str) else shown(value)
            text = template.format(**values)
        for kind, rule, value in self.message_rules:
            if kind == "remove":
                text = None
            elif kind == "set":
                text = value
            elif text and kind == "hash":
                text = hashed(rule["key"], text)
            elif text:
                text = cut(text, rule["bytes"])
        return text

    def result(self):
        event = dict(self.event)
        if "data" in event:
            event["data"] = {}
            for name, value, beside, _ in self.data:
                if value is not REMOVED:
                    event["data"][name] = value
                    if beside is not None:
                        event["data"][name + "_name"] = beside
        message = self.message()
        event.pop("message", None)
        if message:
            event["message"] = message
        for key in ("labels", "tags", "extended"):
            if not event.get(key, True):
                del event[key]
        return event


REMOVED = object()


def edit(event, lists):
    """${event} after the lists of (kind, rule, fits): rules up to the first that decides are applied."""
    edited = Edited(event)
    for rules in lists:
        for kind, rule, fits in rules:
            if fits(event):
                if kind in ("keep", "drop"):
                    break
                edited.apply(kind, rule)
    return edited.result()
