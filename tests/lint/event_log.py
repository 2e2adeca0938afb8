"""The events of the Event Log: the numbers and texts of the message file, the list that the program knows, and
the page for people are about the same ones."""

import re
import sys
from pathlib import Path

MESSAGES = Path("agent/service/windows/service_messages.mc")
NAMES = Path("agent/service/service_messages.def")
PAGE = Path("docs/reference/event-log.md")
LEVELS = {"Informational": "Information", "Warning": "Warning", "Error": "Error"}


def messages():
    """The messages of the message file: name, number, level, text; and their total number."""
    block = re.compile(r"^MessageId=(\d+)\nSeverity=(\w+)\nSymbolicName=SERVICE_EVENT_(\w+)\n"
                       r"Language=English\n(.*?)\n\.$", re.M | re.S)
    text = MESSAGES.read_text(encoding="utf-8")
    found = [(name, int(number), LEVELS[severity], words)
             for number, severity, name, words in block.findall(text)]
    return found, text.count("\nMessageId=")


def check():
    found, count = messages()
    if len(found) != count:
        yield f"{MESSAGES}: {count} messages, and {len(found)} of the usual form"
    numbers = [number for _, number, _, _ in found]
    if numbers != sorted(set(numbers)):
        yield f"{MESSAGES}: numbers must ascend"
    for name, number, _, words in found:
        if not re.fullmatch(r"[^%\n]+\.\n\n%1", words):
            yield f"{MESSAGES}: {number} ({name}): a sentence, an empty line and %1 are expected"

    listed = re.findall(r"^SERVICE_MESSAGE\((\w+), (\w+)\)$", NAMES.read_text(encoding="utf-8"), re.M)
    if [(name, level.upper()) for name, _, level, _ in found] != listed:
        yield f"{NAMES}: not the names and levels of {MESSAGES}, in its order"

    rows = re.findall(r"^\| (\d+) \| (\w+) \| ", PAGE.read_text(encoding="utf-8"), re.M)
    wanted = {(number, level) for _, number, level, _ in found}
    shown = [(int(number), level) for number, level in rows]
    for number, level in sorted(wanted - set(shown)):
        yield f"{PAGE}: no row for {number} ({level})"
    for number, level in sorted(set(shown) - wanted):
        yield f"{PAGE}: {number} ({level}) is no message of {MESSAGES}"
    if len(shown) != len(set(shown)):
        yield f"{PAGE}: a number stands there twice"


def main():
    complaints = list(check())
    print("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
