#include "support/test.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "schema/binary/pe_resources.h"
#include "support/memory_file.h"
#include "support/pe_put.h"

/* Program files of the writer in tests/support, complete and broken. */
static struct pe_resources found;
static struct error err;

static bool find(struct span file)
{
    struct memory_file memory = {.bytes = file};
    const struct pe_input input = {.read = memory_file_read, .self = &memory};
    err = (struct error){.code = ERR_NONE};
    return pe_resources_find(&input, &found, &err);
}

static struct pe_put_resource samples[] = {
    {.type_name = "WEVT_TEMPLATE", .language = 0x409, .bytes = {(const uint8_t *)"template", 8}},
    {.type_name = "OTHER_RESOURCE", .language = 0x409, .bytes = {(const uint8_t *)"other", 5}},
    {.type = 11, .language = 0x407, .bytes = {(const uint8_t *)"deutsch", 7}},
    {.type = 11, .language = 0x409, .bytes = {(const uint8_t *)"english", 7}},
    {.type = 16, .language = 0x409, .bytes = {(const uint8_t *)"version", 7}},
};

enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static void put_sample(struct buf *file, bool is_32_bit, struct pe_put_places *places)
{
    buf_init(file, 1 << 20);
    pe_put(file, &(struct pe_put_options){.is_32_bit = is_32_bit, .gap = 5000}, samples, SAMPLES,
        places);
    assert_false(file->failed);
}

static void assert_resource(const struct buf *file, size_t i, enum pe_resource_type type,
    uint16_t language, const char *text)
{
    assert_int_equal(found.list[i].type, type);
    assert_int_equal(found.list[i].language, language);
    assert_span(
        span_first(span_from(buf_span(file), (size_t)found.list[i].offset), found.list[i].size),
        text);
}

static void both_widths_give_templates_and_messages(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct buf file;
        put_sample(&file, wide == 0, NULL);
        assert_true(find(buf_span(&file)));
        assert_true(found.is_program);
        assert_int_equal(found.count, 3);
        assert_resource(&file, 0, PE_WEVT_TEMPLATE, 0x409, "template");
        assert_resource(&file, 1, PE_MESSAGE_TABLE, 0x407, "deutsch");
        assert_resource(&file, 2, PE_MESSAGE_TABLE, 0x409, "english");
        buf_fini(&file);
    }
}

/* A folder may contain thousands of files: each costs a few reads, however large it is. */
static void a_program_without_resources_costs_a_few_hundred_bytes(void **state)
{
    (void)state;
    struct buf file;
    buf_init(&file, 1 << 23);
    pe_put(&file, &(struct pe_put_options){.gap = 1 << 22}, samples + 4, 1, NULL);
    struct memory_file memory = {.bytes = buf_span(&file)};
    const struct pe_input input = {.read = memory_file_read, .self = &memory};
    assert_true(pe_resources_find(&input, &found, &err));
    assert_true(found.is_program);
    assert_int_equal(found.count, 0);
    assert_in_range(memory.reads, 1, 8);
    assert_in_range(memory.bytes_read, 1, 600);
    buf_reset(&file);
    pe_put(&file, &(struct pe_put_options){.gap = 10}, NULL, 0, NULL);
    assert_true(find(buf_span(&file)));
    assert_true(found.is_program);
    assert_int_equal(found.count, 0);
    buf_fini(&file);
}

static void what_is_no_program_is_no_failure(void **state)
{
    (void)state;
    static const char dos[128] = "MZ of long ago";
    static const struct span files[] = {{NULL, 0}, {(const uint8_t *)"M", 1},
        {(const uint8_t *)"#!/bin/sh\n", 10}, {(const uint8_t *)dos, sizeof(dos)}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_true(find(files[i]));
        assert_false(found.is_program);
        assert_int_equal(found.count, 0);
    }
}

static void a_cut_file_is_told(void **state)
{
    (void)state;
    struct buf file;
    struct pe_put_places places;
    put_sample(&file, false, &places);
    for (size_t size = places.header + 24; size < places.data; size++) {
        assert_false(find(span_make(file.data, size)));
        assert_int_equal(err.code, ERR_FORMAT);
        assert_true(err.text[0] != 0);
    }
    buf_fini(&file);
}

static void assert_refused_with(struct buf *file, size_t at, uint32_t value, const char *why)
{
    uint8_t kept[4];
    memcpy(kept, file->data + at, 4);
    store_le32(file->data + at, value);
    assert_false(find(buf_span(file)));
    if (!strstr(err.text, why)) {
        fail_msg("\"%s\" is not \"%s\"", err.text, why);
    }
    memcpy(file->data + at, kept, 4);
}

