"""Makes tests/fixtures/mage_vl and tests/fixtures/qwen3: tiny checkpoints and, for several prompts,
what a PyTorch reference computes with them stage by stage. The engine is held against these.

Run from the top of the repository: python tools/oracle/make_goldens.py
Requirements: requirements.txt beside this file.

  mage_vl/hub, mlx, 8bit, 4bit, mixed   one set of weights in the hub layout, in mlx-vlm's, and
                                        quantised as mlx-vlm does it
  mage_vl/pictures, mage_vl/cases.json  the prompts
  mage_vl/goldens/CASE.safetensors      stages of the unquantised weights, named as by `mlxcel dump`
  mage_vl/goldens/CASE.VARIANT.safetensors   logits and tokens of the quantised weights, expanded
  qwen3/checkpoint, golden.safetensors  a text model with tied embeddings in two shards

All values are float32 or int32, none rounded. `tokens` are greedy, past any end of the answer and
with nothing suppressed. The long prompt keeps fewer stages, and logits of its last rows alone, as
its metadata says ("logits_rows"); `tokens_theta_10000` are what it gives with that wrong rope base.

A greedy token whose rival is nearly as good proves nothing, for the last bit of a sum decides it;
nor does an answer that repeats itself. So the numbers in the questions were picked (`--search`)
such that every token of every answer wins by MIN_GAP or more, answers vary, and no id that the
engine suppresses is in them; that is checked on every run.
"""

import argparse
import itertools
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from PIL import Image
from safetensors.torch import save_file
from transformers import Qwen3ForCausalLM

import tiny_checkpoints
import tiny_tokenizer
from mage_vl_reference import MageVlReference, decoder_stages, greedy
from pictures import PICTURES

FIXTURES = Path("tests/fixtures")
TOKENS = 32
MIN_GAP = 0.05
MIN_DISTINCT = 13
LONG_PROMPT_TOKENS = 1500
WRONG_THETA = 10000


@dataclass
class Case:
    """`question` has one {}, for the number that `--search` finds."""

    name: str
    question: str
    number: int
    pictures: list = field(default_factory=list)
    variants: list = field(default_factory=list)  # quantised checkpoints that answer it too
    long: bool = False
    earlier: list = field(default_factory=list)  # messages before the question
    tokens_only: bool = False

    def messages(self, number):
        text = self.question.format(number)
        if self.long:
            text = long_text() + text
        content = [{"type": "text", "text": text}]
        if not self.earlier:
            content = [{"type": "image"} for _ in self.pictures] + content
        plain = len(content) == 1
        return self.earlier + [{"role": "user", "content": text if plain else content}]

    def open_pictures(self):
        return [PICTURES[name] for name in self.pictures]


def long_text():
    """Numbered notes, until there are enough tokens."""
    tokenizer, text = tiny_tokenizer.build(), ""
    lines = tiny_tokenizer.TRAINING_TEXT.splitlines()
    for i in itertools.count():
        if len(tokenizer.encode(text).ids) >= LONG_PROMPT_TOKENS:
            return text
        text += f"Note {i + 1}: {lines[i * 7 % len(lines)]}\n"


ALL_VARIANTS = list(tiny_checkpoints.QUANTISED)
ONE = Case(
    "one_picture",
    "What is in this picture? Answer in {} words.",
    number=11,
    pictures=["scene_96x64.png"],
    variants=ALL_VARIANTS,
)
CASES = [
    ONE,
    Case(
        "two_pictures",
        "Compare the two pictures in {} words.",
        number=1,
        pictures=["scene_64x96.png", "scene_64x64.png"],
    ),
    Case(
        "four_pictures",
        "Which of the pictures has {} colors?",
        number=1,
        pictures=["scene_64x64.png", "halves_80x48.png", "tiny_40x30.png", "scene_64x96.png"],
    ),
    Case(
        "resized_picture",
        "Describe this picture in {} words.",
        number=2,
        pictures=["odd_107x90.png"],
    ),
    Case("text_only", "What is two plus {}?", number=310, variants=ALL_VARIANTS),
    Case(
        "long",
        "Which note is about picture number {}?",
        number=15,
        pictures=["scene_64x96.png"],
        long=True,
    ),
]


