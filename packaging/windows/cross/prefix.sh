#!/bin/sh
# Makes the static libraries that etwship.exe is linked with, and prints the folder they lie in.
#
#   packaging/windows/cross/prefix.sh [x64|arm64]
#
# fetch.sh brings the sources, of the versions in sources.tsv. What is made is kept under
# ${XDG_CACHE_HOME:-~/.cache}/etwship, by a hash of all that decides about it: this recipe, the table of
# sources, the compiler and the toolchain file. Needs packages of `packaging/deps.sh windows`; exit code 77
# without them, or where a source cannot be had.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
toolchain=$here/mingw.cmake
arch=${1:-x64}

say() {
    echo "$*" >&2
}

case $arch in
x64)
    target=x86_64-w64-mingw32
    cc=$target-gcc ar=$target-ar tools="$cc make nasm perl"
    ;;
arm64)
    zig=$("$here/zig.sh")
    cc=$zig/bin/cc ar=$zig/bin/ar tools=
    ;;
*)
    say "usage: $0 [x64|arm64]"
    exit 2
    ;;
esac

for tool in $tools cmake ninja xz; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        say "No libraries for Windows: no $tool (packaging/deps.sh windows)"
        exit 77
    fi
done

key=$( (cat "$here/prefix.sh" "$here/fetch.sh" "${ETWSHIP_SOURCES:-$here/sources.tsv}" \
    "$here/crates/Cargo.lock" "$toolchain"; echo "$cc"; $cc --version) | sha256sum | cut -c1-16)
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
sources=$work/src
mkdir -p "$made/include" "$made/lib/pkgconfig" "$made/share/licenses"

# ---- building -----------------------------------------------------------------------------------

# name of the .pc file, library, flags for compilers, libraries
describe() {
    version=$(awk -F'\t' -v library="$2" '$1 == library { print $2 }' "$sources/fetched.tsv")
    printf 'Name: %s\nDescription: %s\nVersion: %s\nCflags: -I%s %s\nLibs: -L%s %s\n' "$1" "$1" \
        "$version" '${pcfiledir}/../../include' "$3" '${pcfiledir}/..' "$4" \
        >"$made/lib/pkgconfig/$1.pc"
}

jobs=${ETWSHIP_JOBS:-$(nproc)}

# library, cmake's options
with_cmake() {
    folder=$sources/$1
    shift
    cmake -S "$folder" -B "$folder/build-mingw" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
        -DETWSHIP_WINDOWS_ARCH="$arch" -DETWSHIP_MINGW_PREFIX="$made" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS_RELEASE="-O3 -DNDEBUG -ffile-prefix-map=$work=." \
        -DCMAKE_INSTALL_PREFIX="$made" -DBUILD_SHARED_LIBS=OFF "$@" >>"$work/log" 2>&1
    cmake --build "$folder/build-mingw" -j "$jobs" --target install \
        >>"$work/log" 2>&1
}

