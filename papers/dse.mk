# DSE (NAACL 2022): consecutive utterances of nine corpora, read as TOD-BERT's readers do, 15 epochs.
#   SIMCSE    a checkpoint of unsupervised SimCSE for its row
#   DIALOGPT  one of DialoGPT for its row
#   TODBERT   one of TOD-BERT; without it, ours: masked words and response contrast in one
#   BACKBONES NAME=CHECKPOINT of other sizes and kinds, for tables 10 and 11
DSE := $(OUT)/dse
DSE_CORPORA := metalwoz sgd taskmaster-1 multiwoz21 msre2e smd frames woz camrest676
DSE_HERE := $(call have,$(DSE_CORPORA))

# pairs/CORPUS.KIND.arrow: the pairs of a corpus
PAIRS_two := --window 2
PAIRS_three := --window 3
PAIRS_windows := --window 1,2,3
PAIRS_self := --kind self
dse_reader = $(if $(filter camrest676,$1),tod-bert-camrest,tod-bert)
dse_pairs = $(DSE_HERE:%=$(DSE)/pairs/%.$1.arrow)

$(DSE)/pairs/%.arrow: $$(call at,$$(NAME))
	$(FOLDER)
	dial-pairs -q --overwrite --reader $(call dse_reader,$(NAME)) --lower --min-words 4 $(PAIRS_$(KIND)) $(LIMIT) $< -o $@

$(DSE)/pairs/%.split.arrow: $$(call at,$$*)
	$(FOLDER)
	dial-pairs -q --overwrite --lower --kind random-split $(LIMIT) $< -o $@

# of natural language inference, for the supervised rows
NLI := $(call have,snli mnli)
NLI_KIND_SimCSE-sup := triple
NLI_KIND_PairSupCon := nli
$(DSE)/pairs/SimCSE-sup.arrow $(DSE)/pairs/PairSupCon.arrow: $(DSE)/pairs/%.arrow: $(foreach name,$(NLI),$(call at,$(name)))
	$(FOLDER)
	dial-pairs -q --overwrite --kind $(NLI_KIND_$*) $(LIMIT) $^ -o $@

$(DSE)/pairs/dialogue-nli.arrow: $(call at,dialogue-nli)
	$(FOLDER)
	dial-pairs -q --overwrite --kind entailment --lower $(LIMIT) $< -o $@

# model/ROW: trained from MODEL
$(DSE)/model/DSE: $(call dse_pairs,consecutive)
$(DSE)/model/DSE2-1: $(call dse_pairs,two)
$(DSE)/model/DSE3-1: $(call dse_pairs,three)
$(DSE)/model/DSE123-1: $(call dse_pairs,windows)
$(DSE)/model/DSE-dropout: $(call dse_pairs,self)
$(DSE)/model/DSE-dianli: $(DSE)/pairs/dialogue-nli.arrow
$(DSE)/model/TOD-BERT: $(call dse_pairs,split)
$(DSE)/model/SimCSE-sup: $(DSE)/pairs/SimCSE-sup.arrow
$(DSE)/model/PairSupCon: $(DSE)/pairs/PairSupCon.arrow
METHOD_DSE := dse
METHOD_DSE2-1 := dse-2-1
METHOD_DSE3-1 := dse-3-1
METHOD_DSE123-1 := dse-123-1
METHOD_DSE-dropout := dse-dropout
METHOD_DSE-dianli := dse-dianli
METHOD_TOD-BERT := todbert-joint
METHOD_SimCSE-sup := simcse-sup
METHOD_PairSupCon := pairsupcon

# DSE-NAME: DSE from another backbone
BACKBONES ?= $(if $(filter tiny,$(SCALE)),BERT-large=$(MODEL),BERT-large=bert-large-uncased \
  RoBERTa-base=roberta-base RoBERTa-large=roberta-large DistilBERT=distilbert-base-uncased)
define backbone
THERE_$1 := $2
START_DSE-$1 := $2
METHOD_DSE-$1 := dse
$(DSE)/model/DSE-$1: $(call dse_pairs,consecutive)
BACKBONE_ROWS += $1 DSE-$1
endef
$(foreach pair,$(BACKBONES),$(eval $(call backbone,$(firstword $(subst =, ,$(pair))),$(lastword $(subst =, ,$(pair))))))

