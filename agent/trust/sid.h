#ifndef ETWSHIP_TRUST_SID_H
#define ETWSHIP_TRUST_SID_H

#include "base/buf.h"
#include "base/reader.h"

/* Security identifiers of Windows ([MS-DTYP] 2.4.2). Pure: no lookups. */
enum { SID_MAX_SUBS = 15 };

struct sid {
    uint64_t authority; /* 48 bits */
    uint32_t count;
    uint32_t subs[SID_MAX_SUBS];
};

/* Read one; false, and the reader fails, if there is none. */
bool sid_read(struct reader *r, struct sid *ret_sid);

bool sid_equal(const struct sid *a, const struct sid *b);

/* Everyone: in the token of every logged-on user. */
bool sid_is_everyone(const struct sid *sid);

/* Anonymous: its token does not have Everyone. */
bool sid_is_anonymous(const struct sid *sid);

/* The service etwship. */
const struct sid *sid_of_service(void);

/* Trusted accounts besides those of the system; NULL: none. */
struct sid_own {
    const struct sid *process; /* the account of this process */
    const struct sid
        *service; /* the service etwship, if its files may be trusted: its account may have fewer
                     rights than this process */
};

/*
 * True if a process with all rights may trust files written by ${sid}:
 *
 * - LocalSystem, BUILTIN\Administrators and the owner of Windows' files, TrustedInstaller: they are
 *   the system;
 * - both of ${own}, which may be NULL;
 * - of any domain, Administrator (-500), Domain Admins (-512) and Enterprise Admins (-519):
 *   built-in members of Administrators, with reserved numbers ([MS-DTYP] 2.4.2.4);
 * - CREATOR OWNER and similar, S-1-3-0 to -3, which are in no token, and OWNER RIGHTS (-4), as the
 *   owner is judged separately.
 *
 * Not individual members of Administrators: until they elevate, their programs have no such rights
 * and must not gain them.
 */
bool sid_is_trusted(const struct sid *sid, const struct sid_own *own);

/* `S-1-…`, with the name in front if it is a well-known one: `BUILTIN\Users (S-1-5-32-545)`. */
void sid_write(const struct sid *sid, struct buf *out);

/* `S-1-…` alone. */
void sid_write_plain(const struct sid *sid, struct buf *out);

#endif
