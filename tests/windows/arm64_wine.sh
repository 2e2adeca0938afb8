#!/bin/sh
# Runs a program for Windows on ARM64: Debian's Wine for arm64, under an emulator of its processor.
#
#   tests/windows/arm64_wine.sh FOLDER PROGRAM [ARGUMENT ...]
#
# FOLDER becomes Z:\files, where the program and Wine's prefix lie; PROGRAM is a path in it. Wine's
# packages are fetched by apt once, with an apt of its own so that nothing of this machine changes, and are kept
# under ${XDG_CACHE_HOME:-~/.cache}/etwship. The emulator is known to the kernel only in a user namespace of this
# call (Linux 6.7). Exit code 77: that cannot be had here.
set -eu

folder=$1
program=$2
shift 2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/etwship
key=$(sha256sum <"$0" | cut -c1-16)
root=$cache/wine-arm64-$key
emulator=/usr/lib/wine/emulator # beside the loader: Wine looks for its parts where its own program lies

cannot() {
    echo "No Wine for ARM64: $*" >&2
    exit 77
}

apt_of_its_own() {
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    : >"$work/status"
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State::lists=$work/lists" \
        -o "Dir::State::status=$work/status" -o "Dir::Cache::archives=$work/archives" -o Dir::Cache::pkgcache= \
        -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o Debug::NoLocking=true "$@" >>"$work/log" 2>&1
}

make_root() {
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/work-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    apt_of_its_own update || true # other repositories may have nothing for arm64
    apt_of_its_own install --yes --download-only --no-install-recommends wine64 ||
        cannot "apt: $(grep -m 1 '^E: ' "$work/log")"
    (cd "$work/archives" && apt-get -q -o APT::Sandbox::User=root download qemu-user-static >>"$work/log" 2>&1) ||
        cannot "apt has no qemu-user-static"
    mkdir "$work/root" "$work/here"
    for package in "$work"/archives/*_arm64.deb "$work"/archives/*_all.deb; do
        dpkg -x "$package" "$work/root"
    done
    dpkg -x "$work"/archives/qemu-user-static_*.deb "$work/here"
    mkdir -p "$work/root/proc" "$work/root/dev" "$work/root/tmp" "$work/root/files"
    cp "$work/here/usr/bin/qemu-aarch64-static" "$work/root$emulator"
    mv -T "$work/root" "$root" 2>/dev/null || [ -d "$root" ]
}

for tool in apt-get dpkg unshare; do
    command -v "$tool" >/dev/null 2>&1 || cannot "no $tool"
done
[ -d "$root" ] || make_root
unshare -Urm true 2>/dev/null || cannot "no user namespaces"

# In the namespace. An ELF file for AArch64 is what these bytes say (binfmt_misc); F: the emulator is opened now.
# shellcheck disable=SC2016
exec unshare -Urm --pid --fork --kill-child sh -c '
root=$1 folder=$2 emulator=$3 program=$4
shift 4
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null ||
    { echo "No Wine for ARM64: this kernel knows emulators for all alone" >&2; exit 77; }
printf "%s" ":etwship:M::\\x7f\\x45\\x4c\\x46\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:$root$emulator:OCF" \
    >/proc/sys/fs/binfmt_misc/register
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$folder" "$root/files"
export HOME=/files WINEPREFIX=/files/prefix WINEDEBUG=-all WINESERVER=/usr/lib/wine/wineserver64 LC_ALL=C.UTF-8 \
    PATH=/usr/bin:/bin:/usr/sbin:/sbin WINEDLLOVERRIDES="mscoree,mshtml,winemenubuilder.exe="
cd "$folder"
exec chroot "$root" /usr/lib/wine/wine64 "$program" "$@"
' sh "$root" "$folder" "$emulator" "$program" "$@"
