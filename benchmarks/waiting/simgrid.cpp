// Sources, links and routes in SimGrid S4U: messages are fluid flows that share all links of their way at once. Reads
// what `simgrid` (beside this file) writes; prints messages, the finish in seconds, and how many seconds all messages
// together took longer than alone.
//
//     simgrid-program FILE open|closed [SimGrid's options]
//
// open: a source sends at the ticks of its clock. closed: the next round begins when its clock says, but not before all
// messages of the last have arrived. Every source has random numbers of its own, the same for every placement.
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Send { sg4::Host *from, *to; double length, alone; };
struct Source { double rate, cv; unsigned long rounds; std::vector<Send> sends; unsigned long number; };

static unsigned long messages = 0;
static double finish = 0, waiting = 0;
static bool closed = false;

static double number(FILE *file) {
    double value;
    if (fscanf(file, "%lf", &value) != 1) { fputs("simgrid: the file ends early\n", stderr); exit(1); }
    return value;
}

static double gap(const Source &source, std::mt19937_64 &random) {
    if (source.cv == 0) return 1 / source.rate;
    double shape = 1 / (source.cv * source.cv);
    return std::gamma_distribution<double>(shape, 1 / (source.rate * shape))(random);
}

static void arrived(const sg4::CommPtr &comm, const Send &send) {
    finish = std::max(finish, comm->get_finish_time());
    waiting += comm->get_finish_time() - comm->get_start_time() - send.alone;
}

static void act(const Source &source) {
    std::mt19937_64 random(source.number);
    // Without a random part of a gap, clocks of cv 0 would be in step.
    double tick = source.cv == 0 ? std::uniform_real_distribution<double>(0, 1 / source.rate)(random) : gap(source, random);
    std::vector<std::pair<sg4::CommPtr, const Send *>> under_way;
    auto wait = [&] {
        for (auto &[comm, send] : under_way) { comm->wait(); arrived(comm, *send); }
        under_way.clear();
    };
    for (unsigned long round = 0; round < source.rounds; round++) {
        sg4::this_actor::sleep_until(tick);
        for (const Send &send : source.sends) {
            under_way.emplace_back(sg4::Comm::sendto_async(send.from, send.to, send.length), &send);
            messages++;
        }
        if (closed) wait();
        tick += gap(source, random);
    }
    wait();
}

int main(int count, char **arguments) {
    sg4::Engine engine(&count, arguments);
    if (count != 3) { fputs("usage: simgrid-program FILE open|closed\n", stderr); return 2; }
    FILE *file = fopen(arguments[1], "r");
    if (!file) { perror(arguments[1]); return 1; }
    closed = std::string(arguments[2]) == "closed";
    auto *zone = sg4::create_full_zone("cluster");
    std::vector<const sg4::Link *> links;
    for (size_t left = number(file); left; left--) {
        auto *link = zone->create_link("link" + std::to_string(links.size()), number(file));
        if (number(file) != 0) link->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
        links.push_back(link->seal());
    }
    std::vector<sg4::Host *> hosts;
    for (size_t left = number(file); left; left--)
        hosts.push_back(zone->create_host("host" + std::to_string(hosts.size()), 1e9)->seal());
    for (size_t left = number(file); left; left--) {
        auto *from = hosts.at(number(file)), *to = hosts.at(number(file));
        std::vector<sg4::LinkInRoute> route;
        for (size_t hops = number(file); hops; hops--) route.emplace_back(links.at(number(file)));
        zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
    }
    zone->seal();
    std::vector<Source> sources(number(file));
    for (size_t index = 0; index < sources.size(); index++) {
        Source &source = sources[index];
        source.number = index;
        source.rate = number(file);
        source.cv = number(file);
        source.rounds = number(file);
        source.sends.resize(number(file));
        for (Send &send : source.sends) {
            send.from = hosts.at(number(file));
            send.to = hosts.at(number(file));
            send.length = number(file);
            send.alone = number(file);
        }
    }
    fclose(file);
    for (const Source &source : sources) {
        auto *host = source.sends.front().from;
        sg4::Actor::create("source", host, [&source] { act(source); });
    }
    engine.run();
    printf("%lu %.9g %.9g\n", messages, finish, waiting);
}
