#!/bin/sh
# same_inputs_test.sh MOE-TRAIN MOE-BENCH: ranks whose inputs differ are refused by key, host and rank; what one process has
# read reaches ranks that share neither files nor processes with it.
moe_train=$1
moe_bench=$2
clusters=$(cd "$(dirname "$0")/../../experiments/clusters" && pwd) || exit 1
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
failures=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=1
host=$(uname -n)

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# ended CODE TEXT WHAT: the exit code, and a text on stderr.
ended() {
  [ "$got" = "$1" ] || fail "$3 ended with $got, not $1: $(cat err)"
  grep -qF -e "$2" err || fail "$3 said: $(cat err), not: $2"
}

# ranks CODE TEXT OF-RANK-0 OF-RANK-1: options of the two ranks of a job that mpirun has started, each in a folder of its own.
ranks() {
  mpirun -np 2 sh -c 'cd "rank$OMPI_COMM_WORLD_RANK" || exit 1
    if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then options=$2; else options=$3; fi
    exec "$1" --model m.toml --evaluate-batches 0 $options' sh "$moe_train" "$3" "$4" </dev/null >out 2>err
  got=$?
  ended "$1" "$2" "ranks with '$3' and '$4'"
}
# The text that names a key: differs KEY VALUE-OF-0 VALUE-OF-1
differs() {
  echo "the ranks do not agree: $1 is $2 on rank 0 ($host) and $3 on rank 1 ($host)"
}

mkdir rank0 rank1
i=0
while [ $i -lt 400 ]; do
  echo "the $i quick brown foxes jump over the lazy dog"
  i=$((i + 1))
done >rank0/corpus.txt
cp rank0/corpus.txt rank1
printf 'base = "micro"\n[training]\nlearning_rate = 0.001\n' >rank0/m.toml
echo '{"planner": "a", "decisions": []}' >rank0/s.json
data="--data corpus.txt --steps 2"

# Only rank 0 has the model and the schedule.
ranks 0 "2 iterations" "$data --schedule s.json" "$data --schedule s.json"
cp rank0/m.toml rank0/s.json rank1

# A file of the same name with another key, one after the other.
for other in 'training learning_rate 0.001 0.5' 'training global_batch 4 8' 'model d_hidden 32 64' 'moe choices 2 1'; do
  # shellcheck disable=SC2086
  set -- $other
  printf 'base = "micro"\n[%s]\n%s = %s\n' "$1" "$2" "$3" >rank0/m.toml
  printf 'base = "micro"\n[%s]\n%s = %s\n' "$1" "$2" "$4" >rank1/m.toml
  ranks 2 "$(differs "$1.$2" "$3" "$4")" "$data" "$data"
  [ "$(grep -c agree err)" = 1 ] || fail "not one message: $(cat err)"
done
printf 'base = "micro"\n[training]\nlearning_rate = 0.001\n' | tee rank0/m.toml >rank1/m.toml
ranks 2 "$(differs training.learning_rate 0.001 0.5)" "$data" "$data --set training.learning_rate=0.5"
ranks 2 "the ranks do not agree: training.seed is " "$data --seed 3" "$data --seed 4"
ranks 2 "$(differs --time-limit "not given" 50)" "$data" "$data --time-limit 50"
ranks 2 "$(differs --db given "not given")" "$data --db a.db" "$data"
[ -e rank0/a.db ] && fail "a database was made for ranks that do not agree"
ranks 2 "$(differs --steps 2 3)" "$data" "--data corpus.txt --steps 3"
ranks 0 "different numbers of threads: 1 on rank 0 ($host) and 2 on rank 1 ($host)" "$data --threads 1" "$data --threads 2"
# What is only said and where may differ, and so may the names of equal files.
cp rank1/corpus.txt rank1/same.txt
ranks 0 "2 iterations" "$data --log-every 1" "--data same.txt --steps 2 --quiet"
echo more >>rank1/corpus.txt
ranks 2 "the ranks do not agree: --data is " "$data" "$data"
rm rank1/corpus.txt
ranks 2 "rank 1 ($host): corpus.txt: No such file" "$data" "$data"
cp rank0/corpus.txt rank1
echo '{"planner": "a", "decisions": [{"decision": "assign_stream", "kind": "all_to_all", "stream": "inter_node"}]}' >rank1/s.json
ranks 2 "the ranks do not agree: --schedule s.json is 0 decisions" "$data --schedule s.json" "$data --schedule s.json"
(cd rank0 && "$moe_train" --model m.toml $data --checkpoint kept --quiet >../out) || fail "no checkpoint"
cp -r rank0/kept rank1
ranks 2 "$(differs --checkpoint kept other)" "$data --checkpoint kept --resume" "$data --checkpoint other --resume"
rm -rf rank1/kept
ranks 2 "$(differs "the last checkpoint in kept" iteration-00000002 none)" "$data --checkpoint kept --resume" \
  "$data --checkpoint kept --resume"

