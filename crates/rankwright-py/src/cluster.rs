//! Clusters by name or from the text of a `cluster.toml`.

use std::sync::Arc;

use pyo3::prelude::*;
use rankwright::cluster::read::toml;
use rankwright::cluster::{self, NodeCount};
use rankwright::placement::digest;
use rankwright::report::{cluster_picture, to_json};

use crate::job::{Grant, Job};
use crate::running::run_quietly;

/// A cluster.
#[pyclass(frozen, module = "rankwright._native")]
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) cluster: Arc<cluster::Cluster>,
    /// The name that the user gave, or the file of its text.
    pub(crate) source: String,
}

/// How many nodes, or which.
#[derive(Debug, FromPyObject)]
enum Nodes {
    Number(u32),
    Names(Vec<String>),
}

impl Cluster {
    fn new(cluster: cluster::Cluster, source: &str) -> Self {
        Self { cluster: Arc::new(cluster), source: source.to_owned() }
    }
}

#[pymethods]
impl Cluster {
    /// Opens a cluster by name. `nodes`: how many nodes an hwloc XML file or a synthetic string stands for, or
    /// which; with `at_least`, or with names, others have those that they name, else it is an error for them.
    #[staticmethod]
    fn open(py: Python<'_>, name: &str, nodes: Option<Nodes>, at_least: bool) -> PyResult<Self> {
        let count = match &nodes {
            None => NodeCount::AsDescribed,
            Some(Nodes::Number(count)) if at_least => NodeCount::AtLeast(*count),
            Some(Nodes::Number(count)) => NodeCount::Exactly(*count),
            Some(Nodes::Names(names)) => NodeCount::Named(names),
        };
        run_quietly(py, || Ok(Self::new(cluster::open_with(name, count)?, name)))
    }

    /// Reads the text of a `cluster.toml` or hwloc XML file; `file` names it in errors.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, file: &str, nodes: Option<u32>) -> PyResult<Self> {
        let count = nodes.map_or(NodeCount::AsDescribed, NodeCount::Exactly);
        run_quietly(py, || Ok(Self::new(cluster::parse(text, file, count)?, file)))
    }

    /// What was granted to a batch job, with this hardware; and warnings. `cpu`: what the batch system counts.
    fn granted(&self, py: Python<'_>, job: Job, cpu: String) -> PyResult<(Self, Vec<String>)> {
        let (like, source) = (Arc::clone(&self.cluster), self.source.clone());
        run_quietly(py, move || {
            let Grant { cluster, warnings } = job.cluster(&like, &source, &cpu)?;
            let source = cluster.name.clone();
            Ok((Self::new(cluster, &source), warnings))
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.cluster.name
    }

    /// The host names of the nodes.
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.cluster.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    #[getter]
    fn core_count(&self) -> usize {
        self.cluster.core_count()
    }

    #[getter]
    fn digest(&self) -> String {
        digest(&*self.cluster)
    }

    /// The rates, JSON.
    fn rates(&self) -> String {
        to_json(&self.cluster.rates)
    }

    /// The text of a `cluster.toml` of it.
    fn to_toml(&self) -> String {
        toml::write(&self.cluster)
    }

    /// A picture of nodes, devices and switches.
    fn svg(&self) -> String {
        cluster_picture(&self.cluster)
    }
}
