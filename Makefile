# The two commands a newcomer needs are `make run` and `make test`; `make help` lists the rest.
# Everything is installed into .venv from the hashed lists in requirements/; delete .venv to start afresh.

PORT ?= 8000
BIN := .venv/bin

# The rehearsal: `make run` works in a folder of its own, with a database and mails of its own. `.env` is not read there, and
# settings that the shell exports are taken away: only those on make's command line count, as in `make run GNA_LANGUAGE=ro`.
# A value given here loses to the command line and beats the shell.
DATABASE_URL := sqlite:///gna.db
SETTINGS = $(shell sed -n 's/^| `\([A-Z_]*\)` .*/\1 \1_FILE/p' docs/reference/settings.md)
EXPORTED = $(foreach name,$(SETTINGS),$(if $(filter environment%,$(origin $(name))),$(name)))
REHEARSE = mkdir -p rehearsal && cd rehearsal && exec env $(EXPORTED:%=-u %) DATABASE_URL="$(DATABASE_URL)" EMAIL_PROVIDER=mailbox \
  DISABLE_AUTH=true PLATFORM_BASE_URL="http://127.0.0.1:$(PORT)" "$(CURDIR)/$(BIN)/gna"

.DEFAULT_GOAL := help
.PHONY: help setup run demo test search collect lint format types bench docs lock system clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/run.stamp ## rehearse on 127.0.0.1:8000 (PORT=…): SQLite and mails in the folder rehearsal/, nothing leaves the machine
	@$(REHEARSE) serve --host 127.0.0.1 --port $(PORT)

demo: .venv/run.stamp ## fill the rehearsal with an example publication
	@$(REHEARSE) demo

# Many tests wait for a server, a browser or a clock, so that more workers than cores are busy too.
WORKERS ?= $(shell expr 2 \* $$(nproc 2>/dev/null || echo 2))

test: .venv/dev.stamp system lint ## install what the tests need, then lint, types and every test
	@$(MAKE) --no-print-directory -j2 types $(if $(ARGS),,collect)
	@$(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

# The bytecode that this leaves in __pycache__ spares each worker 10 s, and each start of `gna` the compiling of it.
collect: .venv/dev.stamp ## import every test, which finds those that cannot be
	@$(BIN)/pytest --collect-only -qq >.venv/collected || { cat .venv/collected; exit 1; }

test collect search: export HYPOTHESIS_STORAGE_DIRECTORY = .venv/hypothesis
# Containers often set it; an empty value counts as not set.
test collect search bench: export PYTHONDONTWRITEBYTECODE =

search: .venv/dev.stamp ## let hypothesis look for new examples that break a test, with other examples in each run
	@$(BIN)/pytest -q --hypothesis-profile=search --numprocesses $(WORKERS) $$(grep -rl "from hypothesis" tests --include='test_*.py') $(ARGS)

setup: .venv/run.stamp ## only build .venv, with .venv/bin/gna in it
	@echo "Ready: $(BIN)/gna. Next: $(BIN)/gna check, for a server; $(BIN)/gna inbox --help, for your own mail."

lint: .venv/dev.stamp ## ruff: style, mistakes, formatting
	@$(BIN)/ruff check --no-cache .
	@$(BIN)/ruff format --no-cache --check --quiet . || { echo "Run: make format"; exit 1; }

types: .venv/dev.stamp ## mypy --strict
	@$(BIN)/mypy --cache-dir .venv/mypy

format: .venv/dev.stamp ## let ruff format and mend what it can
	@$(BIN)/ruff check --no-cache --fix --quiet . ; $(BIN)/ruff format --no-cache .

bench: .venv/dev.stamp ## measure: start time, memory, and the ratios in bench/
	@$(BIN)/python -m bench $(ARGS)

docs: .venv/dev.stamp ## write docs/reference/ anew from the code
	@$(BIN)/python -m tools.reference

lock: .venv/run.stamp ## resolve the dependencies of pyproject.toml anew into requirements/
	@tools/lock

system: ## Debian packages for the browser, IMAP and SMTP tests, if missing and allowed
	@tools/system-packages

clean: ## remove .venv and the rehearsal; a publication of your own, as in gna.db, stays
	rm -rf .venv rehearsal
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/uv.stamp: requirements/tools.txt
	@tools/make-venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/tools.txt
	@touch $@

.venv/run.stamp: .venv/uv.stamp requirements/run.txt pyproject.toml
	@echo "Installing Gna into .venv …"
	@tools/install --require-hashes -r requirements/run.txt
	@tools/install --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: .venv/run.stamp requirements/dev.txt
	@echo "Installing what the tests need …"
	@tools/install --require-hashes -r requirements/dev.txt
	@touch $@
