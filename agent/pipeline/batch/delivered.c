#include "pipeline/batch/delivered.h"

/* It did not deliver what is above ${number} after all. */
static void lower(struct delivered *delivered, uint64_t number)
{
    while (delivered->count && delivered_number(delivered) > number) {
        struct delivered_step *last = &delivered->steps[delivered->count - 1];
        uint64_t before = delivered->count > 1 ? last[-1].number : 0;
        if (before < number) {
            last->number = number;
        } else {
            delivered->count--;
        }
    }
}

void delivered_set(struct delivered *delivered, uint64_t number, uint64_t last_batch)
{
    lower(delivered, number);
    if (number <= delivered_number(delivered)) {
        return;
    }
    /* Batches after the new one's are its alone. */
    while (delivered->count && delivered->steps[delivered->count - 1].last_batch >= last_batch) {
        delivered->count--;
    }
    delivered->count -= delivered->count == DELIVERED_STEPS;
    delivered->steps[delivered->count++] = (struct delivered_step){
        .number = number, .last_batch = last_batch};
}

bool delivered_covers(const struct delivered *delivered, uint64_t batch, uint64_t number)
{
    for (size_t i = 0; i < delivered->count; i++) {
        if (batch > delivered->steps[i].last_batch && number <= delivered->steps[i].number) {
            return true;
        }
    }
    return false;
}
