#!/usr/bin/env bash
# Uploads each file of the corpus with clients that others wrote, tuspy and aiotus, over a line that cuts the connection at each tenth
# of the file; what became an attachment must be what the file is. Prints a table. Takes SLUICE_CORPUS (../shared/corpus),
# SLUICE_BIN_DIR (.build/release), and SECONDS_OF_UPLOADS (900), after which no more files are begun.
set -euo pipefail
cd "$(dirname "$0")/.."
corpus=${SLUICE_CORPUS:-$PWD/../shared/corpus}
python=$PWD/.build/tus-check

if [ ! -d "$corpus" ]; then
  echo "skipped: no corpus at $corpus; name one with SLUICE_CORPUS"
  exit 0
fi
if [ ! -e "$python/ready" ]; then
  python3 -m venv "$python"
  "$python/bin/pip" install --quiet 'tuspy>=1.1,<2' 'aiotus>=1.1,<2'
  touch "$python/ready"
fi
exec "$python/bin/python" Tests/tus-check.py "${SLUICE_BIN_DIR:-$PWD/.build/release}/sluice" "$corpus"
