# TaDSE (EMNLP 2024): utterances and their templates, filled from an entity book; accuracy of the nearest
# training utterance.
#   SIMCSE  unsupervised SimCSE, the published start (default MODEL)
#   RATE    the published 1e-8 (recipe tadse-paper) hardly moves an encoder in a short run; ours is 1e-5
#   NER     a spaCy pipeline that marks CLINC150, which has no slots (published: en_core_web_lg); without
#           it CLINC150 is left out
TADSE := $(OUT)/tadse
TADSE_START := $(or $(SIMCSE),$(MODEL))
RECIPE ?= tadse
TADSE_SETS := $(call have,snips atis massive hwu64 $(if $(NER),clinc150))

# data/SET.K.jsonl: a set filled with the K most frequent values of each slot; SET.0: its texts and
# templates alone. Training sees no row of another split.
K_snips := 5
K_atis := 2
K_massive := 3
K_hwu64 := 3
K_clinc150 := 5
SLOTS_atis := --short-types --max-per-template all
SLOTS_clinc150 = --ner $(NER)
OTHER_SPLITS := "split":"\(test\|val\|valid\|dev\)"

$(TADSE)/data/%.jsonl: $$(call at,$$(NAME))
	$(FOLDER)
	dial-augment -q --overwrite $(if $(filter 0,$(KIND)),--no-fill,--top-k $(KIND)) $(SLOTS_$(NAME)) $< -o $@.tmp.jsonl --save-templates $(@:.jsonl=.templates.jsonl)
	grep -v '$(OTHER_SPLITS)' $@.tmp.jsonl > $@
	rm $@.tmp.jsonl

# model/ROW/SET: trained on SET.K; rows differ in K and in the losses they leave out
UTTERANCES := --template-share 0 --pair-share 0
LOSSES_u-0 := $(UTTERANCES)
LOSSES_u-3 := $(UTTERANCES)
LOSSES_u-5 := $(UTTERANCES)
LOSSES_L-u := $(UTTERANCES)
LOSSES_L-u-t := --pair-share 0
LOSSES_TaDSE := --align
FILL_u-0 := 0
FILL_u-3 := 3
FILL_u-5 := 5
FILL_pair-0 := 0
FILL_pair-3 := 3
FILL_pair-5 := 5
tadse_data = $(TADSE)/data/$2.$(or $(FILL_$1),$(K_$2))

$(TADSE)/model/%: $$(call tadse_data,$$(ROW),$$(SET)).jsonl
	$(FOLDER)
	$(TRAIN) --method $(RECIPE) --model $(TADSE_START) $(LOSSES_$(ROW)) -o $@ $< > /dev/null

# vectors/ROW/SET.parquet: of the set's texts alone; SET-templates: with those of their nearest template
tadse_made = $(if $(filter start,$1),,$(TADSE)/model/$1/$2)
tadse_embed = $(EMBED) --model $(or $(call tadse_made,$(ROW),$(SET)),$(TADSE_START)) --max-length 32

$(TADSE)/vectors/%.parquet: $$(call at,$$(SET)) $$(call tadse_made,$$(ROW),$$(SET))
	$(FOLDER)
	$(tadse_embed) --keep text,label,split $< -o $@

$(TADSE)/vectors/%-templates.parquet: $$(call at,$$(SET)) $$(call tadse_made,$$(ROW),$$(SET))
	$(FOLDER)
	$(tadse_embed) --templates $(call tadse_data,$(ROW),$(SET)).templates.jsonl --keep text,label,split $< -o $@

TADSE_3 := start TaDSE
TADSE_4 := u-0 u-3 u-5 pair-0 pair-3 pair-5
TADSE_5 := L-u L-u-t L-u-t-pair TaDSE
tadse_vectors = $(foreach row,$1,$(TADSE_SETS:%=$(TADSE)/vectors/$(row)/%$2.parquet))
TADSE_SUITE = dial-eval suite $2 --published --to $(TO) $(1:%=$(TADSE)/vectors/%)

tadse-table1: $(TADSE_SETS:%=tadse-table1-%) ## TaDSE, table 1: entities, templates and filled utterances
	$(call tell,snips atis massive hwu64 clinc150)
	@cat published/tadse-table1.txt
tadse-table1-%: $$(call at,$$*)
	dial-augment --top-k $(K_$*) $(SLOTS_$*) $< -o /dev/null

tadse-table3: $(call tadse_vectors,$(TADSE_3)) ## TaDSE, table 3: intents by the nearest neighbour (each set trained on alone)
	$(call tell,snips atis massive hwu64 clinc150)
	$(call TADSE_SUITE,$(TADSE_3),tadse)

tadse-table4: $(call tadse_vectors,$(TADSE_4)) ## TaDSE, table 4: how many values fill a slot
	$(call tell,snips atis massive clinc150)
	$(call TADSE_SUITE,$(TADSE_4),tadse-fill)

tadse-table5: $(call tadse_vectors,$(TADSE_5)) ## TaDSE, table 5: the losses one after another
	$(call tell,snips atis massive)
	$(call TADSE_SUITE,$(TADSE_5),tadse-losses)

tadse-table6: $(call tadse_vectors,$(TADSE_5),-templates) ## TaDSE, table 6: with semantic compression, lambda chosen on validation rows
	$(call tell,snips atis)
	$(call TADSE_SUITE,$(TADSE_5),tadse-compressed)
