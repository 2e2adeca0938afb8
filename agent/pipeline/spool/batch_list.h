#ifndef ETWSHIP_PIPELINE_BATCH_LIST_H
#define ETWSHIP_PIPELINE_BATCH_LIST_H

#include "pipeline/batch/batch.h"

struct batch_list {
    struct batch *head;
    struct batch *tail;
};

static inline void batch_list_add(struct batch_list *list, struct batch *batch)
{
    batch->next = NULL;
    batch->previous = list->tail;
    if (list->tail) {
        list->tail->next = batch;
    } else {
        list->head = batch;
    }
    list->tail = batch;
}

static inline void batch_list_remove(struct batch_list *list, struct batch *batch)
{
    *(batch->previous ? &batch->previous->next : &list->head) = batch->next;
    *(batch->next ? &batch->next->previous : &list->tail) = batch->previous;
}

static inline struct batch *batch_list_take(struct batch_list *list)
{
    struct batch *batch = list->head;
    if (batch) {
        batch_list_remove(list, batch);
    }
    return batch;
}

/* All of ${from} after ${list}. */
static inline void batch_list_move(struct batch_list *list, struct batch_list *from)
{
    struct batch *batch;
    while ((batch = batch_list_take(from))) {
        batch_list_add(list, batch);
    }
}

#endif
