#include "event/edit/event_editor.h"

#include <stdio.h>

#include "event/write/event_file.h"
#include "event/write/event_process.h"
#include "unit/event/writer_fixture.h"

/* Hashes are Python's: hmac.new(b"0123456789abcdef", text.encode(), "sha256").hexdigest(). */
#define HASH_A "6d633551c5e6271c49051c92d5d13b198eaf53c3bb9cb2dd0df333b305793e73"
#define HASH_1 "6f51b61a3db920f1cbe06a4c38501bc0b002ebaf9ceab835ca0a6f899817de7a"
#define HASH_2 "c6c718d2551697a7b265a3113e04b08bc61170ba215a06859adb6eedebb966b8"
#define HASH_ALICE "fdbf8b1cacd3d578e062d0e41104357d06aa63eca39f80b6fd7c83afedf1d44a"
#define HASH_SYSTEM "bacd9f5cdaede7f8b399bb90e3cf83f01b1b4d3100cdcebb419b0fe4489fb9ea"
#define HASH_PATH "4194e63eeec34be936c381bcaa8d6f785a836b7d33990dc31e59a48eedcd52b3"
#define HASH_ADDRESS "a21b5a555b15e7c012d03a49068c435fd90d9b8d841e65318810a0645480b1e7"

static const struct schema_map_entry named[] = {{1, {(const uint8_t *)"one", 3}}};
static const struct schema_map value_map = {.kind = MAP_VALUE, .entries = named, .entry_count = 1};

struct rig {
    struct writer_fixture f;
    struct event_path_context paths;
    struct event_editor *editor;
    /* one for each format, because each keeps what it has rendered */
    struct event_writer *writers[3];
    struct event_writer_settings settings;
    struct arena memory;
    struct plat_hash_key key;
    struct buf line;
};

static void rig_init(struct rig *rig, enum record_kind kind, enum schema_kind schema_kind)
{
    fixture_init(&rig->f, kind, schema_kind);
    assert_true(event_path_context_init(&rig->paths, NULL, NULL));
    rig->editor = event_editor_create(NULL);
    assert_non_null(rig->editor);
    arena_init(&rig->memory, 1 << 20);
    buf_init(&rig->line, 1 << 24);
    memset(rig->writers, 0, sizeof(rig->writers));
    rig->settings = (struct event_writer_settings){.colors = false};
    assert_true(plat_hash_key_init(&rig->key, span_text("0123456789abcdef"), NULL));
}

static void rig_fini(struct rig *rig)
{
    for (size_t i = 0; i < 3; i++) {
        event_writer_destroy(rig->writers[i]);
    }
    event_editor_destroy(rig->editor);
    event_path_context_fini(&rig->paths);
    arena_fini(&rig->memory);
    buf_fini(&rig->line);
    fixture_fini(&rig->f);
}

static void begin(struct rig *rig)
{
    event_editor_begin(rig->editor, &rig->f.event, rig->paths.agent);
}

static void apply(
    struct rig *rig, enum event_edit_kind kind, const char *path, const char *value, uint32_t bytes)
{
    struct event_edit *edit = arena_alloc(&rig->memory, sizeof(*edit));
    const struct event_edit_words words = {.kind = kind,
        .path = span_text(path),
        .value = span_text(value),
        .bytes = bytes,
        .key = &rig->key};
    struct error err = {0};
    assert_non_null(edit);
    if (!event_edit_compile(&words, &rig->memory, edit, &err)) {
        fail_msg("%s: %s", path, err.text);
    }
    event_editor_apply(rig->editor, edit, &rig->paths);
}

/* The member of the written event from ${start} up to the end of ${end}. */
static void assert_part_at(struct rig *rig, const struct event_format *format, const char *start,
    const char *expected, const char *file, int line)
{
    const struct event *event = event_editor_finish(rig->editor, &rig->paths);
    struct event_writer **writer = &rig->writers[format == &event_format_ecs      ? 1
                                                 : format == &event_format_pretty ? 2
                                                                                  : 0];
    *writer = *writer ? *writer : event_writer_create(&rig->settings, NULL);
    assert_non_null(*writer);
    buf_reset(&rig->line);
    format->event(*writer, event, &rig->line);
    assert_false(rig->line.failed);
    buf_add_byte(&rig->line, 0);
    const char *at = strstr((const char *)rig->line.data, start);
    if (!at || strncmp(at, expected, strlen(expected)) != 0) {
        print_error("%s\nis not\n%s\n", at ? at : (const char *)rig->line.data, expected);
        _fail(file, line);
    }
}

