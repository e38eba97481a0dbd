"""The verbs of the real binary on real checkpoints."""
import json
import subprocess
import unittest

from support import FIXTURES, HUB, MLXCEL, PICTURE, Case, generate_json, run


class Generate(Case):
    def test_json_says_everything(self):
        report = generate_json(HUB, "What is this?", "--image", PICTURE, "-n", "5", "--ignore-eos")
        self.assertEqual(len(report["token_ids"]), 5)
        self.assertEqual(report["finish_reason"], "length")
        self.assertEqual(report["images"][0]["grid"][0], 1)
        _, h, w = report["images"][0]["grid"]
        self.assertEqual(report["images"][0]["tokens"], h * w // 4)
        usage = report["usage"]
        self.assertEqual(usage["prompt_tokens"], len(report["prompt_token_ids"]))
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + 5)
        for key in ("load_ms", "preprocess_ms", "vision_ms", "prefill_ms", "decode_ms"):
            self.assertGreaterEqual(report["timings"][key], 0)

    def test_text_streams_to_stdout_alone(self):
        done = run("generate", "-m", HUB, "-p", "Hello", "-n", "8")
        report = generate_json(HUB, "Hello", "-n", "8")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.decode(), report["text"] + "\n")
        self.assertEqual(done.stderr, b"")

    def test_typed_special_tokens_are_text(self):
        plain = generate_json(HUB, "a <|image_pad|> b <|im_end|>", "-n", "1")
        placeholder = json.loads((HUB / "config.json").read_text())["image_token_id"]
        self.assertNotIn(placeholder, plain["prompt_token_ids"])
        self.assertEqual(plain["images"], [])

    def test_seeded_sampling_repeats_and_differs(self):
        def sample(seed):
            return generate_json(HUB, "Tell me more.", "-n", "12", "--temp", "1.5", "--seed", seed, "--ignore-eos")["token_ids"]
        self.assertEqual(sample(1), sample(1))
        self.assertNotEqual(sample(1), sample(2))

    def test_stop_text_is_not_part_of_the_answer(self):
        whole = generate_json(HUB, "Hello", "-n", "20", "--ignore-eos")["text"]
        stop = whole[len(whole) // 2:][:2]
        cut = generate_json(HUB, "Hello", "-n", "20", "--ignore-eos", "--stop", stop)
        self.assertEqual(cut["text"], whole[:whole.index(stop)])
        self.assertEqual(cut["finish_reason"], "stop")

    def test_context_limit_ends_with_length(self):
        prompt = generate_json(HUB, "Hello", "-n", "1")["usage"]["prompt_tokens"]
        report = generate_json(HUB, "Hello", "-n", "50", "--ignore-eos", "--ctx-size", prompt + 3)
        self.assertEqual(report["finish_reason"], "length")
        self.assertEqual(report["usage"]["total_tokens"], prompt + 3)

    def test_thread_counts_and_chunks_change_nothing(self):
        base = generate_json(HUB, "Say it.", "--image", PICTURE, "-n", "16", "--ignore-eos")["token_ids"]
        for flags in (("--threads", "1"), ("--threads", "3"), ("--prefill-chunk", "1"), ("--prefill-chunk", "7")):
            with self.subTest(flags=flags):
                self.assertEqual(generate_json(HUB, "Say it.", "--image", PICTURE, "-n", "16", "--ignore-eos", *flags)["token_ids"], base)

    def test_prompt_from_standard_input(self):
        self.assertEqual(generate_json(HUB, "-", "-n", "4", stdin="Hello\n")["token_ids"],
                         generate_json(HUB, "Hello", "-n", "4")["token_ids"])


class Chat(Case):
    def test_turns_and_commands(self):
        done = run("chat", "-m", HUB, "-n", "6", "--ignore-eos", stdin=f"/image {PICTURE}\nWhat is it?\nAnd now?\n/clear\nHello\n/exit\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"tokens]", done.stderr)
        self.assertTrue(done.stdout.decode().strip())

    def test_a_cleared_chat_answers_like_a_new_one(self):
        # A fixed-seed checkpoint may write line ends; so compare whole outputs.
        fresh = run("chat", "-m", HUB, "-n", "8", "--ignore-eos", stdin="Hello\n").stdout
        after = run("chat", "-m", HUB, "-n", "8", "--ignore-eos", stdin="Something else\n/clear\nHello\n").stdout
        self.assertTrue(after.endswith(fresh))
        self.assertGreater(len(after), len(fresh))

    def test_errors_in_a_pipe_end_it(self):
        done = run("chat", "-m", HUB, stdin="/image /no/such.png\n")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"no such file", done.stderr)


class Inspect(Case):
    def test_parameters_match_the_tensors(self):
        report = json.loads(run("inspect", "-m", HUB, "--json").stdout)
        self.assertEqual(report["model_type"], "mage_vl")
        data = (HUB / "model.safetensors").read_bytes()
        header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
        total = 0
        for name, tensor in header.items():
            if name != "__metadata__":
                count = 1
                for dim in tensor["shape"]:
                    count *= dim
                total += count
        self.assertEqual(report["parameters"], total)

    def test_bits_of_a_mixed_checkpoint(self):
        report = json.loads(run("inspect", "-m", FIXTURES / "mage_vl" / "mixed", "--json").stdout)
        self.assertTrue({"4", "8"} <= set(report["parameters_by_bits"]))
        text = run("inspect", "-m", FIXTURES / "mage_vl" / "mixed").stdout.decode()
        self.assertIn("for each 1,000 tokens", text)

    def test_list_names_checkpoints_and_what_is_wrong(self):
        (self.folder / "broken").mkdir()
        (self.folder / "broken" / "config.json").write_text("{}")
        (self.folder / "good").symlink_to(HUB)
        rows = json.loads(run("list", "--models-dir", self.folder, "--json", cwd=self.folder).stdout)
        by_name = {row["name"]: row["family"] for row in rows}
        self.assertIn("Mage-VL", by_name["good"])
        self.assertIn("not usable", by_name["broken"])


class Help(Case):
    def test_help_of_every_verb(self):
        top = run("--help").stdout.decode()
        for verb in ("generate", "chat", "inspect", "list", "dump"):
            self.assertIn(verb, top)
            self.assertIn("--model", run(verb, "--help").stdout.decode()) if verb != "list" else None

    def test_a_closed_pipe_is_no_crash(self):
        done = subprocess.run(f"'{MLXCEL}' --help | head -n 1", shell=True, capture_output=True, check=False)
        self.assertEqual(done.stderr, b"")


if __name__ == "__main__":
    unittest.main()
