#!/usr/bin/env bash
# How much of the bare machine's speed does Sluice keep?
#
#     Tests/Benchmarks/bench.sh [FILES=5000] [ROUNDS=5]      or, from the project root: make bench
#
# Runs `sluice ingest` and raw.c, which does the same work per file and nothing else, in turn over the
# same files, and fails when the median of sluice/raw is under BENCH_FLOOR. Other settings:
#
#     BENCH_FLOOR    the lowest ratio that passes (0.60)
#     SLUICE_BIN     the program to measure (.build/release/sluice)
#     SLUICE_CORPUS  the folder that holds pdf-valid/ (../shared/corpus)
#     CC             the C compiler (clang)
set -euo pipefail
export LC_ALL=C  # a decimal comma in EPOCHREALTIME, sort or awk would spoil the figures
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

files=${1:-5000}
rounds=${2:-5}
floor=${BENCH_FLOOR:-0.60}
sluice=${SLUICE_BIN:-.build/release/sluice}
corpus=${SLUICE_CORPUS:-../shared/corpus}/pdf-valid
bench=.build/bench
input=$bench/input
stores=$bench/stores  # raw's stores and sluice's homes, one for each run; gone afterwards

fail() {
    echo "bench: $*" >&2
    exit 1
}

prepare() {
    # shellcheck disable=SC2046  # the flags are words
    "${CC:-clang}" -std=c11 -O2 -Wall -Wextra Tests/Benchmarks/raw.c -o "$bench/raw" \
        $(pkg-config --cflags --libs poppler-glib libcrypto) -lmagic
    makeInput
    find "$input" -type f | sort >"$bench/list"
    cat >"$bench/pipeline.yaml" <<'YAML'
version: 1
stages:
  - use: mime
    options:
      allow: ["*/*"]
  - use: size
    options:
      max: 100MB
  - use: pdf
    when: application/pdf
  - use: store
    options:
      path: documents/{conversationId}/{messageId}/document.{extension}
  - use: notify
    options:
      to: participants
      channels: [events]
channels:
  events:
    use: jsonl
    options:
      path: events.jsonl
YAML
}

