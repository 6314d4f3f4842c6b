# From chats to scores. What is whole is not made again; what was stopped goes on where it was.
#
#   make -f pipeline.mk CHATS=chats.jsonl RUN=runs/first
#
# Other chats, or other options, are another RUN: what the log gains after its pairs are made waits for
# the next one.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

CHATS ?= chats.jsonl
RUN ?= run
STEPS ?= 2000

$(RUN)/scores.jsonl: $(RUN)/heldout.parquet
	dial-eval select --sampling random --overwrite --name heldout $< -o $@

$(RUN)/heldout.parquet: $(RUN)/heldout.arrow $(RUN)/model/modules.json
	dial-embed --resume --model $(RUN)/model --field context,response $< -o $@

# another model, BEFORE, on the same pairs: by dialogue they were held out of its training, too
$(RUN)/before.jsonl: $(RUN)/before.parquet
	dial-eval select --sampling random --overwrite --name heldout $< -o $@

$(RUN)/before.parquet: $(RUN)/heldout.arrow
	dial-embed --resume --model $(BEFORE) --field context,response $< -o $@

$(RUN)/model/modules.json: $(RUN)/train.arrow
	dial-train --resume --max-steps $(STEPS) -o $(RUN)/model $<

# both come of one command: a grouped target, of make 4.3
$(RUN)/train.arrow $(RUN)/heldout.arrow &: | $(CHATS)
	mkdir -p $(RUN)
	dial-pairs --overwrite --split train=0.9,heldout=0.1 -o '$(RUN)/{split}.arrow' $(CHATS)
