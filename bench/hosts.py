#!/usr/bin/env python3
"""Measures training by ranks on two machines that this one plays.

usage: hosts.py PROGRAMS DATA WORK [--examples NAME...] [--hidden N...] [--delays MS...]
                [--rate GBIT] [--repeats N] [--samples N] [--batch-size N] [--json FILE]

It makes two network namespaces with host names of their own, which needs root, and a link between
them: packets follow each other, each for its bytes divided by the rate, and arrive after the delay
(one way; there and back are two). `tc` with netem would do the same; this needs only /dev/net/tun,
but a part of a processor, which the table shows. mpirun starts a rank in each namespace by an agent
instead of ssh; messages go only by TCP. The best model must have the bits of two ranks on one host.
Everything is removed at the end.

Settings take turns, --repeats times. The table has medians: samples per second of training, the
maximum over all turns, ratios to one process with one thread in the same turn, and figures of rank
0 from the line of the last epoch. Each rank has one thread. Other running threads make two ranks
look worse than they are: the last column is how many, including the one that measures, were running
when a turn began.
"""

import argparse
import fcntl
import heapq
import json
import os
import re
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

ADDRESSES = ("10.77.0.1", "10.77.0.2")
NAMESPACE = "dynet-like-{}"
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}
AGENT = """#!/bin/sh
address=$1
shift
exec ip netns exec dynet-like-$address unshare --uts sh -c "hostname host-$address; $*"
"""
# name: data file, end of a sample, unit, options
EXAMPLES = {
    "tree_lstm": ("sst/{}.txt", "\n", ["--dropout", "0.5"]),
    "tagger": ("ud_english_ewt/en_ewt-ud-{}.conllu", "\n\n", []),
}
COLUMNS = ("example", "hidden", "setting", "samples/s", "most", "ratio", "communication %",
           "waiting %", "imbalance %", "link's processor %", "running")  # fmt: skip
EPOCHS = 2  # the first one warms up
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
TUN, NO_PACKET_INFO, OFFLOAD_HEADER = 0x1, 0x1000, 0x4000
CHECKSUM, SEGMENTS = 0x1, 0x2
LARGEST_PACKET = 16384  # of a TCP stream on the link: large, so that few need handling


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Link(threading.Thread):
    """Two network devices. Packets that go into one come out of the other, later."""

    def __init__(self, gigabits):
        super().__init__(daemon=True)
        self.seconds_per_byte, self.delay, self.ends = 8e-9 / gigabits, 0.0, False
        self.devices = [self.open(i) for i in range(2)]
        self.busy = 0.0  # processor seconds

    def open(self, number):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        flags = TUN | NO_PACKET_INFO | OFFLOAD_HEADER
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", f"dyl{number}".encode(), flags))
        fcntl.ioctl(device, TUNSETOFFLOAD, CHECKSUM | SEGMENTS)
        return device

    def run(self):
        free = [0.0, 0.0]  # when each direction is free again
        coming, count = [], 0
        while not self.ends:
            self.busy = time.thread_time()
            wait = min(0.1, max(0.0, coming[0][0] - time.monotonic())) if coming else 0.1
            for device in select.select(self.devices, [], [], wait)[0]:
                side = self.devices.index(device)
                packet = os.read(device, 1 << 17)
                free[side] = max(free[side], time.monotonic()) + len(packet) * self.seconds_per_byte
                count += 1
                heapq.heappush(coming, (free[side] + self.delay, count, 1 - side, packet))
            while coming and coming[0][0] <= time.monotonic():
                _, _, side, packet = heapq.heappop(coming)
                try:
                    os.write(self.devices[side], packet)
                except BlockingIOError:
                    pass  # a full queue loses packets, as on any network
        for device in self.devices:
            os.close(device)


