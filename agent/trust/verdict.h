#ifndef ETWSHIP_TRUST_VERDICT_H
#define ETWSHIP_TRUST_VERDICT_H

#include "trust/sid.h"

/* Who, other than those who may do everything on the machine anyway, could change what the agent
 * believes or runs. */

/* What a file or folder is to the agent. */
enum trust_use {
    TRUST_ROOT, /* of a disk, passed on the way to it: it cannot be renamed */
    TRUST_WAY, /* a folder on the way: whoever may rename it, or what it holds, may replace it all */
    TRUST_FILE,   /* read, or run */
    TRUST_FOLDER, /* read with whatever files come to lie in it, or written to */
};

/* What somebody may do to it, as bits. */
enum trust_harm {
    TRUST_HARM_WRITE = 1 << 0, /* change a file; put files into a folder */
    TRUST_HARM_APPEND = 1 << 1,
    TRUST_HARM_DELETE = 1 << 2, /* remove or rename it */
    TRUST_HARM_DELETE_CHILD = 1 << 3,
    TRUST_HARM_ATTRIBUTES = 1 << 4,
    TRUST_HARM_RIGHTS = 1 << 5,  /* change who may do what */
    TRUST_HARM_OWNER = 1 << 6,   /* take the ownership */
    TRUST_HARM_OWNS = 1 << 8,    /* have it, and so the say about rights */
    TRUST_HARM_INHERIT = 1 << 7, /* what will be made in it lets him write */
};

enum trust_who {
    TRUST_NOBODY, /* trusted */
    TRUST_SID,    /* `sid` */
    TRUST_USER,   /* user number `id` */
    TRUST_GROUP,  /* members of the group `id`, or others whom its access list names */
    TRUST_ALL,    /* everybody */
    TRUST_UNKNOWN /* cannot be judged, so anybody */
};

struct trust_verdict {
    enum trust_who who;
    unsigned harms; /* enum trust_harm; 0 with TRUST_NOBODY and TRUST_UNKNOWN alone */
    uint32_t id;
    struct sid sid;
};

#endif
