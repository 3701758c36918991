#!/usr/bin/env bash
# Holds `sluice serve` against its own description: schemathesis makes requests from /openapi.json, right and wrong ones, and compares
# each answer with it. Takes SECONDS_OF_REQUESTS (120).
set -euo pipefail
cd "$(dirname "$0")/.."
sluice=${SLUICE_BIN_DIR:-$PWD/.build/release}/sluice
place=$(mktemp -d)
python=$PWD/.build/api-check
server=
trap '[ -z "$server" ] || kill "$server"; wait; rm -r "$place"' EXIT

if [ ! -x $python/bin/schemathesis ]; then
  python3 -m venv $python
  $python/bin/pip install --quiet 'schemathesis>=4,<5'
fi
# What it is to send as the bytes of an upload.
cat > "$place/hooks.py" <<'HOOKS'
import schemathesis

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
HOOKS

# QUERY is no method of HTTP yet, so the parser answers 501. 412 is how tus refuses a request of another version, 413 a length.
cat > "$place/schemathesis.toml" <<'CONFIG'
[phases.coverage]
unexpected-methods = ["PUT", "POST", "DELETE", "PATCH", "TRACE"]

[checks.missing_required_header]
expected-statuses = [400, 401, 403, 406, 412, 415, 422]

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 411, 412, 413, 415, 416, 422, 428, 429]
CONFIG

# All routes.
cat pipeline.yaml - > "$place/pipeline.yaml" <<'CONFIG'

serve: { messages: true, accounts: everyone }
lanes: { downloads: { use: http, max-size: 10MB } }
CONFIG
(cd "$place" && exec "$sluice" serve --listen 127.0.0.1:0 --home home) 2> "$place/log" &
server=$!
for _ in $(seq 100); do grep -q 'listening on' "$place/log" && break; sleep 0.1; done
address=$(sed -n 's/.*listening on //p' "$place/log")
token=$(sed -n 's/.*Bearer \(sluice_[0-9a-f]*\).*/\1/p' "$place/log")
for name in a b c; do
  echo "text $name" | curl --silent --fail --output "$place/answer" --header "Authorization: Bearer $token" \
    --data-binary @- "$address/v1/attachments?filename=$name.txt"
done
curl --silent --fail --output "$place/answer" --header "Authorization: Bearer $token" \
  --header 'Content-Type: application/json' --data '{"id":"c","members":["admin"]}' "$address/v1/conversations"
for message in 1 2; do
  curl --silent --fail --output "$place/answer" --request PUT --header "Authorization: Bearer $token" \
    --header 'Content-Type: application/json' --data '{"text":"hello"}' "$address/v1/conversations/c/messages/$message"
done

# What it remembers of failures stays in that folder.
cd "$place"
# A stream of events has no end. Values of the right form may still mean nothing, such as the mark of a page: they are refused.
# A link is fetched while the client does something else.
SCHEMATHESIS_HOOKS=$place/hooks.py $python/bin/schemathesis --config-file "$place/schemathesis.toml" run "$address/openapi.json" \
  --header "Authorization: Bearer $token" --header 'Prefer: respond-async' --exclude-path /v1/events \
  --checks all --exclude-checks positive_data_acceptance --phases examples,coverage,fuzzing \
  --max-time "${SECONDS_OF_REQUESTS:-120}" --continue-on-failure --warnings off --no-color
if grep -q 'HTTP server ended' "$place/log"; then cat "$place/log"; exit 1; fi
