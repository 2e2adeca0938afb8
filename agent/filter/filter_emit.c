#include "filter/filter_emit.h"

struct emitter {
    struct filter_op *ops;
    uint32_t left; /* tests not yet placed; they are placed from the end */
};

/* Place the tests of ${node}; returns the number of its first test. */
static uint32_t emit(struct emitter *emitter, const struct filter_node *node, uint32_t on_true,
    uint32_t on_false, bool inverted)
{
    uint32_t next = node->type == FILTER_NODE_AND ? on_true : on_false;
    switch (node->type) {
    case FILTER_NODE_TRUE:
        return on_true;
    case FILTER_NODE_NOT:
        return emit(emitter, node->last, on_false, on_true, !inverted);
    case FILTER_NODE_AND:
        for (const struct filter_node *child = node->last; child; child = child->before) {
            next = emit(emitter, child, next, on_false, inverted);
        }
        return next;
    case FILTER_NODE_OR:
        for (const struct filter_node *child = node->last; child; child = child->before) {
            next = emit(emitter, child, on_true, next, inverted);
        }
        return next;
    case FILTER_NODE_TEST:
        break;
    }
    struct filter_op *op = &emitter->ops[--emitter->left];
    *op = *node->op;
    op->on_true = on_true;
    op->on_false = on_false;
    op->inverted = inverted;
    return emitter->left;
}

void filter_emit(
    const struct filter_node *root, struct filter_op *ops, uint32_t count, struct filter_code *code)
{
    struct emitter emitter = {.ops = ops, .left = count};
    code->start = emit(&emitter, root, FILTER_TRUE, FILTER_FALSE, false);
    code->ops = ops;
    code->op_count = count;
    code->need = EVENT_PATH_RECORD;
    code->least_need = count ? UINT8_MAX : EVENT_PATH_RECORD;
    for (uint32_t i = 0; i < count; i++) {
        code->need = ops[i].need > code->need ? ops[i].need : code->need;
        code->least_need = ops[i].need < code->least_need ? ops[i].need : code->least_need;
    }
}
