#!/usr/bin/env python3
"""Lets a build of PyTorch with CUDA be imported without CUDA's libraries, which are 2 GB.

usage: cpu_only.py TORCH_FOLDER

The dynamic linker needs all libraries that PyTorch's own are linked with, though the CPU uses none
of them. This makes one library with all their functions, each of which returns 100,
cudaErrorNoDevice, and links to it by all their names. Needs nm, readelf and a C compiler.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

STAND_IN = "libcuda_is_absent.so"


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def is_cuda(name):
    return name.startswith(("libcu", "libnccl", "libnv"))


def needed_names(library):
    """The names of CUDA's libraries that a library is linked with."""
    found = re.findall(r"\(NEEDED\).*\[(.*)\]", "\n".join(lines_of("readelf", "-d", library)))
    return {name for name in found if is_cuda(name)}


def needed_versions(library):
    """The versions of symbols that a library needs from CUDA's libraries."""
    file = ""
    for line in lines_of("readelf", "-V", library):
        if found := re.search(r"File: (\S+)", line):
            file = found[1]
        elif (found := re.search(r"Name: (\S+)  Flags", line)) and is_cuda(file):
            yield found[1]


def symbols(library, kind):
    """What a library defines or lacks, as pairs of a name and its version, which may be empty."""
    for line in lines_of("nm", "-D", kind, library):
        letter, symbol = line.split()[-2:]
        if letter not in "vw":  # weak symbols may be missing
            name, _, version = symbol.replace("@@", "@").partition("@")
            yield name, version


def make_library(path, names_by_version):
    code, script = "", ""
    for version, names in sorted(names_by_version.items()):
        code += "".join(f"int {name}(void) {{ return 100; }}\n" for name in sorted(names))
        if version:
            script += f"{version} {{ global: {'; '.join(sorted(names))}; }};\n"
    with tempfile.TemporaryDirectory() as folder:
        source, versions = pathlib.Path(folder, "source.c"), pathlib.Path(folder, "versions")
        source.write_text(code)
        versions.write_text(script)
        subprocess.run(
            [
                "cc",
                "-w",
                "-fno-builtin",
                "-shared",
                "-fPIC",
                f"-Wl,-soname,{path.name}",
                f"-Wl,--version-script={versions}",
                "-o",
                path,
                source,
            ],
            check=True,
        )


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    folder = pathlib.Path(sys.argv[1], "lib")
    libraries = [path for path in folder.glob("lib*.so") if path.name != STAND_IN]
    versions = {version for library in libraries for version in needed_versions(library)}
    defined = {name for library in libraries for name, _ in symbols(library, "--defined-only")}
    wanted = collections.defaultdict(set)
    for library in libraries:
        for name, version in symbols(library, "--undefined-only"):
            # Names of the C++ library and of Python begin with these.
            is_other = name in defined or name.startswith(("_", "Py"))
            if version in versions or not (version or is_other):
                wanted[version].add(name)
    make_library(folder / STAND_IN, wanted)
    for name in set().union(*(needed_names(library) for library in libraries)):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(STAND_IN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
