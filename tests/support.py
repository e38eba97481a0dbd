"""What the end-to-end tests share: the binary, checkpoints to spoil, and how a good error looks."""
import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
HUB = FIXTURES / "mage_vl" / "hub"
MLX_4BIT = FIXTURES / "mage_vl" / "4bit"
PICTURE = FIXTURES / "mage_vl" / "pictures" / "scene_96x64.png"
MLXCEL = os.environ.get("MLXCEL", str(ROOT / "build" / "release" / "mlxcel"))


def run(*arguments, stdin="", timeout=120, cwd=None, env=None):
    return subprocess.run([MLXCEL, *map(str, arguments)], input=stdin.encode() if isinstance(stdin, str) else stdin,
                          capture_output=True, timeout=timeout, cwd=cwd, env=env)


def generate_json(model, prompt, *arguments, **options):
    done = run("generate", "-m", model, "-p", prompt, "--json", *arguments, **options)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="mlxcel-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def copy(self, checkpoint=HUB):
        target = self.folder / "checkpoint"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(checkpoint, target)
        return target

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def assert_error(self, done, *parts, codes=(2,)):
        """One line on stderr that holds each of the parts, nothing on stdout, no crash."""
        message = done.stderr.decode(errors="replace")
        self.assertIn(done.returncode, codes, message)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(message.count("\n"), 1, message)
        self.assertTrue(message.startswith("mlxcel: "), message)
        for part in parts:
            self.assertIn(part, message)


def edit_json(path, change):
    """Rewrites a JSON file after change(document); a value that change returns replaces the document."""
    document = json.loads(path.read_text())
    replaced = change(document)
    path.write_text(json.dumps(document if replaced is None else replaced))


def edit_header(path, change):
    """Rewrites the header of a safetensors file after change(header)."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])
