#ifndef ETWSHIP_OUTPUTS_ES_TRY_H
#define ETWSHIP_OUTPUTS_ES_TRY_H

#include "outputs/elasticsearch/es_setup.h"

/* The command `test-output` without the test document: as output_ops.examine. Tests every node;
 * requests about the cluster go to the first that answers. */
bool es_try_run(const struct es_setup *setup, const struct output_talk *talk);

#endif