class Hosts:
    def __init__(self, work, gigabits):
        self.agent = work / "agent.sh"
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)
        self.link = None
        self.gigabits = gigabits

    def __enter__(self):
        try:
            self.link = Link(self.gigabits)
            for i, address in enumerate(ADDRESSES):
                name, device = NAMESPACE.format(address), f"dyl{i}"
                ip("netns", "add", name)
                ip("link", "set", device, "netns", name)
                ip("-n", name, "address", "add", f"{address}/24", "dev", device)
                ip("-n", name, "link", "set", device, "mtu", "1500", "up")
                ip("-n", name, "link", "set", device, "gso_max_size", str(LARGEST_PACKET))
                ip("-n", name, "link", "set", "lo", "up")
            self.link.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.link and self.link.is_alive():
            self.link.ends = True
            self.link.join()
        for address in ADDRESSES:
            subprocess.run(["ip", "netns", "del", NAMESPACE.format(address)],
                           stderr=subprocess.DEVNULL)  # fmt: skip

    def inside(self, number, *command):
        address = ADDRESSES[number]
        return ["ip", "netns", "exec", NAMESPACE.format(address), "unshare", "--uts", "sh", "-c",
                f'hostname host-{address}; exec "$@"', "sh", *command]  # fmt: skip

    def mpirun(self):
        network = ADDRESSES[0].rsplit(".", 1)[0] + ".0/24"
        settings = {"plm_rsh_agent": self.agent, "btl": "tcp,self", "pml": "ob1",
                    "btl_tcp_if_include": network, "oob_tcp_if_include": network}  # fmt: skip
        options = [word for name, value in settings.items() for word in ("--mca", name, str(value))]
        hosts = ",".join(f"{address}:1" for address in ADDRESSES)
        return self.inside(0, "mpirun", "-n", "2", "--host", hosts, *options)

    def measure(self):
        """Milliseconds for a byte there and back, and gigabits per second for 16 megabytes."""
        server = subprocess.Popen(self.inside(1, sys.executable, __file__, "answer"))
        try:
            text = subprocess.check_output(self.inside(0, sys.executable, __file__, "ask"))
            return json.loads(text)
        finally:
            server.wait(timeout=10)


def receive(connection, count):
    while count > 0:
        count -= len(connection.recv(min(count, 1 << 16)))


def answer():
    with socket.create_server((ADDRESSES[1], 7777)) as server:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for size in [1] * 50 + [1 << 24]:
            receive(connection, size)
            connection.sendall(b"x")


def ask():
    for _ in range(100):
        try:
            connection = socket.create_connection((ADDRESSES[1], 7777))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    for size in [1] * 50 + [1 << 24]:
        start = time.monotonic()
        connection.sendall(bytes(size))
        receive(connection, 1)
        times.append(time.monotonic() - start)
    print(json.dumps([1000 * statistics.median(times[:-1]), 8e-9 * (1 << 24) / times[-1]]))


