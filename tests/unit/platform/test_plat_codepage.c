#include "support/test.h"

#include <iconv.h>

#include "platform/plat_system.h"

/* Whole texts through iconv, which plat_codepage asks only for single characters. */
static void texts_agree_with_iconv(void **state)
{
    (void)state;
    static const struct {
        uint32_t id;
        const char *name;
        const char *utf8;
    } texts[] = {
        {1252, "CP1252", "Größe € „x“ – café\n"},
        {1250, "CP1250", "Příliš žluťoučký kůň"},
        {1251, "CP1251", "Служба политики"},
        {1253, "CP1253", "Υπηρεσία"},
        {1254, "CP1254", "hizmet başlatıldı İ"},
        {1255, "CP1255", "שירות"},
        {1256, "CP1256", "خدمة"},
        {1257, "CP1257", "paslauga šė"},
        {437, "CP437", "Größe ░ └──"},
        {850, "CP850", "Größe ¥ñ"},
        {866, "CP866", "Служба"},
        {874, "CP874", "บริการ"},
        {932, "CP932", "サービスは正常に開始 ｻｰﾋﾞｽ C:\\表 ～ソ"},
        {936, "CP936", "服务已成功启动"},
        {949, "CP949", "서비스가 시작되었습니다 뷁"},
        {950, "CP950", "服務已成功啟動"},
        {28605, "ISO-8859-15", "€ œuvre"},
        {20866, "KOI8-R", "Служба"},
        {37, "CP037", "EBCDIC \"is not\" ASCII"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        iconv_t converter = iconv_open(texts[i].name, "UTF-8");
        assert_true(converter != (iconv_t)-1);
        char utf8[256];
        char encoded[256];
        size_t utf8_left = strlen(texts[i].utf8);
        memcpy(utf8, texts[i].utf8, utf8_left);
        size_t room = sizeof(encoded);
        char *in = utf8;
        char *out = encoded;
        size_t bad = iconv(converter, &in, &utf8_left, &out, &room);
        iconv_close(converter);
        assert_int_equal(bad, 0);
        struct codepage page;
        struct error err = {0};
        assert_true(plat_codepage_init(&page, texts[i].id, &err));
        uint8_t decoded[256 * 6 + UTF_SLACK];
        struct span text = span_make(encoded, sizeof(encoded) - room);
        assert_span(span_make(decoded, codepage_to_utf8(&page, text, decoded)), texts[i].utf8);
        plat_codepage_fini(&page);
    }
}

static void the_built_in_page_is_the_one_of_the_system(void **state)
{
    (void)state;
    struct codepage page;
    assert_true(plat_codepage_init(&page, 1252, NULL));
    assert_memory_equal(page.single, codepage_1252.single, sizeof(page.single));
    assert_true(page.is_ascii);
    assert_null(page.pairs);
    plat_codepage_fini(&page);
}

static void bytes_without_a_character_are_c1_controls_or_replaced(void **state)
{
    (void)state;
    struct codepage page;
    assert_true(plat_codepage_init(&page, 1255, NULL));
    assert_int_equal(page.single[0x81], 0x81); /* Microsoft's bestfit1255.txt */
    assert_int_equal(page.single[0xfb], 0xfffd);
    plat_codepage_fini(&page);
    assert_true(plat_codepage_init(&page, 932, NULL));
    assert_int_equal(page.single[0x81], CODEPAGE_LEAD);
    assert_int_equal(page.single['\\'], '\\');
    plat_codepage_fini(&page);
}

static void ebcdic_is_not_taken_for_ascii(void **state)
{
    (void)state;
    struct codepage page;
    assert_true(plat_codepage_init(&page, 37, NULL));
    assert_false(page.is_ascii);
    plat_codepage_fini(&page);
}

static void unknown_pages_are_refused(void **state)
{
    (void)state;
    /* Nothing, the system default, UTF-16, ISO-2022-JP, GB 18030, UTF-7. */
    static const uint32_t ids[] = {0, 1, 1200, 50220, 54936, 65000, UINT32_MAX};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct codepage page = {.id = 4711};
        struct error err = {0};
        assert_false(plat_codepage_init(&page, ids[i], &err));
        assert_int_equal(err.code, ERR_UNSUPPORTED);
        assert_int_equal(page.id, 4711);
    }
    struct codepage utf8;
    assert_true(plat_codepage_init(&utf8, CODEPAGE_UTF8, NULL));
    plat_codepage_fini(&utf8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_agree_with_iconv),
        cmocka_unit_test(the_built_in_page_is_the_one_of_the_system),
        cmocka_unit_test(bytes_without_a_character_are_c1_controls_or_replaced),
        cmocka_unit_test(ebcdic_is_not_taken_for_ascii),
        cmocka_unit_test(unknown_pages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
