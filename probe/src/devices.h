/* devices.h - what the network devices of this host have sent, by their own counters. */
#ifndef PROBE_DEVICES_H
#define PROBE_DEVICES_H

#include <stddef.h>

enum { MOST_DEVICES = 64 };

struct device {
    char name[32];
    double sent; /* bytes */
};

struct devices {
    int count;
    struct device device[MOST_DEVICES];
};

/* Reads the counters of network interfaces and InfiniBand devices. Those of fabrics that count elsewhere are missing. */
void read_devices(struct devices *devices);

/* The bytes that the busiest device has sent between two readings, and its name; 0 and "" if none has. */
double busiest_device(const struct devices *before, const struct devices *after, char *name, size_t size);

/* The bytes that the device of this name has sent; -1 without it. */
double sent_by(const struct devices *devices, const char *name);

#endif
