"""Builds the byte-level BPE tokenizer of the demo checkpoint in the Qwen2 file layout.

It is trained on the tasks' own sentences, so their words are single tokens, and on a short list of
everyday words; any other text still encodes, byte by byte if need be.
"""

import json
import os
import random

from draw import make_scene, size_table
from questions import TASKS, ask, every_word

PRETOKENIZE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
    "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>",
    "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>",
]  # fmt: skip
OTHER_ADDED = [
    "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
    "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>",
    "<think>", "</think>",
]  # fmt: skip
SYSTEM = "You are a helpful assistant."
# The published template, newlines and all.
CHAT_TEMPLATE = (
    "{% set image_count = namespace(value=0) %}{% set video_count = namespace(value=0) %}"
    "{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\n"
    "You are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n"
    "{% else %}{% for content in message['content'] %}"
    "{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}"
    "{% set image_count.value = image_count.value + 1 %}"
    "{% if add_vision_id %}Picture {{ image_count.value }}: {% endif %}"
    "<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif content['type'] == 'video' or 'video' in content %}"
    "{% set video_count.value = video_count.value + 1 %}"
    "{% if add_vision_id %}Video {{ video_count.value }}: {% endif %}"
    "<|vision_start|><|video_pad|><|vision_end|>"
    "{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
EVERYDAY = """the of and to in is you that it he was for on are as with his they at be this have
from or one had by word but not what all were we when your can said there use an each which she do
how their if will up other about out many then them these so some her would make like him into time
has look two more write go see number no way could people my than first water been call who now
find long down day did get come made may part picture image photo box ball cat dog car house tree
brown big small large little light dark above below between next under over same different yes thank
thanks hello world text letter line corner middle side upper lower""".split()


def corpus(seed=7):
    rng = random.Random(seed)
    sizes = size_table(rng, 20)
    lines = every_word() * 20 + [" " + line for line in every_word()] * 20
    lines += [f"system\n{SYSTEM}", "user\n", "assistant\n"] * 200
    for _ in range(3000):
        scene = make_scene(rng, rng.choice(sizes[(4, 5)]), rng.choice((0, 1, 2)))
        for task in TASKS:
            turn = ask(rng, scene, task)
            if turn:
                lines += [turn.question, turn.answer]
    for word in EVERYDAY:
        lines += [f" {word}"] * 30 + [word.capitalize()] * 4
    return lines


def build(folder, vocab_size=900):
    """Writes tokenizer.json and its companions; returns the ids of the added tokens."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
    from tokenizers import pre_tokenizers, processors, trainers

    byte_level = dict(add_prefix_space=False, use_regex=False)
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRETOKENIZE), "isolated", False),
            pre_tokenizers.ByteLevel(trim_offsets=False, **byte_level),
        ]
    )
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False, special_tokens=[]
    )
    tok.train_from_iterator(corpus(), trainer)
    # The trained model again, with the settings that published Qwen2 tokenizers carry.
    trained = json.loads(tok.to_str())["model"]
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in trained["merges"]]
    tok.model = models.BPE(
        vocab=trained["vocab"], merges=merges, fuse_unk=False, byte_fallback=False,
        continuing_subword_prefix="", end_of_word_suffix="",
    )  # fmt: skip
    tok.decoder = decoders.ByteLevel(trim_offsets=False, **byte_level)
    tok.post_processor = processors.ByteLevel(trim_offsets=False, **byte_level)
    for text in SPECIAL:
        tok.add_special_tokens([AddedToken(text, normalized=False, special=True)])
    for text in OTHER_ADDED:
        tok.add_tokens([AddedToken(text, normalized=False, special=False)])
    os.makedirs(folder, exist_ok=True)
    tok.save(os.path.join(folder, "tokenizer.json"), pretty=False)

    added = {str(tok.token_to_id(t)): t for t in SPECIAL + OTHER_ADDED}
    flags = dict(lstrip=False, normalized=False, rstrip=False, single_word=False)
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {
            i: dict(content=t, special=t in SPECIAL, **flags) for i, t in added.items()
        },
        "additional_special_tokens": SPECIAL[1:],
        "bos_token": None,
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 4096,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump(config, f, indent=2, ensure_ascii=False)
    with open(os.path.join(folder, "chat_template.jinja"), "w") as f:
        f.write(CHAT_TEMPLATE)
    return {t: int(i) for i, t in added.items()}


if __name__ == "__main__":
    import sys

    print(build(sys.argv[1]))
