#!/bin/sh
# Puts together what the packages for Windows hold, the same whenever and wherever it is done.
#
#   packaging/windows/stage.sh PROGRAM VERSION FOLDER
#
# The DLL with the texts of events lies beside PROGRAM. FOLDER is made anew. Every file in it has the time SOURCE_DATE_EPOCH; without that, the time of the last
# commit. Prints that time, in seconds since 1970.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=$1
version=$2
folder=$3
top=$here/../..

messages=$(dirname "$program")/etwship-messages.dll
for file in "$program" "$messages"; do
    if [ ! -f "$file" ]; then
        echo "$0: no $file: packaging/windows/cross/build.sh makes it" >&2
        exit 1
    fi
done
arch=$("$here/arch.sh" "$program")
prefix=$("$here/cross/prefix.sh" "$arch")
when=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || echo 1577836800)}

# Editors of older Windows know only their own line ends.
to_crlf() {
    sed 's/\r*$/\r/'
}

rm -rf "$folder"
mkdir -p "$folder"
cp "$program" "$folder/etwship.exe"
cp "$messages" "$folder/etwship-messages.dll"
to_crlf <"$top/LICENSE" >"$folder/LICENSE.txt"
to_crlf <"$here/TRY.md" >"$folder/TRY.md"
to_crlf <"$here/CHECKLIST.md" >"$folder/CHECKLIST.md"
to_crlf <"$here/etwship.yaml" >"$folder/etwship.yaml"
{
    echo "etwship.exe holds parts of these, under the licenses that follow."
    for file in "$prefix"/share/licenses/*.txt; do
        printf '\n==== %s ====\n\n' "$(basename "$file" .txt)"
        cat "$file"
    done
} | to_crlf >"$folder/NOTICES.txt"
python3 -B "$here/sbom.py" --program "$folder/etwship.exe" --version "$version" --arch "$arch" \
    --libraries "$prefix/share/sources.tsv" --time "$when" >"$folder/etwship.spdx.json"
chmod 755 "$folder" "$folder/etwship.exe" "$folder/etwship-messages.dll"
find "$folder" -type f ! -name '*.exe' ! -name '*.dll' -exec chmod 644 {} +
find "$folder" -exec touch -d "@$when" {} +
echo "$when"
