#!/bin/sh
# Makes build/etwship-VERSION-windows-x64.zip: the program of build/mingw, which
# packaging/windows/cross/build.sh makes, with an example, a page to begin with, and the licenses of
# all that is in it.
#
#   packaging/windows/zip.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
program=build/mingw/agent/etwship.exe
if [ ! -f "$program" ]; then
    echo "$0: no $program: packaging/windows/cross/build.sh makes it" >&2
    exit 1
fi
prefix=$(packaging/windows/cross/prefix.sh)
version=$(sed -n 's/^project(etwship VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=etwship-$version-windows-x64

rm -rf "build/zip" "build/$name.zip"
mkdir -p "build/zip/$name"
folder=build/zip/$name
cp "$program" "$folder"
# Editors of older Windows know only their own line ends.
to_crlf() {
    sed 's/\r*$/\r/'
}
to_crlf <LICENSE >"$folder/LICENSE.txt"
to_crlf <packaging/windows/TRY.md >"$folder/TRY.md"
to_crlf <packaging/windows/etwship.yaml >"$folder/etwship.yaml"
{
    echo "etwship.exe holds parts of these, under the licenses that follow."
    for file in "$prefix"/share/licenses/*.txt; do
        library=$(basename "$file" .txt)
        printf '\n==== %s ====\n\n' "$library"
        cat "$file"
    done
} | to_crlf >"$folder/NOTICES.txt"
(cd build/zip && cmake -E tar cf "../$name.zip" --format=zip "$name")
echo "build/$name.zip"
