#!/bin/sh
# Prints which processors a program for Windows is for, by its own header: x64 or arm64.
#
#   packaging/windows/arch.sh PROGRAM
set -eu

if [ ! -f "$1" ]; then
    echo "$0: no $1: packaging/windows/cross/build.sh makes it" >&2
    exit 1
fi
# PE format: the offset of the header stands at 60; four letters, then the machine.
at=$(od -An -tu4 -j60 -N4 "$1" | tr -d ' ')
case $(od -An -tx2 -j"$((at + 4))" -N2 "$1" | tr -d ' ') in
8664) echo x64 ;;
aa64) echo arm64 ;;
*)
    echo "$0: $1 is for other processors than x86-64 and ARM64" >&2
    exit 1
    ;;
esac
