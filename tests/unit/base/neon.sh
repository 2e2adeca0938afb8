#!/bin/sh
# The NEON engine of base/utf.h against the scalar one, cross-compiled and run under qemu-user.
#   neon.sh <source folder> <scratch folder>
# Exit code 77 (skipped) where the cross compiler or the emulator is missing.
set -eu

source=$1
scratch=$2
compiler=aarch64-linux-gnu-gcc
emulator=qemu-aarch64
sysroot=/usr/aarch64-linux-gnu

for tool in "$compiler" "$emulator"; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "skipped: $tool is not installed" \
            "(Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
        exit 77
    fi
done
if [ ! -d "$sysroot/lib" ]; then
    echo "skipped: $sysroot/lib is missing (Debian: libc6-dev-arm64-cross)"
    exit 77
fi

mkdir -p "$scratch"
"$compiler" -std=c11 -O2 -Wall -Wextra -Werror -I"$source/agent" -I"$source/tests" \
    "$source"/agent/base/utf*.c "$source/tests/support/utf_check.c" \
    "$source/tests/unit/base/utf_neon.c" -o "$scratch/utf_neon"
exec "$emulator" -L "$sysroot" "$scratch/utf_neon"