# The corpus over and over until there are FILES files. Sluice stores equal content once and raw does
# not, so each copy ends in a comment of its own: the same PDF, but different content.
makeInput() {
    local stamp
    stamp="$files files of $(find "$corpus" -type f -printf '%f %s\n' | sort | cksum)"
    [[ -e $input.stamp && $(<"$input.stamp") == "$stamp" ]] && return
    echo "bench: making $files files in $input"
    rm -f "$input.stamp"
    delete "$input"
    mkdir -p "$input"
    local sources index name
    mapfile -d '' -t sources < <(find "$corpus" -type f -print0 | sort -z)
    for ((index = 0; index < files; index++)); do
        name=${sources[index % ${#sources[@]}]}
        { cat "$name" && printf '\n%%%d\n' "$index"; } >"$input/$(printf '%08d' "$index")-${name##*/}"
    done
    echo "$stamp" >"$input.stamp"
}

# ext4 does not reuse the inode of a deleted file for some minutes, and looks past every one of them
# when it makes a file: runs in the wake of `rm -r` were measured at half speed. So nothing is deleted
# between runs (what they stored is cut to nothing, which keeps the inodes), and a bench soon after
# another says so.
warnOfDeleted() {
    local deleted
    deleted=$(find "$bench/deleted" -mmin -6 2>/dev/null || true)
    [[ -z $deleted ]] || echo "bench: files of the last bench were deleted just now: figures may be low"
}

delete() {
    [[ -d $1 ]] || return 0
    rm -rf "$1"
    touch "$bench/deleted"
}

# timed COMMAND…: its output goes to $bench/output, its wall time in microseconds to $elapsed.
timed() {
    find "$stores" -type f -size +0 -exec truncate -s 0 {} +
    sync  # or this run pays for the pages the last one left dirty
    # Both read from memory: a kernel that gives up idle pages early made single runs four times as long.
    find "$input" -type f -exec cat {} + >/dev/null
    local start=${EPOCHREALTIME/./} status=0
    "$@" >"$bench/output" 2>"$bench/errors" || status=$?
    elapsed=$((${EPOCHREALTIME/./} - start))
    if ((status != 0)); then
        tail -n 5 "$bench/output" "$bench/errors" >&2
        fail "$1 ended with status $status"
    fi
}

# number KEY: its value in the last line of JSON in $bench/output, or nothing.
number() {
    grep '^{' "$bench/output" | tail -n 1 | sed -nE "s/.*\"$1\"[[:space:]]*:[[:space:]]*([0-9]+).*/\1/p"
}

expect() {
    local found
    found=$(number "$2" || true)  # grep fails when there is no JSON at all
    [[ $found == "$3" ]] || fail "$1 reports \"$2\": ${found:-nothing}, expected $3; it did other work"
}

runRaw() {
    timed "$bench/raw" --store "$stores/raw$1" --list "$bench/list"
    expect raw files "$files"
    expect raw pdfs "$files"
    expect raw failed 0
}

runSluice() {
    timed "$sluice" ingest -c "$bench/pipeline.yaml" --home "$stores/sluice$1" --participants a,b --sender a \
        --format json --quiet "$input"
    expect sluice completed "$files"
}

# Round 0 warms up programs, libraries and the magic database, and is dropped. Who goes first
# alternates, so that a drift of the machine favours neither.
measure() {
    local round rawTime sluiceTime
    : >"$bench/times"
    for ((round = 0; round <= rounds; round++)); do
        if ((round % 2)); then
            runRaw "$round"; rawTime=$elapsed
            runSluice "$round"; sluiceTime=$elapsed
        else
            runSluice "$round"; sluiceTime=$elapsed
            runRaw "$round"; rawTime=$elapsed
        fi
        ((round == 0)) || echo "$rawTime $sluiceTime" >>"$bench/times"
    done
}

# Each line of `times` is one round: microseconds of raw, microseconds of sluice.
report() {
    awk -v files="$files" -v rounds="$rounds" -v floor="$floor" '
        function insert(values, value,    i) {
            for (i = NR; i > 1 && values[i - 1] > value; i--) values[i] = values[i - 1]
            values[i] = value
        }
        function median(values) {
            return NR % 2 ? values[(NR + 1) / 2] : (values[NR / 2] + values[NR / 2 + 1]) / 2
        }
        function row(name, values) {
            printf "%-8s %10.0f %10.0f %10.0f\n", name, median(values), values[1], values[NR]
        }
        { insert(raw, files * 1e6 / $1); insert(sluice, files * 1e6 / $2); insert(ratio, $1 / $2) }
        END {
            printf "%d files, %d rounds\n\n", files, rounds
            printf "%-8s %10s %10s %10s\n", "files/s", "median", "min", "max"
            row("raw", raw)
            row("sluice", sluice)
            printf "\nratio sluice/raw %.2f (%.2f to %.2f), floor %.2f\n", median(ratio), ratio[1], ratio[NR], floor
            if (median(ratio) < floor) { print "bench: under the floor"; exit 1 }
        }' "$bench/times"
}

[[ $files =~ ^[1-9][0-9]*$ && $rounds =~ ^[1-9][0-9]*$ ]] || {
    echo "usage: bench.sh [FILES=5000] [ROUNDS=5]" >&2
    exit 2
}
if [[ ! -d $corpus ]]; then
    echo "bench: skipped, there is no corpus at $corpus (set SLUICE_CORPUS)"
    exit 0
fi
[[ -x $sluice ]] || fail "$sluice is not there; build it first: swift build -c release"
mkdir -p "$bench"
delete "$stores"  # of a bench that was killed
prepare
warnOfDeleted
mkdir "$stores"
trap 'delete "$stores"' EXIT
measure
report
