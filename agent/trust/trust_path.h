#ifndef ETWSHIP_TRUST_TRUST_PATH_H
#define ETWSHIP_TRUST_TRUST_PATH_H

#include "platform/plat_rights.h"
#include "trust/verdict.h"

/* Every folder on the path to a file counts: an account that may rename one can replace the
 * file. */

enum { TRUST_PATH_BYTES = 4096, TRUST_WHY_BYTES = 256 };

/* The rules of the file system. */
struct trust_system {
    bool is_windows;
    uint32_t user;      /* Linux: of this process */
    struct sid_own own; /* Windows */
    bool (*look)(void *self, const char *path, struct plat_rights *ret_rights, struct error *err);
    void *self;
};

/* The account that may change something, and the place. */
struct trust_finding {
    char path[TRUST_PATH_BYTES]; /* path of the object */
    enum trust_use use;          /* the target itself, or a folder on the path to it */
    bool is_folder;
    bool is_own; /* the target itself, not shared with others: its rights may be changed */
    struct trust_verdict verdict;
    char why[TRUST_WHY_BYTES]; /* TRUST_UNKNOWN: why it cannot be judged */
};

/*
 * True if only trusted accounts may change what ${path}, absolute and in the system's own form,
 * refers to when it is used as ${use}: TRUST_FILE, TRUST_FOLDER, or TRUST_WAY for a file that the
 * caller creates. False: ${ret_finding} is the first place, from the root on. Links are followed,
 * at most 40, and each counts with its own path.
 *
 * A missing target is fine, but a missing TRUST_FOLDER may be created: then its parent folder is
 * judged.
 */
bool trust_path_judge(const struct trust_system *system, const char *path, enum trust_use use,
    struct trust_finding *ret_finding);

#endif
