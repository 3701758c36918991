#!/usr/bin/env bash
# Searches for input that breaks the readers of input from outside, and prints a table.
#
#     Tests/FuzzTests/fuzz.sh [SECONDS=60] [TARGET…]         or, from the project root: make fuzz SECONDS=10
#
# Each target of Targets/ starts with its folder in Seeds/ and with what earlier runs have found, which is
# kept in .build/fuzz/corpus. An input that breaks a reader is saved in .build/fuzz/found: fix the reader, and
# move the input to Seeds/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-60}
shift || true
fuzz=.build/fuzz
program=$fuzz/release/sluice-fuzz

mkdir -p $fuzz/found
# @testable imports give access to internal declarations.
if ! SLUICE_INSTRUMENTED=1 SLUICE_FUZZ=1 swift build -c release --scratch-path $fuzz --product sluice-fuzz \
    --sanitize=address -Xswiftc -sanitize=fuzzer -Xswiftc -enable-testing >$fuzz.log 2>&1; then
    grep -v 'ld.gold: warning' $fuzz.log | tail -n 20
    exit 1
fi
# A symbolizer would outlive the process; `make sanitize` reports leaks.
export ASAN_OPTIONS=symbolize=0:detect_leaks=0 SWIFT_BACKTRACE=enable=no

printf '%-20s %12s %10s %8s\n' target executions features crashes
failed=0
while read -r name longest; do
    [[ $# -eq 0 || " $* " == *" $name "* ]] || continue
    mkdir -p "$fuzz/corpus/$name"
    log=$fuzz/$name.log
    timeout -s KILL $((seconds + 60)) $program "$name" -max_total_time="$seconds" -max_len="$longest" -timeout=10 \
        -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$fuzz/found/$name-" \
        "$fuzz/corpus/$name" "Tests/FuzzTests/Seeds/$name" >"$log" 2>&1 </dev/null || true
    crashes=$(grep -acE '^artifact_prefix' "$log" || true)
    if grep -aq '^Done' "$log"; then :; else crashes=$((crashes ? crashes : 1)); fi
    printf '%-20s %12s %10s %8s\n' "$name" \
        "$(awk '/stat::number_of_executed_units/ { print $2 }' "$log")" \
        "$(grep -aoE 'ft: [0-9]+' "$log" | tail -n 1 | cut -c 5-)" "$crashes"
    if [[ $crashes -ne 0 ]]; then
        failed=1
        grep -aE '^VIOLATION|Fatal error|ERROR: |^artifact_prefix' "$log" | cut -c 1-300 | sed 's/^/    /' || true
    fi
done < <($program)
exit $failed