def second_turn(first):
    """The same picture, asked about once more."""
    answer = {"role": "assistant", "content": "A disc, and a box beside it."}
    return Case(
        "second_turn",
        "And what is behind the {} boxes?",
        number=3,
        pictures=first.pictures,
        earlier=first.messages(first.number) + [answer],
        tokens_only=True,
    )


# ---- answers that prove something ----------------------------------------------------------------


def suppressed_ids():
    ids = tiny_tokenizer.special_ids()
    names = ("vision_start", "vision_end", "image_pad", "video_pad")
    return {ids[f"<|{name}|>"] for name in names}


def fault(tokens, gaps):
    """Why an answer is unfit, or nothing."""
    if min(gaps) < MIN_GAP:
        return f"a token wins by {min(gaps):.4f} only"
    if suppressed_ids() & set(tokens):
        return "it holds an id that is never generated"
    if len(tokens) == TOKENS and len(set(tokens)) < MIN_DISTINCT:
        return f"it has {len(set(tokens))} different tokens only"
    return None


def answer(model, embeds, name):
    tokens, gaps = zip(*greedy(model, embeds, TOKENS))
    if reason := fault(tokens, gaps):
        sys.exit(f"{name}: {reason}; run --search")
    print(f"  {name}: {len(set(tokens))} different tokens, smallest gap {min(gaps):.3f}")
    return torch.tensor(tokens, dtype=torch.int32)


def is_fit(reference, prompt):
    """Stops at the first token that is not."""
    embeds, tokens, gaps = reference.embed(prompt), [], []
    for token, gap in greedy(reference.model, embeds, TOKENS):
        tokens.append(token)
        gaps.append(gap)
        if fault(tokens, gaps):
            return False
    return True


@torch.no_grad()
def search(case, references, limit):
    for number in range(1, limit):
        fit = True
        for reference in references:
            prompt = reference.prepare(case.messages(number), case.open_pictures())
            if not (fit := is_fit(reference, prompt)):
                break
        if fit:
            return number
    return None


# ---- fixtures ------------------------------------------------------------------------------------


def write_golden(path, stages, metadata=None):
    tensors = {
        name: value.clone().float() if value.is_floating_point() else value.int()
        for name, value in stages.items()
    }
    save_file(tensors, path, metadata=metadata)
    path.chmod(0o644)


def write_pictures(folder):
    tiny_checkpoints.fresh(folder)
    for name, picture in PICTURES.items():
        picture.save(folder / name, optimize=True)
        with Image.open(folder / name) as stored:
            assert stored.convert("RGB").tobytes() == picture.tobytes()


def write_cases(path, cases, answers):
    document = [
        {
            "name": case.name,
            "pictures": [f"pictures/{name}" for name in case.pictures],
            "variants": case.variants,
            "messages": case.messages(case.number),
            "answer": answers[case.name],
        }
        for case in cases
    ]
    path.write_text(json.dumps({"cases": document}, indent=1, ensure_ascii=False) + "\n")


@torch.no_grad()
def mage_golden(case, reference, references, folder):
    """Writes a case's files and returns its tokens."""
    prompt = reference.prepare(case.messages(case.number), case.open_pictures())
    stages = reference.stages(prompt)
    embeds = stages["inputs_embeds"]
    tokens = stages["tokens"] = answer(reference.model, embeds, case.name)
    metadata = {}
    if case.tokens_only:
        stages = {name: stages[name] for name in ("input_ids", "tokens")}
    if case.long:
        wrong = MageVlReference.load(folder.parent / "hub", rope_theta=WRONG_THETA)
        lost = answer(wrong.model, embeds, f"{case.name}, theta {WRONG_THETA}")
        if torch.equal(lost, stages["tokens"]):
            sys.exit(f"{case.name}: the rope base makes no difference")
        rows, kept = 8, ("grid_thw", "input_ids", "position_ids", "logits", "tokens")
        stages = {name: stages[name] for name in kept}
        stages["logits"] = stages["logits"][-rows:]
        stages[f"tokens_theta_{WRONG_THETA}"] = lost
        metadata["logits_rows"] = f"last {rows}"
    write_golden(folder / f"{case.name}.safetensors", stages, metadata)
    for variant in case.variants:
        stages = references[variant].stages(prompt)
        name = f"{case.name}.{variant}"
        stages["tokens"] = answer(references[variant].model, stages["inputs_embeds"], name)
        kept = {name: stages[name] for name in ("logits", "tokens")}
        write_golden(folder / f"{case.name}.{variant}.safetensors", kept)
    return tokens.tolist()