def piece(source, target, end, count):
    """Copies samples from all parts of a file, since its beginning may differ from the rest."""
    samples = source.read_text(encoding="utf-8").split(end)
    some = samples[:: max(1, len(samples) // count)][:count]
    target.write_text("".join(sample + end for sample in some if sample), encoding="utf-8")


class Training:
    def __init__(self, name, arguments, hidden, batch_size):
        pattern, end, options = EXAMPLES[name]
        self.name, self.hidden, self.best = name, hidden, None
        self.work = Path(arguments.work).resolve() / name
        self.work.mkdir(parents=True, exist_ok=True)
        self.command = [str(Path(arguments.programs).resolve() / name), *options]
        for part in ("train", "dev", "test"):
            source = Path(arguments.data) / pattern.format(part)
            target = self.work / (part + source.suffix)
            piece(source, target, end, arguments.samples if part == "train" else 20)
            self.command += [f"--{part}", str(target)]
        sizes = {"hidden": hidden, "embedding": hidden, "batch-size": batch_size, "epochs": EPOCHS}
        self.command += [word for key, value in sizes.items() for word in (f"--{key}", str(value))]

    def run(self, prefix, threads, folder="run"):
        """Runs a setting. Returns samples per second of the last epoch and, with several ranks, the
        shares of communication, waiting and imbalance."""
        more = ["--threads", str(threads), "--output", str(self.work / folder)]
        run = subprocess.run([*prefix, *self.command, *more], env=os.environ | ENVIRONMENT,
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        epochs = [line for line in run.stdout.splitlines() if line.startswith("epoch ")]
        if run.returncode != 0 or not epochs:
            sys.exit(f"need {self.name} to train; got status {run.returncode}\n{run.stdout}")
        return numbers_of(epochs[-1])

    def run_ranks(self, prefix):
        """The same for two ranks, whose best model must have the same bits each time."""
        numbers = self.run(prefix, 1)
        best = (self.work / "run/best.safetensors").read_bytes()
        if self.best not in (None, best):
            sys.exit(f"need the same best model of {self.name} on one host and on two; got others")
        self.best = best
        return numbers


def numbers_of(epoch):
    """The figures of an epoch's line: samples per second, and the shares of several ranks."""
    rate = float(re.search(r"([\d.e+]+) \w+/s", epoch)[1])
    shares = re.findall(r"(?:communication|waiting|imbalance) ([\d.]+)", epoch)
    return [rate, *map(float, shares)]


def settings(training, hosts, delays):
    """Functions that run each setting, by name."""

    def over(delay):
        hosts.link.delay = delay / 1000
        before, start = hosts.link.busy, time.monotonic()
        result = training.run_ranks(hosts.mpirun())
        share = 100 * (hosts.link.busy - before) / (time.monotonic() - start)
        return [*result, share]

    return {
        "1 process, 1 thread": lambda: training.run([], 1),
        "1 process, 2 threads": lambda: training.run([], 2),
        "2 ranks, 1 host": lambda: training.run_ranks(["mpirun", "-n", "2"]),
    } | {f"2 ranks, {delay:g} ms": lambda delay=delay: over(delay) for delay in delays}


def running():
    """Number of threads that have a processor, or wait for one."""
    return int(re.search(r"procs_running (\d+)", Path("/proc/stat").read_text())[1])


def show(training, results, busy):
    one = results["1 process, 1 thread"]
    for name, turns in results.items():
        rate, *shares = (statistics.median(values) for values in zip(*turns, strict=True))
        most = max(turn[0] for turn in turns)
        ratio = statistics.median(
            turn[0] / other[0] for turn, other in zip(turns, one, strict=True)
        )
        cells = [f"{share:.1f}" for share in shares] + [""] * (4 - len(shares))
        cells.append(str(statistics.median(busy[name])))
        print(f"| {training.name} | {training.hidden} | {name} | {rate:.0f} | {most:.0f} | "
              f"{ratio:.2f} | " + " | ".join(cells) + " |", flush=True)  # fmt: skip


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    for name in ("programs", "data", "work"):
        parser.add_argument(name)
    parser.add_argument("--examples", nargs="+", default=list(EXAMPLES), choices=EXAMPLES)
    parser.add_argument("--hidden", nargs="+", type=int, default=[128, 256])
    parser.add_argument("--delays", nargs="*", type=float, default=[0.2, 2], help="milliseconds")
    parser.add_argument("--rate", type=float, default=1, help="gigabits per second")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--samples", type=int, default=1280)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--json", help="also write the results of all turns to this file")
    return parser.parse_args(words)


def main(words):
    arguments = arguments_of(words)
    if os.geteuid() != 0:
        sys.exit("need root, for network namespaces; got another user")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    work = Path(arguments.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    everything = {}
    with Hosts(work, arguments.rate) as hosts:
        for delay in arguments.delays:
            hosts.link.delay = delay / 1000
            trip, rate = hosts.measure()
            everything[f"link {delay:g}"] = [trip, rate]
            print(f"delay {delay:g} ms: {trip:.2f} ms there and back, {rate:.2f} Gbit/s by TCP")
        print(f"\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
        for name in arguments.examples:
            for hidden in arguments.hidden:
                training = Training(name, arguments, hidden, arguments.batch_size)
                runs = settings(training, hosts, arguments.delays)
                results, busy = {setting: [] for setting in runs}, {setting: [] for setting in runs}
                for _ in range(arguments.repeats):
                    for setting, run in runs.items():
                        busy[setting].append(running())
                        results[setting].append(run())
                show(training, results, busy)
                everything[f"{name} {hidden}"] = results
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(everything))


if __name__ == "__main__":
    if sys.argv[1:] in (["ask"], ["answer"]):
        ask() if sys.argv[1] == "ask" else answer()
    else:
        main(sys.argv[1:])
