#include "support/bulk_fake.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_thread.h"

enum { MAX_STORE = 1 << 26, MAX_REPLY = 1 << 22, MAX_ID = 128 };

struct bulk_fake {
    struct http_fake *http;
    struct plat_mutex lock; /* of everything below */
    struct bulk_step *steps;
    size_t step_count;
    size_t step_at;
    struct bulk_step always;
    size_t max_bytes;
    bool breaks;
    const char *minded;
    struct buf documents;
    struct buf ids; /* MAX_ID bytes each */
    struct buf reply;
};

/* The value of ${key} in the action line, or an empty one; ids hold no escapes. */
static struct span member(struct span line, const char *key)
{
    char text[64];
    snprintf(text, sizeof(text), "\"%s\":\"", key);
    for (size_t i = 0; i + strlen(text) <= line.size; i++) {
        if (memcmp(line.data + i, text, strlen(text)) == 0) {
            struct span value = span_from(line, i + strlen(text));
            const uint8_t *end = value.size ? memchr(value.data, '"', value.size) : NULL;
            return span_first(value, end ? (size_t)(end - value.data) : 0);
        }
    }
    return span_make(line.data, 0);
}

static bool is_known(struct bulk_fake *fake, struct span id)
{
    char padded[MAX_ID] = {0};
    if (id.size == 0 || id.size >= MAX_ID) {
        return false;
    }
    memcpy(padded, id.data, id.size);
    for (size_t i = 0; i < fake->ids.size; i += MAX_ID) {
        if (memcmp(fake->ids.data + i, padded, MAX_ID) == 0) {
            return true;
        }
    }
    buf_add(&fake->ids, padded, MAX_ID);
    return false;
}

static struct span next_line(struct span *rest)
{
    const uint8_t *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    struct span line = span_first(*rest, end ? (size_t)(end - rest->data) + 1 : 0);
    *rest = span_from(*rest, line.size);
    return line;
}

static void add_item(struct bulk_fake *fake, const struct bulk_step *step, int place,
    struct span action, struct span document)
{
    bool refused = place >= step->item_first && place - step->item_first < step->item_count;
    struct span index = member(action, "_index");
    int status = refused ? step->item_status : 201;
    if (!refused && is_known(fake, member(action, "_id"))) {
        status = 409;
    } else if (!refused) {
        buf_add_span(&fake->documents, document);
    }
    buf_printf(&fake->reply, "%s{\"create\":{\"_index\":\"%.*s\",\"status\":%d", place ? "," : "",
        SPAN_ARG(index), status);
    if (status >= 300) {
        buf_printf(&fake->reply, ",\"error\":{\"type\":\"%s\",\"reason\":\"because of %d\"}",
            step->item_type && refused ? step->item_type : "some_exception", place);
    }
    buf_add_text(&fake->reply, "}}");
}

/* False: this is no bulk request. */
static bool store(struct bulk_fake *fake, const struct bulk_step *step, struct span body)
{
    buf_reset(&fake->reply);
    buf_add_text(&fake->reply, "{\"errors\":true,\"items\":[");
    for (int place = 0; body.size; place++) {
        struct span action = next_line(&body);
        struct span document = next_line(&body);
        if (action.size == 0 || document.size == 0 || action.data[0] != '{') {
            return false;
        }
        add_item(fake, step, place, action, document);
    }
    buf_add_text(&fake->reply, "]}");
    buf_add_byte(&fake->reply, 0);
    return true;
}

static void answer(
    void *self, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    struct bulk_fake *fake = self;
    plat_mutex_lock(&fake->lock);
    struct bulk_step step = fake->step_at < fake->step_count ? fake->steps[fake->step_at++]
                                                             : fake->always;
    const char *body = (const char *)request->body.data;
    bool too_large = fake->max_bytes && request->body.size > fake->max_bytes;
    bool minded = fake->minded && strstr(body, fake->minded);
    if (!step.status && !step.lost && (too_large || minded)) {
        step.lost = too_large && fake->breaks;
        step.status = too_large ? 413 : 400;
        step.body = too_large ? NULL : "{\"error\":{\"type\":\"minded\",\"reason\":\"why\"}}";
    }
    bool looks = step.obeyed || (!step.status && !step.lost);
    if (looks && !store(fake, &step, request->body)) {
        step.status = 400;
    }
    ret_reply->status = step.lost ? 0 : step.status ? step.status : 200;
    ret_reply->headers = step.headers;
    ret_reply->cut = step.cut;
    ret_reply->body = step.status ? step.body : (const char *)fake->reply.data;
    ret_reply->body = step.raw ? step.raw : ret_reply->body;
    plat_mutex_unlock(&fake->lock);
}

struct bulk_fake *bulk_fake_start(void)
{
    struct bulk_fake *fake = calloc(1, sizeof(*fake));
    if (!fake) {
        abort();
    }
    plat_mutex_init(&fake->lock);
    buf_init(&fake->documents, MAX_STORE);
    buf_init(&fake->ids, MAX_STORE);
    buf_init(&fake->reply, MAX_REPLY);
    fake->http = http_fake_start();
    http_fake_handle(fake->http, answer, fake);
    return fake;
}

void bulk_fake_stop(struct bulk_fake *fake)
{
    if (fake) {
        http_fake_stop(fake->http);
        buf_fini(&fake->documents);
        buf_fini(&fake->ids);
        buf_fini(&fake->reply);
        plat_mutex_fini(&fake->lock);
        free(fake->steps);
        free(fake);
    }
}

const char *bulk_fake_url(const struct bulk_fake *fake)
{
    return http_fake_url(fake->http);
}

void bulk_fake_script(struct bulk_fake *fake, const struct bulk_step *steps, size_t count)
{
    struct bulk_step *copy = calloc(count + 1, sizeof(*copy));
    if (!copy) {
        abort();
    }
    if (count) {
        memcpy(copy, steps, count * sizeof(*copy));
    }
    plat_mutex_lock(&fake->lock);
    free(fake->steps);
    fake->steps = copy;
    fake->step_count = count;
    fake->step_at = 0;
    plat_mutex_unlock(&fake->lock);
}

void bulk_fake_always(struct bulk_fake *fake, const struct bulk_step *step)
{
    plat_mutex_lock(&fake->lock);
    fake->always = step ? *step : (struct bulk_step){.status = 0};
    plat_mutex_unlock(&fake->lock);
}

void bulk_fake_limit(struct bulk_fake *fake, size_t max_bytes, bool breaks)
{
    plat_mutex_lock(&fake->lock);
    fake->breaks = breaks;
    fake->max_bytes = max_bytes;
    plat_mutex_unlock(&fake->lock);
}

void bulk_fake_mind(struct bulk_fake *fake, const char *text)
{
    plat_mutex_lock(&fake->lock);
    fake->minded = text;
    plat_mutex_unlock(&fake->lock);
}

char *bulk_fake_documents(struct bulk_fake *fake, bool forget)
{
    plat_mutex_lock(&fake->lock);
    char *text = calloc(1, fake->documents.size + 1);
    if (!text) {
        abort();
    }
    if (fake->documents.size) {
        memcpy(text, fake->documents.data, fake->documents.size);
    }
    if (forget) {
        buf_reset(&fake->documents);
        buf_reset(&fake->ids);
    }
    plat_mutex_unlock(&fake->lock);
    return text;
}

size_t bulk_fake_count(struct bulk_fake *fake)
{
    return http_fake_count(fake->http);
}

const struct http_fake_request *bulk_fake_request(struct bulk_fake *fake, size_t index)
{
    return http_fake_request(fake->http, index);
}
