#!/bin/sh
# Runs a program under Wine with a file for its output, and shows that when it has ended:
#
#   tests/windows/emulate.sh WINE PROGRAM [ARGUMENT ...]
#
# Wine's own processes (a console's, the desktop's) begin with the first program that needs them and
# keep its output open. Whoever waits for the end of a pipe would wait for theirs.
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT

run() {
    "$@" >"$shown" 2>&1 </dev/null
    code=$?
}

# A busy machine's Wine may fail before the program begins; a test that ran has said something.
run "$@"
if [ $code != 0 ] && ! grep -qv '^wine client error:' "$shown"; then
    run "$@"
fi
cat "$shown"
exit $code
