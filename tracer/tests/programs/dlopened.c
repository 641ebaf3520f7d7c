/* dlopened PLUGIN [ARGUMENT..]: a plug-in loads MPI with RTLD_LOCAL, as a Python module does. */
#include <dlfcn.h>
#include <stdio.h>

typedef int main_function(int argc, char **argv);

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!plugin) {
        fprintf(stderr, "dlopened: %s\n", argc > 1 ? dlerror() : "no plug-in");
        return 1;
    }
    main_function *run = (main_function *)dlsym(plugin, "main");
    return run(argc - 1, argv + 1);
}
