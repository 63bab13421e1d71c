#!/usr/bin/env python3
"""Prints tables of the speed of cells written gate by gate, against goals, limits and fused cells."""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HELP = """\
Measures the speed of programs written gate by gate, and prints Markdown tables:

  1. a Tree-LSTM whose forget gates read only their own child, written for DyNet's headers
  2. other models through DyNet's headers
  3. the fused Tree-LSTM, whose forget gates read both children
  4. gate by gate as a share of fused
  5. the host's time except recording and planning

  scripts/build.sh release throughput dynet_style by_hand
  bench/cell_tables.py > tables.md          # medians of 5, about ten minutes
  bench/cell_tables.py --quick              # one short run of each row: under a minute, noisy
  bench/cell_tables.py --tables 1,3         # only these
  bench/cell_tables.py --json rows.json     # the medians, also for bench/compare.py

Every row runs on one processor (--cpu) in a process of its own. The rows take turns, so that a busy
period of the machine affects one run of each row, not all runs of one. Progress goes to standard
error. Ctrl-C ends measuring; then the tables of the rows measured so far are printed.

Instances per second are per second of processor time, so that other programs disturb less.

The goals ("to reach") were set on a Zen 4 core that multiplies and adds 117 GFLOP/s, where DyNet
2.1 was measured, too. The tables multiply these figures by this core's peak, which is measured in
the same run, divided by 117: so the goal is the same share of the peak. A core with a higher peak is
not as much faster outside of products, so this is stricter where the host matters (small hidden
sizes, minibatches of 1). The speed relative to a program by hand, without recording and planning
(bench/by_hand), depends less on the machine.

If a goal was set on other instances than those of bench/ (Tree-GRU, lattices, DAGs), figures are
also multiplied by our speed then on the instances of bench/, divided by our speed on the others: so
they ask for the same speed-up.
"""

SET_AT_GFLOPS = 117
PROGRAM_OF_FORM = {"dynet": "dynet_style", "by_hand": "by_hand", "fused": "throughput",
                   "ops": "throughput"}
SIZES = (50, 64, 128, 256)
MODES = ("train", "infer")
OF_FUSED = {50: 0.8, 64: 0.8, 128: 0.9, 256: 0.9}
HOST_NS = {"train": 80, "infer": 40}
# Models that exist in both forms, and the sizes at which they are compared.
BOTH_FORMS = {"tree_lstm": SIZES, "tagger": SIZES, "tree_gru": (128,), "lattice_lstm": (128,),
              "random_dag": (128,)}


def row_name(model, hidden, batch, mode, form):
    """The name that the programs use."""
    policy = "none" if form == "by_hand" else "auto"
    return f"{model}/h{hidden}/b{batch}/{mode}/{form}/{policy}/t1"


@dataclasses.dataclass(frozen=True)
class Goal:
    """The goal of a row, in instances per second at SET_AT_GFLOPS."""
    model: str
    hidden: int
    batch: int
    mode: str
    form: str
    reach: float
    limit: float = math.nan  # of a program written by hand
    dynet: float = math.nan  # of DyNet 2.1
    then: float = 1          # our speed when the goal was set
    then_here: float = 1     # our speed then, on the instances of bench/

    def name(self):
        """The name of the row that is measured."""
        return row_name(self.model, self.hidden, self.batch, self.mode, self.form)

    def limit_name(self):
        """The name of the row of the limit; None if there is none."""
        if math.isnan(self.limit):
            return None
        return row_name(self.model, self.hidden, self.batch, self.mode, "by_hand")


def both_modes(model, hidden, form, reach, limit, dynet=(math.nan, math.nan)):
    """A goal for training and one for inference, in minibatches of 64."""
    return [Goal(model, hidden, 64, mode, form, *figures)
            for mode, *figures in zip(MODES, reach, limit, dynet)]


