#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "schema/source/schema_sources.h"
#include "support/test.h"

/*
 * The built-in table of the kernel's classes against MOF text: both ways for the classes in
 * tests/support/mof. ETWSHIP_KERNEL_MOF names further text, such as a machine's own classes. The
 * test prints differences of that text and asserts nothing, because builds of Windows differ.
 */
enum { EVENT_TYPES = 160 }; /* numbers after EventType in these files */

static const char folder[] = ETWSHIP_MOF_SAMPLES;

static void print_warning(void *self, const char *text)
{
    ++*(size_t *)self;
    print_message("%s\n", text);
}

static void *create(const struct schema_source_ops *ops, const char *path, size_t *ret_warnings)
{
    const struct schema_source_settings settings = {
        .paths = &path, .path_count = 1, .warn = print_warning, .warn_self = ret_warnings};
    struct error err = {0};
    *ret_warnings = 0;
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    return source;
}

/* ---- shapes: the bytes of a layout, not the way they are shown ------------------------------- */

/* Types that take equal bytes in equal ways have one name. */
static uint16_t wire_type(const struct schema_field *field)
{
    switch (field->in_type) {
    case IN_INT8:
        return IN_UINT8;
    case IN_INT16:
        return IN_UINT16;
    case IN_INT32:
    case IN_HEX_INT32:
        return IN_UINT32;
    case IN_INT64:
    case IN_HEX_INT64:
    case IN_WMI_TIME:
    case IN_FILETIME:
        return IN_UINT64;
    case IN_SIZE_T:
        return IN_POINTER;
    default:
        return field->in_type;
    }
}

static bool fields_match(const struct schema_field *a, const struct schema_field *b)
{
    const uint16_t counts = FIELD_PARAM_COUNT | FIELD_PARAM_LENGTH;
    return span_equal(a->name, b->name) && wire_type(a) == wire_type(b) && (a->count == b->count) &&
           a->length == b->length && (a->flags & counts) == (b->flags & counts);
}

/* NULL: they describe equal bytes by equal names. Else the first field that differs. Fields that
 * newer builds of Windows append without a new version are optional in the table. */
static const char *difference(const struct event_schema *a, const struct event_schema *b,
    bool a_is_table, char *text, size_t size)
{
    const struct event_schema *mof = a_is_table ? b : a;
    const struct event_schema *table = a_is_table ? a : b;
    size_t count = mof->field_count < table->field_count ? mof->field_count : table->field_count;
    for (size_t i = 0; i < count; i++) {
        if (!fields_match(&mof->fields[i], &table->fields[i])) {
            snprintf(text, size, "field %zu: MOF %.*s, table %.*s", i,
                SPAN_ARG(mof->fields[i].name), SPAN_ARG(table->fields[i].name));
            return text;
        }
    }
    bool is_longer = table->field_count > count && (table->fields[count].flags & FIELD_OPTIONAL);
    if (mof->field_count != table->field_count && !is_longer) {
        snprintf(
            text, size, "MOF has %u fields, the table %u", mof->field_count, table->field_count);
        return text;
    }
    return NULL;
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct comparison {
    const struct schema_source_ops *other_ops;
    void *other;
    const char *what; /* the source whose definitions are compared */
    bool is_table;    /* it is the table: definitions that MOF text lacks are not reported */
    size_t same;
    size_t different;
    size_t missing;
};

/* One of the other source's candidates for ${schema} must be equal to it. */
static void compare(void *self, const struct event_schema *schema)
{
    struct comparison *c = self;
    struct event_record record = {.kind = RECORD_CLASSIC, .provider = schema->class_guid};
    record.descriptor.opcode = schema->descriptor.opcode;
    record.descriptor.version = schema->descriptor.version;
    struct schema_candidates found = {.count = 0};
    if (!schema->has_layout) {
        return;
    }
    c->other_ops->find(c->other, &record, &found);
    char text[300] = "";
    bool same = false;
    bool known = false;
    for (size_t i = 0; i < found.count && !same; i++) {
        bool exact = found.list[i]->has_layout &&
                     found.list[i]->descriptor.version == schema->descriptor.version;
        known = known || exact;
        same = exact && !difference(schema, found.list[i], c->is_table, text, sizeof(text));
    }
    c->same += same;
    c->missing += !known;
    c->different += known && !same;
    if (!same && (known || !c->is_table)) {
        print_message("%s, %.*s, type %u, version %u: %s\n", c->what, SPAN_ARG(schema->task_name),
            schema->descriptor.opcode, schema->descriptor.version,
            known ? text : "the other one has none");
    }
}

static struct comparison compare_all(const struct schema_source_ops *ops, void *source,
    const struct schema_source_ops *other_ops, void *other, bool is_table)
{
    struct comparison c = {
        .other_ops = other_ops, .other = other, .what = ops->name, .is_table = is_table};
    ops->list(source, compare, &c);
    return c;
}

static void the_table_says_what_the_classes_say(void **state)
{
    (void)state;
    size_t warnings;
    void *mof = create(&schema_source_mof, folder, &warnings);
    assert_int_equal(warnings, 0);
    void *table = create(&schema_source_kernel, "", &warnings);
    struct comparison forth = compare_all(
        &schema_source_mof, mof, &schema_source_kernel, table, false);
    assert_int_equal(forth.missing, 0);
    assert_int_equal(forth.different, 0);
    assert_int_equal(forth.same, EVENT_TYPES);
    struct comparison back = compare_all(
        &schema_source_kernel, table, &schema_source_mof, mof, true);
    assert_int_equal(back.different, 0);
    assert_int_equal(back.same, EVENT_TYPES);
    schema_source_mof.destroy(mof);
    schema_source_kernel.destroy(table);
}

static void further_text_is_compared_on_demand(void **state)
{
    (void)state;
    const char *path = getenv("ETWSHIP_KERNEL_MOF");
    if (!path) {
        skip();
    }
    size_t warnings;
    void *mof = create(&schema_source_mof, path, &warnings);
    void *table = create(&schema_source_kernel, "", &warnings);
    struct comparison c = compare_all(&schema_source_mof, mof, &schema_source_kernel, table, false);
    print_message("%zu event types of MOF text are in the table as they are, %zu differ, %zu are "
                  "missing\n",
        c.same, c.different, c.missing);
    schema_source_mof.destroy(mof);
    schema_source_kernel.destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_says_what_the_classes_say),
        cmocka_unit_test(further_text_is_compared_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
