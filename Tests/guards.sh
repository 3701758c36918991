#!/usr/bin/env bash
# Removes the product's guards, one at a time, and shows that the tests fail each time; prints a table. From
# the project root: make guards, or Tests/guards.sh [name]… for some of them.
#
# A guard is a file in Tests/Guards:
#
#     # What it is there for.
#     tests LedgerTests.FencingTests            the narrowest tests that must fail without it, for `swift test --filter`
#     root                                      only where the user is root: others have nothing there to lose
#     in Sources/State/LedgerSQLite/SQL.swift  then what is taken out, which must be there exactly once, …
#     - AND holder = ?2 AND token = ?3"
#     + AND ?2 = ?2 AND ?3 = ?3"                … and what comes in its place; nothing, where there is no such line
#
# If a second guard backs up the first, several sections of the last kind remove both.
#
# TOGETHER=8 takes out eight at a time, which needs fewer builds. The tests of one may then be red for another: a table that is red
# throughout shows less, but GREEN and GONE mean the same.
#
# The work is done in two copies of the tree, each with its own build, .build/guards-1 and -2, which are kept for the next time.
# Tests of the real binary use their debug builds.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
project=$PWD
together=${TOGETHER:-1}
seconds=300 # that the tests may take; those that hang without their guard are red as well
tops='Package.swift Makefile README.md CONTRIBUTING.md docs pipeline.yaml cases.yaml Plugins Sources Templates Tests'

# Makes `copy` this tree. Copies only what differs, so that little is built again.
sync() {
    local file
    mkdir -p "$copy"
    while IFS= read -r -d '' file; do
        cmp -s "$file" "$copy/$file" && continue
        mkdir -p "$copy/$(dirname "$file")" && cp "$file" "$copy/$file"
    done < <(find $tops -type f -print0)
    (cd "$copy" && find $tops -type f -print0) | while IFS= read -r -d '' file; do
        [[ -e $file ]] || rm "$copy/$file"
    done
}

# Kills processes left by a run of tests, by its session.
sweep() {
    local stat fields
    for stat in /proc/[0-9]*/stat; do
        fields=$(cat "$stat" 2>/dev/null) || continue
        read -r -a fields <<<"${fields##*) }"
        [[ ${fields[3]:-} == "$1" ]] && kill -KILL "$(basename "$(dirname "$stat")")" 2>/dev/null
    done
    return 0
}

build() { # log, a flag
    (cd "$copy" && swift build ${2:+"$2"}) >"$1" 2>&1 </dev/null
}

run_tests() { # log, filter
    local temporary session status
    temporary=$(mktemp -d) && chmod 755 "$temporary"
    (cd "$copy" && SLUICE_BIN_DIR=$copy/.build/debug TMPDIR=$temporary/ exec setsid timeout --kill-after=5 "$seconds" \
        swift test --skip-build --filter "$2") >"$1" 2>&1 </dev/null &
    session=$!
    wait "$session"
    status=$?
    sweep "$session"
    rm -rf --one-file-system "$temporary"
    return $status
}

