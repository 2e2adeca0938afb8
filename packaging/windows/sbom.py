"""Print the bill of materials of etwship.exe: SPDX 2.3, as JSON, the same for the same program.

    sbom.py --program FILE --version VERSION --arch x64|arm64 --libraries FILE --time SECONDS

--libraries: what packaging/windows/cross/prefix.sh keeps beside the libraries, with tabs between: name, version,
archive with the source, its SHA-256, package URL (purl). Both in the middle are empty where the distribution
gives the library built.
"""

import argparse
import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path

# As their own license files say; SPDX License List.
LICENSES = {
    "curl": "curl",
    "expat": "MIT",
    "gcc-mingw-w64-x86-64-win32": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libarchive": "BSD-2-Clause",
    "libisal": "BSD-3-Clause",
    "librdkafka": "BSD-2-Clause AND BSD-3-Clause AND MIT AND Zlib AND Apache-2.0",
    "libyaml": "MIT",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "mingw-w64-x86-64-dev": "ZPL-2.1",
    "nghttp2": "MIT",
    "openssl": "Apache-2.0",
    "pcre2": "BSD-3-Clause",
    "sqlite3": "blessing",
    "xxhash": "BSD-2-Clause",
    "ziglang": "MIT AND ZPL-2.1 AND Apache-2.0 WITH LLVM-exception",
    "zlib": "Zlib",
}


def read_libraries(path):
    keys = ("name", "version", "file", "digest", "purl")
    return [dict(zip(keys, line.split("\t"))) for line in path.read_text(encoding="utf-8").splitlines()]


def library_package(library):
    package = {
        "SPDXID": f"SPDXRef-Package-{library['name']}",
        "name": library["name"],
        "versionInfo": library["version"],
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": LICENSES[library["name"]],
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": library["purl"]}],
    }
    if library["file"]:
        package["packageFileName"] = library["file"]
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": library["digest"]}]
    return package


def document(arguments):
    digest = hashlib.sha256(arguments.program.read_bytes()).hexdigest()
    libraries = sorted(read_libraries(arguments.libraries), key=lambda library: library["name"])
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
    created = datetime.fromtimestamp(arguments.time, timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"etwship-{arguments.version}-windows-{arguments.arch}",
        "documentNamespace": f"https://spdx.org/spdxdocs/etwship-{arguments.version}-{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: etwship packaging/windows/sbom.py"]},
        "packages": [own, *map(library_package, libraries)],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": own["SPDXID"]},
            *({"spdxElementId": own["SPDXID"], "relationshipType": "STATIC_LINK",
               "relatedSpdxElement": f"SPDXRef-Package-{library['name']}"} for library in libraries)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--libraries", type=Path, required=True)
    parser.add_argument("--time", type=int, required=True)
    print(json.dumps(document(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
