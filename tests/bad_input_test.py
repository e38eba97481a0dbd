"""Whatever a user or a file does ends in one clear line and exit code 2 (or 1), never in a crash."""
import json
import os
import struct
import unittest
import zlib

from support import HUB, MLX_4BIT, PICTURE, Case, edit_header, edit_json, run


def generate(model, *arguments):
    return run("generate", "-m", model, "-p", "What is this?", "-n", "2", *arguments)


class Flags(Case):
    def test_wrong_command_lines(self):
        cases = [
            ((), "command"),
            (("generat",), "generat"),
            (("generate",), "--model"),
            (("generate", "-m", HUB), "--prompt"),
            (("generate", "-m", HUB, "-p", "x", "--imgae", "a.png"), "--image"),
            (("generate", "-m", HUB, "-p", "x", "-n", "0"), "--max-tokens"),
            (("generate", "-m", HUB, "-p", "x", "-n", "many"), "many"),
            (("generate", "-m", HUB, "-p", "x", "--temp", "nan"), "--temp"),
            (("generate", "-m", HUB, "-p", "x", "--temp", "-1"), "--temp"),
            (("generate", "-m", HUB, "-p", "x", "--top-p", "0"), "--top-p"),
            (("generate", "-m", HUB, "-p", "x", "--top-k", "99999999999999999999"), "--top-k"),
            (("generate", "-m", HUB, "-p", "x", "--seed", "-5"), "--seed"),
            (("generate", "-m", HUB, "-p", "x", "--kv-type", "int4"), "--kv-type"),
            (("generate", "-m", HUB, "-p", "x", "--backend", "tpu"), "--backend"),
            (("generate", "-m", HUB, "-p", "x", "--threads", "-2"), "--threads"),
            (("generate", "-m", HUB, "-p", "x", "stray"), "stray"),
            (("generate", "-m", HUB, "-p"), "--prompt"),
            (("dump", "-m", HUB, "-p", "x"), "--output"),
            (("completion", "tcsh"), "tcsh"),
        ]
        for arguments, part in cases:
            with self.subTest(arguments=arguments):
                self.assert_error(run(*arguments), part)

    def test_unknown_kernels(self):
        done = run("generate", "-m", HUB, "-p", "x", env=dict(os.environ, MLXCEL_CPU="abacus"))
        self.assert_error(done, "abacus")


class Files(Case):
    def test_absent_files(self):
        self.assert_error(generate(self.folder / "nowhere"), "nowhere")
        self.assert_error(generate(HUB, "--image", self.folder / "no.png"), "no.png", "no such file")
        for name in ("config.json", "tokenizer.json", "preprocessor_config.json", "model.safetensors"):
            with self.subTest(name=name):
                checkpoint = self.copy()
                (checkpoint / name).unlink()
                done = generate(checkpoint)
                self.assert_error(done, "vocab.json" if name == "tokenizer.json" else name)

    def test_no_chat_template(self):
        checkpoint = self.copy()
        (checkpoint / "chat_template.jinja").unlink()
        edit_json(checkpoint / "tokenizer_config.json", lambda c: c.pop("chat_template", None) and None)
        self.assert_error(generate(checkpoint), "chat template")

    def test_output_that_cannot_be_written(self):
        done = run("dump", "-m", HUB, "-p", "x", "-n", "1", "-o", self.folder / "no" / "such" / "folder.safetensors")
        self.assert_error(done, "folder.safetensors", codes=(1,))

    def test_a_prompt_longer_than_the_context(self):
        self.assert_error(generate(HUB, "--ctx-size", "4"), "context")
        self.assert_error(generate(HUB, "--ctx-size", "16777216"), "limit")

    def test_pictures_and_placeholders_must_agree(self):
        done = run("generate", "-m", HUB, "-p", "no placeholder", "--no-chat-template", "--image", PICTURE)
        self.assert_error(done, "placeholder")

    def test_a_text_model_takes_no_pictures(self):
        text_model = HUB.parent.parent / "qwen3" / "checkpoint"
        self.assert_error(generate(text_model, "--image", PICTURE), "takes no pictures")