static void headers_that_lie_are_refused(void **state)
{
    (void)state;
    struct buf file;
    struct pe_put_places p;
    put_sample(&file, false, &p);
    size_t section = p.sections + 40;
    assert_refused_with(&file, p.resource_entry, 0x30000000, "outside the sections");
    assert_refused_with(&file, p.resource_entry, 0xffffffff, "outside the sections");
    assert_refused_with(&file, section + 16, 0, "outside the sections"); /* no bytes in the file */
    assert_refused_with(&file, section + 20, 0xffffff00, "the file ends"); /* beyond the file */
    assert_refused_with(&file, section + 12, 0xffffffff, "outside the sections");
    assert_refused_with(&file, p.header + 4, 0xffff8664, "sections");
    /* data outside the sections */
    assert_refused_with(&file, p.data, 0x1ffffff0, "outside the sections");
    assert_refused_with(&file, p.data + 4, 0xffffffff, "outside the sections");
    assert_true(find(buf_span(&file)));
    buf_fini(&file);
}

static void loops_and_odd_trees_are_refused(void **state)
{
    (void)state;
    static const uint32_t node = 0x80000000u;
    struct buf file;
    struct pe_put_places p;
    put_sample(&file, false, &p);
    size_t type = p.tree + 16 + 4;
    size_t name = p.names + 16 + 4;
    size_t language = p.languages + 16 + 4;
    uint32_t names = (uint32_t)(p.names - p.tree);
    assert_refused_with(&file, type, names, "has no names");
    assert_refused_with(&file, name, (uint32_t)(p.languages - p.tree), "three levels type, name");
    assert_refused_with(&file, language, names | node, "three levels type, name");
    assert_refused_with(&file, name, 0 | node, "three levels type, name"); /* the root again */
    assert_refused_with(&file, p.languages + 12, 0xffffffff, "more than 65536");
    assert_refused_with(&file, type, 0xffffffff, "outside the sections");
    assert_refused_with(&file, p.tree + 16, 0xffffffff, "outside the sections"); /* its name */
    buf_fini(&file);
}

static void put_branches(uint8_t *node, size_t branches, uint32_t target)
{
    memset(node, 0, 16);
    store_le16(node + 14, (uint16_t)branches);
    for (size_t i = 0; i < branches; i++) {
        store_le32(node + 16 + 8 * i, 11);
        store_le32(node + 20 + 8 * i, target | 0x80000000u);
    }
}

/* Few bytes, but very many paths through them: the types share their names, and these an empty
 * node. */
static void shared_branches_do_not_multiply(void **state)
{
    (void)state;
    enum { BRANCHES = 600, NODE = 16 + 8 * BRANCHES, TREE = 2 * NODE + 16 };
    struct buf file;
    struct pe_put_places p;
    buf_init(&file, 1 << 20);
    pe_put(&file, &(struct pe_put_options){.gap = 1}, samples + 2, 1, &p);
    file.size = p.tree;
    assert_true(buf_reserve(&file, TREE));
    file.size += TREE;
    store_le32(file.data + p.sections + 40 + 16, TREE);
    put_branches(file.data + p.tree, BRANCHES, NODE);
    put_branches(file.data + p.tree + NODE, BRANCHES, 2 * NODE);
    put_branches(file.data + p.tree + 2 * NODE, 0, 0);
    assert_false(find(buf_span(&file)));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(found.count, 0);
    buf_fini(&file);
}

static bool fail_to_read(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *e)
{
    (void)self;
    (void)offset;
    (void)data;
    (void)size;
    (void)ret_read;
    return error_set(e, ERR_IO, "the disk says no");
}

static void what_the_system_says_is_passed_on(void **state)
{
    (void)state;
    const struct pe_input input = {.read = fail_to_read};
    assert_false(pe_resources_find(&input, &found, &err));
    assert_string_equal(err.text, "the disk says no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_widths_give_templates_and_messages),
        cmocka_unit_test(a_program_without_resources_costs_a_few_hundred_bytes),
        cmocka_unit_test(what_is_no_program_is_no_failure),
        cmocka_unit_test(a_cut_file_is_told),
        cmocka_unit_test(headers_that_lie_are_refused),
        cmocka_unit_test(loops_and_odd_trees_are_refused),
        cmocka_unit_test(shared_branches_do_not_multiply),
        cmocka_unit_test(what_the_system_says_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