DSE_TRAINED := DSE DSE2-1 DSE3-1 DSE123-1 DSE-dropout DSE-dianli TOD-BERT SimCSE-sup PairSupCon $(filter DSE-%,$(BACKBONE_ROWS))
$(DSE_TRAINED:%=$(DSE)/model/%): $(DSE)/model/%:
	$(FOLDER)
	$(TRAIN) --method $(METHOD_$*) --model $(or $(START_$*),$(MODEL)) -o $@ $^ > /dev/null

# rows of the tables, and what each embeds with: a directory to make, or a checkpoint that is there
NLI_ROWS := $(if $(NLI),SimCSE-sup PairSupCon)
DSE_ROWS := BERT $(if $(SIMCSE),SimCSE-unsup) $(if $(DIALOGPT),DialoGPT) $(NLI_ROWS) TOD-BERT DSE-dropout $(if $(call have,dialogue-nli),DSE-dianli) DSE
THERE_BERT := $(MODEL)
THERE_SimCSE-unsup := $(SIMCSE)
THERE_DialoGPT := $(DIALOGPT)
THERE_TOD-BERT := $(TODBERT)
dse_made = $(if $(THERE_$1),,$(DSE)/model/$1)
dse_with = $(or $(THERE_$1),$(DSE)/model/$1)

# vectors/ROW/SET.parquet
DSE_SETS := clinc150 banking77 snips hwu64
INTENTS := --max-length 64 --keep text,label,split
FLAGS_clinc150 := $(INTENTS)
FLAGS_banking77 := $(INTENTS)
FLAGS_snips := $(INTENTS)
FLAGS_hwu64 := $(INTENTS)
FLAGS_amazonqa := --max-length 128 --field history,response --keep response
FLAGS_ubuntu := --max-length 128 --field history --keep response,candidates
FLAGS_ubuntu-candidates := --max-length 32 --per candidate
FLAGS_snli := --max-length 64
FLAGS_answers := --max-length 128 --per turn --field text --keep dialogue_id,speaker -n 20
CORPUS_answers := amazonqa
CORPUS_ubuntu := dstc7-ubuntu
CORPUS_ubuntu-candidates := dstc7-ubuntu
corpus = $(or $(CORPUS_$1),$1)
dse_vectors_of = $(foreach row,$1,$(foreach set,$2,$(DSE)/vectors/$(row)/$(set).parquet))
dse_vectors = $(call dse_vectors_of,$(DSE_ROWS),$1)

# of HWU64's table the 64 classes of its folds
DROP_hwu64 := audio_volume_other|cooking_query|general_greet|music_dislikeness
dse_source = $(if $(DROP_$1),$(DSE)/data/$1.jsonl,$(call at,$(call corpus,$1)))

$(DSE)/vectors/%.parquet: $$(call dse_source,$$(SET)) $$(call dse_made,$$(ROW))
	$(FOLDER)
	$(EMBED) --model $(call dse_with,$(ROW)) $(FLAGS_$(SET)) $< -o $@

dse_suite = $(call suite,dse,$(1:%=$(DSE)/vectors/%),--task $2)
DSE_FILES := $(call dse_vectors,$(call have,$(DSE_SETS)))
UBUNTU := $(if $(call have,dstc7-ubuntu),ubuntu ubuntu-candidates)
DSE_SELECT := $(call have,amazonqa) $(UBUNTU)

dse-table2: $(DSE_FILES) ## DSE, table 2: few-shot intents by prototypes
	$(call tell,$(DSE_CORPORA) $(DSE_SETS) snli mnli)
	$(call dse_suite,$(DSE_ROWS),intent)
	$(BESIDE)

dse-table3 dse-table8: $(call dse_vectors,$(call have,clinc150))
	$(call tell,$(DSE_CORPORA) clinc150)
	$(call dse_suite,$(DSE_ROWS),oos)
	$(BESIDE)
dse-table3: ## DSE, table 3: out of scope, 1 shot (and 5)
dse-table8: ## DSE, table 8: out of scope, 5 shots (and 1)

