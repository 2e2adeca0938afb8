#!/bin/sh
# Fetches what builds for ARM64, and prints the folder of its tools: bin/cc, ar, ranlib, windres.
#
#   packaging/windows/cross/zig.sh
#
# No Debian has a compiler of mingw-w64 for ARM64. Zig brings clang, lld, and all that mingw-w64 has of headers
# and runtime, and pip fetches it: zig.txt has version and SHA-256. It is kept under
# ${XDG_CACHE_HOME:-~/.cache}/etwship. Exit code 77: it cannot be had, or a tool is missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/etwship
key=$(cat "$here/zig.txt" "$here/zig.sh" | sha256sum | cut -c1-16)
folder=$cache/zig-$key
resources=x86_64-w64-mingw32-windres # makes the same of every processor's

if [ -d "$folder" ]; then
    echo "$folder"
    exit 0
fi
for tool in python3 $resources; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "Nothing builds for ARM64: no $tool (packaging/deps.sh windows)" >&2
        exit 77
    fi
done
mkdir -p "$cache"
work=$(mktemp -d "$cache/work-XXXXXX")
trap 'rm -rf "$work"' EXIT
if ! python3 -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: --require-hashes \
    --dest "$work" --requirement "$here/zig.txt" >"$work/log" 2>&1; then
    if grep -q 'DO NOT MATCH' "$work/log"; then
        cat "$work/log" >&2
        exit 1
    fi
    echo "Nothing builds for ARM64: pip cannot fetch Zig ($(grep -m 1 -i error "$work/log"))" >&2
    exit 77
fi
python3 -m zipfile -e "$work"/ziglang-*.whl "$work/made"
mkdir "$work/made/bin"
chmod +x "$work/made/ziglang/zig"

# name, what it does with its arguments; $zig is the program.
tool() {
    printf '#!/bin/sh\nset -eu\nzig=$(dirname "$0")/../ziglang/zig\nexport ZIG_GLOBAL_CACHE_DIR=%s\n%s\n' \
        "\${ZIG_GLOBAL_CACHE_DIR:-$cache/zig-cache}" "$2" >"$work/made/bin/$1"
    chmod +x "$work/made/bin/$1"
}
# It would have its programs check themselves, and stop without a word.
tool cc 'exec "$zig" cc -target aarch64-windows-gnu -fno-sanitize=undefined "$@"'
tool ar 'exec "$zig" ar "$@"'
tool ranlib 'exec "$zig" ranlib "$@"'
# A compiled resource names no processor; in an object file it would.
tool windres "for word; do
    shift
    [ \"\$word\" = coff ] && word=res
    set -- \"\$@\" \"\$word\"
done
exec $resources \"\$@\""
mv -T "$work/made" "$folder" 2>/dev/null || [ -d "$folder" ]
echo "$folder"
