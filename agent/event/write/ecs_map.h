#ifndef ETWSHIP_EVENT_ECS_MAP_H
#define ETWSHIP_EVENT_ECS_MAP_H

#include "event/value/ecs_convert.h"

/*
 * Fields of the Elastic Common Schema from the values of payloads, beside those that every event
 * has: source.ip, dns.question.name, process.parent.pid and so on. The mapping is data:
 * ecs_map.tsv, for the providers in ecs_map_providers.tsv; docs/reference/ecs-mapping.md is
 * generated from both.
 *
 * The rows that apply to an event type are looked up once, when its head is rendered (ecs_head.h),
 * and kept with it as a plan. An event type without rows has none.
 */
struct ecs_plan;

/* Which object of the event a member goes into. Members of the first four are added to objects that
 * exist beside the mapping. */
enum ecs_map_group {
    ECS_MAP_EVENT,
    ECS_MAP_PROCESS,
    ECS_MAP_WINLOG,
    ECS_MAP_ERROR,
    ECS_MAP_REST, /* the record itself */
    ECS_MAP_GROUPS,
};

/* The plan for events of the type of ${event}, or NULL: no rows, or out of memory. The caller frees
 * it with free(). It borrows from the schema. */
struct ecs_plan *ecs_map_compile(const struct event *event);

/* True if ${plan}, which may be NULL, has members in a group. */
bool ecs_map_has(const struct ecs_plan *plan, enum ecs_map_group group);

/* Append the constant members of the event object except its action: `,"category":["process"]`. */
void ecs_map_add_constants(const struct ecs_plan *plan, struct buf *out);

/* event.action; empty where the mapping has none. */
struct span ecs_map_action(const struct ecs_plan *plan);

/* Append the members of a group, each with a comma in front; constants of the event object are left
 * out. */
void ecs_map_add(struct event_value_context *context, const struct ecs_plan *plan,
    const struct event *event, enum ecs_map_group group, struct buf *out);

/* The process that the event describes (process.pid). False: the mapping does not tell. */
bool ecs_map_process(struct event_value_context *context, const struct ecs_plan *plan,
    const struct event *event, uint32_t *ret_pid);

/* Does the mapping tell the thread, too? */
bool ecs_map_has_thread(const struct ecs_plan *plan);

/* True if ${pid} is the process in the record's header. */
bool ecs_map_is_own(const struct event_record *record, uint32_t pid);

#endif
