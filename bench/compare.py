#!/usr/bin/env python3
"""Shows two files of `throughput --json` side by side: the ratio per row and its geometric mean."""
import argparse
import json
import math
import re
import sys

HELP = """\
Shows two files of `throughput --json` side by side, row by row.

  compare.py before.json after.json
      Rows of the same name. A ratio above 1 means that the second file is better: more instances
      per second, or less of a column for which less is better (--column).
  compare.py before.json after.json --filter /train/
      Only rows whose name matches.
  compare.py before.json after.json --column instances_per_cpu_s
      For rows of one thread on a machine that others use as well.
  compare.py by_hand.json ours.json --second /fused/auto/t1 --without form,policy
      Rows that differ in form and policy: the second file as a share of the first. Without these
      columns each name must occur only once per file: --first and --second select such rows.

At the end: the geometric mean of the ratios, the smallest and the largest, and the rows that are
in one of the files only. A "~" marks a ratio that is within the spread of the runs of its row
(see --runs of throughput), that is, which may be noise.
"""
NAME_PARTS = ("model", "hidden", "batch", "mode", "form", "policy", "threads")
MARKS = {"hidden": "h", "batch": "b", "threads": "t"}
MORE_IS_BETTER = ("instances_per_s", "instances_per_cpu_s", "gflops", "peak_share")


def name_of(row, without):
    """The name of a row from its columns, such as tree_lstm/h64/b64/train/fused/auto/t1."""
    return "/".join(f"{MARKS.get(part, '')}{row[part]}" for part in NAME_PARTS
                    if part not in without)


def read_rows(path, patterns, without):
    """The rows of a file whose full names match all patterns, by name without some columns."""
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)
    result = {}
    for row in rows:
        full_name = name_of(row, ())
        if not all(re.search(pattern, full_name) for pattern in patterns):
            continue
        name = name_of(row, without)
        if name in result:
            raise ValueError(f"{path}: need one row \"{name}\"; got several: pick one by "
                             "--first, --second or --filter")
        result[name] = row
    if not result:
        raise ValueError(f"{path}: need a row that matches; got none of {len(rows)}")
    return result


def ratio_of(first, second, column):
    """The ratio of the second row to the first, above 1 if it is better."""
    a, b = first[column], second[column]
    if column not in MORE_IS_BETTER:
        a, b = b, a
    return b / a if a else math.nan


def compare(first, second, column):
    """The lines of the table, and those below it."""
    both = [name for name in first if name in second]
    width = max(map(len, both), default=0) + 2
    lines = [f"{'row':<{width}}{'first':>12}{'second':>12}{'ratio':>9}   ({column})"] if both else []
    ratios = []
    for name in both:
        ratio = ratio_of(first[name], second[name], column)
        noise = max(first[name].get("spread", 0), second[name].get("spread", 0))
        mark = "~" if abs(ratio - 1) <= noise else ""
        lines.append(f"{name:<{width}}{first[name][column]:>12.4g}{second[name][column]:>12.4g}"
                     f"{ratio:>9.3f} {mark}".rstrip())
        if ratio > 0:
            ratios.append(ratio)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"geometric mean of {len(ratios)} ratios: {mean:.3f} "
                     f"({min(ratios):.3f} to {max(ratios):.3f})")
    for title, rows, others in (("first", first, second), ("second", second, first)):
        lines += [f"only in the {title}: {name}" for name in rows if name not in others]
    return lines


def main():
    """Parses the command line; exits with 1 if a file cannot be compared."""
    parser = argparse.ArgumentParser(description=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first_file", metavar="FIRST.json")
    parser.add_argument("second_file", metavar="SECOND.json")
    parser.add_argument("--filter", default="", metavar="REGEX", help="rows of both files")
    parser.add_argument("--first", default="", metavar="REGEX", help="rows of the first file")
    parser.add_argument("--second", default="", metavar="REGEX", help="rows of the second file")
    parser.add_argument("--without", default="", metavar="COLUMNS",
                        help=f"leave these out of the names: of {','.join(NAME_PARTS)}")
    parser.add_argument("--column", default="instances_per_s",
                        help="the column to compare (default: %(default)s)")
    arguments = parser.parse_args()
    without = tuple(filter(None, arguments.without.split(",")))
    try:
        if unknown := set(without) - set(NAME_PARTS):
            raise ValueError(f"--without needs columns of {','.join(NAME_PARTS)}; "
                             f"got {','.join(sorted(unknown))}")
        first = read_rows(arguments.first_file, (arguments.filter, arguments.first), without)
        second = read_rows(arguments.second_file, (arguments.filter, arguments.second), without)
        print("\n".join(compare(first, second, arguments.column)))
    except KeyError as error:
        sys.exit(f"compare.py: need a column {error} in every row")
    except (OSError, ValueError, re.error) as error:
        sys.exit(f"compare.py: {error}")


if __name__ == "__main__":
    main()
