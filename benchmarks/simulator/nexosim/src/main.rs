//! The same FIFO network in nexosim: a model for each server and each source, on one thread. Reads what
//! `simulator --write FILE` wrote; prints messages, events, total waiting in seconds, and seconds of
//! processor time.
//!
//! nexosim counts nanoseconds; here they stand for picoseconds, so that nothing is rounded.

use std::collections::{BTreeSet, VecDeque};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::Output;
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

struct Hop {
    server: usize,
    service: u64,
    latency: u64,
}

struct Path {
    /// Before the first server.
    latency: u64,
    hops: Vec<Hop>,
}

struct Source {
    /// Per send its paths.
    sends: Vec<Vec<u32>>,
    ticks: Vec<u64>,
}

struct Tables {
    servers: usize,
    paths: Vec<Path>,
    sources: Vec<Source>,
}

static TABLES: OnceLock<Tables> = OnceLock::new();
static WAITING: AtomicU64 = AtomicU64::new(0);
static DELIVERED: AtomicU64 = AtomicU64::new(0);
static EVENTS: AtomicU64 = AtomicU64::new(0);

fn tables() -> &'static Tables {
    TABLES.get().expect("read before")
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Message {
    path: u32,
    hop: u32,
}

impl Message {
    fn path(self) -> &'static Path {
        &tables().paths[self.path as usize]
    }

    fn hop(self) -> Option<&'static Hop> {
        self.path().hops.get(self.hop as usize)
    }
}

fn picoseconds(time: MonotonicTime) -> u64 {
    time.as_secs() as u64 * 1_000_000_000 + u64::from(time.subsec_nanos())
}

#[derive(Default, Serialize, Deserialize)]
struct Server {
    number: usize,
    /// With the time of arrival.
    waiting: VecDeque<(Message, u64)>,
    served: Option<Message>,
    /// Where each other server's place in `outputs` is.
    place: Vec<u32>,
    outputs: Vec<Output<Message>>,
}

#[Model]
impl Server {
    fn arrive(&mut self, message: Message, context: &Context<Self>) {
        let now = picoseconds(context.time());
        if self.served.is_some() {
            self.waiting.push_back((message, now));
        } else {
            self.serve(message, now, context);
        }
    }

    fn serve(&mut self, message: Message, arrival: u64, context: &Context<Self>) {
        let now = picoseconds(context.time());
        WAITING.fetch_add(now - arrival, Ordering::Relaxed);
        self.served = Some(message);
        let service = message.hop().map_or(0, |hop| hop.service);
        let after = Duration::from_nanos(service);
        context.schedule_event(after, schedulable!(Self::depart), ()).expect("a time to come");
    }

    #[nexosim(schedulable)]
    async fn depart(&mut self, _: (), context: &Context<Self>) {
        EVENTS.fetch_add(1, Ordering::Relaxed);
        let Some(mut message) = self.served.take() else { return };
        let latency = message.hop().map_or(0, |hop| hop.latency);
        message.hop += 1;
        if let Some((next, arrival)) = self.waiting.pop_front() {
            self.serve(next, arrival, context);
        }
        if latency > 0 {
            let after = Duration::from_nanos(latency);
            context
                .schedule_event(after, schedulable!(Self::pass), message)
                .expect("a time to come");
        } else {
            self.pass(message, context).await;
        }
    }

