#!/bin/sh
# What the tests need: the packages of packaging/deps.sh, and in build/venv readers written by
# others (of .etl files, of YAML and JSON schema), for comparison. The readers are best effort:
# without a package index the tests that run them are skipped. Go, for one test, is used where it is.
#
#   tests/install.sh [windows]      windows: also what builds and runs etwship.exe
set -eu
cd "$(dirname "$0")/.."

packaging/deps.sh test kafka "$@"

# Of Debian 12 it is too old. Without it, the build says what it leaves out.
packaging/linux/librdkafka.sh >/dev/null || true

# Debian 12's is too old for it, so none is installed here.
if ! PATH=$PATH:/usr/local/go/bin command -v go >/dev/null; then
    echo "No Go 1.21 or newer (https://go.dev/dl): the test with the OpenTelemetry collector is skipped"
fi

venv=build/venv
wanted=tests/requirements.txt
skipped="the tests that compare with readers of others are skipped"
mkdir -p build
if [ ! -x "$venv/bin/python" ] && ! python3 -m venv "$venv" >/dev/null 2>&1; then
    echo "No virtual environment (python3 -m venv $venv): $skipped"
elif ! cmp -s "$wanted" "$venv/installed.txt"; then
    # Of one there is no wheel; to build others pip would fetch tools of its own choice.
    if "$venv/bin/python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 1 \
        --only-binary :all: --no-binary etl-parser --require-hashes -r "$wanted" >"$venv/pip.log" 2>&1; then
        cp "$wanted" "$venv/installed.txt"
    else
        reason=$(sed -n 's/^ERROR: //p' "$venv/pip.log" | tail -n 1)
        echo "pip could not install $wanted (${reason:-$venv/pip.log}): $skipped"
    fi
fi
