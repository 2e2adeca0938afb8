#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "app/positions_state.h"
#include "base/put.h"

/*
 * The state as text (positions_state.h) and back. The checksum finds damage by accident; a text
 * made to deceive can say what it likes, but its sizes are bounded by the text's own.
 */
static const char first_line[] = "etwship-state 1\n";

enum { END_LINE_BYTES = 4 + 16 + 1, MAX_NAME_BYTES = 1024 };

/* ---- writing --------------------------------------------------------------------------------------- */

static bool is_plain(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

static void put_name(struct buf *out, const char *name)
{
    for (const char *c = name; *c; c++) {
        if (is_plain((uint8_t)*c)) {
            buf_add_byte(out, (uint8_t)*c);
        } else {
            buf_printf(out, "%%%02X", (uint8_t)*c);
        }
    }
}

static void put_bytes(struct buf *out, struct span bytes)
{
    if (buf_reserve(out, bytes.size * 2)) {
        put_hex_bytes(out->data + out->size, bytes);
        out->size += bytes.size * 2;
    }
}

static void put_blob(struct buf *out, const char *what, const struct state_blob *blob)
{
    buf_add_text(out, what);
    put_name(out, blob->name);
    buf_add_byte(out, ' ');
    if (blob->bytes.size) {
        put_bytes(out, buf_span(&blob->bytes));
    } else {
        buf_add_byte(out, '-');
    }
    buf_add_byte(out, '\n');
}

static void put_session(
    struct buf *out, const struct state *state, const struct state_session *session)
{
    put_blob(out, "session ", &session->source);
    for (size_t i = 0; i < session->done_count; i++) {
        buf_add_text(out, "done ");
        put_bytes(out, span_make(session->done[i].file_id, sizeof(session->done[i].file_id)));
        buf_printf(out, " %" PRIu64 "\n", session->done[i].sequence);
    }
    for (size_t i = 0; i < session->at_count; i++) {
        const struct position *p = &session->at[i].position;
        buf_add_text(out, "at ");
        put_name(out, state->outputs[session->at[i].output].name);
        buf_printf(out, " %" PRIu64 " ", p->sequence);
        put_bytes(out, span_make(p->record.file_id, sizeof(p->record.file_id)));
        buf_printf(
            out, " %" PRIu64 " %" PRIu32 "\n", p->record.buffer_offset, p->record.record_offset);
    }
}

void state_write(const struct state *state, struct buf *out)
{
    size_t start = out->size;
    buf_add_text(out, first_line);
    for (size_t i = 0; i < state->output_count; i++) {
        put_blob(out, "output ", &state->outputs[i]);
    }
    for (size_t i = 0; i < state->session_count; i++) {
        put_session(out, state, &state->sessions[i]);
    }
    if (!out->failed) {
        buf_printf(out, "end %016" PRIx64 "\n", XXH3_64bits(out->data + start, out->size - start));
    }
}

/* ---- reading --------------------------------------------------------------------------------------- */

struct state_reader {
    struct span left;
    struct span line; /* what is left of it */
    bool ends_in_space;
    size_t line_number;
    struct state state;
    size_t session;  /* index, valid once there is one */
    struct buf blob; /* for one hex text */
    const char *problem;
    bool out_of_memory;
};

static bool complain(struct state_reader *r, const char *problem)
{
    r->problem = problem;
    return false;
}

static bool no_memory(struct state_reader *r)
{
    r->out_of_memory = true;
    return false;
}

static bool next_line(struct state_reader *r)
{
    const uint8_t *end = r->left.size ? memchr(r->left.data, '\n', r->left.size) : NULL;
    if (!end) {
        return false;
    }
    r->line = span_make(r->left.data, (size_t)(end - r->left.data));
    r->left = span_from(r->left, r->line.size + 1);
    r->line_number++;
    return true;
}

/* The text up to the next space or the end of the line; empty where there is none. */
static struct span next_token(struct state_reader *r)
{
    size_t size = 0;
    while (size < r->line.size && r->line.data[size] != ' ') {
        size++;
    }
    struct span token = span_first(r->line, size);
    r->ends_in_space = size + 1 == r->line.size;
    r->line = span_from(r->line, size + 1);
    return token;
}

static int digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(struct span text, uint8_t *out)
{
    for (size_t i = 0; i + 2 <= text.size; i += 2) {
        int high = digit(text.data[i]);
        int low = digit(text.data[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i / 2] = (uint8_t)(high << 4 | low);
    }
    return text.size % 2 == 0;
}

static bool read_number(struct state_reader *r, uint64_t max, uint64_t *ret_value)
{
    struct span text = next_token(r);
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned d = (unsigned)text.data[i] - '0';
        if (d > 9 || value > (max - d) / 10) {
            return complain(r, "a number is wrong");
        }
        value = value * 10 + d;
    }
    *ret_value = value;
    return (text.size && (text.size == 1 || text.data[0] != '0')) ||
           complain(r, "a number is wrong");
}

/* Into ${name}, of MAX_NAME_BYTES. */
static bool read_name(struct state_reader *r, uint8_t *name, struct span *ret_name)
{
    struct span text = next_token(r);
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c == '%' && text.size - i > 2) {
            static const char digits[] = "0123456789ABCDEF";
            const char *high = memchr(digits, text.data[i + 1], 16);
            const char *low = memchr(digits, text.data[i + 2], 16);
            c = high && low ? (uint8_t)((high - digits) << 4 | (low - digits)) : 0;
            if (c == 0 || is_plain(c)) {
                return complain(r, "a name is wrong");
            }
            i += 2;
        } else if (!is_plain(c)) {
            return complain(r, "a name is wrong");
        }
        if (size == MAX_NAME_BYTES) {
            return complain(r, "a name is too long");
        }
        name[size++] = c;
    }
    *ret_name = span_make(name, size);
    return size || complain(r, "a name is missing");
}

