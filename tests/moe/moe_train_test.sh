#!/bin/sh
# moe_train_test.sh MOE-TRAIN MOE-DB: exit codes, messages, and that ranks and schedules leave the losses alone.
moe_train=$1
moe_db=$2
models=$(cd "$(dirname "$0")/../../experiments/models" && pwd) || exit 1
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# expect CODE WHERE TEXT COMMAND...: the exit code, and a text that WHERE (out, err) must contain.
expect() {
  code=$1 where=$2 text=$3
  shift 3
  "$@" >out 2>err
  got=$?
  if [ "$got" != "$code" ]; then
    fail "$* ended with $got, not $code: $(cat err)"
  elif ! grep -qF -e "$text" "$where"; then
    fail "$* said on $where: $(cat "$where"), not: $text"
  fi
}

# text for the corpus: repeats itself, so that a few steps learn something
i=0
while [ $i -lt 400 ]; do
  echo "the $i quick brown foxes jump over the lazy dog"
  i=$((i + 1))
done >corpus.txt

expect 0 out "moe-train 0." "$moe_train" --version
expect 0 out "Examples:" "$moe_train" -h
expect 2 err "--model is required" "$moe_train"
for listed in gates orders hooks experts planners decisions; do
  expect 0 out "$listed" "$moe_train" --list
  expect 0 out "$listed" "$moe_train" --list $listed
done
expect 0 out "  bias_adjusted " "$moe_train" --list gates
grep -q pipeline_split out && fail "--list gates lists decisions too"
expect 0 out "; changes results" "$moe_train" --list decisions
expect 0 out "  lancet " "$moe_train" --list planners
expect 0 out "\"bias_adjusted\"; training)" "$moe_train" --list keys
expect 0 out "46.7 billion,  12.9 billion active,  79.7 GFLOP" "$moe_train" --list models
expect 2 err "expected one of gates, orders" "$moe_train" --list gate
expect 2 err "micro" "$moe_train" --model nonesuch
expect 2 err "none.json: cannot be read" "$moe_train" --model micro --schedule none.json
echo '{"decisions": [{"decision": "pipeline_split", "layer": 0, "phase": "forward", "chunks": 2}]}' >dense.json
expect 2 err "dense.json: pipeline_split: 2 chunks (layer 0, forward): no experts there" "$moe_train" --model tiny --schedule dense.json
expect 2 err "3 ranks: expected --layout ep=1,pp=3 or --ranks 2 --layout ep=2" "$moe_train" --model micro --ranks 3
expect 0 err "1 iterations" "$moe_train" --model micro --data corpus.txt --steps 1 --ranks 2 --layout ep=2
printf 'base = "micro"\n[model]\nblocks = 1000\n[training]\nglobal_batch = 4096\nmicro_batches = 4096\n' >huge.toml
expect 2 err "huge.toml:6: training.micro_batches: 4096 micro_batches of 1000 blocks are 4096000 passes" \
  "$moe_train" --model huge.toml
expect 2 err "nearest: dp=1,ep=1,esp=4" "$moe_train" --model micro --ranks 4 --layout esp=3
expect 2 err "none.txt" "$moe_train" --model micro --data none.txt
expect 3 err "more than the limit of 1.00 MiB: raise --memory-limit" "$moe_train" --model tiny --data corpus.txt --memory-limit 1M
echo "no database" >text.db
expect 2 err "text.db" "$moe_train" --model micro --data corpus.txt --db text.db
[ "$(cat text.db)" = "no database" ] || fail "a file that is no database was changed"
expect 2 err "excludes" "$moe_train" --model micro --schedule dense.json --planner tutel --cluster box
expect 2 err "expected an integer from 0 to 1000000000" "$moe_train" --model micro --planner tutel --cluster box --plan-every -1
expect 2 err "there are sequential" "$moe_train" --model micro --planner nonesuch --cluster box