    #[nexosim(schedulable)]
    async fn pass(&mut self, message: Message, context: &Context<Self>) {
        match message.hop() {
            None => {
                DELIVERED.fetch_add(1, Ordering::Relaxed);
            }
            Some(hop) if hop.server == self.number => self.arrive(message, context),
            Some(hop) => self.outputs[self.place[hop.server] as usize].send(message).await,
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Sender {
    number: usize,
    round: usize,
    place: Vec<u32>,
    outputs: Vec<Output<Message>>,
}

#[Model]
impl Sender {
    #[nexosim(init)]
    async fn init(&mut self, context: &Context<Self>) {
        self.schedule(context);
    }

    fn schedule(&self, context: &Context<Self>) {
        if let Some(tick) = tables().sources[self.number].ticks.get(self.round) {
            let after = Duration::from_nanos(tick - picoseconds(context.time()));
            // At once is not to come.
            let after = after.max(Duration::from_nanos(1));
            context.schedule_event(after, schedulable!(Self::tick), ()).expect("a time to come");
        }
    }

    #[nexosim(schedulable)]
    async fn tick(&mut self, _: (), context: &Context<Self>) {
        EVENTS.fetch_add(1, Ordering::Relaxed);
        for paths in &tables().sources[self.number].sends {
            let message = Message { path: paths[self.round % paths.len()], hop: 0 };
            let latency = message.path().latency;
            // Where there is no server nothing waits: when such a message arrives is not counted.
            if latency > 0 && message.hop().is_some() {
                let after = Duration::from_nanos(latency);
                context
                    .schedule_event(after, schedulable!(Self::send), message)
                    .expect("a time to come");
            } else {
                self.send(message).await;
            }
        }
        self.round += 1;
        self.schedule(context);
    }

    #[nexosim(schedulable)]
    async fn send(&mut self, message: Message) {
        match message.hop() {
            None => {
                DELIVERED.fetch_add(1, Ordering::Relaxed);
            }
            Some(hop) => self.outputs[self.place[hop.server] as usize].send(message).await,
        }
    }
}

fn read(file: &str) -> Tables {
    let text = std::fs::read_to_string(file).expect("a file");
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().expect("a number"));
    let mut next = || -> u64 { numbers.next().expect("another number") };
    let (servers, count) = (next() as usize, next());
    let (mut paths, mut sources) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (_, sends, ticks) = (next(), next(), next());
        let mut source = Source { sends: Vec::new(), ticks: Vec::new() };
        for _ in 0..sends {
            let (_, _, turns) = (next(), next(), next());
            let mut send = Vec::new();
            for _ in 0..turns {
                send.push(paths.len() as u32);
                let (latency, hops) = (next(), next());
                let hop = |_| Hop { server: next() as usize, service: next(), latency: next() };
                paths.push(Path { latency, hops: (0..hops).map(hop).collect() });
            }
            source.sends.push(send);
        }
        source.ticks = (0..ticks).map(|_| next()).collect();
        sources.push(source);
    }
    Tables { servers, paths, sources }
}

/// An output to each of the servers, and the place of each server among them.
fn connected(to: &BTreeSet<usize>, boxes: &[Mailbox<Server>]) -> (Vec<u32>, Vec<Output<Message>>) {
    let mut place = vec![u32::MAX; boxes.len()];
    let mut outputs = Vec::new();
    for &server in to {
        place[server] = outputs.len() as u32;
        let mut output = Output::new();
        output.connect(Server::arrive, &boxes[server]);
        outputs.push(output);
    }
    (place, outputs)
}

/// Seconds that this thread has had a processor; with one thread nexosim uses no other.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.expect("a number") / 1e9
}

fn main() {
    let file = std::env::args().nth(1).expect("usage: nexosim-network FILE");
    let tables = TABLES.get_or_init(|| read(&file));
    let boxes: Vec<Mailbox<Server>> =
        (0..tables.servers).map(|_| Mailbox::with_capacity(1024)).collect();
    let mut behind = vec![BTreeSet::new(); tables.servers];
    for pair in tables.paths.iter().flat_map(|path| path.hops.windows(2)) {
        behind[pair[0].server].insert(pair[1].server);
    }
    let mut bench = SimInit::with_num_threads(1);
    for (number, source) in tables.sources.iter().enumerate() {
        let paths = source.sends.iter().flatten();
        let first = paths.filter_map(|path| tables.paths[*path as usize].hops.first());
        let (place, outputs) = connected(&first.map(|hop| hop.server).collect(), &boxes);
        let sender = Sender { number, round: 0, place, outputs };
        bench = bench.add_model(sender, Mailbox::new(), &format!("source{number}"));
    }
    let servers: Vec<Server> = behind
        .iter()
        .enumerate()
        .map(|(number, behind)| {
            let (place, outputs) = connected(behind, &boxes);
            Server { number, place, outputs, ..Server::default() }
        })
        .collect();
    for ((number, server), mailbox) in servers.into_iter().enumerate().zip(boxes) {
        bench = bench.add_model(server, mailbox, &format!("server{number}"));
    }
    let mut simulation = bench.init(MonotonicTime::EPOCH).expect("a bench");
    let begin = processor_time();
    simulation.run().expect("a run");
    println!(
        "{} {} {:.9e} {:.6}",
        DELIVERED.load(Ordering::Relaxed),
        EVENTS.load(Ordering::Relaxed),
        WAITING.load(Ordering::Relaxed) as f64 / 1e12,
        processor_time() - begin
    );
}
