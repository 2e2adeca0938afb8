#!/bin/sh
# Makes the package for Windows Installer: build/etwship-VERSION-windows-x64.msi, or -arm64 by the program.
#
#   packaging/windows/msi/build.sh [-p PROGRAM] [-v VERSION] [-o FILE]
#
# PROGRAM: another one than that of build/mingw, with the DLL of its messages beside it. If
# ETWSHIP_SIGN_CERT is set (sign.sh), both are signed before they go in, and the package afterwards. Without signing, the same program makes the same
# package, to the byte (stage.sh). Prints its path.
#
# Needs wixl, msitools and python3 (packaging/deps.sh windows).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
program=build/mingw/agent/etwship.exe
version=$(sed -n 's/^project(etwship VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
out=
while getopts p:v:o: option; do
    case $option in
    p) program=$OPTARG ;;
    v) version=$OPTARG ;;
    o) out=$OPTARG ;;
    *) exit 2 ;;
    esac
done
arch=$(packaging/windows/arch.sh "$program")
out=${out:-build/etwship-$version-windows-$arch.msi}
for tool in wixl msibuild msiinfo python3; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "No package for Windows Installer: no $tool (packaging/deps.sh windows)" >&2
        exit 77
    fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${ETWSHIP_SIGN_CERT:-}" ]; then
    cp "$program" "$work/etwship.exe"
    cp "$(dirname "$program")/etwship-messages.dll" "$work"
    packaging/windows/sign.sh "$work/etwship.exe" "$work/etwship-messages.dll"
    program=$work/etwship.exe
fi
when=$(packaging/windows/stage.sh "$program" "$version" "$work/staged")

# Its numbers are made of what is in it: another content is another package, the same one is the same.
content=$( (echo "$version" && cd "$work/staged" && find . -type f | LC_ALL=C sort | xargs sha256sum &&
    cd "$here" && sha256sum etwship.wxs ./*.idt) | sha256sum)
guid_of() {
    printf '%s %s' "$1" "$content" | sha256sum |
        sed 's/^\(.\{8\}\)\(....\).\(...\).\(...\)\(.\{12\}\).*/{\1-\2-5\3-8\4-\5}/' | tr a-f A-F
}

package=$work/etwship.msi
product=$(guid_of product)
cp "$here/etwship.wxs" "$work"
# wixl knows no ARM64. Its tables are those of any 64-bit system; the summary says which (learn.microsoft.com,
# "Template Summary Property").
if [ "$arch" = arm64 ]; then platform=Arm64; else platform=$arch; fi
# It finds files beside the source alone.
(cd "$work" && wixl -a x64 -D Version="$version" -D ProductCode="$product" -o "$package" etwship.wxs) \
    >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}
# The programs have a version: without it here, a repair would keep a broken one.
for file in etwship.exe messages; do
    msibuild "$package" \
        -q "UPDATE \`File\` SET \`Version\` = '$version.0', \`Language\` = '1033' WHERE \`File\` = '$file'" \
        -q "DELETE FROM \`MsiFileHash\` WHERE \`File_\` = '$file'"
done
# Of what is not named here nothing reaches the half of the installation that has the rights, when
# somebody without them begins it and confirms ("Restricted Public Properties"). wixl names its own only.
secure="API_KEY_FILE;CONFIGFILE;INSTALLDIR;OUTPUT_URL;REMOVEDATA;SERVICE_ACCOUNT;STARTSERVICE"
msibuild "$package" \
    -q "UPDATE \`Property\` SET \`Value\` = 'WIX_DOWNGRADE_DETECTED;WIX_UPGRADE_DETECTED;$secure' WHERE \`Property\` = 'SecureCustomProperties'"
# The same version again takes the place of the one before: 512 is msidbUpgradeAttributesVersionMaxInclusive.
msiinfo export "$package" Upgrade |
    sed 's/\t1\t\(\t*WIX_UPGRADE_DETECTED\)/\t513\t\1/' >"$work/Upgrade.idt"
for table in "$work/Upgrade.idt" "$here"/*.idt; do
    msibuild "$package" -i "$table"
done
msibuild "$package" -s "etwship $version" etwship "$platform;1033" "$(guid_of package)"
python3 -B "$here/set_times.py" "$package" "$when"

mkdir -p "$(dirname "$out")"
mv "$package" "$out"
[ -z "${ETWSHIP_SIGN_CERT:-}" ] || packaging/windows/sign.sh "$out"
echo "$out"
