#ifndef ETWSHIP_TRUST_VERDICT_H
#define ETWSHIP_TRUST_VERDICT_H

#include "trust/sid.h"

/* Accounts without all rights that could change what the agent reads or runs. */

/* The use of a file or folder by the agent. */
enum trust_use {
    TRUST_ROOT, /* the root of a disk on the path: it cannot be renamed */
    TRUST_WAY,  /* a folder on the path: an account that may rename it, or its content, may replace
                  the target */
    TRUST_FILE, /* a file that is read or run */
    TRUST_FOLDER, /* a folder from which any file is read, or to which files are written */
};

/* Harmful actions, as bits. */
enum trust_harm {
    TRUST_HARM_WRITE = 1 << 0, /* change a file; put files into a folder */
    TRUST_HARM_APPEND = 1 << 1,
    TRUST_HARM_DELETE = 1 << 2, /* remove or rename it */
    TRUST_HARM_DELETE_CHILD = 1 << 3,
    TRUST_HARM_ATTRIBUTES = 1 << 4,
    TRUST_HARM_RIGHTS = 1 << 5,  /* change the permissions */
    TRUST_HARM_OWNER = 1 << 6,   /* take the ownership */
    TRUST_HARM_OWNS = 1 << 8,    /* be the owner, who may change the permissions */
    TRUST_HARM_INHERIT = 1 << 7, /* write new files in it by inherited rights */
};

/* The account that may do the harm. */
enum trust_party {
    TRUST_NONE,   /* no untrusted account */
    TRUST_SID,    /* `sid` */
    TRUST_USER,   /* user number `id` */
    TRUST_GROUP,  /* members of the group `id`, or accounts in its access list */
    TRUST_ALL,    /* everybody */
    TRUST_UNKNOWN /* unknown, so anybody */
};

struct trust_verdict {
    enum trust_party party;
    unsigned harms; /* enum trust_harm; 0 only with TRUST_NONE and TRUST_UNKNOWN */
    uint32_t id;
    struct sid sid;
};

#endif
