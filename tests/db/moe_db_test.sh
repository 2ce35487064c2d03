#!/bin/sh
# moe_db_test.sh MOE-DB DB-SAMPLE: exit codes, messages and streams of the program.
moe_db=$1
sample=$2
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
failures=0

# expect CODE WHERE TEXT COMMAND...: the exit code, and a text that WHERE (out, err) must contain
# ('' for nothing).
expect() {
  code=$1 where=$2 text=$3
  shift 3
  "$@" >out 2>err
  got=$?
  if [ "$got" != "$code" ]; then
    echo "FAILED: $* ended with $got, not $code: $(cat err)"
    failures=$((failures + 1))
  elif ! grep -qF -e "$text" "$where"; then
    echo "FAILED: $* said on $where: $(cat "$where"), not: $text"
    failures=$((failures + 1))
  elif [ "$code" != 0 ] && [ "$where" = err ] && [ -s out ]; then
    echo "FAILED: $* wrote a result beside its error: $(cat out)"
    failures=$((failures + 1))
  fi
}

"$sample" a.db || exit 1

expect 0 out "moe-db 0." "$moe_db" --version
expect 0 out "Examples:" "$moe_db" -h
expect 0 out "moe-db spans --db results.db" "$moe_db" spans --help
expect 0 out "moe-db check --db results.db" "$moe_db" check --help
expect 2 err "subcommand is required" "$moe_db"
expect 2 err "--db is required" "$moe_db" runs
expect 2 err 'expected table, csv, json, got "xml"' "$moe_db" runs --db a.db --format xml
for count in -1 1.5 99999999999999999999; do
  expect 2 err "expected an integer" "$moe_db" runs --db a.db --limit "$count"
done
expect 2 err "--colour" "$moe_db" runs --db a.db --colour
expect 2 err "no such file" "$moe_db" runs --db none.db
expect 2 err "expected the name of a file" "$moe_db" runs --db -
[ ! -e - ] || { echo "FAILED: - became a file"; failures=$((failures + 1)); }
escape=$(printf '\033[31m')
expect 2 err '\x1b[31mred' "$moe_db" runs --db "${escape}red"
expect 0 out '\x1b[31m' "$moe_db" query --db a.db "SELECT '${escape}' AS \"${escape}\""
for format in table json; do
  if "$moe_db" query --db a.db --format $format "SELECT '${escape}' AS \"${escape}\"" | grep -qF "$escape"; then
    echo "FAILED: a $format has control characters"
    failures=$((failures + 1))
  fi
done
for help in "" runs studies trials fits measurements loads balance iterations timelines spans why figures query columns best compare-studies merge prune "export trace" "export schedule" "import figures" "import nccl-tests" "import osu" "import vtrain" "import routing" check; do
  # shellcheck disable=SC2086
  wide=$("$moe_db" $help --help | awk 'length > 80')
  [ -z "$wide" ] || { echo "FAILED: moe-db $help --help has lines beyond 80 columns: $wide"; failures=$((failures + 1)); }
done

expect 0 out "tiny" "$moe_db" runs --db a.db
expect 0 out "2.00x" "$moe_db" trials --db a.db --study "sample study"
expect 0 out "inter_node" "$moe_db" fits --db a.db
expect 0 out "4.00 ns/byte" "$moe_db" fits --db a.db
expect 0 out "dp=1,ep=2,esp=1,tp=1" "$moe_db" runs --db a.db
expect 0 out "dp=1,ep=2,esp=1,tp=1" "$moe_db" trials --db a.db
expect 0 out "16.0 MiB" "$moe_db" measurements --db a.db
expect 0 out "run,iteration,layer,expert,rank,tokens" "$moe_db" loads --db a.db --format csv
expect 0 out '"name": "all_to_all dispatch"' "$moe_db" spans --db a.db --run 1 --layer 1 --format json
expect 0 err "no runs match" "$moe_db" runs --db a.db --name nobody
expect 0 out "1.60x" "$moe_db" balance --db a.db --run 1
expect 0 out "cosine similarity" "$moe_db" balance --help
expect 0 out "asked_tokens,dropped_tokens" "$moe_db" loads --db a.db --format csv
expect 0 out "Table 5" "$moe_db" figures --db a.db --paper FSMoE
printf 'paper,table,setting,system,quantity,paper_figure,ours,difference,basis\nA,Fig. 1,x,s,time,2,3,0.5,simulated\n' > figures.csv
expect 0 err "run 1: the figures of figures.csv" "$moe_db" import figures figures.csv --db figures.db
expect 0 out "0.5" "$moe_db" query --db figures.db "SELECT difference FROM figure_view"
expect 0 out "import" "$moe_db" query --db figures.db "SELECT argv_json FROM run"
expect 2 err "none.csv: cannot be read" "$moe_db" import figures none.csv --db figures.db
echo A >> figures.csv
expect 2 err "figures.csv, line 3: 1 cells, but the heading has 9" "$moe_db" import figures figures.csv --db figures.db
printf 'size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n1048576,262144,float,92790,19.78,92150,19.91\n' > AR_GPU8_LUT
expect 0 err "run 1: 1 size of all_reduce on 8 ranks of 1 node of dgx" "$moe_db" import vtrain AR_GPU8_LUT --db i.db --machine dgx
expect 0 err "run 1 has these 1 size of all_reduce on 8 ranks of 1 node of dgx already: not stored again" \
  "$moe_db" import vtrain AR_GPU8_LUT --db i.db --machine dgx
