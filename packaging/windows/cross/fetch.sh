#!/bin/sh
# Fetches the sources of the libraries for Windows and unpacks them.
#
#   packaging/windows/cross/fetch.sh FOLDER
#
# sources.tsv says which versions, from where, and with which SHA-256. A library's source is then
# FOLDER/LIBRARY, and FOLDER/fetched.tsv has a line for each: library, version, archive, SHA-256, package
# URL (purl), license files.
#
# Only the machine's own clients ask a registry, as the machine has configured them: cargo for crates, and
# apt's helper for files of the mirrors' pool. Archives are kept in ${XDG_CACHE_HOME:-~/.cache}/etwship/
# sources, and are checked at every use.
#
# Exit code 77: a library cannot be had (no client, no network, no such file). 1: what came instead has
# another SHA-256. ETWSHIP_SOURCES names another table than sources.tsv.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
table=${ETWSHIP_SOURCES:-$here/sources.tsv}
kept=${XDG_CACHE_HOME:-$HOME/.cache}/etwship/sources
crates=${CARGO_HOME:-$HOME/.cargo}/registry/cache
tab=$(printf '\t')

mkdir -p "$folder" "$kept"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() {
    echo "$*" >&2
}

# Why no archive came: the last reason; and what came with another SHA-256 than it should have.
reason=
forged=

# file, SHA-256
is() {
    [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$2" ]
}

# A file that has come, the name it is kept under, its SHA-256: keeps it if it is the one that is wanted.
keep() {
    if ! is "$1" "$3"; then
        reason="$2 has the SHA-256 $(sha256sum <"$1" | cut -d' ' -f1), not $3"
        forged=yes
        return 1
    fi
    # Another run may read it already.
    cp "$1" "$kept/.$2.$$" && mv "$kept/.$2.$$" "$kept/$2"
}

# The version and the SHA-256 of a crate, by crates/Cargo.lock.
locked() {
    awk -F'"' -v crate="$1" '/^name = / { name = $2 } /^version = / { version = $2 }
        /^checksum = / && name == crate { print version, $2 }' "$here/crates/Cargo.lock"
}

# Asks for all crates at once, and once. The target is one for which few other crates are fetched.
cargo_said=
ask_cargo() {
    [ -z "$cargo_said" ] || return 0
    if ! command -v cargo >/dev/null 2>&1; then
        cargo_said="no cargo (packaging/deps.sh windows)"
        return 0
    fi
    cargo_said="cargo has it in no file of $crates"
    cp -R "$here/crates" "$work/crates"
    (cd "$work/crates" && cargo fetch --locked --target wasm32-unknown-unknown) >"$work/log" 2>&1 ||
        cargo_said="cargo: $(awk 'sub(/^error: /, "") && !error { error = $0 }
            caused { sub(/^ +/, ""); cause = ": " $0 }
            { caused = /^Caused by:/ }
            END { print error cause }' "$work/log")"
}

# crate
from_crate() {
    # Two words.
    # shellcheck disable=SC2046
    set -- "$1" $(locked "$1")
    if [ $# != 3 ]; then
        reason="no crate $1 in Cargo.lock"
        return 1
    fi
    file=$1-$2.crate digest=$3 purl="pkg:cargo/$1@$(echo "$2" | sed 's/+/%2B/g')"
    ! is "$kept/$file" "$digest" || return 0
    for try in 1 2; do
        for found in "$crates"/*/"$file"; do
            if [ -f "$found" ] && keep "$found" "$file" "$digest"; then
                return 0
            fi
        done
        [ $try = 2 ] || ask_cargo
    done
    if [ -z "$forged" ]; then
        reason=$cargo_said
        case $reason in *checksum*) forged=yes ;; esac
    fi
    return 1
}

# file in the pool, SHA-256, library, version: asks every repository that apt is configured for. Files of
# security updates lie in a folder of their own.
from_pool() {
    file=${1##*/} digest=$2 purl="pkg:generic/$3@$4?checksum=sha256:$2"
    ! is "$kept/$file" "$digest" || return 0
    helper=/usr/lib/apt/apt-helper
    if [ ! -x $helper ]; then
        reason="no apt"
        return 1
    fi
    reason="no repository of apt's has $file"
    for repository in $(apt-get update --print-uris 2>/dev/null | sed -n "s|^'\(.*/\)dists/.*|\1|p" | sort -u); do
        for pool in pool pool/updates; do
            rm -f "$work/$file"
            if $helper -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
                -o Acquire::https::Timeout=20 download-file "$repository$pool/$1" "$work/$file" \
                >"$work/log" 2>&1; then
                if keep "$work/$file" "$file" "$digest"; then
                    return 0
                fi
            elif ! grep -q -e ' 404 ' -e 'File not found' "$work/log"; then
                reason="apt: $(sed -n 's/^E: //p' "$work/log" | head -n 1)"
            fi
        done
    done
    return 1
}

# Takes the first source of a library that can be had.
take() {
    library=$1
    lacking=
    while IFS=$tab read -r name version from archive digest inner license; do
        [ "$name" = "$library" ] || continue
        case $from in
        crate) from_crate "$archive" ;;
        pool) from_pool "$archive" "$digest" "$name" "$version" ;;
        *) reason="$table has no such origin as $from"; false ;;
        esac || {
            lacking="$lacking; $library $version: $reason"
            continue
        }
        [ -z "$lacking" ] || say "Takes $library $version (${lacking#; })"
        mkdir "$work/unpacked"
        tar -xf "$kept/$file" --strip-components=1 -C "$work/unpacked"
        cp -R "$work/unpacked/$inner" "$folder/$library"
        rm -r "$work/unpacked"
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$library" "$version" "$file" "$digest" "$purl" "$license" \
            >>"$folder/fetched.tsv"
        return 0
    done <"$table"
    say "No libraries for Windows: ${lacking#; }"
    [ -z "$forged" ] || exit 1
    exit 77
}

for library in $(awk -F"$tab" '!/^#/ && NF && !seen[$1]++ { print $1 }' "$table"); do
    forged=
    take "$library"
done
