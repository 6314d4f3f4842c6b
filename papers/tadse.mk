# TaDSE (EMNLP 2024): utterances and their templates, filled from an entity book; accuracy of the nearest
# training utterance.
#   SIMCSE  unsupervised SimCSE, the published start (default MODEL)
#   RECIPE  the published 1e-8 (recipe tadse-paper) hardly moves an encoder in a short run; ours is 1e-5
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
	dial-augment -q --overwrite $(if $(filter 0,$(KIND)),--no-fill,--top-k $(KIND)) $(SLOTS_$(NAME)) $< \
	  --save-templates $(@:.jsonl=.templates.jsonl) | grep -v '$(OTHER_SPLITS)' > $@.tmp
	mv $@.tmp $@

# model/ROW/SET: trained on SET.K, or on that of every set, where SET is `all`; rows differ in K and in the losses they leave out
UTTERANCES := --template-weight 0 --pair-weight 0
LOSSES_u-0 := $(UTTERANCES)
LOSSES_u-3 := $(UTTERANCES)
LOSSES_u-5 := $(UTTERANCES)
LOSSES_L-u := $(UTTERANCES)
LOSSES_L-u-t := --pair-weight 0
LOSSES_TaDSE := --align
FILL_u-0 := 0
FILL_u-3 := 3
FILL_u-5 := 5
FILL_pair-0 := 0
FILL_pair-3 := 3
FILL_pair-5 := 5
tadse_data = $(TADSE)/data/$2.$(or $(FILL_$1),$(K_$2))
tadse_files = $(foreach set,$(if $(filter all,$2),$(TADSE_SETS),$2),$(call tadse_data,$1,$(set)).jsonl)

# of table 3, whose TaDSE has no alignment layer; -aug: other methods on the same filled texts
LOSSES_TaDSE+MLP := --align
METHOD_SimCSE-aug := simcse
METHOD_TOD-BERT-aug := mlm
METHOD_DSE-aug := dse-dropout

$(TADSE)/model/%: $$(call tadse_files,$$(ROW),$$(SET))
	$(FOLDER)
	$(TRAIN) --method $(or $(METHOD_$(ROW)),$(RECIPE)) --model $(TADSE_START) $(LOSSES_$(ROW)) -o $@ $^ > /dev/null

# vectors/ROW/SET.parquet: of the set's texts alone; SET-templates: with those of their nearest template
tadse_made = $(if $(filter start,$1),,$(TADSE)/model/$1/$2)
tadse_embed = $(EMBED) --model $(or $(call tadse_made,$(ROW),$(SET)),$(TADSE_START)) --max-length 32

$(TADSE)/vectors/%.parquet: $$(call at,$$(SET)) $$(call tadse_made,$$(ROW),$$(SET))
	$(FOLDER)
	$(tadse_embed) --keep text,label,split $< -o $@

$(TADSE)/vectors/%-templates.parquet: $$(call at,$$(SET)) $$(call tadse_made,$$(ROW),$$(SET))
	$(FOLDER)
	$(tadse_embed) --templates $(call tadse_data,$(ROW),$(SET)).templates.jsonl --keep text,label,split $< -o $@
# the start has no model that would ask for its templates
$(TADSE_SETS:%=$(TADSE)/vectors/start/%-templates.parquet): $(TADSE)/vectors/start/%-templates.parquet: $$(call tadse_data,start,$$*).jsonl

# table3/ROW/SET.parquet: one model for all sets
TADSE_3 := BERT $(if $(SIMCSE),SimCSE) SimCSE-aug TOD-BERT TOD-BERT-aug DSE DSE-aug TaDSE TaDSE+MLP
ALIKE_TaDSE := L-u-t-pair
THERE_SimCSE := $(SIMCSE)
table3_model = $(if $(filter %-aug TaDSE%,$1),$(TADSE)/model/$(or $(ALIKE_$1),$1)/all,$(call dse_made,$1))
$(TADSE)/table3/%.parquet: $$(call at,$$(SET)) $$(call table3_model,$$(ROW))
	$(FOLDER)
	$(EMBED) --model $(or $(call table3_model,$(ROW)),$(THERE_$(ROW))) --max-length 32 --keep text,label,split $< -o $@

TADSE_4 := u-0 u-3 u-5 pair-0 pair-3 pair-5
TADSE_5 := L-u L-u-t L-u-t-pair TaDSE
tadse_vectors = $(foreach row,$1,$(TADSE_SETS:%=$(TADSE)/vectors/$(row)/%$2.parquet))
tadse_suite = $(call suite,$2,$(1:%=$(TADSE)/vectors/%))

tadse-table1: $(TADSE_SETS:%=tadse-table1-%) ## TaDSE, table 1: entities, templates and filled utterances
	$(call tell,snips atis massive hwu64 clinc150)
	@cat published/tadse-table1.txt