# With --format json a training ends with one line that programs read, whatever became of it and of its ranks.
# outcome CODE TEXT COMMAND...: the exit code, and what that line contains.
outcome() {
  code=$1 text=$2
  shift 2
  expect "$code" out "$text" "$@" --format json
  [ "$(grep -c '"status"' out)" = 1 ] || fail "$* gave not one outcome: $(cat out)"
}
short="--model micro --data corpus.txt --steps 1 --evaluate-batches 0"
# shellcheck disable=SC2086
{
  outcome 0 '"status":"done"' "$moe_train" $short
  outcome 3 '{"status":"out_of_memory","rank":0,"layer":' "$moe_train" $short --memory-limit 1K
  outcome 2 '{"status":"refused","message":"none.json: cannot be read' "$moe_train" $short --schedule none.json
  outcome 2 '{"status":"refused","layer":0,"message":"dense.json: pipeline_split' \
    "$moe_train" --model tiny --data corpus.txt --schedule dense.json
  outcome 0 '"status":"done"' "$moe_train" $short --ranks 2
  outcome 3 '{"status":"out_of_memory","rank":' "$moe_train" $short --ranks 2 --memory-limit 1K
  outcome 3 '"bytes":' "$moe_train" $short --ranks 2 --memory-limit 1K
  expect 3 err "moe-train: rank" "$moe_train" $short --ranks 2 --memory-limit 1K

  # How much is said on stderr, and for how many ranks.
  expect 0 out "heldout_loss" "$moe_train" $short --quiet
  [ -s err ] && fail "--quiet said: $(cat err)"
  expect 3 err "more than the limit" "$moe_train" $short --memory-limit 1K --quiet
  expect 2 err "expected" "$moe_train" $short --log-level loud
}

# A decision that changes results is named as such.
echo '{"decisions": [{"decision": "compress_exchange", "layer": 1, "phase": "forward", "format": "int8"}]}' >packed.json
expect 0 err "schedule of packed.json" "$moe_train" --model micro --data corpus.txt --steps 1 --schedule packed.json
expect 0 err "compress_exchange changes results" "$moe_train" --model micro --data corpus.txt --steps 1 --schedule packed.json

"$moe_train" --model micro --data corpus.txt --steps 1 --device cuda >out 2>err ||
  { [ $? = 2 ] && grep -q "CUDA" err; } || fail "without a GPU it said: $(cat err)"

# Threads that have a core each wait awake, the others asleep.
micro="--model micro --data corpus.txt --steps 1 --evaluate-batches 0"
crowd=$(($(getconf _NPROCESSORS_ONLN) + 1))
# shellcheck disable=SC2086
{
  expect 0 err "(CPU, 1 thread)" "$moe_train" $micro --threads 1
  expect 0 err "(CPU, $crowd threads, waiting asleep)" "$moe_train" $micro --threads $crowd
  if [ $crowd -gt 2 ]; then
    expect 0 err "(CPU, 2 threads, waiting awake)" env OMP_PROC_BIND=close "$moe_train" $micro --threads 2
  fi
  expect 0 err "(CPU, 2 threads, waiting asleep)" env MOELAB_BOX_NODES=2 "$moe_train" $micro --threads 2
  expect 0 err "(CPU, 3 threads, " env OMP_NUM_THREADS=3 "$moe_train" $micro
}

# losses of a run, one a line
steps=4
losses() {
  "$moe_train" --model tiny --data corpus.txt --steps $steps --threads 1 --evaluate-batches 0 --format csv "$@" 2>err |
    tail -n +2 | cut -d, -f2
}
echo '{"decisions": [{"decision": "pipeline_split", "layer": 1, "phase": "forward", "chunks": 3},
 {"decision": "pipeline_split", "layer": 3, "phase": "backward", "chunks": 2},
 {"decision": "assign_stream", "kind": "all_to_all", "stream": "inter_node"}]}' >chunks.json
losses >one
[ "$(wc -l <one)" = 4 ] || fail "four losses expected: $(cat one err)"
losses --schedule chunks.json >chunked
losses --ranks 2 --schedule chunks.json >two
losses --ranks 4 --layout ep=2,esp=2,tp=2 --schedule chunks.json >shared
grep -q "layout dp=1,ep=2,esp=2,tp=2" err || fail "no layout named: $(cat err)"
for other in chunked two shared; do
  paste one $other | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 * $1 ^ 2 { exit 1 }' ||
    fail "other losses ($other): $(paste one $other) $(cat err)"
done

# Schedules that take turns have a run each, and together the losses of one training.
echo '{"planner": "sequential", "decisions": []}' >plain.json
"$moe_train" --model tiny --data corpus.txt --steps 2 --threads 1 --evaluate-batches 0 --format csv \
  --schedule plain.json chunks.json --db turns.db >turns.csv 2>err
tail -n +2 turns.csv | cut -d, -f3 | paste one - | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 * $1 ^ 2 { exit 1 }' ||
  fail "other losses (in turns): $(paste one turns.csv) $(cat err)"
