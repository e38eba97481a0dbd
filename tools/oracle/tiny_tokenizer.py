"""A byte-level BPE of 600 tokens in the form of Qwen's tokeniser files: same pre-tokeniser,
normaliser and special tokens. It is trained on the text below and nothing else, so it is the same
everywhere."""

import json

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

BASE_TOKENS = 600
PRE_TOKENISER = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
NOT_SPECIAL = [
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]

# Pictures as Qwen2-VL's template frames them; a system message is added when there is none.
VISION_TEMPLATE = """\
{% set image_count = namespace(value=0) %}{% set video_count = namespace(value=0) %}\
{% for message in messages %}\
{% if loop.first and message['role'] != 'system' %}<|im_start|>system
You are a helpful assistant.<|im_end|>
{% endif %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}<|im_end|>
{% else %}{% for content in message['content'] %}\
{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}\
{% set image_count.value = image_count.value + 1 %}\
{% if add_vision_id %}Picture {{ image_count.value }}: {% endif %}\
<|vision_start|><|image_pad|><|vision_end|>\
{% elif content['type'] == 'video' or 'video' in content %}\
{% set video_count.value = video_count.value + 1 %}\
{% if add_vision_id %}Video {{ video_count.value }}: {% endif %}\
<|vision_start|><|video_pad|><|vision_end|>\
{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

TEXT_TEMPLATE = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

TRAINING_TEXT = """\
Describe this picture. What do you see in it? Answer in one word, or in ten words at most.
What color is the circle? The red square is to the left of the blue triangle.
Compare the two pictures and say what changed between the first and the second one.
There is a small green house behind the tall tree, and a river runs in front of it.
The text on the sign says that the road is closed from Monday to Friday.
How many people are in the photograph, and what are they holding in their hands?
A dog sleeps under the table while the cat watches a bird through the window.
The chart shows that sales rose by 12.5 percent in 2023 and fell by 3 percent in 2024.
Read the number on the ticket: 4071829356. The total is 1,234.50 euros.
The ship left the harbour at dawn with a light wind from the north-west.
In the upper right corner there's a yellow star; below it stands a white tower.
You are a helpful assistant. I don't know what that is, but it looks like a machine.
They've painted the door orange, and we'll see whether it's dry by the evening.
The mountain is covered with snow, the valley with fields of wheat and barley.
If the light is green then you may go; otherwise wait until the train has passed.
She wrote a long letter about the garden, the weather and the price of bread.
Water boils at 100 degrees, and ice melts at 0 degrees, as everybody knows.
The oldest part of the town lies between the castle and the market square.
for i in range(10): print(i, i * i) if i % 2 == 0 else None
int main(int argc, char** argv) { return argc > 1 ? run(argv[1]) : 0; }
He put three apples, two pears and a bottle of milk into the basket.
Nothing in the drawing tells us when it was made or who made it.
On the left side of the image a man is riding a bicycle along the beach.
The clock on the wall shows a quarter past seven; the room is empty and dark.
Please summarise the following notes, and then answer the question about the picture.
Each note has a number, and later notes may correct what earlier ones have said.
The letters are black on a grey ground, so they are hard to read from a distance.
Both pictures show the same street, once in summer and once in winter.
Why is the sky blue? Because the air scatters short waves more than long ones.
Turn left after the bridge, walk past the church, and you will find the museum.
日本語のテキストを読む。中文文本和图片。한국어 텍스트와 그림.
café naïve Ærøskøbing groß señor façade 😀👍🏽 — “quoted” … ½ €
"""


def special_ids():
    return {token: BASE_TOKENS + i for i, token in enumerate(SPECIAL + NOT_SPECIAL)}


def _pre_tokeniser():
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRE_TOKENISER), "isolated", False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _train():
    """The base vocabulary and its merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = _pre_tokeniser()
    tokenizer.train_from_iterator(
        TRAINING_TEXT.splitlines(keepends=True),
        trainers.BpeTrainer(
            vocab_size=BASE_TOKENS,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
            special_tokens=[],
        ),
    )
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
    assert len(model["vocab"]) == BASE_TOKENS, "the training text is too short"
    return model["vocab"], merges


def build():
    vocab, merges = _train()
    byte_level = dict(add_prefix_space=False, trim_offsets=False, use_regex=False)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = _pre_tokeniser()
    tokenizer.decoder = decoders.ByteLevel(**byte_level)
    tokenizer.post_processor = processors.ByteLevel(**byte_level)
    for token in SPECIAL:
        tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True)])
    for token in NOT_SPECIAL:
        tokenizer.add_tokens([AddedToken(token, normalized=False, special=False)])
    return tokenizer


def write(folder, chat_template):
    tokenizer = build()
    assert all(tokenizer.token_to_id(token) == id for token, id in special_ids().items())
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "chat_template.jinja").write_text(chat_template)
    added = {
        str(id): {
            "content": token,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": token in SPECIAL,
        }
        for token, id in special_ids().items()
    }
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": added,
        "additional_special_tokens": SPECIAL[1:],
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 262144,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }
    text = json.dumps(config, indent=2, ensure_ascii=False)
    (folder / "tokenizer_config.json").write_text(text + "\n")
