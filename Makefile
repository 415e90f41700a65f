# What a person does with this tree. Everything that confines is built without
# cgo: with it, a Worker cannot confine all its threads and refuses to start.

export CGO_ENABLED = 0

# Paths of this machine are no part of a program; one way for all keeps the
# build cache shared between programs and tests.
export GOFLAGS := $(shell go env GOFLAGS) -trimpath

GO       = go
FUZZRUNS = 20000x
TIMEOUT  = 8m

# The race detector needs cgo. What starts a Worker out of the test program
# itself, or the built programs, can therefore not run under it.
CONFINING = /sandbox$$|/internal/(attack|blackbox|bench|broker|cli|demo)$$|/cmd/|/examples/sandbox$$

.PHONY: all build demo test check race fuzz attack ablation bench format clean

all: build

build:
	$(GO) build -o bin/ ./cmd/agent-mcp

# One whole job through the real server and the real sandbox; only the model is
# scripted.
demo: build
	$(GO) build -o bin/ ./cmd/demo
	bin/demo

test:
	$(GO) test -count=1 -timeout $(TIMEOUT) -json ./... | $(GO) run ./cmd/testreport $(REPORT)

check:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'ed:" $$unformatted; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags ablation ./sandbox/... ./internal/attack ./cmd/attack
	GOOS=windows $(GO) vet ./...
	$(GO) test -count=1 ./internal/house
	staticcheck=$$(cd tools && $(GO) tool -n staticcheck) && "$$staticcheck" ./...

race:
	packages=$$($(GO) list ./... | grep -vE '$(CONFINING)') && \
	CGO_ENABLED=1 $(GO) test -race -timeout $(TIMEOUT) -json $$packages | $(GO) run ./cmd/testreport $(REPORT)

# Every fuzz target FUZZRUNS times, with two workers. A number, not a time: at
# the end of its time Go's fuzzer now and then reports the end itself as a failure.
fuzz:
	@list=$$($(GO) test -list '^Fuzz' ./...) || exit 1; \
	echo "$$list" | awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, name[i]; n = 0 }' | \
	while read -r package target; do \
		echo "fuzz $$package $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZRUNS) -parallel 2 "$$package" </dev/null || exit 1; \
	done

# What a hostile command or model would try, and the same without the sandbox;
# as root, as an ordinary user once more.
attack:
	$(GO) build -o bin/ ./cmd/attack
	bin/attack $(ATTACK)

# What each mechanism of the sandbox stops: the suite without it, in a build that
# is for this only.
ablation:
	$(GO) build -tags ablation -o bin/attack-ablation ./cmd/attack
	bin/attack-ablation -ablate

# Figures as ratios to a floor or a peer of the same run; nothing is judged.
bench: build
	$(GO) build -o bin/ ./cmd/bench
	bin/bench

format:
	gofumpt=$$(cd tools && $(GO) tool -n gofumpt) && "$$gofumpt" -w .

clean:
	rm -rf bin
