# Needs only Python 3.11, pip and make: every target sets up what it uses in .venv, once.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
CODE := src tests benchmarks doubles requirements integrations
.DEFAULT_GOAL := help

.PHONY: help setup setup-dev lock licences demo test test-slow test-docs site screenshots attack lint mutants bench-graph bench-plan bench-scale bench-video bench-guidance bench-sandbox-models

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.base ## Install PhysPlan into .venv
setup-dev: $(VENV)/.dev ## Install PhysPlan with all that the tests need

LOCK := pyproject.toml constraints.txt requirements/install.py

$(VENV)/.base: $(LOCK) requirements/base.txt requirements/cpu.txt requirements/cuda.txt requirements/uv.txt
	@test -n "$(PYTHON)" || { echo "PhysPlan needs Python 3.11: install it, or call make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python requirements/install.py base
	@touch $@

$(VENV)/.dev: $(VENV)/.base requirements/dev.txt
	$(BIN)/python requirements/install.py dev
	@touch $@

lock: $(VENV)/.base ## Write the versions and hashes of the tested set anew (UPGRADE=--upgrade for newer ones)
	$(BIN)/python requirements/lock.py $(UPGRADE)

licences: $(VENV)/.dev ## Write docs/licences.md: what the packages of the lock say of their licences
	$(BIN)/python requirements/licences.py

demo: $(VENV)/.base ## The same words, three scenes: videos of melting ice (DEMO=--quick for fewer steps)
	$(BIN)/physplan demo $(DEMO)

lint: $(VENV)/.dev ## Style and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

test: $(VENV)/.dev lint ## All that must be true, offline, in under 15 minutes on two cores
	$(BIN)/python -m pytest -m "not slow and not docs"

test-slow: $(VENV)/.dev ## What takes longer
	$(BIN)/python -m pytest -m slow

test-docs: $(VENV)/.dev ## Every command and snippet of README and docs, run in order from a base install (some minutes)
	$(BIN)/python -m pytest -m docs tests/docs

site: $(VENV)/.dev ## The documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

screenshots: $(VENV)/.dev ## Take the pictures of the studio's and the study's pages in docs/images anew (needs Chromium)
	$(BIN)/python -m tests.screenshots

attack: $(VENV)/.dev ## A bad day: kills, hostile replies, plans, folders, pictures, settings, full disks (ATTACK="--seed 7")
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.attack $(ATTACK)

mutants: $(VENV)/.dev ## Switch each check off in turn: at least three tests must notice
	$(BIN)/python tests/graph/mutants.py

bench-graph: $(VENV)/.base ## Checks and apply per second, at 40 and at 400 nodes
	$(BIN)/python benchmarks/graph.py

bench-plan: $(VENV)/.dev ## The planner's own time, and that independent calls run side by side
	PYTHONPATH=doubles $(BIN)/python benchmarks/plan.py

bench-scale: $(VENV)/.dev ## Cases per second with 1 and 2 workers, and the engine's overhead per case
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/scale.py --ray

bench-video: $(VENV)/.dev ## How well a window of latents shows a frame, per family and window length
	OMP_NUM_THREADS=1 PYTHONPATH=doubles $(BIN)/python benchmarks/video.py

bench-guidance: $(VENV)/.base ## Time and memory of one guided repeat: Frame Guidance and the three gradient modes
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.guidance

bench-sandbox-models: $(VENV)/.dev ## What the sandbox's trained models reach on test scenes
	$(BIN)/python -m benchmarks.sandbox_models