dse-table4: $(call dse_vectors,$(DSE_SELECT)) ## DSE, table 4: response selection without training
	$(call tell,$(DSE_CORPORA) amazonqa dstc7-ubuntu)
	$(call dse_suite,$(DSE_ROWS),select)
	$(BESIDE)

dse-table10: $(call dse_vectors_of,$(BACKBONE_ROWS),$(call have,$(DSE_SETS))) ## DSE, table 10: intents, other backbones (BACKBONES)
	$(call tell,$(DSE_CORPORA) $(DSE_SETS))
	$(call suite,dse-table10,$(BACKBONE_ROWS:%=$(DSE)/vectors/%))
	$(BESIDE)

dse-table11: $(call dse_vectors_of,$(BACKBONE_ROWS),$(DSE_SELECT)) ## DSE, table 11: response selection, other backbones
	$(call tell,$(DSE_CORPORA) amazonqa dstc7-ubuntu)
	$(call suite,dse-table11,$(BACKBONE_ROWS:%=$(DSE)/vectors/%))
	$(BESIDE)

dse-nli: $(call dse_vectors,$(call have,snli)) ## DSE, section 4.5: entailment nearer than contradiction
	$(call tell,$(DSE_CORPORA) snli)
	$(call suite,dse-nli,$(DSE_ROWS:%=$(DSE)/vectors/%))
	$(BESIDE)

# intents, what is out of scope in black; questions (triangles) and answers, a colour for each pair
PICTURED := $(filter SimCSE-unsup TOD-BERT DSE,$(DSE_ROWS))
dse-figure1: $(PICTURED:%=$(DSE)/figure1/%-intents.png) $(if $(call have,amazonqa),$(PICTURED:%=$(DSE)/figure1/%-answers.png)) ## DSE, figure 1: intents and answers on a plane
	$(call tell,$(DSE_CORPORA) clinc150 amazonqa)
	@ls $^
$(DSE)/figure1/%-intents.png: $(DSE)/vectors/%/clinc150.parquet
	$(FOLDER)
	dial-eval plot -q --overwrite --part test --black oos --max-rows 2000 $< -o $@
$(DSE)/figure1/%-answers.png: $(DSE)/vectors/%/answers.parquet
	$(FOLDER)
	dial-eval plot -q --overwrite --label dialogue_id --shape speaker $< -o $@

# finetuned/SET.jsonl: the scores of every model, fine-tuned on a set; resumable run by run
# (what is finished, of older inputs, is not resumed)
TUNES := $(if $(filter tiny,$(SCALE)),1,5)
FINETUNE = --resume --runs $(TUNES) $(if $(filter tiny,$(SCALE)),--epochs 1) $(PRECISION) $(1:%=--model %) --name $(basename $(@F))
DSE_MODELS := $(foreach row,$(DSE_ROWS),$(call dse_with,$(row)))
DSE_MADE := $(foreach row,$(DSE_ROWS),$(call dse_made,$(row)))
WITHOUT_clinc150 := --without oos
WITHOUT_snips := --test-share 0.1
WITHOUT_hwu64 := --test-share 0.15

$(DSE)/data/%.jsonl: $$(call at,$$*)
	$(FOLDER)
	dial-pairs -q --kind utterance $(SOME) $< | grep -vE '"label":"($(or $(DROP_$*),none of them))"' > $@.tmp
	mv $@.tmp $@

$(DSE_SETS:%=$(DSE)/finetuned/%.jsonl): $(DSE)/finetuned/%.jsonl: $(DSE)/data/%.jsonl $(DSE_MADE)
	$(FOLDER)
	rm -f $@
	dial-eval finetune intent $(call FINETUNE,$(DSE_MODELS)) $(WITHOUT_$*) --shots 1,5 $< -o $@

# acts: of DATA/dstc2_acts, DATA/gsim_acts ({history, response, labels, split}), else of the dialogues
ACTS_OF_dstc2 := $(firstword $(call have,dstc2_acts dstc2))
ACTS_OF_gsim := $(firstword $(call have,gsim_acts m2m))
ACTS_HERE := $(if $(ACTS_OF_dstc2),dstc2) $(if $(ACTS_OF_gsim),gsim)
WINDOW_ROWS := BERT TOD-BERT DSE DSE2-1 DSE3-1 DSE123-1
WINDOW_MODELS := $(foreach row,$(WINDOW_ROWS),$(call dse_with,$(row)))
WINDOW_MADE := $(foreach row,$(WINDOW_ROWS),$(call dse_made,$(row)))
ACTS := --target current --truncation words --shots 10,20

