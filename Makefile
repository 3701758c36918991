# make run     install what is missing, build, and take sample attachments through pipeline.yaml
# make test    the same preparation, then every test
# make soak    the long version of the tests that kill and break things; prints a table
# make bench   this pipeline against the same work in plain C; prints a table
# make deps    install the system packages that are missing

SHELL := /bin/bash
.DEFAULT_GOAL := run

# clang and the Swift compiler come with the Swift toolchain; everything else is Debian's.
PACKAGES := pkg-config libsqlite3-dev libyaml-dev libseccomp-dev libssl-dev libmagic-dev libpoppler-glib-dev \
	libcurl4-openssl-dev libvips-dev libwebp-dev libturbojpeg0-dev libpng-dev

SLUICE := .build/release/sluice

.PHONY: run test soak bench deps build clean

run: build
	@.build/release/sluice-samples .build/samples
	@echo
	@$(SLUICE) ingest --home var --conversation welcome --sender ann --participants ann,ben .build/samples; \
	code=$$?; [ $$code -le 1 ] || exit $$code
	@printf '\nWhere to look next:\n'
	@printf '  %s\n' '$(SLUICE) list --home var' '$(SLUICE) show --home var ID' 'cat var/events.jsonl' \
		'find var/store -type f' '$(SLUICE) --help'

test: build
	@swift build --build-tests 2>&1 | tail -n 5
	@swift test --skip-build

soak: build
	@swift build --build-tests 2>&1 | tail -n 5
	@printf '%s\n' 'fault     tries                               files   wrong'
	@set -o pipefail; SLUICE_SOAK=1 swift test --skip-build --filter Soak 2>&1 | tee .build/soak.log | \
	grep -E '^kill -9|✘|Test run with' | cut -c 1-300

bench: build
	@Tests/Benchmarks/bench.sh

build: deps
	@swift build -c release

deps:
	@missing=(); \
	for package in $(PACKAGES); do \
		dpkg-query -W -f '$${Status}' "$$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$$package"); \
	done; \
	if [ $${#missing[@]} -gt 0 ]; then \
		echo "missing: $${missing[*]}"; \
		if ! command -v apt-get >/dev/null; then \
			echo "These are Debian's names; install the packages that stand for them on this system."; exit 1; \
		elif [ "$$(id -u)" -ne 0 ]; then \
			echo "Run this, then try again:"; \
			echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $${missing[*]}"; exit 1; \
		fi; \
		apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$${missing[@]}" >/dev/null; \
	fi

clean:
	@swift package clean
