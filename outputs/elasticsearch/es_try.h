#ifndef ETWSHIP_OUTPUTS_ES_TRY_H
#define ETWSHIP_OUTPUTS_ES_TRY_H

#include "outputs/elasticsearch/es_setup.h"

/* The command `test-output`, but for the test document: as output_ops.examine. Every node is tried;
 * what concerns the cluster is asked of the first that answers. */
bool es_try_run(const struct es_setup *setup, const struct output_talk *talk);

#endif