expect 0 out "2 done, iterations 1 to 2" "$moe_db" query --db turns.db "SELECT count(DISTINCT run_id) || ' ' || status ||
  ', iterations ' || min(iteration) || ' to ' || max(iteration) FROM iteration JOIN run ON run.id = run_id"
expect 0 err " times as fast as sequential" "$moe_train" --model tiny --data corpus.txt --steps 3 --schedule plain.json chunks.json
expect 2 err "--print-program: expected one --schedule, not 2" "$moe_train" --model tiny --schedule plain.json chunks.json \
  --print-program
expect 2 err "--checkpoint: expected one --schedule, not 2" "$moe_train" --model tiny --schedule plain.json chunks.json \
  --checkpoint none

# A checkpoint of one rank: ranks, layouts and schedules go on from it with the same losses. One of four ranks likewise.
steps=2
losses --checkpoint kept >/dev/null
losses --checkpoint shared_kept --ranks 4 --layout ep=2,esp=2,tp=2 >/dev/null
steps=4
tail -n 2 one >rest
for to in "--log-every 1" "--ranks 2 --schedule chunks.json" "--ranks 4 --layout ep=2,esp=2,tp=2"; do
  rm -rf on && cp -r kept on
  # shellcheck disable=SC2086
  losses --checkpoint on --resume $to >onward
  paste rest onward | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 * $1 ^ 2 { exit 1 }' ||
    fail "other losses from a checkpoint ($to): $(paste rest onward) $(cat err)"
  [ -e on/iteration-00000004/index.json ] || fail "no checkpoint at the end: $(ls on)"
done
losses --checkpoint shared_kept --resume >onward
paste rest onward | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 * $1 ^ 2 { exit 1 }' ||
  fail "other losses from a checkpoint of four ranks: $(paste rest onward) $(cat err)"
# A plan that is no longer legal, a cut of batches that have become one sequence, gives way to a new one.
lancet() {
  "$moe_train" --model tiny --data corpus.txt --threads 1 --ranks 2 --evaluate-batches 0 --planner lancet --cluster box \
    --plan-every 1 --set moe.capacity_groups=0 --checkpoint lancet_kept --resume "$@" >out 2>err
}
lancet --steps 2 && lancet --steps 3 --set training.micro_batches=8 || fail "a plan kept a training from going on: $(cat err)"
grep -q "the plan in lancet_kept/iteration-00000002: partition_range: .* is not taken over" err || fail "no new plan: $(cat err)"
# Another number of micro-batches has the same batch.
rm -rf on && cp -r kept on
losses --checkpoint on --resume --set training.micro_batches=2 >onward
paste rest onward | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 * $1 ^ 2 { exit 1 }' ||
  fail "other losses from a checkpoint, in micro-batches: $(paste rest onward) $(cat err)"
grep -q "micro_batches was 1 up to iteration 2, and is 2 from there on" err || fail "micro-batches are not told: $(cat err)"
# Without capacity_groups it keeps the number of its first ranks where others divide it, and tells where they do not.
steps=2
losses --checkpoint groups --ranks 2 --set moe.capacity_groups=0 >/dev/null
steps=4
losses --ranks 2 --set moe.capacity_groups=0 | tail -n 2 >rest_of_two
losses --checkpoint groups --resume --set moe.capacity_groups=0 >onward
paste rest_of_two onward | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 * $1 ^ 2 { exit 1 }' ||
  fail "one rank goes on with other groups than two: $(paste rest_of_two onward) $(cat err)"
grep -q '"capacity_groups": 2' groups/iteration-00000004/index.json || fail "the groups are not kept in the checkpoint"
expect 0 err "capacity_groups was 2 up to iteration 4, and is 4 from there on" "$moe_train" --model tiny --data corpus.txt --threads 1 \
  --steps 5 --evaluate-batches 0 --checkpoint groups --resume --ranks 4 --set moe.capacity_groups=0
expect 2 err "capacity_groups = 4 there, 8 here" "$moe_train" --model tiny --data corpus.txt --steps 6 --checkpoint groups --resume \
  --set moe.capacity_groups=8
expect 0 err "capacity_factor was 1.25 where the parameters were trained, and is \"dropless\" here" "$moe_train" --model tiny \
  --data corpus.txt --checkpoint groups --resume --evaluate-only --set moe.capacity_factor=dropless --set moe.capacity_groups=0
expect 2 err "--evaluate-only to see what the other computes" "$moe_train" --model tiny --data corpus.txt --steps 6 \
  --checkpoint groups --resume --set moe.capacity_factor=2
