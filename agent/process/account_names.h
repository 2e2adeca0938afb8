#ifndef ETWSHIP_PROCESS_ACCOUNT_NAMES_H
#define ETWSHIP_PROCESS_ACCOUNT_NAMES_H

#include "base/error.h"
#include "platform/plat_accounts.h"

/*
 * Names for SIDs, asked on a thread of its own, since a machine of the domain that is not there keeps whoever
 * asks waiting for minutes. A look-up never waits: what is not known yet is asked for, and known when
 * account_names_news has changed. Names are kept for a while and then asked for again; until there is
 * an answer, the old ones are given. That nobody is called so is kept as well.
 *
 * Any thread may look up. ACCOUNT_NAMES_MAX SIDs are kept, those that were asked for last. Nothing is
 * allocated in a look-up.
 */
struct account_names;

enum {
    ACCOUNT_NAMES_MAX = 4096,
    ACCOUNT_KNOWN_MS = 3600 * 1000, /* then it is asked for again, */
    ACCOUNT_NONE_MS = 600 * 1000,   /* and sooner where nobody was called so, */
    ACCOUNT_FAILED_MS = 60 * 1000,  /* or nobody could say */
};

struct account_names_settings {
    /* plat_account_find, or what a test has in its place; called by one thread at a time. */
    enum plat_account_answer (*find)(
        void *find_self, struct span sid, struct plat_account *ret_account);
    void *find_self;
    unsigned known_ms; /* 0: as above */
    unsigned none_ms;
    unsigned failed_ms;
};

/* Starts no thread yet. NULL for ${settings} is the system. NULL with ${err} set without memory. */
struct account_names *account_names_create(
    const struct account_names_settings *settings, struct error *err);

/* Nobody looks anything up any more. A thread that hangs inside the system is given up after a moment,
 * with the memory that it uses. NULL is fine. */
void account_names_destroy(struct account_names *names);

/* Whose ${sid} is, in bytes; false: nobody's, or not known yet. What account_known_find knows is told
 * without asking. NULL for ${names}: nobody is asked. */
bool account_names_find(
    struct account_names *names, struct span sid, struct plat_account *ret_account);

/* Changes with every name that is new or another one than before. Never waits. */
uint64_t account_names_news(const struct account_names *names);

/*
 * The accounts that every Windows has under the same SID: LocalSystem, LocalService and the like, those of
 * the window manager and of font drivers. The names are those of an English Windows, others have them in
 * their own language. Pure.
 *
 * Source: [MS-DTYP] 2.4.2.4, "Well-known SIDs" on learn.microsoft.com.
 */
bool account_known_find(struct span sid, struct plat_account *ret_account);

#endif
