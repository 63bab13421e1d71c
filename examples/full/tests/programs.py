#!/usr/bin/env python3
"""Runs a full example as a user would, and checks what table.py says about it: it trains, learns,
applies its model, resumes with the same bits after being killed, refuses wrong command lines and
files, and notices lost output. With MPIRUN, an absolute path, it only trains in several processes.

usage: programs.py PROGRAMS WORK NAME [MPIRUN | DEVICE]
With DEVICE it only learns there, as on the CPU.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import table

MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}  # fmt: skip
FULL = Path("/dev/full")


class Failure(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Failure(text)


def same(one, other, text):
    need(one == other, f"{text}: need\n{one}\ngot\n{other}" if isinstance(one, str) else text)


class Example:
    def __init__(self, programs, work, name):
        self.programs, self.row = Path(programs), table.ROWS[name]
        self.name = self.row.get("program", name)
        self.work = Path(work).resolve()
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        for file, text in self.row.get("files", {}).items():
            (self.work / file).parent.mkdir(exist_ok=True)
            (self.work / file).write_text(text)

    def command(self, arguments):
        words = arguments.split() if isinstance(arguments, str) else arguments
        return [self.programs / self.name, *words]

    def run(self, status, arguments, expected="", text="", **surroundings):
        """Returns the output; the exit status must be this one, or one of these."""
        ended = subprocess.run(
            self.command(arguments), cwd=self.work, text=True, timeout=300,
            env=os.environ | surroundings.pop("env", {}), input=text if "stdin" not in surroundings else None,
            **({"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | surroundings))  # fmt: skip
        output = (ended.stdout or "") + (ended.stderr or "")
        statuses = status if isinstance(status, tuple) else (status,)
        need(ended.returncode in statuses,
             f"{arguments}: need exit status {status}; got {ended.returncode}\n{output}")  # fmt: skip
        need(re.search(expected, output), f"{arguments}: need {expected}; got\n{output}")
        return output

    def bits(self, folder, file="best"):
        return (self.work / folder / f"{file}.safetensors").read_bytes()

    def apply(self, folder, more="", text=None):
        text = self.row["input"] if text is None else text
        return self.run(0, f"--apply --output {folder} {more}", text=text)

    # What every example with shared options does.

    def check_command_line(self):
        self.run(0, "--help --apply --epochs none", rf"--output FOLDER[^)]*\({self.name}\)")
        self.run(2, "--no-such-option", "unrecognised option '--no-such-option'")
        self.run(2, "surplus")
        self.run(2, "--epochs 0 --output folder",
                 'need a whole number from 1 to 1000000 for --epochs; got "0"')  # fmt: skip
        self.run(2, "--learning-rate nan", 'need a number from 1e-09 to 10 for --learning-rate; got "nan"')
        self.run(1, "--device abacus --output folder", 'need one of "cpu".*; got "abacus"')
        need(not (self.work / "folder").exists(), "need no folder of a run that never began; got one")

    def check_learning(self):
        """Trains shortly on generated data. Its report, its timeline, and the answers of its model."""
        output = self.run(0, f"{self.row['learn']} --output learnt --report report.json --explain "
                             "--timeline timeline.json")  # fmt: skip
        need(re.search(r"nodes.* batches", output), f"need what --explain shows; got\n{output}")
        report = json.loads((self.work / "report.json").read_text())
        for name, least in self.row["learns"].items():
            smaller, larger = least if isinstance(least, tuple) else (least, 1)
            need(smaller <= report[name] <= larger,
                 f"need {name} from {smaller} to {larger}; got {report}")  # fmt: skip
        speeds = [value for name, value in report.items() if "_per_s" in name]
        need(speeds and min(speeds) > 0, f"need a speed; got {report}")
        events = (self.work / "timeline.json").read_text()
        for name in ("minibatch", "update", "plan", "forward", "sum gradients of parameters"):
            need(f'"name":"{name}"' in events, f"need {name} in the timeline")
        json.loads(events)

    def check_answers(self):
        answers = self.apply("learnt", "--threads 1")
        need(re.search(self.row["answers"], answers), f"need {self.row['answers']}; got\n{answers}")
        ways = ["--threads 2", "--device cpu"]
        if "cuda-host" in self.run(1, "--device abacus --apply --output learnt"):
            ways.append("--device cuda-host")
        for way in ways:
            same(answers, self.apply("learnt", way), way)
        # More samples than are answered at once, with the other end of a line.
        lines = self.row["input"].replace("\n", "\r\n")
        same(answers * 70, self.apply("learnt", text=lines * 70), "many lines")
        if "\tDET\t" not in lines and "\t_\t" not in lines:
            alone = [self.apply("learnt", text=line) for line in lines.splitlines(keepends=True)]
            same(answers, "".join(alone), "line by line")
        for option in ("--resume", "--explain", "--hidden=8", "--seed=1", "--report=x", "--timeline=x"):
            refused = f"need --apply with no options but [^;]*--output.*; got {option.split('=')[0]}\n"
            self.run(2, f"--apply --output learnt {option}", refused)
        self.run(1, "--apply --output nothing", "nothing/best.safetensors: .*No such file")
        (self.work / "broken").mkdir()
        (self.work / "broken/best.safetensors").write_text("broken")
        self.run(1, "--apply --output broken")

    def check_stops(self):
        """Stops a short run before calls that change files, in a folder with a model of another run.
        There always is a model that can be applied, and a resumed run has the bits of one that was
        not stopped."""
        small = f"{self.row['small']} --epochs 2 --threads 1"
        self.run(0, f"{small} --output whole")
        self.run(0, f"{small} --output old --seed 2")
        library = self.programs / "libstop_at.so"
        if not library.exists():  # built with a sanitizer, which must be loaded first
            print(f"SKIPPED: stops, which need {library.name}")
            return
        call, step, stopped = 1, self.row.get("stops", 7), 0
        while True:
            shutil.rmtree(self.work / "run", ignore_errors=True)
            shutil.copytree(self.work / "old", self.work / "run")
            kind = signal.SIGKILL if call % 2 else signal.SIGINT
            stop = {"LD_PRELOAD": str(library), "STOP_AT": str(call),
                    "STOP_WITH": str(int(kind))}  # fmt: skip
            output = self.run((0, 130, -kind), f"{small} --output run", env=stop)
            if "Stopped" not in output and "best: epoch" in output:
                break
            self.apply("run")
            if self.bits("run", "checkpoint") != self.bits("old", "checkpoint"):
                self.run(0, "--resume --output run --threads 2")
                same(self.bits("whole"), self.bits("run"), f"other bits after a stop at call {call}")
                stopped += 1
            call += step
        need(stopped > 0, "need a run that was stopped and resumed; got none")
        need(not list((self.work / "run").glob("*.tmp")), "need no temporary files; got some")

    def check_resuming(self):
        fixed = "--decay" not in self.run(0, "--help")
        self.run(2, "--resume --output whole --learning-rate 0.1", 'learning-rate was .*; got "0.1"')
        if fixed:  # the learning rate falls until the last epoch
            self.run(2, "--resume --output whole --epochs 3", 'epochs was "2"; got "3"')
        else:
            self.run(0, "--resume --output whole --epochs 3", "of 3, dev ")
        other = "seq2seq" if self.name == "graph_network" else "graph_network"
        arguments = f"{table.ROWS[other]['small']} --epochs 1 --output other"
        subprocess.run([self.programs / other, *arguments.split()], cwd=self.work, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        self.run(1, "--apply --output other", f'need a model of {self.name}; got one of "{other}"')
        self.run(1, "--resume --output other", f'need a checkpoint of {self.name}; got one of "{other}"')

    def check_streams(self):
        """Lost output is an error, and no file gets the number of a closed stream."""
        lost = f"^{self.name}: standard output: need to write it; got: No space left on device\n$"
        training = f"{self.row['small']} --epochs 1 --output full"
        for arguments in ("--help", "--apply --output learnt", training) if FULL.exists() else ():
            with FULL.open("w") as full:
                errors = self.run(1, arguments, text=self.row["input"], stdout=full, stderr=subprocess.PIPE)
                need(re.search(lost, errors), f"need {lost}; got {errors}")
        for option in ("--report", "--timeline"):
            self.run(1, f"{option} /dev/full", "/dev/full: .*need a regular file")
        folder = os.open(self.work, os.O_RDONLY)  # can be opened, but not read
        self.run(1, "--apply --output learnt", f"^{self.name}: standard input: ", stdin=folder)
        os.close(folder)
        shell = f"exec {self.command([])[0]} {self.row['small']} --epochs 1 --output"
        for redirection, status in ((">&- <&-", 1), ("2>&- <&-", 0)):
            command = f"{shell} closed {redirection}"
            ended = subprocess.run(command, shell=True, cwd=self.work, capture_output=True, check=False)
            same(status, ended.returncode, f"exit status with {redirection}")
        self.run(0, "--apply --output closed", text=self.row["input"])

    def check_lost_output(self):
        """The same for a program without options."""
        if FULL.exists():
            with FULL.open("w") as full:
                errors = self.run(1, "", stdout=full, stderr=subprocess.PIPE)
                need(re.search("need to write it|cannot write the output", errors), errors)

    def check_cases(self):
        for status, arguments, expected, *text in self.row.get("cases", []):
            self.run(status, arguments, expected, *text)
        if "check" in self.row:
            self.row["check"](self)

    # Several processes.

    def start_ranks(self, mpirun, ranks, folder, more=""):
        arguments = (f"{self.row['ranks']} --epochs 6 --shards 6 --threads {1 + ranks % 2} "
                     f"--output {folder} {more}")  # fmt: skip
        return subprocess.Popen(
            [mpirun, "-n", str(ranks), *self.command(arguments)], cwd=self.work, text=True,
            env=os.environ | MPI, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip

    def finish_ranks(self, run):
        output, _ = run.communicate(timeout=300)
        need(run.returncode == 0 and output.count("\nbest: epoch ") == 1,
             f"need one end; got {run.returncode}\n{output}")  # fmt: skip

    def check_ranks(self, mpirun):
        """Any number of processes computes the bits of one, also after one of them was killed."""
        random.seed(self.name)
        for ranks in (1, 2, 3):
            self.finish_ranks(self.start_ranks(mpirun, ranks, f"ranks{ranks}"))
            same(self.bits("ranks1"), self.bits(f"ranks{ranks}"), f"other bits with {ranks} processes")
        for kind, ranks in ((signal.SIGKILL, 3), (signal.SIGTERM, 2)):
            resume = "--resume" if (self.work / "stopped/checkpoint.safetensors").exists() else ""
            run = self.start_ranks(mpirun, ranks, "stopped", resume)
            for line in run.stdout:
                if line.startswith("epoch "):
                    break
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
            own = [c for c in children if Path(f"/proc/{c}/comm").read_text().strip() == self.name[:15]]
            if own:
                os.kill(int(random.choice(own)), kind)
            run.communicate(timeout=300)
        self.finish_ranks(self.start_ranks(mpirun, 4, "stopped", "--resume"))
        same(self.bits("ranks1"), self.bits("stopped"), "other bits after stops")
        two = [mpirun, "-n", "2", *self.command("--apply --output ranks1")]
        run = subprocess.run(two, cwd=self.work, env=os.environ | MPI, capture_output=True, text=True, check=False)
        need("need --apply in one process; got 2 of them" in run.stderr, run.stderr)

    def check_device(self, device):
        scores = []
        for where in ("cpu", device):
            output = self.run(0, f"{self.row['device']} --device {where} --threads 1 --output {where}")
            scores.append(float(re.search(r"test accuracy: ([0-9.]+) %", output)[1]))
        need(abs(scores[0] - scores[1]) <= 2, f"need accuracies at most 2 % apart; got {scores}")


def main(programs, work, name, where=""):
    example = Example(programs, work, name)
    checks = [example.check_cases]
    if where.startswith("/"):
        checks = [lambda: example.check_ranks(where)]
    elif where:
        checks = [lambda: example.check_device(where)]
    elif "learn" in example.row:
        checks = [example.check_command_line, example.check_learning, example.check_answers,
                  example.check_stops, example.check_resuming, example.check_streams,
                  example.check_cases]  # fmt: skip
    elif "slow" not in example.row:
        checks.append(example.check_lost_output)
    for check in checks:
        check()


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except Failure as failure:
        sys.exit(f"{sys.argv[3]}: {failure}")
