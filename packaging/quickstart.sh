#!/bin/sh
# From a fresh clone to JSON: installs what the build needs, builds, and ships traces to a file.
#
#   packaging/quickstart.sh [TRACE.etl ...]
#
# Without a trace it makes one. The events land in build/quickstart/out; the configuration used is
# config/quickstart.yaml.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)

# Traces are given relative to where the user stands.
case "${1-}" in
-*)
    echo "usage: $0 [TRACE.etl ...]" >&2
    exit 2
    ;;
esac
for trace in "$@"; do
    if [ ! -f "$trace" ]; then
        echo "$0: $trace: no such file" >&2
        exit 2
    fi
done

"$top/packaging/deps.sh" build

work=$top/build/quickstart
mkdir -p "$work/out"
log=$work/build.log
echo "Building (preset release)"
if ! (
    cd "$top"
    cmake --preset release -DETWSHIP_TOOLS=ON
    cmake --build --preset release -j "$(nproc)"
) >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi

if [ $# -eq 0 ]; then
    etlgen=$(find "$top/build/release" -type f -name etlgen -perm -u+x | head -n 1)
    if [ -z "$etlgen" ]; then
        echo "$0: the build made no etlgen; give a trace instead" >&2
        exit 1
    fi
    "$etlgen" --mix realistic --events 2000 -o "$work/sample.etl" >"$work/sample.txt"
    set -- "$work/sample.etl"
fi

rm -rf "$work/traces"
mkdir -p "$work/traces"
for trace in "$@"; do
    folder=$(cd "$(dirname "$trace")" && pwd)
    # The configuration takes *.etl; TRACE.ETL and trace.etl.001 are traces, too.
    name=$(basename "$trace")
    case $name in
    [!.]*.etl) ;;
    *) name=trace-$name.etl ;;
    esac
    link=$work/traces/$name
    # Two traces of one name from different folders both get in.
    n=2
    while [ -e "$link" ]; do
        link=$work/traces/$n-$name
        n=$((n + 1))
    done
    ln -s "$folder/$(basename "$trace")" "$link"
done

ETWSHIP_TRACES=$work/traces
ETWSHIP_OUT=$work/out
export ETWSHIP_TRACES ETWSHIP_OUT
rm -f "$work"/out/*.ndjson

status=0
"$top/build/release/agent/etwship" run -c "$top/config/quickstart.yaml" || status=$?

for file in "$work"/out/*.ndjson; do
    [ ! -f "$file" ] || echo "Events: $file ($(wc -l <"$file") lines)"
done
exit $status
