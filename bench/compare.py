#!/usr/bin/env python3
"""Shows two files of `throughput --json` side by side: the ratio per row and its geometric mean."""
import argparse
import json
import math
import re
import sys

HELP = """\
Shows two files of `throughput --json` side by side, row by row.

  compare.py before.json after.json [--filter /train/]
      Rows of the same name. A ratio above 1 means that the second file is better: more instances
      per second, or less of a column for which less is better (--column).
  compare.py before.json after.json --column instances_per_cpu_s
      For rows of one thread on a machine that others use as well.
  compare.py by_hand.json ours.json --without form,policy
      Rows that differ in form and policy: the second file as a share of the first.

At the end: the geometric mean of the ratios, the smallest and the largest, and the rows that are
in one of the files only. A "~" marks a ratio that is within the spread of the runs of its row
(see --runs of throughput), that is, which may be noise.
"""
NAME_PARTS = ("model", "hidden", "batch", "mode", "form", "policy", "threads")
MARKS = {"hidden": "h", "batch": "b", "threads": "t"}
MORE_IS_BETTER = ("instances_per_s", "instances_per_cpu_s", "gflops", "peak_share")


def name_of(row, without=()):
    """The name of a row from its columns, such as tree_lstm/h64/b64/train/fused/auto/t1."""
    return "/".join(f"{MARKS.get(part, '')}{row[part]}" for part in NAME_PARTS
                    if part not in without)


def read_rows(path, pattern, without):
    """The rows of a file whose full names match, by name without some columns."""
    with open(path, encoding="utf-8") as file:
        rows = [row for row in json.load(file) if re.search(pattern, name_of(row))]
    result = {name_of(row, without): row for row in rows}
    if not result or len(result) < len(rows):
        raise ValueError(f"{path}: need rows of different names; got {len(rows)} with "
                         f"{len(result)} names: see --filter and --without")
    return result


def compare(first, second, column):
    """The lines of the table, and those below it."""
    both = [name for name in first if name in second]
    width = max(map(len, both), default=0) + 2
    lines = [f"{'row':<{width}}{'first':>12}{'second':>12}{'ratio':>9}   ({column})"] if both else []
    ratios = []
    for name in both:
        a, b = first[name][column], second[name][column]
        more, less = (b, a) if column in MORE_IS_BETTER else (a, b)
        ratio = more / less if less else math.nan
        noise = max(first[name].get("spread", 0), second[name].get("spread", 0))
        mark = "~" if abs(ratio - 1) <= noise else ""
        lines.append(f"{name:<{width}}{a:>12.4g}{b:>12.4g}{ratio:>9.3f} {mark}".rstrip())
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
    parser.add_argument("files", metavar="FILE.json", nargs=2)
    parser.add_argument("--filter", default="", metavar="REGEX", help="only these rows")
    parser.add_argument("--without", default="", metavar="COLUMNS",
                        help=f"leave these out of the names: of {','.join(NAME_PARTS)}")
    parser.add_argument("--column", default="instances_per_s",
                        help="the column to compare (default: %(default)s)")
    arguments = parser.parse_args()
    without = arguments.without.split(",")
    try:
        if not set(without) <= {"", *NAME_PARTS}:
            raise ValueError(f"need columns of {','.join(NAME_PARTS)}; got {arguments.without}")
        rows = [read_rows(path, arguments.filter, without) for path in arguments.files]
        print("\n".join(compare(*rows, arguments.column)))
    except KeyError as error:
        sys.exit(f"compare.py: need a column {error} in every row")
    except (OSError, ValueError, re.error) as error:
        sys.exit(f"compare.py: {error}")


if __name__ == "__main__":
    main()
