#!/usr/bin/env bash
# package_test.sh BUILD: what cpack makes of a build, a Debian package and an archive: version, contents, dependencies,
# and programs that run where they were unpacked. Nothing is installed.
# shellcheck disable=SC2317
set -euo pipefail
build=$1
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
command -v dpkg-shlibdeps > /dev/null || { echo "skipped: no dpkg-shlibdeps (package dpkg-dev)"; exit 77; }

version=$(sed -n 's/^project(moelab VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
cpack --config "$build/CPackConfig.cmake" -B "$scratch" > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
deb=$scratch/moelab_${version}_$(dpkg --print-architecture).deb
archive=$(echo "$scratch"/moelab-*.tar.gz)
dpkg-deb -x "$deb" "$scratch/root"
prefix=$scratch/root/usr
mkdir "$scratch/archive"
tar -xf "$archive" -C "$scratch/archive" --strip-components 1

field() { dpkg-deb -f "$deb" "$1"; }
expect "the package is moelab" equal "$(field Package)" moelab
expect "its version is that of CMakeLists.txt" equal "$(field Version)" "$version"
expect "the changes begin with that version" equal "$(awk '/^## / { print $2; exit }' "$root/.github/CHANGELOG.md")" "$version"
expect "the archive is of that version, too" equal "${archive##*/}" "moelab-$version-Linux.tar.gz"
expect "all files are root's" equal "$(dpkg-deb -c "$deb" | awk '{ print $2 }' | sort -u)" root/root

files_below() { (cd "$1" && find . ! -type d | sort); }
expect "package and archive have the same files" diff <(files_below "$prefix") <(files_below "$scratch/archive")
for file in share/doc/moelab/copyright share/moelab/experiments/models/tiny.toml share/moelab/text/moelab.txt \
  share/bash-completion/completions/moe-tune; do
  expect "$file is there" test -s "$prefix/$file"
done
for program in moe-train moe-tune moe-db $(cd "$build/bin" && ls moe-bench moe-view 2> /dev/null); do
  expect "$program tells the version" equal "$("$prefix/bin/$program" --version | awk '{ print $2 }')" "$version"
done
quietly() { "$@" > "$scratch/log" 2>&1 || { cat "$scratch/log"; return 1; }; }
expect "moelab-quickstart runs" quietly "$prefix/bin/moelab-quickstart" --help
expect "the archive plans" quietly "$scratch/archive/bin/moe-tune" plan --model tiny --cluster box --planner tutel \
  -o "$scratch/schedule.json"

# The packages of the libraries that the programs name. Those of CUDA are no packages of Debian.
packages_of_libraries() {
  local -a paths
  # Debian 12 calls some files by their path below /lib, where /usr/lib is meant.
  mapfile -t paths < <(for program in "$prefix"/bin/moe-*; do
    ldd "$program" | awk -v named="$(objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }' | xargs)" \
      'index(" " named " ", " " $1 " ") && $3 { print $3 }'
  done | sort -u | while read -r path; do readlink -f "$path"; done | sed 'p; s|^/usr||' | sort -u)
  { dpkg-query -S "${paths[@]}" 2> /dev/null || true; } | sed 's/[:,].*//' | sort -u
}
depends=" $(field Depends | sed 's/ *([^)]*)//g; s/[,|]/ /g') "
packages=$(packages_of_libraries)
expect "its libraries are of packages" test -n "$packages"
for package in $packages; do
  named=no
  for name in "$package" $(dpkg-query -W -f '${Provides}' "$package" | sed 's/ *([^)]*)//g; s/,/ /g'); do
    [[ $depends != *" $name "* ]] || named=yes
  done
  expect "it depends on $package" equal "$named" yes
done
exit $((failures > 0))
