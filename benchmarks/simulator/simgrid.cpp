// The same workload in SimGrid S4U: another model. Messages are fluid flows that share all links of their way at once
// (cut through), not messages that wait at one server after the other; only the speed is to be compared. Reads what
// `simulator --write FILE` wrote; prints messages and seconds of processor time.
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Send { sg4::Host *to; double length; };
struct Source { sg4::Host *from; std::vector<Send> sends; std::vector<double> ticks; };

static uint64_t messages = 0;

static uint64_t read(FILE *file) {
    unsigned long long value;
    if (fscanf(file, "%llu", &value) != 1) { fputs("simgrid: the file ends early\n", stderr); exit(1); }
    return value;
}

static void act(const Source &source) {
    std::vector<sg4::CommPtr> under_way;
    for (double tick : source.ticks) {
        sg4::this_actor::sleep_until(tick);
        for (const Send &send : source.sends) {
            under_way.push_back(sg4::Comm::sendto_async(source.from, send.to, send.length));
            messages++;
        }
    }
    for (auto &comm : under_way) comm->wait();
}

int main(int count, char **arguments) {
    sg4::Engine engine(&count, arguments);
    if (count != 2) { fputs("usage: simgrid FILE\n", stderr); return 2; }
    FILE *file = fopen(arguments[1], "r");
    if (!file) { perror(arguments[1]); return 1; }
    auto *zone = sg4::create_full_zone("cluster");
    struct Way { uint64_t from, to; std::vector<uint64_t> servers; };
    std::vector<Way> ways;
    std::map<uint64_t, sg4::Host *> hosts;
    auto host = [&](uint64_t rank) {
        auto &known = hosts[rank];
        if (!known) known = zone->create_host("rank" + std::to_string(rank), 1e9)->seal();
        return known;
    };
    std::vector<double> bandwidths(read(file), 8e9);
    std::vector<Source> sources(read(file));
    for (Source &source : sources) {
        uint64_t from = read(file);
        source.from = host(from);
        source.sends.resize(read(file));
        source.ticks.resize(read(file));
        for (Send &send : source.sends) {
            uint64_t to = read(file);
            send.to = host(to);
            send.length = read(file);
            for (uint64_t paths = read(file); paths; paths--) {
                Way way{from, to, {}};
                read(file);  // latency
                for (uint64_t hops = read(file); hops; hops--) {
                    uint64_t server = read(file), service = read(file);
                    read(file);
                    bandwidths[server] = send.length / (service / 1e12);
                    if (std::find(way.servers.begin(), way.servers.end(), server) == way.servers.end())
                        way.servers.push_back(server);
                }
                if (paths == 1) ways.push_back(way);
            }
        }
        for (double &tick : source.ticks) tick = read(file) / 1e12;
    }
    fclose(file);
    std::vector<const sg4::Link *> links;
    for (size_t server = 0; server < bandwidths.size(); server++)
        links.push_back(zone->create_link("server" + std::to_string(server), bandwidths[server])->seal());
    const auto *cache = zone->create_link("cache", 8e9)->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE)->seal();
    std::map<std::pair<uint64_t, uint64_t>, bool> known;
    for (const Way &way : ways) {
        if (known[{way.from, way.to}]) continue;
        known[{way.from, way.to}] = true;
        std::vector<sg4::LinkInRoute> route;
        for (uint64_t server : way.servers) route.emplace_back(links[server]);
        if (route.empty()) route.emplace_back(cache);
        zone->add_route(hosts[way.from]->get_netpoint(), hosts[way.to]->get_netpoint(), nullptr, nullptr, route, false);
    }
    zone->seal();
    for (const Source &source : sources)
        sg4::Actor::create("source", source.from, [&source] { act(source); });
    clock_t begin = clock();
    engine.run();
    printf("%llu 0 0 %.6f\n", (unsigned long long)messages, double(clock() - begin) / CLOCKS_PER_SEC);
}
