# Thin: every target calls a script or cargo. `scripts/with-rust` finds a cargo that is new enough.

PREFIX ?= /usr/local
CARGO := scripts/with-rust cargo
PROFILE ?= release
BUILT := target/$(PROFILE)

.DEFAULT_GOAL := help
.PHONY: help demo test check build docs bench proof proof-bytes install install-files dist-tracers dist clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## See a real MPI program traced, placed, launched and checked
	scripts/bootstrap demo
	$(MAKE) build
	scripts/demo

test: ## Install what the tests need, then run all checks
	scripts/bootstrap test
	scripts/check

check: ## Run all checks, in the order of continuous integration
	scripts/check

# The shim that starts every rank is linked statically: it must start on any node, and fast.
build: ## Build rankwright and its per-rank shim
	$(CARGO) build --profile $(PROFILE) --locked -p rankwright-cli --bin rankwright
	$(CARGO) rustc --profile $(PROFILE) --locked -p rankwright-cli --bin rankwright-exec -- -C target-feature=+crt-static

docs: ## Build the site: guide, manual pages, references of the library and the Python package
	scripts/bootstrap docs
	$(MAKE) build
	scripts/docs

bench: ## Measure the speed of rankwright itself
	scripts/bootstrap bench
	$(MAKE) build
	scripts/bench

proof: ## Compare predicted with measured run times of real programs in labs (resumable, about an hour)
	scripts/bootstrap test
	$(MAKE) build
	benchmarks/proof/run

proof-bytes: ## Compare predicted with counted bytes of each network device; fails if they differ
	scripts/bootstrap test
	$(MAKE) build
	benchmarks/proof/run --bytes

install: build install-files ## Install below PREFIX (/usr/local)

# What is built already. EMULATOR runs programs of another machine; TRACERS is empty for none.
TRACERS ?= target/tracers
EMULATOR ?=
install-files:
	install -D -t $(DESTDIR)$(PREFIX)/bin $(BUILT)/rankwright $(BUILT)/rankwright-exec
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/rankwright LICENSE-MIT LICENSE-APACHE
	if command -v python3 >/dev/null; then \
		scripts/with-rust python3 scripts/check_licences.py --notices \
			$(DESTDIR)$(PREFIX)/share/doc/rankwright/THIRD-PARTY-LICENCES >/dev/null; \
	else \
		echo "no python3, so the licences of the dependencies are not installed" >&2; \
	fi
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	$(EMULATOR) $(BUILT)/rankwright man --all $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	$(EMULATOR) $(BUILT)/rankwright completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/rankwright
	install -d $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	$(EMULATOR) $(BUILT)/rankwright completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_rankwright
	install -d $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(EMULATOR) $(BUILT)/rankwright completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/rankwright.fish
	for abi in $(if $(TRACERS),$(notdir $(wildcard $(TRACERS)/*))); do \
		install -D -t $(DESTDIR)$(PREFIX)/lib/rankwright/tracers/$$abi $(TRACERS)/$$abi/*.so || exit 1; \
		if [ ! -e target/probes/$$abi/rankwright-probe ]; then \
			echo "no probe for $$abi, so \`calibrate\` builds it: \`make dist-tracers\` makes it" >&2; \
			continue; \
		fi; \
		install -D -t $(DESTDIR)$(PREFIX)/lib/rankwright/probes/$$abi target/probes/$$abi/rankwright-probe || exit 1; \
	done

dist-tracers: ## Build the tracer and the probe for each kind of MPI, for nodes without a compiler
	scripts/dist-tracers

dist: ## Make and try an archive, a Debian package and a wheel with static programs, in target/package/
	scripts/bootstrap dist || echo "making the packages that need none of these" >&2
	scripts/packages/dist

clean: ## Remove everything that was built
	$(CARGO) clean
	rm -rf demo-output
