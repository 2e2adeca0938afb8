#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_CNG_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_CNG_H

#include "base/error.h"

/* A function of bcrypt.dll. It is found at run time: bcrypt.dll is not one of the "known DLLs", so
 * Windows would first search the program's folder. */
struct plat_cng_function {
    const char *name;
    void *to; /* a pointer to a function */
};

/* Set what ${functions} point to. False with ${err} set: one is not there. Any thread. */
bool plat_cng_find(const struct plat_cng_function *functions, size_t count, struct error *err);

#endif