expect 2 err "expected --machine NAME" "$moe_db" import vtrain AR_GPU8_LUT --db i.db
expect 2 err "AR_GPU8_LUT: has no table" "$moe_db" import nccl-tests AR_GPU8_LUT --db i.db
echo '[[75, 140, 33], [25, 99, 110]]' > counts.json
expect 0 err "run 2: counts of 3 experts in 2 layers, 1 step, 1 rank" "$moe_db" import routing counts.json --db i.db
expect 0 err "run 2 has these counts already: not stored again" "$moe_db" import routing counts.json --db i.db
expect 0 out '{"layers":[{"counts":[[75,140,33]],"layer":0},{"counts":[[25,99,110]],"layer":1}]}' \
  "$moe_db" export routing --db i.db --run 2 -o -
expect 0 out "140" "$moe_db" loads --db i.db --run 2
echo '[[75, 140' > counts.json
expect 2 err "counts.json, line 1: is not JSON (is it cut off?)" "$moe_db" import routing counts.json --db i.db
expect 0 out "sound" "$moe_db" check --db i.db
expect 0 out "sequential" "$moe_db" query --db a.db "SELECT planner FROM trial_view"
expect 2 err "queries only read" "$moe_db" query --db a.db "DELETE FROM run"
expect 2 err "no such table: absent" "$moe_db" query --db a.db "SELECT * FROM absent"

expect 0 err "timeline 1 of run 1: measured" "$moe_db" export trace --db a.db --run 1 -o t.json
[ -s t.json ] || { echo "FAILED: no trace was written"; failures=$((failures + 1)); }
expect 0 out '"traceEvents"' "$moe_db" export trace --db a.db --timeline 2 -o -
expect 0 err "timeline 2 beside it: predicted" "$moe_db" export trace --db a.db --run 1 -o t.json
expect 0 err "timeline 1 of run 1" "$moe_db" export trace --db a.db --run 1 --per-rank traces
[ -s traces/rank-1.json ] || { echo "FAILED: no trace of rank 1 was written"; failures=$((failures + 1)); }
expect 2 err "--output or --per-rank" "$moe_db" export trace --db a.db --run 1
expect 2 err "none/traces: cannot be made" "$moe_db" export trace --db a.db --run 1 --per-rank none/traces
expect 2 err "no run 9" "$moe_db" export trace --db a.db --run 9 -o t.json
expect 2 err "--run or --timeline" "$moe_db" export trace --db a.db -o t.json
expect 2 err "cannot be written" "$moe_db" export trace --db a.db --run 1 -o none/t.json
expect 0 out '"asked":[[100,200,300,410],[100,200,300,410]],"layer":1,"tokens":[[100,200,300,400]' "$moe_db" export routing --db a.db --run 1 -o -
expect 0 err "the routing of run 1, iteration 2" "$moe_db" export routing --db a.db --run 1 -o r.json
expect 0 err "the routings of 3 iterations of run 1 in loads" "$moe_db" export routing --db a.db --run 1 --each loads
cmp -s r.json loads/iteration-2.json || { echo "FAILED: the file of iteration 2 is another"; failures=$((failures + 1)); }
expect 2 err "--output or --each" "$moe_db" export routing --db a.db --run 1
expect 2 err "none/loads: cannot be made" "$moe_db" export routing --db a.db --run 1 --each none/loads
expect 2 err "run 1 has no loads of iteration 7" "$moe_db" export routing --db a.db --run 1 --iteration 7 -o r.json
expect 2 err "no run 9" "$moe_db" export routing --db a.db --run 9 -o r.json
expect 2 err "name another file for output" "$moe_db" export routing --db a.db --run 1 -o a.db

