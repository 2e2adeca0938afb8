#ifndef ETWSHIP_APP_APP_TRUST_H
#define ETWSHIP_APP_APP_TRUST_H

#include "app/config/app_config.h"

/*
 * An agent with more rights than others believes what its configuration, definitions and data
 * folder say, and runs its program: an account that may write one of them has the agent's rights.
 * Links are not trusted on their word, nor are folders on the way (trust/trust_path.h).
 */

/* Does it matter? To root, and to what runs elevated or as LocalSystem. A service always asks.
 * The places where outputs write matter to every account: a file that another account puts there
 * could make the agent change a user's own files. */
bool app_trust_matters(void);

/* Which places are judged. */
enum app_trust_scope {
    APP_TRUST_OUTPUTS, /* where outputs write files */
    /* the same, and what the configuration names: its files, those of secrets and certificates,
     * folders of definitions, programs to launch, agent.data_dir, the log */
    APP_TRUST_CONFIG,
    APP_TRUST_ALL, /* the program that runs, too */
};

/* The account whose own files are trusted. */
enum app_trust_owner {
    APP_TRUST_PROCESS, /* this process's, which is the agent */
    /* this process's; but on Linux the data folder may belong to any account,
     * as the agent will run as an account of its own */
    APP_TRUST_CHECKER,
    /* On Windows only those of a service, not of this process: */
    /* one with all rights: it believes data that the account of the service wrote, which may have
     * been another one, but neither a configuration nor a program */
    APP_TRUST_SYSTEM,
    APP_TRUST_VIRTUAL, /* one with the account of the service */
};

/*
 * Call ${tell} with each place that an untrusted account may change: the account, how, and the
 * remedy, on one line. Each place once, APP_TRUST_MAX_TOLD at most. 0 if there is none. ${tell} may
 * be NULL.
 */
enum { APP_TRUST_MAX_TOLD = 16 };
size_t app_trust_find(const struct app_config *config, enum app_trust_scope scope,
    enum app_trust_owner owner, void (*tell)(void *self, const char *text), void *self);

/* As app_trust_find, for the log, which is in ${file} if the configuration names none. */
size_t app_trust_find_log(const struct app_config *config, const char *file,
    void (*tell)(void *self, const char *text), void *self);

/* As app_trust_find, for ${program}, absolute, and its folder: may a service of any account run it?
 * Only Windows has services: 0 elsewhere. */
size_t app_trust_find_program(
    const char *program, void (*tell)(void *self, const char *text), void *self);

/*
 * Make ${folder} if it is missing, for this account alone, and judge it as it is then: another
 * account may have made it after the check of its path. ERR_CONFIG: it is not trusted.
 */
bool app_trust_make_private(const char *folder, struct error *err);

/*
 * Windows: make ${folder} (%ProgramData%\etwship) with what lies in it, config, spool, logs and
 * schema, for LocalSystem, administrators and ${account}: the SID, as text, of the account that the
 * service runs as (NULL: LocalSystem). This account may write to all but config and schema, and may
 * replace none of the folders (app/install/install_folders.h). No other account has access, and no
 * right is inherited from above. An existing folder keeps its content. It is refused if it is a
 * link, or if an account that is no administrator made it, which the service's account is not: it
 * may have left files there. For installers, which run elevated.
 */
bool app_trust_make_folders(const char *folder, const char *account, struct error *err);

#endif
