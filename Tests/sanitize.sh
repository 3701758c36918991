#!/usr/bin/env bash
# Runs the tests of every module under each sanitizer, and some of the real binary with a coordinator built with it;
# prints a table. From the project root: make sanitize, or Tests/sanitize.sh [thread|address|undefined]…
#
# Workers are those of the release build: a sanitizer reserves more address space than a stage may have, makes system
# calls that the sandbox forbids, and takes the place of the watch on allocations.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What a process of its own with a sandboxed worker is needed for, without what measures time and memory.
endToEnd='BadManifestTests|BadPipelineTests|BadInputTests|SignalTests|ReplayTests|PathCollisionTests'

# Leaks are not looked for: workers and the coordinator end without freeing what the system takes back.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 TSAN_OPTIONS=halt_on_error=0 \
    UBSAN_OPTIONS=print_stacktrace=1 SWIFT_BACKTRACE=enable=no
export SLUICE_INSTRUMENTED=1

# The number of tests that passed, of problems the sanitizer told, and of tests that failed.
report() {
    local sanitizer=$1 suites=$2 log=$3 status=$4
    local tests findings failures
    tests=$(grep -aoE 'Test run with [0-9]+ tests?' "$log" | tail -n 1 | grep -oE '[0-9]+')
    findings=$(grep -acE 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer|runtime error:' "$log")
    failures=$(grep -acE '^✘ Test [^r].* recorded an issue' "$log")
    printf '%-10s %-10s %7s %9s %7s\n' "$sanitizer" "$suites" "${tests:-none}" "$findings" "$failures"
    if [[ $status -ne 0 || $findings -ne 0 ]]; then
        failed=1
        echo "    exit $status; see $log"
    fi
}

[[ $# -gt 0 ]] || set -- thread address undefined
failed=0
printf '%-10s %-10s %7s %9s %7s\n' sanitizer suites tests findings failed
for sanitizer in "$@"; do
    scratch=.build/$sanitizer
    mkdir -p "$scratch"
    if ! swift build --build-tests --sanitize="$sanitizer" --scratch-path "$scratch" >"$scratch/build.log" 2>&1; then
        grep -v 'ld.gold: warning' "$scratch/build.log" | tail -n 5
        failed=1
        continue
    fi
    swift test --skip-build --sanitize="$sanitizer" --scratch-path "$scratch" --skip EndToEndTests \
        >"$scratch/unit.log" 2>&1 </dev/null
    report "$sanitizer" modules "$scratch/unit.log" $?
    bin=$scratch/bin
    mkdir -p "$bin"
    ln -sf "$PWD"/.build/release/{sluice-worker,libsluice-*.so} "$bin"
    cp "$scratch/debug/sluice" "$bin/sluice"
    SLUICE_BIN_DIR=$PWD/$bin swift test --skip-build --sanitize="$sanitizer" --scratch-path "$scratch" \
        --filter "$endToEnd" >"$scratch/end-to-end.log" 2>&1 </dev/null
    report "$sanitizer" real "$scratch/end-to-end.log" $?
done
exit $failed
