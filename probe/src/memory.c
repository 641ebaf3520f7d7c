/* memory.c - copies in the memory of a NUMA node. */
#include "order.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 10, SKIPPED = 3 };

/* Memory for two arrays; on a NUMA node (P#) if `numa` is not negative. */
static char *arrays(size_t bytes, int numa)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    enum { BIND = 2, NODES = 1024, BITS = 8 * sizeof(unsigned long) };
    if (numa >= 0 && numa < NODES) {
        unsigned long mask[NODES / BITS] = {0};
        mask[(size_t)numa / BITS] |= 1UL << ((size_t)numa % BITS);
        if (syscall(SYS_mbind, memory, bytes, BIND, mask, (unsigned long)NODES, 0U) != 0) {
            munmap(memory, bytes);
            return NULL;
        }
    }
    memset(memory, 1, bytes);
    return memory;
}

/* Copies for some time; bytes copied per second, in blocks of time. No samples without memory. */
void copy_memory(const struct order *order, struct answer *answer)
{
    size_t length = (size_t)order->bytes;
    char *memory = arrays(2 * length, order->numa);
    if (memory == NULL)
        return;
    double start = now(), begin = start, copied = 0;
    for (int block = 0; block < BLOCKS;) {
        memcpy(memory + length, memory, length);
        /* The copy must be made although nobody reads it. */
        __asm__ volatile("" : : "r"(memory) : "memory");
        copied += (double)length;
        double time = now();
        if (time - start < order->seconds * (block + 1) / BLOCKS)
            continue;
        if (block >= SKIPPED)
            answer->sample[answer->samples++] = copied / (time - begin);
        begin = time;
        copied = 0;
        block++;
    }
    munmap(memory, 2 * length);
}