QWEN3_QUESTION = "Why is the sky {} times as blue as the sea?"
QWEN3_NUMBER = 1


def qwen3_prompt(number):
    text = f"<|im_start|>user\n{QWEN3_QUESTION.format(number)}<|im_end|>\n<|im_start|>assistant\n"
    return tiny_tokenizer.build().encode(text, add_special_tokens=False).ids


def load_qwen3(folder):
    return Qwen3ForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()


@torch.no_grad()
def search_qwen3(model):
    for number in range(1, 10000):
        embeds = model.get_input_embeddings()(torch.tensor(qwen3_prompt(number)))
        tokens, gaps = zip(*greedy(model, embeds, TOKENS))
        if not fault(tokens, gaps):
            return number
    return None


@torch.no_grad()
def qwen3_golden(folder):
    model = load_qwen3(folder / "checkpoint")
    ids = qwen3_prompt(QWEN3_NUMBER)
    stages = {"input_ids": torch.tensor(ids), "position_ids": torch.arange(len(ids))}
    decoder_stages(model, model.get_input_embeddings()(torch.tensor(ids)), stages)
    stages["tokens"] = answer(model, stages["inputs_embeds"], "qwen3")
    write_golden(folder / "golden.safetensors", stages)
    case = Case("qwen3", QWEN3_QUESTION, QWEN3_NUMBER)
    text = tiny_tokenizer.build().decode(stages["tokens"].tolist(), skip_special_tokens=True)
    write_cases(folder / "cases.json", [case], {case.name: text})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--search", action="store_true", help="print numbers for the questions")
    args = parser.parse_args()
    torch.set_num_threads(1)  # sums in one order

    mage, qwen3 = FIXTURES / "mage_vl", FIXTURES / "qwen3"
    tiny_checkpoints.write_mage_hub(mage / "hub")
    tiny_checkpoints.write_mage_mlx(mage / "hub", mage / "mlx")
    for name, quantization in tiny_checkpoints.QUANTISED.items():
        tiny_checkpoints.write_mage_mlx(mage / "hub", mage / name, quantization)
    tiny_checkpoints.write_qwen3(qwen3 / "checkpoint")
    reference = MageVlReference.load(mage / "hub")
    references = {name: MageVlReference.load(mage / name) for name in ALL_VARIANTS}

    if args.search:
        wrong = MageVlReference.load(mage / "hub", rope_theta=WRONG_THETA)
        print("qwen3:", search_qwen3(load_qwen3(qwen3 / "checkpoint")))
        for case in CASES + [None]:
            case = case or second_turn(ONE)
            others = [references[variant] for variant in case.variants]
            number = search(case, [reference, *others] + [wrong] * case.long, 20000)
            case.number = number
            print(f"{case.name}: {number}", flush=True)
        return

    cases = CASES + [second_turn(ONE)]
    write_pictures(mage / "pictures")
    tiny_checkpoints.fresh(mage / "goldens")
    answers = {}
    for case in cases:
        tokens = mage_golden(case, reference, references, mage / "goldens")
        answers[case.name] = reference.tokenizer.decode(tokens, skip_special_tokens=True)
    write_cases(mage / "cases.json", cases, answers)
    qwen3_golden(qwen3)


if __name__ == "__main__":
    main()
