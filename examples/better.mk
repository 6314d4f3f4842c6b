# A better encoder from a log and a start: rare tokens weighted, trained on pairs while texts are held
# where the start has them, centred, and contexts moved to where their responses lie
# (docs/which-method.md).
#
#   make -f better.mk LOG=chats.jsonl START=all-MiniLM-L6-v2 RUN=runs/better
#
# Ends with RUN/centred, a model, with RUN/to-reply.safetensors, which finds replies
# (dial-embed --transform), and with a table beside START on dialogues that were held out: the response
# found among a hundred. What was stopped goes on where it was; another log, start or number of steps
# is another RUN: what the log gains after its pairs are made waits for the next one.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SECONDARY:

LOG ?= chats.jsonl
RUN ?= run
STEPS ?= 150
FEWEST ?= 10000
# the speaker whose answers repeat
SPEAKER ?= system

# what was gained
$(RUN)/comparison.md: $(RUN)/start.jsonl $(RUN)/centred.jsonl $(RUN)/moved.jsonl
	dial-eval compare --overwrite --to markdown $^ -o $@
	cat $@

$(RUN)/%.jsonl: $(RUN)/%.parquet
	dial-eval select --sampling random --overwrite --name heldout $< -o $@

$(RUN)/start.parquet: $(RUN)/heldout.arrow
	dial-embed --resume --model $(START) $< -o $@

$(RUN)/centred.parquet: $(RUN)/heldout.arrow $(RUN)/centred/modules.json
	dial-embed --resume --model $(RUN)/centred $< -o $@

$(RUN)/moved.parquet: $(RUN)/heldout.arrow $(RUN)/to-reply.safetensors
	dial-embed --resume --model $(RUN)/centred --transform $(RUN)/to-reply.safetensors $< -o $@

# where replies lie
$(RUN)/to-reply.safetensors: $(RUN)/pairs.arrow $(RUN)/centred/modules.json
	dial-embed --overwrite --model $(RUN)/centred --keep none --transform to-response \
	  --save-transform $@ $< -o $(RUN)/pairs.parquet

# the model
$(RUN)/centred/modules.json: $(RUN)/held/modules.json $(RUN)/utterances.arrow
	dialtools center --overwrite --model $(RUN)/held $(RUN)/utterances.arrow -o $(RUN)/centred

$(RUN)/held/modules.json: $(RUN)/windows.jsonl $(RUN)/same.jsonl $(RUN)/weighted/modules.json
	dial-train --resume --model $(RUN)/weighted --method same-answer-held --max-steps $(STEPS) -o $(RUN)/held \
	  $(RUN)/windows.jsonl $(RUN)/same.jsonl

$(RUN)/weighted/modules.json: $(RUN)/utterances.arrow
	dialtools weigh --overwrite --model $(START) $< -o $(RUN)/weighted

# the pairs
$(RUN)/same.jsonl: $(RUN)/train.arrow
	dial-pairs --overwrite --kind same-answer --speaker $(SPEAKER) --min-words 4 $< -o $@

$(RUN)/windows.jsonl: $(RUN)/train.arrow $(RUN)/same.jsonl
	# at random, as many as there are pairs of the same answer, and no fewer than FEWEST
	same=$$(wc -l < $(RUN)/same.jsonl); \
	dial-pairs --window 1,2,3 $< \
	  | shuf -n $$((same > $(FEWEST) ? same : $(FEWEST))) --random-source=<(yes) > $@.tmp
	mv $@.tmp $@

$(RUN)/utterances.arrow: $(RUN)/train.arrow
	dial-pairs --overwrite --kind utterance $< -o $@

$(RUN)/pairs.arrow: $(RUN)/train.arrow
$(RUN)/heldout.arrow: $(RUN)/heldout-dialogues.arrow
$(RUN)/pairs.arrow $(RUN)/heldout.arrow:
	dial-pairs --overwrite $< -o $@

$(RUN)/train.arrow $(RUN)/heldout-dialogues.arrow &: | $(LOG)
	mkdir -p $(RUN)
	dial-pairs --overwrite --kind dialogue --split train=0.9,heldout-dialogues=0.1 -o '$(RUN)/{split}.arrow' $(LOG)
