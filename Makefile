# The interface of this repository. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

BACKEND ?= cpu
WORKSPACE ?= .
MODEL ?= models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
TAGS := $(if $(filter-out cpu,$(BACKEND)),$(BACKEND))
GOFLAGS_TAGS := $(if $(TAGS),-tags $(TAGS))
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

export BACKEND

.PHONY: help run build test lint bench bench-graph bench-peers llama model models clean go

help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  variables: GOAL='…' (of run), WORKSPACE=DIR, MODEL=FILE, BACKEND=cpu|cuda|metal|vulkan, LLAMA_CPP_SRC=DIR"

run: build model ## set everything up once, then do a task: make run GOAL="…"
	@if [ -z '$(subst ','\'',$(GOAL))' ]; then echo 'error: no goal; use make run GOAL="How many files are here?"' >&2; exit 2; fi
	@bin/llama-agent run -C '$(WORKSPACE)' --model-path '$(MODEL)' --set memory.artifact_virtualization=true \
	  --set memory.lifecycle_context=true -- '$(subst ','\'',$(GOAL))'

build: go llama ## build bin/llama-agent (builds llama.cpp first, once)
	@mkdir -p bin
	@CGO_ENABLED=1 go build $(GOFLAGS_TAGS) -ldflags "-X main.version=$(VERSION)" -o bin/llama-agent ./cmd/llama-agent

test: go llama models ## run all tests, those with real models too
	@CGO_ENABLED=1 go test $(GOFLAGS_TAGS) -timeout 40m -p 1 ./...

lint: go llama ## check format, vet, static analysis and scripts
	@bash scripts/lint.sh

bench: build model ## measure decode speed beside llama.cpp's own, graph beside LangGraph, and all of it beside other agents
	@LLAMA_BENCH=1 bash scripts/llama.sh
	@MODEL='$(MODEL)' bash scripts/bench.sh

bench-graph: go ## measure the graph library beside LangGraph (needs Python; installs LangGraph in build)
	@bash scripts/bench_graph.sh

bench-peers: build model ## measure whole tasks beside three other agents on the same model (about 25 minutes; installs them in build)
	@MODEL='$(MODEL)' bash scripts/bench_peers.sh

llama: ## fetch and build llama.cpp
	@bash scripts/llama.sh

model: ## fetch the starter model (1.1 GB)
	@bash scripts/model.sh starter

models: model ## fetch the starter model and the small ones that tests use
	@bash scripts/model.sh tiny
	@bash scripts/model.sh small

clean: ## remove what was built; models stay
	rm -rf bin build

go:
	@command -v go >/dev/null || { echo 'error: Go is not installed; install Go 1.26 or newer' >&2; exit 1; }
