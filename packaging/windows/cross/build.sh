#!/bin/sh
# Builds build/mingw/agent/etwship.exe for Windows (x86-64): one file, which needs no DLL but
# Windows' own. The libraries come from prefix.sh, which keeps them outside the clone.
#
#   packaging/windows/cross/build.sh [CMAKE-OPTION ...]     e.g. -DETWSHIP_TESTS=ON
#
# Needs the packages of `packaging/deps.sh windows`; exit code 77 without them, or without a
# network when the libraries must be made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
prefix=$("$here/prefix.sh")

mkdir -p build
log=build/mingw.log
if ! { cmake --preset mingw -DETWSHIP_MINGW_PREFIX="$prefix" "$@" &&
    cmake --build --preset mingw -j "${ETWSHIP_JOBS:-$(nproc)}"; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
