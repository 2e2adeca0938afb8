#ifndef ETWSHIP_EVENT_ECS_SINK_H
#define ETWSHIP_EVENT_ECS_SINK_H

#include "base/buf.h"

/* Elements of a list that are held against further ones, so that none stands twice. */
enum { ECS_SINK_KEPT = 32 };

/* Where values go: the value of a member, or the elements of a list whose bracket is open. */
struct ecs_sink {
    struct buf *out;
    bool is_list;
    uint32_t count;
    struct {
        size_t start;
        size_t size;
    } kept[ECS_SINK_KEPT];
};

/* Where the next value begins: a comma is in front of it, if it is not the first of a list. */
size_t ecs_sink_begin(struct ecs_sink *sink);

/* The value that began at ${start} is complete. A list drops it if it has it already. */
void ecs_sink_end(struct ecs_sink *sink, size_t start);

/* The value is complete. A list keeps it even if it has an equal one. */
void ecs_sink_end_any(struct ecs_sink *sink);

/* A JSON string of UTF-8, with its quotes. */
void ecs_sink_string(struct buf *out, struct span utf8);

/* Whole values. False: text that is empty or `-`, a number beyond 2^63 - 1. */
bool ecs_sink_text(struct ecs_sink *sink, struct span utf8);
bool ecs_sink_lower(struct ecs_sink *sink, struct span utf8);
bool ecs_sink_number(struct ecs_sink *sink, uint64_t number);
bool ecs_sink_truth(struct ecs_sink *sink, bool truth);

#endif
