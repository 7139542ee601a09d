# The tasks of this project. `make demo` and `make test` do all set-up themselves.
.PHONY: help setup build demo test check bench update clean

help:
	@echo "make demo    build Beeuni and see it work, from an empty folder to an agent that uses a tool"
	@echo "make test    run every test"
	@echo "make check   format, lints and generated files"
	@echo "make bench   compare with a bare Bun server in the same run, and measure sessions on both harnesses"
	@echo "make update  write the generated files anew (docs/cli.md)"

setup:
	@bash scripts/setup.sh

build: setup
	cargo build --release --locked -p beeuni

demo: build
	@bash scripts/demo.sh

test: setup
	@bash scripts/test.sh

check: setup
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

bench: build
	cargo build --release --locked -p beeuni-bench
	./target/release/beeuni-bench target/release/beeuni runtime/node_modules/@oven/bun-*/bin/bun \
		$$(ls runtime/node_modules/opencode-*/bin/opencode 2>/dev/null | head -n 1)

update: setup
	UPDATE_CLI_REFERENCE=1 cargo test --locked -p beeuni cli_reference

clean:
	cargo clean
	rm -rf runtime/node_modules
