"""Make the manifests for winget and Chocolatey from their templates and one MSI.

    manifests.py --url URL [--msi FILE] [--out FOLDER]

URL is where people will download that very file from. Without FILE, it is what msi/build.sh has made, without
FOLDER build/manifests, which is made anew. Needs msiinfo (packaging/deps.sh windows; exit code 77 without it).
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
SKIPPED = 77
# What may stand in single quotes of YAML and of PowerShell, and in XML, without a second thought.
URL = re.compile(r"https://[A-Za-z0-9._~:/?#@!$&()*+,;=%-]+")


def properties(msi):
    if not shutil.which("msiinfo"):
        print("No manifests: no msiinfo (packaging/deps.sh windows)", file=sys.stderr)
        sys.exit(SKIPPED)
    done = subprocess.run(["msiinfo", "export", msi, "Property"], check=True, stdout=subprocess.PIPE)
    rows = [line.split("\t") for line in done.stdout.decode().replace("\r", "").splitlines()[3:]]
    return {row[0]: row[1] for row in rows}


def values(msi, url):
    found = properties(msi)
    return {
        "VERSION": found["ProductVersion"],
        "PRODUCT_CODE": found["ProductCode"],
        "UPGRADE_CODE": found["UpgradeCode"],
        "SHA256": hashlib.sha256(msi.read_bytes()).hexdigest().upper(),
        "URL": url,
    }


def fill(template, out, given):
    text = template.read_text(encoding="utf-8")
    encode = escape if template.name.endswith(".nuspec.in") else str
    text = re.sub(r"@([A-Z0-9_]+)@", lambda found: encode(given[found[1]]), text)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8", newline="\r\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--msi", type=Path)
    parser.add_argument("--out", type=Path, default=TOP / "build" / "manifests")
    arguments = parser.parse_args()
    version = re.search(r"project\(etwship VERSION ([0-9.]+)", (TOP / "CMakeLists.txt").read_text())[1]
    msi = arguments.msi or TOP / "build" / f"etwship-{version}-windows-x64.msi"
    if not URL.fullmatch(arguments.url):
        sys.exit(f"{arguments.url}: an address with https:// is expected, without quotes and blanks")
    if not msi.is_file():
        sys.exit(f"{msi}: packaging/windows/msi/build.sh makes it")
    given = values(msi, arguments.url)
    for kind in ["winget", "chocolatey"]:
        shutil.rmtree(arguments.out / kind, ignore_errors=True)
        for template in sorted((HERE / kind).rglob("*.in")):
            place = template.relative_to(HERE).with_suffix("")
            fill(template, arguments.out / place, given)
            print(arguments.out / place)


if __name__ == "__main__":
    main()
