# Tried on Debian 12 with Spack 1.2.0.dev0 (January 2026) and its recipes of July 2026: with Open MPI 4, with MPICH 5
# and without MPI; with and without hwloc and Scotch. GCC, GNU make, Rust, MPI, hwloc and Scotch were external.

import pathlib

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *

# The repository that this file stands in.
SOURCE = pathlib.Path(__file__).resolve().parents[6].as_uri()

# What places 16 ranks on a made machine, without MPI.
PLACE = ["place", "pattern:halo-2d:16", "--on", "synthetic:core:16 pu:1"]


class Rankwright(CargoPackage):
    """Places MPI processes on cores, memories and network devices so that they wait as little as possible."""

    homepage = SOURCE
    git = SOURCE

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    variant("scotch", default=True, description="The strategy drb, by Scotch")
    variant("hwloc", default=True, description="Read hardware by libhwloc; else from /sys")
    variant("mpi", default=True, description="Install a tracer and a probe for this MPI")
    variant("static_shim", default=True, description="Link what starts each rank statically; needs libc.a")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("gmake", type="build")
    depends_on("scotch~int64", when="+scotch")
    depends_on("scotch~mpi", when="+scotch~mpi")
    depends_on("hwloc@2:", when="+hwloc")
    # To run: `spack load rankwright` also loads the launcher.
    depends_on("mpi", type=("build", "link", "run"), when="+mpi")

    def features(self):
        names = [name for name in ("hwloc", "scotch") if self.spec.satisfies(f"+{name}")]
        return ["--no-default-features", "--features", ",".join(names)]

    def build(self, spec, prefix):
        options = ["--release", "--locked", "-j", str(make_jobs), "-p", "rankwright-cli", *self.features()]
        cargo("build", *options, "--bin", "rankwright")
        # No static-pie: Spack's compiler wrapper gives it an RPATH, and glibc's start code then crashes.
        static = ["-C", "target-feature=+crt-static", "-C", "relocation-model=static"]
        shim = static if spec.satisfies("+static_shim") else []
        cargo("rustc", *options, "--bin", "rankwright-exec", "--", *shim)
        if spec.satisfies("+mpi"):
            Executable("scripts/dist-tracers")("target/tracers", spec["mpi"].mpicc)

    def install(self, spec, prefix):
        make("install-files", f"PREFIX={prefix}")

    def check(self):
        self.test_place()
        self.test_shim()

    def test_place(self):
        """it places ranks"""
        Executable(self.prefix.bin.rankwright)(*PLACE)

    def test_shim(self):
        """what starts each rank starts a program"""
        Executable(join_path(self.prefix.bin, "rankwright-exec"))("--", "true")

    def test_doctor(self):
        """it has what profile, place and run need"""
        if not self.spec.satisfies("+mpi"):
            raise SkipTest("it was installed without MPI")
        # As root, too: nothing is launched here.
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        Executable(self.prefix.bin.rankwright)("doctor", extra_env=allowed)
