# Each command installs into .venv what it needs: a run requirements.txt, the others what contributors need besides.
# README.md has the plain commands.
ENVIRONMENT ?= sandbox
# What somebody names is never part of a command: `value` reads it without make running what is in it, and the shell gets
# it as a variable.
override ENVIRONMENT := $(value ENVIRONMENT)
override OPTIONS := $(value OPTIONS)
override MODULE := $(value MODULE)
override SAMPLE := $(or $(value SAMPLE),0)
override SEED := $(or $(value SEED),0)
export ENVIRONMENT OPTIONS MODULE SAMPLE SEED
PYTHON ?= python3
BIN := .venv/bin
# The slowest self-test takes 30 s on a busy machine.
TIMED := -p pytest_timeout --timeout=300
# Python keeps what it has compiled: each process of the self-tests would compile all of them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: conformance test cases quick fast lint messages proof bench witnesses screenshots breakages

# One conformance run.
conformance: .venv/ready
	@printf 'asking the service of environment %s: %s\n' "$$ENVIRONMENT" "$(BIN)/pytest --environment=$$ENVIRONMENT"
	@$(BIN)/pytest --environment="$$ENVIRONMENT"

# The self-tests: of a whole run with parameters the first case, and of the proof one service of each module of
# services. `make cases` tries the other cases and the slowest modules, and `make proof` every service.
test: .venv/contributors
	PIX_CASES=first $(BIN)/pytest tests/selftest $(TIMED) -p xdist -n 4 --dist=worksteal

# The cases of whole runs, and the slowest modules, that `make test` leaves out.
cases: .venv/contributors
	PIX_CASES=further $(BIN)/pytest tests/selftest $(TIMED) -p xdist -n 4 --dist=worksteal

# For every save: lint beside the fast self-tests.
quick: .venv/contributors
	$(MAKE) --jobs=2 --no-print-directory lint fast

fast: .venv/contributors
	$(BIN)/pytest tests/selftest -m "not slow" -q $(TIMED) -p xdist -n 2 --dist=worksteal

lint: .venv/contributors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# An entry in each catalogue of reports/locale for what the suite has learned to say. What it no longer says stays at the
# end as a comment (#~), so that a text that comes back, or was reworded, has its translation at hand.
POT := $(or $(TMPDIR),/tmp)/pix-conformance.pot
messages: .venv/ready
	PYTHONPATH=. $(BIN)/pybabel -q extract -F babel.cfg -k say -k say_many:1,2 --no-location --sort-output -o $(POT) .
	$(BIN)/pybabel update -D report -i $(POT) -d reports/locale --width=120 --no-fuzzy-matching --ignore-pot-creation-date

.venv/ready: requirements.txt
	@PYTHON=$(PYTHON) .ci/install --require-hashes --only-binary=:all: --requirement $<
	@touch $@

.venv/contributors: constraints.txt .venv/ready
	@.ci/install --requirement $<
	@touch $@

# Tools of others that read openapi.yaml and the outputs. `make proof` runs them where they are installed.
witnesses: .venv/witnesses/ready

.venv/witnesses/ready: tests/selftest/witnesses/package.json .venv/ready
	mkdir -p $(@D)
	cp $< $(@D)
	npm install --prefix $(@D) --no-package-lock --no-audit --no-fund --loglevel=error
	touch $@

# Every service of the proof, every tenth replay beside a trial in memory, one service of each module over HTTP, every
# requirement selected alone, the report in a browser in every way, the tools of others, and the worked examples of
# CONTRIBUTING.md.
proof: .venv/contributors
	PIX_PROOF=exhaustive $(BIN)/pytest tests/selftest/proof/test_proof.py tests/selftest/harness/test_selection.py \
		tests/selftest/promises/test_browser.py tests/selftest/proof/test_witnesses.py tests/selftest/test_contributing.py $(TIMED) -p xdist -n 4 --dist=worksteal

# Breaks one module, one change at a time, and prints what its own self-tests do not notice: MODULE=spec/facts.py, and
# SAMPLE=20 SEED=7 for so many changes that a seed draws. Some changes are equivalent: they change nothing.
breakages: .venv/breakages/ready
	PYTHONPATH=. .venv/breakages/bin/python -m tests.selftest.breakages --sample="$$SAMPLE" --seed="$$SEED" "$$MODULE"

.venv/breakages/ready: tests/selftest/breakages/requirements.txt .venv/contributors
	@VENV=.venv/breakages PYTHON=$(PYTHON) .ci/install --requirement $<
	@touch $@

# The pictures of the report in docs/screenshots/. Needs Chromium.
screenshots: .venv/contributors
	$(BIN)/python -m tests.selftest.screenshots

# How long the default run takes beside `st run` on the same schema, service and machine.
# One scenario alone: make bench OPTIONS="--scenario=loopback --rounds=5"; OPTIONS=--help lists them.
# Recorded traffic: make bench OPTIONS=--scenario=recorded.
bench: .venv/contributors
	set -f; PYTHONPATH=. $(BIN)/python tests/selftest/bench.py $$OPTIONS
