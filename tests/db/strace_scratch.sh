# shellcheck shell=sh
# Sourced by the tests that trace programs: goes to a scratch folder that is removed with the test. Ends the test as skipped
# (77) without strace, or where tracing is not permitted.
command -v strace >/dev/null || { echo "no strace"; exit 77; }
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
strace -o trace true 2>/dev/null || { echo "tracing is not permitted"; exit 77; }
