#ifndef ETWSHIP_APP_LETTERS_IMPORT_H
#define ETWSHIP_APP_LETTERS_IMPORT_H

#include "base/error.h"

/*
 * The dead letters that runs with spool.mode: memory have left in ${data_dir} come into the catalogue of
 * its durable spool, which is there, each once, and go from where they were. ${ret_count}: how many.
 * Without room for all of them none comes (ERR_LIMIT).
 * Whoever calls holds the data folder.
 */
bool letters_import(const char *data_dir, uint64_t *ret_count, struct error *err);

#endif
