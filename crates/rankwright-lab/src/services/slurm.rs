//! A private Slurm: `munged` and `slurmctld` in the head, a `slurmd` in each node. Everything it
//! keeps is in the folder of the lab, and it hears only the lab's management network.

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use rankwright::files::write_atomically;

use super::running::{Running, command_in, make_folder, wait_until};
use crate::description::packages;
use crate::network::{HEAD, HEAD_ADDRESS, management_address};
use crate::state::{Folder, Lab, SLURM_FOLDER};
use crate::tools::{self, Tool};

const TOOLS: [Tool; 5] = [
    Tool { program: "munged", debian: "munge", fedora: "munge" },
    Tool { program: "slurmctld", debian: "slurmctld", fedora: "slurm-slurmctld" },
    Tool { program: "slurmd", debian: "slurmd", fedora: "slurm-slurmd" },
    Tool { program: "srun", debian: "slurm-client", fedora: "slurm" },
    Tool { program: "sinfo", debian: "slurm-client", fedora: "slurm" },
];

/// The Slurm of a lab.
pub(crate) struct Slurm<'a> {
    lab: &'a Lab,
    /// Its folder below that of the lab.
    folder: PathBuf,
}

impl<'a> Slurm<'a> {
    /// Fails if a program is missing, with the packages that have them.
    pub(crate) fn check() -> anyhow::Result<()> {
        tools::check("--slurm", &TOOLS)
    }

    /// Writes the configuration.
    pub(crate) fn configure(lab: &'a Lab, folder: &Folder) -> anyhow::Result<Self> {
        let folder = make_folder(folder, SLURM_FOLDER)?;
        let slurm = Self { lab, folder };
        for name in ["log", "state", "spool", "munge"] {
            let path = slurm.folder.join(name);
            fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        }
        write_key(&slurm.folder.join("munge/key"))?;
        for (name, text) in [
            ("slurm.conf", slurm.configuration()),
            ("cgroup.conf", without_cgroups()),
            // The nodes share /tmp, but not /dev/shm.
            ("mpi.conf", "PMIxCliTmpDirBase=/dev/shm\n".to_owned()),
        ] {
            write_atomically(&slurm.folder.join(name), text.as_bytes())?;
        }
        Ok(slurm)
    }

    /// Starts everything and waits until all nodes are idle; what runs is added to `services`.
    pub(crate) fn start(
        &self,
        services: &mut Vec<Running>,
        check: &dyn Fn() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let first = services.len();
        services.push(self.daemon("munged", HEAD, self.lab.head, &self.munge_options())?);
        let socket = self.folder.join("munge/socket");
        let log = self.folder.join("log");
        wait_until(&mut services[first..], &log, check, || socket.exists())?;
        let foreground = ["-D".to_owned()];
        services.push(self.daemon("slurmctld", HEAD, self.lab.head, &foreground)?);
        for node in &self.lab.nodes {
            check()?;
            let options = ["-D", "-N", &node.name].map(str::to_owned);
            services.push(self.daemon("slurmd", &node.name, node.holder, &options)?);
        }
        wait_until(&mut services[first..], &log, check, || {
            self.idle_nodes() == self.lab.nodes.len()
        })
    }

    fn daemon(
        &self,
        program: &str,
        host: &str,
        holder: u32,
        options: &[String],
    ) -> anyhow::Result<Running> {
        let mut command = command_in(holder)?;
        command.arg(program).args(options).env("SLURM_CONF", self.folder.join("slurm.conf"));
        let log = self.folder.join(format!("log/{program}.{host}.log"));
        let name = match host {
            HEAD => program.to_owned(),
            _ => format!("{program} of {host}"),
        };
        Running::start(&name, command, &log)
    }

    fn munge_options(&self) -> Vec<String> {
        let file = |option: &str, name: &str| {
            format!("--{option}={}", self.folder.join("munge").join(name).display())
        };
        // It would refuse the folders of labs, which others than root may own.
        let fixed = ["--foreground", "--force", "--num-threads=2"].map(str::to_owned);
        let files = [
            file("key-file", "key"),
            file("socket", "socket"),
            file("pid-file", "pid"),
            file("seed-file", "seed"),
        ];
        fixed.into_iter().chain(files).collect()
    }

    fn idle_nodes(&self) -> usize {
        let ask = || -> anyhow::Result<String> {
            let mut sinfo = command_in(self.lab.head)?;
            sinfo.args(["timeout", "5", "sinfo", "--noheader", "--states=idle", "--format=%D"]);
            sinfo.env("SLURM_CONF", self.folder.join("slurm.conf"));
            Ok(String::from_utf8(sinfo.stderr(Stdio::null()).output()?.stdout)?)
        };
        ask().unwrap_or_default().trim().parse().unwrap_or(0)
    }

    fn configuration(&self) -> String {
        let folder = self.folder.display();
        // Jobs of several labs are visible to each other as processes, so their numbers differ.
        let first_job = std::process::id();
        let mut text = format!(
            "ClusterName=lab\n\
             FirstJobId={first_job}\n\
             SlurmctldHost={HEAD}({HEAD_ADDRESS})\n\
             SlurmUser=root\n\
             SlurmdUser=root\n\
             AuthType=auth/munge\n\
             AuthInfo=socket={folder}/munge/socket\n\
             StateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool/%n\n\
             SlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd.%n.pid\n\
             # Files of the host may be below the same cgroup; the cores do not exist.\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             SlurmdParameters=config_overrides\n\
             SelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\n\
             SchedulerType=sched/builtin\n\
             JobAcctGatherType=jobacct_gather/none\n\
             MpiDefault=none\n\
             ReturnToService=2\n\
             KillWait=2\n"
        );
        let (sockets, memory) = (packages(self.lab.nics), host_memory());
        let cores = self.lab.cores / sockets;
        for (index, node) in self.lab.nodes.iter().enumerate() {
            let _ = writeln!(
                text,
                "NodeName={0} NodeHostname={0} NodeAddr={1} Sockets={sockets} \
                 CoresPerSocket={cores} ThreadsPerCore=1 RealMemory={memory}",
                node.name,
                management_address(index)
            );
        }
        text + "PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    }
}

/// The memory of the host, which all nodes share, in MiB; 1024 if it is not known.
fn host_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(1024, |kib| (kib / 1024).max(1))
}

/// No cgroups at all, as the installed version says it.
fn without_cgroups() -> String {
    let version = tools::command("slurmd").arg("-V").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let year = version
        .ok()
        .and_then(|text| text.split_whitespace().last()?.split('.').next()?.parse::<u32>().ok());
    match year {
        Some(year) if year >= 23 => "CgroupPlugin=disabled\n".to_owned(),
        _ => "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n".to_owned(),
    }
}

/// Random bytes that only this user may read.
fn write_key(path: &Path) -> anyhow::Result<()> {
    let mut key = [0; 128];
    let source = "/dev/urandom";
    let mut random = fs::File::open(source).context(source)?;
    random.read_exact(&mut key).context(source)?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o400).open(path);
    let written = file.and_then(|mut file| file.write_all(&key));
    written.with_context(|| path.display().to_string())
}