#define assert_part(rig, format, start, expected) \
    assert_part_at(rig, &event_format_##format, start, expected, __FILE__, __LINE__)

/* Struct S {A, T}, list of structs L {A, T}, {T, A}, list of texts M, numbers P side by side. */
static const struct piece pieces[] = {{"S", IN_UINT32, 0, "", NULL},
    {"A", IN_UINT32, 0, "01000000", &value_map}, {"T", IN_UNICODE_STRING, 0, "L'A'", NULL},
    {"L", IN_UINT32, 0, "", NULL}, {"M", IN_UNICODE_STRING, 0, "L'alice'", NULL},
    {"P", IN_UINT32, 0, "01000000 02000000", &value_map},
    {"N", IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bb 0a000001 0000000000000000", NULL}};

enum { TREE_FIELDS = 14 };

static void plant(struct rig *rig, struct field tree[TREE_FIELDS])
{
    struct writer_fixture *f = &rig->f;
    fixture_set_fields(f, pieces, sizeof(pieces) / sizeof(pieces[0]));
    const struct schema_field *s = f->schema_fields;
    const struct field a = f->fields[1];
    const struct field t = f->fields[2];
    const struct field m = f->fields[4];
    struct field p = f->fields[5];
    p.shape = FIELD_PACKED;
    p.count = 2;
    p.value_bytes = 4;
    const struct field planted[TREE_FIELDS] = {
        {.schema = &s[0], .count = 2, .shape = FIELD_GROUP, .end = 3}, a, t,
        {.schema = &s[3], .count = 2, .shape = FIELD_ARRAY, .end = 10},
        {.schema = &s[3], .count = 2, .shape = FIELD_GROUP, .end = 7}, a, t,
        {.schema = &s[3], .count = 2, .shape = FIELD_GROUP, .end = 10}, t, a,
        {.schema = &s[4], .count = 1, .shape = FIELD_ARRAY, .end = 12}, m, p, f->fields[6]};
    for (uint32_t i = 0; i < TREE_FIELDS; i++) {
        tree[i] = planted[i];
        if (tree[i].shape == FIELD_VALUE || tree[i].shape == FIELD_PACKED) {
            tree[i].end = i + 1;
        }
    }
    f->event.fields = tree;
    f->event.field_count = TREE_FIELDS;
}

#define S "\"S\":{\"A\":1,\"A_name\":\"one\",\"T\":\"A\"}"
#define L                                                                              \
    "\"L\":[{\"A\":1,\"A_name\":\"one\",\"T\":\"A\"},{\"T\":\"A\",\"A\":1,\"A_name\":" \
    "\"one\"}]"
#define M "\"M\":[\"alice\"]"
#define P "\"P\":[1,2],\"P_name\":[\"one\",\"2\"]"
#define N "\"N\":{\"address\":\"10.0.0.1\",\"port\":443,\"family\":2}"

static void structs_and_lists_are_edited_at_any_depth(void **state)
{
    (void)state;
    static const struct {
        enum event_edit_kind kind;
        const char *path;
        const char *value;
        const char *data;
    } cases[] = {
        {EVENT_EDIT_REMOVE, "data.S.T", NULL,
            "\"S\":{\"A\":1,\"A_name\":\"one\"}," L "," M "," P "," N},
        {EVENT_EDIT_REMOVE, "data.L", NULL, S "," M "," P "," N},
        {EVENT_EDIT_REMOVE, "data.L[*].A", NULL,
            S ",\"L\":[{\"T\":\"A\"},{\"T\":\"A\"}]," M "," P "," N},
        {EVENT_EDIT_REMOVE, "data.L.A_name", NULL,
            S ",\"L\":[{\"T\":\"A\"},{\"T\":\"A\"}]," M "," P "," N},
        {EVENT_EDIT_REMOVE, "data.N.port", NULL, S "," L "," M "," P},
        {EVENT_EDIT_REMOVE, "data.S.T.U", NULL, S "," L "," M "," P "," N},
        {EVENT_EDIT_HASH, "data.S", NULL,
            "\"S\":{\"A\":\"" HASH_1 "\",\"T\":\"" HASH_A "\"}," L "," M "," P "," N},
        {EVENT_EDIT_HASH, "data.M[*]", NULL, S "," L ",\"M\":[\"" HASH_ALICE "\"]," P "," N},
        {EVENT_EDIT_HASH, "data.P", NULL,
            S "," L "," M ",\"P\":[\"" HASH_1 "\",\"" HASH_2 "\"]," N},
        {EVENT_EDIT_HASH, "data.N.address", NULL,
            S "," L "," M "," P ",\"N\":\"" HASH_ADDRESS "\""},
        {EVENT_EDIT_RENAME, "data.L[*].A", "B",
            S ",\"L\":[{\"B\":1,\"B_name\":\"one\",\"T\":\"A\"},{\"T\":\"A\",\"B\":1,\"B_name\":"
              "\"one\"}]," M "," P "," N},
        {EVENT_EDIT_RENAME, "data.S.A", "T", S "," L "," M "," P "," N},
        {EVENT_EDIT_RENAME, "data.M", "P_name", S "," L "," M "," P "," N},
        {EVENT_EDIT_SET, "data.L", "x", S ",\"L\":\"x\"," M "," P "," N},
        {EVENT_EDIT_SET, "data.New", "\"q\"", S "," L "," M "," P "," N ",\"New\":\"\\\"q\\\"\""},
        {EVENT_EDIT_SET, "data.P_name", "x", S "," L "," M "," P "," N},
        {EVENT_EDIT_TRUNCATE, "data.M", NULL, S "," L ",\"M\":[\"al\"]," P "," N},
        {EVENT_EDIT_TRUNCATE, "data", NULL,
            S "," L ",\"M\":[\"al\"]," P "," N}, /* numbers and addresses stay */
    };
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    struct field tree[TREE_FIELDS];
    plant(&rig, tree);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[2048];
        snprintf(expected, sizeof(expected), "\"data\":{%s}}\n", cases[i].data);
        begin(&rig);
        apply(&rig, cases[i].kind, cases[i].path, cases[i].value, 2);
        assert_part(&rig, native, "\"data\"", expected);
    }
    /* The event that came is unchanged. */
    begin(&rig);
    assert_ptr_equal(event_editor_finish(rig.editor, &rig.paths), &rig.f.event);
    assert_part(&rig, native, "\"data\"", "\"data\":{" S "," L "," M "," P "," N "}}\n");
    rig_fini(&rig);
}

static void a_message_shows_what_became_of_its_fields(void **state)
{
    (void)state;
    static const struct piece list[] = {{"User", IN_UNICODE_STRING, 0, "L'alice'", NULL},
        {"Code", IN_UINT32, 0, "01000000", &value_map},
        {"Text", IN_UNICODE_STRING, 0, "6700 7200 fc00 6e00", NULL}};
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&rig.f, list, 3);
    rig.f.schema.message = span_text("%1 has %2: %3");
    begin(&rig);
    apply(&rig, EVENT_EDIT_HASH, "data.User", NULL, 0);
    apply(&rig, EVENT_EDIT_REMOVE, "data.Code", NULL, 0);
    apply(&rig, EVENT_EDIT_RENAME, "data.Text", "Words", 0);
    assert_part(&rig, native, "\"message\"", "\"message\":\"" HASH_ALICE " has : grün\"");
    assert_part(&rig, ecs, "\"event_data\"",
        "\"event_data\":{\"User\":\"" HASH_ALICE "\",\"Words\":\"grün\"}},\"message\":"
        "\"" HASH_ALICE " has : grün\"");
    assert_part(&rig, pretty, "    " HASH_ALICE,
        "    " HASH_ALICE " has : grün\n    User   " HASH_ALICE "\n    Words  grün\n");
    /* A message is cut from the edited fields, whichever rule comes first. */
    begin(&rig);
    apply(&rig, EVENT_EDIT_TRUNCATE, "message", NULL, 13);
    apply(&rig, EVENT_EDIT_REMOVE, "data.User", NULL, 0);
    assert_part(&rig, native, "\"message\"", "\"message\":\" has one: gr\"");
    begin(&rig);
    apply(&rig, EVENT_EDIT_SET, "message", "x", 0);
    apply(&rig, EVENT_EDIT_SET, "message", "A", 0);
    apply(&rig, EVENT_EDIT_HASH, "message", NULL, 0);
    assert_part(&rig, native, "\"message\"", "\"message\":\"" HASH_A "\"}\n");
    rig_fini(&rig);
}

static void texts_are_cut_on_a_character(void **state)
{
    (void)state;
    static const struct piece list[] = {
        {"T", IN_UNICODE_STRING, 0, "4100 e400 ac20 3dd8 00de 4200", NULL}, /* A ä € 😀 B */
        {"B", IN_BINARY, 0, "0102030405", NULL}};
    static const struct {
        uint32_t bytes;
        const char *data;
    } cases[] = {
        {1, "\"data\":{\"T\":\"A\",\"B\":\"\"}"},
        {2, "\"data\":{\"T\":\"A\",\"B\":\"01\"}"},
        {3, "\"data\":{\"T\":\"Aä\",\"B\":\"01\"}"},
        {5, "\"data\":{\"T\":\"Aä\",\"B\":\"0102\"}"},
        {6, "\"data\":{\"T\":\"Aä€\",\"B\":\"010203\"}"},
        {9, "\"data\":{\"T\":\"Aä€\",\"B\":\"01020304\"}"},
        {10, "\"data\":{\"T\":\"Aä€😀\",\"B\":\"0102030405\"}"},
        {11, "\"data\":{\"T\":\"Aä€😀B\",\"B\":\"0102030405\"}"},
    };
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&rig.f, list, 2);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin(&rig);
        apply(&rig, EVENT_EDIT_TRUNCATE, "data.T", NULL, cases[i].bytes);
        apply(&rig, EVENT_EDIT_TRUNCATE, "data.B", NULL, cases[i].bytes);
        assert_part(&rig, native, "\"data\"", cases[i].data);
    }
    rig_fini(&rig);
}