$(DSE)/finetuned/dstc2.jsonl $(DSE)/finetuned/gsim.jsonl: $(DSE)/finetuned/%.jsonl: $$(call at,$$(ACTS_OF_$$*)) $(WINDOW_MADE)
	$(FOLDER)
	rm -f $@
	dial-eval finetune act $(call FINETUNE,$(WINDOW_MODELS)) $(ACTS) $< -o $@

$(DSE)/finetuned/amazonqa.jsonl: $(call at,amazonqa) $(DSE_MADE)
	$(FOLDER)
	rm -f $@
	dial-eval finetune select $(call FINETUNE,$(DSE_MODELS)) --shots 500,1000 --rest keep $< -o $@

dse_finetuned = $(1:%=$(DSE)/finetuned/%.jsonl)

dse-table7: $(call dse_finetuned,$(call have,$(DSE_SETS))) ## DSE, table 7: intents, fine-tuned on a few examples
	$(call tell,$(DSE_CORPORA) $(DSE_SETS))
	$(call gathered,$^)
	$(BESIDE)

dse-table5: $(call dse_finetuned,$(ACTS_HERE)) ## DSE, table 5: acts, fine-tuned, with longer contexts
	$(call tell,$(DSE_CORPORA) dstc2 m2m)
	$(call gathered,$^)
	$(BESIDE)

# intents, out of scope, answers, Ubuntu and acts, each a mean over the sets that are there
SUMMARY_VECTORS := $(call dse_vectors_of,$(WINDOW_ROWS),$(call have,$(DSE_SETS)) $(DSE_SELECT))
dse-table6: $(SUMMARY_VECTORS) $(call dse_finetuned,$(ACTS_HERE)) ## DSE, table 6: longer contexts, a number for each task
	$(call tell,$(DSE_CORPORA) $(DSE_SETS) amazonqa dstc7-ubuntu dstc2 m2m)
	$(call suite,dse,$(WINDOW_ROWS:%=$(DSE)/vectors/%))
	$(if $(ACTS_HERE),@cat $(call dse_finetuned,$(ACTS_HERE)) >> $(SCORES))
	$(BESIDE)

dse-table9: $(call dse_finetuned,$(call have,amazonqa)) ## DSE, table 9: answers, fine-tuned (DATA/amazonqa as JSONL with splits)
	$(call tell,$(DSE_CORPORA) amazonqa)
	$(call gathered,$^)
	$(BESIDE)

# runs/ROW: training with a model kept of each epoch; which one is best on intents?
EVERY := $(if $(filter tiny,$(SCALE)),2,epoch)
EPOCHS_DSE-dropout := --epochs 15
$(DSE)/runs/DSE: $(call dse_pairs,consecutive)
$(DSE)/runs/DSE-dropout: $(call dse_pairs,self)
$(DSE)/runs/DSE $(DSE)/runs/DSE-dropout: $(DSE)/runs/%:
	$(FOLDER)
	$(TRAIN) --method $(METHOD_$*) $(EPOCHS_$*) --model $(MODEL) --snapshot-every $(EVERY) -o $@ $^ > /dev/null

OF_CLINC := $(if $(call have,clinc150),$(DSE)/data/clinc150.jsonl $(DSE)/runs/DSE $(DSE)/runs/DSE-dropout)
dse-figure3: $(OF_CLINC) ## DSE, figure 3: intents and out of scope over the epochs of training
	$(call tell,$(DSE_CORPORA) clinc150)
	$(if $^,@mkdir -p $(OUT)/scores)
	$(if $^,dial-eval curve -q --intent $< --oos $< --without oos --overwrite --plot $(DSE)/figure3.svg $(PRECISION) \
	  --metric '1-shot accuracy$(COMMA)5-shot accuracy' -o $(SCORES) $(wordlist 2,3,$^))
	@$(if $^,echo $(DSE)/figure3.svg)
