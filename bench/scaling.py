#!/usr/bin/env python3
"""Predicts training on 2 to 256 machines, from measurements on this one.

usage: scaling.py BUILD DATA WORK [--costs FILE] [--hosts FILE] [--examples NAME...] [--hidden N]
                  [--weak N] [--strong N] [--latency MICROSECONDS] [--simulated N...] [--repeats N]

It needs SimGrid (apt-get install libsimgrid-dev), numpy, and BUILD, the folder of a built preset.
Measures costs and writes them to --costs (WORK/costs.json); if that file exists, reads them.
SimGrid runs the examples themselves with the --simulated numbers of ranks (scaling/simulation.py).
With 64 ranks a run would take many minutes: there, scaling/formula.py replaces it.

The first table compares the formula with SimGrid, with ranks here and, with --hosts, with the
measurements of `hosts.py --json FILE`; of several runs, the fastest. The second has weak scaling,
with --weak samples per rank in an update, and strong scaling, with --strong for all ranks, relative
to the best rate of one rank.
"""

import argparse
import itertools
import json
import statistics
import sys
from pathlib import Path

import hosts
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "scaling"))
from formula import BATCHES, PAYLOAD, Example  # noqa: E402
from simulation import Simulation  # noqa: E402

NETWORKS = (1, 10)  # Gbit/s
RANKS = (2, 4, 8, 16, 32, 64, 128, 256)


def gradient_bytes(best):
    """Bytes of dense parameters, and of one row of the words' table with its number."""
    content = best.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    shapes = {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}
    tables = [name for name in shapes if name.endswith("/E")]
    words = max(tables, key=lambda name: shapes[name][0])
    dense = sum(int(np.prod(shape)) for name, shape in shapes.items() if name not in tables)
    return [4 * dense, 4 * shapes[words][1] + 4]


def measure(simulation, arguments):
    """Measures samples per second of one rank and of several, and sizes of gradients."""
    training = hosts.Training(simulation.name, arguments, arguments.hidden, 64)
    runs = {f"batch {n}": lambda n=n: simulation.run(1, n, shards=1) for n in BATCHES}
    runs["shards 8"] = lambda: simulation.run(1, 64)
    for ranks in (1, 2, 4):
        runs[f"here {ranks}"] = lambda r=ranks: training.run(["mpirun", "-n", str(r)], 1)
        runs[f"simulated here {ranks}"] = lambda r=ranks: simulation.run(r, 64, machines=1)
    for case in itertools.product(NETWORKS, arguments.simulated, (False, True)):
        batch = arguments.weak * case[1] if case[2] else 64
        runs[f"simulated: {batch} {case[1]} {case[0]}"] = (
            lambda ranks=case[1], n=batch, rate=case[0]: simulation.run(
                ranks, n, rate, arguments.latency
            )
        )
    turns = {key: [] for key in runs}
    for _ in range(arguments.repeats):
        for key, run in runs.items():
            turns[key].append(run()[0])
    return {"turns": turns, "bytes": gradient_bytes(simulation.work / "run/best.safetensors"),
            "message": simulation.message}  # fmt: skip


def show_check(name, example, costs, arguments):
    turns, cases = costs["turns"], []
    for key in [key for key in turns if key.startswith("simulated: ")]:
        batch, ranks, gigabits = map(int, key.split()[1:])
        formula = example.rate(ranks, batch, gigabits, arguments.latency)
        cases.append((f"{ranks} of {batch}, {gigabits} Gbit/s", formula, turns[key], []))
    for ranks in (1, 2, 4):
        case = (
            f"{ranks} of 64, one host",
            0,
            turns[f"simulated here {ranks}"],
            turns[f"here {ranks}"],
        )
        cases.append(case)
    if arguments.hosts:
        measured = json.loads(Path(arguments.hosts).read_text())
        for setting, rows in measured[f"{name} {arguments.hidden}"].items():
            if setting.endswith(" ms"):
                trip, gigabits = measured["link " + setting.split()[-2]]
                formula = example.rate(2, 64, gigabits / PAYLOAD, 500 * trip)
                cases.append((f"2 of 64, {setting[9:]}", formula, [], [row[0] for row in rows]))
    for case, formula, simulated, real in cases:
        cells = [formula, max(simulated, default=0), statistics.median(real or [0]),
                 max(real, default=0)]  # fmt: skip
        print(f"| {name} | {case} | {' | '.join(f'{x:.0f}' if x else '' for x in cells)} |")


def show_scaling(name, example, arguments):
    for gigabits in NETWORKS:
        for ranks in RANKS:
            weak = example.step(ranks, arguments.weak * ranks, gigabits, arguments.latency)
            strong = example.rate(ranks, arguments.strong, gigabits, arguments.latency)
            rate, share = arguments.weak * ranks / weak.sum(), 100 * weak / weak.sum()
            print(f"| {name} | {gigabits} | {ranks} | {rate:.0f} | {rate / ranks / example.best:.2f} | "
                  f"{share[2]:.0f} | {share[1]:.0f} | {strong:.0f} | {strong / example.best:.1f} |",
                  flush=True)  # fmt: skip


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    for name in ("build", "data", "work"):
        parser.add_argument(name)
    for name in ("costs", "hosts"):
        parser.add_argument(f"--{name}", help="a file, see above")
    parser.add_argument("--examples", nargs="+", default=list(hosts.EXAMPLES))
    for name, value in {"hidden": 128, "weak": 32, "strong": 1024, "repeats": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--simulated", nargs="*", type=int, default=[2, 4, 8], help="ranks")
    parser.add_argument("--latency", type=float, default=30, help="one way, in microseconds")
    return parser.parse_args()


def main():
    arguments = arguments_of()
    file = Path(arguments.costs or Path(arguments.work) / "costs.json")
    if not file.exists():
        arguments.programs, arguments.samples = Path(arguments.build) / "bin", 1280
        costs = {}
        for name in arguments.examples:
            costs[name] = measure(Simulation(name, arguments), arguments)
        file.write_text(json.dumps(costs))
    costs = json.loads(file.read_text())
    print("| example | ranks, samples | formula: samples/s | SimGrid | measured | most |\n"
          "|---|---|---|---|---|---|")  # fmt: skip
    examples = {}
    for name in arguments.examples:
        text = Path(arguments.data) / hosts.EXAMPLES[name][0].format("train")
        examples[name] = Example(name, text.read_text(encoding="utf-8"), costs[name])
    for name, example in examples.items():
        show_check(name, example, costs[name], arguments)
    print("\n| example | Gbit/s | ranks | weak: samples/s | efficiency | exchange % | imbalance % | "
          "strong: samples/s | times as fast |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for name, example in examples.items():
        show_scaling(name, example, arguments)


if __name__ == "__main__":
    main()
