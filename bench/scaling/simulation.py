"""Runs an example in SimGrid's simulation of MPI, for bench/scaling.py.

All ranks are one process, in which they take turns. They compute, send and sum the same bits as on
machines of their own. The clock advances by the processor time of a rank's thread, so that other
programs hardly matter, and by the time of the network: a switch with SimGrid's default model of
TCP, a latency (one way), and a rate per machine and direction. Each message takes as much of its
rank's processor time as a small message takes here.
"""

import argparse
import operator
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import hosts

ROOT = Path(__file__).resolve().parent.parent.parent
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="machines" prefix="n" suffix="" radical="0-{last}" speed="1Gf" core="{cores}"
  bw="{rate}Bps" lat="{latency}us" loopback_bw="{memory}Bps" loopback_lat="1us"/>
</zone></platform>
"""
CONFIGURATION = {
    "smpi/host-speed": "1Gf",  # that of the platform: a second here is a second there
    "smpi/privatization": "dlopen",
    "contexts/stack-size": "16384",
}
ENVIRONMENT = {"DYNET_LIKE_RANK_TIME_LIMIT": "1e6"}  # in simulated seconds
COMPILER_OPTIONS = ["-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-DFMT_SHARED",
                    "-DBOOST_PROGRAM_OPTIONS_DYN_LINK", f"-I{ROOT}"]  # fmt: skip


def median_seconds(work, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def message_seconds():
    """Processor seconds to send a small message by TCP and to receive it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return median_seconds(lambda: (sender.sendall(b"sizesize"), receiver.recv(8)), 1000)


def memory_rate():
    """Bytes per second between two ranks of this machine, by two copies."""
    one, two = bytearray(1 << 24), memoryview(bytearray(1 << 24))
    return len(one) / (2 * median_seconds(lambda: operator.setitem(two, slice(None), one), 10))


def compile_example(name, build, work):
    """Compiles the example and the sources that use MPI for SimGrid, and links the built libraries."""
    objects = []
    for compiler, source, more in (
        ("smpicxx", "dynet_like/distributed/mpi/mpi_ranks.cpp", ["-DMPI_Testall=wait_for_all", "-DMPI_Improbe=wait_for_message", "-DMPI_Imrecv=receive_found"]),
        ("smpicxx", "bench/scaling/simulated_clock.cpp", []),
        ("c++", f"examples/full/{name}.cpp", ["-Dmain=program_main"]),
    ):
        objects.append(str(work / (Path(source).stem + ".o")))
        command = [compiler, *COMPILER_OPTIONS, *more, "-c", str(ROOT / source), "-o", objects[-1]]
        subprocess.run(command, check=True)
    libraries = [
        build / f"examples/full/lib{part}.a" for part in (f"{name}_parts", "example_support")
    ]
    for folder in ("nn", "dynet_like", "batching"):
        libraries += [f"-Wl,-rpath,{build / folder}", f"-L{build / folder}"]
    libraries += [f"-l{part}" for part in ("dynet_like_nn", "dynet_like", "dynet_like_batching",
                                           "boost_program_options", "fmt")]  # fmt: skip
    program = work / f"simulated_{name}"
    existing = [str(one) for one in libraries if isinstance(one, str) or one.exists()]
    subprocess.run(["smpicxx", *objects, *existing, "-o", str(program)], check=True)
    return program


class Simulation:
    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments
        self.work = Path(arguments.work).resolve() / "simulated" / name
        self.work.mkdir(parents=True, exist_ok=True)
        self.program = compile_example(name, Path(arguments.build).resolve(), self.work)
        self.message, self.memory = message_seconds(), memory_rate()

    def run(self, ranks, batch, gigabits=1.0, latency=0.0, machines=None, shards=None):
        """Simulates ranks on `machines` machines, by default one on each. Returns samples per second
        of the last epoch, and the shares of communication, waiting and imbalance. The latency is
        in microseconds."""
        machines, shards = machines or ranks, shards or max(8, ranks)
        cores = os.cpu_count() if machines < ranks else 1
        platform, names = self.work / "platform.xml", self.work / "hosts"
        platform.write_text(PLATFORM.format(
            last=machines - 1, cores=cores, rate=gigabits * 1e9 / 8, latency=latency / 2,
            memory=self.memory))  # fmt: skip
        names.write_text("".join(f"n{rank % machines}\n" for rank in range(ranks)))
        settings = CONFIGURATION | {"smpi/ois": f"0:{self.message}:0"}
        command = ["smpirun", "-np", str(ranks), "-platform", str(platform),
                   "-hostfile", str(names), *(f"--cfg={key}:{value}" for key, value in settings.items()),
                   str(self.program), *self.options(batch), "--shards", str(shards),
                   "--threads", "1", "--output", str(self.work / "run")]  # fmt: skip
        run = subprocess.Popen(command, env=os.environ | ENVIRONMENT | {"PMI_SIZE": str(ranks)},
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)  # fmt: skip
        lines = []
        for line in run.stdout:
            lines.append(line)
            if line.startswith(f"epoch {hosts.EPOCHS}/"):
                break  # the end of the program would take longer
        else:
            sys.exit(f"need {self.name} to train in a simulation; got\n{''.join(lines)}")
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return hosts.numbers_of(lines[-1])

    def options(self, batch):
        """Enough samples for some minibatches."""
        options = argparse.Namespace(**vars(self.arguments))
        options.programs, options.work = options.build, str(self.work)
        options.samples = batch * max(2, 512 // batch)
        return hosts.Training(self.name, options, options.hidden, batch).command[1:]
