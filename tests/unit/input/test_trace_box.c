#include "support/test.h"

#include <stdio.h>

#include "base/arena.h"
#include "input/etl/etl_file.h"
#include "input/file/trace_box.h"
#include "support/packed_put.h"
#include "support/temp_folder.h"
#include "unit/input/trace_bytes.h"

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];
static struct trace_scratch scratch;
static struct buf told;
static struct arena arena;
static unsigned stop_after;
static unsigned asked;

static int make_folder(void **state)
{
    (void)state;
    int result = temp_folder_make(folder, "trace-box");
    snprintf(path, sizeof(path), "%s/x", folder);
    return result;
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static int setup(void **state)
{
    (void)state;
    buf_init(&told, 1 << 16);
    arena_init(&arena, 1 << 22);
    stop_after = 0;
    asked = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&told);
    arena_fini(&arena);
    trace_scratch_fini(&scratch);
    return 0;
}

static void on_damage(void *self, const char *name, uint64_t offset, const char *what)
{
    (void)self;
    assert_memory_equal(name, path, strlen(path));
    buf_printf(
        &told, "%s!%u %s;", name + strlen(path), (unsigned)offset, strstr(what, ": ") ? "in" : "?");
}

static bool on_stopped(void *self)
{
    (void)self;
    return stop_after && ++asked >= stop_after;
}

static const struct trace_box_env env = {
    .scratch = &scratch, .stopped = on_stopped, .damage = on_damage};

static void write_file(struct span bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    assert_int_equal(fclose(f), 0);
}

static struct trace_box *open_box(struct span bytes)
{
    struct error err;
    struct trace_box *box;
    write_file(bytes);
    if (!trace_box_open(path, &env, &box, &err)) {
        fail_msg("%s", err.text);
    }
    assert_non_null(box);
    return box;
}

static void assert_no_box(struct span bytes, enum error_code code, const char *words)
{
    struct error err = {.code = ERR_NONE};
    struct trace_box *box;
    write_file(bytes);
    assert_false(trace_box_open(path, &env, &box, &err));
    assert_null(box);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, words)) {
        fail_msg("%s", err.text);
    }
}

static bool has_archives(void)
{
    return packed_archive_version() != NULL;
}

static struct span bytes_of(const struct trace *t)
{
    return span_make(t->bytes, t->size);
}

static void make_trace(struct trace *t, struct trace_options options, uint16_t id)
{
    t->size = 0;
    trace_header(t, options);
    for (uint16_t i = 0; i < 20; i++) {
        trace_buffer(t, i % 2, i + 1u, 2000 + 10 * i, 1, (uint16_t)(id + 3 * i), 3);
    }
}

/* Two packed files of one trace: its identity, and its bytes, are those of the file. */
static void check_identity(struct span trace)
{
    struct buf packed;
    struct etl_file *plain = etl_file_open_memory(trace, "plain", &arena, NULL);
    assert_non_null(plain);
    buf_init(&packed, 1 << 26);
    for (int kind = 0; kind < (has_archives() ? 4 : 2); kind++) {
        const struct packed_put_member members[] = {
            {"other.etl", span_text("no trace"), 0, 0}, {"a.etl", trace, 0, 0}};
        static uint8_t back[1 << 20];
        size_t got;
        buf_reset(&packed);
        if (kind < 2) {
            (kind ? packed_put_zstd : packed_put_gzip)(&packed, trace);
        } else {
            (kind == 2 ? packed_put_zip : packed_put_cab)(&packed, members, 2);
        }
        struct trace_box *box = open_box(buf_span(&packed));
        size_t index = kind < 2 ? 0 : 1;
        assert_int_equal(box->count, index + 1);
        assert_true(trace_box_identify(box, NULL));
        assert_int_equal(scratch.size, 0);
        assert_true(box->traces[index].has_id);
        assert_memory_equal(box->traces[index].id, plain->id, sizeof(plain->id));
        assert_true(trace_box_load(box, NULL));
        struct etl_file *file = trace_box_trace(box, index, NULL, &arena, NULL);
        assert_non_null(file);
        assert_memory_equal(file->id, plain->id, sizeof(plain->id));
        assert_int_equal(file->bytes.size, trace.size);
        assert_true(trace.size <= sizeof(back));
        assert_true(etl_bytes_read(&file->bytes, 0, back, sizeof(back), &got, NULL));
        assert_int_equal(got, trace.size);
        assert_memory_equal(back, trace.data, got);
        etl_file_destroy(file);
        trace_box_destroy(box);
        trace_scratch_cut(&scratch, 0);
    }
    assert_int_equal(told.size, 0);
    etl_file_destroy(plain);
    buf_fini(&packed);
}

