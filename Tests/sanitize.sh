#!/usr/bin/env bash
# Runs the tests of every module under each sanitizer, and some of the tests of the real binary with a
# coordinator built with it; prints a table. From the project root: make sanitize, or Tests/sanitize.sh
# [thread|address|undefined]…
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The tests that need a separate process with a sandboxed worker, without those that measure time and memory.
endToEnd='BadManifestTests|BadPipelineTests|BadInputTests|SignalTests|ReplayTests|PathCollisionTests'
timed='(each|all)Misdeed|twoSignals'

# Leak detection is off: workers and the coordinator exit without freeing memory that the system reclaims. And
# a process that must exit at once does not wait a second for reports of other threads.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 TSAN_OPTIONS=halt_on_error=0:atexit_sleep_ms=0 \
    SWIFT_BACKTRACE=enable=no
export SLUICE_INSTRUMENTED=1

# The number of passed tests, of reports by the sanitizer, and of failed tests.
report() {
    local sanitizer=$1 suites=$2 log=$3 status=$4
    local tests findings failures
    tests=$(grep -aoE 'Test run with [0-9]+ tests?' "$log" | tail -n 1 | grep -oE '[0-9]+')
    findings=$(grep -acE 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer|unexpected signal' "$log")
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
    bin=$scratch/bin
    mkdir -p "$bin"
    if [[ $sanitizer == undefined ]]; then
        # Swift has no such sanitizer. The one for C traps and needs no library, so workers are built with it,
        # too.
        flags=(-Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined)
        real="$endToEnd|SandboxTests|MisbehavingStageTests|ScanTests"
        bin=$scratch/debug
    else
        # Workers come from the release build: an instrumented one reserves more address space than a stage
        # may have, makes system calls that the sandbox forbids, and replaces the watch on allocations.
        flags=(--sanitize="$sanitizer")
        real=$endToEnd
        ln -sf "$PWD"/.build/release/{sluice-worker,libsluice-*.so} "$bin"
    fi
    if ! swift build --build-tests "${flags[@]}" --scratch-path "$scratch" >"$scratch/build.log" 2>&1; then
        grep -v 'ld.gold: warning' "$scratch/build.log" | grep -a 'error' | head -n 5
        echo "    it does not build; see $scratch/build.log"
        failed=1
        continue
    fi
    swift test --skip-build "${flags[@]}" --scratch-path "$scratch" --skip EndToEndTests \
        >"$scratch/unit.log" 2>&1 </dev/null
    report "$sanitizer" modules "$scratch/unit.log" $?
    [[ $sanitizer == undefined ]] || cp "$scratch"/debug/{sluice,sluice-witness} "$bin"
    # One after the other: the thread sanitizer takes the first use of a constant by two tests at once for a race.
    SLUICE_BIN_DIR=$PWD/$bin swift test --no-parallel --skip-build "${flags[@]}" --scratch-path "$scratch" \
        --filter "$real" --skip "$timed" >"$scratch/end-to-end.log" 2>&1 </dev/null
    report "$sanitizer" real "$scratch/end-to-end.log" $?
done
exit $failed
