# Needs only Python 3.11, pip and make: every target sets up what it uses in .venv, once.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
CODE := src tests testing benchmarks experiments requirements integrations
.DEFAULT_GOAL := help

.PHONY: help accept setup setup-dev lock pages demo photo test test-slow test-docs coverage notebook site screenshots attack lint mutants bench-graph bench-plan bench-scale bench-batch bench-studio bench-video bench-guidance bench-sketch bench-sandbox-models bench-photo

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

$(VENV)/.photo: $(VENV)/.base requirements/photo.txt
	$(BIN)/python requirements/install.py photo
	@touch $@

$(VENV)/.dev: $(VENV)/.base requirements/dev.txt
	$(BIN)/python requirements/install.py dev
	@touch $@

lock: $(VENV)/.base ## Write the versions and hashes of the tested set anew (UPGRADE=--upgrade for newer ones)
	$(BIN)/python requirements/lock.py $(UPGRADE)

pages: $(VENV)/.dev ## Write docs/settings.md and docs/licences.md, which git ignores
	$(BIN)/physplan doctor --settings > docs/settings.md
	$(BIN)/python requirements/licences.py

demo: $(VENV)/.base ## The same words, three scenes: videos of an open tap (DEMO=--quick for fewer steps)
	$(BIN)/physplan demo $(DEMO)

photo: $(VENV)/.photo ## A real photograph moves: weights once (81 MB), then a rocket rises, in a minute, in out/photo
	$(BIN)/physplan models get photo
	$(BIN)/python -m physplan_photo.sample out/photo/rocket.jpg
	$(BIN)/physplan photo out/photo/rocket.jpg --prompt "the rocket rises" --object "rocket@320,240@322,150" -o out/photo/run

lint: $(VENV)/.dev ## Style and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/typos $(CODE) docs *.md

coverage: $(VENV)/.dev ## Which lines and branches of src the fast tests reach, with a table per package
	OMP_NUM_THREADS=1 $(BIN)/coverage run -m pytest -m "not slow and not docs"
	for package in src/*; do echo $$package; $(BIN)/coverage report --include="$$package/*" | tail -1; done

test: $(VENV)/.dev lint ## All that must be true, offline, in under 15 minutes on two cores
	$(BIN)/python tests/side_by_side.py -m "not slow and not docs"

test-slow: $(VENV)/.dev ## What takes longer
	$(BIN)/python -m pytest -m slow

test-docs: $(VENV)/.dev ## Every command and snippet of README and docs, run in order from a base install (some minutes)
	$(BIN)/python -m pytest -m docs tests/docs

notebook: $(VENV)/.base ## The notebook in the browser (adds Jupyter to .venv, which no other target needs)
	$(BIN)/python -m pip install -q jupyterlab ipywidgets
	$(BIN)/python -m jupyter lab notebooks/sandbox.ipynb

site: pages ## The documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

screenshots: $(VENV)/.dev ## Take the pictures of the studio's and the study's pages in docs/images anew (needs Chromium)
	$(BIN)/python -m tests.screenshots

attack: $(VENV)/.dev ## A bad day: kills, hostile replies, plans, folders, pictures, settings, full disks (ATTACK="--seed 7")
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.attack $(ATTACK)

mutants: $(VENV)/.dev ## Switch each check off in turn: at least three tests must notice
	$(BIN)/python tests/graph/mutants.py

accept: $(VENV)/.base ## A preset on this machine, stage by stage (PRESET=home)
	@test -n "$(PRESET)" || { echo "Give a preset: make accept PRESET=home"; exit 1; }
	$(BIN)/physplan accept $(PRESET) -o acceptance/$(PRESET)

bench-graph: $(VENV)/.base ## Checks and apply per second, at 40 and at 400 nodes
	$(BIN)/python -m benchmarks.graph

bench-plan: $(VENV)/.dev ## The planner's own time, and that independent calls run side by side
	$(BIN)/python -m benchmarks.plan

bench-scale: $(VENV)/.dev ## Cases per second with 1 and 2 workers, and the engine's overhead per case
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.scale --ray

bench-batch: $(VENV)/.dev ## A batch of 30 rows with 1 and 2 workers, Ray too, and the start of a worker
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.batch --ray

bench-studio: $(VENV)/.dev ## The studio's list of 1,000 runs
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.studio

bench-video: $(VENV)/.dev ## How well a window of latents shows a frame, per family and window length
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.video

bench-guidance: $(VENV)/.base ## Time and memory of one guided repeat: Frame Guidance and the three gradient modes
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.guidance

bench-sketch: $(VENV)/.base ## Time and memory of a sketch and its verdict, by size, frames, objects and events
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.sketch

bench-sandbox-models: $(VENV)/.dev ## What the sandbox's trained models reach on test scenes
	$(BIN)/python -m benchmarks.sandbox_models

bench-photo: $(VENV)/.dev ## Words, masks and backgrounds of photographs (PHOTOS=folder STAMPS=folder: docs/photographs.md)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.photo_perception $(PHOTOS) $(STAMPS)
