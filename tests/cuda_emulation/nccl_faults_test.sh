#!/usr/bin/env bash
# usage: nccl_faults_test.sh MOE_TRAIN: what a training on two ranks says, and how soon it ends, where a peer dies in a
# collective or never comes.
set -euo pipefail
train=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# ends VARIABLE=VALUE CODES PATTERN: the training ends with one of CODES within a minute, and says PATTERN.
ends() {
  local code=0
  env "$1" timeout 60 "$train" --model micro --steps 3 --device cuda --ranks 2 --time-limit 3 --data "$root/README.md" \
    > "$folder/out" 2> "$folder/err" || code=$?
  if [[ ! $code =~ ^($2)$ ]] || ! grep -qE "$3" "$folder/err"; then
    echo "FAILED: $1: exit code $code, expected $2 and \"$3\": $(cat "$folder/err")" >&2
    exit 1
  fi
  echo "$1: $(grep -m1 -E "$3" "$folder/err" | cut -c1-240)"
}

ends MOELAB_EMULATED_NCCL_DIES=1:6 137 \
  'rank 0 with rank 1: all_to_all .* \(layer 1\): .*ncclRecv.* of rank 0 waits in vain: rank 1 \(process [0-9]+\) has died'
ends MOELAB_EMULATED_NCCL_NEVER_READY=1 '1|124' 'waited 3 s in NCCL bootstrap'
