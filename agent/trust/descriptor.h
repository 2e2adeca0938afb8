#ifndef ETWSHIP_TRUST_DESCRIPTOR_H
#define ETWSHIP_TRUST_DESCRIPTOR_H

#include "trust/verdict.h"

/*
 * Judge a file or folder by its self-relative SECURITY_DESCRIPTOR ([MS-DTYP] 2.4.6), any bytes, with its
 * owner and access list. Of several that may do harm the owner, else the first in the list is
 * named, with all that he may do. ${own}: sid_is_trusted.
 *
 * What the list allows is taken as Windows' access check does ([MS-DTYP] 2.5.3.2), in its order, and where
 * that depends on who somebody is, as if he were the one to whom it gives most: an entry that denies counts
 * only against an entry after it for the same SID, or if it denies Everyone, whom every token holds but
 * Anonymous's; conditions and object types are taken as met where they allow, as not met where they deny. No
 * list at all lets everybody in. What is broken is TRUST_UNKNOWN.
 */
void descriptor_judge(struct span descriptor, enum trust_use use, const struct sid_own *own,
    struct trust_verdict *ret_verdict);

#endif
