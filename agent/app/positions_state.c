#include "app/positions_state.h"

#include <stdlib.h>

/* Sessions and outputs, of which there are a handful, are searched one by one; files have a map. Its
 * keys lie in the list of files, so both are made anew when the list moves: rarely, as it doubles, and
 * an eighth of a full one is forgotten at once. */
enum { FORGOTTEN = POSITIONS_MAX_DONE / 8, FIRST_DONE = 8 };

static void blob_fini(struct state_blob *blob)
{
    free(blob->name);
    buf_fini(&blob->bytes);
}

void state_fini(struct state *state)
{
    for (size_t i = 0; i < state->output_count; i++) {
        blob_fini(&state->outputs[i]);
    }
    for (size_t i = 0; i < state->session_count; i++) {
        blob_fini(&state->sessions[i].source);
        free(state->sessions[i].at);
        free(state->sessions[i].done);
        map_fini(&state->sessions[i].done_by_id);
    }
    free(state->outputs);
    free(state->sessions);
    *state = (struct state){.outputs = NULL};
}

static bool blob_init(struct state_blob *blob, struct span name)
{
    blob->name = malloc(name.size + 1);
    if (blob->name) {
        memcpy(blob->name, name.data, name.size);
        blob->name[name.size] = '\0';
    }
    buf_init(&blob->bytes, POSITIONS_MAX_BLOB_BYTES);
    return blob->name != NULL;
}

/* Room for one more element of ${size} bytes in the array at ${items}. */
static bool grow(void **items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return true;
    }
    size_t more = *capacity ? *capacity * 2 : 8;
    void *grown = realloc(*items, more * size);
    if (!grown) {
        return false;
    }
    *items = grown;
    *capacity = more;
    return true;
}

const struct state_session *state_find_session(const struct state *state, struct span name)
{
    for (size_t i = 0; i < state->session_count; i++) {
        if (span_is(name, state->sessions[i].source.name)) {
            return &state->sessions[i];
        }
    }
    return NULL;
}

const struct state_blob *state_find_output(const struct state *state, struct span name)
{
    for (size_t i = 0; i < state->output_count; i++) {
        if (span_is(name, state->outputs[i].name)) {
            return &state->outputs[i];
        }
    }
    return NULL;
}

struct state_at *state_find_at(const struct state_session *session, size_t output)
{
    for (size_t i = 0; i < session->at_count; i++) {
        if (session->at[i].output == output) {
            return &session->at[i];
        }
    }
    return NULL;
}

const struct state_done *state_find_done(
    const struct state_session *session, const uint8_t file_id[16])
{
    return map_get(&session->done_by_id, span_make(file_id, sizeof(session->done->file_id)));
}

struct state_session *state_session(struct state *state, struct span name)
{
    const struct state_session *known = state_find_session(state, name);
    if (known) {
        return &state->sessions[known - state->sessions];
    }
    void *items = state->sessions;
    if (!grow(&items, state->session_count, &state->session_capacity, sizeof(*state->sessions))) {
        return NULL;
    }
    state->sessions = items;
    struct state_session *session = &state->sessions[state->session_count];
    *session = (struct state_session){.at = NULL};
    map_init(&session->done_by_id, POSITIONS_MAX_DONE);
    if (!blob_init(&session->source, name)) {
        return NULL;
    }
    state->session_count++;
    return session;
}

struct state_blob *state_output(struct state *state, struct span name)
{
    const struct state_blob *known = state_find_output(state, name);
    if (known) {
        return &state->outputs[known - state->outputs];
    }
    void *items = state->outputs;
    if (!grow(&items, state->output_count, &state->output_capacity, sizeof(*state->outputs))) {
        return NULL;
    }
    state->outputs = items;
    struct state_blob *output = &state->outputs[state->output_count];
    if (!blob_init(output, name)) {
        return NULL;
    }
    state->output_count++;
    return output;
}

struct state_at *state_at(struct state_session *session, size_t output)
{
    struct state_at *known = state_find_at(session, output);
    if (known) {
        return known;
    }
    void *items = session->at;
    if (!grow(&items, session->at_count, &session->at_capacity, sizeof(*session->at))) {
        return NULL;
    }
    session->at = items;
    struct state_at *at = &session->at[session->at_count++];
    *at = (struct state_at){.output = output};
    return at;
}

static bool put_done(struct map *map, struct state_done *done)
{
    return map_put(map, span_make(done->file_id, sizeof(done->file_id)), done);
}

/* Make list and map anew without the first ${skipped} files, with room for ${capacity}. False without
 * memory: both stay as they are. */
static bool move_done(struct state_session *session, size_t skipped, size_t capacity)
{
    size_t count = session->done_count - skipped;
    struct state_done *list = malloc(capacity * sizeof(*list));
    struct map map;
    map_init(&map, POSITIONS_MAX_DONE);
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        list[i] = session->done[skipped + i];
        ok = put_done(&map, &list[i]);
    }
    if (!ok) {
        free(list);
        map_fini(&map);
        return false;
    }
    free(session->done);
    map_fini(&session->done_by_id);
    session->done = list;
    session->done_count = count;
    session->done_capacity = capacity;
    session->done_by_id = map;
    return true;
}

bool state_add_done(struct state_session *session, const struct state_done *done)
{
    size_t capacity = session->done_capacity;
    bool ok = true;
    if (session->done_count == POSITIONS_MAX_DONE) {
        ok = move_done(session, FORGOTTEN, capacity);
    } else if (session->done_count == capacity) {
        ok = move_done(session, 0, capacity ? capacity * 2 : FIRST_DONE);
    }
    struct state_done *place = ok ? &session->done[session->done_count] : NULL;
    if (place) {
        *place = *done;
        ok = put_done(&session->done_by_id, place);
        session->done_count += ok;
    }
    return ok;
}

bool state_set_blob(struct state_blob *blob, struct span bytes)
{
    if (bytes.size > blob->bytes.size &&
        !buf_reserve(&blob->bytes, bytes.size - blob->bytes.size)) {
        blob->bytes.failed = false; /* a refused value is no lasting state */
        return false;
    }
    buf_reset(&blob->bytes);
    buf_add_span(&blob->bytes, bytes);
    return true;
}
