# WMDC: windows 1, 2 and 3 of one response, each with its head, frequent responses weigh less; scored
# frozen on DiaEval. The paper is silent on its corpora's readers, on epochs and lengths: as the recipe
# wmdc has them. Compared with DSE's models.
#   SIZES    NAME=CHECKPOINT of encoders of several sizes, for figure 4
#   AMOUNTS  pairs of each corpus to train on, for figure 5
WMDC := $(OUT)/wmdc

# pairs/CORPUS.arrow; pairs/CORPUS.N.arrow has N pairs, of the windows that a model learns from
WMDC_READ = dial-pairs -q --overwrite --lower $(if $(KIND),--window 1-3 -n $(KIND),--reader $(call dse_reader,$(NAME)) --window 1-4 $(LIMIT))
$(WMDC)/pairs/%.arrow: $$(call at,$$(NAME))
	$(FOLDER)
	$(WMDC_READ) $< -o $@
WMDC_PAIRS := $(DSE_HERE:%=$(WMDC)/pairs/%.arrow)

# model/ROW: WMDC; windows-12, of windows 1 and 2, -unweighted; WMDC-NAME, from another encoder;
# pairs-N, of N pairs of each corpus
WINDOWS_windows-1 := 1
WINDOWS_windows-12 := 1,2
WINDOWS_windows-123 := 1,2,3
WINDOWS_windows-1234 := 1,2,3,4
WMDC_WINDOWS := windows-1 windows-12 windows-123 windows-1234
WMDC_UNWEIGHTED := $(WMDC_WINDOWS:%=%-unweighted)
SIZES ?= $(if $(filter tiny,$(SCALE)),T5-small=$(MODEL),T5-small=t5-small T5-base=t5-base T5-large=t5-large)
AMOUNTS ?= $(if $(filter tiny,$(SCALE)),100 200,1000 10000 100000 1000000)
SIZED := $(foreach pair,$(SIZES),WMDC-$(firstword $(subst =, ,$(pair))))
GROWN := $(AMOUNTS:%=pairs-%)
$(foreach pair,$(SIZES),$(eval START_WMDC-$(firstword $(subst =, ,$(pair))) := $(lastword $(subst =, ,$(pair)))))
wmdc_train = $(TRAIN) --method wmdc --model $(or $(START_$*),$(MODEL)) --window \
  $(or $(WINDOWS_$(*:%-unweighted=%)),1$(COMMA)2$(COMMA)3) $(if $(filter %-unweighted,$*),--weights none) -o $@

WMDC_TRAINED := WMDC $(WMDC_WINDOWS) $(WMDC_UNWEIGHTED) $(SIZED)
$(WMDC_TRAINED:%=$(WMDC)/model/%): $(WMDC)/model/%: $(WMDC_PAIRS)
	$(FOLDER)
	$(wmdc_train) $^ > /dev/null
$(GROWN:%=$(WMDC)/model/%): $(WMDC)/model/pairs-%: $$(foreach name,$(DSE_HERE),$(WMDC)/pairs/$$(name).$$*.arrow)
	$(FOLDER)
	$(wmdc_train) $^ > /dev/null

WMDC_ROWS := BERT $(filter SimCSE-unsup SimCSE-sup,$(DSE_ROWS)) TOD-BERT-jnt DSE WMDC
wmdc_alike = $(if $(filter TOD-BERT-jnt,$1),TOD-BERT,$1)
wmdc_own = $(filter WMDC% windows-% pairs-%,$1)
wmdc_with = $(if $(call wmdc_own,$1),$(WMDC)/model/$1,$(call dse_with,$(call wmdc_alike,$1)))
wmdc_made = $(if $(call wmdc_own,$1),$(WMDC)/model/$1,$(call dse_made,$(call wmdc_alike,$1)))

