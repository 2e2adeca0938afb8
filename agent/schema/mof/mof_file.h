#ifndef ETWSHIP_SCHEMA_MOF_FILE_H
#define ETWSHIP_SCHEMA_MOF_FILE_H

#include "base/error.h"
#include "schema/mof/mof_model.h"

/* File name endings of MOF text, ending with NULL. */
extern const char *const mof_file_endings[];

/*
 * Add the classes of the file at ${path} to ${model}. The file has at most 64 MB, in any encoding
 * that Windows programs write. False with ${err} set if it cannot be read or exceeds a limit.
 */
bool mof_file_read(struct mof_model *model, const char *path, struct error *err);

#endif
