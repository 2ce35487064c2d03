#!/usr/bin/env bash
# usage: unwritten_test.sh MOE_TRAIN: trainings of every kind of layer read no byte of the device that nobody wrote; where
# a copy to the device is lost, they say what reads it. MOELAB_CUDA_MODULE names the device in software.
set -euo pipefail
train=$1
text=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/README.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/offloads.json" <<'JSON'
{"decisions": [{"decision": "restore_activation", "layer": 1, "dispatched": "offload", "hidden": "offload"}]}
JSON
cat > "$folder/recomputes.json" <<'JSON'
{"decisions": [{"decision": "restore_block", "layer": 0, "dense": "recompute"},
               {"decision": "restore_block", "layer": 1, "dense": "recompute", "communication": "repeat"}]}
JSON

fail() {
  echo "FAILED: $*: $(cat "$folder/err")" >&2
  exit 1
}
run() {  # run ARGUMENT...: three iterations
  "$train" --model micro --data "$text" --steps 3 --evaluate-batches 1 --device cuda "$@" > "$folder/out" 2> "$folder/err"
}
trains() {  # trains KEY=VALUE... [-- ARGUMENT...]
  local sets=()
  while (($# > 0)) && [[ $1 != -- ]]; do sets+=(--set "$1"); shift; done
  run "${sets[@]}" "${@:2}" || fail "${sets[@]}" "${@:2}"
}

for precision in f64 f32 bf16; do trains training.precision=$precision; done
for gate in gshard sigmoid x_moe batch_prioritized bias_adjusted hash random expert_choice; do
  trains training.precision=bf16 moe.gate=$gate
done
trains moe.gate=soft_moe moe.order=einsum
trains training.precision=bf16 moe.order=einsum
trains training.precision=bf16 moe.exchange=padded
trains training.precision=bf16 moe.expert=mixtral model.norm=rms_norm model.positions=rotary model.key_value_heads=1 \
  model.biases=false moe.shared_experts=1 moe.capacity_factor=dropless -- --memory-limit 1G
# Arenas grow between schedules, and offloaded rows come back from the host.
trains moe.capacity_factor=dropless training.global_batch=64 -- --memory-limit 1G --schedule "$folder/recomputes.json" \
  "$folder/offloads.json"
echo "trainings read no byte that nobody wrote"

for copy in 1 2 3; do
  if MOELAB_EMULATED_FAULT=copy:$copy run; then fail "copy:$copy is not missed"; fi
  grep -oE 'rank 0: [a-z].*: cuda.*(kernel\(|cublasGemm).* reads [0-9]+ bytes of device memory \(byte .*nobody wrote.*' \
    "$folder/err" || fail "copy:$copy"
done
