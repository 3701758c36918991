# make run     install what is missing, build, and take sample attachments through pipeline.yaml
# make test    the same preparation, then every test
# make soak    the long version of the tests that kill and break things, two hours and more; prints a table. SUITES=KillSoak takes a
#              part of it
# make fuzz    hostile input for every reader of input from outside, SECONDS=60 for each; prints a table
# make sanitize  the unit tests under the thread, address and undefined-behaviour sanitizers; prints a table
# make guards  takes each guard out of the product and shows that the tests miss it; prints a table. TOGETHER=8 takes out eight at
#              a time
# make api-check  requests made from the description of the API, right and wrong, against a server
# make tus-check  the corpus through tuspy and aiotus, over a line that is cut at each tenth of a file; prints a table (two minutes)
# make clamd-check  asks a door of `serve: clamd` with clients of ClamAV's daemon that others wrote: clamdscan, pyclamd, rspamd, Exim,
#              Postfix with clamav-milter, c-icap; prints a table (needs root; a minute)
# make differ  compares answers of stages with those of other programs, on the corpus and on 10,000 changed files; prints tables
# make bench   Sluice against plain C, shell pipelines and Python programs, on two kinds of disk, and its own limits; prints a
#              table (40 minutes)
# make bench-check  instructions counted by valgrind, against the last ones; a minute
# make install PREFIX=/usr/local     put sluice, its plugins, the header and the kit for stages in place
# make uninstall PREFIX=/usr/local   take them away
# make deb     a package for Debian 12, .build/sluice_VERSION_ARCH.deb, with a service for systemd
# make deb-check  installs it on a fresh Debian 12, with and without systemd, upgrades it, takes it away; prints a table
#              (needs root; five minutes)
# make deps    install the system packages that are missing

SHELL := /bin/bash
.DEFAULT_GOAL := run

# clang and the Swift compiler come with the Swift toolchain; everything else is Debian's.
PACKAGES := pkg-config libsqlite3-dev libyaml-dev libseccomp-dev libssl-dev libmagic-dev libpoppler-glib-dev \
	libpoppler-private-dev libexpat1-dev libuchardet-dev libunistring-dev poppler-data \
	libcurl4-openssl-dev libvips-dev libwebp-dev libturbojpeg0-dev libpng-dev libarchive-dev libgmime-3.0-dev \
	libfontconfig-dev fonts-urw-base35 node-llhttp zlib1g-dev libheif-dev libde265-dev

# What only tests use.
test: PACKAGES += python3 clamav-daemon patchelf binutils git iproute2 nginx-light haproxy openssl \
	python3-tuspy curl libarchive-tools lz4 zstd poppler-utils libvips-tools tnef

SLUICE := .build/release/sluice
BUILT := .build/release

PREFIX ?= /usr/local
LIB = $(DESTDIR)$(PREFIX)/lib/sluice
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: run test soak fuzz sanitize guards differ api-check tus-check clamd-check bench bench-check deps build install place kit uninstall \
	deb package deb-check clean

run: build
	@.build/release/sluice-samples .build/samples
	@echo
	@$(SLUICE) ingest --home var --conversation welcome --sender ann --participants ann,ben .build/samples; \
	code=$$?; [ $$code -le 1 ] || exit $$code
	@printf '\nWhere to look next:\n'
	@printf '  %s\n' '$(SLUICE) list --home var' '$(SLUICE) show --home var ID' 'cat var/events.jsonl' \
		'find var/store -type f' '$(SLUICE) --help'

test: build
	@set -o pipefail; { swift build -c release --product sluice-simulator && SLUICE_BUILD=tests swift build --build-tests; } 2>&1 | tail -n 5
	@Tests/packaging.sh
	@Tests/run.sh

# Suites that are longer here, and those that are only here.
SOAK := Soak|ClockChangeTests|CrowdTests|DifferentialTests|EventStreamsTests|KilledDownloadTests|ManyFilesTests
SOAK := $(SOAK)|SlowClientTests|SourceConformanceTests|TusModelTests|UploadTests|CheckTests|HostileServerTests
SOAK := $(SOAK)|HungServerTests|NetworkTests|NewStageTests|ServeToolTests|StrangerTests

soak: PACKAGES += slowhttptest
soak: build
	@set -o pipefail; { swift build -c release --product sluice-simulator && swift build --build-tests; } 2>&1 | tail -n 5
	@$(RM) .build/soak.tsv; set -o pipefail; \
	SLUICE_SOAK=1 SLUICE_SOAK_TABLE=$(CURDIR)/.build/soak.tsv swift test --skip-build --filter "$(or $(SUITES),$(SOAK))" 2>&1 | \
	tee .build/soak.log | grep -E '^(✔|✘)' | cut -c 1-300; \
	code=$$?; echo; printf '%-50s %10s %10s\n' fault tries failures; \
	sort .build/soak.tsv | awk -F '\t' '$$1 != fault { show() } { fault = $$1; tries += $$2; failures += $$3 } \
	END { show() } function show() { if (fault) printf "%-50s %10d %10d\n", fault, tries, failures; \
	tries = failures = 0 }'; exit $$code

# SECONDS is a variable of bash's own.
fuzz: deps
	@Tests/FuzzTests/fuzz.sh $(or $(SECONDS),60)

sanitize: build
	@Tests/sanitize.sh

guards: deps
	@TOGETHER=$(TOGETHER) Tests/guards.sh