mpirun -np 2 sh -c 'exec "$1" collectives --sizes "${OMPI_COMM_WORLD_RANK}1K" --budget 0.01' sh "$moe_bench" >out 2>err
got=$?
ended 2 "$(differs --sizes 01K 11K)" "moe-bench with two sizes"

# Schedules on stdin, of a job of mpirun and of one that is started for --ranks.
printf '%s\n' '{"planner": "a", "decisions": []}' '' '{"planner": "b", "decisions": []}' >both
turns="--model micro --data rank0/corpus.txt --steps 1 --evaluate-batches 0 --schedule -"
# shellcheck disable=SC2086
for start in "mpirun -np 2 $moe_train $turns" "$moe_train $turns --ranks 2" "$moe_train $turns"; do
  $start <both >out 2>err
  got=$?
  ended 0 "schedules that take turns: a, b" "$start"
done
# shellcheck disable=SC2086
{
  for blank in '' '\n' ' \t\r\n\n'; do
    # shellcheck disable=SC2059
    printf "$blank" | "$moe_train" $turns >out 2>err
    got=$?
    ended 2 "--schedule -: stdin has no schedule" "a stdin of '$blank'"
  done
  echo '{"decisions": 7}' | "$moe_train" $turns --ranks 2 >out 2>err
  got=$?
  ended 2 "stdin:1: " "a wrong line"
}

# Ranks that see neither the processes nor the files of the process that starts them, as those of another computer.
cat >mpirun <<'TEXT'
#!/bin/sh
PATH=${PATH#*:}
exec unshare --mount --pid --fork --mount-proc sh -c 'mount -t tmpfs tmpfs "$MOELAB_TEST_HIDDEN" && exec mpirun "$@"' sh "$@"
TEXT
chmod +x mpirun
mkdir hidden
cp rank0/m.toml both hidden
cp rank0/corpus.txt .
if unshare --mount --pid --fork --mount-proc true 2>err; then
  PATH=$directory:$PATH MOELAB_TEST_HIDDEN=$directory/hidden "$moe_train" --model hidden/m.toml --data corpus.txt --steps 1 \
    --evaluate-batches 0 --schedule - --ranks 2 <hidden/both >out 2>err
  got=$?
  ended 0 "schedules that take turns: a, b" "ranks apart from their launcher"
  PATH=$directory:$PATH MOELAB_TEST_HIDDEN=$directory/hidden "$moe_train" --model hidden/m.toml --data corpus.txt --steps 1 \
    --ranks 2 --memory-limit 1K --format json >out 2>err
  { grep -q '{"status":"out_of_memory","rank":' out && [ "$(grep -c '"status"' out)" = 1 ]; } ||
    fail "an outcome from ranks apart: $(cat out err)"
  # Rank 0 plans for every iteration, from what the launcher has read of a cluster that ranks do not see.
  cp "$clusters/box.toml" hidden/c.toml
  PATH=$directory:$PATH MOELAB_TEST_HIDDEN=$directory/hidden "$moe_train" --model hidden/m.toml --data corpus.txt --steps 2 \
    --evaluate-batches 0 --planner tutel:2 --cluster hidden/c.toml --plan-every 1 --ranks 2 >out 2>err
  got=$?
  ended 0 "2 iterations" "ranks that plan apart from their launcher"
else
  echo "no namespaces here: $(cat err)"
fi

[ $failures = 0 ] || { echo "$failures failures"; exit 1; }
