#!/bin/sh
# Installs with apt what is missing to build etwship, or to build and test it.
#
#   packaging/deps.sh build|test|windows ...
#
# `windows`: what cross-builds and runs etwship.exe.
#
# On systems without apt it only says what is needed.
set -eu

build="gcc cmake ninja-build pkg-config libyaml-dev libexpat1-dev libxxhash-dev libpcre2-dev
    zlib1g-dev libcurl4-openssl-dev libzstd-dev libisal-dev libsqlite3-dev libc6-dev"
test="git clang clang-format clang-tidy libclang-rt-14-dev libcmocka-dev valgrind python3
    python3-venv qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross openjdk-17-jdk-headless maven
    openssl haproxy zstd dpkg-dev fakeroot systemd llvm"
windows="gcc-mingw-w64-x86-64-win32 binutils-mingw-w64-x86-64 cmake ninja-build pkg-config dpkg-dev
    clang lld debian-archive-keyring gcc libc6-dev make nasm tcl xz-utils wine64 git python3 wixl
    msitools osslsigncode"

wanted=
for part in "${@:-none}"; do
    case "$part" in
    build) wanted="$wanted $build" ;;
    test) wanted="$wanted $build $test" ;;
    windows) wanted="$wanted $windows" ;;
    *)
        echo "usage: $0 build|test|windows ..." >&2
        exit 2
        ;;
    esac
done

if ! command -v apt-get >/dev/null 2>&1; then
    echo "No apt here. Needed, under the names of Debian 12:" $wanted >&2
    exit 0
fi

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    case "$state$missing " in
    installed* | *" $package "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "Missing packages; as root: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

install() {
    # $missing is a list of words.
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends $missing >"$log" 2>&1
}

echo "Installing:$missing"
# A fresh system has no package lists, an old one stale ones: then they are fetched and it is tried
# again.
if ! install; then
    if ! { $as_root apt-get update -q >"$log" 2>&1 && install; }; then
        cat "$log" >&2
        exit 1
    fi
fi
