#ifndef ETWSHIP_SCHEMA_MOF_FILE_H
#define ETWSHIP_SCHEMA_MOF_FILE_H

#include "base/error.h"
#include "schema/mof_model.h"

/* How the files of MOF text are called; ends with NULL. */
extern const char *const mof_file_endings[];

/*
 * Add the classes of the file at ${path}, at most 64 MB in any encoding that Windows programs write, to
 * ${model}. False with ${err} set if it cannot be read, or what is in it is too much.
 */
bool mof_file_read(struct mof_model *model, const char *path, struct error *err);

#endif
