#!/bin/bash
# kill_test.sh MOE-TRAIN [KILLS [MOST_MS [ARGUMENT...]]]: a training with these arguments that is killed again and again, at
# any moment of its first MOST_MS, and started with --resume in a loop has the losses of one that nobody disturbs, line for line.
# Where it ends before it is killed, it begins anew, until there were KILLS.
moe_train=$1
kills=${2:-50}
most_ms=${3:-300}
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
RANDOM=7

i=0
while [ $i -lt 400 ]; do
  echo "the $i quick brown foxes jump over the lazy dog"
  i=$((i + 1))
done >corpus.txt

steps=$((kills * 150))
train=("$moe_train" --model micro --data corpus.txt --steps $steps --threads 1 --evaluate-batches 0 --format csv --quiet "${@:4}")
on=(--checkpoint kept --checkpoint-every 3 --keep 2 --resume)
# iteration and loss
rows() { awk -F, '$1 + 0 > 0 && NF >= 8 { print $1, $2 }' "$@"; }

"${train[@]}" >undisturbed.csv || exit 1
rows undisturbed.csv >undisturbed
killed=0
while [ $killed -lt "$kills" ]; do
  "${train[@]}" "${on[@]}" >part$killed.csv 2>err$killed &  # no function, whose process would be a shell
  child=$!
  sleep "$(awk -v ms=$((RANDOM % most_ms)) 'BEGIN { print ms / 1000 }')"
  if ! kill -KILL $child 2>/dev/null; then # it has ended by itself
    wait $child && rm -rf kept && continue
    grep -q 'meanwhile: begin again' err$killed && continue # ranks of a killed launcher were still ending
    echo "FAILED: after $killed kills it did not go on: $(cat err$killed)"
    exit 1
  fi
  wait $child 2>/dev/null
  killed=$((killed + 1))
done
until "${train[@]}" "${on[@]}" >last.csv 2>err; do
  grep -q 'meanwhile: begin again' err && continue
  echo "FAILED: after $killed kills it did not go on: $(cat err)"
  exit 1
done
# What is printed twice, before and after a kill, is the same; all together it is the undisturbed run. Of ranks that a launcher
# starts it may take printed rows with it; the others are those of the undisturbed run, and the last of all is there.
rows part*.csv last.csv | sort -u | sort -n >joined
if [ $# -gt 3 ] && [ "$(tail -n 1 joined)" = "$(tail -n 1 undisturbed)" ]; then
  awk 'NR == FNR { there[$1]; next } $1 in there' joined undisturbed >printed && mv printed undisturbed
fi
if ! cmp -s joined undisturbed; then
  echo "FAILED: other losses after $killed kills: $(diff joined undisturbed | head -5)"
  exit 1
fi
[ "$(ls kept | grep -c partial)" = 0 ] || { echo "FAILED: $(ls kept)"; exit 1; }
echo "$killed kills, $(cat part*.csv 2>/dev/null | grep -c '^[0-9]') rows before them, $(wc -l <joined) iterations: the same losses"
