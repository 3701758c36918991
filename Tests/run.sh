#!/usr/bin/env bash
# Runs all tests that are built, and prints what failed. From the project root: make test
#
# Many tests wait for processes most of their time. Four processes at once, each with one test at a time, keep two cores busy;
# with more, those with a limit of time fail for want of processor time. What a process prints is in .build/tests. Of few that
# fail each is run once more, by itself and with nothing beside it: a limit of time can be missed for want of processor time all
# the same. What fails again has failed; what does not is named.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bundle=$(swift build --show-bin-path)/sluicePackageTests.xctest
logs=.build/tests
rm -rf "$logs" && mkdir -p "$logs"
most_repeated=6

# The parts, the longest first; those of the real program by the first letter of their suite.
parts=(
    "program-A-C    --filter ^EndToEndTests[.][A-C]"
    "program-R-S    --filter ^EndToEndTests[.][RS]"
    "program-M-Q    --filter ^EndToEndTests[.][M-Q]"
    "program-I-L    --filter ^EndToEndTests[.][I-L]"
    "program-D-H    --filter ^EndToEndTests[.][D-H]"
    "modules-others --filter ^(HTTP|Port|Workers)Tests"
    "modules-most   --skip   ^(EndToEnd|HTTP|Port|Workers)Tests"
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
    while (($(jobs -pr | wc -l) >= 4)); do wait -n; done
    read -r -a words <<<"$part"
    run_part "${words[@]}" &
done
wait
[[ -e $logs/failed ]] || exit 0

echo
grep -ahE -A 12 '^✘ Test .* recorded an issue' "$logs"/* | grep -avE '^(◇|✔)' | cut -c 1-400 | head -n 200
grep -ahE '^✘ (Test|Suite)' "$logs"/* | grep -av 'recorded an issue' | cut -c 1-200
# A part that has not come to its end has tests that never ran.
ended=$(grep -alE '^(✔|✘) Test run with [1-9]' "$logs"/program-* "$logs"/modules-* | wc -l)
mapfile -t tests < <(grep -ahoE '^✘ Test [A-Za-z0-9_]+\(' "$logs"/* | sed 's/^✘ Test //; s/($//' | sort -u)
((ended == ${#parts[@]} && ${#tests[@]} > 0 && ${#tests[@]} <= most_repeated)) || exit 1

echo
status=0
for test in "${tests[@]}"; do
    if "$bundle" --testing-library swift-testing --no-parallel --filter "[./]$test\\(" >"$logs/again-$test" 2>&1 </dev/null &&
        ! grep -aq 'Test run with 0 tests' "$logs/again-$test"; then
        echo "$test: failed once, and passed by itself"
    else
        echo "$test: failed again"
        grep -aE -A 12 '^✘ Test .* recorded an issue' "$logs/again-$test" | cut -c 1-400 | head -n 40
        status=1
    fi
done
((status == 0)) && grep -ahoE 'Test run with [0-9]+ tests? .*passed.*' "$logs/again-${tests[-1]}"
exit $status