differ: PACKAGES += python3 python3-pikepdf poppler-utils libarchive-tools
differ: build
	@code=0; for kind in contents pdf; do \
	  /usr/bin/python3 Tests/Differ/$$kind.py $(BUILT) "$${SLUICE_CORPUS:-../shared/corpus}" $(MUTATIONS) || code=1; \
	done; exit $$code

api-check: PACKAGES += python3 python3-venv curl
api-check: build
	@Tests/api.sh

tus-check: PACKAGES += python3 python3-venv
tus-check: build
	@Tests/tus-check.sh

# Postfix is unpacked by the check: its package would take away that of Exim.
clamd-check: PACKAGES += python3 clamav-daemon clamdscan clamav-milter python3-pyclamd rspamd exim4-daemon-heavy swaks c-icap \
	libc-icap-mod-virus-scan
clamd-check: build
	@timeout 900 python3 Tests/clamd-check.py $(BUILT) $(CLIENTS)

# What it compares with.
bench: PACKAGES += poppler-utils file sqlite3 parallel python3 python3-venv python3-pip libmagic1 aria2 curl nginx-light
bench: build
	@swift build -c release --product sluice-bench
	@.build/release/sluice-bench $(BENCH)

bench-check: PACKAGES += valgrind binutils
bench-check: build
	@swift build -c release --product sluice-bench
	@.build/release/sluice-bench --check

# Without tests and measurements, whose programs take a third of a build.
build: deps
	@SLUICE_BUILD=product swift build -c release
	@$(MAKE) --no-print-directory kit DESTDIR= PREFIX=.build

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
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove "$${missing[@]}" >/dev/null; \
	fi

# Worker, plugins and the Swift runtime lie beside the binary, where it looks for them; what is in bin is a link to it.
install: PACKAGES += patchelf binutils
install: build place

place:
	@install -d $(LIB) $(DESTDIR)$(PREFIX)/bin $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions \
	  $(SHARE)/fish/vendor_completions.d
	@install -m 755 $(BUILT)/sluice $(BUILT)/sluice-worker $(BUILT)/sluice-httpd $(LIB)
	@install -m 644 $(BUILT)/libsluice-*.so $(LIB)
	@ldd $(BUILT)/sluice $(BUILT)/sluice-worker $(BUILT)/sluice-httpd $(BUILT)/libsluice-*.so | \
	  awk '$$3 ~ /\/swift\/linux\// { print $$3 }' | sort -u | xargs -r install -m 644 -t $(LIB)
	@strip --strip-debug $(LIB)/sluice $(LIB)/sluice-worker $(LIB)/sluice-httpd $(LIB)/libsluice-*.so
	@for file in $(LIB)/*; do patchelf --set-rpath '$$ORIGIN' "$$file"; done
	@ln -sfn ../lib/sluice/sluice $(DESTDIR)$(PREFIX)/bin/sluice
	@$(MAKE) --no-print-directory kit DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)'
	@$(LIB)/sluice completions bash > $(SHARE)/bash-completion/completions/sluice
	@$(LIB)/sluice completions zsh > $(SHARE)/zsh/site-functions/_sluice
	@$(LIB)/sluice completions fish > $(SHARE)/fish/vendor_completions.d/sluice.fish
	@echo "$(DESTDIR)$(PREFIX)/bin/sluice is in place"

# What stages are written with: the header, the kit for Swift, templates.
kit:
	@install -d $(DESTDIR)$(PREFIX)/include/sluice $(SHARE)/sluice/templates $(SHARE)/sluice/StageKit/Sources
	@install -m 644 Sources/Contract/CStage/include/sluice/stage.h $(DESTDIR)$(PREFIX)/include/sluice
	@cp -R Sources/Contract/CStage Sources/Contract/StageKit $(SHARE)/sluice/StageKit/Sources
	@{ sed -n '1,/^$$/p' Package.swift; \
	  echo '// Written by `make install`. The package that a stage in Swift is built against.'; \
	  echo 'let package = Package('; \
	  echo '  name: "StageKit", products: [.library(name: "StageKit", targets: ["StageKit"])], targets: contract)'; \
	  echo; sed -n '/^var contract/,/^}/p' Package.swift; } > $(SHARE)/sluice/StageKit/Package.swift
	@cp -R Templates/swift Templates/c Templates/python Templates/shell Templates/shared $(SHARE)/sluice/templates
	@install -m 644 pipeline.yaml $(SHARE)/sluice

uninstall:
	@find $(LIB) -maxdepth 1 -type f -delete; rmdir --ignore-fail-on-non-empty $(LIB) # plugins/ is the operator's
	@$(RM) -r $(SHARE)/sluice $(DESTDIR)$(PREFIX)/include/sluice
	@$(RM) $(DESTDIR)$(PREFIX)/bin/sluice $(SHARE)/bash-completion/completions/sluice \
	  $(SHARE)/zsh/site-functions/_sluice $(SHARE)/fish/vendor_completions.d/sluice.fish

# Set MAINTAINER='Name <address>' for a package that others get.
deb: PACKAGES += patchelf binutils dpkg-dev git
deb: build package

package:
	@Packaging/deb.sh $(BUILT)

deb-check: PACKAGES += mmdebstrap
deb-check: deb
	@Tests/deb-check.sh "$$(ls -t .build/sluice_*.deb | head -n 1)" $(BUILT)

clean:
	@swift package clean
