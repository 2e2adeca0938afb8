#include "event/select/template_shape.h"

#include <stdio.h>

#include "support/test.h"

enum { SHAPE_BYTES = 16 * 1024 };

struct pair {
    const char *a;
    const char *b;
    bool expected;
};

static void shape(const char *template, struct buf *out)
{
    buf_init(out, SHAPE_BYTES);
    template_shape_make(span_text(template), out);
    assert_false(out->failed);
}

static void assert_pairs(const struct pair *pairs, size_t count, bool rotated, bool folds_case)
{
    for (size_t i = 0; i < count; i++) {
        struct buf a;
        struct buf b;
        shape(pairs[i].a, &a);
        shape(pairs[i].b, &b);
        for (int turned = 0; turned < 2; turned++) {
            struct span x = buf_span(turned ? &b : &a);
            struct span y = buf_span(turned ? &a : &b);
            bool got = rotated ? template_shape_meet_rotated(x, y, folds_case)
                               : template_shape_meet(x, y, folds_case);
            if (got != pairs[i].expected) {
                fail_msg("%s and %s: %d", pairs[i].a, pairs[i].b, got);
            }
        }
        buf_fini(&a);
        buf_fini(&b);
    }
}

static void what_two_templates_can_both_give_is_found(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"a", "a", true},
        {"a", "b", false},
        {"a", "aa", false},
        {"a", "A", false},
        {"a\\b", "a/b", true},
        {"x/a//b", "x/a/./b", true},
        {"./a", "./a", true},
        {"{provider.name}", "a", true},
        {"{provider.name}", "a/b", false},
        {"{provider.name}.e", "x.e", true},
        {"{provider.name}.e", ".e", false}, /* a field is never empty */
        {"{provider.name}.e", "x.f", false},
        {"a/{provider.name}.e", "b/{provider.name}.e", false},
        {"{provider.name}/e", "x/{provider.name}", true},
        {"x-{provider.name}", "y-{provider.name}", false},
        {"x-{provider.name}", "{provider.name}-y", true},
        {"{provider.name}{etw.session}", "ab", true},
        {"{provider.name}{etw.session}", "a", false},
        {"%Y", "2026", true},
        {"%Y", "202", false},
        {"%Y", "20x6", false},
        {"%Y-%m", "%d%H-%M", true},
        {"%Y-%m", "%d-%H%M", false},
        {"e-%Y.n", "e-{provider.name}.n", true},
        {"100%%", "100%%", true},
        {"{{a}}", "{{a}}", true},
        {"not {valid", "not {valid", true},
    };
    assert_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]), false, false);
}

static void names_of_rotated_files_count(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"e", "e.1", true},
        {"e", "e.17.gz", true},
        {"e", "e.17.gz.tmp", true},
        {"e", "e.x", false},
        {"e", "e.", false},
        {"e", "e.1x", false},
        {"e", "e.gz", false},
        {"{provider.name}.n", "x.n.7", true},
        {"{provider.name}.n", "x.m.7", false},
        {"a.ndjson", "b.ndjson", false},
        {"a.ndjson", "{provider.name}.json", false},
        {"e", "e.%Y", true},
    };
    assert_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]), true, false);
}

static void case_counts_only_where_it_tells_names_apart(void **state)
{
    (void)state;
    static const struct pair pairs[] = {{"a", "A", true}, {"Az/{provider.name}", "aZ/Q", true},
        {"[", "{{", false}, {"@", "`", false}};
    assert_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]), false, true);
}

static void a_template_whose_files_are_called_as_rotated_ones_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *template;
        bool meets;
        bool hides;
    } cases[] = {
        {"co/{provider.name}", true, false},
        {"co/{provider.name}.ndjson", false, false},
        {"{provider.name}/e", false, false},
        {"{provider.name}{etw.session}.e", false, false},
        {"{provider.name}-{etw.session}", true, false},
        {"{provider.name}7", true, false},
        {"{provider.name}x7", false, false},
        {"{provider.name}.7", true, false},
        {"{provider.name}z", true, false}, /* a.5.gz */
        {"{provider.name}.gz", true, false},
        {"{provider.name}x.gz", false, false},
        {"{provider.name}.tmp", true, false},
        {"{provider.name}-%Y", false, false},
        {"{provider.name}%Y", true, false},
        {"{provider.name}.%Y", true, false},
        {"e-%Y", false, false},
        {"e.%Y", false, false},
        {"%Y.%m", false, false},
        {"%Y/{provider.name}.e", false, false},
        {"{provider.name}%Y{etw.session}.e", false, true},
        {"{provider.name}/%Y{etw.session}.e", false, false},
        {"{provider.name}%Y/{etw.session}.e", false, false},
        {"%Y{provider.name}.e", false, false},
        {"{provider.name}-%Y-%m-{etw.session}.e", false, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        shape(cases[i].template, &out);
        if (template_shape_meets_itself(buf_span(&out)) != cases[i].meets ||
            template_shape_hides_time(buf_span(&out)) != cases[i].hides) {
            fail_msg("%s", cases[i].template);
        }
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_templates_can_both_give_is_found),
        cmocka_unit_test(names_of_rotated_files_count),
        cmocka_unit_test(case_counts_only_where_it_tells_names_apart),
        cmocka_unit_test(a_template_whose_files_are_called_as_rotated_ones_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
