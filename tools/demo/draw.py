"""Draws the pictures the demo checkpoint is trained and scored on.

A scene is a coloured ground with up to three shapes; it is defined in the coordinates of an
"original" picture of 96..512 pixels and then brought to the size the tower reads. Places are kept
apart by margins so that every question has one right answer. Needs numpy and Pillow only.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageDraw

from geometry import CELL, smart_resize

# Each colour is the range between its anchor tones; pure web colours are among the anchors.
COLORS = {
    "red": [(255, 0, 0), (220, 30, 30), (200, 0, 0), (220, 20, 60)],
    "green": [(0, 255, 0), (0, 128, 0), (30, 160, 50), (34, 139, 34), (50, 205, 50)],
    "blue": [(0, 0, 255), (30, 60, 220), (0, 0, 160), (30, 100, 240)],
    "yellow": [(255, 255, 0), (240, 225, 40), (255, 215, 0)],
    "orange": [(255, 165, 0), (245, 140, 20), (255, 128, 0)],
    "purple": [(128, 0, 128), (130, 40, 160), (100, 20, 140), (148, 0, 211)],
    "pink": [(255, 192, 203), (250, 150, 190), (255, 105, 180)],
    "cyan": [(0, 255, 255), (40, 210, 220), (0, 200, 200)],
    "black": [(0, 0, 0), (20, 20, 20), (32, 32, 32)],
    "white": [(255, 255, 255), (240, 240, 240), (248, 248, 240)],
    "gray": [(128, 128, 128), (105, 105, 105), (160, 160, 160)],
}
COLOR_NAMES = list(COLORS)
KINDS = ["circle", "square", "triangle", "star"]
PLACES = ["left", "top", "center", "bottom", "right"]
MIN_RADIUS = 0.2  # of the short side
SUPERSAMPLE = 3


@dataclass
class Shape:
    kind: str
    color: str
    place: str
    cx: float
    cy: float
    radius: float
    tone: tuple = (0, 0, 0)


@dataclass
class Scene:
    width: int
    height: int
    ground: str
    tone: tuple
    shapes: list = field(default_factory=list)


def pick_tone(rng, color):
    anchors = COLORS[color]
    if rng.random() < 0.35:
        return rng.choice(anchors)
    a, b, t = rng.choice(anchors), rng.choice(anchors), rng.random()
    return tuple(
        max(0, min(255, round(x + (y - x) * t) + rng.randint(-8, 8))) for x, y in zip(a, b)
    )


def outline(kind, cx, cy, r):
    """Corner points of a shape; a circle is given as its two bounding corners."""
    if kind == "circle":
        return [(cx - r, cy - r), (cx + r, cy + r)]
    if kind == "square":
        h = 0.87 * r
        return [(cx - h, cy - h), (cx + h, cy - h), (cx + h, cy + h), (cx - h, cy + h)]
    if kind == "triangle":
        return [(cx, cy - r), (cx + r, cy + 0.85 * r), (cx - r, cy + 0.85 * r)]
    points = []
    for i in range(10):
        length = 1.05 * r if i % 2 == 0 else 0.45 * r
        points.append(
            (cx + length * math.sin(i * math.pi / 5), cy - length * math.cos(i * math.pi / 5))
        )
    return points


DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "top": (0, -1), "bottom": (0, 1), "center": (0, 0)}


def _offset(rng, place, others, reach_x, reach_y):
    """An unambiguous offset from the middle (shares of width and height), or None.

    With neighbours at one side only, the shape is pushed away from them along its own edge.
    """
    if place == "center":
        return rng.uniform(-0.06, 0.06), rng.uniform(-0.06, 0.06)
    sideways = place in ("left", "right")
    along, across = (reach_x, reach_y) if sideways else (reach_y, reach_x)
    if along < 0.19:
        return None
    far = rng.uniform(0.19, along)
    side = max(0.0, min(far - 0.1, across))
    push = -sum(DIRECTIONS[o][1 if sideways else 0] for o in others)
    if push and len(others) > 1:
        near = push * side * rng.uniform(0.5, 1.0)
    else:
        near = rng.uniform(-side, side)
    sign = sum(DIRECTIONS[place])
    return (sign * far, near) if sideways else (near, sign * far)


def _apart(a, b):
    """True if two placed shapes of any kind cannot touch."""
    reach = a[2] + b[2]
    dx, dy = abs(a[0] - b[0]), abs(a[1] - b[1])
    return max(dx, dy) > 1.04 * reach or math.hypot(dx, dy) > 1.2 * reach


def _arrange(rng, width, height, count, radius_range):
    short = min(width, height)
    placed = []
    places = rng.sample(PLACES, count)
    for place in places:
        r = rng.uniform(*radius_range) * short
        limit = (0.5 - 1.06 * r / width, 0.5 - 1.06 * r / height)
        offset = _offset(rng, place, [p for p in places if p != place], *limit)
        if offset is None:
            return None
        spot = ((0.5 + offset[0]) * width, (0.5 + offset[1]) * height, r, place)
        if not all(_apart(spot, other) for other in placed):
            return None
        placed.append(spot)
    return placed


def _layout(rng, width, height, count, radius_range, places, cache):
    """A random arrangement; `cache` (a dict) spares training the many rejected tries."""
    known = cache.setdefault((width, height), []) if cache is not None and count == 3 else []
    if len(known) >= 8 and rng.random() < 0.95:
        return rng.choice(known)
    while True:
        placed = _arrange(rng, width, height, count, radius_range)
        if placed and (places is None or all(p[3] in places for p in placed)):
            known.append(placed)
            return placed


def make_scene(rng, size, count=None, radius=None, kinds=KINDS, places=None, cache=None):
    """A random scene on a picture of `size` (width, height); count 0 is a plain picture."""
    width, height = size
    if count is None:
        count = rng.choices((0, 1, 2, 3), (0.1, 0.25, 0.35, 0.3))[0]
    colors = rng.sample(COLOR_NAMES, count + 1)
    scene = Scene(width, height, colors[0], pick_tone(rng, colors[0]))
    ranges = {1: (MIN_RADIUS, 0.42), 2: (MIN_RADIUS, 0.29), 3: (MIN_RADIUS, 0.23)}
    if count:
        placed = _layout(rng, width, height, count, radius or ranges[count], places, cache)
        for (cx, cy, r, place), color in zip(placed, colors[1:]):
            kind = rng.choice(kinds)
            scene.shapes.append(Shape(kind, color, place, cx, cy, r, pick_tone(rng, color)))
    return scene


def _paint(scene, width, height):
    """Antialiased RGB picture of the scene at width x height (the scene is stretched to it)."""
    s = SUPERSAMPLE
    sx, sy = s * width / scene.width, s * height / scene.height
    image = Image.new("RGB", (s * width, s * height), scene.tone)
    draw = ImageDraw.Draw(image)
    for shape in scene.shapes:
        corners = outline(shape.kind, shape.cx, shape.cy, shape.radius)
        points = [(x * sx, y * sy) for x, y in corners]
        if shape.kind == "circle":
            draw.ellipse(points, fill=shape.tone)
        else:
            draw.polygon(points, fill=shape.tone)
    return image.reduce(s)


def render_original(scene):
    """The picture as a user would store it."""
    return _paint(scene, scene.width, scene.height)


def render_for_model(scene, exact):
    """uint8 [H, W, 3] at the tower's size; `exact` goes through the true bicubic resize."""
    height, width = smart_resize(scene.height, scene.width)
    if exact:
        image = render_original(scene)
        if image.size != (width, height):
            image = image.resize((width, height), Image.BICUBIC)
    else:
        image = _paint(scene, width, height)
    return np.asarray(image)


