# Everything a user or an engineer does starts here; `make help` lists it.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
MODEL := models/mage-vl-demo
MLXCEL := build/release/mlxcel

.DEFAULT_GOAL := build
.PHONY: help setup build demo demo-eval test test-release test-sanitized test-threads fuzz lint format install clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/:/' | awk -F: '{ printf "  make %-16s %s\n", $$1, $$2 }'

setup:           ## packages and libraries that the build needs
	@tools/setup/setup.sh

# Configures a preset once, and builds targets of it: $(call build_preset,release,mlxcel)
define build_preset
	@test -f build/$(1)/build.ninja || cmake --preset $(1) >build-$(1).log 2>&1 || { cat build-$(1).log; rm -f build-$(1).log; exit 1; }
	@rm -f build-$(1).log
	@if ! ninja -C build/$(1) -n $(2) | grep -q 'no work to do'; then echo "building ($(1))"; ninja -C build/$(1) -j$(JOBS) $(2); fi
endef

build: setup     ## the release binary, build/release/mlxcel
	$(call build_preset,release,mlxcel)

demo: build      ## answers about pictures, from the checkpoint in the repository
	@tools/demo/ask.sh $(MLXCEL) $(MODEL)

demo-eval: build ## the demo checkpoint's share of right answers on held-out pictures
	@tools/demo/run_evaluation.sh $(MLXCEL) $(MODEL)

test: test-release test-sanitized ## every test: release build, then the sanitizer build

test-release: setup
	$(call build_preset,release,all)
	ctest --test-dir build/release --output-on-failure

test-sanitized: setup
	$(call build_preset,asan,all)
	UBSAN_OPTIONS=print_stacktrace=1 ctest --test-dir build/asan --output-on-failure

test-threads: setup ## the tests that use threads, under the thread sanitizer
	$(call build_preset,tsan,base_tests kernels_tests)
	ctest --test-dir build/tsan --output-on-failure -R '^(base|kernels)'

fuzz:            ## every fuzz target for 60 seconds each
	@tools/setup/setup.sh --fuzz
	$(call build_preset,fuzz,all)
	@tools/fuzz/run.sh build/fuzz $${SECONDS_EACH:-60}

lint: setup      ## formatting and static analysis
	@find src \( -name '*.cpp' -o -name '*.h' \) -print0 | xargs -0 clang-format --dry-run --Werror
	$(call build_preset,release,all)
	@find src -name '*.cpp' -print0 | xargs -0 -P$(JOBS) -n4 clang-tidy --quiet -p build/release

format:          ## rewrite the sources as .clang-format says
	@find src \( -name '*.cpp' -o -name '*.h' \) -print0 | xargs -0 clang-format -i

install: build   ## a relocatable tree under PREFIX
	@cmake --install build/release --prefix $(PREFIX)

clean:           ## remove what was built (not what was fetched)
	rm -rf build