GOALS = {
    1: both_modes("tree_lstm_own_forget", 64, "dynet", (8500, 18000), (14900, 44600), (3261, 6888))
       + both_modes("tree_lstm_own_forget", 128, "dynet", (4200, 11000), (4930, 16000),
                    (1938, 4278))
       + both_modes("tree_lstm_own_forget", 256, "dynet", (1400, 4200), (1540, 4860), (750, 1993)),
    2: [Goal("tree_gru", 128, 64, "train", "dynet", 4500, dynet=1774, then=2532, then_here=3041),
        Goal("lattice_lstm", 128, 64, "train", "dynet", 2400, dynet=850, then=1542, then_here=1198),
        Goal("lattice_lstm", 128, 64, "infer", "dynet", 6500, dynet=2592, then=4602,
             then_here=3181),
        Goal("random_dag", 128, 64, "train", "dynet", 4000, dynet=1768, then=2250, then_here=5372),
        Goal("tree_lstm_own_forget", 64, 256, "train", "dynet", 7500, dynet=2833),
        Goal("tree_lstm_own_forget", 128, 1, "train", "dynet", 2400, dynet=1114),
        Goal("tagger_with_builders", 50, 64, "train", "dynet", 6000, dynet=1566),
        Goal("tagger_with_builders", 50, 64, "infer", "dynet", 16000, dynet=3931)],
    3: both_modes("tree_lstm", 64, "fused", (10500, 25000), (13100, 39000))
       + both_modes("tree_lstm", 128, "fused", (3850, 11400), (4200, 13400))
       + both_modes("tree_lstm", 256, "fused", (1200, 3700), (1270, 4000)),
}
TITLES = {
    1: "Tree-LSTM whose forget gates read only their own child, gate by gate, DyNet's headers",
    2: "Other models through DyNet's headers",
    3: "Tree-LSTM whose forget gates read both children, fused",
    4: "Gate by gate as a share of fused, minibatches of 64",
    5: "The host except recording and planning, nanoseconds per node, minibatches of 64",
}


def pairs():
    """Model, size, mode and the rows of both forms, for tables 4 and 5."""
    for model, sizes in BOTH_FORMS.items():
        for hidden in sizes:
            for mode in MODES:
                yield model, hidden, mode, *(row_name(model, hidden, 64, mode, form)
                                             for form in ("ops", "fused"))


def rows_of(tables):
    """The names of the rows that these tables need, each once."""
    names = []
    for table in sorted(tables):
        for goal in GOALS.get(table, ()):
            names += [goal.name(), goal.limit_name()]
        if table not in GOALS:
            names += [name for pair in pairs() for name in pair[3:]]
    return list(dict.fromkeys(filter(None, names)))


def measure_row(programs, name, seconds):
    """Runs a row once. Returns the object that its program writes for --json."""
    program = PROGRAM_OF_FORM[name.split("/")[4]]
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "row.json"
        command = [programs / program, "--filter", f"^{name}$", "--seconds", str(seconds), "--json",
                   result]
        done = subprocess.run(command, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              check=False)
        if done.returncode != 0:
            raise ValueError(f"{program} failed for {name}: {done.stderr.strip()}")
        return json.loads(result.read_text(encoding="utf-8"))[0]


def measure(programs, names, arguments):
    """The runs by row, and the exit status. Ctrl-C, or a row that fails, ends it early."""
    runs = {}
    total = arguments.runs * len(names)
    try:
        for i in range(total):
            name = names[i % len(names)]
            print(f"[{i + 1}/{total}] {name}", file=sys.stderr, flush=True)
            runs.setdefault(name, []).append(measure_row(programs, name, arguments.seconds))
    except KeyboardInterrupt:
        print("cell_tables.py: stopped", file=sys.stderr)
        return runs, 130
    except ValueError as error:
        print(f"cell_tables.py: {error}", file=sys.stderr)
        return runs, 1
    return runs, 0


