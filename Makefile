# Two commands on a fresh machine: make demo, make test.
PYTHON ?= python3
BIN := .venv/bin
CONSTRAINTS := tools/constraints.txt

# What an operator has to say about the demo's street.
NOTES := "Cars may park along the street." "Cyclists may ride along the street." \
  "Report anybody who stays in the street for more than 10 minutes."

.PHONY: demo test lint types contracts unit clean

demo: .venv/runtime
	$(BIN)/python tools/fetch_demo.py demo/bikes.mp4
	$(BIN)/pipeline models pull smollm2-135m --state-dir demo/state && \
	$(BIN)/pipeline models use smollm2-135m --state-dir demo/state || \
	echo "No language model could be had: sentences are made from templates."
	rm -f demo/state/notes.json
	for note in $(NOTES); do \
	  $(BIN)/pipeline notes add "$$note" --yes --config config/demo.toml --state-dir demo/state || exit 1; done
	$(BIN)/pipeline replay demo/bikes.mp4 --config config/demo.toml --camera street --out demo/out --state-dir demo/state
	$(BIN)/pipeline events demo/out/events.jsonl
	@echo "The events are in demo/out/events.jsonl, their pictures in demo/out/evidence."

test: lint types contracts unit

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/deptry .

types: .venv/dev
	$(BIN)/mypy

contracts: .venv/dev
	$(BIN)/lint-imports

unit: .venv/dev .venv/rtsp
	$(BIN)/python -m pytest -n 2

.venv/base:
	$(PYTHON) -m venv .venv
	@touch $@

.venv/runtime: .venv/base pyproject.toml $(CONSTRAINTS)
	sh tools/system_packages.sh
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable .
	@touch $@

.venv/dev: .venv/runtime
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[test,lint,qnn,openvino,convert]'
	@touch $@

.venv/rtsp: tools/system_packages.sh
	sh tools/system_packages.sh rtsp
	@touch $@

clean:
	rm -rf .venv demo build dist
