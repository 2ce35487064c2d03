#!/usr/bin/env bash
# usage: products_test.sh MOE_TRAIN: trainings on a device in software (MOELAB_CUDA_MODULE) take the ways to multiply that the
# database has from a training before, and so give the same bits, whichever way is the fastest by then.
set -euo pipefail
train=$1
text=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/README.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_MCA_btl=self,vader

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
run() {  # run FASTEST ARGUMENT...: losses of a training on which this kernel is the fastest
  local fastest=$1
  shift
  MOELAB_EMULATED_FASTEST_PRODUCT=$fastest "$train" --model micro --set training.precision=f32 --set training.clip_norm=1 --data "$text" --steps 3 \
    --evaluate-every 0 --device cuda --timelines 0 --format json "$@" > "$folder/out" 2> "$folder/err" ||
    fail "$*: $(cat "$folder/err")"
}
weights() { sha256sum < "$folder/$1/iteration-00000003/rank-00000.safetensors"; }  # weights CHECKPOINT: in all their bits
of() {  # of DATABASE RUN: its losses in all their bits
  sqlite3 "$1" "SELECT group_concat(printf('%!.17g %!.17g', loss, gradient_norm), ' ') FROM iteration WHERE run_id = $2"
}
ways() { sqlite3 "$1" "SELECT product, algorithm FROM run_product WHERE run_id = $2 ORDER BY 1"; }

run 2 --db "$folder/a.db" --checkpoint "$folder/first"
[[ $(sqlite3 "$folder/a.db" "SELECT count(*) > 8 AND min(duration_s <= unasked_s) AND max(algorithm > '') FROM run_product") == 1 ]] ||
  fail "the ways are not stored: $(ways "$folder/a.db" 1)"
run 1 --db "$folder/a.db" --checkpoint "$folder/later"
[[ $(ways "$folder/a.db" 1) == "$(ways "$folder/a.db" 2)" ]] || fail "a later training takes other ways"
[[ $(weights first) == "$(weights later)" ]] || fail "a later training gives other bits"
MOELAB_ATTENTION=tiles run 1 --db "$folder/a.db"
[[ $(ways "$folder/a.db" 1) == "$(ways "$folder/a.db" 3)" ]] || fail "ways depend on what computes attention"
run 1 --db "$folder/b.db" --checkpoint "$folder/other"
[[ $(ways "$folder/a.db" 1) != "$(ways "$folder/b.db" 1)" ]] || fail "which way is the fastest is not asked"
[[ $(weights first) != "$(weights other)" ]] || fail "the ways are not taken"

# Where three more streams have no room, products go without them, whatever the database says.
MOELAB_EMULATED_MEMORY=40000000 run 1 --db "$folder/small.db"
[[ $(sqlite3 "$folder/small.db" "SELECT count(*) > 8 AND max(algorithm = 'side by side') FROM run_product") == 0 ]] ||
  fail "ways without room: $(ways "$folder/small.db" 1)"
sqlite3 "$folder/a.db" "UPDATE run_product SET algorithm = 'side by side' WHERE product LIKE '%grouped%'"
MOELAB_EMULATED_MEMORY=40000000 run 1 --db "$folder/a.db"

if ! command -v mpirun > /dev/null; then
  echo "mpirun is not installed: --ranks is not tested"
  exit 0
fi
# Goes on from the checkpoint of two iterations as the training did that made it.
run 2 --db "$folder/c.db" --ranks 2 --checkpoint "$folder/kept" --checkpoint-every 2
rm -r "$folder/kept/"*3
run 1 --db "$folder/c.db" --ranks 2 --checkpoint "$folder/kept" --resume
[[ $(sqlite3 "$folder/c.db" 'SELECT count(DISTINCT gradient_norm) FROM iteration WHERE iteration = 3') == 1 ]] ||
  fail "a training that is resumed gives other bits: $(of "$folder/c.db" 1), $(of "$folder/c.db" 2)"
echo "products on a device in software: all as expected"
