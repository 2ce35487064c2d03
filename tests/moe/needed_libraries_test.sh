#!/usr/bin/env bash
# usage: needed_libraries_test.sh BIN [MODULE]: programs of BIN start where there is no CUDA, and MODULE, the module of
# CUDA, loads where there is no cuDNN: none is linked with these libraries, and each answers without them.
set -euo pipefail
bin=$1 module=${2-}

linked() {  # linked FILE PATTERN: what FILE is linked with
  objdump -p "$1" | awk '$1 == "NEEDED" {print $2}' | grep -E "$2" || true
}
for program in "$bin"/moe-*; do
  found=$(linked "$program" '^lib(cu|nccl|nv)')
  if [[ -n $found ]]; then
    echo "FAILED: $program is linked with $found"
    exit 1
  fi
  "$program" --version > /dev/null
  echo "ok: $program"
done
if [[ -z $module ]]; then
  echo "no module of CUDA in this build"
  exit 0
fi
if [[ -z $(linked "$module" '^libcudart') || -n $(linked "$module" '^libcudnn|^libcuda[.]') ]]; then
  echo "FAILED: $module is linked with $(linked "$module" '^libcu' | xargs)"
  exit 1
fi
echo "ok: $module"