static void bytes_without_a_meaning_are_left_out(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    static const struct piece list[] = {{"A", IN_UINT32, 0, "01000000", NULL}};
    fixture_set_fields(&rig.f, list, 1);
    rig.f.event.status = DECODE_PARTIAL;
    rig.f.event.rest = span_text("alice");
    rig.f.event.error = "B: too short";
    begin(&rig);
    apply(&rig, EVENT_EDIT_HASH, "data.User", NULL, 0);
    assert_part(&rig, native, "\"data\"",
        "\"data\":{\"A\":1},\"decode_error\":\"B: too short; bytes left out, as a rule removes or "
        "hashes fields of the payload\"}\n");
    begin(&rig);
    apply(&rig, EVENT_EDIT_TRUNCATE, "data.User", NULL, 3);
    apply(&rig, EVENT_EDIT_RENAME, "data.User", "Name", 0);
    assert_part(&rig, native, "\"payload_rest\"", "\"payload_rest\":\"616c696365\",");
    begin(&rig);
    apply(&rig, EVENT_EDIT_REMOVE, "payload_rest", NULL, 0);
    assert_part(&rig, native, "\"data\"", "\"data\":{\"A\":1},\"decode_error\":\"B: too short\"}");
    rig.f.event.status = DECODE_RAW;
    rig.f.event.rest = rig.f.record.payload;
    rig.f.event.error = NULL;
    rig.f.event.field_count = 0;
    begin(&rig);
    apply(&rig, EVENT_EDIT_REMOVE, "data.User", NULL, 0);
    assert_part(&rig, native, "\"sequence\"",
        "\"sequence\":7,\"cpu\":3},\"decode_error\":\"bytes left out, as a rule removes or hashes "
        "fields of the payload\"}\n");
    assert_part(&rig, ecs, "\"error\"",
        "\"error\":{\"message\":\"bytes left out, as a rule removes "
        "or hashes fields of the payload\"},\"host\"");
    begin(&rig);
    apply(&rig, EVENT_EDIT_REMOVE, "payload", NULL, 0);
    assert_part(&rig, native, "\"sequence\"", "\"sequence\":7,\"cpu\":3}}\n");
    rig_fini(&rig);
}

