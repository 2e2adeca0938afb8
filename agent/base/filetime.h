#ifndef ETWSHIP_BASE_FILETIME_H
#define ETWSHIP_BASE_FILETIME_H

#include <stdint.h>

/* A FILETIME counts 100 ns since 1601-01-01 UTC ([MS-DTYP] 2.3.3). This one is 1970-01-01, where
 * the time of Unix begins. */
#define FILETIME_UNIX_EPOCH UINT64_C(116444736000000000)

#define FILETIME_PER_S UINT64_C(10000000)
#define FILETIME_PER_MS UINT64_C(10000)

#endif
