"""The figures and the table of bench/peers."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import report


class ReportTest(unittest.TestCase):
    def test_median_and_half_the_range_in_percent(self):
        self.assertEqual(report.with_interval([1000, 1100, 900]), "1,000 ±10")

    def test_ratios_are_taken_by_turns(self):
        self.assertEqual(report.ratio([2, 30, 8], [1, 10, 2]), "3.00 (2.00 to 4.00)")

    def test_columns_are_as_wide_as_their_entries(self):
        lines = report.table([["row", "ours"], ["tree", "1"]]).splitlines()
        self.assertEqual(lines, ["| row  | ours |", "| ---- | ---: |", "| tree |    1 |"])


if __name__ == "__main__":
    unittest.main()
