#ifndef ETWSHIP_CONFIG_CONFIG_PATH_H
#define ETWSHIP_CONFIG_CONFIG_PATH_H

#include "base/buf.h"

/* Paths of Windows and of POSIX as users write them, with patterns and templates. */

/* Is ${path} fit to be one: not empty, no control character, no %NAME% of cmd.exe? */
bool config_path_check(struct span path, struct error *err);

/* Does ${path} start at a root: `/`, `\` or `C:`? */
bool config_path_is_absolute(struct span path);

/* Append ${path} to ${out}, after ${base} if it is relative. */
void config_path_join(const char *base, struct span path, struct buf *out);

/* Append the folder ${base} to ${out} as the start of a path template: characters that a template
 * (event/select/event_template.h) gives a meaning are doubled. */
void config_path_add_literal(const char *base, struct buf *out);

/* The part before the last component of ${path}, with its separator; may be empty. */
struct span config_path_folder(struct span path);

#endif
