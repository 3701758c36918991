#!/usr/bin/env bash
# What a good shell user does with a folder of attachments: divides the files between two processes, calls the
# tools that take many files once for all of them, and writes one transaction. If it is interrupted, it has to
# start again.
#
#     shell.sh FILES INPUT OUTPUT
#
# OUTPUT gets documents/NAME/document.pdf and catalogue.db. Synced once, at the end.
set -euo pipefail

takeBatch() {
    local output=$1 file index sum pages name
    shift
    local -a types sums statements=()
    mapfile -t types < <(file --brief --mime-type -- "$@")
    mapfile -t sums < <(sha256sum -- "$@" | cut -d ' ' -f 1)
    for ((index = 0; index < ${#types[@]}; index++)); do
        file=${*:index+1:1}
        pages=NULL
        if [[ ${types[index]} == application/pdf ]]; then
            pages=$(pdfinfo "$file" 2>/dev/null | sed -n 's/^Pages: *//p')
            [[ ${pages:-0} -gt 0 ]] || continue
        fi
        name=${file##*/}
        mkdir "$output/documents/$name"
        cp -- "$file" "$output/documents/$name/document.pdf"
        sum=${sums[index]}
        statements+=("INSERT INTO attachments VALUES ('${name//\'/\'\'}', '${types[index]}', '$sum', $pages);")
    done
    printf '%s\n' '.timeout 60000' 'BEGIN IMMEDIATE;' "${statements[@]}" 'COMMIT;' | sqlite3 "$output/catalogue.db"
}

if [[ $1 == --batch ]]; then
    shift
    takeBatch "$@"
    exit
fi
files=$1 input=$2 output=$3
mkdir -p "$output/documents"
sqlite3 "$output/catalogue.db" \
    'PRAGMA journal_mode = WAL; CREATE TABLE attachments (name TEXT, type TEXT, sha256 TEXT, pages INTEGER);' >/dev/null
find "$input" -type f -print0 | xargs -0 -P 2 -n "$files" "$0" --batch "$output"
sync -f "$output"
sqlite3 "$output/catalogue.db" 'SELECT count(*), count(DISTINCT sha256) FROM attachments;'