class Configs(Case):
    def check(self, change, *parts, name="config.json", checkpoint=HUB):
        copy = self.copy(checkpoint)
        edit_json(copy / name, change)
        self.assert_error(generate(copy, "--image", PICTURE), *parts)

    def test_spoilt_configs(self):
        def put(*path):
            *parents, key, value = path

            def change(document):
                for parent in parents:
                    document = document[parent]
                document[key] = value
            return change

        cases = [
            (put("model_type", "mage_vl2"), "mage_vl2"),
            (put("model_type", 7), "model_type"),
            (put("vision_config", "use_patch_position_encoding", True), "use_patch_position_encoding"),
            (put("text_config", "rope_parameters", {"rope_type": "default"}), "rope_theta"),
            (put("text_config", "rope_parameters", {"rope_type": "yarn", "rope_theta": 1e6}), "yarn"),
            (put("text_config", "hidden_size", 0), "hidden_size"),
            (put("text_config", "num_hidden_layers", 1 << 60), "num_hidden_layers"),
            (put("text_config", "num_hidden_layers", 3.5), "num_hidden_layers"),
            (put("text_config", "vocab_size", -1), "vocab_size"),
            (put("text_config", []), "text_config"),
            (put("text_config", "intermediate_size", 999), "mlp.", "999"),
            (put("eos_token_id", 10 ** 9), "eos_token_id"),
            (put("quantization", {"bits": 0, "group_size": 64}), "bits"),
            (put("quantization", {"bits": 4, "group_size": 0}), "group_size"),
            (put("quantization_config", {"quant_method": "gptq", "bits": 4}), "gptq"),
            (lambda c: c.pop("image_token_id") and None, "image_token_id"),
            (lambda c: [c], "config.json"),
        ]
        for change, *parts in cases:
            with self.subTest(parts=parts):
                self.check(change, *parts)

    def test_quantisation_that_does_not_fit_the_tensors(self):
        def bits(value):
            def change(document):
                document["quantization"]["bits"] = value
            return change
        self.check(bits(8), "expected", checkpoint=MLX_4BIT)
        self.check(lambda c: (c.pop("quantization"), c.pop("quantization_config", None)) and None, "quantised",
                   checkpoint=MLX_4BIT)

    def test_texts_that_are_no_json(self):
        for name in ("config.json", "preprocessor_config.json", "tokenizer.json", "generation_config.json"):
            for text in (b"", b"{", b"[" * 100000, b'{"a": 1e999}', b"\xff\xfe\x00", b"null"):
                with self.subTest(name=name, text=text[:10]):
                    checkpoint = self.copy()
                    (checkpoint / name).write_bytes(text)
                    self.assert_error(generate(checkpoint), name)

    def test_spoilt_preprocessor(self):
        def put(key, value):
            return lambda document: document.__setitem__(key, value)
        for key, value in (("patch_size", 0), ("patch_size", 14), ("min_pixels", -1), ("image_std", [0, 1, 1]),
                           ("image_mean", [1]), ("resample", 0), ("merge_size", 3), ("max_pixels", 1)):
            with self.subTest(key=key, value=value):
                self.check(put(key, value), key, name="preprocessor_config.json")


class Tokenizers(Case):
    def test_spoilt_tokenizers(self):
        def model(key, value):
            return lambda document: document["model"].__setitem__(key, value)
        cases = [model("type", "Unigram"), model("vocab", []), model("merges", [["a"]]), model("merges", [["zzzz", "qqqq"]]),
                 lambda d: d["pre_tokenizer"]["pretokenizers"][0].__setitem__("pattern", {"Regex": "("}),
                 lambda d: d["added_tokens"][0].__setitem__("id", -4), lambda d: d.pop("model") and None]
        for change in cases:
            checkpoint = self.copy()
            edit_json(checkpoint / "tokenizer.json", change)
            self.assert_error(generate(checkpoint), "tokenizer.json")


class Templates(Case):
    def test_spoilt_templates(self):
        for text, part in (("{% for %}", "chat_template.jinja:1:"), ("{{ messages[0].content.x.y }}", "chat_template.jinja:1:"), ("{{ 'a' * 10**12 }}", ""),
                           ("{{ raise_exception('no pictures, please') }}", "no pictures, please"),
                           ("{% for i in range(10**9) %}{% for j in range(10**9) %}{% endfor %}{% endfor %}", ""),
                           ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", ""), ("{% include 'x' %}", "include"),
                           ("(" * 5 + "{{ " + "(" * 50000 + " }}", "")):
            with self.subTest(text=text[:40]):
                checkpoint = self.copy()
                (checkpoint / "chat_template.jinja").write_text(text)
                self.assert_error(generate(checkpoint), part, codes=(1, 2))


