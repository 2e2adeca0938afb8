#!/bin/sh
# Makes the static libraries that etwship.exe is linked with, and prints the folder they lie in.
#
#   packaging/windows/cross/prefix.sh
#
# The sources are those of the distribution: the versions of the -dev packages that the Linux build
# uses, or the newest where those are gone or none is named. What is made is kept under
# ${XDG_CACHE_HOME:-~/.cache}/etwship, by a hash of all that decides about it: this recipe, the
# versions, the compiler and the toolchain file. Needs packages of `packaging/deps.sh windows`.
#
# apt gets a configuration of its own, made from the machine's by asking for sources instead of
# packages: so this needs no root, and the machine stays as it is.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
toolchain=$here/mingw.cmake
target=x86_64-w64-mingw32

say() {
    echo "$*" >&2
}

# name of the source package, of the -dev package whose version counts. Of curl it is the newest:
# what is wrong with Schannel is not mended in the versions of a distribution that has no use for it.
packages="libyaml:libyaml-dev expat:libexpat1-dev xxhash:libxxhash-dev pcre2:libpcre2-dev
    zlib:zlib1g-dev libzstd:libzstd-dev libisal:libisal-dev sqlite3:libsqlite3-dev
    nghttp2: curl: cmocka:libcmocka-dev"

wanted=
for pair in $packages; do
    version=
    [ -z "${pair#*:}" ] ||
        version=$(dpkg-query -W -f '${source:Version}' "${pair#*:}" 2>/dev/null || true)
    wanted="$wanted ${pair%%:*}=$version"
done

for tool in $target-gcc apt-get dpkg-source cmake gcc make nasm ninja tclsh; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        say "No libraries for Windows: no $tool (packaging/deps.sh windows)"
        exit 77
    fi
done