/* 4096 hashes take some milliseconds; no event gets more. */
static void what_would_take_too_long_is_left_out(void **state)
{
    (void)state;
    enum { COUNT = EVENT_EDITOR_MAX_HASHES };
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    static const struct piece list[] = {
        {"A", IN_UINT8, 0, "01", NULL}, {"B", IN_UINT8, 0, "01", NULL}};
    fixture_set_fields(&rig.f, list, 2);
    uint8_t *bytes = calloc(COUNT + 1, 1);
    assert_non_null(bytes);
    rig.f.fields[0].shape = FIELD_PACKED;
    rig.f.fields[0].value_bytes = 1;
    rig.f.fields[0].data = bytes;
    rig.f.fields[0].size = rig.f.fields[0].count = COUNT + 1;
    begin(&rig);
    apply(&rig, EVENT_EDIT_HASH, "data", NULL, 0);
    assert_part(&rig, native, "\"data\"", "\"data\":{\"B\":\"" HASH_1 "\"}}\n");
    rig.f.fields[0].size = rig.f.fields[0].count = COUNT;
    begin(&rig);
    apply(&rig, EVENT_EDIT_HASH, "data", NULL, 0);
    assert_part(&rig, native, "],\"B\"", "],\"B\":\"\"}}\n");
    free(bytes);
    rig_fini(&rig);
}

