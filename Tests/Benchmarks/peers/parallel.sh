#!/usr/bin/env bash
# The same work with GNU parallel: the tools once for each file, two files at a time.
#
#     parallel.sh INPUT OUTPUT
#
# OUTPUT gets documents/NAME/document.pdf and catalogue.tsv. If it is interrupted, it has to start again. Synced once, at the
# end. Prints the number of files.
set -euo pipefail

takeIn() {
    local file=$1 output=$2 name type sum pages=
    name=${file##*/}
    type=$(file --brief --mime-type -- "$file")
    sum=$(sha256sum -- "$file")
    if [[ $type == application/pdf ]]; then
        pages=$(pdfinfo "$file" 2>/dev/null | sed -n 's/^Pages: *//p')
        [[ ${pages:-0} -gt 0 ]] || return 1
    fi
    mkdir "$output/documents/$name"
    cp -- "$file" "$output/documents/$name/document.pdf"
    printf '%s\t%s\t%s\t%s\n' "$name" "$type" "${sum%% *}" "$pages"
}
export -f takeIn

input=$1 output=$2
mkdir -p "$output/documents"
find "$input" -type f -print0 |
    SHELL=$BASH parallel --will-cite --null --jobs 2 takeIn {} "$output" > "$output/catalogue.tsv"
sync -f "$output"
wc -l < "$output/catalogue.tsv"
