#ifndef ETWSHIP_TRUST_DESCRIPTOR_H
#define ETWSHIP_TRUST_DESCRIPTOR_H

#include "trust/verdict.h"

/*
 * Judge a file or folder by its self-relative SECURITY_DESCRIPTOR ([MS-DTYP] 2.4.6), any bytes,
 * with its owner and access list. The verdict names the owner if it may do harm, else the first
 * such account in the list, with all its rights. ${own}: sid_is_trusted.
 *
 * Entries are evaluated in order, as by Windows' access check ([MS-DTYP] 2.5.3.2), always assuming
 * the most permissive case: a denying entry counts only against later entries for the same SID, or
 * if it denies Everyone, which is in every token but Anonymous's; conditions and object types count
 * as met in allowing entries and as unmet in denying ones. A missing list allows everybody. A
 * broken descriptor is TRUST_UNKNOWN.
 */
void descriptor_judge(struct span descriptor, enum trust_use use, const struct sid_own *own,
    struct trust_verdict *ret_verdict);

#endif
