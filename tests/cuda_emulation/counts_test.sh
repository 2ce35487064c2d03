#!/usr/bin/env bash
# usage: counts_test.sh MOE_TRAIN: what trainings ask of a device: memory that is pinned and taken, and bytes that are copied.
# Prints a line for each. MOELAB_CUDA_MODULE names the device in software.
set -euo pipefail
train=$1
text=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/README.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export MOELAB_EMULATED_REPORT=1
echo '{"decisions": []}' > "$folder/plain.json"
cat > "$folder/offloads.json" <<'JSON'
{"decisions": [{"decision": "restore_activation", "layer": 1, "dispatched": "offload", "hidden": "offload"}]}
JSON
cat > "$folder/recomputes.json" <<'JSON'
{"decisions": [{"decision": "restore_block", "layer": 0, "dense": "recompute"},
               {"decision": "restore_block", "layer": 1, "dense": "recompute"}]}
JSON

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
declare -A asked
ask() {  # ask NAME ARGUMENT...: the counts of a training go to asked[NAME pinned] and so on
  local name=$1 words
  shift
  "$train" --model micro --data "$text" --steps 2 --evaluate-every 0 --device cuda --format csv "$@" \
    > "$folder/out" 2> "$folder/err" || fail "$*: $(cat "$folder/err")"
  words=$(grep '^emulated: ' "$folder/err") || fail "$*: no report"
  echo "$name: ${words#emulated: }"
  read -ra words <<< "${words#emulated: }"
  for ((i = 0; i < ${#words[@]}; i += 2)); do asked[$name ${words[i]}]=${words[i + 1]}; done
}

staging=$((32 << 20))  # pinned buffers of two streams that every run has
ask offloading --set moe.capacity_factor=dropless --memory-limit 1G --schedule "$folder/offloads.json"
((asked[offloading pinned] < staging + (1 << 20))) || fail "as much is pinned as the device holds"

ask plain --set training.global_batch=64 --schedule "$folder/plain.json"
ask growing --set training.global_batch=64 --schedule "$folder/recomputes.json" "$folder/plain.json"
((asked[growing device] == asked[plain device])) || fail "two arenas are held where schedules take turns"
((asked[growing up] < 1 << 20)) || fail "patterns are made on the host"