# Timelines: the figures are those of the views.
expect 0 out "a rank computed for" "$moe_db" why --db a.db --timeline 1
expect 0 out "timeline,about,what,rank,count,time_s" "$moe_db" why --db a.db --run 1 --format csv
expect 0 out "first_s" "$moe_db" why --db a.db --timeline 1 --timeline 2 --format json
expect 0 out "Both took as long." "$moe_db" why --db a.db --timeline 1 --run 1
exposed=$("$moe_db" query --db a.db --format csv "SELECT avg(exposed_s) FROM activity_view WHERE timeline = 1" | tail -1)
expect 0 out "1,time,exposed,,,$exposed," "$moe_db" why --db a.db --timeline 1 --format csv
first=$("$moe_db" why --db a.db --trial 2 --timeline 1 | sed -n 1p)
case $first in
  *" of timeline 2 "*) ;;
  *) echo "FAILED: the trial was named first: $first"; failures=$((failures + 1)) ;;
esac
expect 2 err "0 timelines: expected one or two" "$moe_db" why --db a.db
expect 2 err "no run 9" "$moe_db" why --db a.db --run 9
expect 2 err "no trial 9" "$moe_db" why --db a.db --trial 9
expect 2 err "trial 3 has no timeline" "$moe_db" why --db a.db --trial 3

