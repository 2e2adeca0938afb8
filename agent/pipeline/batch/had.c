#include "pipeline/batch/had.h"

/* What it did not have after all. */
static void lower(struct had *had, uint64_t number)
{
    while (had->count && had_number(had) > number) {
        struct had_step *last = &had->steps[had->count - 1];
        uint64_t before = had->count > 1 ? last[-1].number : 0;
        if (before < number) {
            last->number = number;
        } else {
            had->count--;
        }
    }
}

void had_set(struct had *had, uint64_t number, uint64_t behind)
{
    lower(had, number);
    if (number <= had_number(had)) {
        return;
    }
    /* Batches after the new one's are its alone. */
    while (had->count && had->steps[had->count - 1].behind >= behind) {
        had->count--;
    }
    had->count -= had->count == HAD_STEPS;
    had->steps[had->count++] = (struct had_step){.number = number, .behind = behind};
}

bool had_covers(const struct had *had, uint64_t batch, uint64_t number)
{
    for (size_t i = 0; i < had->count; i++) {
        if (batch > had->steps[i].behind && number <= had->steps[i].number) {
            return true;
        }
    }
    return false;
}
