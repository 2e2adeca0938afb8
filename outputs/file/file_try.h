#ifndef ETWSHIP_OUTPUTS_FILE_TRY_H
#define ETWSHIP_OUTPUTS_FILE_TRY_H

#include "outputs/output.h"

/* Can files be made where the path template ${path} says, or where its first folder would be? Makes
 * an empty file and removes it; no event is written. As output_ops.examine. */
bool file_try(const char *path, const struct output_talk *talk);

#endif