static void what_is_known_of_a_process_is_edited_once(void **state)
{
    (void)state;
    const struct event_process process = {.serial = 5,
        .pid = 77,
        .name = span_text("a.exe"),
        .command_line = span_text("a.exe --password x"),
        .user_id = span_text("S-1-5-18"),
        .user_name = span_text("alice"),
        .start_key = 9};
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    rig.f.record.present = RECORD_HAS_PROCESS;
    rig.f.record.process_id = 77;
    rig.f.event.process = &process;
    uint64_t serial = 0;
    struct event_edit edits[4];
    for (int i = 0; i < 2; i++) {
        begin(&rig);
        if (i == 0) {
            assert_part(&rig, native, "\"process\"",
                "\"process\":{\"pid\":77,\"start_key\":9,\"name\":\"a.exe\",\"command_line\":"
                "\"a.exe --password x\",\"user\":{\"id\":\"S-1-5-18\",\"name\":\"alice\"}}");
        }
        begin(&rig);
        static const struct event_edit_words words[] = {
            {.kind = EVENT_EDIT_HASH, .path = {(const uint8_t *)"process.user.name", 17}},
            {.kind = EVENT_EDIT_HASH, .path = {(const uint8_t *)"process.user.id", 15}},
            {.kind = EVENT_EDIT_TRUNCATE,
                .path = {(const uint8_t *)"process.command_line", 20},
                .bytes = 5},
            {.kind = EVENT_EDIT_REMOVE, .path = {(const uint8_t *)"process.start_key", 17}}};
        for (size_t k = 0; k < 4; k++) {
            struct event_edit_words one = words[k];
            one.key = &rig.key;
            if (i == 0) {
                assert_true(event_edit_compile(&one, &rig.memory, &edits[k], NULL));
            }
            event_editor_apply(rig.editor, &edits[k], &rig.paths);
        }
        assert_part(&rig, native, "\"process\"",
            "\"process\":{\"pid\":77,\"name\":\"a.exe\",\"command_line\":\"a.exe\",\"user\":{"
            "\"id\":"
            "\"" HASH_SYSTEM "\",\"name\":\"" HASH_ALICE "\"}}");
        const struct event *event = event_editor_finish(rig.editor, &rig.paths);
        /* writers may use what they keep of it */
        assert_true(i == 0 || event->process->serial == serial);
        serial = event->process->serial;
    }
    const struct event_process stranger = {.serial = 6, .pid = 77, .user_name = span_text("A")};
    rig.f.event.process = &stranger;
    begin(&rig);
    for (size_t k = 0; k < 4; k++) {
        event_editor_apply(rig.editor, &edits[k], &rig.paths);
    }
    assert_part(
        &rig, native, "\"process\"", "\"process\":{\"pid\":77,\"user\":{\"name\":\"" HASH_A "\"}}");
    rig_fini(&rig);
}

