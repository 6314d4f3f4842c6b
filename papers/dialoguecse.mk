# DialogueCSE (EMNLP 2021), table 2: masked words on the corpus, then responses matched through their
# context.
#   DIALOGUES  chat logs to train on, as dial-pairs reads them
#   EVAL       folder with jddc/test/{sts,select}.txt, ecd/test/{sts,select}.txt, as published (those
#              that are there)
#   MODEL      the encoder to start from (bert-base-chinese); MODEL= : a fresh small one, and no rows of
#              the start itself
#   GLOVE      a text file of word vectors, for its row
#   FEW        samples to train on, for figure 3
CSE := $(OUT)/dialoguecse
CSE_MODEL := $(if $(filter file,$(origin MODEL)),bert-base-chinese,$(MODEL))
CSE_SETS := $(foreach set,jddc ecd,$(if $(wildcard $(EVAL)/$(set)/test/sts.txt),$(set)))
FREEZE ?= $(if $(filter tiny,$(SCALE)),1,6)
LENGTH ?= 100
CSE_TRAIN = $(TRAIN) --max-length $(LENGTH)

$(CSE)/utterances.arrow: $(DIALOGUES)
	$(FOLDER)
	dial-pairs -q --overwrite --kind self $(LIMIT) $(DIALOGUES) -o $@

# every inner utterance with up to five turns on each side; --context-turns takes the nearest
SIDES = dial-pairs -q --overwrite --window 5 --short-windows --follow 5 --inner --merge-speaker --min-turns 4
$(CSE)/sides.arrow: $(DIALOGUES)
	$(FOLDER)
	$(SIDES) $(LIMIT) $(DIALOGUES) -o $@
$(CSE)/few-%.arrow: $(DIALOGUES)
	$(FOLDER)
	$(SIDES) -n $* $(DIALOGUES) -o $@

# model/ROW: all but the first from the adapted model
ADAPTED := $(CSE)/model/adapt-avg
$(ADAPTED): $(CSE)/utterances.arrow
	$(FOLDER)
	$(CSE_TRAIN) --method mlm $(if $(CSE_MODEL),--model $(CSE_MODEL)) -o $@ $< > /dev/null

METHOD_Siamese-S := siamese-s
METHOD_Siamese-M := siamese-m
OPTIONS_DialogueCSE-I1 := --aggregation attention
OPTIONS_tau-0.05 := --temperature 0.05
OPTIONS_tau-0.1 := --temperature 0.1
OPTIONS_tau-0.2 := --temperature 0.2
OPTIONS_tau-0.5 := --temperature 0.5
OPTIONS_negatives-1 := --negatives 1
OPTIONS_negatives-4 := --negatives 4
OPTIONS_negatives-9 := --negatives 9
OPTIONS_negatives-19 := --negatives 19

TURNS := 1 2 3 4 5
FEW ?= $(if $(filter tiny,$(SCALE)),100,1000 10000 100000 1000000)
$(foreach n,$(TURNS),$(eval OPTIONS_turns-$n := --context-turns $n))
$(foreach n,$(TURNS),$(eval OPTIONS_siamese-turns-$n := --context-turns $n)$(eval METHOD_siamese-turns-$n := siamese-m))
$(CSE)/model/few-%: $(CSE)/few-%.arrow $(ADAPTED)
	$(FOLDER)
	$(CSE_TRAIN) --method dialoguecse --model $(ADAPTED) --freeze $(FREEZE) -o $@ $< > /dev/null
$(CSE)/model/%: $(CSE)/sides.arrow $(ADAPTED)
	$(FOLDER)
	$(CSE_TRAIN) --method $(or $(METHOD_$*),dialoguecse) $(OPTIONS_$*) --model $(ADAPTED) --freeze $(FREEZE) -o $@ $< > /dev/null

# vectors/ROW/SET-TASK.parquet: with the row's own model, unless this says otherwise
WITH_GloVe := --model $(GLOVE)
WITH_BERT-CLS := --model $(CSE_MODEL) --pooling cls
WITH_BERT-avg := --model $(CSE_MODEL)
WHITEN := --whiten $(if $(filter tiny,$(SCALE)),,--dimensions 256)
FLOW := --transform flow --pooling last2-avg
WITH_BERT-whitening := --model $(CSE_MODEL) $(WHITEN)
WITH_BERT-flow := --model $(CSE_MODEL) $(FLOW)
WITH_adapt-CLS := --model $(ADAPTED) --pooling cls
WITH_adapt-whitening := --model $(ADAPTED) $(WHITEN)
WITH_adapt-flow := --model $(ADAPTED) $(FLOW)
cse_with = $(or $(WITH_$1),--model $(CSE)/model/$1)
cse_made = $(if $(filter GloVe BERT-%,$1),,$(if $(WITH_$1),$(ADAPTED),$(CSE)/model/$1))

$(CSE)/vectors/%-sts.parquet: $(EVAL)/$$(SET)/test/sts.txt $$(call cse_made,$$(ROW))
	$(FOLDER)
	dial-embed -q $(call cse_with,$(ROW)) --from ecd-sts $< --overwrite -o $@

$(CSE)/vectors/%-retrieval.parquet: $(EVAL)/$$(SET)/test/select.txt $$(call cse_made,$$(ROW))
	$(FOLDER)
	dial-embed -q $(call cse_with,$(ROW)) --from ecd-select $< --overwrite -o $@

CSE_2 := $(if $(GLOVE),GloVe) $(if $(CSE_MODEL),BERT-CLS BERT-avg BERT-flow BERT-whitening) \
  adapt-CLS adapt-avg adapt-flow adapt-whitening Siamese-S Siamese-M DialogueCSE-I1 DialogueCSE-I2
CSE_3 := tau-0.05 tau-0.1 tau-0.2 tau-0.5
CSE_4 := negatives-1 negatives-4 negatives-9 negatives-19
cse_of_set = $(CSE)/vectors/$1/$2-sts.parquet $(CSE)/vectors/$1/$2-retrieval.parquet
cse_vectors = $(foreach row,$1,$(foreach set,$(CSE_SETS),$(call cse_of_set,$(row),$(set))))

CSE_F2 := $(TURNS:%=turns-%) $(TURNS:%=siamese-turns-%)
CSE_F3 := $(FEW:%=few-%) Siamese-S Siamese-M
cse_suite = $(call suite,$1,$(2:%=$(CSE)/vectors/%))

dialoguecse-table2: $(call cse_vectors,$(CSE_2)) ## DialogueCSE, table 2: similarity and retrieval
	$(call cse_suite,dialoguecse,$(CSE_2))
	$(BESIDE)

dialoguecse-table3: $(call cse_vectors,$(CSE_3)) ## DialogueCSE, table 3: temperatures
	$(call cse_suite,dialoguecse-temperature,$(CSE_3))
	$(BESIDE)

dialoguecse-table4: $(call cse_vectors,$(CSE_4)) ## DialogueCSE, table 4: negatives a response
	$(call cse_suite,dialoguecse-negatives,$(CSE_4))
	$(BESIDE)

dialoguecse-figure2: $(call cse_vectors,$(CSE_F2)) ## DialogueCSE, figure 2: turns of context, beside Siamese-M
	$(call cse_suite,dialoguecse,$(CSE_F2))
	$(BESIDE)

dialoguecse-figure3: $(call cse_vectors,$(CSE_F3)) ## DialogueCSE, figure 3: few dialogues, beside siamese networks of all (FEW)
	$(call cse_suite,dialoguecse,$(CSE_F3))
	$(BESIDE)
