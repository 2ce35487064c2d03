#!/usr/bin/env bash
# usage: faults_test.sh MOE_TRAIN: what a training says, and how soon it ends, where the device in software fails. The
# message names the op, or the tensor that gets its initial values.
set -euo pipefail
train=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# trains FAULT [ARGUMENT...]: its exit code, within a minute; what it says is in $folder/err.
trains() {
  local fault=$1 code=0
  shift
  MOELAB_EMULATED_FAULT=$fault timeout 60 "$train" --model micro --steps 3 --device cuda --time-limit 1 --data "$root/README.md" "$@" \
    > "$folder/out" 2> "$folder/err" || code=$?
  echo "$code"
}
fail() {
  echo "FAILED: $*: $(cat "$folder/err")" >&2
  exit 1
}
# says FAULT PATTERN: what the training says of it.
says() {
  grep -qE "$2" "$folder/err" || fail "$1: no word of \"$2\""
  echo "$1: $(grep -m1 -oE "$2.*" "$folder/err" | cut -c1-160)"
}

# Whichever allocation fails, the training ends and names it; behind the last one it goes through.
for ((failing = 1;; ++failing)); do
  code=$(trains "allocation:$failing")
  [[ $code == 0 ]] && break
  [[ $code == 3 ]] || fail "allocation:$failing: exit code $code"
  says "allocation:$failing" '(cuda[A-Za-z]+: cudaErrorMemoryAllocation|arena: )'
  ((failing < 50)) || fail "allocation:$failing: so many"
done
((failing > 4)) || fail "allocation:$failing did not fail"

for fault in kernel:1 kernel:100 kernel:500; do
  code=$(trains "$fault")
  [[ $code == 1 ]] || fail "$fault: exit code $code"
  says "$fault" 'rank 0: [a-z].*: cuda.*cudaErrorIllegalAddress.*kernel\('
done

for fault in event:1 event:10 event:200 event:400; do
  code=$(trains "$fault")
  [[ $code == 124 ]] || fail "$fault: exit code $code"
  says "$fault" 'rank 0: [a-z].*: waited 1[.0-9]* s for'
done

# A rank that is a thread ends all others, within the limit of its wait.
in_one_gpu=(--ranks-in-process 4 --ranks-per-node 2)
code=$(trains kernel:200 "${in_one_gpu[@]}")
[[ $code == 1 ]] || fail "kernel:200 in one GPU: exit code $code"
says "kernel:200 in one GPU" 'rank [0-3]: .*cudaErrorIllegalAddress'
code=$(trains event:400 "${in_one_gpu[@]}")
[[ $code == 124 || $code == 1 ]] || fail "event:400 in one GPU: exit code $code"
says "event:400 in one GPU" 'rank [0-3]:? .*waited 1[.0-9]* s'
# One that hangs says for what of the device it waits, whoever gave up first.
code=$(trains event:1 "${in_one_gpu[@]}")
[[ $code == 124 ]] || fail "event:1 in one GPU: exit code $code"
says "event:1 in one GPU" 'rank [0-3]: .*waited 1[.0-9]* s for .* of CUDA device 0'
