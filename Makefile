SHELL := bash
.PHONY: demo test check dev bench soak

demo: ## set up, run the main job on the sample documents
	scripts/demo

test: ## set up, run lint, types, layers and the whole suite
	scripts/test

check: ## lint, types and layers alone
	scripts/check

dev: ## Dagster UI, sensor and HTTP service together
	scripts/dev

bench: ## the benchmarks of docs/benchmarks.md
	scripts/bench

soak: ## kill -9 in fifty rounds, of a sweep in twenty, 50,000 damaged files; takes half an hour
	. scripts/setup; setup test; KILL_ROUNDS=50 pytest tests/test_kill.py --timeout 3600
	. scripts/setup; setup test; SWEEP_KILL_ROUNDS=20 pytest tests/sweeping/test_kill.py --timeout 3600
	. scripts/setup; setup test; MUTATIONS=50000 pytest tests/parsing/test_mutations.py
