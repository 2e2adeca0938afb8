#ifndef ETWSHIP_PLATFORM_PLAT_RIGHTS_H
#define ETWSHIP_PLATFORM_PLAT_RIGHTS_H

#include "base/error.h"
#include "base/span.h"

/* Who may do what with files and folders, as the system keeps it; what that means is for others. */

enum plat_rights_kind {
    PLAT_RIGHTS_NONE, /* there is nothing of the name */
    PLAT_RIGHTS_FILE,
    PLAT_RIGHTS_FOLDER,
    PLAT_RIGHTS_LINK,  /* a name for another one; on Windows anything with a reparse point */
    PLAT_RIGHTS_OTHER, /* a device, a pipe */
};

/* Of the name itself: a link is not followed. */
struct plat_rights {
    enum plat_rights_kind kind;
    bool is_folder; /* of a link on Windows: it is a folder's */
    /* Linux */
    uint32_t owner;
    uint32_t group;
    uint32_t mode;
    /* Windows: a self-relative SECURITY_DESCRIPTOR with owner and DACL; heap */
    uint8_t *descriptor;
    size_t descriptor_bytes;
    /* PLAT_RIGHTS_LINK: Linux, its target; Windows, a REPARSE_DATA_BUFFER; heap */
    uint8_t *link;
    size_t link_bytes;
};

/* Read what ${path} says. False if the system refuses. To be freed with fini if true. */
bool plat_rights_read(const char *path, struct plat_rights *ret_rights, struct error *err);
void plat_rights_fini(struct plat_rights *rights);

enum { PLAT_RIGHTS_SID_BYTES = 68 };

/* Whom this process acts for. */
struct plat_rights_self {
    bool is_privileged;                 /* root; elevated, or LocalSystem */
    bool has_sids;                      /* Windows: rights are descriptors */
    bool is_service_too;                /* services run as this account: Wine has only one */
    uint32_t user;                      /* Linux */
    uint8_t sid[PLAT_RIGHTS_SID_BYTES]; /* Windows */
    size_t sid_bytes;                   /* 0: unknown */
};

void plat_rights_self(struct plat_rights_self *ret_self);

/* ${path} from the root on, as the system would take it, in its own form. The caller frees it. */
char *plat_rights_absolute(const char *path, struct error *err);

/* The program that runs. The caller frees it; NULL if the system does not say. */
char *plat_rights_program(struct error *err);

/*
 * Windows: make the folder ${path}, whose parent exists, or take one that is there over, and let in whom
 * ${sddl} says ("D:PAI…") and nobody else; what it holds inherits that. Administrators become the owner; that
 * this fails is an error where this process is privileged, as others may not do it. A link is not followed
 * (ERR_CONFIG). Elsewhere ERR_UNSUPPORTED.
 */
bool plat_rights_protect(const char *path, const char *sddl, struct error *err);

#endif
