#!/usr/bin/env bash
# Asks the demo checkpoint a few questions about the pictures in examples/: picture, question, answer, timings.
#   ask.sh MLXCEL MODEL
set -euo pipefail
cd "$(dirname "$0")/../.."
mlxcel=$1
model=$2
ask() {
  printf '\npicture:  %s\nquestion: %s\nanswer:   ' "$1" "$2"
  "$mlxcel" generate -m "$model" --image "$1" -p "$2" -n 32 --verbose 2>&1
}
ask examples/red_circle.png "What color is the circle?"
ask examples/red_circle.png "Where is the red circle?"
ask examples/shapes.jpg "Describe this image."
