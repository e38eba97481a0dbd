#!/usr/bin/env bash
# Runs every fuzz target of a build folder for some seconds each, from the seeds in tests/fuzz/NAME.
#   run.sh BUILD_FOLDER SECONDS
# A finding stops the run with the input's file name; new inputs stay in the build folder.
set -euo pipefail
build=$1
seconds=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
targets=$(find "$build" -type f -name '*_fuzz' -perm -u+x | sort)
[ -n "$targets" ] || { echo "no fuzz targets in $build" >&2; exit 1; }
for target in $targets; do
  name=$(basename "$target" _fuzz)
  corpus=$build/corpus/$name
  mkdir -p "$corpus"
  seeds=()
  for folder in "$root/tests/fuzz/$name" "$root/tests/fuzz/image/$name"; do
    [ -d "$folder" ] && seeds+=("$folder")
  done
  echo "fuzzing $name for $seconds s"
  if ! "$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
    -artifact_prefix="$build/corpus/$name-finding-" "$corpus" "${seeds[@]}" >"$build/corpus/$name.log" 2>&1; then
    tail -n 40 "$build/corpus/$name.log" >&2
    echo "$name: a finding; see $build/corpus/$name.log" >&2
    exit 1
  fi
  grep -E 'stat::number_of_executed_units' "$build/corpus/$name.log" | sed 's/^/  /'
done
echo "no findings"
