// The same FIFO network as a textbook writes it: one binary heap of events (ticks, departures, arrivals after a
// latency), a queue for each server. Reads what `simulator --write FILE` wrote; prints messages, events, total waiting
// in seconds, and seconds of processor time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <queue>
#include <vector>

struct Hop { uint32_t server; uint64_t service, latency; };
struct Path { uint64_t latency; std::vector<Hop> hops; };
struct Send { std::vector<Path> paths; };
struct Source { std::vector<Send> sends; std::vector<uint64_t> ticks; size_t next = 0; };
struct Message { const std::vector<Hop> *path; uint32_t hop; uint64_t arrival; };
enum Kind : uint32_t { TICK, DEPARTURE, ARRIVAL };
struct Event {
    uint64_t time;
    uint32_t from;  // a server, or behind all servers a source: of equal times the lower is first
    Kind kind;
    uint32_t which;  // source, server, message
    bool operator>(const Event &other) const {
        return time != other.time ? time > other.time : from > other.from;
    }
};
struct Server { std::deque<uint32_t> waiting; bool busy = false; uint32_t served = 0; unsigned __int128 sum = 0; };

static std::vector<Source> sources;
static std::vector<Server> servers;
static std::vector<Message> messages;
static std::vector<uint32_t> unused;
static std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events;
static uint64_t delivered = 0, counted = 0;

static uint64_t read(FILE *file) {
    unsigned long long value;
    if (fscanf(file, "%llu", &value) != 1) { fputs("heap: the file ends early\n", stderr); exit(1); }
    return value;
}

static void load(const char *name) {
    FILE *file = fopen(name, "r");
    if (!file) { perror(name); exit(1); }
    servers.resize(read(file));
    sources.resize(read(file));
    for (Source &source : sources) {
        read(file);  // its rank
        source.sends.resize(read(file));
        source.ticks.resize(read(file));
        for (Send &send : source.sends) {
            read(file), read(file);  // where to, and how long
            send.paths.resize(read(file));
            for (Path &path : send.paths) {
                path.latency = read(file);
                path.hops.resize(read(file));
                for (Hop &hop : path.hops) {
                    hop.server = read(file);
                    hop.service = read(file);
                    hop.latency = read(file);
                }
            }
        }
        for (uint64_t &tick : source.ticks) tick = read(file);
    }
    fclose(file);
}

static void schedule(uint64_t time, uint32_t from, Kind kind, uint32_t which) { events.push({time, from, kind, which}); }

static void serve(uint32_t number, uint32_t message, uint64_t now) {
    Server &server = servers[number];
    Message &served = messages[message];
    server.busy = true;
    server.served = message;
    server.sum += now - served.arrival;
    schedule(now + (*served.path)[served.hop].service, number, DEPARTURE, number);
}

static void arrive(uint32_t message, uint64_t now) {
    Message &arrived = messages[message];
    if (arrived.hop == arrived.path->size()) {
        delivered++;
        unused.push_back(message);
        return;
    }
    uint32_t at = (*arrived.path)[arrived.hop].server;
    arrived.arrival = now;
    if (servers[at].busy) servers[at].waiting.push_back(message);
    else serve(at, message, now);
}

static void tick(Source &source, uint32_t which, uint64_t now) {
    for (Send &send : source.sends) {
        uint32_t message;
        if (unused.empty()) { message = messages.size(); messages.emplace_back(); }
        else { message = unused.back(); unused.pop_back(); }
        const Path &path = send.paths[source.next % send.paths.size()];
        messages[message] = {&path.hops, 0, now};
        // Where there is no server nothing waits: when such a message arrives is not counted.
        if (path.latency && !path.hops.empty()) schedule(now + path.latency, servers.size() + which, ARRIVAL, message);
        else arrive(message, now);
    }
    if (++source.next < source.ticks.size()) schedule(source.ticks[source.next], servers.size() + which, TICK, which);
}

static void depart(uint32_t which, uint64_t now) {
    Server &server = servers[which];
    uint32_t message = server.served;
    Message &gone = messages[message];
    uint64_t latency = (*gone.path)[gone.hop++].latency;
    server.busy = false;
    if (!server.waiting.empty()) {
        uint32_t next = server.waiting.front();
        server.waiting.pop_front();
        serve(which, next, now);
    }
    if (latency) schedule(now + latency, which, ARRIVAL, message);
    else arrive(message, now);
}

int main(int count, char **arguments) {
    if (count != 2) { fputs("usage: heap FILE\n", stderr); return 2; }
    load(arguments[1]);
    clock_t begin = clock();
    for (uint32_t which = 0; which < sources.size(); which++)
        if (!sources[which].ticks.empty()) schedule(sources[which].ticks[0], servers.size() + which, TICK, which);
    while (!events.empty()) {
        Event event = events.top();
        events.pop();
        counted += event.kind != ARRIVAL;
        switch (event.kind) {
        case TICK: tick(sources[event.which], event.which, event.time); break;
        case DEPARTURE: depart(event.which, event.time); break;
        case ARRIVAL: arrive(event.which, event.time); break;
        }
    }
    double seconds = double(clock() - begin) / CLOCKS_PER_SEC;
    unsigned __int128 waiting = 0;
    for (Server &server : servers) waiting += server.sum;
    printf("%llu %llu %.9e %.6f\n", (unsigned long long)delivered, (unsigned long long)counted, double(waiting) / 1e12,
           seconds);
}