/* Parts of a path that a rule has changed reveal nothing. */
static void the_file_is_edited(void **state)
{
    (void)state;
    const struct event_file file = {.path = span_text("C:\\secret\\a.txt")};
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    rig.f.event.file = &file;
    begin(&rig);
    assert_part(&rig, native, "\"file\"", "\"file\":{\"path\":\"C:\\\\secret\\\\a.txt\"},\"etw\":");
    assert_part(&rig, ecs, "\"file\"",
        "\"file\":{\"directory\":\"C:\\\\secret\",\"extension\":\"txt\",\"name\":\"a.txt\","
        "\"path\":\"C:\\\\secret\\\\a.txt\"},");
    begin(&rig);
    apply(&rig, EVENT_EDIT_HASH, "file.path", NULL, 0);
    assert_part(&rig, native, "\"file\"", "\"file\":{\"path\":\"" HASH_PATH "\"},\"etw\":");
    assert_part(&rig, ecs, "\"file\"", "\"file\":{\"path\":\"" HASH_PATH "\"},");
    begin(&rig);
    apply(&rig, EVENT_EDIT_TRUNCATE, "file.path", NULL, 12);
    assert_part(&rig, native, "\"file\"", "\"file\":{\"path\":\"C:\\\\secret\\\\a.\"},");
    assert_part(&rig, ecs, "\"file\"", "\"file\":{\"path\":\"C:\\\\secret\\\\a.\"},");
    begin(&rig);
    apply(&rig, EVENT_EDIT_TRUNCATE, "file.path", NULL, 100);
    assert_part(&rig, ecs, "\"file\"", "\"file\":{\"directory\":\"C:\\\\secret\",");
    static const char *const removed[] = {"file", "file.path"};
    for (size_t i = 0; i < 2; i++) {
        begin(&rig);
        apply(&rig, EVENT_EDIT_REMOVE, removed[i], NULL, 0);
        apply(&rig, EVENT_EDIT_HASH, "file.path", NULL, 0);
        assert_null(event_editor_finish(rig.editor, &rig.paths)->file);
    }
    rig_fini(&rig);
}

/* As many as agents, sessions, entries and outputs may reasonably have for one event. */
static void many_rules_may_edit_a_process_and_a_message(void **state)
{
    (void)state;
    const struct event_process process = {.serial = 5,
        .pid = 77,
        .name = span_text("a.exe"),
        .command_line = span_text("a.exe --password x"),
        .user_name = span_text("alice")};
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    rig.f.record.present = RECORD_HAS_PROCESS;
    rig.f.record.process_id = 77;
    rig.f.event.process = &process;
    begin(&rig);
    apply(&rig, EVENT_EDIT_SET, "message", "0123456789abcdefghijklmnopqrstuvwxyz", 0);
    for (uint32_t i = 0; i < 30; i++) {
        apply(&rig, EVENT_EDIT_TRUNCATE, "process.command_line", NULL, 40 - i);
        apply(&rig, EVENT_EDIT_TRUNCATE, "message", NULL, 40 - i);
    }
    for (uint32_t i = 0; i < 100; i++) {
        apply(&rig, EVENT_EDIT_REMOVE, "process.user", NULL, 0);
        apply(&rig, EVENT_EDIT_REMOVE, "process.name", NULL, 0);
    }
    apply(&rig, EVENT_EDIT_HASH, "process.name", NULL, 0);
    assert_part(
        &rig, native, "\"process\"", "\"process\":{\"pid\":77,\"command_line\":\"a.exe --pas\"}");
    assert_part(&rig, native, "\"message\"", "\"message\":\"0123456789a\"");
    rig_fini(&rig);
}

