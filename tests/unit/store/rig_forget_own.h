#ifndef ETWSHIP_UNIT_STORE_RIG_FORGET_OWN_H
#define ETWSHIP_UNIT_STORE_RIG_FORGET_OWN_H

#include "store/store_own.h"
#include "unit/store/store_rig.h"

/* Forget an output that is not open, as the store does after max_age. False: there is none. */
static inline bool rig_forget(struct store_rig *rig, const char *name)
{
    struct store *store = rig->store;
    struct chain *chain = chains_find(store->chains, span_text(name));
    if (chain) {
        assert_ok(chains_remove(store->chains, chain, &rig->err), rig);
        unneeded_look(store->unneeded);
    }
    return chain != NULL;
}

#endif