# vectors/ROW/SET.parquet; acts come with the turns they are of, or with histories made ready
DSTC2 := $(firstword $(call have,dstc2_acts dstc2))
FLAGS_dstc2 := $(if $(filter dstc2_acts,$(DSTC2)),--field history --keep labels$(COMMA)split,--per turn)
WMDC_dstc2 := --max-length 256 $(FLAGS_dstc2)
WMDC_gsim := --max-length 256 --per turn
WMDC_ic-tod := --max-length 256 --field history+response --keep qi,hi,split
WMDC_decode := --max-length 256 --field turns --tokens --keep is_contradiction,split
WMDC_ubuntu := --field history --keep response,candidates
WMDC_ubuntu-candidates := --per candidate
CORPUS_dstc2 := $(DSTC2)
CORPUS_gsim := m2m
CORPUS_ic-tod := citod
# CI-ToD is small: whole at any scale
EMBED_ic-tod := dial-embed -q --overwrite
wmdc_vectors_of = $(foreach row,$1,$(foreach set,$2,$(WMDC)/vectors/$(row)/$(set).parquet))
wmdc_vectors = $(call wmdc_vectors_of,$(WMDC_ROWS),$1)

$(WMDC)/vectors/%.parquet: $$(call at,$$(call corpus,$$(SET))) $$(call wmdc_made,$$(ROW))
	$(FOLDER)
	$(or $(EMBED_$(SET)),$(EMBED)) --model $(call wmdc_with,$(ROW)) $(WMDC_$(SET)) $< -o $@

diaeval = $(call suite,diaeval,$(1:%=$(WMDC)/vectors/%),--task $2)
ACT_SETS := $(if $(DSTC2),dstc2) $(if $(call have,m2m),gsim)
INFER_SETS := $(if $(call have,citod),ic-tod) $(call have,decode)

wmdc-table2: $(call wmdc_vectors,$(ACT_SETS)) ## WMDC, table 2: acts of the next turn, frozen encoder
	$(call tell,$(DSE_CORPORA) m2m)
	$(call diaeval,$(WMDC_ROWS),act)
	$(BESIDE)

wmdc-table3: $(call wmdc_vectors,$(INFER_SETS)) ## WMDC, table 3: contradictions, frozen encoder
	$(call tell,$(DSE_CORPORA) citod decode)
	$(call diaeval,$(WMDC_ROWS),infer)
	$(BESIDE)

wmdc-table4: $(call wmdc_vectors,$(UBUNTU)) ## WMDC, table 4: response retrieval
	$(call tell,$(DSE_CORPORA) dstc7-ubuntu)
	$(call diaeval,$(WMDC_ROWS),select)
	$(BESIDE)

wmdc-table5: $(foreach name,$(DSE_HERE),$(call at,$(name))) ## WMDC, table 5: the most frequent responses
	$(call tell,$(DSE_CORPORA))
	dial-freq -q --top 10 $^
	@cat published/$@.txt

wmdc-figure1: $(foreach name,$(DSE_HERE),$(call at,$(name))) ## WMDC, figure 1: what the most frequent 1 % of utterances hold
	$(call tell,$(DSE_CORPORA))
	@mkdir -p $(WMDC)
	dial-freq -q --overwrite --summary --plot $(WMDC)/figure1.svg $^
	@cat published/$@.txt

wmdc-figure3: $(call wmdc_vectors_of,$(WMDC_WINDOWS) $(WMDC_UNWEIGHTED),$(ACT_SETS)) ## WMDC, figure 3: windows, with and without weights
	$(call tell,$(DSE_CORPORA) m2m)
	$(call diaeval,$(WMDC_WINDOWS) $(WMDC_UNWEIGHTED),act)
	$(BESIDE)

wmdc-figure4: $(call wmdc_vectors_of,$(SIZED),$(ACT_SETS)) ## WMDC, figure 4: encoders of several sizes (SIZES)
	$(call tell,$(DSE_CORPORA) m2m)
	$(call diaeval,$(SIZED),act)
	$(BESIDE)

wmdc-figure5: $(call wmdc_vectors_of,$(GROWN),$(ACT_SETS)) ## WMDC, figure 5: more and more pairs (AMOUNTS)
	$(call tell,$(DSE_CORPORA) m2m)
	$(call diaeval,$(GROWN),act)
	$(BESIDE)
