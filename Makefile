# `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
PYTHON := .venv/bin/python
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/afresh
UV_VERSION := 0.13.9
CLUSTER ?= own
MODEL ?= scripted
INSTALL ?= helm
# How many test files run at a time, and the slowest ones first: see tests/conftest.py.
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo demo-down test check unit slow apiserver e2e test-matrix kueue bench crds docs site manifests fmt clean requirements

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { \
	  line = sprintf("  make %-12s ", $$1); \
	  count = split($$2, words, " "); \
	  for (i = 1; i <= count; i++) { \
	    if (length(line) + length(words[i]) >= 80) { print line; line = sprintf("%20s", "") } \
	    line = line " " words[i] \
	  } \
	  print line \
	}' $(MAKEFILE_LIST)

demo: ## Run a package on a real cluster (CLUSTER=current: on yours; INSTALL=kustomize: without Helm; MODEL=real: with ANTHROPIC_API_KEY)
	@python3 tools/demo --cluster $(CLUSTER) --model $(MODEL) --install $(INSTALL)

demo-down: ## Remove the demo and its cluster (CLUSTER=current: only the demo, from your cluster)
ifeq ($(CLUSTER),current)
	@python3 tools/demo --cluster current --remove
else
	@python3 tools/singlenode down demo
endif

test: ## Run check and all tests except those of test-matrix
	@tools/test.sh

check: .venv/.ready ## Check format, lint, types, import contracts and generated files
	.venv/bin/ruff format --check --quiet .
	.venv/bin/ruff check --quiet .
	.venv/bin/mypy
	PYTHONPATH=controller .venv/bin/lint-imports --no-cache | sed -n '/^Analyzed/,$$p'
	PYTHONPATH=controller $(PYTHON) -m afresh.api.crd --check crds
	PYTHONPATH=controller $(PYTHON) -m afresh.api.crd --check charts/afresh-crds/files
	PYTHONPATH=controller $(PYTHON) -m afresh.api.json_schema --check schemas
	PYTHONPATH=.:controller $(PYTHON) -m tools.docsgen.generate --check docs

unit: .venv/.ready ## Run the tests that need no cluster, except those of slow
	$(PYTHON) -m pytest -q $(PARALLEL) -m "not slow and not apiserver and not cluster"

slow: .venv/.ready ## Run the slow tests: real agent programs, floods, many packages, an operator that crashes at every write
	$(PYTHON) -m pytest -q $(PARALLEL) -m slow

apiserver: .venv/.ready ## Run the tests on a real etcd and API server
	$(PYTHON) -m pytest -q -m apiserver

e2e: .venv/.ready ## Run the tests on a real node
	$(PYTHON) -m pytest -q -m cluster

.PHONY: e2e-kind
e2e-kind: ## Run the demo on a new kind cluster (needs docker, kind, kubectl and helm)
	@tools/demo/kind.sh

test-matrix: .venv/.ready ## Run the long tests: each agent with each kind of answer in pods, 200 subtasks, an outage
	$(PYTHON) -m pytest -q tests/apiserver/full_history.py tests/e2e/full_matrix.py \
	  tests/e2e/full_scale.py tests/e2e/full_outage.py

kueue: ## Build Kueue's controller, which its tests need (10 minutes)
	@python3 tools/singlenode install --only kueue

bench: .venv/.ready ## Measure the time between subtasks, compared with bare Jobs; write build/bench.json
	@PYTHONPATH=.:controller $(PYTHON) -m tests.bench.handover
	@PYTHONPATH=.:controller $(PYTHON) -m tests.bench.first_byte
	@PYTHONPATH=.:controller $(PYTHON) -m tests.bench.orientation

crds: .venv/.ready ## Write crds/, the chart's copy of it and schemas/ from the models
	PYTHONPATH=controller $(PYTHON) -m afresh.api.crd crds
	PYTHONPATH=controller $(PYTHON) -m afresh.api.crd charts/afresh-crds/files
	PYTHONPATH=controller $(PYTHON) -m afresh.api.json_schema schemas

docs: .venv/.ready ## Write the generated pages and pictures of docs/, and the dashboard
	PYTHONPATH=.:controller $(PYTHON) -m tools.docsgen.generate docs
	PYTHONPATH=.:controller $(PYTHON) -m deploy.monitoring.dashboard charts/afresh/dashboards/afresh.json

site: .venv/.ready ## Build the site of docs/ into build/site; fail on a broken link
	@PYTHONPATH=.:controller $(PYTHON) -m tools.docsgen.site

manifests: .venv/.ready ## Write deploy/manifests from the charts (needs Helm; tools/singlenode install builds it)
	@PYTHONPATH=. $(PYTHON) -m tools.release.manifests

fmt: .venv/.ready ## Format the code
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix --quiet .

clean: ## Remove .venv, build and dist
	rm -rf .venv build dist

.venv/.ready: pyproject.toml tools/requirements/dev.txt
	@tools/venv.sh $(UV_VERSION)

requirements: ## Pin the newest Python packages that pyproject.toml allows
	@set -e; pin() { uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header \
	  --no-annotate --upgrade "$$@"; }; images=deploy/images/requirements; \
	pin --python-version 3.13 pyproject.toml -o $$images/runner.txt; \
	pin --python-version 3.13 --extra operator pyproject.toml -o $$images/operator.txt; \
	pin --python-version 3.13 $$images/build.in -o $$images/build.txt; \
	pin --python-version 3.13 $$images/node.in -o $$images/node.txt; \
	pin --python-version 3.13 --override $$images/aider-overrides.txt $$images/aider.in \
	  -o $$images/aider.txt; \
	pin --python-version 3.11 --universal --extra cli --extra operator --group dev --group docs \
	  pyproject.toml -o tools/requirements/dev.txt

.PHONY: npm-locks
npm-locks: ## Lock the versions that deploy/images/npm/*/package.json name (needs npm)
	@set -e; for folder in deploy/images/npm/*/; do (cd "$$folder"; rm -f package-lock.json; \
	  npm install --package-lock-only --ignore-scripts --no-audit --no-fund \
	    --omit-lockfile-registry-resolved); done

.PHONY: images
images: ## Build the images for a registry (REGISTRY=registry.example.com/afresh; optional: PUSH=1 TAG= PLATFORMS= ONLY= BUILDER= BASE=)
	@python3 -m tools.release.registry_images --registry "$(REGISTRY)" --tag "$(TAG)" --push "$(PUSH)" \
	  --platforms "$(PLATFORMS)" --only "$(ONLY)" --builder "$(BUILDER)" --base "$(BASE)"

.PHONY: changelog release
changelog: .venv/.ready ## Move changes/ into CHANGELOG.md and set the version (VERSION=1.2.3)
	@PYTHONPATH=. $(PYTHON) -m tools.release.changelog "$(VERSION)"
	@$(MAKE) --no-print-directory docs manifests

release: .venv/.ready ## Build all files of a release into dist/ (VERSION=1.2.3; as root)
	@PYTHONPATH=. $(PYTHON) -m tools.release.build "$(VERSION)"
