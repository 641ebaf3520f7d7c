#include "spool_file.h"

#include "allocate.h"
#include "file_size_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Creates the folder and its parents. */
static int make_folder(const char *folder)
{
    char *path = strdup(folder);
    if (!path)
        return ENOMEM;
    int error = 0;
    for (char *end = path; end && error == 0;) {
        end = strchr(end + 1, '/');
        if (end)
            *end = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            error = errno;
        if (end)
            *end = '/';
    }
    free(path);
    return error;
}

int rw_spool_create(struct rw_spool_file *file, const char *folder, const char *name)
{
    struct stat status;
    const size_t length = strlen(folder) + strlen(name) + 2;
    file->path = rw_allocate(length, 1);
    if (!file->path)
        return ENOMEM;
    snprintf(file->path, length, "%s/%s", folder, name);
    const int folder_error = make_folder(folder);
    if (folder_error != 0)
        return folder_error;
    unlink(file->path); /* left by an earlier program of this rank */
    const int descriptor = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return errno;
    const int error = fstat(descriptor, &status) == 0 ? 0 : errno;
    close(descriptor);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return error;
}

/* The descriptor is not kept open: a program that closes all descriptors could reuse its number. */
static int open_again(const struct rw_spool_file *file)
{
    struct stat status;
    const int descriptor = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return -1;
    if (fstat(descriptor, &status) == 0 && status.st_dev == file->device && status.st_ino == file->inode)
        return descriptor;
    close(descriptor);
    errno = ESTALE;
    return -1;
}

static int reserve(int descriptor, size_t from, size_t size)
{
    const struct rw_held_signal held = rw_hold_file_size_signal();
    const int error = posix_fallocate(descriptor, (off_t)from, (off_t)size);
    rw_release_file_size_signal(&held);
    return error;
}

uint8_t *rw_spool_map_more(struct rw_spool_file *file, size_t size)
{
    const int descriptor = open_again(file);
    if (descriptor < 0)
        return NULL;
    void *bytes = MAP_FAILED;
    int error = reserve(descriptor, file->size, size);
    if (error == 0) {
        bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, (off_t)file->size);
        error = errno;
    }
    close(descriptor);
    if (bytes == MAP_FAILED) {
        errno = error;
        return NULL;
    }
    file->size += size;
    return bytes;
}

void rw_spool_cut(const struct rw_spool_file *file, size_t length)
{
    if (truncate(file->path, (off_t)length) != 0)
        return; /* readers ignore unused bytes at the end */
}

void rw_spool_remove(const struct rw_spool_file *file)
{
    unlink(file->path);
}
