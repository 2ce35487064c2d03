#!/usr/bin/env bash
# experiments/gpu on a CUDA device in software: each step by itself, whatever becomes of others; what is done is not done
# again; no time is stored as a measurement. $1: the folder of the programs. MOELAB_CUDA_MODULE names the device.
# shellcheck disable=SC2016,SC2317
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

bin=$1 out=$scratch/out db=$scratch/out/gpu.db
# In place of the machine's tools: clocks, and the counters of a kernel of ours beside one of a library.
mkdir "$scratch/fakes"
fake() { { echo '#!/usr/bin/env bash'; cat; } > "$scratch/fakes/$1"; chmod +x "$scratch/fakes/$1"; }
fake nvidia-smi <<'SCRIPT'
if [[ $* == *timestamp* ]]; then
  echo "2026/11/29 05:00:00.000, 0, 1755, 3201, 650.25, 61, 0x0000000000000004"
else
  echo "a card, 580.1, 143771 MiB, 1980 MHz, 3201 MHz, 700.00 W"
fi
SCRIPT
fake ncu <<'SCRIPT'
[[ $* == *"--clock-control none"* ]] || exit 1
echo "iteration loss"
kernels=('void moe::rows_kernel<(int)256, (int)256, moe::EmbedBody<moe::Bf16>>(T3)","1,500' 'nvjet_tst_128x256_64x4(int)","9,000'
  'moe::(anonymous namespace)::add(float *)","2,000' 'void moe::rows_kernel<(int)256, (int)256, moe::EmbedBody<moe::Bf16>>(T3)","3,500')
if [[ $* =~ --launch-skip\ ([0-9]+)\ --launch-count\ 1\ --kill\ yes ]]; then
  echo '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","sm__throughput.avg.pct_of_peak_sustained_elapsed","sm__warps_active.avg.pct_of_peak_sustained_active","launch__registers_per_thread","launch__grid_size","launch__block_size"'
  echo '"","","ns","byte","byte","%","%","%","register/thread","",""'
  echo "\"0\",\"${kernels[${BASH_REMATCH[1]}]}\",\"4,000,000\",\"1,000,000\",\"61.2\",\"12\",\"87.6\",\"40\",\"132\",\"256\""
  exit 9
fi
echo '"ID","Kernel Name","gpu__time_duration.sum"'
echo '"","","ns"'
for i in 0 1 2 3; do echo "\"$i\",\"${kernels[i]}\""; done
SCRIPT
export PATH=$scratch/fakes:$PATH

# runs CODE ARGUMENT...: experiments/gpu ends with this exit code.
runs() {
  local code=0
  "$root/experiments/gpu" --bin "$bin" --out "$out" "${@:2}" > "$scratch/said" 2>&1 || code=$?
  [[ $code == "$1" ]] || { cat "$scratch/said" "$out/log.txt"; echo "  exit code $code, expected $1"; return 1; }
}
stored() { "$bin/moe-db" query --db "$db" --format csv "$1" | tail -n +2 | tr '\n' ' '; }
says() { grep -qE -- "$1" "$scratch/said" || { cat "$scratch/said"; return 1; }; }
page() { grep -qE -- "$1" "$out/gpu.md" || { cat "$out/gpu.md"; return 1; }; }

# One step is made to fail, one to hang: it does not end when asked to, and nor does a process that it has started.
cp -r "$root/experiments/gpu_steps" "$scratch/steps"
mv "$scratch/steps/3_limits" "$scratch/steps/4_mixtral_layer" "$scratch"
printf '#!/bin/sh\n# title: Fails\n# limit: 9 s\necho "| a figure |"\nexit 7\n' > "$scratch/steps/3_limits"
printf '#!/bin/bash\n# title: Hangs\n# limit: 2 s\necho "| begun |"\ntrap "" TERM\nsleep 4321 &\nwhile true; do sleep 1; done\n' \
  > "$scratch/steps/4_mixtral_layer"
chmod +x "$scratch"/steps/[34]_*

expect "a call with one step that fails and one that hangs ends with 1" runs 1 --steps "$scratch/steps"
expect "it says what the device is" says 'on a CUDA device in software'
expect "it names the step that fails" says '^3_limits: failed in [0-9.]+ s, exit code 7$'
expect "it names the step that hangs" says '^4_mixtral_layer: ended after its limit of 2 s$'
expect "and both at the end" says '; not done: 3_limits, 4_mixtral_layer$'
expect "nothing of the step that hangs is left" equal "$(pgrep -f 'sleep 4321' | wc -l)" 0
done_or_not="SELECT step FROM gpu_step WHERE state IN ('done', 'impossible') ORDER BY step"
others=$(cd "$root/experiments/gpu_steps" && printf "%s\n" [012]_* [5-9]_* 10_* | LC_ALL=C sort | tr "\n" " ")
expect "all others are there" equal "$(stored "$done_or_not")" "$others"
expect "the tables have what the step that failed had found" page '^\| a figure \|$'
expect "and what the one that hangs had" page '^\| begun \|$'
expect "and say what became of them" page '^\*\*It was ended after its limit of 2 s'
expect "what a step cannot do is said" says '^9_sanitizers: not possible here: '
expect "losses stand beside the processor's" page '^\| 5 \| [0-9.]+ \| [0-9.]+ \|$'
expect "ops stand beside their limits" page '^\| backward \| .*expert.* \| [0-9.]+ \|$'
expect "kernels of moelab have counters, of their longest launch" page \
  '^\| `rows_kernel<256, 256, EmbedBody<Bf16>>` \| 3.5 \| 4.0 \| 1.0 \| 61 \| 12 \| 88 \| 40 \| 132 \| 256 \|$'
