#include "input/evtx/evtx_plan.h"

#include "input/evtx/evtx_system.h"

/*
 * Design: a plan contains the tree of its first record. Names and constants in it are views into
 * the chunk, so plans live as long as the chunk is in memory. To use a plan for another record, the
 * bytes of the nodes with values from the record are replaced. Whether a record has a node depends
 * only on the types of its values (a null value removes the node), so the types are part of the
 * key. Whether a node becomes a field, and of which type, also depends on the sizes of the values;
 * each use compares that (evtx_event_repeat).
 */
enum { ALIGNMENT = 16 };

struct evtx_plan {
    struct evtx_instance instance; /* key, together with the types of its values */
    uint8_t *types;

    struct evtx_tree tree;
    uint16_t *patches; /* nodes whose values come from the record */
    size_t patch_count;
    uint32_t work; /* for a record, without the cost of its values */

    struct evtx_system system;
    struct evtx_shared shared;
    struct evtx_outline outline;
    const struct trace_info *trace;
};

/* ---- finding --------------------------------------------------------------------------------- */

void evtx_plans_clear(struct evtx_plans *plans)
{
    memset(plans->slots, 0, sizeof(plans->slots));
    plans->used = 0;
    plans->is_instance = false;
}

static struct evtx_plan **slot_of(struct evtx_plans *plans, const struct evtx_room *room)
{
    const struct evtx_instance *instance = &plans->instance;
    uint32_t mix = 0;
    for (uint32_t i = 0; i < instance->count; i++) {
        mix = (mix ^ instance->definitions[i]) * UINT32_C(0x01000193);
    }
    for (uint32_t i = 0; i < instance->value_count; i++) {
        mix = (mix ^ room->values[i].type) * UINT32_C(0x01000193);
    }
    return &plans->slots[(mix * UINT32_C(0x9e3779b1)) >> 24];
}

static bool has_types(const struct evtx_plan *plan, const struct evtx_room *room)
{
    for (uint32_t i = 0; i < plan->instance.value_count; i++) {
        if (plan->types[i] != room->values[i].type) {
            return false;
        }
    }
    return true;
}

struct evtx_plan *evtx_plans_find(
    struct evtx_plans *plans, struct evtx_room *room, struct span chunk, uint32_t at, uint32_t size)
{
    const struct evtx_instance *a = &plans->instance;
    plans->is_instance = evtx_tree_read_instance(room, chunk, at, size, &plans->instance);
    struct evtx_plan *plan = plans->is_instance ? *slot_of(plans, room) : NULL;
    const struct evtx_instance *b = plan ? &plan->instance : NULL;
    bool fits = plan && a->count == b->count && a->value_count == b->value_count &&
                memcmp(a->definitions, b->definitions, a->count * sizeof(a->definitions[0])) == 0 &&
                has_types(plan, room);
    return fits ? plan : NULL;
}

/* ---- using ----------------------------------------------------------------------------------- */

bool evtx_plan_run(
    struct evtx_plan *plan, const struct evtx_room *room, uint32_t *work, struct evtx_event *event)
{
    uint64_t cost = plan->work;
    for (size_t i = 0; i < plan->patch_count; i++) {
        struct evtx_node *node = &plan->tree.nodes[plan->patches[i]];
        node->bytes = room->values[node->given].bytes;
        cost += evtx_tree_cost(node->bytes);
    }
    if (cost > *work || !evtx_event_repeat(event, &plan->outline)) {
        return false;
    }
    *work -= (uint32_t)cost;
    return true;
}

const struct trace_info *evtx_plan_trace(const struct evtx_plan *plan)
{
    return plan->trace;
}

void evtx_plan_set_trace(struct evtx_plan *plan, const struct trace_info *trace)
{
    plan->trace = plan->shared.has_computer ? trace : NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Allocate from the memory of the plans. NULL: it is used up. */
static void *take(struct evtx_plans *plans, size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded > sizeof(plans->memory) - plans->used) {
        return NULL;
    }
    void *memory = plans->memory + plans->used;
    plans->used += rounded;
    return memory;
}

static void *copy(struct evtx_plans *plans, const void *bytes, size_t size)
{
    void *memory = take(plans, size);
    return memory && size ? memcpy(memory, bytes, size) : memory;
}

static bool copy_span(struct evtx_plans *plans, struct span *span)
{
    span->data = copy(plans, span->data, span->size);
    return span->data != NULL;
}

static bool copy_tree(
    struct evtx_plans *plans, struct evtx_plan *plan, const struct evtx_tree *tree)
{
    plan->tree = *tree;
    plan->tree.nodes = copy(plans, tree->nodes, tree->count * sizeof(*tree->nodes));
    plan->patches = take(plans, tree->count * sizeof(*plan->patches));
    if (!plan->tree.nodes || !plan->patches) {
        return false;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].given != EVTX_TREE_NONE) {
            plan->patches[plan->patch_count++] = (uint16_t)i;
            plan->work -= evtx_tree_cost(tree->nodes[i].bytes);
        }
    }
    return true;
}

static bool copy_types(
    struct evtx_plans *plans, struct evtx_plan *plan, const struct evtx_room *room)
{
    plan->types = take(plans, plan->instance.value_count);
    for (uint32_t i = 0; plan->types && i < plan->instance.value_count; i++) {
        plan->types[i] = room->values[i].type;
    }
    return plan->types != NULL;
}

/* Copy the parts of the header that all records of the plan share. */
static bool copy_shared(
    struct evtx_plans *plans, struct evtx_plan *plan, const struct evtx_event *event)
{
    uint16_t root = evtx_tree_find(&plan->tree, 0, EVTX_NODE_ELEMENT, "Event");
    uint16_t system = evtx_tree_find(&plan->tree, root, EVTX_NODE_ELEMENT, "System");
    evtx_system_find(&plan->tree, system, &plan->system);
    plan->shared = evtx_system_share(event, &plan->tree, &plan->system);
    return copy_span(plans, &plan->shared.names) && copy_span(plans, &plan->shared.computer);
}

static bool copy_outline(
    struct evtx_plans *plans, struct evtx_plan *plan, const struct evtx_event *event)
{
    const struct evtx_steps *steps = &event->steps;
    plan->outline = (struct evtx_outline){.tree = &plan->tree,
        .system = &plan->system,
        .shared = &plan->shared,
        .steps = copy(plans, steps->list, steps->count * sizeof(steps->list[0])),
        .step_count = steps->count,
        .blob = evtx_event_blob(event)};
    return plan->outline.steps && copy_span(plans, &plan->outline.blob);
}

void evtx_plans_add(struct evtx_plans *plans, const struct evtx_room *room,
    const struct evtx_tree *tree, const struct evtx_event *event, uint32_t work)
{
    if (!plans->is_instance || event->steps.varies) {
        return;
    }
    size_t used = plans->used;
    struct evtx_plan *plan = take(plans, sizeof(*plan));
    if (plan) {
        *plan = (struct evtx_plan){.instance = plans->instance, .work = work};
    }
    if (plan && copy_types(plans, plan, room) && copy_tree(plans, plan, tree) &&
        copy_shared(plans, plan, event) && copy_outline(plans, plan, event)) {
        *slot_of(plans, room) = plan;
    } else {
        plans->used = used;
    }
}