static bool read_blob(struct state_reader *r, struct state_blob *blob)
{
    struct span text = next_token(r);
    if (span_is(text, "-")) {
        return true;
    }
    buf_reset(&r->blob);
    if (text.size == 0 || text.size / 2 > POSITIONS_MAX_BLOB_BYTES) {
        return complain(r, "bytes are missing or too many");
    }
    if (!buf_reserve(&r->blob, text.size / 2)) {
        return no_memory(r);
    }
    if (!parse_hex(text, r->blob.data)) {
        return complain(r, "bytes are no hex");
    }
    return state_set_blob(blob, span_make(r->blob.data, text.size / 2)) || no_memory(r);
}

static bool read_id(struct state_reader *r, uint8_t *id)
{
    struct span text = next_token(r);
    return (text.size == 32 && parse_hex(text, id)) || complain(r, "a file's identity is wrong");
}

static bool read_output(struct state_reader *r)
{
    uint8_t bytes[MAX_NAME_BYTES];
    struct span name;
    if (!read_name(r, bytes, &name)) {
        return false;
    }
    if (state_find_output(&r->state, name)) {
        return complain(r, "an output stands there twice");
    }
    struct state_blob *output = state_output(&r->state, name);
    return output ? read_blob(r, output) : no_memory(r);
}

static bool read_session(struct state_reader *r)
{
    uint8_t bytes[MAX_NAME_BYTES];
    struct span name;
    if (!read_name(r, bytes, &name)) {
        return false;
    }
    if (state_find_session(&r->state, name)) {
        return complain(r, "a session stands there twice");
    }
    struct state_session *session = state_session(&r->state, name);
    if (!session) {
        return no_memory(r);
    }
    r->session = r->state.session_count - 1;
    return read_blob(r, &session->source);
}

static bool read_at(struct state_reader *r, struct state_session *session)
{
    uint8_t bytes[MAX_NAME_BYTES];
    struct span name;
    if (!read_name(r, bytes, &name)) {
        return false;
    }
    const struct state_blob *output = state_find_output(&r->state, name);
    if (!output) {
        return complain(r, "an output is not listed");
    }
    size_t index = (size_t)(output - r->state.outputs);
    if (state_find_at(session, index)) {
        return complain(r, "an output stands there twice");
    }
    struct position p;
    uint64_t record_offset;
    if (!read_number(r, UINT64_MAX, &p.sequence) || !read_id(r, p.record.file_id) ||
        !read_number(r, UINT64_MAX, &p.record.buffer_offset) ||
        !read_number(r, UINT32_MAX, &record_offset)) {
        return false;
    }
    p.record.record_offset = (uint32_t)record_offset;
    struct state_at *at = state_at(session, index);
    if (!at) {
        return no_memory(r);
    }
    at->position = p;
    return true;
}

static bool read_done(struct state_reader *r, struct state_session *session)
{
    struct state_done done;
    if (!read_id(r, done.file_id) || !read_number(r, UINT64_MAX, &done.sequence)) {
        return false;
    }
    if (session->done_count == POSITIONS_MAX_DONE) {
        return complain(r, "too many files");
    }
    return state_add_done(session, &done) || no_memory(r);
}

static bool read_line(struct state_reader *r)
{
    struct span word = next_token(r);
    bool good;
    if (span_is(word, "output")) {
        good = read_output(r);
    } else if (span_is(word, "session")) {
        good = read_session(r);
    } else if (r->state.session_count == 0) {
        good = complain(r, "a word is wrong");
    } else if (span_is(word, "done")) {
        good = read_done(r, &r->state.sessions[r->session]);
    } else if (span_is(word, "at")) {
        good = read_at(r, &r->state.sessions[r->session]);
    } else {
        good = complain(r, "a word is wrong");
    }
    return good && ((r->line.size == 0 && !r->ends_in_space) || complain(r, "a line is too long"));
}

/* The lines between the first and the last. The frame is the same in all versions. */
static bool check_frame(struct span text, struct span *ret_lines, struct error *err)
{
    struct span head = span_text(first_line);
    if (text.size < head.size + END_LINE_BYTES ||
        !span_equal(span_first(text, head.size - 2), span_first(head, head.size - 2))) {
        return error_set(err, ERR_FORMAT, "it is cut short, or no state file");
    }
    size_t covered = text.size - END_LINE_BYTES;
    char end[END_LINE_BYTES + 1];
    snprintf(end, sizeof(end), "end %016" PRIx64 "\n", XXH3_64bits(text.data, covered));
    if (!span_is(span_from(text, covered), end)) {
        return error_set(err, ERR_FORMAT, "its checksum does not fit");
    }
    if (!span_equal(span_first(text, head.size), head)) {
        return error_set(err, ERR_UNSUPPORTED, "written by another version of etwship");
    }
    *ret_lines = span_make(text.data + head.size, covered - head.size);
    return true;
}

bool state_read(struct span text, struct state *ret_state, struct error *err)
{
    struct state_reader r = {.line_number = 1};
    if (!check_frame(text, &r.left, err)) {
        return false;
    }
    buf_init(&r.blob, POSITIONS_MAX_BLOB_BYTES);
    bool good = true;
    while (good && r.left.size) {
        good = next_line(&r) ? read_line(&r) : complain(&r, "a line has no end");
    }
    buf_fini(&r.blob);
    if (good) {
        *ret_state = r.state;
        return true;
    }
    state_fini(&r.state);
    return r.out_of_memory ? error_set(err, ERR_MEMORY, "out of memory")
                           : error_set(err, ERR_FORMAT, "line %zu: %s", r.line_number, r.problem);
}
