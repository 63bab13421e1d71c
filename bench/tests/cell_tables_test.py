"""Tests of bench/cell_tables.py: its output for programs that measure nothing."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "cell_tables.py"

# Replaces all programs: a speed from the row's name, a little higher in every run; and a peak of
# twice that of the goals. Runs the code in `fake` first.
FAKE = """\
#!{python}
import json, os, pathlib, sys
row = sys.argv[sys.argv.index("--filter") + 1].strip("^$")
model, hidden, batch, mode, form, policy, threads = row.split("/")
log = pathlib.Path({folder!r}) / "log"
earlier = log.read_text().splitlines() if log.exists() else []
with log.open("a") as file:
    file.write(row + "\\n")
exec(os.environ.get("FAKE", ""))
speed = {{"dynet": 10000, "by_hand": 40000, "fused": 20000, "ops": 17000}}[form]
speed += 1000 * earlier.count(row)
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump([{{"row": row, "hidden": int(hidden[1:]), "instances_per_s": speed / 2,
               "cpu_share": 0.5, "instances_per_cpu_s": speed, "gflops": speed / 2 * 2e-3,
               "peak_gflops": 234.0, "rest_ns_per_node": 50 + 20 * earlier.count(row),
               "batches": 30, "bound": 20}}], file)
"""


class CellTablesTest(unittest.TestCase):
    """Runs the program in a folder of its own with programs that measure nothing."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "bin").mkdir()
        for name in ("throughput", "dynet_style", "by_hand"):
            path = self.folder / "bin" / name
            path.write_text(FAKE.format(python=sys.executable, folder=temporary.name),
                            encoding="utf-8")
            path.chmod(0o755)

    def run_program(self, *options, fake=""):
        """Its exit status, tables and messages."""
        done = subprocess.run([sys.executable, PROGRAM, "--build", self.folder, *options],
                              text=True, capture_output=True, check=False,
                              env={**os.environ, "FAKE": fake}, start_new_session=True)
        return done.returncode, done.stdout, done.stderr

    def line(self, text, row):
        """The cells of the line of a table that begins with a row's name."""
        found = re.search(rf"^\| {row} \| (.*) \|$", text, re.MULTILINE)
        self.assertIsNotNone(found, f"{row} in\n{text}")
        return [cell.strip() for cell in found[1].split("|")]

    def test_goals(self):
        """They are shares of the peak: twice as much where the peak is twice as high."""
        status, text, errors = self.run_program("--tables", "1", "--runs", "3")
        self.assertEqual((status, errors.count("\n")), (0, 36), errors)
        self.assertIn("One core multiplies and adds 234 GFLOP/s; goals were set at 117. Medians of 3",
                      text)
        # 2 MFLOP; 11000 is the median of 10000, 11000, 12000, and the goal is 17000.
        self.assertEqual(self.line(text, "tree_lstm_own_forget/h64/b64/train/dynet"),
                         ["2.0", "11000", "18 %", "17000", "no, 0.65", "9 % (15 %)", "41000",
                          "27 % (57 %)", "6522", "30 / 20"])
        self.assertEqual(self.line(text, "tree_lstm_own_forget/h256/b64/train/dynet")[4],
                         "yes, 3.93")
        self.assertIn("Reached: 3 of 6.", text)

    def test_other_instances(self):
        """Goals that were set at other instances ask for the same speed-up, and say so."""
        _, text, _ = self.run_program("--tables", "2", "--quick")
        # 4000 * 2 * 5372 / 2250; a single run has no spread, and there is no limit.
        self.assertEqual(self.line(text, "random_dag/h128/b64/train/dynet"),
                         ["2.0", "10000", "19100", "no, 0.52", "9 % (16 %)", "8442", "30 / 20"])
        self.assertRegex(text, "other instances for tree_gru, lattice_lstm, random_dag: ")

    def test_gate_by_gate_and_host(self):
        """85 % of fused is enough at the small sizes; of host times the least counts."""
        _, text, _ = self.run_program("--tables", "4,5", "--runs", "2")
        self.assertEqual(self.line(text, "tree_lstm/train"),
                         ["85 %, yes", "85 %, yes", "85 %, no", "85 %, no"])
        self.assertEqual(self.line(text, "random_dag/infer"), ["", "", "85 %, no", ""])
        self.assertEqual(self.line(text, "tagger/h50/train"), ["80", "50, yes", "50, yes"])
        self.assertEqual(self.line(text, "tagger/h50/infer"), ["40", "50, no", "50, no"])

    def test_rows_take_turns(self):
        """A round has every row once, in a process of its own."""
        self.run_program("--tables", "1,3", "--runs", "2")
        rows = (self.folder / "log").read_text(encoding="utf-8").split()
        self.assertEqual(len(set(rows[:24])), 24)
        self.assertEqual(rows[:24], rows[24:])

    def test_medians_as_json(self):
        """They have what compare.py reads."""
        path = self.folder / "rows.json"
        self.run_program("--tables", "3", "--runs", "3", "--json", path)
        rows = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(len(rows), 12)
        self.assertEqual(rows[0]["row"], "tree_lstm/h64/b64/train/fused/auto/t1")
        self.assertEqual((rows[0]["instances_per_cpu_s"], rows[0]["runs"]), (21000, 3))
        self.assertAlmostEqual(rows[0]["spread"], 2 / 21)

    def test_ctrl_c_keeps_what_was_measured(self):
        """In the second round, when there are two runs of one row and one of the others."""
        fake = (f"import signal\nif len(earlier) == 13: os.killpg(0, signal.{signal.SIGINT.name})")
        status, text, errors = self.run_program("--tables", "1", fake=fake)
        self.assertEqual(status, 130)
        self.assertIn("stopped", errors)
        self.assertIn("Medians of 1 to 2,", text)
        self.assertIn("Reached: ", text)
        self.assertEqual(text.count("/dynet |"), 6)

    def test_rows_that_fail(self):
        """Its message, and the tables of what was measured before."""
        status, text, errors = self.run_program(
            "--tables", "1", fake="if len(earlier) == 12: sys.exit('the fan has stopped')")
        self.assertEqual(status, 1)
        self.assertIn("dynet_style failed for tree_lstm_own_forget/h64/b64/train/dynet/auto/t1: "
                      "the fan has stopped", errors)
        self.assertIn("Medians of 1,", text)

    def test_mistakes(self):
        """They are reported before anything is measured."""
        for status, message, options in (
                (2, "need numbers from 1 to 5 for --tables; got 1,6", ("--tables", "1,6")),
                (2, "need --runs of at least 1", ("--runs", "0")),
                (2, "to 3600; got 5 and nan", ("--seconds", "nan")),
                (1, "none/rows.json", ("--json", "none/rows.json")),
                (1, "need --cpu of ", ("--cpu", "100000")),
                (1, "bin/dynet_style; build it with", ("--build", "/none"))):
            got, text, errors = self.run_program(*options)
            self.assertEqual((got, text), (status, ""), errors)
            self.assertIn(message, errors)
        self.assertFalse((self.folder / "log").exists())
        self.assertIn("Ctrl-C", self.run_program("--help")[1])


if __name__ == "__main__":
    unittest.main()
