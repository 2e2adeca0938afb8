#!/bin/sh
# Runs a program under Wine with a file for its output, and shows that when it has ended:
#
#   tests/windows/emulate.sh WINE PROGRAM [ARGUMENT ...]
#
# Wine's own processes (a console's, the desktop's) begin with the first program that needs them and
# keep its output open. Whoever waits for the end of a pipe would wait for theirs.
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT
"$@" >"$shown" 2>&1 </dev/null
code=$?
cat "$shown"
exit $code
