#ifndef ETWSHIP_OUTPUTS_FILE_TRY_H
#define ETWSHIP_OUTPUTS_FILE_TRY_H

#include "outputs/output.h"

/* Test whether files can be created at the path template ${path}, or where its first folder would
 * be: creates an empty file and removes it; writes no event. As output_ops.examine. */
bool file_try(const char *path, const struct output_talk *talk);

#endif
