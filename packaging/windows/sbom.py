"""Print the bill of materials of etwship.exe: SPDX 2.3, as JSON, the same for the same program.

    sbom.py --program FILE --version VERSION --libraries FILE --time SECONDS

--libraries: what packaging/windows/cross/prefix.sh keeps beside the libraries: name, version, file of the
source and its SHA-256, with tabs between them; several lines where a source has several files, the last two
empty where the distribution gives the library built.
"""

import argparse
import hashlib
import json
import urllib.parse
from datetime import datetime, timezone
from pathlib import Path

# As their own license files say; SPDX License List.
LICENSES = {
    "curl": "curl",
    "expat": "MIT",
    "gcc-mingw-w64-x86-64-win32": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libisal": "BSD-3-Clause",
    "libyaml": "MIT",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "mingw-w64-x86-64-dev": "ZPL-2.1",
    "nghttp2": "MIT",
    "pcre2": "BSD-3-Clause",
    "sqlite3": "blessing",
    "xxhash": "BSD-2-Clause",
    "zlib": "Zlib",
}
ORIGINAL = ".orig.tar."


def read_libraries(path):
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, version, file, digest = line.split("\t")
        library = found.setdefault(name, {"version": version, "files": []})
        if file:
            library["files"].append((file, digest))
    return found


def purl(name, version, is_source):
    what = "?arch=source" if is_source else ""
    return f"pkg:deb/debian/{name}@{urllib.parse.quote(version, safe='.+~-')}{what}"


def library_package(name, library):
    files = library["files"]
    package = {
        "SPDXID": f"SPDXRef-Package-{name}",
        "name": name,
        "versionInfo": library["version"],
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": LICENSES[name],
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": purl(name, library["version"], bool(files))}],
    }
    original = [pair for pair in files if ORIGINAL in pair[0]]
    if original:
        package["packageFileName"], digest = original[0]
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    rest = [f"{file} (SHA256 {digest})" for file, digest in files if (file, digest) not in original[:1]]
    if rest:
        package["sourceInfo"] = "Built from source with the distribution's changes: " + ", ".join(rest)
    return package


def document(arguments):
    digest = hashlib.sha256(arguments.program.read_bytes()).hexdigest()
    libraries = read_libraries(arguments.libraries)
    own = {
        "SPDXID": "SPDXRef-Package-etwship",
        "name": "etwship",
        "versionInfo": arguments.version,
        "packageFileName": "etwship.exe",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    }
    names = sorted(libraries)
    created = datetime.fromtimestamp(arguments.time, timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"etwship-{arguments.version}-windows-x64",
        "documentNamespace": f"https://spdx.org/spdxdocs/etwship-{arguments.version}-{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: etwship packaging/windows/sbom.py"]},
        "packages": [own, *(library_package(name, libraries[name]) for name in names)],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": own["SPDXID"]},
            *({"spdxElementId": own["SPDXID"], "relationshipType": "STATIC_LINK",
               "relatedSpdxElement": f"SPDXRef-Package-{name}"} for name in names)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--libraries", type=Path, required=True)
    parser.add_argument("--time", type=int, required=True)
    print(json.dumps(document(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
