#!/bin/sh
# Signs programs and packages (Authenticode), in place, with osslsigncode.
#
#   packaging/windows/sign.sh FILE...
#
# By the environment:
#
#   ETWSHIP_SIGN_CERT       file of the certificate and what leads to its authority, PEM (needed)
#   ETWSHIP_SIGN_KEY        file of its private key, PEM; or
#   ETWSHIP_SIGN_PKCS11     pkcs11:... , the key in a token, with
#   ETWSHIP_SIGN_MODULE     the PKCS#11 module, and
#   ETWSHIP_SIGN_ENGINE     OpenSSL's engine for it, if that is not found by itself
#   ETWSHIP_SIGN_PASSFILE   file with the passphrase of the key, or the PIN; never on a command line
#   ETWSHIP_SIGN_TIMESTAMP  address of an RFC 3161 server. Without one a signature ends with its certificate.
#
# A file that is signed already is signed anew.
set -eu

if [ -z "${ETWSHIP_SIGN_CERT:-}" ]; then
    echo "$0: ETWSHIP_SIGN_CERT names no certificate" >&2
    exit 2
fi
if [ -z "${ETWSHIP_SIGN_KEY:-}${ETWSHIP_SIGN_PKCS11:-}" ]; then
    echo "$0: neither ETWSHIP_SIGN_KEY nor ETWSHIP_SIGN_PKCS11 names a key" >&2
    exit 2
fi
if ! command -v osslsigncode >/dev/null 2>&1; then
    echo "$0: no osslsigncode (packaging/deps.sh windows)" >&2
    exit 77
fi

for file in "$@"; do
    made=$(dirname "$file")/.signed-$$-$(basename "$file")
    set -- sign -h sha256 -certs "$ETWSHIP_SIGN_CERT" -n etwship
    if [ -n "${ETWSHIP_SIGN_PKCS11:-}" ]; then
        [ -z "${ETWSHIP_SIGN_ENGINE:-}" ] || set -- "$@" -pkcs11engine "$ETWSHIP_SIGN_ENGINE"
        set -- "$@" -pkcs11module "${ETWSHIP_SIGN_MODULE:?}" -key "$ETWSHIP_SIGN_PKCS11"
    else
        set -- "$@" -key "$ETWSHIP_SIGN_KEY"
    fi
    [ -z "${ETWSHIP_SIGN_PASSFILE:-}" ] || set -- "$@" -readpass "$ETWSHIP_SIGN_PASSFILE"
    [ -z "${ETWSHIP_SIGN_TIMESTAMP:-}" ] || set -- "$@" -ts "$ETWSHIP_SIGN_TIMESTAMP"
    rm -f "$made"
    if ! osslsigncode "$@" -in "$file" -out "$made" >"$made.log" 2>&1; then
        cat "$made.log" >&2
        rm -f "$made" "$made.log"
        exit 1
    fi
    rm -f "$made.log"
    mv "$made" "$file"
done
