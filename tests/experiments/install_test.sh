#!/usr/bin/env bash
# install_test.sh BUILD [PROGRAM...]: what `cmake --install` puts under a prefix works after the prefix was moved, with
# the checkout and the build hidden where this machine permits that, and bash completes the programs' options.
# shellcheck disable=SC2317
set -euo pipefail
build=$1
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

cmake --install "$build" --prefix "$scratch/first" > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
mv "$scratch/first" "$scratch/moved"
prefix=$scratch/moved

# shellcheck disable=SC2016
uses='set -e
  cd /
  "$0/bin/moe-train" --model micro --steps 1 --threads 1 --evaluate-batches 0
  "$0/bin/moe-tune" compare --model box-small --cluster box --ranks 2 --planners sequential,tutel'
hidden=()
if unshare --mount true 2> /dev/null; then
  # shellcheck disable=SC2016
  hidden=(unshare --mount bash -c 'for folder in "$1" "$2"; do
      [[ ! -d $folder ]] || mount -t tmpfs none "$folder" || exit
    done
    shift 2
    exec "$@"' hide "$root" "$(readlink -f "$build")")
else
  echo "the checkout is not hidden: this machine permits no mounts"
fi
works() { "${hidden[@]}" bash -c "$uses" "$prefix" > "$scratch/log" 2>&1 || { cat "$scratch/log"; return 1; }; }
expect "training and planning need no checkout" works
expect "they train on the installed text" grep -qF moelab.txt "$scratch/log"
for script in quickstart cluster-in-a-box; do
  expect "moelab-$script is there" "$prefix/bin/moelab-$script" --help > /dev/null
done

completes() {
  local expected=$1
  shift
  (
    # shellcheck disable=SC1091
    source "$prefix/share/bash-completion/completions/moe-tune"
    COMP_WORDS=("$prefix/bin/$1" "${@:2}")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _moelab "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" x
    [[ " ${COMPREPLY[*]} " == *" $expected "* ]] || { echo "  completed to: ${COMPREPLY[*]}"; exit 1; }
  )
}
expect "an option is completed" completes --steps moe-train --st
expect "a subcommand is completed" completes compare moe-tune comp
expect "an option of a subcommand is completed" completes --cluster moe-tune compare --cl
exit $((failures > 0))