static void host_labels_and_tags_are_of_the_event(void **state)
{
    (void)state;
    static const struct span labels[] = {{(const uint8_t *)"site", 4}, {(const uint8_t *)"A", 1}};
    static const struct span tags[] = {{(const uint8_t *)"old", 3}};
    const struct event_agent agent = {
        .labels = labels, .label_count = 1, .tags = tags, .tag_count = 1};
    struct buf tail;
    struct rig rig;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    buf_init(&tail, 1 << 16);
    event_tail_render(&agent, &tail);
    rig.settings.tail = buf_span(&tail);
    rig.paths.agent = &agent;
    rig.f.trace.host_name = span_text("alice");
    for (int i = 0; i < 2; i++) { /* the second time from what was kept */
        begin(&rig);
        apply(&rig, EVENT_EDIT_HASH, "host.name", NULL, 0);
        apply(&rig, EVENT_EDIT_HASH, "labels.site", NULL, 0);
        apply(&rig, EVENT_EDIT_SET, "labels.team", "dns", 0);
        apply(&rig, EVENT_EDIT_TAG, NULL, "old", 0);
        apply(&rig, EVENT_EDIT_TAG, NULL, "new", 0);
        assert_part(&rig, native, "\"host\"",
            "\"host\":{\"name\":\"" HASH_ALICE "\"},\"agent\":{\"type\":\"etwship\"},\"labels\":{"
            "\"site\":\"" HASH_A "\",\"team\":\"dns\"},\"tags\":[\"old\",\"new\"]}\n");
    }
    begin(&rig);
    apply(&rig, EVENT_EDIT_REMOVE, "host", NULL, 0);
    apply(&rig, EVENT_EDIT_REMOVE, "labels.site", NULL, 0);
    apply(&rig, EVENT_EDIT_REMOVE, "tags", NULL, 0);
    assert_part(
        &rig, native, "\"cpu\"", "\"cpu\":3},\"data\":{},\"agent\":{\"type\":\"etwship\"}}\n");
    begin(&rig);
    assert_part(&rig, native, "\"host\"",
        "\"host\":{\"name\":\"alice\"},\"agent\":{\"type\":\"etwship\"},\"labels\":{\"site\":\"A\"}"
        ","
        "\"tags\":[\"old\"]}\n");
    buf_fini(&tail);
    rig_fini(&rig);
}

static void edits_upon_edits_leave_the_first_as_they_are(void **state)
{
    (void)state;
    static const struct piece list[] = {
        {"T", IN_UNICODE_STRING, 0, "L'alice'", NULL}, {"A", IN_UINT32, 0, "01000000", NULL}};
    struct rig rig;
    struct rig above;
    rig_init(&rig, RECORD_EVENT, SCHEMA_MANIFEST);
    rig_init(&above, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&rig.f, list, 2);
    begin(&rig);
    apply(&rig, EVENT_EDIT_HASH, "data.T", NULL, 0);
    assert_part(&rig, native, "\"data\"", "\"data\":{\"T\":\"" HASH_ALICE "\",\"A\":1}");
    event_editor_begin_from(above.editor, rig.editor);
    apply(&above, EVENT_EDIT_REMOVE, "data.T", NULL, 0);
    apply(&above, EVENT_EDIT_TAG, NULL, "x", 0);
    assert_part(&above, native, "\"data\"",
        "\"data\":{\"A\":1},\"agent\":{\"type\":\"etwship\"},"
        "\"tags\":[\"x\"]}\n");
    assert_part(&rig, native, "\"data\"", "\"data\":{\"T\":\"" HASH_ALICE "\",\"A\":1}}\n");
    rig_fini(&above);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_and_lists_are_edited_at_any_depth),
        cmocka_unit_test(a_message_shows_what_became_of_its_fields),
        cmocka_unit_test(texts_are_cut_on_a_character),
        cmocka_unit_test(bytes_without_a_meaning_are_left_out),
        cmocka_unit_test(what_would_take_too_long_is_left_out),
        cmocka_unit_test(what_is_known_of_a_process_is_edited_once),
        cmocka_unit_test(the_file_is_edited),
        cmocka_unit_test(many_rules_may_edit_a_process_and_a_message),
        cmocka_unit_test(host_labels_and_tags_are_of_the_event),
        cmocka_unit_test(edits_upon_edits_leave_the_first_as_they_are),
    };
    return cmocka_run_group_tests_name("event/event_editor", tests, NULL, NULL);
}
