#ifndef ETWSHIP_PROCESS_ACCOUNT_NAMES_H
#define ETWSHIP_PROCESS_ACCOUNT_NAMES_H

#include "base/error.h"
#include "platform/plat_accounts.h"

/*
 * Account names of SIDs, queried on a separate thread, because an unreachable domain controller
 * blocks the caller for minutes. A look-up never waits: an unknown SID is queued, and its name is
 * available once account_names_news has changed. Names expire and are queried again; until the
 * answer arrives, the old name is returned. Misses are kept as well.
 *
 * Thread-safe. The ACCOUNT_NAMES_MAX most recently used SIDs are kept. A look-up allocates nothing.
 */
struct account_names;

enum {
    ACCOUNT_NAMES_MAX = 4096,
    ACCOUNT_KNOWN_MS = 3600 * 1000, /* lifetime of a name */
    ACCOUNT_NONE_MS = 600 * 1000,   /* lifetime of a miss */
    ACCOUNT_FAILED_MS = 60 * 1000,  /* lifetime of a failure */
};

struct account_names_settings {
    /* plat_account_find, or a replacement by a test; called by one thread at a time. */
    enum plat_account_answer (*find)(
        void *find_self, struct span sid, struct plat_account *ret_account);
    void *find_self;
    unsigned known_ms; /* 0: the constants above */
    unsigned none_ms;
    unsigned failed_ms;
};

/* Starts no thread yet. ${settings} may be NULL: use the system. NULL with ${err} set if memory is
 * short. */
struct account_names *account_names_create(
    const struct account_names_settings *settings, struct error *err);

/* The caller ensures that no look-up runs. A hanging thread is abandoned after a moment, with its
 * memory. NULL is fine. */
void account_names_destroy(struct account_names *names);

/* Find the account of ${sid}, given as bytes; false if it has none, or is not known yet. Accounts
 * of account_known_find need no query. ${names} NULL: query nothing. */
bool account_names_find(
    struct account_names *names, struct span sid, struct plat_account *ret_account);

/* Changes whenever a name is added or changed. Never waits. */
uint64_t account_names_news(const struct account_names *names);

/*
 * Accounts with the same SID on every Windows: LocalSystem, LocalService and the like, those of the
 * window manager and of font drivers. The names are those of English Windows; other languages
 * translate them. Pure.
 *
 * Source: [MS-DTYP] 2.4.2.4, "Well-known SIDs" on learn.microsoft.com.
 */
bool account_known_find(struct span sid, struct plat_account *ret_account);

#endif
