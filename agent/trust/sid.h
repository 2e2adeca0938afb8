#ifndef ETWSHIP_TRUST_SID_H
#define ETWSHIP_TRUST_SID_H

#include "base/buf.h"
#include "base/reader.h"

/* Who somebody is on Windows ([MS-DTYP] 2.4.2). Pure: nothing is looked up anywhere. */
enum { SID_MAX_SUBS = 15, SID_MAX_BYTES = 8 + 4 * SID_MAX_SUBS };

struct sid {
    uint64_t authority; /* 48 bits */
    uint32_t count;
    uint32_t subs[SID_MAX_SUBS];
};

/* Read one; false, and the reader fails, if there is none. */
bool sid_read(struct reader *r, struct sid *ret_sid);

bool sid_equal(const struct sid *a, const struct sid *b);

/* Everyone: in the token of whoever is logged on. */
bool sid_is_everyone(const struct sid *sid);

/* Anonymous: whose token holds no Everyone. */
bool sid_is_anonymous(const struct sid *sid);

/* The service etwship. */
const struct sid *sid_of_service(void);

/* Who is trusted besides those that are the machine; NULL: nobody. */
struct sid_own {
    const struct sid *process; /* the account of this process */
    const struct sid
        *service; /* the service etwship, where what it wrote may be believed: its account
                                * may have fewer rights than this process */
};

/*
 * May a process with all rights believe what ${sid} wrote? So it is with
 *
 * - LocalSystem, BUILTIN\Administrators and the owner of Windows' files, TrustedInstaller: they are the
 *   machine;
 * - both of ${own}, which may be NULL;
 * - of any domain, Administrator (-500), Domain Admins (-512) and Enterprise Admins (-519): members of
 *   Administrators by birth, whose numbers no ordinary account can get ([MS-DTYP] 2.4.2.4);
 * - CREATOR OWNER and its kin, S-1-3-0 to -3, which no token ever holds, and OWNER RIGHTS (-4), which is
 *   the owner, who is judged for himself.
 *
 * Not so with members of Administrators by their own names: until they elevate, what they run has
 * no rights, and must get none this way.
 */
bool sid_is_trusted(const struct sid *sid, const struct sid_own *own);

/* `S-1-…`, with the name in front if it is a well-known one: `BUILTIN\Users (S-1-5-32-545)`. */
void sid_write(const struct sid *sid, struct buf *out);

/* `S-1-…` alone. */
void sid_write_plain(const struct sid *sid, struct buf *out);

#endif
