# Bash completion of the five programs: subcommands and options, as each program lists them in its own --help.
_moelab() {
  local program=$1 current=$2 word
  # The subcommands that were typed come before the first option.
  local -a subcommands=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word != -* ]] || break
    subcommands+=("$word")
  done
  local help
  help=$("$program" "${subcommands[@]}" --help 2> /dev/null) || return 0
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE -- '--[a-z][a-z0-9-]*' <<< "$help" | sort -u)" -- "$current")
  else
    # Lines below "Subcommands:" begin with a name.
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z0-9-]*\) .*/\1/p' <<< "$help")" -- "$current")
  fi
}
complete -o default -F _moelab moe-bench moe-train moe-tune moe-db moe-view