key=$( (cat "$here/prefix.sh" "$toolchain"; echo "$wanted"; $target-gcc --version) |
    sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/etwship
prefix=$cache/mingw-$key
if [ -d "$prefix" ]; then
    echo "$prefix"
    exit 0
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/work-XXXXXX")
: >"$work/log"

finish() {
    code=$?
    if [ $code != 0 ] && [ $code != 77 ]; then
        tail -n 40 "$work/log" >&2
    fi
    rm -rf "$work"
}
trap finish EXIT
made=$work/prefix
mkdir -p "$made/include" "$made/lib/pkgconfig"

codename=$(. /etc/os-release && echo "$VERSION_CODENAME")

# ---- sources ------------------------------------------------------------------------------------

# The distribution's own entries, for sources: others have none, or other ones. The suite after the
# machine's is asked, too: not all sources of security updates are kept on the mirrors.
write_sources() {
    newer=$codename
    [ "$codename" != bookworm ] || newer=trixie
    mkdir -p "$work/apt/sources" "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        awk -v RS= -v ORS='\n\n' -v suite="$codename" -v newer="$newer" '
            $0 ~ "(^|\n)Suites:([^\n]* )?" suite "([ -][^\n]*)?(\n|$)" {
                sub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src")
                print
                if (newer != suite && $0 ~ "\nSuites: *" suite "( |\n|$)") {
                    sub(/\nSuites:[^\n]*/, "\nSuites: " newer)
                    print
                }
            }' "$file"
    done >"$work/apt/sources/machine.sources"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$file" ] || continue
        awk -v suite="$codename" -v newer="$newer" '
            $1 == "deb" {
                for (i = 2; i <= NF; i++) {
                    if ($i ~ "^" suite "(-updates|-security)?$") {
                        sub(/deb/, "deb-src")
                        print
                        if ($i == suite && newer != suite) {
                            $i = newer
                            print
                        }
                        break
                    }
                }
            }' "$file"
    done >"$work/apt/sources/machine.list"
}

apt() {
    apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/sources" \
        -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" \
        -o APT::Sandbox::User= "$@" >>"$work/log" 2>&1
}

fetch() {
    mkdir "$work/src"
    cd "$work/src"
    write_sources
    apt update || true # what is missing shows below
    for package in $wanted; do
        name=${package%%=*}
        # A version that was replaced meanwhile is gone from the mirrors, and a newer one may not be
        # there yet.
        apt source "${package%=}" || apt source "$name" || apt source "$name/$codename" || {
            tail -n 5 "$work/log" >&2
            say "No libraries for Windows: no source of $name. Is there a network?"
            exit 77
        }
    done
}

# The folder that a source package was unpacked to.
source_of() {
    for folder in "$work/src/$1"-*/; do
        echo "${folder%/}"
    done
}

# ---- building -----------------------------------------------------------------------------------

# name of the .pc file, the source folder, flags for compilers, libraries
describe() {
    version=${2##*-}
    printf 'Name: %s\nDescription: %s\nVersion: %s\nCflags: -I%s %s\nLibs: -L%s %s\n' "$1" "$1" \
        "${version%%[!0-9.]*}" '${pcfiledir}/../../include' "$3" '${pcfiledir}/..' "$4" \
        >"$made/lib/pkgconfig/$1.pc"
}

jobs=${ETWSHIP_JOBS:-$(nproc)}

# folder, cmake's options
with_cmake() {
    folder=$1
    shift
    cmake -S "$folder" -B "$folder/build-mingw" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
        -DETWSHIP_MINGW_PREFIX="$made" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS_RELEASE="-O3 -DNDEBUG -ffile-prefix-map=$work=." \
        -DCMAKE_INSTALL_PREFIX="$made" -DBUILD_SHARED_LIBS=OFF "$@" >>"$work/log" 2>&1
    cmake --build "$folder/build-mingw" -j "$jobs" --target install \
        >>"$work/log" 2>&1
}

# library, folder, its sources: for libraries that have nothing to configure
with_cc() {
    library=$1
    cd "$2"
    shift 2
    mkdir build-mingw
    # $0 and $1 are the inner shell's.
    # shellcheck disable=SC2016
    printf '%s\n' "$@" | xargs -P "$jobs" -n 1 sh -c '
        $0 -O3 -Iinclude -DHAVE_MALLOC_H -DHAVE_INTTYPES_H -DHAVE_SIGNAL_H \
            -DHAVE_STRUCT_TIMESPEC -D__USE_MINGW_ANSI_STDIO=1 -c "$1" \
            -o "build-mingw/$(basename "$1" .c).o"' $target-gcc >>"$work/log" 2>&1
    $target-ar crs "$made/lib/lib$library.a" build-mingw/*.o
}

# DLL, library that calls it: an import library through which the DLL is loaded at the first call into
# it. DLLs that a program is linked with are looked for in its own folder, too, before any of its code
# runs, if Windows does not know them by heart (KnownDLLs); by the first call etwship has restricted
# the search to the system's folder. And what needs no network does not pay for loading them.
load_late() {
    $target-nm "$($target-gcc -print-file-name="lib$1.a")" 2>>"$work/log" |
        sed -n 's/.* T //p' | sort -u >"$work/has"
    {
        echo "LIBRARY $1.dll"
        echo EXPORTS
        $target-nm -u "$made/lib/lib$2.a" 2>>"$work/log" | sed -n 's/^ *U \(__imp_\)\{0,1\}//p' |
            sort -u | comm -12 - "$work/has"
    } >"$work/$1.def"
    # Symbols are named after the path of the library, and members after the process.
    (cd "$made/lib" && $target-dlltool -d "$work/$1.def" -y "lib$1_late.a" --temp-prefix "$1") \
        >>"$work/log" 2>&1
}

# What must be said of each library where the program is given away.
keep_licenses() {
    mkdir -p "$made/share/licenses"
    for pair in $packages; do
        folder=$(source_of "${pair%%:*}")
        [ ! -d "$folder/${pair%%:*}" ] || folder=$folder/${pair%%:*} # expat
        for file in "$folder"/LICEN[SC]E* "$folder"/License* "$folder"/COPYING* \
            "$(source_of "${pair%%:*}")/debian/copyright"; do
            # That of nghttp2 says only where to look.
            if grep -q -i copyright "$file" 2>/dev/null; then
                cp "$file" "$made/share/licenses/${pair%%:*}.txt"
                break
            fi
        done
    done
    rm "$made/share/licenses/cmocka.txt" # in no program but tests
    cp /usr/share/doc/mingw-w64-x86-64-dev/copyright "$made/share/licenses/mingw-w64.txt"
}

# What a bill of materials says of each (packaging/windows/sbom.py): name, version, files of its source
# with their SHA-256.
keep_sources() {
    for pair in $packages; do
        name=${pair%%:*}
        [ "$name" != cmocka ] || continue # in no program but tests
        for dsc in "$work/src/${name}"_*.dsc; do
            version=$(sed -n 's/^Version: *//p' "$dsc" | head -n 1)
            awk -v name="$name" -v version="$version" '
                /^Checksums-Sha256:/ { inside = 1; next }
                /^[^ ]/ { inside = 0 }
                inside && $3 !~ /\.asc$/ { print name "\t" version "\t" $3 "\t" $1 }' "$dsc"
        done
    done >"$made/share/sources.tsv"
    for package in mingw-w64-x86-64-dev gcc-mingw-w64-x86-64-win32; do
        version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || echo unknown)
        printf '%s\t%s\t\t\n' "$package" "$version" >>"$made/share/sources.tsv"
    done
}

build() {
    folder=$(source_of libyaml)
    with_cmake "$folder" -DBUILD_TESTING=OFF
    describe yaml-0.1 "$folder" -DYAML_DECLARE_STATIC -lyaml

    folder=$(source_of expat)
    with_cmake "$folder/expat" -DEXPAT_SHARED_LIBS=OFF -DEXPAT_BUILD_TOOLS=OFF \
        -DEXPAT_BUILD_EXAMPLES=OFF -DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_DOCS=OFF
    describe expat "$folder" -DXML_STATIC -lexpat

    folder=$(source_of pcre2)
    with_cmake "$folder" -DPCRE2_BUILD_PCRE2GREP=OFF -DPCRE2_BUILD_TESTS=OFF \
        -DPCRE2_SUPPORT_JIT=ON -DPCRE2_STATIC_RUNTIME=OFF
    describe libpcre2-8 "$folder" -DPCRE2_STATIC -lpcre2-8

    folder=$(source_of xxhash)
    with_cc xxhash "$folder" xxhash.c
    cp "$folder/xxhash.h" "$made/include"
    describe libxxhash "$folder" '' -lxxhash

    # Its CMake makes a DLL, too, from a file that the distribution leaves out.
    folder=$(source_of zlib)
    with_cc z "$folder" adler32.c compress.c crc32.c deflate.c gzclose.c gzlib.c gzread.c \
        gzwrite.c infback.c inffast.c inflate.c inftrees.c trees.c uncompr.c zutil.c
    cp "$folder/zlib.h" "$folder/zconf.h" "$made/include"

    folder=$(source_of libzstd)
    with_cc zstd "$folder" "$folder"/lib/common/*.c "$folder"/lib/compress/*.c \
        "$folder"/lib/decompress/*.c
    cp "$folder"/lib/zstd*.h "$made/include"
    describe libzstd "$folder" '' -lzstd

    folder=$(source_of libisal)
    make -C "$folder" -f Makefile.unx -j "$jobs" units=igzip arch=mingw host_cpu=x86_64 \
        CC=$target-gcc AR=$target-ar AS=nasm DEBUG= DEBUG_nasm= lib >>"$work/log" 2>&1
    cp "$folder/bin/isa-l.a" "$made/lib/libisal.a"
    mkdir "$made/include/isa-l"
    cp "$folder"/include/*.h "$made/include/isa-l"
    describe libisal "$folder" '' -lisal

    # One file of C is made of many, by the machine's own compiler. What a catalogue has no use for
    # is left out.
    folder=$(source_of sqlite3)
    mkdir "$folder/one"
    (cd "$folder/one" && ../configure --disable-tcl --disable-readline && make sqlite3.c) \
        >>"$work/log" 2>&1
    set -- DQS=0 THREADSAFE=2 DEFAULT_MEMSTATUS=0 LIKE_DOESNT_MATCH_BLOBS \
        OMIT_AUTHORIZATION OMIT_DEPRECATED OMIT_JSON OMIT_LOAD_EXTENSION OMIT_SHARED_CACHE
    # A list of words.
    # shellcheck disable=SC2046
    $target-gcc -O2 $(printf -- '-DSQLITE_%s ' "$@") -c "$folder/one/sqlite3.c" \
        -o "$folder/one/sqlite3.o" >>"$work/log" 2>&1
    $target-ar crs "$made/lib/libsqlite3.a" "$folder/one/sqlite3.o"
    cp "$folder/one/sqlite3.h" "$made/include"
    describe sqlite3 "$folder" '' -lsqlite3

    folder=$(source_of nghttp2)
    with_cmake "$folder" -DENABLE_LIB_ONLY=ON -DBUILD_STATIC_LIBS=ON -DENABLE_DOC=OFF \
        -DBUILD_TESTING=OFF

    # HTTP and TLS by Windows' own means, HTTP/2, replies that a proxy compressed, and no more.
    folder=$(source_of curl)
    set -- BUILD_CURL_EXE BUILD_EXAMPLES BUILD_LIBCURL_DOCS BUILD_MISC_DOCS BUILD_TESTING \
        CURL_BROTLI CURL_USE_LIBPSL CURL_USE_LIBSSH2 CURL_ZSTD ENABLE_CURL_MANUAL \
        ENABLE_UNIX_SOCKETS USE_LIBIDN2 USE_WIN32_IDN
    off=$(printf -- '-D%s=OFF ' "$@")
    set -- HTTP_ONLY CURL_USE_SCHANNEL CURL_ZLIB USE_NGHTTP2 CMAKE_UNITY_BUILD
    on=$(printf -- '-D%s=ON ' "$@")
    set -- ALTSVC COOKIES DOH FORM_API HSTS MIME NETRC WEBSOCKETS
    on="$on $(printf -- '-DCURL_DISABLE_%s=ON ' "$@")"
    # Lists of words.
    # shellcheck disable=SC2086
    with_cmake "$folder" $on $off -DCURL_TARGET_WINDOWS_VERSION=0x0A00 \
        -DZLIB_INCLUDE_DIR="$made/include" -DZLIB_LIBRARY="$made/lib/libz.a" \
        -DCMAKE_C_FLAGS=-DNGHTTP2_STATICLIB
    load_late crypt32 curl
    load_late bcrypt curl
    describe libcurl "$folder" -DCURL_STATICLIB \
        '-lcurl -lnghttp2 -lz -lcrypt32_late -lbcrypt_late -lws2_32 -ladvapi32'

    # For the tests alone. Its CMake always makes a DLL.
    folder=$(source_of cmocka)
    with_cc cmocka "$folder" src/cmocka.c
    cp "$folder"/include/cmocka*.h "$made/include"
    describe cmocka "$folder" '' -lcmocka
}

say "Building libraries for Windows (minutes, once)"
fetch
build
keep_licenses
keep_sources
# Another build may have been faster.
mv -T "$made" "$prefix" 2>/dev/null || [ -d "$prefix" ]
echo "$prefix"
