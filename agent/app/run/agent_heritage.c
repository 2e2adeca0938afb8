#include "app/run/agent_heritage.h"

#include <stdlib.h>

enum { MAX_LEGACY_BYTES = 1024 * 1024 };

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static bool add(struct agent_heritage *heritage, const char *session, const struct input_ops *ops,
    const struct buf *legacy)
{
    struct agent_heritage_item *items = realloc(
        heritage->items, (heritage->count + 1) * sizeof(*items));
    char *name = copy_text(session);
    heritage->items = items ? items : heritage->items;
    if (!items || !name) {
        free(name);
        return false;
    }
    items[heritage->count++] = (struct agent_heritage_item){
        .session = name, .ops = ops, .legacy = *legacy};
    return true;
}

bool agent_heritage_add(
    struct agent_heritage *heritage, const char *session, const struct input_ops *ops, void *input)
{
    struct buf legacy;
    buf_init(&legacy, MAX_LEGACY_BYTES);
    ops->legacy(input, &legacy);
    bool ok = !legacy.failed;
    if (ok && legacy.size) {
        ok = add(heritage, session, ops, &legacy);
        if (ok) {
            return true;
        }
        ops->renounce(buf_span(&legacy));
    }
    buf_fini(&legacy);
    return ok;
}

struct span agent_heritage_find(
    const struct agent_heritage *heritage, const char *session, const struct input_ops *ops)
{
    for (size_t i = 0; i < heritage->count; i++) {
        const struct agent_heritage_item *item = &heritage->items[i];
        if (item->ops == ops && strcmp(item->session, session) == 0) {
            return buf_span(&item->legacy);
        }
    }
    return span_make(NULL, 0);
}

void agent_heritage_fini(struct agent_heritage *heritage)
{
    for (size_t i = 0; i < heritage->count; i++) {
        free(heritage->items[i].session);
        buf_fini(&heritage->items[i].legacy);
    }
    free(heritage->items);
    *heritage = (struct agent_heritage){.items = NULL};
}

void agent_heritage_renounce(struct agent_heritage *heritage)
{
    for (size_t i = 0; i < heritage->count; i++) {
        heritage->items[i].ops->renounce(buf_span(&heritage->items[i].legacy));
    }
    agent_heritage_fini(heritage);
}