# A rate of 0 is told before, and when it comes.
expect 0 err "the learning rate is 0 from iteration 2 of 4 on" "$moe_train" --model micro --data corpus.txt --steps 4 \
  --evaluate-batches 0 --set training.learning_rate_schedule=linear --set training.decay_steps=2
[ "$(grep -c "iteration 2: the learning rate is 0 from here on" err)" = 1 ] || fail "it is not told once: $(cat err)"
# A checkpoint is evaluated, and writes, without an iteration.
held_out() {
  "$moe_train" --model tiny --data corpus.txt --threads 1 --format json "$@" 2>err | grep -o '"heldout_loss":[0-9.]*'
}
rm -rf on && cp -r kept on
trained=$(held_out --checkpoint on --resume --steps 4)
for on in "--log-every 1" "--ranks 2"; do
  # shellcheck disable=SC2086
  evaluated=$(held_out --checkpoint on --resume --evaluate-only $on)
  echo "$trained $evaluated" | tr -c '0-9.\n' ' ' | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-12 { exit 1 }' ||
    fail "other held-out losses: $trained, $evaluated: $(cat err)"
done
[ "$(ls on)" = "iteration-00000002
iteration-00000004" ] || fail "an evaluation has written checkpoints: $(ls on)"
write="$moe_train --model tiny --data corpus.txt --threads 1 --steps 2 --checkpoint kept --resume --temperature 0 --quiet"
$write --sample 9 --prompt "a fox" >sample
$write --sample 9 --prompt "a fox" --ranks 2 >sample_of_two
tail -n 1 sample | grep -q "^a fox" || fail "the prompt does not begin the sample: $(cat sample)"
cmp -s sample sample_of_two || fail "two ranks write another sample: $(cat sample sample_of_two)"
expect 0 out '"prompt":"a fox","sample":"' "$moe_train" --model micro --data corpus.txt --evaluate-only --sample 3 \
  --prompt "a fox" --format json
expect 0 out "iteration,heldout_loss" "$moe_train" --model micro --data corpus.txt --evaluate-only --format csv
expect 2 err "--evaluate-only: none has no checkpoint" "$moe_train" --model micro --data corpus.txt --evaluate-only \
  --checkpoint none --resume
expect 2 err "--db: --evaluate-only has no iteration to store" "$moe_train" --model micro --data corpus.txt --evaluate-only --db e.db
expect 2 err "with --evaluate-batches 0 there is nothing to do" "$moe_train" --model micro --data corpus.txt --evaluate-only \
  --evaluate-batches 0
expect 2 err "requires --sample" "$moe_train" --model micro --prompt x
expect 2 err "expected a number of at least 0" "$moe_train" --model micro --sample 1 --temperature -1
head -c 4000 corpus.txt | tr '\n' ' ' >tokens.bin
expect 2 err "tokens.bin: is text, not raw tokens" "$moe_train" --model micro --data tokens.bin --steps 1
expect 2 err 'expected numbers of tokens, as in "15 2 7", got "fox"' "$moe_train" --model micro --data tokens.bin \
  --token-bits 16 --set model.vocabulary=65536 --evaluate-only --sample 2 --prompt "15 fox"
expect 2 err "--prompt: token 65536 is not one of the 65536 of the model" "$moe_train" --model micro --data tokens.bin \
  --token-bits 16 --set model.vocabulary=65536 --evaluate-only --sample 2 --prompt "15 65536"
expect 0 out '"prompt":"15 7"' "$moe_train" --model micro --data tokens.bin --token-bits 16 --set model.vocabulary=65536 --evaluate-only \
  --evaluate-batches 0 --sample 2 --prompt "15 7" --format json
expect 0 out "15 7 " "$moe_train" --model micro --data tokens.bin --token-bits 16 --set model.vocabulary=65536 --evaluate-only --sample 2 \
  --prompt "15 7"
for option in --log --checkpoint; do
  expect 2 err "$option: expected a text on one line" "$moe_train" --model micro --data corpus.txt $option ""
  expect 2 err "corpus.txt/kept: cannot be written: Not a directory" "$moe_train" --model micro --data corpus.txt --steps 1 \
    $option corpus.txt/kept
done
# A log that a full disk has cut within a line goes on in a line of its own.
printf '{"iteration":7,"lo' >cut.jsonl
expect 0 out "loss" "$moe_train" --model micro --data corpus.txt --steps 1 --log cut.jsonl
[ "$(grep -c '^{"iteration":1,"loss":' cut.jsonl)" = 1 ] || fail "a line follows half of another: $(cat cut.jsonl)"
# Outliers are passed over, told and remembered.
expect 0 err "no update: the loss is " "$moe_train" --model tiny --data corpus.txt --threads 1 --steps 8 --evaluate-batches 0 \
  --set training.outlier_z_score=0.001 --set training.outlier_window=2 --set training.learning_rate=2 --log outliers.jsonl \
  --checkpoint outliers
grep -q '"skipped":"loss"' outliers.jsonl || fail "no outlier in the log: $(cat outliers.jsonl)"
grep -q '"skipped": [1-9]' outliers/iteration-00000008/index.json || fail "no outlier in the checkpoint"
# To the library transformers and back: the same parameters.
printf 'base = "tiny"\n[model]\nnorm = "rms_norm"\npositions = "rotary"\nbiases = false\n[moe]\nexpert = "mixtral"\n' >qwen.toml
"$moe_train" --model qwen.toml --data corpus.txt --threads 1 --steps 2 --evaluate-batches 0 --checkpoint qwen --quiet >out
expect 2 err "capacity_factor = 1.25 (expected \"dropless\")" "$moe_train" export qwen -o hf
expect 2 err "mixtral has no moe_every = 2 (expected 1)" "$moe_train" export qwen -o hf --drop-nothing --as mixtral
expect 0 err "hf: class qwen2_moe, " "$moe_train" export qwen -o hf --drop-nothing
expect 2 err "hf: exists already" "$moe_train" export qwen -o hf --drop-nothing
expect 0 err "train with --model back/model.toml --checkpoint back --resume" "$moe_train" import hf --model tiny --checkpoint back
grep -q 'capacity_factor = 1.25 of --model is "dropless" here' err || fail "import does not say that it drops no copies: $(cat err)"
"$moe_train" export back -o hf2 2>err
cmp -s hf/model.safetensors hf2/model.safetensors || fail "other parameters after export and import: $(cat err)"
expect 0 err "goes on from iteration 0 of back" "$moe_train" --model back/model.toml --data corpus.txt --steps 1 \
  --checkpoint back --resume
expect 2 err "expected -o MODEL.toml for the model file alone, or --checkpoint" "$moe_train" import hf --model tiny
expect 0 err "chosen here, unless --model or --set say otherwise: sequence_length = 64, global_batch = 64" "$moe_train" import hf/config.json -o alone.toml
grep -q 'read: architectures, model_type, vocab_size' err || fail "import does not list the keys that it reads: $(cat err)"
expect 2 err "exists already" "$moe_train" import hf -o alone.toml
expect 0 err "hf/model.safetensors: is not read: a training from it begins with moe-train import" "$moe_train" --model hf --data corpus.txt --set training.global_batch=4 --steps 1 --evaluate-batches 0
expect 2 err "expected mixtral, qwen2_moe, qwen3_moe, " "$moe_train" export qwen -o other --as llama

expect 0 err "nothing is left to do" "$moe_train" --model tiny --data corpus.txt --steps 2 --checkpoint kept --resume
expect 0 out '{"status":"done"}' "$moe_train" --model tiny --data corpus.txt --steps 2 --checkpoint kept --resume --format json
expect 1 err "has a value that is not finite" "$moe_train" --model micro --data corpus.txt --steps 1 --evaluate-batches 0 \
  --set training.precision=f32 --set training.learning_rate=1e39 --checkpoint spoilt
[ -e spoilt/iteration-00000001 ] && fail "a checkpoint of lost parameters: $(ls spoilt)"
expect 2 err "is of another model: precision = " "$moe_train" --model tiny --data corpus.txt --steps 4 \
  --set training.precision=bf16 --checkpoint kept --resume
expect 0 err "the training begins anew" "$moe_train" --model micro --data corpus.txt --steps 1 --checkpoint fresh --resume
expect 2 err "fresh has checkpoints up to iteration 1: expected --resume" "$moe_train" --model micro --data corpus.txt \
  --steps 1 --checkpoint fresh
expect 2 err "is of another model: " "$moe_train" --model tiny --data corpus.txt --checkpoint fresh --resume
expect 0 err "learning_rate was 0.001 up to iteration 1, and is 0.5" "$moe_train" --model micro --data corpus.txt \
  --steps 2 --checkpoint fresh --resume --set training.learning_rate=0.5
printf x | dd of=fresh/iteration-00000002/rank-00000.safetensors bs=1 seek=100000 conv=notrunc 2>dd_err
expect 2 err "rank-00000.safetensors: tensor " "$moe_train" --model micro --data corpus.txt --checkpoint fresh --resume
expect 2 err "to go on from iteration 1, move fresh/iteration-00000002 away" \
  "$moe_train" --model micro --data corpus.txt --checkpoint fresh --resume --ranks 2
outcome 2 '{"status":"refused","rank":0,"message":"fresh/iteration-00000002/rank-0' \
  "$moe_train" --model micro --data corpus.txt --checkpoint fresh --resume
expect 2 err "requires --checkpoint" "$moe_train" --model micro --resume

# A training goes on in the middle of its files, wherever each of them stands, with the same bits.
seq 900 >numbers.txt
mixed="--model micro --data corpus.txt:3 numbers.txt:1.5 --threads 1 --evaluate-batches 0 --format csv --quiet"
step_losses() { awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "loss") c = i; next } { print $1, $c }' "$@"; }
"$moe_train" $mixed --steps 40 >whole.csv
"$moe_train" $mixed --steps 23 --checkpoint mixed >first.csv
"$moe_train" $mixed --steps 40 --checkpoint mixed --resume --ranks 1 >rest.csv
[ "$(step_losses whole.csv)" = "$(step_losses first.csv; step_losses rest.csv)" ] || fail "a mixture of files does not go on as it was"
rm -rf moved && "$moe_train" $mixed --steps 23 --checkpoint moved >first.csv
cp corpus.txt elsewhere.txt
"$moe_train" --model micro --data numbers.txt:1.5 elsewhere.txt:3 --threads 1 --evaluate-batches 0 --format csv --steps 40 \
  --checkpoint moved --resume >rest.csv 2>err
