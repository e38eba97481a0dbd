"""Draws the example pictures that the README and the demo ask about."""

import argparse
import os

from draw import Scene, Shape, render_original


def shape(kind, color, place, center, radius, tone):
    return Shape(kind, color, place, *center, radius, tone)


EXAMPLES = {
    "red_circle.png": Scene(
        320, 240, "yellow", (255, 225, 30),
        [shape("circle", "red", "left", (95, 122), 62, (225, 25, 25))],
    ),
    "shapes.jpg": Scene(
        400, 300, "white", (246, 246, 246),
        [
            shape("square", "blue", "left", (105, 150), 75, (30, 60, 220)),
            shape("triangle", "green", "right", (295, 150), 78, (30, 150, 50)),
        ],
    ),
    "three_shapes.png": Scene(
        480, 360, "black", (16, 16, 16),
        [
            shape("star", "yellow", "top", (240, 88), 80, (250, 225, 40)),
            shape("square", "pink", "left", (90, 230), 76, (250, 150, 190)),
            shape("circle", "cyan", "right", (385, 230), 76, (40, 210, 220)),
        ],
    ),
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    os.makedirs(folder, exist_ok=True)
    for name, scene in EXAMPLES.items():
        options = {"quality": 92} if name.endswith(".jpg") else {"optimize": True}
        render_original(scene).save(os.path.join(folder, name), **options)


if __name__ == "__main__":
    main()
