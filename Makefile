# Sets all up and runs; the plain commands stand in the README.
ENVIRONMENT ?= sandbox
PYTHON ?= python3
BIN := .venv/bin

.PHONY: conformance test lint proof bench witnesses

conformance: .venv/ready
	$(BIN)/pytest --environment=$(ENVIRONMENT)

test: .venv/ready
	$(BIN)/pytest tests/selftest -n 2 --dist=worksteal

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement constraints.txt
	touch $@

# Tools of other makers that read the schema. Where they are not installed, the self-tests that ask them are skipped.
witnesses: .venv/witnesses/ready

.venv/witnesses/ready: tests/selftest/witnesses/package.json .venv/ready
	mkdir -p $(@D)
	cp $< $(@D)
	npm install --prefix $(@D) --no-package-lock --no-audit --no-fund --loglevel=error
	touch $@

# Every service of the proof, also those that are alike or slow by design, and every requirement selected alone; the
# default proof tries a few of each sort.
proof: .venv/ready
	PIX_PROOF=exhaustive $(BIN)/pytest tests/selftest/test_proof.py tests/selftest/test_selection.py -n 2 --dist=worksteal

# The default run beside `st run` on the same schema, service and machine, and a plain replay as the floor.
bench: .venv/ready
	PYTHONPATH=. $(BIN)/python tests/selftest/bench.py