[ "$(step_losses whole.csv)" = "$(step_losses first.csv; step_losses rest.csv)" ] ||
  fail "a mixture in another order, of a file under another name, does not go on as it was: $(cat err)"
expect 0 err "numbers.txt: is not trained on any more, after " "$moe_train" --model micro --data corpus.txt:1 --steps 41 --threads 1 \
  --evaluate-batches 0 --checkpoint moved --resume
expect 0 err "epoch 1 of numbers.txt ends, of " "$moe_train" --model micro --data numbers.txt corpus.txt:2 --steps 400 \
  --threads 1 --evaluate-batches 0
expect 0 err "and samples are drawn at random from there on" "$moe_train" --model micro --data corpus.txt:3 numbers.txt:1.5 \
  --data-order random --steps 41 --threads 1 --checkpoint mixed --resume
ordered="--model micro --data corpus.txt --data-order in_order --threads 1 --evaluate-batches 0 --format csv --quiet"
"$moe_train" $ordered --steps 20 >whole.csv
"$moe_train" $ordered --steps 9 --checkpoint ordered >first.csv
"$moe_train" $ordered --steps 20 --checkpoint ordered --resume >rest.csv
[ "$(step_losses whole.csv)" = "$(step_losses first.csv; step_losses rest.csv)" ] || fail "data in order does not go on as it was"
expect 0 err "begins with its first epoch" "$moe_train" --model micro --data corpus.txt --steps 21 --threads 1 \
  --evaluate-batches 0 --checkpoint ordered --resume
