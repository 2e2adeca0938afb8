"""The templates for Group Policy: what they refer to is there, and they set what the program reads."""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

FOLDER = Path("packaging/windows/policy")
SOURCE = Path("agent/app/plan/app_policy.c")
PAGE = Path("packaging/windows/README.md")
KEY = r"SOFTWARE\Policies\etwship"
SPACE = "{http://schemas.microsoft.com/GroupPolicy/2006/07/PolicyDefinitions}"
# Which controls show which elements (Group Policy ADMX Syntax Reference Guide).
CONTROLS = {"text": {"textBox", "comboBox"}, "enum": {"dropdownList"}, "decimal": {"decimalTextBox"},
            "boolean": {"checkBox"}}


def tag(node):
    return node.tag.removeprefix(SPACE)


def check_elements(policy, presentation):
    elements = {node.get("id"): tag(node) for node in policy.find(SPACE + "elements")}
    controls = {node.get("refId"): tag(node) for node in presentation}
    if set(elements) != set(controls):
        yield f"elements {sorted(elements)}, controls of {sorted(controls)}"
    for name, kind in elements.items():
        if controls.get(name) not in CONTROLS[kind]:
            yield f"{name} is shown by {controls.get(name)}, and is a {kind}"
    for node in policy.find(SPACE + "elements"):
        if node.get("id") != node.get("valueName"):
            yield f"{node.get('id')} sets {node.get('valueName')}"


def check_template(admx, adml):
    """The errors of a template and of its texts in one language."""
    strings = {node.get("id") for node in adml.iter(SPACE + "string")}
    presentations = {node.get("id"): node for node in adml.iter(SPACE + "presentation")}
    text = ET.tostring(admx, encoding="unicode")
    used = set(re.findall(r"\$\(string\.(\w+)\)", text))
    shown = set(re.findall(r"\$\(presentation\.(\w+)\)", text))
    for what, missing in [("no string", used - strings), ("string that is not used", strings - used),
                          ("no presentation", shown - set(presentations)),
                          ("presentation that is not used", set(presentations) - shown)]:
        if missing:
            yield f"{what}: {', '.join(sorted(missing))}"
    categories = {node.get("name") for node in admx.iter(SPACE + "category")}
    supported = {node.get("name") for node in admx.iter(SPACE + "definition")}
    for policy in admx.iter(SPACE + "policy"):
        name = policy.get("name")
        if policy.get("class") != "Machine" or policy.get("key") != KEY:
            yield f"{name}: {policy.get('class')} {policy.get('key')}"
        if policy.find(SPACE + "parentCategory").get("ref") not in categories:
            yield f"{name}: no such category"
        if policy.find(SPACE + "supportedOn").get("ref") not in supported:
            yield f"{name}: no such definition of what it is supported on"
        for complaint in check_elements(policy, presentations.get(name, [])):
            yield f"{name}: {complaint}"


def check():
    admx = ET.parse(FOLDER / "etwship.admx").getroot()
    languages = sorted(FOLDER.glob("*/etwship.adml"))
    if [path.parent.name for path in languages] != ["en-US"]:
        yield f"{FOLDER}: texts in {languages}"
    for path in languages:
        adml = ET.parse(path).getroot()
        if admx.find(SPACE + "resources").get("minRequiredRevision") != adml.get("revision"):
            yield f"{path}: another revision than the template asks for"
        for complaint in check_template(admx, adml):
            yield f"{path}: {complaint}"
    values = {node.get("valueName") for elements in admx.iter(SPACE + "elements") for node in elements}
    read = set(re.findall(r'\[APP_POLICY_\w+\] = "(\w+)"', SOURCE.read_text(encoding="utf-8")))
    if values != read:
        yield f"{FOLDER}: sets {sorted(values)}, and {SOURCE} reads {sorted(read)}"
    table = PAGE.read_text(encoding="utf-8").split("\n## Policy\n")[1].split("\n## ")[0]
    told = set(re.findall(r"^\| `(\w+)` \|", table, re.M))
    if told != read:
        yield f"{PAGE}: tells of {sorted(told)}, and {SOURCE} reads {sorted(read)}"


def main():
    complaints = list(check())
    print("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
