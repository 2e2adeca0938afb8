#ifndef ETWSHIP_PLATFORM_PLAT_RIGHTS_H
#define ETWSHIP_PLATFORM_PLAT_RIGHTS_H

#include "base/error.h"
#include "base/span.h"

/* Access rights of files and folders, as the system stores them; trust/ interprets them. */

enum plat_rights_kind {
    PLAT_RIGHTS_NONE, /* the name does not exist */
    PLAT_RIGHTS_FILE,
    PLAT_RIGHTS_FOLDER,
    PLAT_RIGHTS_LINK,  /* a link; on Windows anything with a reparse point */
    PLAT_RIGHTS_OTHER, /* a device, a pipe */
};

/* Of the name itself: links are not followed. */
struct plat_rights {
    enum plat_rights_kind kind;
    bool is_folder; /* for a link on Windows: it is a folder's */
    /* Linux */
    uint32_t owner;
    uint32_t group;
    uint32_t mode;
    /* Windows: a self-relative SECURITY_DESCRIPTOR with owner and DACL; heap */
    uint8_t *descriptor;
    size_t descriptor_bytes;
    /* for PLAT_RIGHTS_LINK: Linux: its target; Windows: a REPARSE_DATA_BUFFER; on the heap */
    uint8_t *link;
    size_t link_bytes;
};

/* Read the rights of ${path}. False if the system refuses. On success the caller calls
 * plat_rights_fini. */
bool plat_rights_read(const char *path, struct plat_rights *ret_rights, struct error *err);
void plat_rights_fini(struct plat_rights *rights);

enum { PLAT_RIGHTS_SID_BYTES = 68 };

/* The account of this process. */
struct plat_rights_self {
    bool is_privileged;                 /* root; or elevated, or LocalSystem */
    bool has_sids;                      /* Windows: rights are descriptors */
    bool is_service_too;                /* services run under this account: Wine has only one */
    uint32_t user;                      /* Linux */
    uint8_t sid[PLAT_RIGHTS_SID_BYTES]; /* Windows */
    size_t sid_bytes;                   /* 0: unknown */
};

void plat_rights_self(struct plat_rights_self *ret_self);

/* Absolute form of ${path} in the system's notation. The caller frees it. */
char *plat_rights_absolute(const char *path, struct error *err);

/* Path of the running program. The caller frees it; NULL if unknown. */
char *plat_rights_program(struct error *err);

/*
 * Windows: create the folder ${path} in an existing parent, or take over an existing folder, and
 * grant access to exactly the accounts in ${sddl} ("D:PAI…"), inherited by its content.
 * Administrators become the owner; failing that is an error if this process is privileged, because
 * others may not do it. A link is not followed (ERR_CONFIG). ERR_UNSUPPORTED elsewhere.
 */
bool plat_rights_protect(const char *path, const char *sddl, struct error *err);

#endif