class Weights(Case):
    def test_spoilt_headers(self):
        name = "model.language_model.norm.weight"

        def put(key, value):
            return lambda header: header[name].__setitem__(key, value)
        cases = [
            (put("dtype", "F8_E4M3"), name, "F8_E4M3"),
            (put("shape", [1 << 62, 4]), name),
            (put("shape", [-1]), "shape"),
            (put("data_offsets", [8, 4]), name),
            (put("data_offsets", [0, 1 << 50]), name),
            (put("data_offsets", "x"), "data_offsets"),
            (lambda h: h.pop(name) and None, "unused"),
            (lambda h: h.__setitem__("intruder", h.pop(name)), name, "missing"),
        ]
        for change, *parts in cases:
            with self.subTest(parts=parts):
                checkpoint = self.copy()
                edit_header(checkpoint / "model.safetensors", change)
                self.assert_error(generate(checkpoint), "model.safetensors" if "missing" not in parts else name, *parts)

    def test_cut_files(self):
        whole = (HUB / "model.safetensors").read_bytes()
        for length in (0, 4, 8, 100, len(whole) // 2, len(whole) - 1):
            with self.subTest(length=length):
                checkpoint = self.copy()
                (checkpoint / "model.safetensors").write_bytes(whole[:length])
                self.assert_error(generate(checkpoint), "model.safetensors")
        for header in (struct.pack("<Q", 1 << 63), struct.pack("<Q", len(whole) * 2), b"\xff" * 8):
            checkpoint = self.copy()
            (checkpoint / "model.safetensors").write_bytes(header + whole[8:])
            self.assert_error(generate(checkpoint), "model.safetensors")

    def test_shards(self):
        sharded = HUB.parent.parent / "qwen3" / "checkpoint"
        index = json.loads((sharded / "model.safetensors.index.json").read_text())
        shard = sorted(set(index["weight_map"].values()))[-1]
        copy = self.copy(sharded)
        (copy / shard).unlink()
        self.assert_error(generate(copy), shard, "no such file")
        copy = self.copy(sharded)
        edit_json(copy / "model.safetensors.index.json",
                  lambda d: d["weight_map"].__setitem__(next(iter(d["weight_map"])), "../../etc/passwd"))
        self.assert_error(generate(copy), "model.safetensors.index.json")


class Pictures(Case):
    def check(self, name, data, *parts):
        path = self.write(name, data)
        self.assert_error(generate(HUB, "--image", path), name, *parts)

    def test_spoilt_pictures(self):
        png = PICTURE.read_bytes()

        def chunk(kind, body):
            return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 40000, 40000, 8, 2, 0, 0, 0)) + chunk(
            b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
        zero = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 0, 5, 8, 2, 0, 0, 0)) + chunk(b"IEND", b"")
        bad_crc = bytearray(png)
        bad_crc[40] ^= 1
        for name, data in (("empty.png", b""), ("text.png", b"hello, this is no picture"), ("cut.png", png[:len(png) // 2]),
                           ("bomb.png", bomb), ("zero.png", zero), ("crc.png", bytes(bad_crc)), ("soi.jpg", b"\xff\xd8\xff"),
                           ("riff.webp", b"RIFF\x10\0\0\0WEBPVP8 \0\0\0\0"), ("head.gif", b"GIF89a\x01\0\x01\0"),
                           ("head.bmp", b"BM" + bytes(60))):
            with self.subTest(name=name):
                self.check(name, data)

    def test_a_folder_is_no_picture(self):
        self.assert_error(generate(HUB, "--image", self.folder), "not a regular file")

    def test_extreme_shapes(self):
        def stripe(width, height):
            def chunk(kind, body):
                return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
            rows = b"".join(b"\0" + bytes(3 * width) for _ in range(height))
            return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                    chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
        self.check("wide.png", stripe(201, 1), "200")
        path = self.write("allowed.png", stripe(200, 1))
        self.assertEqual(generate(HUB, "--image", path).returncode, 0)


if __name__ == "__main__":
    unittest.main()
