#!/usr/bin/env bash
# Wrong use of the scripts of experiments/ and tests/ is exit code 2, with a word that names the option or the folder.
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# refused TEXT COMMAND...
refused() {
  local text=$1 status=0 output
  shift
  output=$("$@" 2>&1) || status=$?
  if [[ $status != 2 || $output != *"$text"* ]]; then
    echo "FAILED: $* ended with $status, not 2, or did not say '$text': $output"
    failures=$((failures + 1))
  fi
}

mkdir "$scratch/programs"
for program in moe-train moe-bench moe-tune moe-db gpu_test; do
  printf '#!/bin/sh\n' > "$scratch/programs/$program"
  chmod +x "$scratch/programs/$program"
done

# The next option, or the end of the options, is no value.
refused "--nodes needs a value" "$root/experiments/cluster-in-a-box" --nodes -- true
refused "--shared needs a value" "$root/experiments/cluster-in-a-box" --shared
refused "--slurm: expected neither --paced" "$root/experiments/cluster-in-a-box" --slurm --paced -- true
refused "--cards 2: a divisor of --ranks-per-node 1" "$root/experiments/cluster-in-a-box" --cards 2 -- true
refused "--cards 2: not with --paced" "$root/experiments/cluster-in-a-box" --paced --ranks-per-node 2 --cards 2 -- true
refused "--ssh: expected neither --paced, --intra-gbps nor --cards" \
  "$root/experiments/cluster-in-a-box" --ssh --ranks-per-node 2 --cards 2 -- true
refused "--own-share: expected neither --paced nor --share-cores" "$root/experiments/cluster-in-a-box" --own-share --paced -- true
refused "--own-share: expected neither --paced nor --share-cores" "$root/experiments/cluster-in-a-box" --own-share --share-cores -- true
refused "--nic-gbps needs a value" "$root/experiments/cluster-in-a-box" --nic-gbps
refused "--out needs a value" "$root/experiments/quickstart" --out --quick
refused "--preset needs a value" "$root/tests/run" --preset --label
refused "--steps needs a value" "$root/experiments/gemm-share/run" --steps --bin
refused "--micro-batches 0: expected numbers from 1 on" "$root/experiments/dropless-memory/run" --micro-batches 0
refused "--threads needs a value" "$root/experiments/against_pytorch/run" --threads --rounds
refused "--models needs a value" "$root/experiments/box_planners/run" --models --table
refused "--only needs a value" "$root/experiments/published_models/run" --only --bin
refused "--draws needs a value" "$root/experiments/against_transformers/run" --draws --seed
refused "--precisions f16: expected f32, bf16 or both" "$root/experiments/box_planners/run" --precisions f16 --table
refused "--rounds needs a value" "$root/experiments/collectives/beside_mpi" --rounds --nodes 2
refused "--routing-files needs a value" "$root/experiments/referee/run" --routing-files --quick
refused "--routing-files $scratch: no .json file there" \
  "$root/experiments/referee/run" --bin "$scratch/programs" --routing-files "$scratch"
refused "--rounds 0: 1 to 99 expected" "$root/experiments/referee/run" --bin "$scratch/programs" --rounds 0
refused "leave nothing to do" "$root/experiments/referee/run" --bin "$scratch/programs" --out "$scratch" --without-box --only-box
refused "no simulated.csv there, and no box.db" "$root/experiments/referee/run" --bin "$scratch/programs" --out "$scratch" --table
refused "--models needs a value" "$root/experiments/layouts-in-the-box/run" --models --quick
refused "--table: expected --out DIR" "$root/experiments/layouts-in-the-box/run" --table
refused "no .csv of a case there" "$root/experiments/layouts-in-the-box/run" --out "$scratch" --table
refused "no moe-train and moe-tune in $scratch" "$root/experiments/layouts-in-the-box/run" --bin "$scratch"
refused "--bin needs a value" "$root/experiments/pipeline-orders/run" --bin --quick
refused "no moe-tune in $scratch" "$root/experiments/pipeline-orders/run" --bin "$scratch"
refused "--bin needs a value" "$root/experiments/search-time/run" --bin
refused "no moe-tune in $scratch" "$root/experiments/search-time/run" --bin "$scratch"
refused "--top needs a value" "$root/experiments/found-layouts/run" --top --folding
refused "no moe-tune in $scratch" "$root/experiments/found-layouts/run" --bin "$scratch"
refused "--every needs a value" "$root/experiments/skewed_training/run" --every --table
refused "--out needs a value" "$root/experiments/reproduce" all --out --list
refused "--bin needs a value" "$root/experiments/mpmoe_fig14/run" --bin
refused "--bin needs a value" "$root/experiments/public_trainings/run" --bin
refused "no $scratch/moe-tune" "$root/experiments/public_trainings/run" --bin "$scratch"
printf '#!/bin/sh\n' > "$scratch/moe-tune"
chmod +x "$scratch/moe-tune"
refused "--only nosuch: no training" "$root/experiments/public_trainings/run" --bin "$scratch" --only nosuch
rm "$scratch/moe-tune"
refused "argument --out: expected one argument" "$root/experiments/gpu" --out --budget 2
refused "--budget 0: expected seconds" "$root/experiments/gpu" --budget 0
refused "no steps in $scratch" "$root/experiments/gpu" --bin "$scratch/programs" --steps "$scratch"
refused "no moe-train in $scratch" "$root/tests/pack_for_gpu" "$scratch" "$scratch/a.tar.gz"
refused "expected BUILD and FILE.tar.gz or DIR" "$root/tests/pack_for_gpu" "$scratch"
refused "--pack: not with --collect" "$root/tests/gpu" --pack "$scratch/a.tar.gz" --collect "$scratch/b"
refused "--pack: runs no tests (-R x)" "$root/tests/gpu" --pack "$scratch/a.tar.gz" -- -R x
refused "no moe-train in $scratch" "$root/experiments/gpu" --bin "$scratch"

# A checkout of somebody else, who lets others read it; and installed, where nothing is built.
as_other=()
if ((EUID == 0)); then as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
mkdir -p "$scratch/checkout/experiments" "$scratch/checkout/tests" "$scratch/share/moelab/experiments" "$scratch/bin" \
  "$scratch/far/away/from/experiments"
cp "$root/experiments/quickstart" "$scratch/checkout/experiments"
cp "$root/experiments/quickstart" "$scratch/far/away/from/experiments"
cp "$root/experiments/quickstart" "$scratch/share/moelab/experiments"
cp "$root/tests/run" "$scratch/checkout/tests"
touch "$scratch/checkout/CMakeLists.txt"
chmod -R a-w,a+rX "$scratch"
refused "the build needs a checkout of your own" "${as_other[@]}" "$scratch/checkout/experiments/quickstart"
refused "is neither a checkout of moelab nor an installed one" "$scratch/far/away/from/experiments/quickstart"
refused "/build/ci cannot be made: Permission denied" "${as_other[@]}" "$scratch/checkout/tests/run"
refused "--out DIR names another folder: $scratch/none cannot be made: Permission denied" \
  "${as_other[@]}" "$scratch/share/moelab/experiments/quickstart" --out "$scratch/none"
exit $((failures > 0))