tadse-table1-%: $$(call at,$$*)
	@mkdir -p $(TADSE)
	dial-augment --overwrite --top-k $(K_$*) $(SLOTS_$*) $< -o $(TADSE)/table1-$*.jsonl

# books/SET.jsonl: what each type holds, and what hints at noise
BOOKS := $(TADSE_SETS:%=$(TADSE)/books/%.jsonl)
$(TADSE)/books/%.jsonl: $$(call at,$$*)
	$(FOLDER)
	dial-augment -q --overwrite --no-fill $(SLOTS_$*) --report $@ $< > /dev/null

tadse-tables7-11: $(BOOKS) ## TaDSE, tables 7 to 11: the entity book of each set
	$(call tell,snips atis massive hwu64 clinc150)
	@$(if $^,tail -n +1 $^,:)
	@cat published/$@.txt

tadse-table12: $(TADSE_SETS:%=tadse-table12-%) ## TaDSE, table 12: types as they are annotated
	@cat published/$@.txt
tadse-table12-%: $$(call at,$$*)
	@mkdir -p $(TADSE)
	dial-augment --overwrite --no-fill $(filter-out --short-types,$(SLOTS_$*)) $< -o $(TADSE)/table12-$*.jsonl

tadse-table3: $(foreach row,$(TADSE_3),$(TADSE_SETS:%=$(TADSE)/table3/$(row)/%.parquet)) ## TaDSE, table 3: intents by the nearest neighbour, one model of all sets
	$(call tell,snips atis massive hwu64 clinc150 $(DSE_CORPORA))
	$(call suite,tadse,$(TADSE_3:%=$(TADSE)/table3/%))
	$(BESIDE)

tadse-table4: $(call tadse_vectors,$(TADSE_4)) ## TaDSE, table 4: how many values fill a slot
	$(call tell,snips atis massive clinc150)
	$(call tadse_suite,$(TADSE_4),tadse-fill)
	$(BESIDE)

tadse-table5: $(call tadse_vectors,$(TADSE_5)) ## TaDSE, table 5: the losses one after another
	$(call tell,snips atis massive)
	$(call tadse_suite,$(TADSE_5),tadse-losses)
	$(BESIDE)

tadse-table6: $(call tadse_vectors,$(TADSE_5),-templates) ## TaDSE, table 6: with semantic compression, lambda chosen on validation rows
	$(call tell,snips atis)
	$(call tadse_suite,$(TADSE_5),tadse-compressed)
	$(BESIDE)

# figures: of SNIPS, and of MASSIVE where neighbours vote
TADSE_F := start L-u L-u-t-pair TaDSE
FIGURED := $(filter snips,$(TADSE_SETS))
figured = $(foreach row,$(TADSE_F),$(patsubst %,$(TADSE)/vectors/$(row)/%$2.parquet,$1))

tadse-figure4: $(if $(FIGURED),$(TADSE_F:%=$(TADSE)/figure4/%.png)) ## TaDSE, figures 4, 9 and 10: intents of SNIPS on a plane
	@$(if $^,ls $^,:)
$(TADSE)/figure4/%.png: $(TADSE)/vectors/%/snips.parquet
	$(FOLDER)
	dial-eval plot -q --overwrite --part test $< -o $@

tadse-figure6: $(call figured,$(filter massive snips,$(TADSE_SETS))) ## TaDSE, figure 6: how many neighbours vote
	$(call tell,massive snips)
	$(call tadse_suite,$(TADSE_F),tadse-neighbours)
	$(BESIDE)

# runs/ROW: a model of each epoch; few-shot accuracy stands for the nearest neighbour's
$(TADSE)/runs/%: $$(call tadse_files,$$*,snips)
	$(FOLDER)
	$(TRAIN) --method $(RECIPE) --model $(TADSE_START) $(LOSSES_$*) --snapshot-every $(EVERY) -o $@ $^ > /dev/null
tadse-figure7: $(if $(FIGURED),$(DSE)/data/snips.jsonl $(TADSE)/runs/L-u-t-pair $(TADSE)/runs/TaDSE) ## TaDSE, figure 7: with and without alignment over the epochs
	$(if $^,dial-eval curve -q --intent $< --overwrite --plot $(TADSE)/figure7.svg $(PRECISION) -o $(TADSE)/figure7.jsonl $(wordlist 2,3,$^))
	@$(if $^,echo $(TADSE)/figure7.svg,:)

tadse-figure8: $(call figured,$(FIGURED)) ## TaDSE, figure 8: uniformity over alignment
	$(if $^,mkdir -p $(OUT)/scores; (cd $(TADSE)/vectors; dial-eval space -q --part test --overwrite --plot ../figure8.svg \
	  $(TADSE_F:%=%/snips.parquet)) > $(SCORES))
	$(BESIDE)

tadse-figure-lambdas: $(call figured,$(filter snips atis,$(TADSE_SETS)),-templates) ## TaDSE, section 5: each lambda of semantic compression
	$(call tadse_suite,$(TADSE_F),tadse-lambdas)
	$(BESIDE)
