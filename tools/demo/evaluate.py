"""Scores a checkpoint on held-out pictures, 500 for each kind of question.

With --mlxcel it runs the real program, one process per question; with --torch it answers in
PyTorch. Drawing and scoring need only numpy and Pillow.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from draw import make_scene, render_original, size_table
from questions import PHRASES, ask

HELD_OUT_SEED = 20250  # training uses small seeds
KINDS = ["plain", "color", "shape", "where", "count", "describe", "ground", "exists"]
SHAPES = {"plain": (0,), "describe": (1, 2), "count": (1, 2, 3)}


def draw_questions(folder, per_kind):
    """Draws the pictures; returns [(kind, picture path, question, expected answer)]."""
    os.makedirs(folder, exist_ok=True)
    rng, items = random.Random(HELD_OUT_SEED), []
    sizes = [size for sizes in size_table(rng, 400).values() for size in sizes]
    for kind in KINDS:
        made = 0
        while made < per_kind:
            scene = make_scene(rng, rng.choice(sizes), rng.choice(SHAPES.get(kind, (1, 2, 3))))
            turn = ask(rng, scene, kind)
            if turn is None:
                continue
            image = render_original(scene)
            lossy = made % 4 == 3
            path = os.path.join(folder, f"{kind}-{made:03d}.{'jpg' if lossy else 'png'}")
            image.save(path, **({"quality": 92} if lossy else {}))
            items.append((kind, path, turn.question, turn.answer))
            made += 1
    with open(os.path.join(folder, "questions.jsonl"), "w") as f:
        for kind, path, question, expected in items:
            entry = {"kind": kind, "image": os.path.basename(path)}
            entry.update(question=question, answer=expected)
            f.write(json.dumps(entry) + "\n")
    return items


def normal(text):
    return text.strip().lower().rstrip(".").strip()


def is_right(kind, expected, given):
    if kind != "where":
        return normal(given) == normal(expected)
    place = next(p for p, phrase in PHRASES.items() if phrase == expected)
    named = [p for p in PHRASES if p in normal(given).split()]
    return named == [place]


def run_program(program, model, path, question):
    command = [program, "generate", "-m", model, "--image", path, "-p", question]
    command += ["-n", "24", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["text"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mlxcel", help="the program to run")
    parser.add_argument("--model", default="models/mage-vl-demo")
    parser.add_argument("--torch", metavar="CHECKPOINT", help="answer with PyTorch instead")
    parser.add_argument("--folder", default="held-out", help="where the pictures are drawn")
    parser.add_argument("--per-kind", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--wrong", type=int, default=0, help="wrong answers to show per kind")
    parser.add_argument("--answers", help="also write all answers to this JSON lines file")
    options = parser.parse_args()
    if bool(options.mlxcel) == bool(options.torch):
        parser.error("give either --mlxcel or --torch")
    items = draw_questions(options.folder, options.per_kind)
    if options.torch:
        from reference import answer_all

        given = answer_all(options.torch, [(path, question) for _, path, question, _ in items])
    else:
        with ThreadPoolExecutor(options.jobs) as pool:
            ask_one = lambda item: run_program(options.mlxcel, options.model, item[1], item[2])
            given = list(pool.map(ask_one, items))
    if options.answers:
        with open(options.answers, "w") as f:
            for (kind, path, question, expected), text in zip(items, given):
                f.write(json.dumps([kind, os.path.basename(path), question, expected, text]) + "\n")
    print(f"{'kind':10} {'right':>6} {'total':>6} {'share':>8}")
    for kind in KINDS:
        mine = [(item, text) for item, text in zip(items, given) if item[0] == kind]
        wrong = [(item, text) for item, text in mine if not is_right(kind, item[3], text)]
        right = len(mine) - len(wrong)
        print(f"{kind:10} {right:6} {len(mine):6} {100 * right / len(mine):7.1f}%")
        for (_, path, question, expected), text in wrong[: options.wrong]:
            print(f"    {path}: {question!r} expected {expected!r}, got {text!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
