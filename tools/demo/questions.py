"""Questions about a scene, in several phrasings each, with their one right answer.

Answers are short ("red", "circle", "on the left", "two"); only a description is a sentence.
Needs nothing beyond the standard library.
"""

from dataclasses import dataclass

from draw import COLOR_NAMES, KINDS, PLACES

PHRASES = {
    "left": "on the left",
    "right": "on the right",
    "top": "at the top",
    "bottom": "at the bottom",
    "center": "in the center",
}
NUMBERS = ["zero", "one", "two", "three"]

PLAIN = [
    "What color is this image?",
    "What color is the image?",
    "What color is this picture?",
    "What color is the picture?",
    "What is the color of this image?",
    "What is the color of the picture?",
    "Which color is this image?",
    "Which color is the picture?",
    "What color do you see?",
    "What color is this?",
    "What color is it?",
    "Name the color of this image.",
]
GROUND = [
    "What color is the background?",
    "What is the color of the background?",
    "Which color is the background?",
    "What is the background color?",
    "What color is behind the {thing}?",
]
COLOR = [
    "What color is the {kind}?",
    "Which color is the {kind}?",
    "What is the color of the {kind}?",
    "What color is the {kind} in this image?",
    "What color is the {kind} in the picture?",
    "What color does the {kind} have?",
    "Name the color of the {kind}.",
    "The {kind} is what color?",
]
COLOR_ONE = [
    "What color is the shape?",
    "What is the color of the shape?",
    "Which color is the shape?",
]
SHAPE = [
    "What shape is {color}?",
    "Which shape is {color}?",
    "What is the {color} shape?",
    "What shape is the {color} one?",
    "What {color} shape is in the picture?",
    "What is {color} in this image?",
    "Which shape is the {color} shape?",
    "What kind of shape is {color}?",
]
SHAPE_ONE = [
    "Which shape is in the picture?",
    "What shape is in the image?",
    "What shape is this?",
    "What shape is in this image?",
    "Which shape do you see?",
    "What shape do you see?",
    "What shape is it?",
    "What kind of shape is this?",
]
WHERE = [
    "Where is the {color} {kind}?",
    "Where is the {kind}?",
    "Where in the image is the {color} {kind}?",
    "Where in the picture is the {color} {kind}?",
    "Where can you see the {color} {kind}?",
    "In which part of the picture is the {color} {kind}?",
    "What is the position of the {color} {kind}?",
    "Where is the {color} shape?",
]
WHERE_ONE = ["Where is the shape?", "Where is it?"]
COUNT = [
    "How many shapes are there?",
    "How many shapes are in the picture?",
    "How many shapes are in this image?",
    "How many shapes do you see?",
    "How many shapes can you see?",
    "How many objects are there?",
    "How many objects are in the picture?",
    "How many objects are in this image?",
    "What is the number of shapes?",
    "Count the shapes.",
]
DESCRIBE = [
    "Describe this image.",
    "Describe the image.",
    "Describe this picture.",
    "Describe the picture.",
    "Describe the picture in one sentence.",
    "Describe this image in one sentence.",
    "What is in this image?",
    "What is in the picture?",
    "What do you see?",
    "What does this image show?",
    "What can you see in this picture?",
    "Write a caption for this image.",
]
EXISTS = [
    "Is there {a} {kind}?",
    "Is there {a} {kind} in the picture?",
    "Is there {a} {kind} in this image?",
    "Do you see {a} {kind}?",
    "Can you see {a} {kind}?",
]
SHORT = [" Answer with one word.", " Answer in one word.", " Use one word.", " One word only."]
POLITE = ["Please tell me: ", "Tell me, ", "Can you tell me: ", "Hello! ", "Hi, "]


@dataclass(frozen=True)
class Turn:
    task: str
    question: str
    answer: str


def article(word):
    return "an" if word[0] in "aeiou" else "a"


def phrase(rng, forms, one_word=True, **words):
    """One of the phrasings, with a little variety in spelling and politeness."""
    text = rng.choice(forms).format(**words)
    draw = rng.random()
    if draw < 0.12 and one_word:
        text += rng.choice(SHORT)
    elif draw < 0.2:
        text = rng.choice(POLITE) + (text[0].lower() + text[1:])
    elif draw < 0.24:
        if text.endswith("."):
            text = "Please " + text[0].lower() + text[1:]
        else:
            text = text[:-1] + ", please?"
    draw = rng.random()
    if draw < 0.15:
        text = text.replace("color", "colour")
    if 0.1 < draw < 0.2:
        text = text.lower()
    elif 0.2 < draw < 0.25 and text.endswith("?"):
        text = text[:-1]
    elif 0.25 < draw < 0.28:
        text = text.replace("What is", "What's").replace("picture", "photo")
    return text


