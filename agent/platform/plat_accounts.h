#ifndef ETWSHIP_PLATFORM_PLAT_ACCOUNTS_H
#define ETWSHIP_PLATFORM_PLAT_ACCOUNTS_H

#include "base/span.h"

/* Names of accounts are at most 256 UTF-16 units (UNLEN in lmcons.h), those of domains 255 (DNS). */
enum { PLAT_ACCOUNT_BYTES = 256 * 3 + 1 };

struct plat_account {
    char name[PLAT_ACCOUNT_BYTES];   /* UTF-8; never empty */
    char domain[PLAT_ACCOUNT_BYTES]; /* may be */
};

enum plat_account_answer {
    PLAT_ACCOUNT_KNOWN,
    PLAT_ACCOUNT_NONE,   /* nobody is called so, as far as this machine and its domains know */
    PLAT_ACCOUNT_FAILED, /* it could not be found out now */
};

/*
 * Whose the SID ${sid} is, in bytes ([MS-DTYP] 2.4.2.2). May ask machines of the domain and of domains that
 * it trusts, and wait for those that are not there: minutes, so never ask on a thread that others wait for.
 * PLAT_ACCOUNT_NONE where this system has no SIDs (Linux).
 *
 * Source: LookupAccountSid on learn.microsoft.com.
 */
enum plat_account_answer plat_account_find(struct span sid, struct plat_account *ret_account);

#endif
