#!/usr/bin/env bash
# Every method from one start, scored on every task at hand, with significance.   DATA=... bash bench/methods.sh OUT MODEL
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/*.jsonl.gz. Run again, it goes on where it was. A file of scores for each
# method and seed, then the table of differences to the start.
set -euo pipefail
out=$1 start=$2 steps=${STEPS:-150} seeds=${SEEDS:-0}
mkdir -p "$out" && cd "$out"

# texts to score on: thirds of the intent sets, a quarter of DSTC2's dialogues, dialogues of SGD and MultiWOZ that no method trains on
if [[ ! -e data/done ]]; then
  mkdir -p data
  python - "$DATA/eval" <<'PYTHON'
import gzip, json, re, sys
from itertools import islice
from pathlib import Path
def rows(name):
    with gzip.open(f"{sys.argv[1]}/{name}.jsonl.gz", "rt") as lines:
        yield from map(json.loads, lines)
def write(name, found):
    Path(f"data/{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found))
for name in ("clinc150", "banking77", "snips"):
    write(name, (row for n, row in enumerate(rows(name)) if n % 3 == 0))
write("dstc2", ({**row, "dialogue_id": row["id"].split("#")[0]} for row in rows("dstc2_acts") if int(re.search(r"\d+", row["id"])[0]) % 4 == 0))
write("citod", rows("citod"))
write("ubuntu", islice(rows("ubuntu_irc"), 2000))
write("sick", rows("sick"))
write("snli", islice((row for row in rows("snli") if row["split"] == "test"), 4000))
PYTHON
  for w in 1 3; do dial-pairs -q --overwrite --window "$w" --sample 0.2 --split train=0.95,test=0.05 "$DATA"/corpus/{sgd,multiwoz}.jsonl.gz -o "data/select-$w.{split}.arrow"; done
  touch data/done
fi

pairs() { [[ -s $1.train.arrow ]] || dial-pairs -q --split train=0.95 "${@:2}" "$DATA"/corpus/{sgd,multiwoz}.jsonl.gz -o "$1.{split}.arrow"; }
pairs consecutive --min-words 4
pairs windows --window 1,2,3
pairs self --kind self --min-words 4
pairs history --window all --speaker system
pairs sides --window 3 --follow 3 --merge-speaker --min-turns 4
[[ -s augmented.jsonl ]] || { grep '"split": "train"' data/snips.jsonl | dial-augment -q --from jsonl > augmented.tmp && mv augmented.tmp augmented.jsonl; }

# embed NAME MODEL: its vectors of everything
embed() {
  [[ -d vectors/$1 ]] && return
  local to=vectors/.$1 run="dial-embed -q --model $2 --precision bfloat16 --overwrite"
  mkdir -p "$to"
  for name in clinc150 banking77 snips; do $run --max-length 64 "data/$name.jsonl" -o "$to/$name.parquet"; done
  $run --max-length 128 --field history data/dstc2.jsonl -o "$to/dstc2.parquet"
  $run --max-length 128 --field history+response data/citod.jsonl -o "$to/ic-tod.parquet"
  $run --max-length 128 --field history,response data/ubuntu.jsonl -o "$to/ubuntu.parquet"
  for w in 1 3; do $run --max-length 128 --keep response -n 3000 "data/select-$w.test.arrow" -o "$to/select-$w.parquet"; done
  $run --max-length 64 data/sick.jsonl -o "$to/sick.parquet"
  $run --max-length 64 data/snli.jsonl -o "$to/snli.parquet"
  mv "$to" "vectors/$1"
}

train() {
  local name=$1
  shift
  [[ -d $name ]] || dial-train -q --model "$start" --precision bfloat16 --max-steps "$steps" --seed "$seed" -o "$name" "$@" > /dev/null
  embed "$name" "$name"
}

embed start "$start"
short="--lr 3e-5 --batch-size 64 --max-length 64"
for seed in $seeds; do
  train "dse-$seed" --method dse $short consecutive.train.arrow
  train "dse-123-1-$seed" --method dse-123-1 $short windows.train.arrow
  train "wmdc-$seed" --method wmdc $short windows.train.arrow
  train "simcse-$seed" --method simcse $short --pooling mean self.train.arrow
  train "tadse-$seed" --method tadse --lr 2e-5 augmented.jsonl
  train "dialoguecse-$seed" --method dialoguecse --freeze 3 sides.train.arrow
  train "mlm-$seed" --method mlm self.train.arrow
  train "siamese-m-$seed" --method siamese-m --freeze 3 sides.train.arrow
  train "todbert-$seed" --method todbert --pooling mean --lr 3e-5 history.train.arrow
done

cat > suite.toml <<'TOML'
title = "All methods, all tasks"
[[set]]
task = "intent"
name = "CLINC150"
file = "clinc150"
settings = ["1-shot", "5-shot"]
metrics = ["accuracy"]
options = { without = "oos" }
[[set]]
task = "intent"
name = "BANK77"
file = "banking77"
settings = ["1-shot", "5-shot"]
metrics = ["accuracy"]
[[set]]
task = "intent"
name = "SNIPS"
file = "snips"
settings = ["1-shot", "5-shot"]
metrics = ["accuracy"]
[[set]]
task = "oos"
name = "CLINC150"
file = "clinc150"
settings = ["5-shot mean-std"]
metrics = ["accuracy", "oos-recall"]
[[set]]
task = "select"
name = "1 turn"
file = "select-1"
metrics = ["top-1", "top-10"]
[[set]]
task = "select"
name = "3 turns"
file = "select-3"
metrics = ["top-1", "top-10"]
[[set]]
task = "select"
name = "Ubuntu"
file = "ubuntu"
metrics = ["top-1", "top-10"]
[[set]]
task = "act"
name = "DSTC2"
file = "dstc2"
metrics = ["micro-f1", "macro-f1"]
[[set]]
task = "infer"
name = "IC-TOD"
file = "ic-tod"
metrics = ["accuracy"]
options = { label = ["qi", "hi"], test-split = "dev", hold-out = 0.1 }
[[set]]
task = "retrieve"
name = "CLINC150"
file = "clinc150"
metrics = ["map"]
options = { lists = "bm25", part = "test" }
[[set]]
task = "retrieve"
name = "BANK77"
file = "banking77"
metrics = ["map"]
options = { lists = "bm25", part = "test" }
[[set]]
task = "sts"
name = "SICK"
file = "sick"
settings = ["all"]
metrics = ["spearman"]
[[set]]
task = "entail"
name = "SNLI"
file = "snli"
metrics = ["accuracy"]
TOML
mkdir -p scores
for model in vectors/*; do
  name=${model#vectors/}
  [[ -s scores/$name.jsonl ]] || dial-eval suite suite.toml "$model" -o "scores/$name.jsonl"
done
others=()
for scores in scores/*-0.jsonl; do  # seeds of a method are one column
  name=$(basename "$scores" -0.jsonl)
  others+=("$name=$(echo scores/"$name"-[0-9].jsonl | tr ' ' ,)")
done
dial-eval compare --to markdown start=scores/start.jsonl "${others[@]}"
