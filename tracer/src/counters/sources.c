#include "sources.h"

#include "../format/counters_format.h"
#include "../mpi/warning.h"
#include "../process/state.h"
#include "../storage/allocate.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files with one number each. Which of them count the same bytes, and in which unit, is the reader's business
 * (crates/rankwright-cli/src/host/counters/drivers.rs). */
static const char *const patterns[] = {
    "/sys/class/infiniband/*/ports/*/counters/port_*_data",
    "/sys/class/infiniband/*/ports/*/hw_counters/*bytes",
    "/sys/class/infiniband/*/ports/*/hw_counters/ip*Octets",
    "/sys/class/cxi/*/device/telemetry/hni_sts_?x_ok_octets",
};

enum { MOST_FILES = 4096, MOST_INTERFACES = 1024, TABLE_BYTES = 256 << 10, NAME_BYTES = 64 };

static struct {
    int files[MOST_FILES];
    uint32_t file_count;
    char interfaces[MOST_INTERFACES][NAME_BYTES];
    uint32_t interface_count;
    uint32_t left_out;
    char *table; /* room for /proc/net/dev */
} sources;

/* The interfaces of the network namespace of this thread. */
static const char *read_table(void)
{
    const int file = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    if (file >= 0 && sources.table) {
        ssize_t more;
        while (length < TABLE_BYTES - 1
               && (more = read(file, sources.table + length, TABLE_BYTES - 1 - length)) > 0)
            length += (size_t)more;
    }
    if (file >= 0)
        close(file);
    if (sources.table)
        sources.table[length] = '\0';
    return sources.table ? sources.table : "";
}

/* The next line of the table: the name, bytes received and sent. Returns where the line after it begins, or NULL. */
static const char *next_interface(const char *line, char name[NAME_BYTES], uint64_t *in, uint64_t *out)
{
    while (line && *line) {
        const char *end = strchr(line, '\n');
        const char *colon = strchr(line, ':');
        if (colon && (!end || colon < end)) {
            while (*line == ' ')
                line++;
            const size_t length = (size_t)(colon - line);
            unsigned long long received = 0, sent = 0;
            if (length < NAME_BYTES
                && sscanf(colon + 1, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &received, &sent) == 2) {
                memcpy(name, line, length);
                name[length] = '\0';
                *in = received;
                *out = sent;
                return end ? end + 1 : colon + 1;
            }
        }
        line = end ? end + 1 : NULL;
    }
    return NULL;
}

static void add_name(struct rw_buffer *names, const char *name)
{
    rw_put_bytes(names, name, strlen(name) + 1);
}

static void find_interfaces(struct rw_buffer *names)
{
    char name[NAME_BYTES], text[2 * NAME_BYTES];
    uint64_t in, out;
    for (const char *line = read_table(); (line = next_interface(line, name, &in, &out));) {
        if (strcmp(name, "lo") == 0)
            continue;
        if (sources.interface_count == MOST_INTERFACES) {
            sources.left_out++;
            continue;
        }
        memcpy(sources.interfaces[sources.interface_count++], name, sizeof name);
        snprintf(text, sizeof text, "net/%s/tx_bytes", name);
        add_name(names, text);
        snprintf(text, sizeof text, "net/%s/rx_bytes", name);
        add_name(names, text);
    }
}

/* The driver of the PCI device of /sys/class/infiniband/DEVICE/...; empty if it has none. */
static void driver_of(const char *path, char driver[NAME_BYTES])
{
    char link[PATH_MAX], target[PATH_MAX] = "";
    const char *end = path;
    for (int part = 0; end && part < 4; part++)
        end = strchr(end + 1, '/');
    driver[0] = '\0';
    if (!end)
        return;
    snprintf(link, sizeof link, "%.*s/device/driver", (int)(end - path), path);
    if (readlink(link, target, sizeof target - 1) > 0)
        snprintf(driver, NAME_BYTES, "%s", basename(target));
}

static void find_files(struct rw_buffer *names, const char *pattern)
{
    static const char classes[] = "/sys/class/";
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (sources.file_count == MOST_FILES) {
            sources.left_out += (uint32_t)(found.gl_pathc - i);
            break;
        }
        const char *path = found.gl_pathv[i];
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            continue;
        char driver[NAME_BYTES] = "", text[PATH_MAX];
        const char *device = strchr(path + strlen(classes), '/') + 1;
        const char *rest = strchr(device, '/');
        const int is_infiniband = strncmp(path + strlen(classes), "infiniband", 10) == 0;
        if (is_infiniband)
            driver_of(path, driver);
        snprintf(text, sizeof text, "%.*s%s%s%s", (int)(rest - path - strlen(classes)), path + strlen(classes),
                 is_infiniband ? ":" : "", driver, rest);
        add_name(names, text);
        sources.files[sources.file_count++] = file;
    }
    globfree(&found);
}

uint32_t rw_find_counters(struct rw_buffer *names)
{
    sources.file_count = sources.interface_count = sources.left_out = 0;
    if (!sources.table)
        sources.table = rw_allocate(TABLE_BYTES, 1);
    find_interfaces(names);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        find_files(names, patterns[i]);
    if (sources.left_out > 0)
        rw_warn("rank %d: its node has more counters than are recorded: %u left out", rw_tracer.world_rank,
                sources.left_out);
    return 2 * sources.interface_count + sources.file_count;
}

static void read_interfaces(uint64_t *values)
{
    char name[NAME_BYTES];
    uint64_t in, out;
    for (uint32_t i = 0; i < 2 * sources.interface_count; i++)
        values[i] = RW_COUNTER_UNKNOWN;
    uint32_t likely = 0; /* the table keeps its order */
    for (const char *line = read_table(); (line = next_interface(line, name, &in, &out));) {
        for (uint32_t tried = 0; tried < sources.interface_count; tried++) {
            const uint32_t i = (likely + tried) % sources.interface_count;
            if (strcmp(name, sources.interfaces[i]) == 0) {
                values[2 * i] = out;
                values[2 * i + 1] = in;
                likely = i + 1;
                break;
            }
        }
    }
}

void rw_read_counters(uint64_t *values)
{
    read_interfaces(values);
    values += 2 * sources.interface_count;
    for (uint32_t i = 0; i < sources.file_count; i++) {
        char text[64];
        const ssize_t length = pread(sources.files[i], text, sizeof text - 1, 0);
        char *end = text;
        if (length > 0) {
            text[length] = '\0';
            errno = 0;
            values[i] = strtoull(text, &end, 10);
        }
        if (end == text || errno == ERANGE)
            values[i] = RW_COUNTER_UNKNOWN;
    }
}

void rw_forget_counters(void)
{
    for (uint32_t i = 0; i < sources.file_count; i++)
        close(sources.files[i]);
    free(sources.table);
    sources.table = NULL;
    sources.file_count = sources.interface_count = 0;
}
