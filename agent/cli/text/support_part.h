#ifndef ETWSHIP_CLI_SUPPORT_PART_H
#define ETWSHIP_CLI_SUPPORT_PART_H

#include "app/config/app_config.h"
#include "app/plan/app_policy.h"
#include "base/buf.h"

/* The parts of `etwship support`: one text per frequent first question. */

struct support {
    const char *config_path;
    const struct app_policy *policy;    /* of the machine, which is part of the configuration */
    const struct app_config *config;    /* NULL: there is none, or it has errors */
    const struct config_report *errors; /* of the configuration */
    struct config *memory;              /* of root */
    const struct config_field *fields;  /* of root */
    const struct app_root *root;        /* as far as readable; NULL: not at all */
    const char *data_dir;               /* NULL: there is none */
};

struct support_part {
    const char *name;  /* of the member */
    const char *holds; /* a few words */
    /* Append it; nothing if it does not apply here. False with ${err} set: not available. */
    bool (*write)(const struct support *support, struct buf *out, struct error *err);
};

enum { SUPPORT_PART_MAX_BYTES = 8 * 1024 * 1024 };

/* In the order of the bundle. NULL after the last. */
const struct support_part *support_part_at(size_t index);

#endif