# Sets `filter`, `needsRoot`, and for each edit `files`, `old` and `new`.
read_guard() {
    local line last
    filter='' needsRoot='' files=() old=() new=()
    while IFS= read -r line; do
        last=$((${#files[@]} - 1))
        case $line in
            '#'* | '') ;;
            root) needsRoot=1 ;;
            'tests '*) filter=${line#tests } ;;
            'in '*) files+=("${line#in }") old+=('') new+=('') ;;
            '- '*) old[last]+=${old[last]:+$'\n'}${line#- } ;;
            '+ '*) new[last]+=${new[last]:+$'\n'}${line#+ } ;;
            *) return 1 ;;
        esac
    done <"$1"
    [[ -n $filter && ${#files[@]} -gt 0 ]]
}

# Removes the current guard from the copy; false: its text is missing, or occurs more than once.
take_out() {
    local index text rest
    for index in "${!files[@]}"; do
        [[ -f $copy/${files[index]} && -n ${old[index]} ]] || return 1
        text=$(<"$copy/${files[index]}")
        rest=${text//"${old[index]}"/}
        ((${#text} - ${#rest} == ${#old[index]})) || return 1
        printf '%s\n' "${text/"${old[index]}"/"${new[index]}"}" >"$copy/${files[index]}"
    done
}

verdict() { # log, status; sets `word`
    if grep -aq 'Test run with 0 tests' "$1"; then
        word='NO TESTS'
    elif (($2 == 0)); then
        word=GREEN
    elif (($2 == 124 || $2 == 137)); then
        word='red, hangs'
    elif grep -aqE '^✘ Test ' "$1"; then
        word=red
    else
        word='red, crashes'
    fi
}

row() { printf '%-28s%-14s%7s  %s\n' "$@"; }

# Takes guards out of a copy of its own, `together` at a time, and runs the tests of each.
take_out_each() { # the copy's number, names
    local name word tests built start group out failed=0
    copy=$project/.build/guards-$1 logs=$project/.build/guards-$1/.build/logs
    shift
    trap 'sync; exit 130' INT TERM
    while (($# > 0)); do
        group=("${@:1:together}") out=()
        shift "${#group[@]}"
        start=$SECONDS
        # The test bundle is linked again only if it contains what has changed.
        tests=''
        for name in "${group[@]}"; do
            read_guard "Tests/Guards/$name"
            if [[ -n $needsRoot && $(id -u) -ne 0 ]]; then
                row "$name" 'skipped: root' 0 "$filter"
            elif take_out; then
                [[ $filter == EndToEndTests* ]] || tests=--build-tests
                out+=("$name")
            else
                failed=1
                row "$name" GONE 0 "$filter"
            fi
        done
        build "$logs/build-${group[0]}" $tests
        built=$?
        for name in "${out[@]}"; do
            read_guard "Tests/Guards/$name"
            if ((built != 0)); then
                word='BUILD FAILS'
            else
                run_tests "$logs/$name" "$filter"
                verdict "$logs/$name" $?
            fi
            row "$name" "$word" $((SECONDS - start)) "$filter"
            start=$SECONDS
            [[ $word == red* ]] || failed=1
        done
        sync
    done
    return $failed
}

[[ $# -gt 0 ]] || set -- $(cd Tests/Guards && ls)
start=$SECONDS
all=''
shares=('' '')
share=0
# Neighbours in the folder often change the same file.
((together == 1)) || set -- $(shuf --random-source=<(yes) -e "$@")
for name in "$@"; do
    if ! read_guard "Tests/Guards/$name"; then
        echo "Tests/Guards/$name is no guard; the head of Tests/guards.sh says what one is"
        exit 1
    fi
    [[ "|$all|" == *"|$filter|"* ]] || all+=${all:+|}$filter
    shares[share]+=" $name"
    share=$((1 - share))
done
row guard tests seconds which
for share in 2 1; do
    copy=$project/.build/guards-$share logs=$project/.build/guards-$share/.build/logs
    [[ -n ${shares[share - 1]} ]] || continue
    sync
    mkdir -p "$logs"
    if ! build "$logs/build" --build-tests; then
        grep -aE 'error:' "$logs/build" | head -n 5
        echo "it does not build; see $logs/build"
        exit 1
    fi
done
seconds=2700 run_tests "$logs/tests" "$all"
status=$?
verdict "$logs/tests" "$status"
row 'all in place' "${word,,}" $((SECONDS - start)) \
    "all $(grep -aoE 'Test run with [0-9]+ tests' "$logs/tests" | grep -oE '[0-9]+') of those below"
if ((status != 0)); then
    grep -aE '^✘ Test ' "$logs/tests" | cut -c 1-200 | head -n 5
    echo "the tests must be green with every guard in its place; see $logs/tests"
    exit 1
fi

failed=0
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM
take_out_each 1 ${shares[0]} &
take_out_each 2 ${shares[1]} &
for job in $(jobs -p); do wait "$job" || failed=1; done
echo "$((SECONDS / 60)) min $((SECONDS % 60)) s"
if ((failed)); then
    echo "A guard that is GREEN is one that no test misses. GONE: its text is not in its file, or more than once."
fi
exit $failed