# library, its folder, flags, its sources there: for libraries that have nothing to configure
with_cc() {
    library=$1
    flags=$3
    cd "$sources/$2"
    shift 3
    mkdir build-mingw
    # $0 and $1 are the inner shell's.
    # shellcheck disable=SC2016
    printf '%s\n' "$@" | xargs -P "$jobs" -n 1 sh -c '
        exec $0 -c "$1" -o "build-mingw/$(basename "$1" .c).o"' \
        "$cc -O3 -D__USE_MINGW_ANSI_STDIO=1 $flags" >>"$work/log" 2>&1
    $ar crs "$made/lib/lib$library.a" build-mingw/*.o
}

# flags: has the compiler parse the headers of Windows once for all sources in this folder that are compiled with
# these flags and `-include first.h`. They are two thirds of its work.
parse_once() {
    printf '#include <%s>\n' winsock2.h ws2tcpip.h windows.h errno.h fcntl.h inttypes.h io.h limits.h stdio.h stdlib.h \
        string.h time.h sys/stat.h >first.h
    # A list of words.
    # shellcheck disable=SC2086
    $cc $1 -x c-header first.h -o first.h.gch >>"$work/log" 2>&1
}

# DLL, libraries that call it: an import library through which the DLL is loaded at the first call into it.
# DLLs that a program is linked with are looked for in its own folder, too, before any of its code runs, if
# Windows does not know them by heart (KnownDLLs); by the first call etwship has restricted the search to the
# system's folder. And what needs no network does not pay for loading them.
load_late() {
    dll=$1
    shift
    $target-nm "$($target-gcc -print-file-name="lib$dll.a")" 2>>"$work/log" |
        sed -n 's/.* T //p' | sort -u >"$work/has"
    {
        echo "LIBRARY $dll.dll"
        echo EXPORTS
        for library in "$@"; do
            $target-nm -u "$made/lib/lib$library.a" 2>>"$work/log"
        done | sed -n 's/^ *U \(__imp_\)\{0,1\}//p' | sort -u | comm -12 - "$work/has"
    } >"$work/$dll.def"
    # Symbols are named after the path of the library, and members after the process.
    (cd "$made/lib" && $target-dlltool -d "$work/$dll.def" -y "lib${dll}_late.a" --temp-prefix "$dll") \
        >>"$work/log" 2>&1
}

# The name of a DLL, to be linked with. For ARM64 there is no tool that makes such import libraries:
# load_config.c of this folder has Windows look for all DLLs in the system's folder alone.
linked() {
    if [ "$arch" = x64 ]; then echo "-l$1_late"; else echo "-l$1"; fi
}

# library: no part of the program, so nothing is said of it.
leave_out() {
    sed -i "/^$1\t/d" "$sources/fetched.tsv"
}

# What must be said of each library where the program is given away. cmocka is in no program but tests.
keep_licenses() {
    while IFS="$(printf '\t')" read -r library _ _ _ _ files; do
        [ "$library" != cmocka ] || continue
        for file in $files; do
            case $file in
            *.[ch]) awk '/\/\*/ { inside = 1 } NF && !inside { exit } { print } /\*\// { inside = 0 }' \
                "$sources/$library/$file" ;;
            *) cat "$sources/$library/$file" ;;
            esac
        done >"$made/share/licenses/$library.txt"
    done <"$sources/fetched.tsv"
    if [ "$arch" = x64 ]; then
        cp /usr/share/doc/mingw-w64-x86-64-dev/copyright "$made/share/licenses/mingw-w64.txt"
    else
        cp "$zig/ziglang/lib/libc/mingw/COPYING" "$made/share/licenses/mingw-w64.txt"
        cp "$zig/ziglang/LICENSE" "$made/share/licenses/ziglang.txt"
    fi
}

# What a bill of materials says of each (packaging/windows/sbom.py): name, version, archive with its
# source, SHA-256 of that, package URL.
keep_sources() {
    grep -v '^cmocka' "$sources/fetched.tsv" | cut -f 1-5
    if [ "$arch" = arm64 ]; then
        # The wheel depends on the machine that builds; what comes out does not.
        version=$(sed -n 's/^ziglang==\([0-9.]*\).*/\1/p' "$here/zig.txt")
        printf 'ziglang\t%s\t\t\tpkg:pypi/ziglang@%s\n' "$version" "$version"
        return
    fi
    for package in mingw-w64-x86-64-dev gcc-mingw-w64-x86-64-win32; do
        version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || echo unknown)
        printf '%s\t%s\t\t\tpkg:deb/debian/%s@%s\n' "$package" "$version" "$package" \
            "$(echo "$version" | sed 's/+/%2B/g')"
    done
}

build_zlib() {
    # Its CMake makes a DLL, too.
    with_cc z zlib '' adler32.c compress.c crc32.c deflate.c gzclose.c gzlib.c gzread.c gzwrite.c \
        infback.c inffast.c inflate.c inftrees.c trees.c uncompr.c zutil.c
    cp zlib.h zconf.h "$made/include"
    describe zlib zlib '' -lz
}

