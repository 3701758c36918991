#!/usr/bin/env bash
# Checks what the package is made of, without building it: a few seconds. From the project root: Tests/packaging.sh
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failures=0

check() { # what, what is wrong; nothing: it holds
    if [[ $2 ]]; then
        printf '✘ %s\n%s\n' "$1" "$(sed 's/^/    /' <<<"$2")"
        failures=$((failures + 1))
    else
        printf '✔ %s\n' "$1"
    fi
}

skip() { printf -- '- %s: skipped, %s\n' "$1" "$2"; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The dashboard.
what='the dashboard is JSON, and takes every data source from its variable'
if command -v python3 >/dev/null; then
    check "$what" "$(python3 - Packaging/grafana.json 2>&1 <<'PYTHON'
import json, sys

def walk(node, place):
    if isinstance(node, dict):
        source = node.get("datasource")
        if source is not None and source != {"type": "prometheus", "uid": "${datasource}"}:
            print(f"{place}: the data source {source}")
        for key, value in node.items():
            walk(value, f"{place}.{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            walk(value, f"{place}[{index}]")

board = json.load(open(sys.argv[1]))
walk(board, "board")
numbers = [panel["id"] for panel in board["panels"]]
if len(numbers) < 15 or len(numbers) != len(set(numbers)):
    print(f"the ids of the panels: {numbers}")
for panel in board["panels"]:
    if panel["type"] != "row" and not panel["targets"]:
        print(f"{panel['title']}: it shows nothing")
PYTHON
)"
else
    skip "$what" 'there is no python3'
fi

# A histogram has several figures.
figures() { grep -oE '\bsluice_[a-z_]+\b' "$1" | sed 's/_\(bucket\|sum\|count\)$//' | sort -u; }
figures Packaging/grafana.json >"$scratch/shown"
figures 'Sources/Front/FrontDoor/API+Metrics.swift' >"$scratch/given"
check 'every figure of the dashboard is one of GET /metrics' "$(comm -23 "$scratch/shown" "$scratch/given")"
check 'there are figures to compare' "$( (($(wc -l <"$scratch/given") > 10)) || cat "$scratch/given")"

# The units. Where the program is not installed, the units are checked as if it were.
if command -v systemd-analyze >/dev/null; then
    mkdir -p "$scratch/root/usr/bin" "$scratch/root/bin" "$scratch/root/usr/lib/systemd/system"
    cp Packaging/sluice.service Packaging/sluice.socket "$scratch/root/usr/lib/systemd/system"
    install -m 755 /bin/true "$scratch/root/usr/bin/sluice"
    install -m 755 /bin/true "$scratch/root/bin/kill"
    touch "$scratch/root/usr/lib/systemd/system/"{basic,sysinit,shutdown,network-online,nss-lookup,sockets,system}.{target,slice}
    units=$(systemd-analyze verify --man=no --recursive-errors=no --root="$scratch/root" sluice.service sluice.socket 2>&1)
    check 'systemd-analyze verify has nothing to say of the units' "$units"
    score=$(systemd-analyze security --offline=true --threshold=20 Packaging/sluice.service 2>&1)
    check 'the exposure of the service is 2.0 at most' "$( (($? == 0)) || tail -n 1 <<<"$score")"
else
    skip 'the units' 'there is no systemd-analyze'
fi

# The maintainer scripts.
for script in Packaging/debian/p* Packaging/deb.sh Tests/deb-check.sh; do
    check "$script can be parsed" "$("$(sed -n '1s/^#!\(\/usr\/bin\/env \)\?//p' "$script")" -n "$script" 2>&1)"
done
exit $((failures > 0))
