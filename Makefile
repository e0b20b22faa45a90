# The commands of this project. `make help` lists them. Each works from a fresh clone; what is missing is installed into
# .venv (and, for `make test`, mosquitto and node by the system's package manager).
# PYTHON=/path/to/python3 make setup chooses an interpreter; PYTEST_ARGS="-k tree -x" is handed on to pytest;
# WORKERS=0 runs the tests one after the other (auto: three at once on two processors).

.POSIX:
.DEFAULT_GOAL := help
.PHONY: help setup demo test check verify soak system wasm image lint types imports unit format clean
# PYTHONDONTWRITEBYTECODE too: each of a thousand calls of `dcka` would compile its modules anew.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

bin = .venv/bin
PYTEST_ARGS =
WORKERS = auto
SECONDS = 1800

help: ## these lines
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1 = \2/p' $(firstword $(MAKEFILE_LIST)) | awk -F= '{ printf "%-14s%s\n", $$1, $$2 }'

setup: ## make .venv with everything pinned, and .venv/bin/dcka (nothing to do: returns at once)
	@sh tools/setup.sh

demo: setup ## five MicroPython nodes cluster the nine Gaussians, and are checked
	@$(bin)/dcka demo

test: setup system wasm image lint types imports ## every check and every test: what CI runs
	@WORKERS=$(WORKERS) sh tools/tests.sh $(PYTEST_ARGS)

check: lint types imports unit ## the quick part: format, lint, types, import rules, unit tests

verify: setup ## search what a few nodes can come to, whatever is lost and whoever dies: some minutes
	@PYTHONPATH=tests/core $(bin)/python tests/verify

soak: setup system ## half an hour of runs with random faults: no wrong result, nothing leaks (SECONDS=60: shorter)
	@$(bin)/dcka bench soak --seconds $(SECONDS)

system: ## mosquitto, PostgreSQL, node and npm from the system's packages
	@sh tools/system_packages.sh tests

wasm: setup system ## the 32-bit MicroPython that the core's tests run on, under node
	@sh tools/wasm.sh

image: setup ## a real ESP32 image, for the tests of flashing
	@sh tools/esp32_image.sh

lint: setup ## ruff: format and rules
	@$(bin)/ruff format --check --quiet . || { echo "make format does it"; exit 1; }
	@$(bin)/ruff check --quiet .

types: setup ## mypy, strict: the host; the firmware with MicroPython's stubs
	@$(bin)/mypy --no-error-summary
	@$(bin)/python tools/mypy_firmware.py

imports: setup ## who may import whom
	@$(bin)/lint-imports --no-logo --cache-dir .venv/import_linter_cache

unit: setup ## the tests that start no broker and no network of nodes
	@$(bin)/python -m pytest -q -m "not system and not slow" $(PYTEST_ARGS)

format: setup ## rewrite the files as ruff has them
	@$(bin)/ruff format --quiet .
	@$(bin)/ruff check --quiet --fix .

clean: ## remove .venv and what the tools left
	@rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
