"""Tests of bench/compare.py: its output for small files."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "compare.py"


def row(speed, form="fused", batch=64, **more):
    """A row of `throughput --json`, with the columns that matter."""
    return {"model": "tagger", "hidden": 50, "batch": batch, "mode": "train", "form": form,
            "policy": "auto", "threads": 1, "instances_per_s": speed, "us_per_instance": 1e6 / speed,
            **more}


class CompareTest(unittest.TestCase):
    """Runs the program on two files."""

    def compare(self, first, second, *options):
        """Its output and exit status."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, rows in (("first", first), ("second", second)):
                paths.append(pathlib.Path(folder) / f"{name}.json")
                paths[-1].write_text(json.dumps(rows), encoding="utf-8")
            done = subprocess.run([sys.executable, PROGRAM, *paths, *options], text=True,
                                  capture_output=True, check=False)
        return done.stdout + done.stderr, done.returncode

    def test_ratios_and_their_mean(self):
        """2 and 8 times as fast is 4 times as fast."""
        text, status = self.compare([row(10), row(100, batch=1)], [row(20), row(800, batch=1)])
        self.assertEqual(status, 0)
        lines = text.splitlines()
        self.assertRegex(lines[1], r"^tagger/h50/b64/train/fused/auto/t1 +10 +20 +2\.000$")
        self.assertRegex(lines[2], r"^tagger/h50/b1/.* 8\.000$")
        self.assertEqual(lines[3], "geometric mean of 2 ratios: 4.000 (2.000 to 8.000)")
        self.assertEqual(len(lines), 4)

    def test_less_is_better_for_times(self):
        """The same with microseconds per instance."""
        text, _ = self.compare([row(10)], [row(20)], "--column", "us_per_instance")
        self.assertRegex(text, r"t1 +1e\+05 +5e\+04 +2\.000\n")

    def test_rows_in_one_file(self):
        """They are named, not dropped."""
        text, _ = self.compare([row(1), row(1, batch=1)], [row(1), row(1, batch=16)])
        self.assertIn("only in the first: tagger/h50/b1/train/fused/auto/t1\n", text)
        self.assertIn("only in the second: tagger/h50/b16/train/fused/auto/t1\n", text)
        self.assertIn("mean of 1 ratios", text)

    def test_noise_is_marked(self):
        """A ratio within the spread of either row."""
        text, _ = self.compare([row(10, spread=0.2), row(10, batch=1)], [row(11), row(11, batch=1)])
        self.assertRegex(text, r"b64/.* 1\.100 ~\n")
        self.assertRegex(text, r"b1/.* 1\.100\n")

    def test_other_forms_side_by_side(self):
        """Columns that are left out of the names need a choice where they are ambiguous."""
        ours = [row(5), row(3, form="ops")]
        by_hand = [row(10, form="by_hand")]
        text, status = self.compare(by_hand, ours, "--without", "form,policy")
        self.assertEqual(status, 1)
        self.assertIn('second.json: need one row "tagger/h50/b64/train/t1"; got several', text)
        text, status = self.compare(by_hand, ours, "--without", "form,policy", "--second", "/fused/")
        self.assertEqual(status, 0)
        self.assertRegex(text, r"tagger/h50/b64/train/t1 +10 +5 +0\.500\n")

    def test_mistakes(self):
        """They are one line and exit with 1."""
        for options in (("--filter", "nothing"), ("--filter", "("), ("--without", "size"),
                        ("--column", "nothing")):
            text, status = self.compare([row(1)], [row(1)], *options)
            self.assertEqual(status, 1, options)
            self.assertRegex(text, r"^compare\.py: .*\n$")


if __name__ == "__main__":
    unittest.main()
