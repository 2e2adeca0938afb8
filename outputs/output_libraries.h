#ifndef ETWSHIP_OUTPUTS_OUTPUT_LIBRARIES_H
#define ETWSHIP_OUTPUTS_OUTPUT_LIBRARIES_H

#include <stddef.h>

/* A library that outputs use. */
struct output_library {
    const char *name; /* name as its authors write it: "libcurl" */
    const char *key;  /* for programs: "libcurl" */
    char version[64];
};

enum { OUTPUT_LIBRARIES_MAX = 7 };

/* The libraries of this process: HTTP, its TLS and HTTP/2, compression. Returns their number;
 * libraries that are not part of the build are left out. Any thread. */
size_t output_libraries_list(struct output_library ret_libraries[OUTPUT_LIBRARIES_MAX]);

#endif