expect 2 err "a weight of 0: expected one above 0" "$moe_train" --model micro --data corpus.txt:0
expect 2 err "a weight of 1e400: expected one above 0, from 1e-300 to 1e300" "$moe_train" --model micro --data corpus.txt:1e400
expect 2 err "corpus.txt:x" "$moe_train" --model micro --data corpus.txt:x
"$moe_train" --model micro --data corpus.txt --steps 150 --overfit-batch --threads 1 --evaluate-batches 0 --format csv --quiet \
  --set training.learning_rate=0.01 >overfit.csv
[ "$(step_losses overfit.csv | tail -n 1 | awk '{ print $2 < 0.1 }')" = 1 ] || fail "one batch is not learnt by heart: $(tail -n 1 overfit.csv)"

# The rate and the norm stand in the rows.
expect 0 out "gradient_norm" "$moe_train" --model micro --data corpus.txt --steps 1 --set training.clip_norm=1
"$moe_train" --model micro --data corpus.txt --steps 3 --evaluate-batches 0 --format csv --quiet --ranks 2 \
  --set training.warmup_steps=2 --set training.clip_norm=0.5 >rates.csv
[ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "learning_rate") c = i; next } { print $c }' rates.csv |
  tr '\n' ' ')" = "0.0005 0.001 0.001 " ] || fail "other learning rates: $(cat rates.csv)"
