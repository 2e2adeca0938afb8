#include "unit/schema/wpp_plan_rig.h"

/* The result of each item type. */

/* One argument: its item type, its form in the text, its bytes, and the resulting data and text. */
static const struct {
    const char *type;
    const char *spec;
    const char *payload;
    const char *data;
    const char *text;
} items[] = {
    /* numbers */
    {"ItemChar", "d", "fe", "-2", "-2"},
    {"ItemChar", "c", "41", "65", "A"},
    {"ItemChar", "02x", "0a", "10", "0a"},
    {"ItemUChar", "s", "fe", "254", "254"},
    {"ItemUChar", "d", "c7", "199", "199"},
    {"ItemUChar", "hhd", "c7", "199", "-57"},
    {"ItemUShort", "d", "ffff", "65535", "65535"},
    {"ItemUShort", "hd", "ffff", "65535", "-1"},
    {"ItemShort", "hd", "ffff", "-1", "-1"},
    {"ItemShort", "04hX", "efbe", "48879", "BEEF"},
    {"ItemShort", "hu", "ffff", "65535", "65535"},
    {"ItemUShort", "u", "ffff", "65535", "65535"},
    {"ItemLong", "d", "ffffffff", "-1", "-1"},
    {"ItemLong", "i", "2a000000", "42", "42"},
    {"ItemLong", "u", "ffffffff", "4294967295", "4294967295"},
    {"ItemLong", "x", "c0500000", "20672", "50c0"},
    {"ItemLong", "08x", "c0500000", "20672", "000050c0"},
    {"ItemLong", "#X", "c0500000", "20672", "0X50C0"},
    {"ItemLong", "o", "08000000", "8", "10"},
    {"ItemLong", "6d", "2a000000", "42", "    42"},
    {"ItemLong", "-6d", "2a000000", "42", "42    "},
    {"ItemLong", "06d", "d6ffffff", "-42", "-00042"},
    {"ItemLong", "+d", "2a000000", "42", "+42"},
    {"ItemLong", " d", "2a000000", "42", " 42"},
    {"ItemLong", ".4d", "2a000000", "42", "0042"},
    {"ItemLong", "6.4d", "2a000000", "42", "  0042"},
    {"ItemLong", "hd", "ffff0100", "131071", "-1"},
    {"ItemLong", "c", "2a000000", "42", "*"},
    {"ItemLong", "s", "d6ffffff", "-42", "-42"},
    {"ItemULong", "lu", "ffffffff", "4294967295", "4294967295"},
    {"ItemULongX", "s", "ff000000", "\"0xff\"", "0xff"},
    {"ItemLongLong", "I64d", "feffffffffffffff", "-2", "-2"},
    {"ItemLongLong", "lld", "0000000001000000", "4294967296", "4294967296"},
    {"ItemULongLong", "I64u", "ffffffffffffffff", "18446744073709551615", "18446744073709551615"},
    {"ItemLongLongX", "I64x", "efbeadde00000000", "\"0xdeadbeef\"", "deadbeef"},
    {"ItemLongLongXX", "012I64X", "efbeadde00000000", "\"0xdeadbeef\"", "0000DEADBEEF"},
    {"ItemLongLongO", "I64o", "0002000000000000", "512", "1000"},
    {"ItemFloat", "f", "0000c03f", "1.5", "1.500000"},
    {"ItemDouble", "s", "000000000000f83f", "1.5", "1.5"},
    {"ItemDouble", "s", "0000000000200940", "3.140625", "3.14062"}, /* "dbl=3.14062" of tracefmt */
    {"ItemFloat", "s", "00004940", "3.140625", "3.14062"},
    {"ItemDouble", "10s", "0000000000200940", "3.140625", "   3.14062"},
    {"ItemDouble", ".2f", "000000000000f83f", "1.5", "1.50"},
    {"ItemDouble", "09.2f", "000000000000f8bf", "-1.5", "-00001.50"},
    {"ItemDouble", "-8.1f", "000000000000f83f", "1.5", "1.5     "},
    {"ItemDouble", "e", "000000000000f83f", "1.5", "1.500000e+00"},
    {"ItemDouble", "g", "000000000000f83f", "1.5", "1.5"},
    /* WPP writes doubles as `s`; `%.2f` of the source becomes `.2s`. 123.456, -0.5, infinity */
    {"ItemDouble", ".2s", "77be9f1a2fdd5e40", "123.456", "123.46"},
    {"ItemDouble", "8.1s", "77be9f1a2fdd5e40", "123.456", "   123.5"},
    {"ItemDouble", "-8.0s", "77be9f1a2fdd5e40", "123.456", "123     "},
    {"ItemDouble", "06.1s", "000000000000e0bf", "-0.5", "-000.5"},
    {"ItemDouble", "9s", "77be9f1a2fdd5e40", "123.456", "  123.456"},
    {"ItemFloat", ".1s", "79e9f642", "123.456", "123.5"},
    /* A precision cuts only strings. */
    {"ItemLong", ".2s", "39300000", "12345", "12345"},
    {"ItemLong", "8.2s", "39300000", "12345", "   12345"},
    {"ItemNTSTATUS", ".4s", "220000c0", "3221225506,\"arg10_name\":\"STATUS_ACCESS_DENIED\"",
        "0xc0000022(STATUS_ACCESS_DENIED)"},
    {"ItemGuid", ".8s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemListByte(Low,APC,DPC)", ".2s", "01", "1,\"arg10_name\":\"APC\"", "0x00000001(APC)"},
    {"ItemIPAddr", ".3s", "c0000207", "\"192.0.2.7\"", "192.0.2.7"},
    {"ItemPWString", ".2s", "0600 L'abc'", "\"abc\"", "ab"},
    {"ItemWString", "5.2s", "L'wide'0000", "\"wide\"", "   wi"},
    {"ItemPString", ".2s", "0300'abc'", "\"abc\"", "ab"},
    {"ItemChar4", ".3s", "'RGBA'", "\"RGBA\"", "RGB"},
    {"ItemPtr", "p", "1032547600e0ffff", "\"0xffffe00076543210\"", "FFFFE00076543210"},
    {"ItemPtr", "Ix", "1032000000000000", "\"0x3210\"", "3210"},
    {"ItemPtr", "Id", "ffffffffffffffff", "-1", "-1"},
    {"ItemPtr", "Iu", "0a00000000000000", "10", "10"},
    /* strings */
    {"ItemString", "s", "'core-state'00", "\"core-state\"", "core-state"},
    {"ItemString", "12s", "'core'00", "\"core\"", "        core"},
    {"ItemString", "-6.2s", "'core'00", "\"core\"", "co    "},
    {"ItemString", "s", "'a\"b'5c00", "\"a\\\"b\\\\\"", "a\\\"b\\\\"},
    {"ItemString", "4s", "'\"'0a00", "\"\\\"\\n\"", "  \\\"\\n"},
    {"ItemString", "d", "'core'00", "\"core\"", "core"},
    {"ItemRString", "s", "'x'00", "\"x\"", "x"},
    {"ItemWString", "ws", "L'wide'0000", "\"wide\"", "wide"},
    {"ItemRWString", "S", "L'wide'0000", "\"wide\"", "wide"},
    {"ItemPString", "s", "0300'abc'", "\"abc\"", "abc"},
    {"ItemPWString", "wZ", "0600 L'abc'", "\"abc\"", "abc"},
    {"ItemPWString", "s", "0000", "\"\"", ""},
    {"ItemChar4", "s", "'RGBA'", "\"RGBA\"", "RGBA"},
    {"ItemDSString", "s", "0003'abc'", "\"abc\"", "abc"}, /* the count's high byte first */
    {"ItemDSWString", "s", "0004L'ab'", "\"ab\"", "ab"},
    {"ItemNWString", "s", "L'ab'", "\"ab\"", "ab"}, /* up to the end of the payload */
    {"ItemCharShort", "s", "fe", "-2", "-2"},
    /* counted bytes */
    {"ItemHexDump", "s", "0400deadbeef", "\"deadbeef\"", "de ad be ef"},
    {"ItemHEXDump", "s", "0000", "\"\"", ""},
    {"ItemHexBytes", "s", "0200c0de", "\"c0de\"", "c0 de"},
    /* identifiers */
    {"ItemGuid", "s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemCLSID", "s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemLIBID", "s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemIID", "s", "d9bdbba5f973ed3b93aa521a4c96d934", "\"" GUID "\"", GUID},
    {"ItemSid", "s", "010100000000000512000000", "\"S-1-5-18\"", "S-1-5-18"},
    /* codes */
    {"ItemNTSTATUS", "s", "220000c0", "3221225506,\"arg10_name\":\"STATUS_ACCESS_DENIED\"",
        "0xc0000022(STATUS_ACCESS_DENIED)"},
    {"ItemNTSTATUS", "08X", "220000c0", "3221225506,\"arg10_name\":\"STATUS_ACCESS_DENIED\"",
        "C0000022"},
    {"ItemNTSTATUS", "s", "ffff00e0", "3758161919", "0xe000ffff"},
    {"ItemNTerror", "s", "220000c0", "3221225506,\"arg10_name\":\"STATUS_ACCESS_DENIED\"",
        "0xc0000022(STATUS_ACCESS_DENIED)"},
    {"ItemNDIS_STATUS", "s", "00000000", "0,\"arg10_name\":\"STATUS_SUCCESS\"",
        "0x00000000(STATUS_SUCCESS)"},
    {"ItemWINERROR", "s", "05000000", "5,\"arg10_name\":\"ERROR_ACCESS_DENIED\"",
        "5(ERROR_ACCESS_DENIED)"},
    {"ItemWINERROR", "s", "fffff000", "15794175", "15794175"},
    {"ItemHRESULT", "s", "05400080", "-2147467259,\"arg10_name\":\"E_FAIL\"", "0x80004005(E_FAIL)"},
    {"ItemNDIS_OID", "s", "02010100", "\"0x10102\"", "0x00010102"},
    {"ItemHRESULT", "s", "05000780", "-2147024891,\"arg10_name\":\"E_ACCESSDENIED\"",
        "0x80070005(ERROR_ACCESS_DENIED)"},
    {"ItemHRESULT", "s", "00000000", "0,\"arg10_name\":\"S_OK\"", "0x00000000(S_OK)"},
    {"ItemHRESULT", "s", "ffff0780", "-2146959361", "0x8007ffff"},
    /* names */
    /* "b=0x00000001(true) irql=0x00000002(DPC)" */
    {"ItemListByte(Low,APC,DPC)", "s", "02", "2,\"arg10_name\":\"DPC\"", "0x00000002(DPC)"},
    {"ItemListByte(Low,APC,DPC)", "s", "07", "7", "0x00000007"},
    {"ItemListByte(Low,APC,DPC)", "d", "02", "2,\"arg10_name\":\"DPC\"", "2"},
    {"ItemListShort(false, true)", "s", "0100", "1,\"arg10_name\":\"true\"", "0x00000001(true)"},
    {"ItemListLong(FALSE,TRUE)", "18s", "00000000", "0,\"arg10_name\":\"FALSE\"",
        " 0x00000000(FALSE)"},
    {"ItemSetByte(1,2,3,4,5,6,7,8)", "s", "05", "5,\"arg10_name\":[\"1\",\"3\"]", "[1,3]"},
    {"ItemSetShort(a,b)", "s", "0000", "0,\"arg10_name\":[]", "[]"},
    {"ItemSetLong(a,b)", "s", "06000000", "6,\"arg10_name\":[\"b\",\"0x4\"]", "[b,0x4]"},
    {"ItemEnum(_POWER_STATE)", "s", "03000000", "3", "3"},
    {"ItemEnum(_POWER_STATE)", "s", "ffffffff", "-1", "-1"},
    {"ItemFlagsEnum(_FLAGS)", "s", "11000000", "\"0x11\"", "0x11"},
    /* the network */
    {"ItemIPAddr", "s", "c0000207", "\"192.0.2.7\"", "192.0.2.7"},
    {"ItemIPV6Addr", "s", "20010db8000000000000000000000001", "\"2001:db8::1\"", "2001:db8::1"},
    {"ItemMACAddr", "s", "0011223344fe", "\"0011223344fe\"", "00:11:22:33:44:fe"},
    {"ItemPort", "s", "01bb", "443", "443"},
    {"ItemPort", "d", "01bb", "443", "443"},
    /* times: 2026-11-21T09:30:00.1234567Z; one day, two hours, three minutes, four seconds in units
     * of 100 ns; "102ms" and "delta=5.000s" are tracefmt's, days Microsoft's page's */
    {"ItemTimestamp", "s", "87b234e19a79dd01", "\"2026-11-21T09:30:00.1234567Z\"",
        "2026-11-21T09:30:00.1234567Z"},
    {"ItemTimeDelta", "s", "60900f0000000000", "1020000", "102ms"},
    {"ItemTimeDelta", "s", "80f0fa0200000000", "50000000", "5.000s"},
    {"ItemTimeDelta", "s", "0f27000000000000", "9999", "0ms"},
    {"ItemTimeDelta", "s", "7f96980000000000", "9999999", "999ms"},
    {"ItemTimeDelta", "s", "8096980000000000", "10000000", "1.000s"},
    {"ItemTimeDelta", "s", "ff45c32300000000", "599999999", "59.999s"},
    {"ItemTimeDelta", "s", "0046c32300000000", "600000000", "0~0:01:00"},
    {"ItemTimeDelta", "s", "00bc9e5bda000000", "937840000000", "1~2:03:04"},
    {"ItemTimeDelta", "s", "a06ff0ffffffffff", "-1020000", "-102ms"},
    {"ItemTimeDelta", "s", "ffffffffffffffff", "-1", "0ms"},
    {"ItemTimeDelta", "s", "0000000000000080", "-9223372036854775808", "-10675199~2:48:05"},
    {"ItemTimeDelta", "I64d", "60900f0000000000", "1020000", "1020000"},
    {"ItemWaitTime", "s", "87b234e19a79dd01", "134397270001234567", "2026-11-21T09:30:00.1234567Z"},
    {"ItemWaitTime", "s", "800f05fdffffffff", "-50000000", "-5.000s"},
};

