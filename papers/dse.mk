# DSE (NAACL 2022): consecutive utterances of nine corpora, read as TOD-BERT's readers do, 15 epochs.
#   SIMCSE    a checkpoint of unsupervised SimCSE for its row
#   TODBERT   one of TOD-BERT; without it, our response contrast
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

$(DSE)/pairs/%.history.arrow: $$(call at,$$*)
	$(FOLDER)
	dial-pairs -q --overwrite --lower --window all --speaker system $(LIMIT) $< -o $@

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
$(DSE)/model/TOD-BERT: $(call dse_pairs,history)
METHOD_DSE := dse
METHOD_DSE2-1 := dse-2-1
METHOD_DSE3-1 := dse-3-1
METHOD_DSE123-1 := dse-123-1
METHOD_DSE-dropout := dse-dropout
METHOD_DSE-dianli := dse-dianli
METHOD_TOD-BERT := todbert

DSE_TRAINED := DSE DSE2-1 DSE3-1 DSE123-1 DSE-dropout DSE-dianli TOD-BERT
$(DSE_TRAINED:%=$(DSE)/model/%): $(DSE)/model/%:
	$(FOLDER)
	$(TRAIN) --method $(METHOD_$*) --model $(MODEL) -o $@ $^ > /dev/null

# rows of the tables, and what each embeds with: a directory to make, or a checkpoint that is there
DSE_ROWS := BERT $(if $(SIMCSE),SimCSE-unsup) TOD-BERT DSE-dropout $(if $(call have,dialogue-nli),DSE-dianli) DSE
THERE_BERT := $(MODEL)
THERE_SimCSE-unsup := $(SIMCSE)
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
CORPUS_ubuntu := dstc7-ubuntu
CORPUS_ubuntu-candidates := dstc7-ubuntu
corpus = $(or $(CORPUS_$1),$1)
dse_vectors = $(foreach row,$(DSE_ROWS),$(foreach set,$1,$(DSE)/vectors/$(row)/$(set).parquet))

$(DSE)/vectors/%.parquet: $$(call at,$$(call corpus,$$(SET))) $$(call dse_made,$$(ROW))
	$(FOLDER)
	$(EMBED) --model $(call dse_with,$(ROW)) $(FLAGS_$(SET)) $< -o $@

DSE_SUITE = dial-eval suite dse --published --to $(TO) $(DSE_ROWS:%=$(DSE)/vectors/%)
UBUNTU := $(if $(call have,dstc7-ubuntu),ubuntu ubuntu-candidates)

dse-table2: $(call dse_vectors,$(call have,$(DSE_SETS))) ## DSE, table 2: few-shot intents by prototypes
	$(call tell,$(DSE_CORPORA) $(DSE_SETS))
	$(DSE_SUITE) --task intent

dse-table3: $(call dse_vectors,$(call have,clinc150)) ## DSE, tables 3 and 8: out of scope, 1 and 5 shots
	$(call tell,$(DSE_CORPORA) clinc150)
	$(DSE_SUITE) --task oos

dse-table4: $(call dse_vectors,$(call have,amazonqa) $(UBUNTU)) ## DSE, table 4: response selection without training
	$(call tell,$(DSE_CORPORA) amazonqa dstc7-ubuntu)
	$(DSE_SUITE) --task select

# finetuned/SET.jsonl: the scores of every model, fine-tuned on a set; resumable run by run
TUNES := $(if $(filter tiny,$(SCALE)),1,5)
FINETUNE = --resume --runs $(TUNES) $(if $(filter tiny,$(SCALE)),--epochs 1) $(PRECISION) $(1:%=--model %) --name $(basename $(@F))
DSE_MODELS := $(foreach row,$(DSE_ROWS),$(call dse_with,$(row)))
DSE_MADE := $(foreach row,$(DSE_ROWS),$(call dse_made,$(row)))
WITHOUT_clinc150 := --without oos

$(DSE)/data/%.jsonl: $$(call at,$$*)
	$(FOLDER)
	dial-pairs -q --overwrite --kind utterance $(SOME) $< -o $@

$(DSE_SETS:%=$(DSE)/finetuned/%.jsonl): $(DSE)/finetuned/%.jsonl: $(DSE)/data/%.jsonl $(DSE_MADE)
	$(FOLDER)
	dial-eval finetune intent $(call FINETUNE,$(DSE_MODELS)) $(WITHOUT_$*) --shots 1,5 $< -o $@

# acts: DATA/dstc2_acts, DATA/gsim_acts hold {history, response, labels, split}
WINDOW_ROWS := BERT TOD-BERT DSE DSE2-1 DSE3-1 DSE123-1
WINDOW_MODELS := $(foreach row,$(WINDOW_ROWS),$(call dse_with,$(row)))
WINDOW_MADE := $(foreach row,$(WINDOW_ROWS),$(call dse_made,$(row)))
ACTS := --target current --truncation words --shots 10,20

$(DSE)/finetuned/dstc2.jsonl $(DSE)/finetuned/gsim.jsonl: $(DSE)/finetuned/%.jsonl: $$(call at,$$*_acts) $(WINDOW_MADE)
	$(FOLDER)
	dial-eval finetune act $(call FINETUNE,$(WINDOW_MODELS)) $(ACTS) $< -o $@

$(DSE)/finetuned/amazonqa.jsonl: $(call at,amazonqa) $(DSE_MADE)
	$(FOLDER)
	dial-eval finetune select $(call FINETUNE,$(DSE_MODELS)) --shots 500,1000 --rest keep $< -o $@

dse_finetuned = $(1:%=$(DSE)/finetuned/%.jsonl)
ACTS_HERE := $(patsubst %_acts,%,$(call have,dstc2_acts gsim_acts))

dse-table7: $(call dse_finetuned,$(call have,$(DSE_SETS))) ## DSE, table 7: intents, fine-tuned on a few examples
	$(call tell,$(DSE_CORPORA) $(DSE_SETS))
	@python3 beside.py published/$@.toml $^

dse-table5: $(call dse_finetuned,$(ACTS_HERE)) ## DSE, table 5: acts, fine-tuned, with longer contexts
	$(call tell,$(DSE_CORPORA) dstc2_acts gsim_acts)
	@python3 beside.py published/$@.toml $^

dse-table9: $(call dse_finetuned,$(call have,amazonqa)) ## DSE, table 9: answers, fine-tuned (DATA/amazonqa as JSONL with splits)
	$(call tell,$(DSE_CORPORA) amazonqa)
	@$(if $^,python3 beside.py published/$@.toml $^,:)

# runs/ROW: training with a model kept of each epoch; which one is best on intents?
EVERY := $(if $(filter tiny,$(SCALE)),2,epoch)
EPOCHS_DSE-dropout := --epochs 15
$(DSE)/runs/DSE: $(call dse_pairs,consecutive)
$(DSE)/runs/DSE-dropout: $(call dse_pairs,self)
$(DSE)/runs/DSE $(DSE)/runs/DSE-dropout: $(DSE)/runs/%:
	$(FOLDER)
	$(TRAIN) --method $(METHOD_$*) $(EPOCHS_$*) --model $(MODEL) --snapshot-every $(EVERY) -o $@ $^ > /dev/null

dse-figure3: $(DSE)/data/clinc150.jsonl $(DSE)/runs/DSE $(DSE)/runs/DSE-dropout ## DSE, figure 3: intents over the epochs of training
	$(call tell,$(DSE_CORPORA) clinc150)
	dial-eval curve --intent $< --without oos --overwrite --plot $(DSE)/figure3.svg $(PRECISION) $(wordlist 2,3,$^)