"$moe_train" --model micro --data corpus.txt --steps 2 --quiet --threads 1 --set training.clip_norm=1 --db rates.db --log rates.jsonl >out 2>err
expect 0 out "2 of 2" "$moe_db" query --db rates.db "SELECT count(gradient_norm) || ' of ' || count(learning_rate) FROM iteration_view"
for figure in flops_per_s peak_bytes exposed_s max_over_mean exposed_waiting_s exposed_bubble_s; do
  [ "$(grep -c "\"$figure\":" rates.jsonl)" = 2 ] || fail "no $figure in the log: $(cat rates.jsonl)"
  head -n 1 rates.csv | grep -q ",$figure" || fail "no $figure in the rows: $(head -n 1 rates.csv)"
done
grep -q peak_share rates.jsonl && fail "a share of a peak that nobody measured: $(cat rates.jsonl)"
expect 0 out '"balanced_share":' "$moe_train" --model micro --data corpus.txt --steps 2 --threads 1 --balanced-steps 2 --format json
after_gate() {
  "$moe_train" --model micro --data corpus.txt --steps 2 --ranks 2 --planner moonep --cluster box --threads 1 "$@"
}
expect 0 err "% of the throughput of even routing" after_gate
after_gate --balanced-steps 0 --format json >out 2>err || fail "moonep: $(cat err)"
grep -q balanced_share out && fail "a share that nobody asked for: $(cat out)"
expect 2 err "balanced-steps: expected one --schedule" "$moe_train" --model tiny --data corpus.txt --steps 2 --balanced-steps 2 \
  --schedule plain.json chunks.json
[ "$(grep -c '"gradient_norm":' rates.jsonl)" = 2 ] || fail "other lines in the log: $(cat rates.jsonl)"
expect 2 err "\"cosine\" ends at an iteration: expected decay_steps" "$moe_train" --model micro --data corpus.txt \
  --set training.learning_rate_schedule=cosine

expect 0 out '"iteration_s"' "$moe_train" --model tiny --data corpus.txt --steps 3 --threads 1 --ranks 2 \
  --schedule chunks.json --db runs.db --format json
expect 0 out "done" "$moe_db" query --db runs.db "SELECT status FROM run_view"
expect 0 out "3" "$moe_db" query --db runs.db --format csv "SELECT count(*) FROM iteration"
expect 0 out "dp=1,ep=2,esp=1,tp=1" "$moe_db" runs --db runs.db
# Balance of every iteration; loads of those that were asked for.
expect 0 err "6 iterations, median" "$moe_train" --model micro --data corpus.txt --steps 6 --threads 1 --loads-every 4 --timelines 0 --db loads.db
expect 0 out '1 and 4 of 6' "$moe_db" query --db loads.db \
  "SELECT min(iteration) || ' and ' || max(iteration) || ' of ' || (SELECT count(DISTINCT iteration) FROM balance) FROM load"
expect 0 out "as many dropped" "$moe_db" query --db loads.db \
  "SELECT 'as many dropped' WHERE (SELECT sum(dropped_tokens) FROM balance) = (SELECT sum(dropped_tokens) FROM iteration)"
# Every op of both ranks once, on one clock.
expect 0 out "0,0" "$moe_db" query --db runs.db --format csv \
  "SELECT (SELECT count(*) FROM span) - 2 * (SELECT count(*) FROM timeline_op), (SELECT count(*) FROM span WHERE start_s < 0)"
# All planned memory was touched, except room that capacity keeps for rows that did not come.
expect 0 out "2" "$moe_db" query --db runs.db --format csv \
  "SELECT count(*) FROM run_rank WHERE measured_peak_bytes > 0.9 * predicted_peak_bytes AND measured_peak_bytes <= predicted_peak_bytes"
# Planned again from the routing just seen, between iterations: the same losses again.
losses --planner tutel:2 --cluster box --plan-every 2 --ranks 2 --db planned.db >planned
paste one planned | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-10 * $1 ^ 2 { exit 1 }' ||
  fail "other losses (planned): $(paste one planned) $(cat err)"
expect 0 out "sound" "$moe_db" check --db runs.db

# A loss that is not finite ends it: where it began, with the parameters that gave it.
sed -e 's/"f64"/"f32"/' -e 's/global_batch = 4/global_batch = 4\nlearning_rate = 1e30/' "$models/micro.toml" >hot.toml
for ranks in 1 2; do
  expect 1 err "in layer " "$moe_train" --model hot.toml --data corpus.txt --steps 20 --threads 1 --ranks $ranks --db hot$ranks.db
  grep -q "moe-train: iteration [1-9][0-9]*: the loss is .*; it began on rank [01] in layer [0-3]: .* wrote " err ||
    fail "of a loss that is not finite it said: $(cat err)"
  expect 0 out "failed" "$moe_db" query --db hot$ranks.db "SELECT status FROM run_view"