static void a_packed_trace_has_the_identity_of_the_trace(void **state)
{
    (void)state;
    static struct trace t;
    make_trace(&t, (struct trace_options){.open = false}, 1);
    check_identity(bytes_of(&t));
    make_trace(&t, (struct trace_options){.mode = 2}, 1); /* circular */
    check_identity(bytes_of(&t));
    t.size = TRACE_BUFFER_BYTES; /* the header alone */
    check_identity(bytes_of(&t));
    t.size += 100; /* and a part of the next buffer */
    check_identity(bytes_of(&t));
}

static void names_are_shown_and_differ(void **state)
{
    (void)state;
    static struct trace t;
    if (!has_archives()) {
        skip();
    }
    make_trace(&t, (struct trace_options){.open = false}, 1);
    const struct packed_put_member members[] = {
        {"x.txt", span_text("no trace"), 0, 0},
        {"../a\n\xff.etl", bytes_of(&t), 0, 0},
        {"../a\n\xff.etl", bytes_of(&t), 0, 0},
        {"\xc3\xbc\xc2\x85.ETL", bytes_of(&t), 0x800, 0},
        {"b.etl.gz", span_text("packed again"), 0, 0},
    };
#ifdef _WIN32 /* libarchive takes a name that is not UTF-8 for text in the system's code page */
#define ODD_BYTE "\xc3\xbf"
#else
#define ODD_BYTE "\\xff"
#endif
    static const char *const names[] = {"/../a\\x0a" ODD_BYTE ".etl",
        "/../a\\x0a" ODD_BYTE ".etl#2", "/\xc3\xbc\\xc2\\x85.ETL", "/b.etl.gz"};
    struct buf packed;
    buf_init(&packed, 1 << 20);
    packed_put_zip(&packed, members, 5);
    struct trace_box *box = open_box(buf_span(&packed));
    assert_int_equal(box->count, 4);
    assert_true(trace_box_load(box, NULL));
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(box->traces[i].name + strlen(path), names[i]);
        struct error err;
        struct etl_file *file = trace_box_trace(box, i, NULL, &arena, &err);
        assert_int_equal(file != NULL, i < 3);
        assert_true(file || strstr(err.text, "is a packed file inside an archive"));
        etl_file_destroy(file);
    }
    trace_box_destroy(box);
    buf_fini(&packed);
}

static void damage_is_told_once_however_often_it_is_unpacked(void **state)
{
    (void)state;
    static struct trace t;
    struct buf packed;
    char expected[64];
    make_trace(&t, (struct trace_options){.open = false}, 1);
    buf_init(&packed, 1 << 20);
    packed_put_gzip(&packed, bytes_of(&t));
    packed.size -= 3000;
    struct trace_box *box = open_box(buf_span(&packed));
    assert_true(trace_box_identify(box, NULL));
    assert_true(box->traces[0].has_id);
    assert_int_equal(told.size, 0);
    snprintf(expected, sizeof(expected), "!%zu in;", packed.size);
    for (int i = 0; i < 2; i++) {
        assert_true(trace_box_load(box, NULL));
        assert_span(buf_span(&told), expected);
        assert_in_range(box->traces[0].part.size, t.size - 3000, t.size - 2900);
        trace_box_unload(box);
        trace_scratch_cut(&scratch, 0);
    }
    trace_box_destroy(box);
    buf_fini(&packed);
}

