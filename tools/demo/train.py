"""Trains the demo checkpoint: first the tower by what each visual token shows, then everything.

The decoder cannot learn to name shapes from a tower that does not yet tell them apart, so the tower
alone is trained first (stages `large`, `single`, `several`, by auxiliary losses), and only then the
whole model (stage `joint`, auxiliary losses kept). State is saved at every report, so an
interrupted run continues where it stopped. Several processes share a batch: see README.md.
"""

import argparse
import math
import os
import random
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

import tokenizer
from batches import IGNORE, Renderer, add_text, random_scenes, training_batch, vision_batch
from draw import size_table
from model import Dims, MageVl
from questions import TASKS, ask

# name, share of --minutes, pictures per process and step, peak learning rate, leave early when
# (class per token, box error) are this good
STAGES = [
    ("large", 0.05, 32, 1.5e-3, (0.97, 1.0)),
    ("single", 0.10, 32, 1.5e-3, (0.96, 1.0)),
    ("several", 0.15, 32, 1.5e-3, (0.97, 0.057)),
    ("joint", 0.70, 16, 1.0e-3, None),
]
AUX_WEIGHT = {"kind": 1.0, "color": 0.5, "box": 2.0}


def scene_options(stage):
    if stage == "large":
        return dict(count=1, radius=(0.3, 0.42), places=("center",))
    return dict(count=1) if stage == "single" else {}


def whiten_patches(model, rng, sizes):
    """Starts the patch embedding from the principal components of drawn pictures."""
    batches = [vision_batch(random_scenes(rng, sizes, 64, {}), rng) for _ in range(6)]
    x = torch.cat([batch.rows.flatten(0, 1) for batch in batches])
    values, vectors = torch.linalg.eigh(x.T @ x / len(x))
    width = model.dims.vision_width
    values, vectors = values.flip(0)[:width], vectors.flip(1)[:, :width]
    basis = vectors * (values + values[0] * 1e-4) ** -0.35
    turn = torch.linalg.qr(torch.randn(width, width))[0]  # spreads them over all channels
    with torch.no_grad():
        model.visual.embeddings["patch_embedding"].weight.copy_(turn @ basis.T)


