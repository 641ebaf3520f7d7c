//! A binding to the calls of Scotch 7 that static mapping needs.
//!
//! Every mapping runs in a context of its own: deterministic, with a fixed seed and one thread.
//! Without a context, Scotch draws from a generator that continues from call to call.

#![expect(unsafe_code, reason = "Scotch is a C library")]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::map::MapError;

const LIBRARY: &str = "Scotch";

/// `SCOTCH_Num` of the usual build.
type Num = i32;

/// A graph as Scotch takes it: compressed rows, every edge in both of its rows.
pub(in crate::map) struct ScotchGraph {
    /// Where the row of each vertex begins, then the end of the last row. Index: vertex.
    pub(in crate::map) offsets: Vec<Num>,
    /// Row after row.
    pub(in crate::map) neighbours: Vec<Num>,
    /// Index: as in `neighbours`.
    pub(in crate::map) edge_weights: Vec<Num>,
    /// Index: vertex.
    pub(in crate::map) loads: Vec<Num>,
}

/// A tree-shaped machine.
pub(in crate::map) struct ScotchTree {
    /// The number of children of a node. Index: level, from the root down.
    pub(in crate::map) sizes: Vec<Num>,
    /// Index: level, from the root down; the links are those below it.
    pub(in crate::map) link_costs: Vec<Num>,
    /// The leaves that exist, ascending; `None` if all do.
    pub(in crate::map) leaves: Option<Vec<Num>>,
    pub(in crate::map) leaf_count: usize,
}

/// What Scotch refines by moves of vertices.
///
/// Its refinement of a whole mapping (`kgraphMapFm` of Scotch 7.0) reads and writes past its arrays
/// if it is given a mapping that cuts no edge and is out of balance: it maps anew and continues with
/// the old number of domains. So [`Whole`](Self::Whole) needs a connected graph that does
/// not fit into two leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) enum Refinement {
    /// Each bipartition, and at the end the whole mapping.
    Whole,
    /// Each bipartition only.
    Bipartitions,
}

/// How Scotch maps.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct ScotchOptions {
    /// The share by which a leaf may exceed its capacity: a target, not a bound.
    pub(in crate::map) imbalance: f64,
    pub(in crate::map) refinement: Refinement,
    pub(in crate::map) seed: Num,
}

/// How often `ends` is asked.
const ASKED_EVERY: Duration = Duration::from_millis(20);

/// As [`map_graph`], or `None` once `ends`, which is polled, returns true. Scotch has no call to interrupt it, so it
/// runs in a detached thread: after an early end it runs to completion there, and its result is dropped.
pub(in crate::map) fn map_graph_until(
    graph: ScotchGraph,
    tree: ScotchTree,
    options: ScotchOptions,
    ends: &dyn Fn() -> bool,
) -> Result<Option<Vec<u32>>, MapError> {
    let (result, finished) = mpsc::channel();
    let run = move || drop(result.send(map_graph(&graph, &tree, options)));
    let thread = thread::Builder::new().name("scotch".to_owned()).spawn(run);
    thread.map_err(|error| MapError::Library { library: LIBRARY, what: error.to_string() })?;
    loop {
        match finished.recv_timeout(ASKED_EVERY) {
            Ok(leaf_of) => return leaf_of.map(Some),
            Err(RecvTimeoutError::Timeout) if !ends() => (),
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let what = "its thread ended without a result".to_owned();
                return Err(MapError::Library { library: LIBRARY, what });
            }
        }
    }
}

