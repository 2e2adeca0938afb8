#!/bin/sh
# Builds for Windows with mingw-w64: build/mingw/agent/etwship.exe, one file, which needs no DLL but
# Windows' own; build/mingw-arm64/agent/etwship.exe for ARM64. The libraries come from prefix.sh, which keeps them outside the clone.
#
#   packaging/windows/cross/build.sh [PRESET [CMAKE-OPTION ...]]
#
# PRESET is one of CMakePresets.json: mingw, mingw-clang or mingw-arm64. With -DETWSHIP_TESTS=ON it builds the unit
# tests and the simulator, too.
#
# Needs the packages of `packaging/deps.sh windows`; exit code 77 without them, or without a
# network when the libraries must be made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
preset=${1:-mingw}
[ $# = 0 ] || shift
arch=x64
[ "$preset" != mingw-arm64 ] || arch=arm64
prefix=$("$here/prefix.sh" $arch)

mkdir -p build
log=build/$preset.log
# What was found among other libraries would be linked still.
found=build/$preset/CMakeCache.txt
if [ -f "$found" ] && ! grep -q "^ETWSHIP_MINGW_PREFIX:[A-Z]*=$prefix\$" "$found"; then
    rm "$found"
fi
if ! { cmake --preset "$preset" -DETWSHIP_MINGW_PREFIX="$prefix" "$@" &&
    cmake --build --preset "$preset" -j "${ETWSHIP_JOBS:-$(nproc)}"; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