static void an_archive_that_changes_is_refused(void **state)
{
    (void)state;
    static struct trace t;
    struct error err;
    struct buf packed;
    if (!has_archives()) {
        skip();
    }
    make_trace(&t, (struct trace_options){.open = false}, 1);
    const struct packed_put_member members[] = {{"a.etl", bytes_of(&t), 0, 0},
        {"b.etl", bytes_of(&t), 0, 0}, {"c.etl", bytes_of(&t), 0, 0}};
    buf_init(&packed, 1 << 20);
    packed_put_zip(&packed, members, 2);
    struct trace_box *box = open_box(buf_span(&packed));
    buf_reset(&packed);
    packed_put_zip(&packed, members + 1, 2);
    write_file(buf_span(&packed));
    assert_true(trace_box_load(box, NULL));
    for (size_t i = 0; i < 2; i++) {
        assert_null(trace_box_trace(box, i, NULL, &arena, &err));
        assert_non_null(strstr(err.text, "changed while it was read"));
    }
    trace_box_destroy(box);
    buf_reset(&packed);
    packed_put_zip(&packed, members, 2);
    box = open_box(buf_span(&packed));
    assert_int_equal(remove(path), 0);
    assert_true(trace_box_load(box, NULL));
    assert_null(trace_box_trace(box, 1, NULL, &arena, &err));
    trace_box_destroy(box);
    buf_fini(&packed);
}

static void what_is_no_box_is_said(void **state)
{
    (void)state;
    static struct trace t;
    struct trace_box *box;
    struct buf packed;
    make_trace(&t, (struct trace_options){.open = false}, 1);
    write_file(bytes_of(&t));
    assert_true(trace_box_open(path, &env, &box, NULL));
    assert_null(box);
    assert_int_equal(remove(path), 0);
    assert_true(trace_box_open(path, &env, &box, NULL));
    assert_null(box);
    assert_no_box(
        span_text("BZh91AY"), ERR_UNSUPPORTED, "is packed with bzip2, which is not supported");
    buf_init(&packed, 1 << 20);
    const struct packed_put_member other = {"a.txt", span_text("x"), 0, 0};
    packed_put_zip(&packed, &other, 1);
    if (has_archives()) {
        assert_no_box(buf_span(&packed), ERR_FORMAT,
            "holds no file whose name ends in .etl or .evtx (number of files: 1)");
        stop_after = 1;
        assert_no_box(buf_span(&packed), ERR_STOPPED, "stopped");
    } else {
        assert_no_box(buf_span(&packed), ERR_UNSUPPORTED, "built without libarchive");
    }
    buf_fini(&packed);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct packed_limits limits = packed_limits;
    struct trace_box_env small = env;
    struct trace_box *box;
    struct error err;
    struct buf packed;
    buf_init(&packed, 1 << 20);
    packed_put_zstd_run(&packed, 7, 1 << 22);
    write_file(buf_span(&packed));
    limits.max_bytes = 1 << 21;
    small.limits = &limits;
    assert_true(trace_box_open(path, &small, &box, NULL));
    assert_true(trace_box_load(box, NULL));
    assert_null(trace_box_trace(box, 0, NULL, &arena, &err));
    assert_non_null(strstr(err.text, "unpacks to more than 2097152 bytes"));
    assert_non_null(strstr(err.text, "x: unpacks to more than")); /* the path once */
    trace_box_destroy(box);
    buf_fini(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_packed_trace_has_the_identity_of_the_trace, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_shown_and_differ, setup, teardown),
        cmocka_unit_test_setup_teardown(
            damage_is_told_once_however_often_it_is_unpacked, setup, teardown),
        cmocka_unit_test_setup_teardown(an_archive_that_changes_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_box_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, setup, teardown),
    };
    return cmocka_run_group_tests_name("input/trace_box", tests, make_folder, remove_folder);
}
