#include "schema/wpp/tmf.h"

/* Texts of a message follow it in one allocation. Messages of a file share their module and mostly
 * their function. */
struct copy {
    struct tmf_message message;
    struct tmf_argument arguments[];
};

enum { TEXTS = 7 };

static void list_texts(struct tmf_message *message, struct span *ret_texts[TEXTS])
{
    struct span *const texts[TEXTS] = {&message->module, &message->source, &message->name,
        &message->format, &message->level, &message->flags, &message->function};
    memcpy(ret_texts, texts, sizeof(texts));
}

static struct span put(uint8_t **at, struct span text)
{
    struct span kept = span_make(*at, text.size);
    if (text.size) {
        memcpy(*at, text.data, text.size);
    }
    *at += text.size;
    return kept;
}

static void put_argument(uint8_t **at, const struct tmf_argument *argument, struct tmf_argument *to)
{
    *to = *argument;
    to->expression = put(at, argument->expression);
    to->type = put(at, argument->type);
    to->values = put(at, argument->values);
    if (argument->names.data) { /* the names are part of the type */
        to->names.data = to->type.data + (argument->names.data - argument->type.data);
    }
}

const struct tmf_message *tmf_message_copy(
    const struct tmf_message *message, const struct tmf_message *last, struct arena *arena)
{
    struct tmf_message kept = *message;
    struct tmf_message before = last ? *last : (struct tmf_message){0};
    struct span *texts[TEXTS];
    struct span *others[TEXTS];
    bool shared[TEXTS];
    size_t count = message->argument_count;
    size_t size = sizeof(struct copy) + count * sizeof(struct tmf_argument);
    list_texts(&kept, texts);
    list_texts(&before, others);
    for (size_t i = 0; i < TEXTS; i++) {
        shared[i] = span_equal(*texts[i], *others[i]);
        size += shared[i] ? 0 : texts[i]->size;
    }
    for (size_t i = 0; i < count; i++) {
        const struct tmf_argument *argument = &message->arguments[i];
        size += argument->expression.size + argument->type.size + argument->values.size;
    }
    struct copy *copy = arena_alloc(arena, size);
    if (!copy) {
        return NULL;
    }
    uint8_t *at = (uint8_t *)(copy->arguments + count);
    for (size_t i = 0; i < TEXTS; i++) {
        *texts[i] = shared[i] ? *others[i] : put(&at, *texts[i]);
    }
    for (size_t i = 0; i < count; i++) {
        put_argument(&at, &message->arguments[i], &copy->arguments[i]);
    }
    copy->message = kept;
    copy->message.arguments = copy->arguments;
    return &copy->message;
}
