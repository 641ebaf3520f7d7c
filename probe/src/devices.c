/* devices.c - counters of network devices. */
#include "devices.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static void add(struct devices *devices, const char *name, double sent)
{
    for (int i = 0; i < devices->count; i++) {
        if (strcmp(devices->device[i].name, name) == 0) {
            devices->device[i].sent += sent;
            return;
        }
    }
    if (devices->count == MOST_DEVICES || strlen(name) >= sizeof devices->device[0].name)
        return;
    struct device *device = &devices->device[devices->count++];
    snprintf(device->name, sizeof device->name, "%s", name);
    device->sent = sent;
}

/* The file shows the interfaces of the network namespace that this process is in, unlike /sys/class/net. */
static void read_interfaces(struct devices *devices)
{
    char line[512], name[32];
    unsigned long long sent;
    FILE *file = fopen("/proc/self/net/dev", "r");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        int fields = sscanf(line, " %31[^: ]: %*u %*u %*u %*u %*u %*u %*u %*u %llu", name, &sent);
        if (fields == 2 && strcmp(name, "lo") != 0)
            add(devices, name, (double)sent);
    }
    fclose(file);
}

/* port_xmit_data counts units of 4 bytes, on RoCE too; the driver of Omni-Path (hfi1) counts units of 8. */
static void read_port(struct devices *devices, const char *device, const char *port)
{
    char path[1024];
    unsigned long long units;
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%s/counters/port_xmit_data", device, port);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    if (fscanf(file, "%llu", &units) == 1)
        add(devices, device, (strncmp(device, "hfi1_", 5) == 0 ? 8.0 : 4.0) * (double)units);
    fclose(file);
}

static void read_infiniband(struct devices *devices)
{
    DIR *all = opendir("/sys/class/infiniband");
    struct dirent *device, *port;
    if (all == NULL)
        return;
    while ((device = readdir(all)) != NULL) {
        char path[1024];
        if (device->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/sys/class/infiniband/%.255s/ports", device->d_name);
        DIR *ports = opendir(path);
        while (ports != NULL && (port = readdir(ports)) != NULL)
            if (port->d_name[0] != '.')
                read_port(devices, device->d_name, port->d_name);
        if (ports != NULL)
            closedir(ports);
    }
    closedir(all);
}

void read_devices(struct devices *devices)
{
    devices->count = 0;
    /* First, because hosts of containers have more interfaces than there is room for. */
    read_infiniband(devices);
    read_interfaces(devices);
}

double sent_by(const struct devices *devices, const char *name)
{
    for (int i = 0; i < devices->count; i++)
        if (strcmp(devices->device[i].name, name) == 0)
            return devices->device[i].sent;
    return -1;
}

double busiest_device(const struct devices *before, const struct devices *after, char *name, size_t size)
{
    double most = 0;
    name[0] = '\0';
    for (int i = 0; i < after->count; i++) {
        const struct device *device = &after->device[i];
        double earlier = sent_by(before, device->name);
        if (earlier >= 0 && device->sent - earlier > most) {
            most = device->sent - earlier;
            snprintf(name, size, "%s", device->name);
        }
    }
    return most;
}