# Studies, and whole files.
expect 0 out "2.00x over sequential" "$moe_db" best "sample study" --db a.db
expect 0 out "moe-train --model" "$moe_db" best --db a.db --format csv
expect 2 err "no study another" "$moe_db" best another --db a.db
expect 0 err "the schedule of trial 2: tutel" "$moe_db" export schedule --db a.db --trial 2 -o s.json
grep -q '"planner": "tutel"' s.json || { echo "FAILED: s.json has another schedule: $(cat s.json)"; failures=$((failures + 1)); }
expect 2 err "no trial 9" "$moe_db" export schedule --db a.db --trial 9 -o s.json
expect 0 out "computation ran" "$moe_db" columns activity_view
expect 2 err "no view x_view" "$moe_db" columns x_view
"$sample" b.db "UPDATE run SET started_at = 5" || exit 1
expect 0 err "b.db: 1 run, 1 study, 2 timelines; its run 1 is run 2" "$moe_db" merge a.db b.db -o both.db
"$moe_db" merge a.db b.db -o both2.db 2>&1 | grep -qF "study sample study is called sample study (b) now" || { echo "FAILED: a renamed study is not named"; failures=$((failures + 1)); }
expect 0 out "both.db: sound" "$moe_db" check --db both.db
expect 2 err "both.db: is there already" "$moe_db" merge a.db -o both.db
expect 2 err "one file is a copy of another" "$moe_db" merge a.db both.db -o more.db
expect 2 err "expected --output with a new database, or --db" "$moe_db" merge a.db b.db
expect 2 err "excludes" "$moe_db" merge a.db -o more.db --db b.db
expect 2 err "no such file" "$moe_db" merge a.db --db more.db
[ ! -e more.db ] || { echo "FAILED: a merge that was refused left a file"; failures=$((failures + 1)); }
cp a.db into.db
expect 0 err "b.db: 1 run, 1 study, 2 timelines; its run 1 is run 2" "$moe_db" merge b.db --db into.db
expect 2 err "one file is a copy of another" "$moe_db" merge a.db b.db --db into.db
expect 0 out "into.db: sound" "$moe_db" check --db into.db
expect 0 out "one repeat" "$moe_db" compare-studies "sample study" "sample study (b)" --db both.db
"$sample" both.db "UPDATE run SET network = 'box 1 Gbit/s' WHERE id = 2"
expect 2 err "network of sample study: not known, of sample study (b): box 1 Gbit/s" "$moe_db" compare-studies "sample study" "sample study (b)" --db both.db
expect 0 err "network of" "$moe_db" compare-studies "sample study" "sample study (b)" --db both.db --anyway
expect 0 err "both.db: 24 spans of 4 timelines removed" "$moe_db" prune --db both.db --keep-spans 0
expect 2 err "no such file" "$moe_db" prune --db none.db --keep-spans 0
expect 2 err "--keep-spans is required" "$moe_db" prune --db both.db
for beside in ./*.db-wal ./*.db-shm; do
  [ ! -e "$beside" ] || { echo "FAILED: $beside is left beside its database"; failures=$((failures + 1)); }
done

# What is named for output: a database never, links and devices through.
cp a.db before.db
ln -s a.db link.db
for name in a.db a.db-wal a.db-shm a.db-journal link.db before.db; do
  expect 2 err "name another file for output" "$moe_db" export trace --db a.db --run 1 -o $name
done
cmp -s a.db before.db || { echo "FAILED: the database changed"; failures=$((failures + 1)); }
ln -s target.json link.json
expect 0 err "timeline 1" "$moe_db" export trace --db a.db --run 1 -o link.json
[ -L link.json ] && [ -s target.json ] || { echo "FAILED: a link was replaced"; failures=$((failures + 1)); }
if [ -w /dev/full ]; then
  expect 1 err "/dev/full: cannot be written: No space left" "$moe_db" export trace --db a.db --run 1 -o /dev/full
  [ -c /dev/full ] || { echo "FAILED: a device was replaced"; failures=$((failures + 1)); }
fi
expect 2 err "no such file" "$moe_db" check --db none.db --fix
[ ! -e none.db ] || { echo "FAILED: a mistyped name made a database"; failures=$((failures + 1)); }
mkfifo pipe
expect 2 err "is a pipe, not a database" timeout 10 "$moe_db" runs --db pipe
expect 2 err "is a device, not a database" timeout 10 "$moe_db" runs --db /dev/zero

expect 0 out "a.db: sound" "$moe_db" check --db a.db
"$sample" stale.db "UPDATE run SET status = 'running', heartbeat_at = started_at - 600"
expect 1 out "says it is running" "$moe_db" check --db stale.db
expect 0 err "1 runs marked killed" "$moe_db" check --db stale.db --fix
expect 0 out "sound" "$moe_db" check --db stale.db

echo "not a database" >text
expect 2 err "text: not a SQLite database" "$moe_db" runs --db text
expect 2 err "text: not a SQLite database" "$moe_db" check --db text
[ "$(cat text)" = "not a database" ] || { echo "FAILED: the text file changed"; failures=$((failures + 1)); }
"$sample" newer.db "PRAGMA user_version = 9"
expect 2 err "version 9, made by a newer moelab" "$moe_db" runs --db newer.db
head -c 8192 a.db >short.db
expect 2 err "truncated" "$moe_db" runs --db short.db
expect 1 out "truncated or damaged" "$moe_db" check --db short.db

# A reader that has seen enough is no failure; a full disk is one.
big="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT i FROM n"
{ "$moe_db" query --db a.db --format csv "$big" 2>err; echo $? >code; } | head -n 1 >out
[ "$(cat code)" = 0 ] && [ ! -s err ] || { echo "FAILED: | head: $(cat code err)"; failures=$((failures + 1)); }
if [ -w /dev/full ]; then
  "$moe_db" runs --db a.db >/dev/full 2>err
  [ $? = 1 ] || { echo "FAILED: a full disk is not an error"; failures=$((failures + 1)); }
  "$moe_db" --help >/dev/full 2>err
  [ $? = 1 ] || { echo "FAILED: help on a full disk is not an error"; failures=$((failures + 1)); }
  stdbuf -oL "$moe_db" --help >/dev/full 2>err
  [ $? = 1 ] || { echo "FAILED: help line by line on a full disk: $(cat err)"; failures=$((failures + 1)); }
  "$moe_db" --no-such 2>/dev/full
  [ $? = 2 ] || { echo "FAILED: wrong use with nowhere to say so"; failures=$((failures + 1)); }
fi

[ "$failures" = 0 ] && echo "all passed"
exit "$failures"
