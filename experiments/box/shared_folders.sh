# shellcheck shell=bash
# Sourced by cluster-in-a-box: folders that all nodes see.
# shellcheck disable=SC2034,SC2154

# Folders that every node has for itself, without links in their names.
mapfile -t apart < <(realpath /tmp /dev/shm)

# The folder of the nodes' own that takes the place of $1 on other nodes than node0, if one does.
hidden_by() {
  local folder place
  folder=$(realpath -- "$1")
  for place in "${apart[@]}"; do
    if [[ $folder == "$place" ]]; then echo "$place"; fi
  done
  if [[ $folder/ == /run/* ]]; then echo /run; fi
}

# Those that take the place of a part of $1.
hidden_in() {
  local folder place
  folder=$(realpath -- "$1")
  for place in "${apart[@]}" /run; do
    if [[ $place == "${folder%/}"/* ]]; then echo "$place"; fi
  done
}

# Adds folder $2, by its name and by that without links, to those that all nodes see. Where that
# cannot be, and $1 is a name for users, this says so.
share_folder() {
  local name=$1 folder=$2 place
  [[ -d $folder ]] || return 0
  place=$(hidden_by "$folder")
  if [[ -z $place ]]; then
    shared+=$(realpath --no-symlinks -- "$folder")$'\n'$(realpath -- "$folder")$'\n'
  elif [[ -n $name ]] && ((nodes > 1)); then
    echo "cluster-in-a-box: $name, $(realpath -- "$folder"), is not on the other nodes, which have their own $place:" \
      "a folder below /tmp would be on all nodes" >&2
  fi
}
