#!/bin/sh
# Installs with apt what is missing to build etwship, or to build and test it.
#
#   packaging/deps.sh build|test|windows|kafka ...
#
# `windows`: what cross-builds and runs etwship.exe. `kafka`: what packaging/linux/librdkafka.sh needs.
#
# On systems without apt it only says what is needed. Exit code 1: a package that every build needs cannot
# be had. Where another cannot be had it says so, and what is left out without it, and goes on.
set -eu

# a|b: the first that the system's release has.
build="gcc cmake ninja-build pkg-config libyaml-dev libexpat1-dev libxxhash-dev libpcre2-dev
    zlib1g-dev libcurl4-openssl-dev libssl-dev libzstd-dev libisal-dev libsqlite3-dev libarchive-dev
    libc6-dev"
test="git clang clang-format clang-tidy libclang-rt-14-dev|libclang-rt-dev libcmocka-dev valgrind python3
    python3-venv qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    openjdk-17-jdk-headless|default-jdk-headless maven openssl haproxy zstd dpkg-dev fakeroot systemd
    rsyslog rsyslog-gnutls rsyslog-relp llvm jq zip"
windows="gcc-mingw-w64-x86-64-win32 binutils-mingw-w64-x86-64 cmake ninja-build pkg-config clang lld make
    nasm perl xz-utils wine64 git python3 wixl msitools osslsigncode"
kafka="gcc libssl-dev zlib1g-dev libzstd-dev"
# Debian 12 has a cargo that is too old, and a newer one under another name.
cargo="cargo-web|cargo"
cargo_version=1.85

# What is left out without a package of `test` or `windows`.
without() {
    case $1 in
    libcmocka-dev | python3 | git) echo "the tests" ;;
    clang | libclang-rt* | llvm) echo "sanitizers, fuzzing and the preset mingw-clang" ;;
    clang-format | clang-tidy) echo "the lint tests" ;;
    valgrind) echo "the tests under Valgrind" ;;
    python3-venv) echo "the tests with readers of others" ;;
    qemu-user | *aarch64* | *arm64*) echo "the tests on arm64" ;;
    *jdk* | maven) echo "the tests with OpenSearch and Elasticsearch" ;;
    rsyslog*) echo "the tests of the outputs syslog and relp against rsyslog" ;;
    openssl | haproxy) echo "the tests of the http output over TLS" ;;
    zstd) echo "the tests of compressed output" ;;
    jq | zip) echo "the test of the guides' commands" ;;
    dpkg-dev | fakeroot | systemd) echo "the tests of the .deb" ;;
    wine64) echo "the Windows tests, which run under Wine" ;;
    wixl | msitools) echo "the MSI and its tests" ;;
    osslsigncode) echo "signatures of the packages for Windows" ;;
    libssl-dev) echo "the output kafka" ;;
    *) echo "the build for Windows" ;;
    esac
}

has_cargo() {
    version=$(cargo --version 2>/dev/null | sed 's/^cargo \([0-9]*\.[0-9]*\).*/\1/')
    [ -n "$version" ] && [ "${version%%.*}" = 1 ] && [ "${version#*.}" -ge "${cargo_version#*.}" ]
}

wanted=
for part in "${@:-none}"; do
    case "$part" in
    build) wanted="$wanted $build" ;;
    test) wanted="$wanted $build $test" ;;
    windows | kafka)
        if [ "$part" = windows ]; then wanted="$wanted $windows"; else wanted="$wanted $kafka"; fi
        has_cargo || wanted="$wanted $cargo"
        ;;
    *)
        echo "usage: $0 build|test|windows|kafka ..." >&2
        exit 2
        ;;
    esac
done

if ! command -v apt-get >/dev/null 2>&1; then
    echo "No apt here. Needed, under the names of Debian 12:" $wanted >&2
    exit 0
fi

# Whether one of a|b is installed.
is_there() {
    for name in $(echo "$1" | tr '|' ' '); do
        case $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true) in
        installed) return 0 ;;
        esac
    done
    return 1
}

# Keeps in $missing what of it is not installed.
look() {
    left=
    for package in $missing; do
        case "$left " in
        *" $package "*) ;;
        *) is_there "$package" || left="$left $package" ;;
        esac
    done
    missing=$left
}

missing=$wanted
look
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

# The names in $missing that can be had; of a|b the first.
to_be_had() {
    for package in $missing; do
        for name in $(echo "$package" | tr '|' ' '); do
            case $(apt-cache policy "$name" 2>/dev/null | sed -n 's/^ *Candidate: //p') in
            "" | "(none)") ;;
            *)
                echo "$name"
                break
                ;;
            esac
        done
    done
}

install() {
    names=$(to_be_had)
    [ -n "$names" ] || return 0
    # A list of words.
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends $names >"$log" 2>&1 || return 1
}

echo "Installing:$missing"
# A fresh system has no package lists, an old one stale ones: then they are fetched and it is tried again.
# Some lists may be had where others, of another source of packages, may not.
install || true
look
if [ -n "$missing" ]; then
    $as_root apt-get update -q >"$log" 2>&1 || true
    install || true
    look
fi
[ -n "$missing" ] || exit 0

reason=$(sed -n 's/^E: //p' "$log" | head -n 1)
[ -z "$reason" ] || echo "apt-get: $reason" >&2
code=0
for package in $missing; do
    case " $(echo $build) " in
    *" $package "*)
        echo "No package $package: etwship cannot be built" >&2
        code=1
        ;;
    *) echo "No package $package: without it are left out: $(without "$package")" >&2 ;;
    esac
done
exit $code