/* In the form of tracepdb, after the messages that use them; for 1 and 5 tracefmt gave
 * "state=StateActive flags=FlagRead | FlagExec(0x5)". */
static void enumerations_of_the_file_name_values(void **state)
{
    (void)state;
    static const char enumerations[] = "#enumv _STATE\n{\nStateIdle,0x0\nStateActive,0x1\n}\n"
                                       "#enumv _FLAGS\r\n{\r\nFlagRead,0x1\r\nFlagWrite,0x2\r\n"
                                       "FlagExec,0x4\r\n}\r\n"
                                       "#enumv _STATE\n{\nAnother,1\n}\n#enumv _OPEN\n{\nA,1\n";
    static const struct {
        const char *type;
        const char *payload;
        const char *data;
        const char *text;
    } cases[] = {
        {"ItemEnum(_STATE)", "01000000", "1,\"arg10_name\":\"StateActive\"", "StateActive"},
        {"ItemEnum(_STATE)", "07000000", "7", "7"},
        {"ItemFlagsEnum(_FLAGS)", "05000000", "\"0x5\",\"arg10_name\":[\"FlagRead\",\"FlagExec\"]",
            "FlagRead | FlagExec(0x5)"},
        {"ItemFlagsEnum(_FLAGS)", "12000000", "\"0x12\",\"arg10_name\":[\"FlagWrite\",\"0x10\"]",
            "FlagWrite(0x12)"},
        {"ItemFlagsEnum(_FLAGS)", "00000000", "\"0x0\",\"arg10_name\":[]", "0x0"},
        {"ItemEnum(_OPEN)", "01000000", "1", "1"}, /* it has no end */
        {"ItemEnum(_NONE)", "01000000", "1", "1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char tmf[1024];
        char data[256];
        snprintf(tmf, sizeof(tmf), HEAD "\"%%0<%%10!s!>\"" TAIL "{\nx, %s -- 10\n}\n%s",
            cases[i].type, enumerations);
        snprintf(data, sizeof(data), "{\"arg10\":%s}", cases[i].data);
        struct made m;
        make(&m, tmf, cases[i].payload, 8);
        struct span text = part_of(&m, "\"message\":\"<", ">\"");
        if (!strstr((const char *)m.out.data, data) || !span_is(text, cases[i].text)) {
            fail_msg("%s is %s", cases[i].type, (const char *)m.out.data);
        }
        fini(&m);
    }
}

static void each_item_type_has_its_bytes_and_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        char tmf[512];
        char data[256];
        snprintf(tmf, sizeof(tmf), HEAD "\"%%0<%%10!%s!>\"" TAIL "{\nx, %s -- 10\n}\n",
            items[i].spec, items[i].type);
        snprintf(data, sizeof(data), "{\"arg10\":%s}", items[i].data);
        struct made m;
        make(&m, tmf, items[i].payload, 8);
        if (m.event.status != DECODE_COMPLETE) {
            fail_msg("%s: %s", items[i].type, m.event.error ? m.event.error : "left over");
        }
        struct span text = part_of(&m, "\"message\":\"<", ">\"");
        if (!strstr((const char *)m.out.data, data) || !span_is(text, items[i].text)) {
            fail_msg("%s as %s is %s", items[i].type, items[i].spec, (const char *)m.out.data);
        }
        fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_type_has_its_bytes_and_its_text),
        cmocka_unit_test(enumerations_of_the_file_name_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
