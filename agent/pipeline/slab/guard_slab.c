#include "pipeline/slab/guard_slab.h"

enum { TEXTS = 5 };

static void list_texts(struct guard_report *report, struct span *ret_texts[TEXTS])
{
    ret_texts[0] = &report->session;
    ret_texts[1] = &report->provider;
    ret_texts[2] = &report->detail;
    ret_texts[3] = &report->by_image;
    ret_texts[4] = &report->by_user;
}

struct slab *guard_slab_create(uint32_t session, const struct guard_report *report)
{
    struct guard_report copy = *report;
    struct span *texts[TEXTS];
    size_t size = 0;
    list_texts(&copy, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        size += texts[i]->size;
    }
    struct slab *slab = slab_create(SLAB_GUARD, session, size, NULL);
    if (!slab) {
        return NULL;
    }
    uint8_t *at = (uint8_t *)slab->memory;
    for (size_t i = 0; i < TEXTS; i++) {
        if (texts[i]->size) {
            memcpy(at, texts[i]->data, texts[i]->size);
        }
        texts[i]->data = at;
        at += texts[i]->size;
    }
    slab->guard = copy;
    slab->now = report->time;
    return slab;
}
