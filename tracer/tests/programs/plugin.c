/* plugin [ARGUMENT..]: begins and ends MPI and between them loads the library in the variable PLUGIN, if that is set. */
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *plugin = getenv("PLUGIN");
    if (plugin && !dlopen(plugin, RTLD_NOW | RTLD_LOCAL)) {
        fprintf(stderr, "plugin: %s\n", dlerror());
        return 1;
    }
    MPI_Finalize();
    return 0;
}
