#ifndef ETWSHIP_TRUST_MODE_H
#define ETWSHIP_TRUST_MODE_H

#include "trust/verdict.h"

/* What a file or folder says of itself on Linux (inode(7)). */
struct mode_facts {
    uint32_t owner;
    uint32_t group;
    uint32_t bits; /* rights and the sticky bit, 07777 */
    bool is_folder;
    bool is_link;
};

/*
 * Judge a file or folder by its owner and its mode. Trusted are root and ${own}, the user of this
 * process, and no group: who is in it is not looked up, and with an access list (acl(5)) the bits of the
 * group are what anybody named in it may have at most. In a sticky folder on the way, as /tmp, nobody
 * can rename what others own; what will be made there is another matter.
 */
void mode_judge(const struct mode_facts *facts, enum trust_use use, uint32_t own,
    struct trust_verdict *ret_verdict);

#endif