/// The leaf of each vertex, counted over the leaves that exist.
fn map_graph(
    graph: &ScotchGraph,
    tree: &ScotchTree,
    options: ScotchOptions,
) -> Result<Vec<u32>, MapError> {
    let ScotchOptions { imbalance, refinement, seed } = options;
    let vertices = graph.offsets.len() - 1;
    assert_eq!(graph.loads.len(), vertices);
    assert_eq!(graph.neighbours.len(), graph.edge_weights.len());
    assert_eq!(graph.offsets[vertices] as usize, graph.neighbours.len());
    assert_eq!(tree.sizes.len(), tree.link_costs.len());
    // SAFETY: the function has no arguments and no effect.
    let width = unsafe { SCOTCH_numSizeof() } as usize;
    if width != size_of::<Num>() {
        let what = format!("it is built for numbers of {width} bytes, 4 are needed");
        return Err(MapError::Library { library: LIBRARY, what });
    }
    let context = context(seed)?;
    let plain = Handle::new(&GRAPH)?;
    let bound = Handle::new(&GRAPH)?;
    // SAFETY: all arrays outlive both graphs and have the lengths that were asserted above; null
    // stands for "rows are contiguous" and "no labels". `plain` outlives `bound`.
    unsafe {
        let build = SCOTCH_graphBuild(
            plain.0,
            0,
            number(vertices)?,
            graph.offsets.as_ptr(),
            ptr::null(),
            graph.loads.as_ptr(),
            ptr::null(),
            number(graph.neighbours.len())?,
            graph.neighbours.as_ptr(),
            graph.edge_weights.as_ptr(),
        );
        succeeded("SCOTCH_graphBuild", build)?;
        let bind = SCOTCH_contextBindGraph(context.0, plain.0, bound.0);
        succeeded("SCOTCH_contextBindGraph", bind)?;
    }
    let whole = Handle::new(&ARCHITECTURE)?;
    let part = Handle::new(&ARCHITECTURE)?;
    let machine = architecture(tree, &whole, &part)?;
    let strategy = Handle::new(&STRATEGY)?;
    let mut leaf_of: Vec<Num> = vec![-1; vertices];
    // SAFETY: all objects are initialised and `leaf_of` has an element for every vertex.
    unsafe {
        let leaves = number(tree.leaf_count)?;
        let flags = STRATEGY_QUALITY
            | STRATEGY_BALANCE
            | match refinement {
                Refinement::Whole => 0,
                Refinement::Bipartitions => STRATEGY_RECURSIVE,
            };
        let build = SCOTCH_stratGraphMapBuild(strategy.0, flags, leaves, imbalance);
        succeeded("SCOTCH_stratGraphMapBuild", build)?;
        let map = SCOTCH_graphMap(bound.0, machine, strategy.0, leaf_of.as_mut_ptr());
        succeeded("SCOTCH_graphMap", map)?;
    }
    let in_range = |leaf: Num| u32::try_from(leaf).ok().filter(|l| (*l as usize) < tree.leaf_count);
    let leaf_of: Option<Vec<u32>> = leaf_of.into_iter().map(in_range).collect();
    leaf_of.ok_or_else(|| MapError::Library {
        library: LIBRARY,
        what: "SCOTCH_graphMap left a vertex without a place".to_owned(),
    })
}

/// A context that gives the same result at every call.
fn context(seed: Num) -> Result<Handle, MapError> {
    let context = Handle::new(&CONTEXT)?;
    // SAFETY: the context is initialised; null lets Scotch choose the cores of its one thread,
    // which is the calling one.
    unsafe {
        let deterministic = SCOTCH_contextOptionSetNum(context.0, OPTION_DETERMINISTIC, 1);
        succeeded("SCOTCH_contextOptionSetNum", deterministic)?;
        let fixed_seed = SCOTCH_contextOptionSetNum(context.0, OPTION_FIXED_SEED, 1);
        succeeded("SCOTCH_contextOptionSetNum", fixed_seed)?;
        // A new context draws from the generator of the process; this makes a copy for it.
        let generator = SCOTCH_contextRandomClone(context.0);
        succeeded("SCOTCH_contextRandomClone", generator)?;
        SCOTCH_contextRandomSeed(context.0, seed);
        SCOTCH_contextRandomReset(context.0);
        succeeded(
            "SCOTCH_contextThreadSpawn",
            SCOTCH_contextThreadSpawn(context.0, 1, ptr::null()),
        )?;
    }
    Ok(context)
}

/// Builds the machine: the tree itself, or the leaves of it that exist.
fn architecture(
    tree: &ScotchTree,
    whole: &Handle,
    part: &Handle,
) -> Result<*const c_void, MapError> {
    // SAFETY: the arrays have the stated lengths; Scotch copies what it needs of them. `part`
    // refers to `whole`, which the caller keeps.
    unsafe {
        let build = SCOTCH_archTleaf(
            whole.0,
            number(tree.sizes.len())?,
            tree.sizes.as_ptr(),
            tree.link_costs.as_ptr(),
        );
        succeeded("SCOTCH_archTleaf", build)?;
        let Some(leaves) = &tree.leaves else {
            return Ok(whole.0);
        };
        assert_eq!(leaves.len(), tree.leaf_count);
        let build = SCOTCH_archSub(part.0, whole.0, number(leaves.len())?, leaves.as_ptr());
        succeeded("SCOTCH_archSub", build)?;
    }
    Ok(part.0)
}

fn number(value: usize) -> Result<Num, MapError> {
    let too_large = |_| MapError::TooLarge { library: LIBRARY, what: "the graph or the machine" };
    Num::try_from(value).map_err(too_large)
}

fn succeeded(call: &str, code: c_int) -> Result<(), MapError> {
    if code == 0 {
        return Ok(());
    }
    let what = format!("{call} returned {code}");
    Err(MapError::Library { library: LIBRARY, what })
}