def cell_labels(scene):
    """What each visual token shows, for the auxiliary losses.

    Returns kind [cells] (0 none, else 1 + index in KINDS), color [cells] (index in COLOR_NAMES) and
    box [cells, 4] (x0, y0, x1, y1 as shares of the picture; zeros where there is no shape).
    """
    height, width = smart_resize(scene.height, scene.width)
    rows, cols = height // CELL, width // CELL
    step = 4  # the mask is drawn at a quarter of the size: it only has to be counted
    mask = Image.new("L", (width // step, height // step), 0)
    draw = ImageDraw.Draw(mask)
    sx, sy = width / step / scene.width, height / step / scene.height
    kinds, colors = [0], [COLOR_NAMES.index(scene.ground)]
    boxes = [(0.0, 0.0, 0.0, 0.0)]
    for i, shape in enumerate(scene.shapes):
        points = outline(shape.kind, shape.cx, shape.cy, shape.radius)
        scaled = [(x * sx - 0.5, y * sy - 0.5) for x, y in points]
        if shape.kind == "circle":
            draw.ellipse(scaled, fill=i + 1)
        else:
            draw.polygon(scaled, fill=i + 1)
        xs, ys = [p[0] / scene.width for p in points], [p[1] / scene.height for p in points]
        kinds.append(1 + KINDS.index(shape.kind))
        colors.append(COLOR_NAMES.index(shape.color))
        boxes.append((min(xs), min(ys), max(xs), max(ys)))
    side = CELL // step
    m = np.asarray(mask).reshape(rows, side, cols, side)
    counts = [np.full((rows, cols), 0.15 * side * side)]  # a sliver of a shape counts as ground
    counts += [(m == i + 1).sum((1, 3)) for i in range(len(scene.shapes))]
    owner = np.stack(counts).argmax(0).ravel()
    return np.array(kinds)[owner], np.array(colors)[owner], np.array(boxes, np.float32)[owner]


def size_table(rng, per_grid=200):
    """Original sizes (96..512, aspect 1:2..2:1) grouped by the grid they come to."""
    table = {}
    for _ in range(40000):
        aspect = 2.0 ** rng.uniform(-1.0, 1.0)
        if rng.random() < 0.3:
            aspect = rng.choice((1.0, 4 / 3, 3 / 4, 1.5, 2 / 3, 16 / 9, 9 / 16))
        area = rng.uniform(96, 512) ** 2
        width, height = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        short, long = min(width, height), max(width, height)
        if short < 96 or long > 512 or long > 2 * short:
            continue
        h, w = smart_resize(height, width)
        sizes = table.setdefault((h // CELL, w // CELL), [])
        if len(sizes) < per_grid:
            sizes.append((width, height))
    return {grid: sizes for grid, sizes in table.items() if len(sizes) >= 20}
