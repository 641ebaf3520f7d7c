//! Starts a lab.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, bail};
use rankwright::files::write_atomically;

use crate::enter::enter;
use crate::holder::{Holder, Privilege};
use crate::network::{self, HEAD, Network};
use crate::services::{Running, Slurm, relay};
use crate::state::{Folder, Lab, LabName, Node};
use crate::{description, down, process, remote_shell, state, tools};

/// The plan of a lab.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Its name.
    pub name: LabName,
    /// Number of nodes, from 1 to [`MOST_NODES`](crate::MOST_NODES).
    pub nodes: u32,
    /// Number of cores of each node in the description.
    pub cores: u32,
    /// Their network.
    pub network: Network,
    /// Whether Slurm runs in it.
    pub slurm: bool,
}

/// A lab that so far has only its folder.
#[derive(Debug)]
pub struct Site {
    plan: Plan,
    folder: Folder,
    privilege: Privilege,
}

impl Plan {
    /// Checks that a lab can be made here, and reserves its name.
    ///
    /// # Errors
    /// If programs or rights are missing, or the name is taken.
    pub fn begin(self) -> anyhow::Result<Site> {
        tools::check("a lab", &tools::TOOLS)?;
        if self.slurm {
            Slurm::check()?;
        }
        let privilege = Privilege::probe()?;
        if self.slurm && privilege == Privilege::UserNamespace {
            bail!(
                "--slurm needs root: Slurm's daemons give up groups, which a user namespace does not \
                 permit"
            );
        }
        let folder = Folder::of(&self.name)?;
        folder.create()?;
        Ok(Site { plan: self, folder, privilege })
    }
}

impl Site {
    /// Starts the lab; if that fails, removes everything again. `check` fails when the user
    /// interrupts; `publish` gets the cluster description.
    ///
    /// # Errors
    /// If the system refuses anything, or `check` or `publish` fails.
    pub fn make(
        &self,
        check: &dyn Fn() -> anyhow::Result<()>,
        publish: &dyn Fn(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (mut holders, mut services) = (Vec::new(), Vec::new());
        let made = self.try_make(check, publish, &mut holders, &mut services);
        let Err(error) = made else { return Ok(()) };
        let removed = down::remove(&self.folder);
        holders.into_iter().for_each(Holder::reap);
        services.into_iter().for_each(Running::reap);
        Err(match removed {
            Ok(_) => error,
            Err(left) => error.context(format!("could not be undone: {left:#}")),
        })
    }

    fn try_make(
        &self,
        check: &dyn Fn() -> anyhow::Result<()>,
        publish: &dyn Fn(&str) -> anyhow::Result<()>,
        holders: &mut Vec<Holder>,
        services: &mut Vec<Running>,
    ) -> anyhow::Result<()> {
        let Self { plan, folder, .. } = self;
        // Processes of an earlier lab whose folder was removed by hand.
        process::end_all(folder, None)?;
        let names = network::names(plan.nodes);
        let hosts = network::hosts(&names);
        write_atomically(&folder.file("hosts"), hosts.as_bytes())?;
        self.start_holders(&names, check, holders)?;
        let pids: Vec<u32> = holders.iter().map(Holder::pid).collect();
        let (head, pids) = pids.split_first().context("the switch was started first")?;
        let node = |(name, &holder): (&String, &u32)| Node { name: name.clone(), holder };
        let nodes = names.iter().zip(pids).map(node).collect();
        let mut lab = Lab::unfinished(plan.cores, &plan.network, *head, nodes);
        folder.write(&lab)?;
        self.connect(&lab, check, services)?;
        write_agent(folder)?;
        self.start_services(&mut lab, check, services)?;
        let description = description::text(&plan.name, plan.nodes, plan.cores, &plan.network);
        write_atomically(&folder.file("cluster.toml"), description.as_bytes())?;
        publish(&description)?;
        check()?;
        lab.complete = true;
        folder.write(&lab)
    }

    fn start_holders(
        &self,
        names: &[String],
        check: &dyn Fn() -> anyhow::Result<()>,
        holders: &mut Vec<Holder>,
    ) -> anyhow::Result<()> {
        let mut switch = Holder::start_switch(&self.folder, HEAD, self.privilege)?;
        let head = switch.pid();
        let ready = switch.wait_until_ready();
        holders.push(switch);
        ready?;
        // The nodes start in parallel.
        for name in names {
            check()?;
            holders.push(Holder::start_node(&self.folder, name, head)?);
        }
        holders[1..].iter_mut().try_for_each(Holder::wait_until_ready)
    }

    fn start_services(
        &self,
        lab: &mut Lab,
        check: &dyn Fn() -> anyhow::Result<()>,
        services: &mut Vec<Running>,
    ) -> anyhow::Result<()> {
        if self.plan.slurm {
            let slurm = Slurm::configure(lab, &self.folder)?;
            slurm.start(services, check).context("the Slurm of the lab")?;
            lab.slurm = true;
        }
        lab.services = services.iter().map(Running::record).collect();
        Ok(())
    }

    /// Makes the networks; with a delay frames pass through the relay, if the kernel cannot delay
    /// them.
    fn connect(
        &self,
        lab: &Lab,
        check: &dyn Fn() -> anyhow::Result<()>,
        services: &mut Vec<Running>,
    ) -> anyhow::Result<()> {
        let batch = |pid: u32, program: &str, commands: &str| {
            check()?;
            tools::batch(enter(pid, &["--net"])?, program, commands)
        };
        let (plan, head, nodes) = (&self.plan.network, lab.head, lab.nodes.len());
        let holders: Vec<u32> = lab.nodes.iter().map(|node| node.holder).collect();
        batch(head, "ip", &network::switch_links(plan, &holders))
            .and_then(|()| batch(head, "tc", &network::switch_shaping(plan, nodes)))
            .context("the switch of the lab")?;
        let netem = plan.delay.is_some() && batch(head, "tc", network::NETEM_PROBE).is_ok();
        for (index, &pid) in holders.iter().enumerate() {
            batch(pid, "ip", &network::node_links(plan, index))
                .and_then(|()| batch(pid, "tc", &network::node_shaping(plan, netem)))
                .with_context(|| format!("the network of node {index}"))?;
        }
        let Some(delay) = plan.delay.filter(|_| !netem) else { return Ok(()) };
        relay::start(lab, &self.folder, delay, &network::taps(plan, nodes), services, check)
            .and_then(|()| batch(head, "ip", &network::tap_links(plan, nodes)))
            .and_then(|()| batch(head, "bridge", &network::known_ports(plan, nodes)))
            .and_then(|()| batch(head, "tc", &network::diversion(plan, nodes)))
            .context("the latency of the lab")
    }
}

fn write_agent(folder: &Folder) -> anyhow::Result<()> {
    let path = folder.file("agent");
    write_atomically(&path, remote_shell::script(folder)?.as_bytes())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .with_context(|| path.display().to_string())
}

/// Whether a lab can be made here: its programs are installed, namespaces are permitted, and it is known where
/// its record goes. Returns whether that is as root.
///
/// # Errors
/// With what is missing or refused, and what to do.
pub fn ready() -> anyhow::Result<bool> {
    tools::check("a lab", &tools::TOOLS)?;
    let privilege = Privilege::probe()?;
    state::root()?;
    Ok(privilege == Privilege::Root)
}
