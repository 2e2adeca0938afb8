#!/bin/sh
# The project's own measurements, on synthetic traces that are made for the run and removed again.
#
#   tests/bench/run.sh [--full] [BUILD_FOLDER]     (default build/ci; --full adds 10^7 events, 3.6 GB)
#
# 1. CPU per event of decoding and JSON, against a program that knows every event in advance.
# 2. Whole traces of growing size: speed, and memory that must not grow.
# 3. Lists of rules, of one and of a thousand.
# 4. Budgets of providers, against none; UTF-16 to JSON by instruction set.
# 5. Live sessions on a simulated Windows: latency against its budget, bursts, CPU time against a file's, memory at rest.
# 6. `dump` as a whole process, against a program that does only that, with descriptors that vary, and with filters
#    that need only the header.
# 7. `run` with one and two decode workers, on one and two processors.
# 8. From a trace to a server on the loopback, against a program that does only that.
# 9. The same with events that wait on a disk; with --full starts beside 10 GB of them, which takes 13 GB.
set -eu
cd "$(dirname "$0")/../.."

full=no
if [ "${1-}" = --full ]; then
    full=yes
    shift
fi
build=${1:-build/ci}
folder=$(mktemp -d "${TMPDIR:-/tmp}/etwship-bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT INT TERM

echo "CPU per event, decoding and JSON to nowhere"
"$build/tests/bench/bench_events" 101
echo
echo "The same of ecs events, without and with mapped fields"
"$build/tests/bench/bench_ecs" 101
echo
echo "Whole traces: read, merge, join, decode, JSON to nowhere"
sizes="100000 1000000"
[ "$full" = no ] || sizes="$sizes 10000000"
for events in $sizes; do
    "$build/tests/support/etlgen" --events "$events" --cpus 8 -o "$folder/plain.etl" >"$folder/log"
    "$build/tests/bench/bench_trace" "$folder/plain.etl"
    rm "$folder/plain.etl"
done
"$build/tests/support/etlgen" --events 1000000 --cpus 8 --buffer-size 16777216 --compress xpress \
    -o "$folder/compressed.etl" >"$folder/log"
"$build/tests/bench/bench_trace" "$folder/compressed.etl"
echo
echo "Filters"
"$build/tests/support/etlgen" --events 1000000 --cpus 4 -o "$folder/plain.etl" >"$folder/log"
"$build/tests/bench/bench_filter" "$folder/plain.etl"
"$build/tests/support/etlgen" --events 1000000 --cpus 4 --mix kernel -o "$folder/plain.etl" >"$folder/log"
"$build/tests/bench/bench_filter" "$folder/plain.etl"
rm "$folder/plain.etl"
echo
echo "Budgets of providers, up to the slab"
"$build/tests/bench/bench_budget"
echo
echo "UTF-16 to JSON"
"$build/tests/bench/bench_utf"
echo
echo "Live sessions, simulated in the same process"
ETWSHIP_SIM="$build/tests/integration/etwship-sim" ETWSHIP_ETLGEN="$build/tests/support/etlgen" python3 -B tests/bench/live.py
echo
export ETWSHIP_BIN=$build/agent/etwship ETWSHIP_ETLGEN=$build/tests/support/etlgen
export ETWSHIP_SINK=$build/tests/bench/sink ETWSHIP_LIMIT_SHIP=$build/tests/bench/limit_ship
echo "Whole processes: dump to nowhere"
python3 -B tests/bench/dump.py
echo
echo "Processors and decode workers, to nowhere"
python3 -B tests/bench/run_and_dump.py
echo
echo "Shipping over HTTP"
python3 -B tests/bench/ship.py
echo
echo "Events that wait on a disk"
python3 -B tests/bench/spool.py --part ways
python3 -B tests/bench/spool.py --part outage
[ "$full" = no ] || python3 -B tests/bench/spool.py --part start
