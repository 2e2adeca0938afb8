#ifndef ETWSHIP_STORE_CATALOGUE_SCHEMA_H
#define ETWSHIP_STORE_CATALOGUE_SCHEMA_H

#include <sqlite3.h>

enum {
    CATALOGUE_APPLICATION = 0x65747773, /* "etws": the database's application_id */
    CATALOGUE_VERSION = 4,              /* its user_version */
};

/* Within the catalogue alone: make the tables of CATALOGUE_VERSION of those of ${version}; 0 is an
 * empty database. Inside a transaction. SQLite's result. */
int catalogue_schema_upgrade(sqlite3 *db, unsigned version);

#endif
