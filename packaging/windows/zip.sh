#!/bin/sh
# Makes build/etwship-VERSION-windows-x64.zip (or -arm64, by the program): the program of build/mingw, which
# packaging/windows/cross/build.sh makes, with an example, a page to begin with, a script that installs
# it, templates for Group Policy, its bill of materials, and the licenses of all that is in it. The same program makes the same
# archive, to the byte (stage.sh).
#
#   packaging/windows/zip.sh [PROGRAM [FOLDER]]
#
# PROGRAM: another one, as a signed one, with the DLL of its messages beside it. FOLDER: where the archive goes, instead of build. Prints its path.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
program=${1:-build/mingw/agent/etwship.exe}
out=${2:-build}
version=$(sed -n 's/^project(etwship VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=etwship-$version-windows-$(packaging/windows/arch.sh "$program")

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
when=$(packaging/windows/stage.sh "$program" "$version" "$work/$name")
mkdir -p "$work/$name/policy/en-US"
for file in install.ps1 policy/etwship.admx policy/en-US/etwship.adml; do
    sed 's/\r*$/\r/' <"packaging/windows/$file" >"$work/$name/$file"
done
python3 -B packaging/windows/pack_zip.py "$work/$name" "$out/$name.zip" "$when"
case $out in
"$PWD"/*) echo "${out#"$PWD"/}/$name.zip" ;;
*) echo "$out/$name.zip" ;;
esac