/// An initialised object of Scotch, released when dropped.
struct Handle(*mut c_void, &'static Kind);

/// How objects of a kind are created and released.
struct Kind {
    name: &'static str,
    allocate: unsafe extern "C" fn() -> *mut c_void,
    initialise: unsafe extern "C" fn(*mut c_void) -> c_int,
    release: unsafe extern "C" fn(*mut c_void),
}

static CONTEXT: Kind = Kind {
    name: "SCOTCH_contextInit",
    allocate: SCOTCH_contextAlloc,
    initialise: SCOTCH_contextInit,
    release: SCOTCH_contextExit,
};
static GRAPH: Kind = Kind {
    name: "SCOTCH_graphInit",
    allocate: SCOTCH_graphAlloc,
    initialise: SCOTCH_graphInit,
    release: SCOTCH_graphExit,
};
static ARCHITECTURE: Kind = Kind {
    name: "SCOTCH_archInit",
    allocate: SCOTCH_archAlloc,
    initialise: SCOTCH_archInit,
    release: SCOTCH_archExit,
};
static STRATEGY: Kind = Kind {
    name: "SCOTCH_stratInit",
    allocate: SCOTCH_stratAlloc,
    initialise: SCOTCH_stratInit,
    release: SCOTCH_stratExit,
};

impl Handle {
    fn new(kind: &'static Kind) -> Result<Self, MapError> {
        // SAFETY: the three functions belong to the same kind of object; what was allocated is
        // freed by Scotch's own function if it cannot be initialised.
        unsafe {
            let object = (kind.allocate)();
            if object.is_null() {
                return Err(MapError::Library {
                    library: LIBRARY,
                    what: "out of memory".to_owned(),
                });
            }
            if let Err(error) = succeeded(kind.name, (kind.initialise)(object)) {
                SCOTCH_memFree(object);
                return Err(error);
            }
            Ok(Self(object, kind))
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the object was initialised by `new` and is not used after this.
        unsafe {
            (self.1.release)(self.0);
            SCOTCH_memFree(self.0);
        }
    }
}

const OPTION_DETERMINISTIC: c_int = 0;
const OPTION_FIXED_SEED: c_int = 1;
const STRATEGY_QUALITY: Num = 0x01;
const STRATEGY_BALANCE: Num = 0x04;
const STRATEGY_RECURSIVE: Num = 0x100;

#[link(name = "scotch")]
#[link(name = "scotcherr")]
unsafe extern "C" {
    fn SCOTCH_numSizeof() -> c_int;
    fn SCOTCH_memFree(memory: *mut c_void);

    fn SCOTCH_contextAlloc() -> *mut c_void;
    fn SCOTCH_contextInit(context: *mut c_void) -> c_int;
    fn SCOTCH_contextExit(context: *mut c_void);
    fn SCOTCH_contextOptionSetNum(context: *mut c_void, option: c_int, value: Num) -> c_int;
    fn SCOTCH_contextRandomClone(context: *mut c_void) -> c_int;
    fn SCOTCH_contextRandomSeed(context: *mut c_void, seed: Num);
    fn SCOTCH_contextRandomReset(context: *mut c_void);
    fn SCOTCH_contextThreadSpawn(
        context: *mut c_void,
        threads: c_int,
        cores: *const c_int,
    ) -> c_int;
    fn SCOTCH_contextBindGraph(
        context: *mut c_void,
        graph: *const c_void,
        bound: *mut c_void,
    ) -> c_int;

    fn SCOTCH_graphAlloc() -> *mut c_void;
    fn SCOTCH_graphInit(graph: *mut c_void) -> c_int;
    fn SCOTCH_graphExit(graph: *mut c_void);
    fn SCOTCH_graphBuild(
        graph: *mut c_void,
        base: Num,
        vertices: Num,
        row_starts: *const Num,
        row_ends: *const Num,
        loads: *const Num,
        labels: *const Num,
        entries: Num,
        neighbours: *const Num,
        weights: *const Num,
    ) -> c_int;
    fn SCOTCH_graphMap(
        graph: *mut c_void,
        architecture: *const c_void,
        strategy: *mut c_void,
        places: *mut Num,
    ) -> c_int;

    fn SCOTCH_archAlloc() -> *mut c_void;
    fn SCOTCH_archInit(architecture: *mut c_void) -> c_int;
    fn SCOTCH_archExit(architecture: *mut c_void);
    fn SCOTCH_archTleaf(
        architecture: *mut c_void,
        levels: Num,
        sizes: *const Num,
        link_costs: *const Num,
    ) -> c_int;
    fn SCOTCH_archSub(
        part: *mut c_void,
        whole: *mut c_void,
        leaves: Num,
        numbers: *const Num,
    ) -> c_int;

    fn SCOTCH_stratAlloc() -> *mut c_void;
    fn SCOTCH_stratInit(strategy: *mut c_void) -> c_int;
    fn SCOTCH_stratExit(strategy: *mut c_void);
    fn SCOTCH_stratGraphMapBuild(
        strategy: *mut c_void,
        flags: Num,
        parts: Num,
        imbalance: f64,
    ) -> c_int;
}
