#!/bin/sh
# Builds etwship and runs its tests: installs what is missing, configures the preset `ci`, builds,
# runs ctest.
#
#   tests/run.sh [--full]      --full adds the tests that take long (label full)
set -eu
cd "$(dirname "$0")/.."

full=OFF
case "${1-}" in
"") ;;
--full) full=ON ;;
*)
    echo "usage: $0 [--full]" >&2
    exit 2
    ;;
esac

tests/install.sh
jobs=$(nproc)
mkdir -p build
log=build/run.log

echo "Building (preset ci, $jobs jobs)"
# Optimised over files, as people get it, only where its speed is measured: it takes six minutes.
if ! { cmake --preset ci -DETWSHIP_FULL=$full -DETWSHIP_LTO=$full && cmake --build --preset ci -j "$jobs"; } \
    >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi

# Many tests wait most of their time.
exec ctest --test-dir build/ci -j "$((2 * jobs + 1))" --output-on-failure
