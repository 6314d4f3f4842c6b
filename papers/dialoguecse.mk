# DialogueCSE (EMNLP 2021), table 2: masked words on the corpus, then responses matched through their context.
#   DIALOGUES  chat logs to train on, as dial-pairs reads them
#   EVAL       folder with jddc/test/{sts,select}.txt, ecd/test/{sts,select}.txt, as published (those that are there)
#   MODEL      the encoder to start from; none: a fresh small one, and no rows of the start itself
#   GLOVE      a text file of word vectors, for its row
MODEL ?= bert-base-chinese
D := $(OUT)/dialoguecse
SETS := $(foreach set,jddc ecd,$(if $(wildcard $(EVAL)/$(set)/test/sts.txt),$(set)))
FREEZE ?= 6
ifeq ($(SCALE),tiny)
  LIMIT := -n 3000
  STEPS := --max-steps 20 --batch-size 16
  FREEZE := 1
endif
LENGTH ?= 100
TRAIN := dial-train --seed $(SEED) --max-length $(LENGTH) $(STEPS)

$(D)/utterances.arrow $(D)/sides.arrow: $(DIALOGUES) | $(D)
$(D)/utterances.arrow:
	dial-pairs --kind self $(LIMIT) $(DIALOGUES) -o $@
$(D)/sides.arrow:
	dial-pairs --window 3 --follow 3 --merge-speaker --min-turns 4 $(LIMIT) $(DIALOGUES) -o $@

$(D)/model/adapt-avg: $(D)/utterances.arrow
	$(TRAIN) --method mlm $(if $(MODEL),--model $(MODEL)) -o $@ $<
AFTER := --model $(D)/model/adapt-avg --freeze $(FREEZE)
$(D)/model/DialogueCSE-I2: $(D)/sides.arrow $(D)/model/adapt-avg
	$(TRAIN) --method dialoguecse $(AFTER) -o $@ $<
$(D)/model/DialogueCSE-I1: $(D)/sides.arrow $(D)/model/adapt-avg
	$(TRAIN) --method dialoguecse --aggregation attention $(AFTER) -o $@ $<
$(D)/model/Siamese-S: $(D)/sides.arrow $(D)/model/adapt-avg
	$(TRAIN) --method siamese-s $(AFTER) -o $@ $<
$(D)/model/Siamese-M: $(D)/sides.arrow $(D)/model/adapt-avg
	$(TRAIN) --method siamese-m $(AFTER) -o $@ $<

# what each row of the table embeds with
EMBED_BERT-CLS := --model $(MODEL) --pooling cls
EMBED_BERT-avg := --model $(MODEL)
EMBED_BERT-whitening := --model $(MODEL) --whiten
EMBED_BERT-flow := --model $(MODEL) --transform flow
EMBED_GloVe := --model $(GLOVE)
EMBED_adapt-CLS := --model $(D)/model/adapt-avg --pooling cls
EMBED_adapt-whitening := --model $(D)/model/adapt-avg --whiten
EMBED_adapt-flow := --model $(D)/model/adapt-avg --transform flow
ROWS := $(if $(GLOVE),GloVe) $(if $(MODEL),BERT-CLS BERT-avg BERT-flow BERT-whitening) adapt-CLS adapt-avg adapt-flow adapt-whitening Siamese-S Siamese-M DialogueCSE-I1 DialogueCSE-I2
MODEL_OF = $(if $(filter GloVe BERT-%,$1),,$(D)/model/$(if $(EMBED_$1),adapt-avg,$1))

define row
$(D)/vectors/$1/%-sts.parquet: $(EVAL)/%/test/sts.txt $(call MODEL_OF,$1) | $(D)/vectors/$1
	dial-embed $(or $(EMBED_$1),--model $(call MODEL_OF,$1)) --from ecd-sts $$< --overwrite -o $$@
$(D)/vectors/$1/%-retrieval.parquet: $(EVAL)/%/test/select.txt $(call MODEL_OF,$1) | $(D)/vectors/$1
	dial-embed $(or $(EMBED_$1),--model $(call MODEL_OF,$1)) --from ecd-select $$< --overwrite -o $$@
endef
$(foreach name,$(ROWS),$(eval $(call row,$(name))))
$(D) $(ROWS:%=$(D)/vectors/%):
	mkdir -p $@

dialoguecse-table2: $(foreach name,$(ROWS),$(foreach set,$(SETS),$(D)/vectors/$(name)/$(set)-sts.parquet $(D)/vectors/$(name)/$(set)-retrieval.parquet)) ## DialogueCSE, table 2: similarity and retrieval, published numbers beside
	dial-eval suite --published dialoguecse $(ROWS:%=$(D)/vectors/%)