expect "and those of libraries only time" equal "$(grep -c '^| `nvjet_' "$out/gpu.md")" 1
expect "the clocks are in the page" page 'clocks of GPU 0: SM 1755 MHz'
expect "and in a file" grep -q '^2026/11/29 05:00:00.000,0,1755,3201,.*2_layer' "$out/clocks.csv"
expect "every test that ran passed" page '^[1-9][0-9]* tests pass, 0 fail and 0 are skipped'
expect "no time is a measurement" equal "$(stored 'SELECT count(*) FROM measurement')" "0 "
expect "trainings are of a device in software" equal "$(stored 'SELECT DISTINCT device FROM run')" "emulated "
expect "the database is sound" "$bin/moe-db" check --db "$db"

# Asked to end while a step hangs, it ends the step.
mkdir "$scratch/one"
cp "$scratch/steps/step.sh" "$scratch/one"
sed 's/^# limit: .*/# limit: 99 s/' "$scratch/steps/4_mixtral_layer" > "$scratch/one/4_mixtral_layer"
chmod +x "$scratch/one/4_mixtral_layer"
"$root/experiments/gpu" --bin "$bin" --out "$scratch/other" --steps "$scratch/one" > "$scratch/said" 2>&1 &
first=$!
for ((i = 0; i < 600; ++i)); do
  if pgrep -f 'sleep 4321' > "$scratch/sleeps"; then break; fi
  sleep 0.1
done
expect "a step has begun" test -s "$scratch/sleeps"
code=0
"$root/experiments/gpu" --bin "$bin" --out "$scratch/other" --steps "$scratch/one" > "$scratch/second" 2>&1 || code=$?
expect "a second call in the same folder is wrong use" equal "$code" 2
expect "and says why" grep -q "^gpu: --out $scratch/other: another call writes there" "$scratch/second"
code=0
kill "$first" && wait "$first" || code=$?
expect "a call that is asked to end says so" equal "$code" 143
expect "and leaves nothing of the step" equal "$(pgrep -f 'sleep 4321' | wc -l)" 0

# Killed, it cannot; the next call does.
"$root/experiments/gpu" --bin "$bin" --out "$scratch/other" --steps "$scratch/one" > "$scratch/said" 2>&1 &
first=$!
for ((i = 0; i < 600; ++i)); do
  if [[ -s $scratch/other/running ]] && pgrep -f 'sleep 4321' > "$scratch/sleeps"; then break; fi
  sleep 0.1
done
kill -KILL "$first"
wait "$first" 2> /dev/null || true
expect "a call that is killed leaves its step" equal "$(pgrep -f 'sleep 4321' | wc -l)" 1
mkdir "$scratch/none"
printf '#!/bin/sh\n# title: Ends\n# limit: 9 s\n' > "$scratch/none/0_ends"
chmod +x "$scratch/none/0_ends"
"$root/experiments/gpu" --bin "$bin" --out "$scratch/other" --steps "$scratch/none" > "$scratch/said" 2>&1 || cat "$scratch/said"
expect "and the next call ends it" equal "$(pgrep -f 'sleep 4321' | wc -l)" 0

# The same steps, mended.
mv "$scratch/3_limits" "$scratch/4_mixtral_layer" "$scratch/steps"
expect "a second call ends with 0" runs 0 --steps "$scratch/steps"
expect "it does these two" equal "$(grep -cE '^[34]_[a-z_]+: done in ' "$scratch/said")" 2
expect "and no other that was done" equal "$(grep -cE '^[0-9]+_[a-z_]+: done in ' "$scratch/said")" 2
expect "the page has both" page '^## The limits of the card$'
expect "and nothing of a failure" equal "$(grep -c '^\*\*' "$out/gpu.md")" 0

# What another card has done stands for nothing here.
python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as all:
    all.execute("UPDATE machine SET fingerprint = -id, gpu = ? WHERE length(gpu) > 0", ("another card",))
    all.execute("UPDATE gpu_step SET gpu = ?", ("another card",))' "$db"
rm "$scratch/one/4_mixtral_layer"
cp "$root"/experiments/gpu_steps/{3_limits,as_markdown.py} "$scratch/one"
expect "a step that another card has done is done" runs 0 --steps "$scratch/one"
expect "which says so" says '^3_limits: done in '
expect "without the ops of that card's layer" equal "$(grep -c '^The ops of the layer' "$out/gpu.md")" 0

# A layer that fits with no optimizer has no figures: those of an earlier run are not its own.
fake moe-train <<< 'exit 3'
fake moe-db <<< 'printf "run\n7\n"'
trains_nothing() {
  ! GPU_DEVICE=emulated GPU_BIN=$scratch/fakes GPU_DB=none GPU_ROOT=$root bash -c \
    'source "$GPU_ROOT/experiments/gpu_steps/step.sh"; run=$(trains gpu-layer); echo "$run"' 2> /dev/null
}
expect "a training without room ends a step, with SGD too" trains_nothing

rm -rf "$out"
expect "without time no step begins" runs 1 --budget 1
expect "each is left for another call" equal "$(grep -c 'for another call$' "$scratch/said")" 11
expect "and named" says 'not done: 0_card, .*, 10_pictures$'
echo "no database" > "$scratch/out/gpu.db"
expect "a file that is no database is wrong use" runs 2
expect "a budget of nothing, too" runs 2 --budget 0
expect "and one that is no number" runs 2 --budget nan
rm "$scratch/out/gpu.db"
expect "an environment without PyTorch, too" runs 2 --venv "$scratch"
expect "which is named" says "^gpu: --venv $scratch: "
exit $((failures > 0))
