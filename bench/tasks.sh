# shellcheck shell=bash
# Texts of all tasks, and scores of a model on all of them; to be sourced after lib.sh, in the folder of the
# experiment. SETS names those to score on, of all.
: "${corpora:?lib.sh is to be sourced first}" "${precision:?}"

sets=${SETS:-clinc150 banking77 snips sick snli dstc2 citod ubuntu select-1 select-3}

# texts to score on: thirds of the intent sets, a quarter of DSTC2's dialogues, dialogues of SGD and
# MultiWOZ that no method trains on
mkdir -p data
for name in $sets; do
  [[ $name == select-* ]] || into "data/$name.jsonl" texts "$name"
done
for w in 1 3; do
  unless "data/select-$w.test.arrow" dial-pairs -q --overwrite --window "$w" --sample 0.2 \
    --split train=0.95,test=0.05 "${corpora[@]}" -o "data/select-$w.{split}.arrow"
done

# pairs NAME FLAGS...
pairs() {
  unless "$1.train.arrow" dial-pairs -q --split train=0.95 "${@:2}" "${corpora[@]}" -o "$1.{split}.arrow"
}

# vectors_of SET MODEL DIR FLAGS...: a model's vectors of the texts of a set
vectors_of() {
  local flags=(--max-length 128 "data/$1.jsonl")
  case $1 in
    dstc2) flags+=(--field history) ;;
    citod) flags+=(--field history+response) ;;
    ubuntu) flags+=(--field 'history,response') ;;
    select-*) flags=(--max-length 128 --keep response -n 3000 "data/$1.test.arrow") ;;
    *) flags=(--max-length 64 "data/$1.jsonl") ;;
  esac
  dial-embed -q --overwrite --model "$2" --precision "$precision" "${flags[@]}" "${@:4}" \
    -o "$3/$1.parquet"
}

# embed NAME MODEL: its vectors of everything
embed() {
  [[ -d vectors/$1 ]] && return
  mkdir -p "vectors/.$1"
  for name in $sets; do
    vectors_of "$name" "$2" "vectors/.$1"
  done
  mv "vectors/.$1" "vectors/$1"
}

few='settings = ["1-shot", "5-shot"]'
consistent='options = { label = ["qi", "hi"], test-split = "dev", validation-share = 0.1 }'
lists='options = { lists = "bm25", part = "test" }'
# of TASK NAME FILE ...: a set of the suite, if it is among those asked for
of() {
  [[ " $sets " != *" $3 "* ]] || a_set "$@"
}
{
  echo 'title = "All methods, all tasks"'
  of intent CLINC150 clinc150 '"accuracy"' "$few" 'options = { without = "oos" }'
  of intent BANK77 banking77 '"accuracy"' "$few"
  of intent SNIPS snips '"accuracy"' "$few"
  of oos CLINC150 clinc150 '"accuracy", "oos-recall"' 'settings = ["5-shot mean-std"]'
  of select '1 turn' select-1 '"top-1", "top-10"'
  of select '3 turns' select-3 '"top-1", "top-10"'
  of select Ubuntu ubuntu '"top-1", "top-10"'
  of act DSTC2 dstc2 '"micro-f1", "macro-f1"'
  of infer IC-TOD citod '"accuracy"' "$consistent"
  of retrieve CLINC150 clinc150 '"map"' "$lists"
  of retrieve BANK77 banking77 '"map"' "$lists"
  of sts SICK sick '"spearman"' 'settings = ["all"]'
  of entail SNLI snli '"accuracy"'
} > suite.toml

# scored_all: scores/NAME.jsonl of all vectors/NAME
scored_all() {
  mkdir -p scores
  for model in vectors/*; do
    local scores=scores/${model#vectors/}.jsonl
    unless "$scores" dial-eval suite suite.toml "$model" -o "$scores"
  done
}

# seeds_of NAME: NAME=FILE,FILE,..., the scores of its seeds as one column of `dial-eval compare`
seeds_of() {
  echo "$1=$(echo scores/"$1"-[0-9].jsonl | tr ' ' ,)"
}