def median_of(runs, peak):
    """The run with the median speed, with the spread of all runs, the share of one peak, and the least
    host time, since clocks go on while other programs run."""
    runs = sorted(runs, key=lambda run: run["instances_per_cpu_s"])
    row = dict(runs[(len(runs) - 1) // 2])
    row["runs"] = len(runs)
    fastest, slowest = runs[-1]["instances_per_cpu_s"], runs[0]["instances_per_cpu_s"]
    row["spread"] = (fastest - slowest) / row["instances_per_cpu_s"]
    row["peak_gflops"] = peak
    row["peak_share"] = row["gflops"] / row["cpu_share"] / peak
    row["rest_ns_per_node"] = min(run["rest_ns_per_node"] for run in runs)
    return row


def markdown(headers, lines):
    """A Markdown table; columns of figures are aligned to the right."""
    cells = [headers, ["---"] + ["--:"] * (len(headers) - 1), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def percent(share):
    """A share, as text for the tables."""
    return f"{100 * share:.0f} %"


def both_percent(share, to_reach):
    """A share, and the goal."""
    return f"{percent(share)} ({percent(to_reach)})"


class Verdicts:
    """Counts the goals that were reached."""

    def __init__(self):
        self.reached = self.all = 0

    def judge(self, is_reached):
        """The word for the table."""
        self.all += 1
        self.reached += is_reached
        return "yes" if is_reached else "no"


HEADERS = ("row", "MFLOP", "instances/s", "spread", "to reach", "reached", "of peak (to reach)",
           "by hand", "of by hand (to reach)", "DyNet 2.1", "batches / bound")


def goal_line(goal, medians, peak, verdicts):
    """The line of a goal in tables 1 to 3; columns that do not apply are empty."""
    row = medians[goal.name()]
    speed = row["instances_per_cpu_s"]
    mflop = 1e3 * row["gflops"] / row["instances_per_s"]
    scale = peak / SET_AT_GFLOPS * goal.then_here / goal.then
    reach = goal.reach * scale
    line = dict.fromkeys(HEADERS, "")
    line["row"] = goal.name().rsplit("/", 2)[0]
    line["MFLOP"] = f"{mflop:.1f}"
    line["instances/s"] = f"{speed:.0f}"
    if row["runs"] > 1:
        line["spread"] = percent(row["spread"])
    line["to reach"] = f"{reach:.0f}"
    line["reached"] = f"{verdicts.judge(speed >= reach)}, {speed / reach:.2f}"
    line["of peak (to reach)"] = both_percent(row["peak_share"], reach * mflop / 1e3 / peak)
    if by_hand := medians.get(goal.limit_name()):
        limit = by_hand["instances_per_cpu_s"]
        line["by hand"] = f"{limit:.0f}"
        line["of by hand (to reach)"] = both_percent(speed / limit, goal.reach / goal.limit)
    if not math.isnan(goal.dynet):
        line["DyNet 2.1"] = f"{goal.dynet * scale:.0f}"
    line["batches / bound"] = f"{row['batches']:.0f} / {row['bound']:.0f}"
    return line


def goal_table(goals, medians, peak, verdicts):
    """Tables 1 to 3: those of the goals that were measured; empty columns are left out."""
    lines = [goal_line(goal, medians, peak, verdicts) for goal in goals if goal.name() in medians]
    headers = [header for header in HEADERS if any(line[header] for line in lines)]
    text = markdown(headers, [[line[header] for header in headers] for line in lines])
    models = dict.fromkeys(goal.model for goal in goals if goal.then != goal.then_here)
    if models:
        text += ("\n\nGoals were set at other instances for " + ", ".join(models) + ": they and "
                 "DyNet's figures are multiplied by our speed then on the instances of bench/, divided "
                 "by our speed on those.")
    return text


def measured_pairs(medians):
    """Those of pairs() whose two rows were both measured, with the rows."""
    for model, hidden, mode, ops, fused in pairs():
        if ops in medians and fused in medians:
            yield model, hidden, mode, medians[ops], medians[fused]


def share_table(medians, verdicts):
    """Table 4: a line per model and mode, a column per size."""
    lines = {}
    for model, hidden, mode, ops, fused in measured_pairs(medians):
        share = ops["instances_per_cpu_s"] / fused["instances_per_cpu_s"]
        line = lines.setdefault((model, mode), [f"{model}/{mode}"] + [""] * len(SIZES))
        word = verdicts.judge(share >= OF_FUSED[hidden])
        line[1 + SIZES.index(hidden)] = f"{percent(share)}, {word}"
    headers = ["row"] + [f"h{hidden} (to reach {percent(OF_FUSED[hidden])})" for hidden in SIZES]
    return markdown(headers, lines.values())


def host_table(medians, verdicts):
    """Table 5: a line per model, size and mode, a column per form."""
    lines = []
    for model, hidden, mode, *forms in measured_pairs(medians):
        line = [f"{model}/h{hidden}/{mode}", str(HOST_NS[mode])]
        for row in forms:
            rest = round(row["rest_ns_per_node"])
            line.append(f"{rest}, {verdicts.judge(rest <= HOST_NS[mode])}")
        lines.append(line)
    return markdown(["row", "to reach", "gate by gate", "fused"], lines)


def print_tables(tables, medians, peak):
    """Prints the measured parts of these tables."""
    runs = sorted(row["runs"] for row in medians.values())
    number = f"{runs[0]}" if runs[0] == runs[-1] else f"{runs[0]} to {runs[-1]}"
    print(f"One core multiplies and adds {peak:.0f} GFLOP/s; goals were set at {SET_AT_GFLOPS}. "
          f"Medians of {number}, instances per second of processor time.")
    verdicts = Verdicts()
    for table in tables:
        if table in GOALS:
            text = goal_table(GOALS[table], medians, peak, verdicts)
        else:
            text = (share_table if table == 4 else host_table)(medians, verdicts)
        print(f"\n## {TITLES[table]}\n\n{text}")
    print(f"\nReached: {verdicts.reached} of {verdicts.all}.")


def parse_command_line():
    """Parses the arguments; exits with 2 if they are invalid."""
    parser = argparse.ArgumentParser(description=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", type=pathlib.Path, metavar="FOLDER",
                        help="where bin/throughput and so on are (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="of each row (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1, help="of a run (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="--runs 1 --seconds 0.2")
    parser.add_argument("--tables", default="1,2,3,4,5", metavar="NUMBERS",
                        help="which tables (default: %(default)s)")
    parser.add_argument("--cpu", type=int, help="the processor to run on (default: the last one)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="also write the median run of each row")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.runs, arguments.seconds = 1, 0.2
    if arguments.runs < 1 or not 0.001 <= arguments.seconds <= 3600:
        parser.error("need --runs of at least 1 and --seconds from 0.001 to 3600; got "
                     f"{arguments.runs} and {arguments.seconds}")
    words = arguments.tables.split(",")
    if not set(words) <= set(map(str, TITLES)):
        parser.error(f"need numbers from 1 to {len(TITLES)} for --tables; got {arguments.tables}")
    arguments.tables = sorted(set(map(int, words)))
    return arguments


def pin(cpu):
    """Pins this process and those that it starts to one processor, if the system can."""
    if not hasattr(os, "sched_setaffinity"):
        print("cell_tables.py: processes are not pinned on this system", file=sys.stderr)
        return
    allowed = os.sched_getaffinity(0)
    cpu = max(allowed) if cpu is None else cpu
    if cpu not in allowed:
        raise ValueError(f"need --cpu of {sorted(allowed)}; got {cpu}")
    os.sched_setaffinity(0, {cpu})


def main():
    """Measures and prints. Exits with 1 if a program fails, with 130 if Ctrl-C ended it."""
    arguments = parse_command_line()
    programs = arguments.build / "bin"
    try:
        for program in PROGRAM_OF_FORM.values():
            if not (programs / program).is_file():
                raise ValueError(f"need {programs / program}; build it with scripts/build.sh")
        if arguments.json:
            arguments.json.touch()  # a mistake shows now
        pin(arguments.cpu)
        runs, status = measure(programs, rows_of(arguments.tables), arguments)
        if runs:
            peak = max(run["peak_gflops"] for of_row in runs.values() for run in of_row)
            medians = {name: median_of(of_row, peak) for name, of_row in runs.items()}
            print_tables(arguments.tables, medians, peak)
            if arguments.json:
                text = json.dumps(list(medians.values()), indent=2) + "\n"
                arguments.json.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        sys.exit(f"cell_tables.py: {error}")
    sys.exit(status)


if __name__ == "__main__":
    main()
