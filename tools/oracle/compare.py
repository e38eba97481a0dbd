"""Compares two files of stages, one by one: what `mlxcel dump` wrote with what the reference wrote.

    compare.py DUMP.safetensors GOLDEN.safetensors [--tolerance 2e-3]

Integers must be equal; floats may differ by tolerance * max(1, largest value of the stage), and
pixel_values by 1e-5. Every stage of the golden file must be there. Exits 0 when all of them hold.
Stages come in the order in which they are computed: the first that differs is the one to look at.
"""

import argparse
import sys

import numpy as np
from safetensors import safe_open

PIXEL_TOLERANCE = 1e-5

ORDER = [
    "input_ids",
    "position_ids",
    "grid_thw",
    "pixel_values",
    "vision.position_ids",
    "vision.patch_embed",
    "vision.layernorm_pre",
    "vision.block",
    "vision.merger",
    "inputs_embeds",
    "decoder.hidden",
    "decoder.norm",
    "logits",
    "tokens",
]


def place(name):
    """Sorts stages; those of later families come last."""
    stem, _, number = name.rpartition(".")
    if number.isdigit():
        name, number = stem, int(number)
    else:
        number = 0
    return (ORDER.index(name) if name in ORDER else len(ORDER), name, number)


def read(path):
    with safe_open(path, "np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}


def judge(name, got, want, tolerance):
    """(holds, a line that says by how much)."""
    if got is None:
        return False, "missing"
    if got.shape != want.shape:
        return False, f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "iu":
        differing = int((got != want).sum())
        return differing == 0, f"{want.shape}, {differing} of {want.size} differ"
    if not np.isfinite(got).all():
        return False, "not finite"
    largest = float(np.abs(want).max(initial=0))
    difference = float(np.abs(got.astype(np.float64) - want).max(initial=0))
    limit = PIXEL_TOLERANCE if name == "pixel_values" else tolerance * max(1.0, largest)
    return difference <= limit, f"{want.shape}, off by {difference:.1e} (limit {limit:.1e})"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dump")
    parser.add_argument("golden")
    parser.add_argument("--tolerance", type=float, default=2e-3)
    args = parser.parse_args()
    (got, _), (want, metadata) = read(args.dump), read(args.golden)
    if "logits" in got and "logits_rows" in metadata:
        got["logits"] = got["logits"][-len(want["logits"]) :]
    failures = 0
    for name, expected in sorted(want.items(), key=lambda item: place(item[0])):
        if name.startswith("tokens_theta"):  # what a wrong rope base would give
            continue
        holds, text = judge(name, got.get(name), expected, args.tolerance)
        print(f"{name:24s} {'ok     ' if holds else 'DIFFERS'} {text}")
        failures += not holds
    print("all stages hold" if failures == 0 else f"{failures} stages do not hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