def sentence(scene):
    if not scene.shapes:
        return f"A plain {scene.ground} image."
    ordered = sorted(scene.shapes, key=lambda s: PLACES.index(s.place))
    parts = [f"{article(s.color)} {s.color} {s.kind} {PHRASES[s.place]}" for s in ordered]
    listed = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    first = f"{article(scene.ground)} {scene.ground} image with {listed}."
    return first[0].upper() + first[1:]


def ask(rng, scene, task):
    """A Turn of the given task, or None where the scene has no single right answer to it."""
    shapes = scene.shapes
    if task == "plain":
        return None if shapes else Turn(task, phrase(rng, PLAIN), scene.ground)
    if task == "count":
        return Turn(task, phrase(rng, COUNT), NUMBERS[len(shapes)])
    if task == "describe":
        return Turn(task, phrase(rng, DESCRIBE, one_word=False), sentence(scene))
    if task == "exists":
        kind = rng.choice(KINDS)
        if shapes and rng.random() < 0.5:
            kind = rng.choice(shapes).kind
        question = phrase(rng, EXISTS, a=article(kind), kind=kind)
        return Turn(task, question, "yes" if any(s.kind == kind for s in shapes) else "no")
    if not shapes:
        return None
    shape = rng.choice(shapes)
    alone = sum(s.kind == shape.kind for s in shapes) == 1
    single = len(shapes) == 1
    if task == "ground":
        thing = shape.kind if alone else "shapes"
        return Turn(task, phrase(rng, GROUND, thing=thing), scene.ground)
    if task == "color":
        if not alone:
            return None
        forms = COLOR_ONE if single and rng.random() < 0.15 else COLOR
        return Turn(task, phrase(rng, forms, kind=shape.kind), shape.color)
    if task == "shape":
        forms = SHAPE_ONE if single and rng.random() < 0.5 else SHAPE
        return Turn(task, phrase(rng, forms, color=shape.color), shape.kind)
    if task == "where":
        forms = WHERE_ONE if single and rng.random() < 0.15 else WHERE
        question = phrase(rng, forms, one_word=False, color=shape.color, kind=shape.kind)
        if shape.color not in question and not alone:
            question = f"Where is the {shape.color} {shape.kind}?"
        return Turn(task, question, PHRASES[shape.place])
    raise ValueError(f"unknown task {task!r}")


TASKS = ["plain", "count", "color", "shape", "where", "describe", "ground", "exists"]


def conversation_set(rng, scene, how_many):
    """Conversations (lists of one or two Turns) about one picture, for training."""
    if scene.shapes:
        tasks = ["color"] * 2 + ["shape"] * 2 + ["where"] * 3 + ["count", "ground", "exists"]
        chosen = rng.sample(tasks, min(len(tasks), how_many))
        if rng.random() < 0.7:
            chosen.append("describe")
    else:
        chosen = ["plain", "plain"] + rng.sample(["count", "describe", "exists"], 2)
    turns, seen = [], set()
    for task in chosen:
        turn = ask(rng, scene, task)
        if turn and (turn.question, turn.answer) not in seen:
            seen.add((turn.question, turn.answer))
            turns.append(turn)
    rng.shuffle(turns)
    result = []
    while turns:
        take = 2 if len(turns) > 1 and rng.random() < 0.15 else 1
        result.append(turns[:take])
        turns = turns[take:]
    return result


def every_word():
    """All words the tasks use, for the tokenizer."""
    forms = PLAIN + GROUND + COLOR + COLOR_ONE + SHAPE + SHAPE_ONE + WHERE + WHERE_ONE + COUNT
    forms = forms + DESCRIBE + EXISTS + SHORT + POLITE + list(PHRASES.values())
    other = "A plain image. An image with a and an. Please, please? What's colour photo"
    return forms + [other, "yes no"] + COLOR_NAMES + KINDS + PLACES + NUMBERS
