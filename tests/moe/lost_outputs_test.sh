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
    grep -q "bad.db: the rows of iterations .* of run 1 are lost" err || fail "what is lost was not said: $(cat err)"
    "$moe_db" check --stale-after 1000 --db bad.db >out 2>err || fail "the database is spoilt: $(cat out err)"
    last=$(find c -name 'iteration-????????' | sort | tail -n 1)
    last=$((10#${last##*-}))
    "${training[@]}" --checkpoint c --resume --db bad.db --steps $((last + 3)) >out 2>err || fail "no resume: $(cat err)"
    # A slow machine may have stored none before the disk fails.
    grep -Eq "bad.db: run 1 has (rows up to iteration .* to|no rows: those up to iteration) $last are missing" err || fail "no word of lost rows: $(cat err)"
    "$moe_db" check --stale-after 1000 --db bad.db >out && fail "lost rows are sound"
    grep -Eq "run 2 goes on with iteration $((last + 1)) from run 1, (.* to $last|which has no rows)" out || fail "check said: $(cat out)"
  done

  # A log that a disk refuses for a while: a resume says what it lacks, and cuts what follows.
  rm -rf c part.jsonl
  strace -f -qq -o trace -P "$directory/part.jsonl" -e trace=write -e inject=write:error=ENOSPC:when=5+ \
    "${training[@]}" --log part.jsonl --checkpoint c --steps 1000 >out 2>err
  printf '{"iteration":5,"lo' >>part.jsonl
  "${training[@]}" --log part.jsonl --checkpoint c --resume --steps 9 >out 2>err || fail "no resume: $(cat err)"
  grep -q "part.jsonl: has no lines of iterations 5 to " err || fail "of a log with gaps it said: $(cat err)"
  sed 's/^{"iteration":\([0-9]*\),.*/\1/' part.jsonl >out
  [ "$(head -n 4 out) $(tail -n 1 out)" = "$(seq 4) 9" ] || fail "the log has $(cat out)"
fi

# A log that is deleted.
rm -rf c away.jsonl
"${training[@]}" --steps 1000000 --log away.jsonl --checkpoint c >out 2>err &
child=$!
for _ in $(seq 300); do
  [ -s away.jsonl ] && break
  sleep 0.1
done
rm away.jsonl
wait $child
[ $? = 1 ] || fail "a deleted log was no failure: $(cat err)"
grep -q "away.jsonl: was deleted or replaced while it was written" err || fail "of a deleted log it said: $(cat err)"
ls c/iteration-*/index.json >/dev/null 2>&1 || fail "a deleted log left no checkpoint"

# A kill before the first checkpoint: what begins anew cuts the lines of the one that was killed, and no others.
rm -rf c anew.jsonl
"${training[@]}" --steps 2 --log anew.jsonl >out 2>err
"${training[@]}" --steps 1000000 --log anew.jsonl --checkpoint c >out 2>err &
child=$!
for _ in $(seq 300); do
  [ "$(wc -l <anew.jsonl)" -gt 6 ] && break
  sleep 0.1
done
kill -KILL $child
wait $child 2>/dev/null
"${training[@]}" --steps 3 --log anew.jsonl --checkpoint c --resume >out 2>err || fail "no second begin: $(cat err)"
[ "$(sed 's/^{"iteration":\([0-9]*\),.*/\1/' anew.jsonl | tr '\n' ' ')" = "1 2 1 2 3 " ] ||
  fail "the log has other iterations: $(cut -c 1-40 anew.jsonl) after: $(cat err)"

# A part that is stored nowhere.
rm -rf c
parts=("${training[@]}" --checkpoint c)
"${parts[@]}" --steps 4 --db parts.db >out 2>err
"${parts[@]}" --steps 6 --resume >out 2>err
"${parts[@]}" --steps 8 --resume --db parts.db >out 2>err
grep -q "parts.db: run 1 has rows up to iteration 4: those of 5 to 6 are missing" err || fail "of a gap it said: $(cat err)"
"$moe_db" query --db parts.db --format csv "SELECT run, resumes_run FROM run_view ORDER BY run" >out
[ "$(tail -n 1 out)" = 2,1 ] || fail "a run does not know the last one that is stored: $(cat out)"
[ "$failures" = 0 ] && echo "no output was lost in silence"
exit "$failures"