def make_optimizers(model):
    """Muon for the matrices of the blocks, AdamW for everything else."""
    matrices, rest = [], []
    for name, p in model.named_parameters():
        inner = "encoder" in name or "merger" in name or "language_model.layers" in name
        (matrices if p.dim() == 2 and inner else rest).append(p)
    adam = torch.optim.AdamW(rest, lr=1.0, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    muon = torch.optim.Muon(matrices, lr=1.0, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    return [(adam, 1.0), (muon, 2.0)]  # with its factor on the learning rate


def auxiliary_loss(model, visual, batch):
    visual = visual.float()
    kind = model.aux_kind(visual)
    shown = batch.kind > 0
    box = (model.aux_box(visual) - batch.box)[shown].abs().sum() / (4 * shown.sum().clamp(min=1))
    loss = AUX_WEIGHT["kind"] * F.cross_entropy(kind.flatten(0, 1), batch.kind.flatten())
    color = model.aux_color(visual).flatten(0, 1)
    loss = loss + AUX_WEIGHT["color"] * F.cross_entropy(color, batch.color.flatten())
    right = (kind.argmax(-1) == batch.kind)[shown].float().mean() if shown.any() else torch.ones(())
    return loss + AUX_WEIGHT["box"] * box, right.item(), box.item()


def forward(model, batch, select=None):
    visual = model.visual(batch.rows, batch.grid)
    embeds = model.embed(batch.ids, visual.float(), batch.start)
    return visual, model.decode(embeds, batch.positions, batch.mask, select)


def answer_loss(model, batch):
    """Summed over the tokens of an answer, so that long sentences do not dilute the short ones."""
    select = batch.labels != IGNORE
    visual, logits = forward(model, batch, select)
    answers = sum(len(turns) for picture in batch.tasks for turns in picture)
    loss = F.cross_entropy(logits.float(), batch.labels[select], reduction="sum")
    return visual, loss / (2 * answers)


def held_out(renderer, sizes, seed=999, batches=14, how_many=16):
    rng, result = random.Random(seed), []
    for _ in range(batches):
        scenes = random_scenes(rng, sizes, how_many, None)
        turns = [[[t] for t in (ask(rng, s, task) for task in TASKS) if t] for s in scenes]
        result.append(add_text(vision_batch(scenes, rng), renderer, turns))
    return result


@torch.no_grad()
def accuracy(model, batches):
    """Share of answers right in every token, per task."""
    right, total = {}, {}
    for batch in batches:
        _, logits = forward(model, batch)
        good = (logits.argmax(-1) == batch.labels) | (batch.labels == IGNORE)
        for i, picture in enumerate(batch.tasks):
            for number, turns in enumerate(picture):
                ok = good[i][batch.segments[i] == number + 1].all().item()
                right[turns[0]] = right.get(turns[0], 0) + ok
                total[turns[0]] = total.get(turns[0], 0) + 1
    return {t: round(100 * right[t] / total[t], 1) for t in TASKS if t in total}


class Group:
    """Averages gradients over the processes that share a batch."""

    def __init__(self, rank, size, port):
        self.rank, self.size = rank, size
        if size > 1:
            address = f"tcp://127.0.0.1:{port}"
            dist.init_process_group("gloo", init_method=address, rank=rank, world_size=size)

    def average(self, parameters):
        if self.size == 1:
            return
        parameters = [p for p in parameters if p.grad is not None]
        flat = torch.cat([p.grad.flatten() for p in parameters])
        dist.all_reduce(flat)
        flat /= self.size
        offset = 0
        for p in parameters:
            p.grad = flat[offset : offset + p.numel()].view_as(p)
            offset += p.numel()

    def agree(self, values):
        """The first process's values, so that all take the same decisions."""
        tensor = torch.tensor(values, dtype=torch.float64)
        if self.size > 1:
            dist.broadcast(tensor, 0)
        return tensor.tolist()


def train(options):
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    group = Group(options.rank, options.processes, options.port)
    sizes = size_table(random.Random(options.seed), 60)
    token_file = os.path.join(options.out, "tokenizer.json")
    if group.rank == 0 and not os.path.exists(token_file):
        tokenizer.build(options.out)
    group.agree([0.0])
    renderer = Renderer(token_file)
    model = MageVl(Dims(vocab=-(-renderer.tok.get_vocab_size() // 64) * 64))
    whiten_patches(model, random.Random(options.seed), sizes)
    optimizers = make_optimizers(model)
    parameters = list(model.parameters())
    state_file = os.path.join(options.out, "state.pt")
    done = {"stage": 0, "seconds": 0.0, "step": 0}
    if os.path.exists(state_file):
        saved = torch.load(state_file)
        model.load_state_dict(saved["model"])
        for (optimizer, _), state in zip(optimizers, saved["optimizers"]):
            optimizer.load_state_dict(state)
        done = saved["done"]
    rng = random.Random(f"{options.seed} {group.rank} {done['step']}")
    checks = held_out(renderer, sizes) if group.rank == 0 else []
    cache = {}
    if group.rank == 0:
        kept = sum(p.numel() for n, p in model.named_parameters() if "aux" not in n)
        print("parameters", kept, flush=True)

    for index in range(done["stage"], len(STAGES)):
        name, share, how_many, peak, target = STAGES[index]
        if done["stage"] != index:
            done.update(stage=index, seconds=0.0)
        budget = share * options.minutes * 60
        if name == "joint" and options.joint_minutes:
            budget = options.joint_minutes * 60
        begun, reported, recent = time.time() - done["seconds"], time.time(), []
        while True:
            now = time.time()
            seconds, report = group.agree([now - begun, now - reported > options.every])
            progress = seconds / budget
            if name == "joint":  # warm, then down to nothing
                factor = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1, progress)))
            else:
                factor = 1.0 - 0.5 * min(1, progress)
            factor *= min(1.0, (done["step"] + 1) / 60)
            for optimizer, scale in optimizers:
                optimizer.param_groups[0]["lr"] = peak * factor * scale
            if name == "joint":
                batch = training_batch(rng, sizes, renderer, how_many, cache)
            else:
                scenes = random_scenes(rng, sizes, how_many, cache, **scene_options(name))
                batch = vision_batch(scenes, rng)
            with torch.autocast("cpu", torch.bfloat16, enabled=not options.full_precision):
                if name == "joint":
                    visual, answers = answer_loss(model, batch)
                else:
                    visual, answers = model.visual(batch.rows, batch.grid), torch.zeros(())
            aux, right, box = auxiliary_loss(model, visual, batch)
            for optimizer, _ in optimizers:
                optimizer.zero_grad()
            (aux + answers).backward()
            group.average(parameters)
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            for optimizer, _ in optimizers:
                optimizer.step()
            done["step"] += 1
            recent = (recent + [(answers.item(), aux.item(), right, box)])[-60:]
            mean = group.agree([sum(column) / len(recent) for column in zip(*recent)])
            over = seconds >= budget
            if target and len(recent) == 60 and mean[2] > target[0] and mean[3] < target[1]:
                over = True
            if report or over:
                reported, done["seconds"] = time.time(), seconds
                if group.rank == 0:
                    share_right = accuracy(model, checks) if name == "joint" else ""
                    print(
                        f"{time.strftime('%H:%M:%S')} {name} {seconds:.0f}s step {done['step']} "
                        f"answers {mean[0]:.3f} aux {mean[1]:.3f} class {mean[2]:.3f} "
                        f"box {mean[3]:.4f} {share_right}",
                        flush=True,
                    )
                    state = dict(model=model.state_dict(), done=dict(done))
                    state["optimizers"] = [o.state_dict() for o, _ in optimizers]
                    torch.save(state, state_file + ".part")
                    os.replace(state_file + ".part", state_file)
            if over:
                break


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="folder for the tokenizer and the state")
    parser.add_argument("--minutes", type=float, default=90.0, help="time budget of the whole run")
    parser.add_argument("--joint-minutes", type=float, default=0.0, help="instead of its share")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between reports")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--port", type=int, default=29611)
    parser.add_argument("--full-precision", action="store_true", help="no bfloat16 autocast")
    train(parser.parse_args())
