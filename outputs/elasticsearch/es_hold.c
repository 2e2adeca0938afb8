#include "outputs/elasticsearch/es_hold.h"

bool es_hold_judge(struct es_hold *hold, size_t taken, size_t refused, size_t all)
{
    if (taken) {
        hold->deliveries = 0;
        hold->records = 0;
        hold->holds = false;
        return false;
    }
    if (refused == 0 || (refused < all && !hold->holds)) {
        return false;
    }
    hold->deliveries += hold->deliveries < ES_HOLD_DELIVERIES;
    hold->records += hold->records < ES_HOLD_RECORDS ? refused : 0;
    hold->holds = hold->deliveries >= ES_HOLD_DELIVERIES && hold->records >= ES_HOLD_RECORDS;
    return hold->holds;
}

size_t es_hold_probe(struct es_hold *hold, size_t count)
{
    return hold->probes++ % count;
}
