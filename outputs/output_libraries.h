#ifndef ETWSHIP_OUTPUTS_OUTPUT_LIBRARIES_H
#define ETWSHIP_OUTPUTS_OUTPUT_LIBRARIES_H

#include <stddef.h>

/* A library of other people's that outputs stand on. */
struct output_library {
    const char *name; /* as its makers write it: "libcurl" */
    const char *key;  /* for programs: "libcurl" */
    char version[64];
};

enum { OUTPUT_LIBRARIES_MAX = 7 };

/* The libraries of this process: HTTP, its TLS and HTTP/2, compression. How many there are; what a
 * build does without is left out. Any thread. */
size_t output_libraries_list(struct output_library ret_libraries[OUTPUT_LIBRARIES_MAX]);

#endif
