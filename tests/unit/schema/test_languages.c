#include "schema/text/languages.h"

#include "support/test.h"

/* Numbers are those of [MS-LCID] 2.2. */
static void tags_have_the_numbers_of_windows(void **state)
{
    (void)state;
    static const struct {
        const char *tag;
        uint16_t id;
    } rows[] = {{"en-US", 1033}, {"EN-us", 1033}, {"de-DE", 1031}, {"fr-FR", 1036}, {"ja-JP", 1041},
        {"zh-CN", 2052}, {"pt-BR", 1046}, {"es-ES", 3082}, {"sr-Latn-RS", 9242}, {"", 0}, {"en", 0},
        {"xx-YY", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(languages_id(span_text(rows[i].tag)), rows[i].id);
    }
}

static void the_wanted_language_goes_first_and_american_english_before_what_nobody_asked_for(
    void **state)
{
    (void)state;
    enum { EN_US = 0x409, EN_GB = 0x809, DE_DE = 0x407, DE_AT = 0xc07, FR_FR = 0x40c };
    static const uint16_t by_default[] = {EN_US, 0, EN_GB, FR_FR};
    static const uint16_t german[] = {DE_DE, DE_AT, EN_US, 0, EN_GB, FR_FR};
    for (size_t i = 1; i < sizeof(by_default) / sizeof(by_default[0]); i++) {
        assert_true(languages_rank(0, by_default[i - 1]) < languages_rank(0, by_default[i]));
        assert_true(
            languages_rank(EN_US, by_default[i - 1]) < languages_rank(EN_US, by_default[i]));
    }
    for (size_t i = 1; i < sizeof(german) / sizeof(german[0]); i++) {
        assert_true(languages_rank(DE_DE, german[i - 1]) < languages_rank(DE_DE, german[i]));
    }
}

static void tags_are_ranked_alike(void **state)
{
    (void)state;
    static const char *const german[] = {"de-de", "de-AT", "en-US", "", "en-GB", "fr-FR"};
    static const char *const by_default[] = {"EN-US", "", "en", "de-DE"};
    struct span wanted = span_text("de-DE");
    struct span none = span_make(NULL, 0);
    for (size_t i = 1; i < sizeof(german) / sizeof(german[0]); i++) {
        assert_true(languages_rank_tag(wanted, span_text(german[i - 1])) <
                    languages_rank_tag(wanted, span_text(german[i])));
    }
    for (size_t i = 1; i < sizeof(by_default) / sizeof(by_default[0]); i++) {
        assert_true(languages_rank_tag(none, span_text(by_default[i - 1])) <
                    languages_rank_tag(none, span_text(by_default[i])));
    }
}

static void countries_of_one_language_go_together_and_so_does_what_has_none(void **state)
{
    (void)state;
    assert_true(languages_go_together(0x409, 0x809));
    assert_true(languages_go_together(0x409, 0));
    assert_true(languages_go_together(0, 0x407));
    assert_false(languages_go_together(0x409, 0x407));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_have_the_numbers_of_windows),
        cmocka_unit_test(
            the_wanted_language_goes_first_and_american_english_before_what_nobody_asked_for),
        cmocka_unit_test(tags_are_ranked_alike),
        cmocka_unit_test(countries_of_one_language_go_together_and_so_does_what_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
