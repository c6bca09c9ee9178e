SHELL := bash
.PHONY: demo test check dev bench bench-serving soak

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

bench-serving: ## those of the HTTP service alone; takes six minutes
	. scripts/setup; setup test; python benchmarks/serving

soak: ## kill -9 in fifty rounds, of a sweep in twenty, 50,000 damaged files, 50,000 searches; takes 40 minutes
	. scripts/setup; setup test; KILL_ROUNDS=50 pytest tests/test_kill.py --timeout 3600
	. scripts/setup; setup test; SWEEP_KILL_ROUNDS=20 pytest tests/sweeping/test_kill.py --timeout 3600
	. scripts/setup; setup test; MUTATIONS=50000 pytest tests/parsing/test_mutations.py
	. scripts/setup; setup test; python benchmarks/serving/memory.py
	. scripts/setup; setup test; FUZZ=10 pytest tests/serving/test_fuzzing.py --timeout 1800
