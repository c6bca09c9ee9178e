.PHONY: demo test check dev bench

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
