#ifndef ETWSHIP_TRUST_MODE_H
#define ETWSHIP_TRUST_MODE_H

#include "trust/verdict.h"

/* Owner and mode of a file or folder on Linux (inode(7)). */
struct mode_facts {
    uint32_t owner;
    uint32_t group;
    uint32_t bits; /* rights and the sticky bit, 07777 */
    bool is_folder;
    bool is_link;
};

/*
 * Judge a file or folder by its owner and its mode. root and ${own}, the user of this process, are
 * trusted, but no group: its members are not looked up, and with an access list (acl(5)) the group
 * bits are the maximum for every named user. In a sticky folder on the path, such as /tmp, only
 * owners can rename files; files that do not exist yet are not protected.
 */
void mode_judge(const struct mode_facts *facts, enum trust_use use, uint32_t own,
    struct trust_verdict *ret_verdict);

#endif
