#!/bin/bash
# lost_outputs_test.sh MOE-TRAIN MOE-DB: a log, a database or stdout that fails ends a training with a checkpoint, and a
# kill loses nothing that a checkpoint counts on.
moe_train=$1
moe_db=$2
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
seq 9000 >corpus.txt
training=("$moe_train" --model micro --data corpus.txt --threads 1 --evaluate-batches 0)

# ends CODE TEXT COMMAND...: it ends with this code, says this on stderr, and leaves a checkpoint in the folder c.
ends() {
  local code=$1 text=$2 got
  shift 2
  rm -rf c
  timeout 100 "$@" --steps 1000000 --checkpoint c >out 2>err
  got=$?
  [ "$got" = "$code" ] || fail "$* ended with $got, not $code: $(cat err)"
  grep -qF -e "$text" err || fail "$* said: $(cat err), not: $text"
  ls c/iteration-*/index.json >/dev/null 2>&1 || fail "$* left no checkpoint: $(cat err)"
}
for ranks in 1 2; do
  ends 1 "/dev/full: cannot be written: No space left on device" "${training[@]}" --ranks $ranks --log /dev/full
  grep -q "stopped after iteration 2: " err || fail "not stopped in order: $(cat err)"
  rm -f log && mkfifo log
  head -n 2 <log >/dev/null &
  ends 141 "log: cannot be written: Broken pipe" "${training[@]}" --ranks $ranks --log log
done
exec 7<>log # a reader that takes nothing
ends 1 "log: cannot be written: its reader has taken nothing for 1.0 s" "${training[@]}" --log log --time-limit 2
exec 7>&-
"${training[@]}" --steps 3 --format json --log /dev/full >out 2>err
grep -q '"status":"lost_output","rank":0,"message":"' out || fail "another outcome: $(cat out err)"
ends 1 "stdout" sh -c '"$@" >/dev/full' sh "${training[@]}" --log-every 1

# A reader of stdout that goes away.
rm -rf c
{ "${training[@]}" --steps 1000000 --log-every 1 --checkpoint c 2>err; echo $? >ended; } | head -n 3 >/dev/null
[ "$(cat ended)" = 141 ] || fail "a closed stdout ended with $(cat ended): $(cat err)"
grep -q "cannot be written" err && fail "of a closed stdout it said: $(cat err)"
ls c/iteration-*/index.json >/dev/null 2>&1 || fail "a closed stdout left no checkpoint"

# What is no log is refused, and stays.
refused() {
  local text=$1
  shift
  timeout 100 "${training[@]}" --steps 2 "$@" >out 2>err
  local got=$?
  [ "$got" = 2 ] || fail "$* ended with $got, not 2: $(cat err)"
  grep -qF -e "$text" err || fail "$* said: $(cat err), not: $text"
}
refused "log: no program reads this pipe: begin its reader first" --log log
"${training[@]}" --steps 2 --db results.db --quiet >out
cksum results.db >before
refused "results.db: is a database: name another file for output" --log results.db
refused "results.db-wal: belongs to the database results.db" --log results.db-wal --db results.db
refused "results.db-shm: belongs to the database results.db" --log results.db-shm
[ "$(cksum results.db)" = "$(cat before)" ] || fail "a database was changed that is no log"
refused "new.db: belongs to the database new.db" --log new.db --db new.db
[ -e new.db ] && fail "a database was made for a refused log"
refused "a folder cannot be on stdout" --checkpoint -
"${training[@]}" --steps 3 --format csv --log - >out 2>err
[ "$(grep -c '^{"iteration":' out)" = 3 ] || fail "no log on stdout: $(cat out err)"
[ -e ./- ] && fail "a file called -"

# A kill after a checkpoint: the database has all iterations up to it, the log none twice, the next run knows this one.
for ranks in 1 2; do
  rm -rf c kept.db* kept.jsonl
  kept=("${training[@]}" --ranks $ranks --checkpoint c --db kept.db --log kept.jsonl --timelines 0 --format csv)
  "${kept[@]}" --steps 1000000 --checkpoint-every 7 >out 2>err &
  child=$!
  for _ in $(seq 300); do
    ls c/iteration-*[5-9]/index.json >/dev/null 2>&1 && break
    sleep 0.1
  done
  sleep 0.1
  kill -KILL $child
  wait $child 2>/dev/null
  sleep 2 # the ranks of a killed launcher end
  last=$(find c -name 'iteration-????????' | sort | tail -n 1)
  last=$((10#${last##*-}))
  [ "$("$moe_db" query --db kept.db --format csv "SELECT count(*) FROM iteration WHERE iteration <= $last" | tail -n 1)" = \
    "$last" ] || fail "the database lacks iterations up to $last, $ranks ranks"
  "${kept[@]}" --steps $((last + 5)) --resume >out 2>err || fail "no resume: $(cat err)"
  [ "$(sed 's/^{"iteration":\([0-9]*\),.*/\1/' kept.jsonl)" = "$(seq $((last + 5)))" ] ||
    fail "the log has other iterations than each once: $(cut -c 1-40 kept.jsonl | tail -n 20)"
  [ "$(grep -c "\"resumed\":$last," kept.jsonl)" = 1 ] || fail "no line says where it was resumed"
  "$moe_db" query --db kept.db --format csv "SELECT run, resumes_run FROM run_view ORDER BY run" >out
  [ "$(tail -n 1 out)" = 2,1 ] || fail "a run does not know the one before: $(cat out)"
  "$moe_db" runs --db kept.db >out
  grep -q resumes_run out || fail "moe-db runs does not tell: $(cat out)"
done

# A database that fails.
if strace -f -o trace true 2>/dev/null; then
  for error in ENOSPC EIO; do
    rm -f bad.db*
    ends 1 "bad.db: " strace -f -qq -o trace -P "$directory/bad.db-wal" -e trace=pwrite64 \
      -e "inject=pwrite64:error=$error:when=60+" "${training[@]}" --db bad.db
    grep -q INJECTED trace || fail "nothing failed"
    "$moe_db" check --stale-after 1000 --db bad.db >out 2>err || fail "the database is spoilt: $(cat out err)"
  done
fi
[ "$failures" = 0 ] && echo "no output was lost in silence"
exit "$failures"
