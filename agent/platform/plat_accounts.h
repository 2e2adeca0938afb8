#ifndef ETWSHIP_PLATFORM_PLAT_ACCOUNTS_H
#define ETWSHIP_PLATFORM_PLAT_ACCOUNTS_H

#include "base/span.h"

/* Account names have at most 256 UTF-16 units (UNLEN in lmcons.h), domain names 255 (DNS). */
enum { PLAT_ACCOUNT_BYTES = 256 * 3 + 1 };

struct plat_account {
    char name[PLAT_ACCOUNT_BYTES];   /* UTF-8; never empty */
    char domain[PLAT_ACCOUNT_BYTES]; /* UTF-8; may be empty */
};

enum plat_account_answer {
    PLAT_ACCOUNT_KNOWN,
    PLAT_ACCOUNT_NONE,   /* no account has the SID, as far as this machine and its domains know */
    PLAT_ACCOUNT_FAILED, /* the query failed; a later one may not */
};

/*
 * Find the account of ${sid}, given as bytes ([MS-DTYP] 2.4.2.2). May query machines of the domain
 * and of trusted domains and wait for unreachable ones for minutes: never call it on a thread that
 * others wait for. Returns PLAT_ACCOUNT_NONE on systems without SIDs (Linux).
 *
 * Source: LookupAccountSid on learn.microsoft.com.
 */
enum plat_account_answer plat_account_find(struct span sid, struct plat_account *ret_account);

#endif
