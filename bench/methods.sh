#!/usr/bin/env bash
# Every method from one start, scored on every task at hand, with significance.
#   DATA=... bash bench/methods.sh OUT MODEL
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/*.jsonl.gz. A file of scores for each method and seed,
# then the table of differences to the start.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
start=$2 steps=${STEPS:-150} seeds=${SEEDS:-0}
enter "$1"

# texts to score on: thirds of the intent sets, a quarter of DSTC2's dialogues, dialogues of SGD and
# MultiWOZ that no method trains on
mkdir -p data
for name in clinc150 banking77 snips dstc2 citod ubuntu sick snli; do
  into "data/$name.jsonl" texts "$name"
done
for w in 1 3; do
  unless "data/select-$w.test.arrow" dial-pairs -q --overwrite --window "$w" --sample 0.2 \
    --split train=0.95,test=0.05 "${corpora[@]}" -o "data/select-$w.{split}.arrow"
done

# pairs NAME FLAGS...
pairs() {
  unless "$1.train.arrow" dial-pairs -q --split train=0.95 "${@:2}" "${corpora[@]}" -o "$1.{split}.arrow"
}
pairs consecutive --min-words 4
pairs windows --window 1,2,3
pairs self --kind self --min-words 4
pairs history --window all --speaker system
pairs sides --window 3 --follow 3 --merge-speaker --min-turns 4
augmented() { grep '"split": "train"' data/snips.jsonl | dial-augment -q --from jsonl; }
into augmented.jsonl augmented

# embed NAME MODEL: its vectors of everything
embed() {
  [[ -d vectors/$1 ]] && return
  local to=vectors/.$1 model=$2
  vectors_of() { dial-embed -q --model "$model" --precision bfloat16 --overwrite "$@"; }
  mkdir -p "$to"
  for name in clinc150 banking77 snips sick snli; do
    vectors_of --max-length 64 "data/$name.jsonl" -o "$to/$name.parquet"
  done
  vectors_of --max-length 128 --field history data/dstc2.jsonl -o "$to/dstc2.parquet"
  vectors_of --max-length 128 --field history+response data/citod.jsonl -o "$to/ic-tod.parquet"
  vectors_of --max-length 128 --field history,response data/ubuntu.jsonl -o "$to/ubuntu.parquet"
  for w in 1 3; do
    vectors_of --max-length 128 --keep response -n 3000 "data/select-$w.test.arrow" -o "$to/select-$w.parquet"
  done
  mv "$to" "vectors/$1"
}

# train NAME FLAGS...: train from the start with the seed at hand, and embed
train() {
  trained "$1" --model "$start" --precision bfloat16 --max-steps "$steps" --seed "$seed" "${@:2}"
  embed "$1" "$1"
}

# merged NAME PARTS...: the start and parts of what runs have learnt
merged() {
  unless "$1" dialtools merge -q "$start" "${@:2}" -o "$1" > /dev/null
  embed "$1" "$1"
}

embed start "$start"
short=(--lr 3e-5 --batch-size 64 --max-length 64)
for seed in $seeds; do
  train "dse-$seed" --method dse "${short[@]}" consecutive.train.arrow
  train "dse-123-1-$seed" --method dse-123-1 "${short[@]}" windows.train.arrow
  train "wmdc-$seed" --method wmdc "${short[@]}" windows.train.arrow
  train "simcse-$seed" --method simcse "${short[@]}" --pooling mean self.train.arrow
  train "tadse-$seed" --method tadse --lr 2e-5 augmented.jsonl
  train "dialoguecse-$seed" --method dialoguecse --freeze 3 sides.train.arrow
  train "mlm-$seed" --method mlm self.train.arrow
  train "siamese-m-$seed" --method siamese-m --freeze 3 sides.train.arrow
  train "todbert-$seed" --method todbert --pooling mean --lr 3e-5 history.train.arrow
  merged "dse-123-1+dialoguecse-$seed" "dse-123-1-$seed" "dialoguecse-$seed"
done

few='settings = ["1-shot", "5-shot"]'
consistent='options = { label = ["qi", "hi"], test-split = "dev", hold-out = 0.1 }'
lists='options = { lists = "bm25", part = "test" }'
{
  echo 'title = "All methods, all tasks"'
  a_set intent CLINC150 clinc150 '"accuracy"' "$few" 'options = { without = "oos" }'
  a_set intent BANK77 banking77 '"accuracy"' "$few"
  a_set intent SNIPS snips '"accuracy"' "$few"
  a_set oos CLINC150 clinc150 '"accuracy", "oos-recall"' 'settings = ["5-shot mean-std"]'
  a_set select '1 turn' select-1 '"top-1", "top-10"'
  a_set select '3 turns' select-3 '"top-1", "top-10"'
  a_set select Ubuntu ubuntu '"top-1", "top-10"'
  a_set act DSTC2 dstc2 '"micro-f1", "macro-f1"'
  a_set infer IC-TOD ic-tod '"accuracy"' "$consistent"
  a_set retrieve CLINC150 clinc150 '"map"' "$lists"
  a_set retrieve BANK77 banking77 '"map"' "$lists"
  a_set sts SICK sick '"spearman"' 'settings = ["all"]'
  a_set entail SNLI snli '"accuracy"'
} > suite.toml
mkdir -p scores
for model in vectors/*; do
  scores=scores/${model#vectors/}.jsonl
  unless "$scores" dial-eval suite suite.toml "$model" -o "$scores"
done
others=()
for scores in scores/*-0.jsonl; do # seeds of a method are one column
  name=$(basename "$scores" -0.jsonl)
  others+=("$name=$(echo scores/"$name"-[0-9].jsonl | tr ' ' ,)")
done
dial-eval compare --to markdown start=scores/start.jsonl "${others[@]}"
