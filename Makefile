# One target an intent. `go test ./...` is the everyday test; these are the
# longer ones, which .ci/run calls with the bounds given here.

FUZZTIME ?= 20s

.PHONY: build test race generate fuzz client bench broken soak torture

build:
	go build -trimpath -o bin/hexapla ./cmd/hexapla

test:
	go test ./...

race:
	go test -race ./layers/... ./rpc/... ./storage/... ./session/... ./index/... ./retrieval/...

generate:
	go generate ./...

# Every fuzz target of the repository for FUZZTIME each: a time, or a count of
# runs such as 20000x, which ends the same way each time.
fuzz:
	@set -e; for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

# An independent client, vscode-languageserver-protocol under node, drives the
# built server.
client: build
	cd editors/client && npm ci --no-audit --no-fund && HEXAPLA=$(CURDIR)/bin/hexapla npm test

# Breaks each promise by its build tag and has the suite that tests it turn red.
broken:
	HEXAPLA_BROKEN=1 go test -count=1 -timeout 20m -run TestSuitesTurnRed -v ./internal/broken

bench:
	go test -run '^$$' -bench . -benchtime 1s ./...
