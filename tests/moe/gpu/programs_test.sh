#!/usr/bin/env bash
# usage: programs_test.sh DEVICE MOE_TRAIN MOE_BENCH [MOE_TUNE]: the programs as a person runs them, on cuda. Exit code 77
# where there is no device (DEVICE cpu tries this script itself). MOELAB_CUDA_MODULE names a device in software.
set -euo pipefail
device=$1 train=$2 bench=$3
text=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/README.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_MCA_btl=self,vader

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
expect() {  # expect CODE PROGRAM ARGUMENT...: its output goes to $folder/out and err
  local expected=$1 code=0
  shift
  "$@" > "$folder/out" 2> "$folder/err" || code=$?
  [[ $code == "$expected" ]] || fail "$*: exit code $code, expected $expected: $(cat "$folder/err")"
}
losses() {  # losses ARGUMENT...: of every iteration
  expect 0 "$train" --model micro --data "$text" --steps 5 --evaluate-every 2 --format csv "$@"
  awk -F, 'NR > 1 {print $2}' "$folder/out"
}
same() {  # same A B: to 7 digits, as f64 on one machine must agree with another's
  paste <(echo "$1") <(echo "$2") |
    awk '{d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-7 * $2)) bad = 1} END {exit bad || NR != 5}'
}

code=0
"$train" --model micro --steps 1 --device "$device" > "$folder/out" 2> "$folder/err" || code=$?
if [[ $code == 2 ]] && grep -q 'no CUDA device\|without CUDA' "$folder/err"; then
  [[ ${MOELAB_GPUS_LISTED:-0} == 0 ]] || fail "the driver lists a GPU: $(cat "$folder/err")"
  echo "no CUDA device"
  exit 77
fi

cpu=$(losses --device cpu --threads 1)
same "$(losses --device "$device")" "$cpu" || fail "losses on $device are not those of the processor"
cat > "$folder/schedule.json" <<'JSON'
{"decisions": [{"decision": "pipeline_split", "layer": 1, "phase": "forward", "chunks": 2},
               {"decision": "pipeline_split", "layer": 1, "phase": "backward", "chunks": 2},
               {"decision": "assign_stream", "kind": "all_to_all", "stream": "inter_node"}]}
JSON
same "$(losses --device "$device" --schedule "$folder/schedule.json")" "$cpu" ||
  fail "losses change under a schedule"
expect 3 "$train" --model micro --steps 1 --device "$device" --memory-limit 4K
grep -q 'more than the limit' "$folder/err" || fail "no word about memory: $(cat "$folder/err")"
if [[ $device == cuda ]]; then
  for choice in tiles unset; do  # what computes attention is printed and stored
    [[ $choice == unset ]] || export MOELAB_ATTENTION=$choice
    expect 0 "$train" --model micro --steps 1 --device "$device" --set training.precision=bf16 --db "$folder/attention.db"
    grep -q 'attention in bf16 by ' "$folder/err" || fail "not said: $(cat "$folder/err")"
    [[ $choice == unset ]] || grep -q ' by tiles' "$folder/err" || fail "no tiles: $(cat "$folder/err")"
    unset MOELAB_ATTENTION
  done
  stored="SELECT count(*) FROM run WHERE environment_json ->> 'MOELAB_ATTENTION' = 'tiles'"
  [[ $(sqlite3 "$folder/attention.db" "$stored") == 1 ]] || fail "the choice of tiles is not stored"
  expect 2 env MOELAB_ATTENTION=neither "$train" --model micro --steps 1 --device "$device"
  grep -q 'MOELAB_ATTENTION=neither: expected fused or tiles' "$folder/err" || fail "$(cat "$folder/err")"
fi
if [[ -n ${MOELAB_CUDA_MODULE-} ]]; then
  expect 2 "$bench" all --device "$device" --db "$folder/results.db"
  grep -q 'emulated' "$folder/err" || fail "times of an emulated device are stored: $(cat "$folder/err")"
  expect 0 "$train" --model micro --steps 1 --device "$device" --db "$folder/results.db"
  [[ $(sqlite3 "$folder/results.db" 'SELECT device FROM run') == emulated ]] ||
    fail "a run on an emulated device is stored as one on another"
  if [[ -n ${4-} ]]; then
    expect 2 "$4" study s --model micro --ranks 1 --device "$device" --db "$folder/results.db"
    grep -q 'emulated' "$folder/err" || fail "an emulated device is studied: $(cat "$folder/err")"
  fi
else  # on a device in software experiments/gpu runs moe-bench
  expect 0 "$bench" all --device "$device" --sizes 4K,1M --rows 64 --budget 0.05 --db "$folder/results.db"
  grep -q 'Out of bounds values : 0 OK' "$folder/out" || fail "moe-bench all finds wrong values"
fi

# A cluster in one GPU: ranks are threads of the program.
for nodes in "2" "2 --ranks-per-node 2" "4 --ranks-per-node 2 --nic-gbps 40 --intra-gbps 80 --copy-blocks 4"; do
  # shellcheck disable=SC2086
  same "$(losses --device "$device" --schedule "$folder/schedule.json" --ranks-in-process $nodes)" "$cpu" ||
    fail "losses change with --ranks-in-process $nodes"
done
grep -q 'in one GPU: paced, one GPU: 40 Gbit/s, inside 80 Gbit/s, copies by 4 blocks' "$folder/err" ||
  fail "nobody says that links are paced: $(cat "$folder/err")"
expect 0 "$train" --model micro --steps 1 --device "$device" --ranks-in-process 2 --db "$folder/threads.db"
[[ $(sqlite3 "$folder/threads.db" "SELECT network FROM run") == 'paced, one GPU: 200 Gbit/s' ]] ||
  fail "a run in one GPU is stored as one on another network"
expect 0 "$bench" collectives --device "$device" --ranks-in-process 4 --ranks-per-node 2 --sizes 64K --budget 0.05
grep -q 'Out of bounds values : 0 OK' "$folder/out" || fail "collectives in one GPU are wrong"
expect 2 "$train" --model micro --ranks-in-process 2
grep -q 'expected --device cuda' "$folder/err" || fail "ranks of processors are threads"
expect 2 "$train" --model micro --device "$device" --ranks-in-process 3 --ranks-per-node 2
expect 2 "$train" --model micro --device "$device" --ranks 2 --nic-gbps 40
expect 3 "$train" --model micro --steps 1 --device "$device" --ranks-in-process 2 --memory-limit 4K
grep -q 'rank [01]: .*more than the limit' "$folder/err" || fail "no word about memory: $(cat "$folder/err")"

if ! command -v mpirun > /dev/null; then
  echo "mpirun is not installed: --ranks is not tested"
  exit 0
fi
# They share a device, or have one each where there are two.
same "$(losses --device "$device" --ranks 2 --schedule "$folder/schedule.json")" "$cpu" ||
  fail "losses change on two ranks"
if [[ -z ${MOELAB_CUDA_MODULE-} ]]; then
  expect 0 "$bench" collectives --device "$device" --ranks 2 --sizes 4K,1M --budget 0.05
  grep -q 'Out of bounds values : 0 OK' "$folder/out" || fail "collectives of two ranks are wrong"
fi
echo "the programs on $device: all as expected"