build_libzstd() {
    cd "$sources/libzstd"
    with_cc zstd libzstd '' lib/common/*.c lib/compress/*.c lib/decompress/*.c lib/decompress/*.S
    cp lib/zstd*.h "$made/include"
    describe libzstd libzstd '' -lzstd
}

# CMake's files are of no use in older versions, and otherwise only say which version it is.
build_libyaml() {
    describe yaml-0.1 libyaml -DYAML_DECLARE_STATIC -lyaml
    cd "$sources/libyaml"
    echo "$version" | awk -F. -v define='#define YAML_VERSION_' '{
        print define "STRING \"" $0 "\""
        print define "MAJOR " $1
        print define "MINOR " $2
        print define "PATCH " $3
    }' >src/config.h
    with_cc yaml libyaml '-Iinclude -DYAML_DECLARE_STATIC -DHAVE_CONFIG_H' src/*.c
    cp include/yaml.h "$made/include"
}

build_expat() {
    with_cmake expat -DEXPAT_SHARED_LIBS=OFF -DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_EXAMPLES=OFF \
        -DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_DOCS=OFF
    describe expat expat -DXML_STATIC -lexpat
}

# Its crate leaves out CMake's files and has those that configuring would make.
build_pcre2() {
    cd "$sources/pcre2"
    # These are included by others.
    parts='jit_match|jit_misc|ucptables'
    flags="-DPCRE2_CODE_UNIT_WIDTH=8 -DPCRE2_STATIC -DHAVE_CONFIG_H -DHAVE_STDLIB_H -DHAVE_MEMMOVE
        -DHAVE_WINDOWS_H -DSUPPORT_PCRE2_8 -DSUPPORT_UNICODE -DSUPPORT_JIT -Isrc -Ideps -Iinclude"
    # A list of words.
    # shellcheck disable=SC2046
    with_cc pcre2-8 pcre2 "$flags" $(printf '%s\n' src/*.c | grep -vE "pcre2_($parts).c")
    cp include/pcre2.h "$made/include"
    describe libpcre2-8 pcre2 -DPCRE2_STATIC -lpcre2-8
}

build_xxhash() {
    with_cc xxhash xxhash '' xxhash.c
    cp xxhash.h "$made/include"
    describe libxxhash xxhash '' -lxxhash
}

# Its assembly for ARM is for ELF alone; without the library, zlib does its work.
build_libisal() {
    if [ "$arch" = arm64 ]; then
        leave_out libisal
        return
    fi
    cd "$sources/libisal"
    make -f Makefile.unx -j "$jobs" units=igzip arch=mingw host_cpu=x86_64 \
        CC=$cc AR=$ar AS=nasm DEBUG= DEBUG_nasm= lib >>"$work/log" 2>&1
    cp bin/isa-l.a "$made/lib/libisal.a"
    mkdir "$made/include/isa-l"
    cp include/*.h "$made/include/isa-l"
    describe libisal libisal '' -lisal
}

# What a catalogue has no use for is left out.
build_sqlite3() {
    set -- DQS=0 THREADSAFE=2 DEFAULT_MEMSTATUS=0 LIKE_DOESNT_MATCH_BLOBS \
        OMIT_AUTHORIZATION OMIT_DEPRECATED OMIT_JSON OMIT_LOAD_EXTENSION OMIT_SHARED_CACHE
    with_cc sqlite3 sqlite3 "-O2 $(printf -- '-DSQLITE_%s ' "$@")" sqlite3.c
    cp sqlite3.h "$made/include"
    describe sqlite3 sqlite3 '' -lsqlite3
}

build_nghttp2() {
    with_cmake nghttp2 -DENABLE_LIB_ONLY=ON -DBUILD_STATIC_LIBS=ON -DENABLE_DOC=OFF \
        -DBUILD_TESTING=OFF
}

# HTTP and TLS by Windows' own means, HTTP/2, replies that a proxy compressed, and no more. Perl would make
# the documents, which the crate leaves out.
build_curl() {
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
    with_cmake curl $on $off -DCURL_TARGET_WINDOWS_VERSION=0x0A00 $zlib \
        -DCMAKE_DISABLE_FIND_PACKAGE_Perl=ON -DCMAKE_C_FLAGS=-DNGHTTP2_STATICLIB
    # A list of words.
    # shellcheck disable=SC2086
    describe libcurl curl -DCURL_STATICLIB \
        "-lcurl -lnghttp2 -lz $(for dll in $late; do linked "$dll"; done | tr '\n' ' ')-lws2_32 -ladvapi32"
}

# To read archives and what compresses them, as far as zlib, zstd and its own decoders go: no passwords. The
# definitions are what its CMake would find out with mingw-w64, in more time than all the rest takes.
build_libarchive() {
    cd "$sources/libarchive/libarchive"
    set -- CTIME_S CTYPE_H DECL_INT32_MAX DECL_INT32_MIN DECL_INT64_MAX DECL_INT64_MIN DECL_INTMAX_MAX \
        DECL_INTMAX_MIN DECL_SIZE_MAX DECL_SSIZE_MAX DECL_UINT32_MAX DECL_UINT64_MAX DECL_UINTMAX_MAX \
        DIRECT_H DIRENT_H EILSEQ ERRNO_H FCNTL_H FSEEKO FSTAT FTRUNCATE GETPID GETTIMEOFDAY GMTIME_S \
        INTTYPES_H IO_H LIBZ LIBZSTD LIMITS_H LOCALE_H LOCALTIME_S MBRTOWC MEMMOVE MEMORY_H MKDIR MKSTEMP \
        PROCESS_H SETLOCALE SIGNAL_H STDARG_H STDINT_H STDIO_H STDLIB_H STRCHR STRDUP STRERROR STRFTIME \
        STRINGS_H STRING_H STRNLEN STRRCHR SYS_CDEFS_H SYS_PARAM_H SYS_STAT_H SYS_TIME_H SYS_TYPES_H \
        SYS_UTIME_H TIME_H TZSET UNISTD_H UTIME UTIME_H VPRINTF WCHAR_H WCHAR_T WCRTOMB WCSCMP WCSCPY WCSLEN \
        WCTOMB WCTYPE_H WINDOWS_H WINIOCTL_H WMEMCMP WMEMCPY WMEMMOVE ZLIB_H ZSTD_H ZSTD_compressStream \
        ZSTD_minCLevel _FSEEKI64 _MKGMTIME
    {
        printf '#define HAVE_%s 1\n' "$@"
        printf '#define __LIBARCHIVE_CONFIG_H_INCLUDED 1\n'
        printf '#define %s short\n' gid_t id_t uid_t
        printf '#define SIZEOF_WCHAR_T 2\n#define _WIN32_WINNT 0x0A00\n#define WINVER 0x0A00\n'
    } >config.h
    rm archive_disk_acl_*.c archive_write*.c # for other systems, and not needed by what only reads
    with_cc archive libarchive/libarchive "-O2 -I. -I$made/include -DHAVE_CONFIG_H -DLIBARCHIVE_STATIC
        -D__MINGW_USE_VC2005_COMPAT" *.c
    cp archive.h archive_entry.h "$made/include"
    describe libarchive libarchive -DLIBARCHIVE_STATIC "-larchive -lz -lzstd $(linked bcrypt)"
}

# TLS for librdkafka, which knows no other than OpenSSL's, and nothing else: TLS 1.2 and 1.3 with their ciphers,
# certificates, and keys in files. It reads no configuration and loads no modules. What it would look for in its own
# folder is nowhere: no file of Windows can have such a name, so nobody can put one there.
build_openssl() {
    if [ "$arch" = arm64 ]; then
        leave_out openssl
        return
    fi
    cd "$sources/openssl"
    set -- apps argon2 aria async atexit autoload-config bf blake2 camellia cast cmac cmp cms comp ct deprecated \
        dgram docs dsa dso ec2m engine filenames gost http idea legacy makedepend md4 mdc2 ml-dsa ml-kem module \
        multiblock nextprotoneg ocb psk rc2 rc4 rfc3779 rmd160 scrypt seed shared siphash siv slh-dsa sm2 sm3 sm4 \
        srp srtp ssl-trace tests thread-pool tls1 tls1_1 ts ui-console whirlpool winstore
    parse_once '-m64 -O1 -w -DUNICODE -D_UNICODE -DWIN32_LEAN_AND_MEAN -D_MT -DNDEBUG'
    # A list of words. Where the time of the build goes into the library, it is the same for all.
    # shellcheck disable=SC2046
    perl Configure mingw64 --cross-compile-prefix=$target- --prefix='/<none>' --openssldir='/<none>' \
        $(printf -- 'no-%s ' "$@") CFLAGS='-O1 -w -include first.h' CPPDEFINES=USE_BCRYPTGENRANDOM >>"$work/log" 2>&1
    SOURCE_DATE_EPOCH=0 make -j "$jobs" build_libs >>"$work/log" 2>&1
    cp libcrypto.a libssl.a "$made/lib"
    mkdir "$made/include/openssl"
    cp include/openssl/*.h "$made/include/openssl"
}

# As packaging/linux/librdkafka.sh makes it for Linux. Kerberos comes along, by Windows' own means; no configuration
# of etwship leads there. Its own xxHash has other names than ours.
build_librdkafka() {
    if [ "$arch" = arm64 ]; then
        leave_out librdkafka # it would need OpenSSL
        return
    fi
    cd "$sources/librdkafka/src"
    set -- WITH_SSL WITH_SASL_SCRAM WITH_SASL_OAUTHBEARER WITH_ZLIB WITH_ZSTD WITH_SNAPPY WITH_HDRHISTOGRAM \
        WITH_CRC32C_HW
    flags="-O2 -w -DNDEBUG $(printf -- '-D%s=1 ' "$@")"
    parse_once "-D__USE_MINGW_ANSI_STDIO=1 $flags"
    # It looks up errors of sockets among those of the C library, where each is an "Unknown error".
    sed -i 's/rd_strerror(r)/rd_socket_strerror(r)/' rdkafka_transport.c
    left_out='_(cyrus|oidc|plugin)|^(rddl|rdhttp)'
    # A list of words.
    # shellcheck disable=SC2046
    with_cc rdkafka librdkafka/src "$flags -include first.h -I. -I$made/include
        -DLIBRDKAFKA_STATICLIB -DWITHOUT_WIN32_CONFIG -DENABLE_DEVEL=0 -DXXH_NAMESPACE=rd_" \
        $(printf '%s\n' *.c nanopb/*.c opentelemetry/*.c | grep -vE "($left_out)\.c")
    mkdir "$made/include/librdkafka"
    cp rdkafka.h rdkafka_mock.h "$made/include/librdkafka"
    describe rdkafka librdkafka -DLIBRDKAFKA_STATICLIB "-lrdkafka -lssl -lcrypto -lz -lzstd \
$(for dll in $late; do linked "$dll"; done | tr '\n' ' ')-lws2_32 -ladvapi32"
}

# For the tests alone. Its CMake always makes a DLL.
build_cmocka() {
    with_cc cmocka cmocka '-Iinclude -DHAVE_MALLOC_H -DHAVE_INTTYPES_H -DHAVE_SIGNAL_H
        -DHAVE_STRUCT_TIMESPEC' src/cmocka.c
    cp include/cmocka*.h "$made/include"
    describe cmocka cmocka '' -lcmocka
}

say "Building libraries for Windows (minutes, once)"
"$here/fetch.sh" "$sources"
late="bcrypt crypt32 secur32 user32"
# The first four are used by others.
zlib="-DZLIB_INCLUDE_DIR=$made/include -DZLIB_LIBRARY=$made/lib/libz.a"
for library in zlib libzstd nghttp2 openssl cmocka curl expat libarchive libisal librdkafka libyaml pcre2 sqlite3 \
    xxhash; do
    "build_$library"
done
for dll in $late; do
    [ "$arch" = arm64 ] || load_late "$dll" archive crypto curl rdkafka
done
keep_licenses
keep_sources >"$made/share/sources.tsv"
# Another build may have been faster.
mv -T "$made" "$prefix" 2>/dev/null || [ -d "$prefix" ]
echo "$prefix"
