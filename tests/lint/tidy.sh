#!/bin/sh
# clang-tidy over the program's sources (not the tests) with the checks of .clang-tidy.
#
#   tidy.sh BUILD      a build folder with compile_commands.json; run from the top of the tree
set -eu
build=$1
if ! command -v clang-tidy >/dev/null 2>&1; then
    echo "skipped: clang-tidy is not installed"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
# Only what this build compiles: sources of other systems have no commands here. What GCC alone
# understands is left out of its commands.
python3 - "$build/compile_commands.json" "$PWD" "$folder" <<'EOF' |
import json, os, re, sys

commands, top, folder = sys.argv[1:]
with open(commands, encoding="utf-8") as file:
    entries = json.load(file)
for entry in entries:
    entry["command"] = re.sub(r" -mmemset-strategy=\S+", "", entry["command"])
with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
    json.dump(entries, file)
sources = {os.path.relpath(os.path.join(c["directory"], c["file"]), top) for c in entries}
for source in sorted(sources):
    if source.startswith(("agent/", "config/", "outputs/")):
        print(source)
EOF
    xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$folder" \
        --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument
