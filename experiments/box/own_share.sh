# shellcheck shell=bash
# Sourced by cluster-in-a-box: a share of a core for each node, by control groups.
# shellcheck disable=SC2034,SC2154

# A node may compute for its share of each period. The kernel takes no quota below a millisecond.
readonly share_period_us=10000
readonly least_quota_us=1000

# How many nodes share a core, where they outnumber cores; else 1.
nodes_of_core() {
  local cores
  cores=$(allowed_cores | wc -l)
  echo $((($1 + cores - 1) / cores))
}

# Lines "VERSION FOLDER": control groups that may hold those of a box. The group of this process comes
# first, then that at the top of what is mounted.
group_folders() {
  awk '
    FNR == NR {
      path = controllers = $0
      sub(/^[^:]*:[^:]*:/, "", path)
      sub(/^[^:]*:/, "", controllers)
      sub(/:.*/, "", controllers)
      if (/^0::/) own[2] = path
      else if ("," controllers "," ~ /,cpu,/) own[1] = path
      next
    }
    {
      for (i = 7; i <= NF && $i != "-"; ++i) { }
      version = $(i + 1) == "cgroup2" ? 2 : $(i + 1) == "cgroup" && "," $(i + 3) "," ~ /,cpu,/ ? 1 : 0
      if (!(version in own)) next
      below = own[version]
      if ($4 != "/") below = index(below "/", $4 "/") == 1 ? substr(below, length($4) + 1) : ""
      if (below != "" && below != "/") print version, $5 below
      print version, $5
    }' /proc/self/cgroup /proc/self/mountinfo
}

# Lets the processes of a group compute on 1 / $3 of a core.
limit_group() {
  local version=$1 group=$2 sharers=$3 period=$share_period_us
  ((period >= sharers * least_quota_us)) || period=$((sharers * least_quota_us))
  if ((version == 1)); then
    echo $period > "$group/cpu.cfs_period_us" && echo $((period / sharers)) > "$group/cpu.cfs_quota_us"
  elif [[ -e $group/cpu.max ]]; then
    echo "$((period / sharers)) $period" > "$group/cpu.max"
  else
    echo "cpu is not in ${group%/*}/cgroup.subtree_control"
    return 1
  fi
}

# Makes the groups of all nodes in a folder, and enters each for a moment. Fails with words where that
# is not permitted.
make_groups_in() {
  local version=$1 folder=$2 name=$3 nodes=$4 sharers=$5 node group
  for ((node = 0; node < nodes; node++)); do
    group=$folder/$name.node$node
    echo "$group" >> /run/box/groups
    if ! mkdir "$group" || ! limit_group "$version" "$group" "$sharers" || ! echo 0 > "$group/cgroup.procs"; then
      return 1
    fi
    echo "$group" > "/run/box/group$node"
  done
}

make_groups() {
  local nodes=$1 sharers=$2 version folder name why='the kernel has no control groups of processors'
  name=$(mktemp -u moelab-box.XXXXXX)
  while read -r version folder; do
    # In a process of its own, which leaves the groups when it ends.
    if why=$(make_groups_in "$version" "$folder" "$name" "$nodes" "$sharers" 2>&1); then return; fi
  done < <(group_folders)
  fail 3 "--own-share: this machine lets no node have its own share of a core: ${why##*$'\n'}"
}

# The processes that this one starts are in the group with it.
enter_group() {
  if [[ -e /run/box/group$1 ]]; then echo 0 > "$(< "/run/box/group$1")/cgroup.procs"; fi
}
