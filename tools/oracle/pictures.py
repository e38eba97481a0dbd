"""Small pictures drawn with integer arithmetic alone, so that every pixel is the same everywhere."""

import numpy as np
from PIL import Image


def scene(width, height, seed):
    """A shaded ground, a disc, a box and a little grain."""
    random = np.random.RandomState(seed)  # its stream is frozen by numpy's compatibility promise
    y, x = np.mgrid[0:height, 0:width]
    ground, slope = random.randint(30, 220, 3), random.randint(-60, 60, (2, 3))
    pixels = ground + x[..., None] * slope[0] // width + y[..., None] * slope[1] // height
    side = min(width, height)
    radius = side // 5 + random.randint(side // 8)
    center_x, center_y = random.randint(width), random.randint(height)
    pixels[(x - center_x) ** 2 + (y - center_y) ** 2 < radius**2] = random.randint(0, 256, 3)
    left, top = random.randint(width // 2), random.randint(height // 2)
    pixels[top : top + side // 3, left : left + side // 2] = random.randint(0, 256, 3)
    pixels = pixels + random.randint(-6, 7, (height, width, 1))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def plain(width, height, color):
    return Image.new("RGB", (width, height), color)


PICTURES = {
    "scene_96x64.png": scene(96, 64, seed=1),
    "scene_64x96.png": scene(64, 96, seed=2),
    "scene_64x64.png": scene(64, 64, seed=3),
    # Both sides lie halfway between multiples of 32 and round to the even one: 64 x 64.
    "halves_80x48.png": scene(80, 48, seed=4),
    # Under the smallest area allowed: enlarged to 96 x 64.
    "tiny_40x30.png": scene(40, 30, seed=5),
    # Neither side is a multiple of 32: one shrinks, the other grows.
    "odd_107x90.png": scene(107, 90, seed=6),
    "red_224x224.png": plain(224, 224, (255, 0, 0)),
}
