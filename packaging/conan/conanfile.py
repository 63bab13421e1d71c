# A recipe of Conan 2, for the sources that it is beside: conan create packaging/conan
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class DynetLike(ConanFile):
    name = "dynet_like"
    description = "Dynamic neural networks in C++ with automatic batching"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "native": [True, False]}
    default_options = {"shared": False, "fPIC": True, "native": False}
    implements = ["auto_shared_fpic"]

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(dynet_like VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "batching/*", "dynet_like/*", "nn/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def requirements(self):
        # The library's CMake package looks for them where it is used, too.
        for required in ("fmt/[>=9]", "highway/[>=1.0]", "boost/[>=1.74]", "zlib/[>=1.2]",
                         "libzip/[>=1.7]", "utf8proc/[>=2.8]", "oniguruma/[>=6.9.8]"):
            self.requires(required, transitive_headers=True, transitive_libs=True)
        for header_only in ("nlohmann_json/[>=3.11]", "eigen/[>=3.4 <6]"):
            self.requires(header_only, visible=False)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"DYNET_LIKE_BUILD_{part}"] = False
        toolchain.cache_variables["DYNET_LIKE_MPI"] = False
        toolchain.cache_variables["DYNET_LIKE_NATIVE"] = bool(self.options.native)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The library's own CMake package, whose targets know what they need.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "dynet_like")]
        self.cpp_info.libs = ["dynet_like_nn", "dynet_like", "dynet_like_batching"]
