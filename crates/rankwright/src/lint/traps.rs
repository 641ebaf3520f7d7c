//! The known traps, by name.

/// Something in a launcher's file that does not mean what it appears to mean.
#[derive(Debug, PartialEq, Eq)]
pub struct Trap {
    /// Its stable name.
    pub code: &'static str,
    /// The launchers and versions that have the trap, as far as known.
    pub versions: &'static str,
    /// What the launcher does, in one line.
    pub summary: &'static str,
}

macro_rules! traps {
    ($($name:ident = $code:literal, $versions:literal, $summary:literal;)*) => {
        $(pub(super) static $name: Trap =
            Trap { code: $code, versions: $versions, summary: $summary };)*

        /// All known traps, in the order of the documentation.
        pub const TRAPS: &[&Trap] = &[$(&$name),*];
    };
}

traps! {
    FIRST_RANK = "first-rank-not-0", "Open MPI 4.1, 5.0",
        "mpirun refuses a rankfile that does not begin with rank 0.";
    RANK_TWICE = "rank-twice", "all",
        "A rank has two lines. In a rankfile the later one wins, without a warning if -np is given.";
    RANK_MISSING = "rank-missing", "all",
        "A rank has no line, but it is started, or higher ranks have one.";
    LINES_BEYOND = "lines-beyond-np", "all",
        "The file has more lines than ranks are started; the surplus lines have no effect.";
    SLOT_P = "slot-p-prefix", "Open MPI 4.1, 5.0",
        "slot=p1 is not PU P#1: 4.1 reads core 0, 5.0 reads all of package 1.";
    SLOT_NUMBER = "slot-not-a-number", "Open MPI 4.1, 5.0",
        "A number ends at the first character that is not a digit, and is 0 without digits: 0x4, c1 and a are all 0.";
    SLOT_LONG = "slot-list-too-long", "Open MPI 4.1, 5.0",
        "5.0 cuts a slot list after 63 characters; in 4.1, host and slot list of more than 57 characters together overflow a buffer.";
    SLOT_BLANK = "blank-in-slot-list", "Open MPI 4.1, 5.0",
        "A slot list ends at the first blank; the rest of the line is ignored.";
    SLOT_QUOTED = "quoted-slot-list", "Open MPI 4.1, 5.0",
        "mpirun refuses a quoted slot list.";
    SLOT_MISSING = "no-slot-list", "Open MPI 4.1, 5.0",
        "A line without slot=: 4.1 refuses it, 5.0 leaves the rank unbound.";
    SLOT_EMPTY = "empty-slot-list", "Open MPI 4.1, 5.0",
        "A slot list without a core (3-1), or a pe-list= without a CPU of the host, leaves the rank unbound; `;` alone crashes mpirun.";
    SLOT_RANGE = "bad-range", "Open MPI 4.1, 5.0",
        "mpirun refuses a range with two dashes (0-2-4), and a dash without numbers.";
    NO_CORE = "no-such-core", "Open MPI 4.1, 5.0",
        "The node does not have the core: 4.1 ends without a message, 5.0 with one.";
    NO_PACKAGE = "no-such-package", "Open MPI 4.1, 5.0",
        "The node does not have the package: mpirun refuses the line or crashes.";
    PACKAGE_LIST = "list-of-package", "Open MPI 4.1",
        "0:0,1 is not two cores of package 0: `,1` is package 1 without a core.";
    PACKAGE_TWICE = "package-named-twice", "Open MPI 5.0",
        "1:0,1:3 is read as 1:0,1,3: the second `1` becomes a core.";
    PACKAGE_RANGE = "range-and-list-of-package", "Open MPI 5.0",
        "A range and a list do not mix: 1:0-1,3 is read as 1:0-1, and 0:0,2-3 as 0:0-3.";
    BEYOND_PACKAGE = "core-beyond-package", "Open MPI 5.0",
        "With packages of 8 cores, 0:9 is core 1 of package 1; 4.1 refuses it.";
    UNEQUAL_PACKAGES = "unequal-packages", "Open MPI 5.0",
        "PACKAGE:CORE assumes that all packages have as many cores as this one.";
    SLOTS_FEW = "too-few-slots", "Open MPI 4.1, 5.0",
        "mpirun refuses a rankfile with more ranks on a host than its slots by -H or by slots= in the hostfile; 4.1 too refuses more ranks than the slots of a hostfile.";
    NO_ORDER = "hostfile-is-no-order", "Open MPI 4.1",
        "The order of a hostfile does not fix the ranks: if mpirun runs on one of its hosts, that host has the first ranks. Warned of where the hosts are not in ascending order.";
    SLOTS_TWICE = "host-twice-with-slots", "Open MPI 4.1, 5.0",
        "mpirun refuses slots= or max_slots= for a host that an earlier line has.";
    MAX_SLOTS = "max-slots-below-slots", "Open MPI 4.1, 5.0",
        "mpirun refuses max_slots= below slots=.";
    COLON_IN_HOST = "colon-in-host", "Open MPI 4.1, 5.0",
        "n0:4 is Hydra's form; Open MPI takes all of it for a host name, which mpirun or ssh refuses. It needs `n0 slots=4`.";
    OVERSUBSCRIBE = "oversubscribe-drops-binding", "Open MPI 5.0",
        "rankfile:file=F:oversubscribe, or ppr:N:RESOURCE:oversubscribe, without --bind-to leaves all ranks unbound.";
    PPR_FULL = "ppr-does-not-fit", "Open MPI 4.1, 5.0",
        "mpirun refuses --map-by ppr: (and -N) if the hosts have too few packages, cores or slots for the ranks; 4.1 starts a rank per slot for numa, caches and core without -np.";
    MAP_FULL = "mapping-does-not-fit", "Open MPI 4.1, 5.0",
        "mpirun refuses --map-by, --bind-to or PE= if the hosts or their parts have too few CPUs for the ranks; without --bind-to 4.1 then leaves the ranks of a host unbound.";
    MAP_MIX = "options-do-not-mix", "Open MPI 4.1, 5.0",
        "mpirun refuses PE= with --bind-to other than core, and --bycore beside another --map-by; 5.0 also a --bind-to above the part of --map-by, -N beside --map-by, --map-by given twice, and --rank-by fill or span without parts.";
    PPR_NP = "np-within-part-of-ppr", "Open MPI 5.0",
        "With -np 3 --map-by ppr:2:package 5.0 maps four ranks, starts none, and ends with exit code 0.";
    POLICY = "unknown-policy", "Open MPI 4.1, 5.0",
        "mpirun refuses a --map-by, --rank-by or --bind-to that it does not know: device=, skt, in 4.1 package, in 5.0 dist and --rank-by core.";
    OPTION_UNKNOWN = "unknown-option", "mpirun of any MPI, Slurm",
        "mpirun, sbatch and srun refuse an option that they do not know: --prtemca in Open MPI 4.1, --bind-to-socket and -rf in 5.0, --map-by=node for --map-by node, --oversubscirbe for --oversubscribe, --ntask-per-node for --ntasks-per-node in #SBATCH.";
    PARAMETER_IGNORED = "parameter-ignored", "Open MPI 4.1, 5.0",
        "rmaps_base_mapping_policy, rmaps_base_ranking_policy and hwloc_base_binding_policy are parameters of 4.1, rmaps_default_mapping_policy is of 5.0; the other version ignores them.";
    BIND_NONE = "bind-to-none-ignored", "Open MPI 4.1",
        "--bind-to none has no effect: the rankfile still binds.";
    COMMENT_AT_END = "comment-at-end", "Open MPI 4.1, 5.0",
        "mpirun refuses a comment on the last line if the line has no line end.";
    CARRIAGE_RETURN = "carriage-return", "Open MPI 4.1, 5.0, Slurm, PBS, LSF, wrapper scripts",
        "mpirun, srun and sbatch refuse Windows line endings (CRLF); other scripts fail to start, because the interpreter's name ends with a carriage return.";
    HOST_NUMBER = "host-read-as-number", "Open MPI 4.1, 5.0",
        "A host name of digits is read as a number and loses its leading zeros.";
    SHORT_NAMES = "short-names-collide", "Open MPI 4.1, 5.0",
        "Host names are cut at the first dot, so two hosts can become one.";
    RELATIVE_HOST = "relative-host", "Open MPI 4.1",
        "+n0 is a position in the allocation; without an allocation (hosts from -H) mpirun refuses it.";
    RANGE = "range-joins", "MPICH 4.0 to 5.0",
        "binding=user:0-3 is one rank on four PUs, not four ranks; older versions read 0.";
    MULTIPLIER = "x-repeats", "MPICH 4.0 to 5.0",
        "0x2 in binding=user is PU 0 for two ranks, not a hexadecimal number.";
    BAD_ENTRY = "binding-not-a-number", "MPICH 4.0 to 5.0",
        "An entry of binding=user that does not begin with a digit: the job dies (4.1 and newer), or the rank is unbound (4.0).";
    BINDING_SHORT = "binding-too-short", "MPICH 4.0 to 5.0",
        "Ranks beyond the entries of binding=user are unbound.";
    BINDING_TWICE = "binding-twice", "MPICH 4.0 to 5.0",
        "Consecutive lines of one host are joined; mpiexec refuses two bindings in them.";
    HOST_SPLIT = "host-in-several-lines", "MPICH 4.0 to 5.0",
        "A host that appears again after other hosts gets a second proxy: local ranks start at 0 again, and the two groups share no memory.";
    HOST_COMMENT = "comment-behind-host", "MPICH, Intel MPI",
        "mpiexec refuses a comment behind a host; comments need a separate line.";
    HOST_FIELD = "unknown-hostfile-field", "MPICH, Intel MPI",
        "mpiexec refuses the fields of other launchers (slots=2) and a blank before the colon.";
    NO_SLOTS = "no-slots-on-host", "MPICH, Intel MPI",
        "host:0 and host:x have no slot; mpiexec divides by zero.";
    HOST_LINE = "hostfile-line-too-long", "MPICH, Intel MPI",
        "A line is cut after 1023 characters; the rest is read as another line.";
    WRAPS = "more-ranks-than-slots", "MPICH, Intel MPI, Flux",
        "With more ranks than slots, the launcher starts again at the first line of the hostfile.";
    SETTING_TWICE = "setting-twice", "MPICH 4.0 to 5.0",
        "mpiexec refuses -bind-to or -f given twice (duplicate setting), also if the second is before another program.";
    RANKMAP_OLD = "rankmap-before-4.1", "MPICH 4.0",
        "mpiexec before 4.1 has no -rankmap.";
    RANKMAP_SHORT = "rankmap-too-short", "MPICH 4.1 to 5.0",
        "Ranks beyond the end of -rankmap go to the first line of the hostfile.";
    RANKMAP_LINE = "rankmap-without-line", "MPICH 4.1 to 5.0",
        "-rankmap names a line that the hostfile does not have: mpiexec crashes.";
    MASK_WITHOUT_0X = "mask-without-0x", "Intel MPI 2021",
        "For I_MPI_PIN_DOMAIN=[3,c] without 0x, mpiexec prints a message, pins by its default and ends with exit code 0.";
    LATER_PINNING = "later-pinning-ignored", "Intel MPI 2021",
        "The first block of a host sets the pinning of all its ranks; values of later blocks are ignored.";
    PIN_COUNT = "pin-count", "Intel MPI 2021",
        "The number of entries is not the number of ranks on the host: ranks are spread over the PUs of a list in any order, masks are ignored; exit code 0.";
    PIN_KINDS = "list-here-masks-there", "Intel MPI 2021",
        "mpiexec refuses a configfile with I_MPI_PIN_PROCESSOR_LIST for one host and I_MPI_PIN_DOMAIN for another.";
    PIN_OFF = "pinning-off-everywhere", "Intel MPI 2021",
        "I_MPI_PIN=0 in any block of a configfile turns pinning off on all hosts.";
    LIST_AND_DOMAIN = "list-and-domain", "Intel MPI 2021",
        "If I_MPI_PIN_PROCESSOR_LIST and I_MPI_PIN_DOMAIN are both set, the list wins; the manual says the opposite.";
    NO_PROGRAM = "line-without-program", "Intel MPI 2021",
        "mpiexec refuses a line of a configfile without a program (such as -genv alone).";
    LIST_AGAIN = "list-starts-again", "Slurm, Flux, PALS, aprun",
        "With more ranks on a host than entries, the list starts again and ranks share PUs.";
    MAP_CPU_HEX = "map-cpu-hex", "Slurm 22.05",
        "srun refuses map_cpu:0x1; it reads decimal numbers only.";
    MAP_CPU_RANGE = "map-cpu-range", "Slurm 22.05",
        "srun refuses ranges in map_cpu.";
    HOSTFILE_SHORT = "hostfile-too-short", "Slurm 22.05, Open MPI 4.1, 5.0",
        "SLURM_HOSTFILE, or the hostfile of the seq mapper, has fewer lines than ranks are started.";
    HOST_LIST = "host-list-in-hostfile", "Slurm 22.05",
        "srun refuses n[0-3] in SLURM_HOSTFILE; it reads n0, n0*2 and n0,n1.";
    HOST_BLANK = "blank-in-hostfile", "Slurm 22.05",
        "srun refuses a blank before a host or between hosts in SLURM_HOSTFILE.";
    HOST_WORD = "word-is-no-host", "Flux 0.88",
        "Flux takes every word of a host list for a host: comments, n0*2 and Windows line endings end the job.";
    MULTI_PROG = "multi-prog-tasks", "Slurm 22.05",
        "srun refuses a --multi-prog file if a task has no line or two, or if it names tasks that are not started.";
    CPUS_OF_NODE = "more-cpus-than-node", "Slurm",
        "--ntasks-per-node times --cpus-per-task is more than the hardware threads of a node: sbatch refuses the job.";
    DIRECTIVE_LATE = "directive-after-command", "Slurm, PBS",
        "#SBATCH or #PBS below the first command is a comment: sbatch and qsub do not read it.";
    STEP_BEYOND = "step-beyond-job", "Slurm",
        "srun asks for more CPUs than the job has: it refuses the step.";
    CPUS_IGNORED = "cpus-per-task-ignored", "Slurm 22.05",
        "srun does not take --cpus-per-task from the job; it needs its own -c, or SRUN_CPUS_PER_TASK.";
    BIND_OFF = "cpu-bind-none", "Slurm",
        "--cpu-bind=none in a script for sbatch leaves the ranks unbound.";
    TASKS_UNKNOWN = "tasks-by-what-is-free", "Slurm 22.05",
        "On shared nodes (without --ntasks-per-node or --exclusive) Slurm fills one node after the other with what is free, and leaves a core for each other node: 7 tasks and 1, not 4 and 4.";
    TASKS_PER_NODE = "ntasks-per-node-and-ntasks", "Slurm 22.05",
        "--ntasks-per-node times the nodes is not --ntasks: srun spreads --ntasks evenly; if there are more than fit, sbatch refuses the job.";
    SWITCHES = "more-switches-than-needed", "Slurm, PBS, LSF",
        "The nodes of the job are below more switches than necessary.";
    SWITCH_ORDER = "switches-alternate", "Slurm, PBS, LSF",
        "In the order of their names, in which ranks fill them, the nodes of the job return to a switch that they have left.";
    SLOTS_OF_JOB = "more-ranks-than-granted", "PBS, LSF, Slurm",
        "A host gets more ranks than its batch system has in mind for it (mpiprocs=, ppn=, ptile=, --ntasks-per-node): Open MPI refuses this, Hydra does not.";
    MPIPROCS = "mpiprocs-missing", "PBS Professional",
        "A chunk without mpiprocs= is meant for one rank, however many CPUs it has.";
    PROCS_CPUS = "more-ranks-than-cpus", "PBS Professional",
        "A chunk has more ranks (mpiprocs=) than CPUs (ncpus=), so that its ranks share CPUs.";
    CHUNK = "chunk-beyond-node", "PBS",
        "A chunk of the job asks for more CPUs or GPUs than a node has: the job never starts.";
    CHUNKS_TOGETHER = "chunks-may-share-node", "PBS Professional",
        "Without place=scatter PBS may put several chunks on one node, if they fit there.";
    PACKED = "packed-1-by-default", "jsrun",
        "Without -b, jsrun binds each rank to one core, whatever -c says: its threads share that core.";
    PACKED_BEYOND = "packed-beyond-set", "jsrun",
        "The cores of -b packed: for all tasks are more than -c gives a resource set.";
    SETS_BEYOND = "sets-beyond-hosts", "jsrun",
        "The resource sets need more cores, GPUs or hosts than the job has: jsrun does not start.";
    DEPTH = "depth-beyond-node", "PALS, aprun",
        "Ranks per node times depth is more CPUs than a node has.";
    TWO_PACKAGES = "rank-on-two-packages", "PALS, aprun",
        "The CPUs of a rank are on two packages, although they would fit on one.";
    DEVICE_FIXED = "one-device-for-all-ranks", "PRRTE after Open MPI 5.0",
        "UCX_NET_DEVICES or another variable for network devices is exported for all ranks, although --map-by device= places them next to different devices.";
    ORDER_UNUSED = "rank-order-not-used", "Cray MPICH",
        "MPICH_RANK_ORDER is read only with MPICH_RANK_REORDER_METHOD=3.";
    ORDER_DISTRIBUTION = "rank-order-distribution", "Cray MPICH",
        "Reordering needs srun's block distribution; others are refused.";
    ORDER_PER_NODE = "ranks-per-node-assumed", "Cray MPICH",
        "The number of ranks per node is not given; one per core is assumed.";
    GPU_FAR = "gpu-far-from-cores", "wrapper scripts",
        "The GPU of a rank is not beside the NUMA nodes of its cores.";
    GPU_SHARED = "gpu-shared", "wrapper scripts",
        "Ranks of a node share a GPU while another one has no rank.";
    NO_GPU = "no-such-gpu", "wrapper scripts",
        "The node does not have the GPU, or the list of visible GPUs is empty.";
    NIC_FAR = "nic-far-from-cores", "wrapper scripts",
        "The network device of a rank is not beside the NUMA nodes of its cores.";
    NO_NIC = "no-such-nic", "wrapper scripts",
        "The node does not have the network device.";
    MEMORY_FAR = "memory-far-from-cores", "wrapper scripts",
        "The memory of a rank is bound to a NUMA node that is not beside its cores.";
    NO_NUMA = "no-such-numa-node", "wrapper scripts",
        "The node does not have the NUMA node: numactl ends.";
    FOREIGN_VARIABLE = "variable-of-another-launcher", "scripts for sbatch, wrapper scripts",
        "The script reads a variable that is not set there for each rank ($SLURM_LOCALID in a batch script, or that of another launcher): all ranks get the same.";
    NO_START = "script-starts-nothing", "wrapper scripts",
        "Some ranks reach the end of the script without starting the program.";
    SHIM_HOST = "exec-on-other-host", "rankwright-exec",
        "A rank starts on another host than its ranks.map says; rankwright-exec ends it.";
    SHIM_RANK = "exec-without-line", "rankwright-exec",
        "A rank has no line in the ranks.map; rankwright-exec ends it.";
    HOST_UNKNOWN = "unknown-host", "all",
        "The cluster does not have the host.";
    NO_PU = "no-such-pu", "all",
        "The host does not have the PU.";
    PU_NOT_FREE = "pu-not-free", "all",
        "The cluster description says that jobs may not use the PU.";
    OVERLAP = "overlap", "all",
        "Two ranks are on one PU. Open MPI 5 refuses this without --bind-to :overload-allowed; the others give no warning.";
    SHARED_CORE = "shared-core", "all",
        "Two ranks are on hardware threads of one core while other cores of the host have no rank.";
    THREADS = "more-threads-than-pus", "all",
        "OMP_NUM_THREADS of a job script is more than the hardware threads that a rank may use: its threads take turns.";
    CROWDED = "more-ranks-than-cores", "all",
        "A host has more ranks than cores.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_kebab_case_and_unique() {
        let mut codes: Vec<&str> = TRAPS.iter().map(|trap| trap.code).collect();
        for code in &codes {
            let plain = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte)
            };
            assert!(code.bytes().all(plain), "{code}");
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), TRAPS.len());
    }
}
