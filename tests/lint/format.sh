#!/bin/sh
# All C sources and headers are as .clang-format wants them. Run from the top of the tree. Tables
# (*.def) are kept as they are written.
set -eu
if ! command -v clang-format >/dev/null 2>&1; then
    echo "skipped: clang-format is not installed"
    exit 77
fi
find agent config outputs tests \( -name '*.c' -o -name '*.h' \) -print0 |
    xargs -0 clang-format --dry-run -Werror
