#include "app/run/agent_takeover.h"

#include "base/grow.h"

enum { MAX_STATE_BYTES = 1024 * 1024 };

static bool add(struct agent_takeover *takeover, const char *session, const struct input_ops *ops,
    const struct buf *state)
{
    bool has_room = grow_array(&takeover->items, takeover->count + 1, sizeof(*takeover->items));
    char *name = has_room ? span_copy(span_text(session)) : NULL;
    if (!name) {
        return false;
    }
    takeover->items[takeover->count++] = (struct agent_takeover_item){
        .session = name, .ops = ops, .state = *state};
    return true;
}

bool agent_takeover_add(
    struct agent_takeover *takeover, const char *session, const struct input_ops *ops, void *input)
{
    struct buf state;
    buf_init(&state, MAX_STATE_BYTES);
    ops->takeover(input, &state);
    bool ok = !state.failed;
    if (ok && state.size) {
        ok = add(takeover, session, ops, &state);
        if (ok) {
            return true;
        }
        ops->end_takeover(buf_span(&state));
    }
    buf_fini(&state);
    return ok;
}

struct span agent_takeover_find(
    const struct agent_takeover *takeover, const char *session, const struct input_ops *ops)
{
    for (size_t i = 0; i < takeover->count; i++) {
        const struct agent_takeover_item *item = &takeover->items[i];
        if (item->ops == ops && strcmp(item->session, session) == 0) {
            return buf_span(&item->state);
        }
    }
    return span_make(NULL, 0);
}

void agent_takeover_fini(struct agent_takeover *takeover)
{
    for (size_t i = 0; i < takeover->count; i++) {
        free(takeover->items[i].session);
        buf_fini(&takeover->items[i].state);
    }
    free(takeover->items);
    *takeover = (struct agent_takeover){.items = NULL};
}

void agent_takeover_end(struct agent_takeover *takeover)
{
    for (size_t i = 0; i < takeover->count; i++) {
        takeover->items[i].ops->end_takeover(buf_span(&takeover->items[i].state));
    }
    agent_takeover_fini(takeover);
}
