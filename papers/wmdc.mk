# WMDC: windows 1, 2 and 3 of one response, each with its head, frequent responses weigh less; scored
# frozen on DiaEval. The paper is silent on its corpora's readers, on epochs and lengths: as the recipe
# wmdc has them. Compared with DSE's models.
WMDC := $(OUT)/wmdc

$(WMDC)/pairs/%.arrow: $$(call at,$$*)
	$(FOLDER)
	dial-pairs -q --overwrite --reader $(call dse_reader,$*) --lower --window 1,2,3 $(LIMIT) $< -o $@

$(WMDC)/model/WMDC: $(DSE_HERE:%=$(WMDC)/pairs/%.arrow)
	$(FOLDER)
	$(TRAIN) --method wmdc --model $(MODEL) -o $@ $^ > /dev/null

WMDC_ROWS := BERT $(if $(SIMCSE),SimCSE-unsup) DSE WMDC
wmdc_with = $(if $(filter WMDC,$1),$(WMDC)/model/WMDC,$(call dse_with,$1))
wmdc_made = $(if $(filter WMDC,$1),$(WMDC)/model/WMDC,$(call dse_made,$1))

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
wmdc_vectors = $(foreach row,$(WMDC_ROWS),$(foreach set,$1,$(WMDC)/vectors/$(row)/$(set).parquet))

$(WMDC)/vectors/%.parquet: $$(call at,$$(call corpus,$$(SET))) $$(call wmdc_made,$$(ROW))
	$(FOLDER)
	$(or $(EMBED_$(SET)),$(EMBED)) --model $(call wmdc_with,$(ROW)) $(WMDC_$(SET)) $< -o $@

DIAEVAL = dial-eval suite diaeval --published --to $(TO) $(WMDC_ROWS:%=$(WMDC)/vectors/%)
ACT_SETS := $(if $(DSTC2),dstc2) $(if $(call have,m2m),gsim)
INFER_SETS := $(if $(call have,citod),ic-tod) $(call have,decode)

wmdc-table2: $(call wmdc_vectors,$(ACT_SETS)) ## WMDC, table 2: acts of the next turn, frozen encoder
	$(call tell,$(DSE_CORPORA) m2m)
	$(DIAEVAL) --task act

wmdc-table3: $(call wmdc_vectors,$(INFER_SETS)) ## WMDC, table 3: contradictions, frozen encoder
	$(call tell,$(DSE_CORPORA) citod decode)
	$(DIAEVAL) --task infer

wmdc-table4: $(call wmdc_vectors,$(UBUNTU)) ## WMDC, table 4: response retrieval
	$(call tell,$(DSE_CORPORA) dstc7-ubuntu)
	$(DIAEVAL) --task select

wmdc-table5: $(foreach name,$(DSE_HERE),$(call at,$(name))) ## WMDC, table 5: the most frequent responses
	$(call tell,$(DSE_CORPORA))
	dial-freq -q --top 10 $^