done

# stopped SIGNAL WHOM CODE STATUS [option...]: a signal to the program, or to rank N of it; everything is stored.
# It is sent once the database has a row of $begun.
begun=iteration
stopped() {
  signal=$1 whom=$2 code=$3 status=$4
  shift 4
  rm -f stopped.db*
  "$moe_train" --model micro --data corpus.txt --steps 1000000 --threads 1 --db stopped.db "$@" >out 2>err &
  child=$!
  i=0
  while [ $i -lt 200 ] && ! "$moe_db" query --db stopped.db --format csv "SELECT count(*) FROM $begun" 2>/dev/null |
    grep -q '^[1-9]'; do
    sleep 0.1
    i=$((i + 1))
  done
  target=$child
  if [ "$whom" != all ]; then
    target=$("$moe_db" query --db stopped.db --format csv "SELECT pid FROM run_rank WHERE rank = $whom" | tail -n 1)
  fi
  [ "$(cat "/proc/$target/comm")" = moe-train ] || fail "ps calls it $(cat "/proc/$target/comm")"
  kill -$signal "$target"
  wait $child
  ended=$?
  [ $ended = $code ] || fail "SIG$signal to $whom $* ended it with $ended, not $code: $(cat err)"
  expect 0 out "$status" "$moe_db" query --db stopped.db "SELECT status FROM run_view"
  expect 0 out "sound" "$moe_db" check --db stopped.db
}
stopped TERM all 143 killed
stopped HUP all 129 killed
stopped PIPE all 141 killed
stopped TERM all 143 killed --ranks 2
stopped HUP all 129 killed --ranks 2
stopped TERM 1 143 killed --ranks 2
stopped KILL 1 137 killed --ranks 2
begun=run_rank # and in held-out evaluation, before any iteration is stored
stopped TERM all 143 killed --evaluate-every 1 --evaluate-batches 100000000
stopped TERM 1 143 killed --ranks 2 --evaluate-every 1 --evaluate-batches 100000000

# A signal leaves a checkpoint, from which it goes on.
stopped TERM all 143 killed --checkpoint asked
stopped TERM 1 143 killed --ranks 2 --checkpoint asked --resume
expect 0 err "goes on from iteration " "$moe_train" --model micro --data corpus.txt --steps 1 --checkpoint asked --resume

# A reader that goes away ends it too.
for ranks in 1 2; do
  rm -f piped.db*
  { "$moe_train" --model micro --data corpus.txt --steps 1000000 --threads 1 --db piped.db --ranks $ranks --log-every 1 2>err
    echo $? >ended; } | head -n 3 >/dev/null
  [ "$(cat ended)" = 141 ] || fail "a closed stdout ended $ranks ranks with $(cat ended), not 141: $(cat err)"
  expect 0 out "killed" "$moe_db" query --db piped.db "SELECT status FROM run_view"
done

# The time limit holds for MPI's start, too: rank 1 comes late.
if mpirun --version | grep -qE "Open ?MPI|OpenRTE"; then
  expect 124 err "waited 2 s in MPI's start" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader mpirun -np 2 sh -c \
    '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || sleep 60; exec "$0" "$@"' \
    "$moe_train" --model micro --data corpus.txt --steps 1 --threads 1 --time-limit 2
fi

# A full disk: the reason, and what was stored before.
mkdir small && if mount -t tmpfs -o size=500k tmpfs small 2>mount_err; then
  expect 1 err "the disk is full" "$moe_train" --model micro --data corpus.txt --steps 1000000 --threads 1 --db small/full.db
  expect 0 out "sound" "$moe_db" check --db small/full.db
  expect 1 err "No space left on device" "$moe_train" --model tiny --data corpus.txt --steps 1 --threads 1 \
    --checkpoint small/kept
  [ -z "$(ls small/kept)" ] || fail "a checkpoint that is not complete was left: $(ls small/kept)"
  expect 1 err "No space left on device" "$moe_train" export qwen -o small/hf --drop-nothing
  [ ! -e small/hf.partial ] && [ ! -e small/hf ] || fail "an export that is not complete was left"
  umount small
else
  echo "a full disk is not tried: $(cat mount_err)"
fi

[ $failures = 0 ] || exit 1
