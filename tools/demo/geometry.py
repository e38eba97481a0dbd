"""How a picture becomes the rows a Mage-VL tower reads.

Training and evaluation must see exactly the sizes that the engine will produce, so the size rule
and the patch order live here once. Only numpy is needed.
"""

import math

import numpy as np

PATCH = 16
MERGE = 2
CELL = PATCH * MERGE  # one visual token covers CELL x CELL pixels
# Every picture, whatever its size, comes to 16..24 visual tokens.
MIN_PIXELS = 16000
MAX_PIXELS = 25000
MEAN = np.array([0.48145466, 0.4578275, 0.40821073], np.float32)
STD = np.array([0.26862954, 0.26130258, 0.27577711], np.float32)


def smart_resize(height, width, factor=CELL, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS):
    """Returns (height, width) after resizing: multiples of `factor`, area within the bounds."""
    new_h = round(height / factor) * factor  # Python rounds halves to even, as required
    new_w = round(width / factor) * factor
    if new_h * new_w > max_pixels:
        scale = math.sqrt(height * width / max_pixels)
        new_h = max(factor, math.floor(height / scale / factor) * factor)
        new_w = max(factor, math.floor(width / scale / factor) * factor)
    elif new_h * new_w < min_pixels:
        scale = math.sqrt(min_pixels / (height * width))
        new_h = math.ceil(height * scale / factor) * factor
        new_w = math.ceil(width * scale / factor) * factor
    return new_h, new_w


def patch_rows(pixels):
    """uint8 [B, H, W, 3] -> float32 [B, N, 3*PATCH*PATCH], merge-block order, channel first."""
    batch, height, width, _ = pixels.shape
    x = pixels.astype(np.float32) * np.float32(1 / 255)
    x = (x - MEAN) / STD
    rows, cols = height // CELL, width // CELL
    x = x.reshape(batch, rows, MERGE, PATCH, cols, MERGE, PATCH, 3)
    x = x.transpose(0, 1, 4, 2, 5, 7, 3, 6)
    return np.ascontiguousarray(x).reshape(batch, rows * cols * MERGE * MERGE, 3 * PATCH * PATCH)
