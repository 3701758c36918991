#!/usr/bin/env bash
# Runs all tests that are built, and prints what failed. From the project root: make test
#
# Many tests wait for processes most of their time. Four processes at once, each with one test at a time, keep two cores busy;
# more at once, and those with a limit of time fail for want of processor time. What a process prints is in .build/tests.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bundle=$(swift build --show-bin-path)/sluicePackageTests.xctest
logs=.build/tests
rm -rf "$logs" && mkdir -p "$logs"

# The tests of the real program take the most time: they are shared out by the first letter of their suite.
parts=(
    "modules       --skip   ^EndToEndTests"
    "program-A-D   --filter ^EndToEndTests\.[A-D]"
    "program-E-L   --filter ^EndToEndTests\.[E-L]"
    "program-M-Z   --filter ^EndToEndTests --skip ^EndToEndTests\.[A-L]"
)

run_part() { # name, options
    local name=$1 start=$SECONDS status
    shift
    "$bundle" --testing-library swift-testing --no-parallel "$@" >"$logs/$name" 2>&1 </dev/null
    status=$?
    printf '%-14s%5d s  %s\n' "$name" $((SECONDS - start)) \
        "$(grep -aoE 'Test run with [0-9]+ tests? .*(passed|failed)' "$logs/$name" || echo "ended with $status")"
    return $status
}

pids=()
for part in "${parts[@]}"; do
    read -r -a words <<<"${part//\\/\\\\}"
    run_part "${words[@]}" &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
if ((failed)); then
    echo
    grep -ahE -A 12 '^✘ Test .* recorded an issue' "$logs"/* | grep -avE '^(◇|✔)' | cut -c 1-400 | head -n 200
    grep -ahE '^✘ (Test|Suite)' "$logs"/* | grep -av 'recorded an issue' | cut -c 1-200
fi
exit $failed
