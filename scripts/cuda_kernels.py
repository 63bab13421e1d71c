#!/usr/bin/env python3
"""Makes a table of the CUDA kernels from the output of ptxas. Fails if a kernel spills registers.

usage: scripts/cuda_kernels.py [--summary] [FILE.cu...]   builds these, or all kernels, with nvcc
       scripts/cuda_kernels.py [--summary] --read FILE...   reads the output of `nvcc -Xptxas -v`

--summary: one row for all instances of a template, with the maximum over them.
The table is Markdown. Exit status: 0, 1 if a kernel spills, 2 for errors.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARCHITECTURES = ("sm_80", "sm_90")
OPTIONS = ["-std=c++20", "-O3", "--Werror", "all-warnings", "--expt-relaxed-constexpr", "-fmad=false",
           "-Xptxas", "-v", "-I."]


class Failure(Exception):
    """An error that is reported without a traceback."""


def build(source):
    """The output of ptxas for a file."""
    command = ["nvcc", *OPTIONS]
    for architecture in ARCHITECTURES:
        number = architecture.removeprefix("sm_")
        command += ["-gencode", f"arch=compute_{number},code={architecture}"]
    command += ["-c", str(source), "-o", "/dev/null"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if result.returncode != 0:
        raise Failure(f"{source}: nvcc failed:\n{result.stderr}")
    return result.stdout + result.stderr


def parse(text):
    """A dictionary (function, architecture) -> {registers, shared, spills, is_kernel}."""
    functions = {}
    architecture = name = None
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)' for '(\S+)'", line):
            name, architecture = match.groups()
            functions[name, architecture] = {"registers": 0, "shared": 0, "spills": 0, "is_kernel": True}
        elif match := re.search(r"Function properties for (\S+)", line):
            # Reported also for functions that were not inlined, after the kernel that uses them.
            name = match.group(1)
            functions.setdefault((name, architecture),
                                 {"registers": 0, "shared": 0, "spills": 0, "is_kernel": False})
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            functions[name, architecture]["spills"] = int(match[1]) + int(match[2])
        elif match := re.search(r"Used (\d+) registers", line):
            functions[name, architecture]["registers"] = int(match[1])
            shared = re.search(r"(\d+) bytes smem", line)
            functions[name, architecture]["shared"] = int(shared[1]) if shared else 0
    return functions


def demangle(names):
    """Short names: without namespaces and parameters."""
    result = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                            check=True)
    short = {}
    for name, full in zip(names, result.stdout.splitlines()):
        full = full.replace("(anonymous namespace)::", "").replace("(bool)1", "true")
        full = re.sub(r"\((?:unsigned )?(?:int|long)\)(\d)", r"\1", full.replace("(bool)0", "false"))
        depth = 0
        end = len(full)
        for i, character in enumerate(full):
            depth += {"<": 1, ">": -1}.get(character, 0)
            if character == "(" and depth == 0:
                end = i
                break
        full = re.sub(r"^void ", "", full[:end])
        short[name] = re.sub(r"\b\w+::", "", full)
    return short


def print_table(files):
    """Prints a row per kernel. Returns the kernels that spill."""
    print("| file | kernel | registers (sm_80, sm_90) | shared memory | spilled bytes |")
    print("|---|---|---|---|---|")
    spilling = []
    for file, functions in files:
        short = demangle(sorted({name for name, _ in functions}))
        for name in sorted(short, key=short.get):
            both = [functions.get((name, architecture)) for architecture in ARCHITECTURES]
            there = [found for found in both if found is not None]
            spills = max((found["spills"] for found in there), default=0)
            if spills > 0:
                spilling.append(f"{file}: {short[name]}")
            if not spills and not any(found["is_kernel"] for found in there):
                continue
            registers = ", ".join("-" if found is None else str(found["registers"]) for found in both)
            shared = max((found["shared"] for found in there), default=0)
            print(f"| {file} | `{short[name]}` | {registers} | {shared} | {spills} |")
    return spilling


def summarise(functions):
    """One entry per template: the number of instances, and their maxima."""
    templates = {}
    short = demangle(sorted({name for name, _ in functions}))
    for (name, architecture), found in functions.items():
        template = re.sub(r"<.*", "", short[name])
        known = templates.setdefault((template, architecture), {**found, "count": 0})
        known["count"] += 1
        for number in ("registers", "shared", "spills"):
            known[number] = max(known[number], found[number])
        known["is_kernel"] = known["is_kernel"] or found["is_kernel"]
    return templates


def print_summary(files):
    """Prints a row per template. Returns the kernels that spill."""
    print("| file | kernel | instances | most registers (sm_80, sm_90) | most shared memory |")
    print("|---|---|---|---|---|")
    spilling = []
    for file, functions in files:
        templates = summarise(functions)
        for name in sorted({name for name, _ in templates}):
            both = [templates.get((name, architecture)) for architecture in ARCHITECTURES]
            there = [found for found in both if found is not None]
            if max(found["spills"] for found in there) > 0:
                spilling.append(f"{file}: {name}")
            if not any(found["is_kernel"] for found in there):
                continue
            registers = ", ".join("-" if found is None else str(found["registers"]) for found in both)
            print(f"| {file} | `{name}` | {max(found['count'] for found in there)} | {registers} |"
                  f" {max(found['shared'] for found in there)} |")
    return spilling


def main(arguments):
    summary = "--summary" in arguments
    arguments = [argument for argument in arguments if argument != "--summary"]
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if arguments[:1] == ["--read"]:
        files = [(pathlib.Path(name).name, parse(pathlib.Path(name).read_text()))
                 for name in arguments[1:]]
    else:
        if shutil.which("nvcc") is None:
            raise Failure("need nvcc of CUDA's toolkit in PATH; got none")
        sources = arguments or sorted((ROOT / "dynet_like/device/cuda").glob("*.cu"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            texts = list(pool.map(build, sources))
        files = [(pathlib.Path(source).name, parse(text)) for source, text in zip(sources, texts)]
    if not any(functions for _, functions in files):
        raise Failure("need the output of ptxas -v for at least one kernel; got none")
    spilling = print_summary(files) if summary else print_table(files)
    for kernel in spilling:
        print(f"cuda_kernels.py: need registers for all values; {kernel} spills", file=sys.stderr)
    return 1 if spilling else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Failure, OSError) as failure:
        print(f"cuda_kernels.py: {failure}", file=sys.stderr)
        sys.exit(2)
