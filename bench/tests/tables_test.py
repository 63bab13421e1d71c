"""Tests of bench/compare.py, by its output for small files, and of bench/peers/report.py."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH / "peers"))
import report


def row(speed, form="fused", batch=64, **more):
    """A row of `throughput --json`, with the columns that matter."""
    return {"model": "tagger", "hidden": 50, "batch": batch, "mode": "train", "form": form,
            "policy": "auto", "threads": 1, "instances_per_s": speed, "us_per_instance": 1e6 / speed,
            **more}


class CompareTest(unittest.TestCase):
    """Runs the program on two files."""

    def compare(self, first, second, *options, status=0):
        """Its output."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, rows in (("first", first), ("second", second)):
                paths.append(pathlib.Path(folder) / f"{name}.json")
                paths[-1].write_text(json.dumps(rows), encoding="utf-8")
            done = subprocess.run([sys.executable, BENCH / "compare.py", *paths, *options], text=True,
                                  capture_output=True, check=False)
        self.assertEqual(done.returncode, status, options)
        return done.stdout + done.stderr

    def test_ratios_and_their_mean(self):
        """2 and 8 times as fast is 4 times as fast; a ratio within the spread is marked."""
        first = [row(10, spread=2), row(100, batch=1), row(1, batch=16)]
        lines = self.compare(first, [row(20), row(800, batch=1), row(1, batch=256)]).splitlines()
        self.assertRegex(lines[1], r"^tagger/h50/b64/train/fused/auto/t1 +10 +20 +2\.000 ~$")
        self.assertRegex(lines[2], r"^tagger/h50/b1/.* 8\.000$")
        self.assertEqual(lines[3:], ["geometric mean of 2 ratios: 4.000 (2.000 to 8.000)",
                                     "only in the first: tagger/h50/b16/train/fused/auto/t1",
                                     "only in the second: tagger/h50/b256/train/fused/auto/t1"])
        text = self.compare([row(10)], [row(20)], "--column", "us_per_instance")
        self.assertRegex(text, r"t1 +1e\+05 +5e\+04 +2\.000\n")

    def test_other_forms_side_by_side(self):
        """Names without columns must still differ."""
        by_hand, options = [row(10, form="by_hand")], ("--without", "form,policy")
        text = self.compare(by_hand, [row(5), row(3, form="ops")], *options, status=1)
        self.assertIn("second.json: need rows of different names; got 2 with 1", text)
        text = self.compare(by_hand, [row(5)], *options)
        self.assertRegex(text, r"tagger/h50/b64/train/t1 +10 +5 +0\.500\n")

    def test_mistakes(self):
        """They are one line and exit with 1."""
        for options in (("--filter", "nothing"), ("--filter", "("), ("--without", "size"),
                        ("--column", "nothing")):
            text = self.compare([row(1)], [row(1)], *options, status=1)
            self.assertRegex(text, r"^compare\.py: .*\n$")


class ReportTest(unittest.TestCase):
    """Figures and tables of the comparison with other libraries."""

    def test_figures(self):
        """The median, and half the range in percent; ratios are taken by turns."""
        self.assertEqual(report.with_interval([1000, 1100, 900]), "1,000 ±10")
        self.assertEqual(report.ratio([2, 30, 8], [1, 10, 2]), "3.00 (2.00 to 4.00)")

    def test_columns_are_as_wide_as_their_entries(self):
        lines = report.table([["row", "ours"], ["tree", "1"]]).splitlines()
        self.assertEqual(lines, ["| row  | ours |", "| ---- | ---: |", "| tree |    1 |"])


if __name__ == "__main__":
    unittest.main()
