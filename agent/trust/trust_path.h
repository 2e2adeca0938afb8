#ifndef ETWSHIP_TRUST_TRUST_PATH_H
#define ETWSHIP_TRUST_TRUST_PATH_H

#include "platform/plat_rights.h"
#include "trust/verdict.h"

/* Everything on the way to a file counts: whoever may rename a folder there may put another file in
 * the place of this one. */

enum { TRUST_PATH_BYTES = 4096, TRUST_WHY_BYTES = 256 };

/* The system whose files are judged. */
struct trust_system {
    bool is_windows;
    uint32_t user;      /* Linux: of this process */
    struct sid_own own; /* Windows */
    bool (*look)(void *self, const char *path, struct plat_rights *ret_rights, struct error *err);
    void *self;
};

/* Who may change something, and where. */
struct trust_finding {
    char path[TRUST_PATH_BYTES]; /* of what he may change */
    enum trust_use use;          /* what that is: the thing itself, or on the way to it */
    bool is_folder;
    bool is_own; /* the thing itself, and nothing that others share: its rights may be changed */
    struct trust_verdict verdict;
    char why[TRUST_WHY_BYTES]; /* TRUST_UNKNOWN: why it cannot be judged */
};

/*
 * Is there nobody but the trusted who may change what ${path}, absolute and in the system's own form,
 * means to somebody who uses it as ${use}: TRUST_FILE or TRUST_FOLDER, whichever it is, or TRUST_WAY for
 * what he makes himself? False: ${ret_finding} is the first place, from the root on. Links are
 * gone after one by one, 40 of them at most, and each counts with its own way.
 *
 * What is not there changes nothing, but as a TRUST_FOLDER it may be made: then the folder is judged
 * in which it would be.
 */
bool trust_path_judge(const struct trust_system *system, const char *path, enum trust_use use,
    struct trust_finding *ret_finding);

#endif
