#!/usr/bin/env bash
# usage: faults_test.sh MOE_TRAIN: what a training says, and how soon it ends, where the device in software fails.
set -euo pipefail
train=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# ends FAULT CODE PATTERN [ARGUMENT...]: the training ends with CODE within a minute, and says PATTERN.
ends() {
  local fault=$1 expected=$2 pattern=$3 code=0
  shift 3
  MOELAB_EMULATED_FAULT=$fault timeout 60 "$train" --model micro --steps 3 --device cuda --time-limit 3 "$@" \
    > "$folder/out" 2> "$folder/err" || code=$?
  if [[ $code != "$expected" ]] || ! grep -qE "$pattern" "$folder/err"; then
    echo "FAILED: $fault: exit code $code, expected $expected and \"$pattern\": $(cat "$folder/err")" >&2
    exit 1
  fi
  echo "$fault: $(grep -m1 -E "$pattern" "$folder/err" | cut -c1-200)"
}

ends allocation:1 1 'cudaMallocHost: cudaErrorMemoryAllocation'
ends allocation:6 3 'asked for on emulated CUDA device'
ends kernel:1 1 'cudaErrorIllegalAddress.*kernel\('
ends kernel:500 1 'cudaErrorIllegalAddress.*kernel\('
ends event:40 124 'waited 3.* s for'
ends event:400 124 'waited 3.* s for' --ranks 2
