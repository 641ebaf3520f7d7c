# Untested: written from Spack 1's documentation and recipes, never built by Spack.
# To try it: copy it to packages/rankwright/ of a repository that `spack repo create` made.

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Rankwright(CargoPackage):
    """Places MPI processes on cores, memories and network devices so that they wait as little as possible."""

    # The address of your copy.
    homepage = "file:///path/to/rankwright"
    git = "file:///path/to/rankwright"

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    variant("scotch", default=True, description="The strategy drb, by Scotch")
    variant("hwloc", default=True, description="Read hardware by libhwloc; else from /sys")
    variant("mpi", default=True, description="Install a tracer and a probe for this MPI")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("gmake", type="build")
    depends_on("scotch~mpi~int64", when="+scotch")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("mpi", when="+mpi")

    def features(self):
        names = [name for name in ("hwloc", "scotch") if self.spec.satisfies(f"+{name}")]
        return ["--no-default-features", "--features", ",".join(names)]

    def build(self, spec, prefix):
        build = ["build", "--release", "--locked", "-p", "rankwright-cli", "--bin", "rankwright"]
        cargo(*build, *self.features())
        shim = ["rustc", "--release", "--locked", "-p", "rankwright-cli", "--bin", "rankwright-exec"]
        cargo(*shim, *self.features(), "--", "-C", "target-feature=+crt-static")

    def install(self, spec, prefix):
        if spec.satisfies("+mpi"):
            # Of the kinds of MPI, those of other MPIs than this one are missing, which it reports.
            Executable("scripts/dist-tracers")(fail_on_error=False)
        make("install-files", f"PREFIX={prefix}")

    def check(self):
        Executable("target/release/rankwright")("place", "pattern:halo-2d:16", "--on", "synthetic:core:16 pu:1")
