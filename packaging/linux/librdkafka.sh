#!/bin/sh
# Makes a static librdkafka for this system, and prints the folder it lies in.
#
#   packaging/linux/librdkafka.sh [--kept]      --kept: print it if it is there, and make nothing
#
# For systems whose librdkafka is older than 2.3, as that of Debian 12: before, an idempotent producer may end
# for good after a broker has gone away. Sources.tsv and crates/ say which source, and fetch.sh of the Windows build
# brings it. What is made is kept under ${XDG_CACHE_HOME:-~/.cache}/etwship, by a hash of all that decides about
# it: this recipe, the source and the compiler. Exit code 77: something that it needs cannot be had
# (packaging/deps.sh kafka), or nothing is kept.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cross=$here/../windows/cross
cc=${CC:-gcc}
library=librdkafka

say() {
    echo "$*" >&2
}

if ! command -v "$cc" >/dev/null 2>&1; then
    say "No librdkafka: no $cc"
    exit 77
fi
key=$( (cat "$here/librdkafka.sh" "$here/sources.tsv" "$here/crates/Cargo.lock"; echo "$cc"; $cc --version
    $cc -dumpmachine) | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/etwship
prefix=$cache/$library-$key
if [ -d "$prefix" ]; then
    echo "$prefix"
    exit 0
fi
[ "${1-}" != --kept ] || exit 77

# OpenSSL and the two compressions come from the system.
if ! echo '#include <openssl/ssl.h>
#include <zlib.h>
#include <zstd.h>' | $cc -E - >/dev/null 2>&1; then
    say "No librdkafka: no headers of OpenSSL, zlib or zstd (packaging/deps.sh kafka)"
    exit 77
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/work-XXXXXX")
trap 'rm -rf "$work"' EXIT
made=$work/prefix
mkdir -p "$made/include/librdkafka" "$made/lib/pkgconfig" "$made/share/licenses"
# It takes what lies beside it.
cp -R "$cross/fetch.sh" "$here/sources.tsv" "$here/crates" "$work"
code=0
"$work/fetch.sh" "$work/src" 2>"$work/log" || code=$?
if [ $code != 0 ]; then
    say "No librdkafka: $(sed 's/^[^;:]*[;:] *//' "$work/log" | tail -n 1)"
    exit $code
fi

say "Building librdkafka (a minute, once)"
cd "$work/src/$library/src"
# What its own configuring would find out. Without Kerberos, plug-ins and HTTP: etwship does the last itself.
set -- WITH_SSL WITH_SASL_SCRAM WITH_SASL_OAUTHBEARER WITH_ZLIB WITH_ZSTD WITH_SNAPPY WITH_HDRHISTOGRAM \
    HAVE_REGEX HAVE_STRNDUP HAVE_RAND_R HAVE_PTHREAD_SETNAME_GNU HAVE_ATOMICS_32 HAVE_ATOMICS_64
case $($cc -dumpmachine) in x86_64-*) set -- "$@" WITH_CRC32C_HW ;; esac
{
    printf '#define %s 1\n' "$@"
    for bits in 32 64; do
        # shellcheck disable=SC2016
        printf '#define ATOMIC_OP%s(OP1, OP2, PTR, VAL) __atomic_ ## OP1 ## _ ## OP2(PTR, VAL, __ATOMIC_SEQ_CST)\n' \
            $bits
    done
    printf '#define ENABLE_DEVEL 0\n#define SOLIB_EXT ".so"\n#define BUILT_WITH "etwship"\n'
} >../config.h
left_out='cyrus|win32|oidc|plugin' # parts of the names of sources
mkdir "$work/objects"
# $0 and $1 are the inner shell's.
# shellcheck disable=SC2016
if ! printf '%s\n' *.c nanopb/*.c opentelemetry/*.c |
    grep -vE "rdkafka_(sasl_)?(.*_)?($left_out)\.c|^(rddl|rdhttp|regexp)\.c" |
    xargs -P "${ETWSHIP_JOBS:-$(nproc)}" -n 1 sh -c '
        exec $0 -O2 -fPIC -w -DNDEBUG -I. "-ffile-prefix-map=$2=." -c "$3" \
            -o "$1/$(echo "$3" | tr / _ | sed "s/c$/o/")"' "$cc" "$work/objects" "$work/src" >>"$work/log" 2>&1; then
    tail -n 40 "$work/log" >&2
    exit 1
fi
ar crs "$made/lib/librdkafka.a" "$work/objects"/*.o
cp rdkafka.h rdkafka_mock.h "$made/include/librdkafka"
cp ../LICENSES.txt "$made/share/licenses/librdkafka.txt"
version=$(cut -f 2 "$work/src/fetched.tsv")
cat >"$made/lib/pkgconfig/rdkafka.pc" <<EOF
Name: rdkafka
Description: librdkafka, static
Version: $version
Requires: libssl libcrypto zlib libzstd
Cflags: -I\${pcfiledir}/../../include
Libs: -L\${pcfiledir}/.. -lrdkafka -lm -lpthread
EOF
# Another build may have been faster.
mv -T "$made" "$prefix" 2>/dev/null || [ -d "$prefix" ]
echo "$prefix"
