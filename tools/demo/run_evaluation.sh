#!/usr/bin/env bash
# Draws 500 held-out pictures for each kind of question, asks the program, and prints the share of right
# answers. Needs Python with numpy and Pillow; without them it makes a virtual environment in .deps/.
#   run_evaluation.sh MLXCEL MODEL [more flags of evaluate.py]
set -euo pipefail
cd "$(dirname "$0")/../.."
mlxcel=$1
model=$2
shift 2
python=python3
if ! python3 -c 'import numpy, PIL' 2>/dev/null; then
  python=.deps/evaluation/bin/python
  if ! "$python" -c 'import numpy, PIL' 2>/dev/null; then
    python3 -m venv .deps/evaluation
    "$python" -m pip install --quiet --disable-pip-version-check numpy pillow
  fi
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" tools/demo/evaluate.py --mlxcel "$mlxcel" --model "$model" --folder "$folder" "$@"
