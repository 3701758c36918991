#!/usr/bin/env bash
# Runs all tests that are built, and prints what failed. From the project root: make test
#
# Many tests wait for processes most of their time. Five processes at once, each with one test at a time, keep two cores busy.
# What a process prints is in .build/tests.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bundle=$(swift build --show-bin-path)/sluicePackageTests.xctest
logs=.build/tests
rm -rf "$logs" && mkdir -p "$logs"

# The parts, the longest first; those of the real program by the first letter of their suite.
parts=(
    "program-M-N    --filter ^EndToEndTests[.][MN]"
    "program-O-R    --filter ^EndToEndTests[.][O-R]"
    "program-G-L    --filter ^EndToEndTests[.][G-L]"
    "program-Ch-Cz  --filter ^EndToEndTests[.]C[h-z]"
    "program-D-F    --filter ^EndToEndTests[.][D-F]"
    "modules-most   --skip   ^(EndToEnd|HTTP|Port|Workers)Tests"
    "program-S-Se   --filter ^EndToEndTests[.]S[a-e]"
    "program-Sh-Sz  --filter ^EndToEndTests[.]S[f-z]"
    "program-A-Ca   --filter ^EndToEndTests[.]([AB]|C[a-g])"
    "modules-others --filter ^(HTTP|Port|Workers)Tests"
    "program-T-Z    --filter ^EndToEndTests --skip ^EndToEndTests[.][A-S]"
)

run_part() { # name, options
    local name=$1 start=$SECONDS status
    shift
    "$bundle" --testing-library swift-testing --no-parallel "$@" >"$logs/$name" 2>&1 </dev/null
    status=$?
    # A filter that has lost its tests is no success.
    grep -aq 'Test run with 0 tests' "$logs/$name" && status=1
    printf '%-15s%5d s  %s\n' "$name" $((SECONDS - start)) \
        "$(grep -aoE 'Test run with [0-9]+ tests? .*(passed|failed)' "$logs/$name" || echo "ended with $status")"
    ((status == 0)) || touch "$logs/failed"
}

for part in "${parts[@]}"; do
    while (($(jobs -pr | wc -l) >= 5)); do wait -n; done
    read -r -a words <<<"$part"
    run_part "${words[@]}" &
done
wait
[[ -e $logs/failed ]] || exit 0

echo
grep -ahE -A 12 '^✘ Test .* recorded an issue' "$logs"/* | grep -avE '^(◇|✔)' | cut -c 1-400 | head -n 200
grep -ahE '^✘ (Test|Suite)' "$logs"/* | grep -av 'recorded an issue' | cut -c 1-200
exit 1
