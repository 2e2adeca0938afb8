#include "event/value/ecs_convert.h"

#include "unit/event/writer_fixture.h"

/* Values of each conversion, and the expected results, by hand. */

static const struct {
    enum ecs_conversion how;
    const char *parameter;
    uint16_t in_type;
    uint16_t out_type;
    const char *payload;
    const char *json; /* NULL: there is no value */
} scalars[] = {
    {ECS_CONVERT_text, "", IN_UNICODE_STRING, 0, "L'a \"b\"'", "\"a \\\"b\\\"\""},
    {ECS_CONVERT_text, "", IN_ANSI_STRING, 0, "'cmd.exe'", "\"cmd.exe\""},
    {ECS_CONVERT_text, "", IN_GUID, 0, "00010203 0405 0607 0809 0a0b0c0d0e0f",
        "\"03020100-0504-0706-0809-0a0b0c0d0e0f\""},
    {ECS_CONVERT_text, "", IN_GUID, 0, "00000000 0000 0000 0000 000000000000", NULL},
    {ECS_CONVERT_text, "", IN_UINT32, 0, "11000000", "\"17\""},
    {ECS_CONVERT_text, "", IN_UNICODE_STRING, 0, "", NULL},
    {ECS_CONVERT_text, "", IN_UNICODE_STRING, 0, "L'-'", NULL},
    {ECS_CONVERT_text, "", IN_BINARY, 0, "0102", NULL},
    {ECS_CONVERT_lower, "", IN_UNICODE_STRING, 0, "L'TcP'", "\"tcp\""},
    {ECS_CONVERT_lower, "", IN_UNICODE_STRING, 0, "L'-'", NULL},

    {ECS_CONVERT_long, "", IN_UINT32, 0, "ffffffff", "4294967295"},
    {ECS_CONVERT_long, "", IN_INT32, 0, "050000c0", "-1073741819"},
    {ECS_CONVERT_long, "", IN_HEX_INT64, 0, "1000000000000000", "16"},
    {ECS_CONVERT_long, "", IN_UINT64, 0, "ffffffffffffff7f", "9223372036854775807"},
    {ECS_CONVERT_long, "", IN_UINT64, 0, "0000000000000080", NULL},
    {ECS_CONVERT_long, "", IN_UNICODE_STRING, 0, "L'49152'", "49152"},
    {ECS_CONVERT_long, "", IN_UNICODE_STRING, 0, "L'0x1F'", "31"},
    {ECS_CONVERT_long, "", IN_UNICODE_STRING, 0, "L'0x'", NULL},
    {ECS_CONVERT_long, "", IN_UNICODE_STRING, 0, "L'12 '", NULL},
    {ECS_CONVERT_long, "", IN_UNICODE_STRING, 0, "L'18446744073709551616'", NULL},
    {ECS_CONVERT_long, "", IN_FLOAT, 0, "0000803f", NULL},
    {ECS_CONVERT_pid, "", IN_UINT32, 0, "00000000", "0"},
    {ECS_CONVERT_pid, "", IN_UINT32, 0, "ffffffff", NULL},
    {ECS_CONVERT_pid, "", IN_POINTER, 0, "d204000000000000", "1234"},
    {ECS_CONVERT_pid, "", IN_POINTER, 0, "d204000001000000", NULL},
    {ECS_CONVERT_caller, "", IN_POINTER, 0, "d204000000000000", "1234"},
    {ECS_CONVERT_caller, "", IN_POINTER, 0, "0000000000000000", NULL},
    {ECS_CONVERT_caller, "", IN_UINT32, 0, "ffffffff", NULL},
    {ECS_CONVERT_port, "", IN_UINT16, OUT_PORT, "01bb", "443"},
    {ECS_CONVERT_port, "", IN_UINT16, OUT_PORT, "0000", NULL},
    {ECS_CONVERT_port, "", IN_UINT32, 0, "00000100", NULL},
    {ECS_CONVERT_port, "", IN_UNICODE_STRING, 0, "L'0'", NULL},
    {ECS_CONVERT_port, "", IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bd c0000207 0000000000000000",
        "445"},

    {ECS_CONVERT_ip, "", IN_UINT32, OUT_IPV4, "c0000207", "\"192.0.2.7\""},
    {ECS_CONVERT_ip, "", IN_BINARY, OUT_IPV6, "20010db8000000000000000000000001",
        "\"2001:db8::1\""},
    {ECS_CONVERT_ip, "", IN_BINARY, OUT_IPV6, "00000000000000000000ffffc0000207", "\"192.0.2.7\""},
    {ECS_CONVERT_ip, "", IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bd c0000207 0000000000000000",
        "\"192.0.2.7\""},
    {ECS_CONVERT_ip, "", IN_BINARY, OUT_SOCKET_ADDRESS,
        "1700 01bd 00000000 fe800000000000000000000000000001 03000000", "\"fe80::1\""},
    {ECS_CONVERT_ip, "", IN_BINARY, OUT_SOCKET_ADDRESS, "0100 01bd c0000207", NULL},
    {ECS_CONVERT_ip, "", IN_UNICODE_STRING, 0, "L'::ffff:10.1.2.3'", "\"10.1.2.3\""},
    {ECS_CONVERT_ip, "", IN_UNICODE_STRING, 0, "L'FE80::1%12'", "\"fe80::1\""},
    {ECS_CONVERT_ip, "", IN_UNICODE_STRING, 0, "L'192.0.2.7:3389'", "\"192.0.2.7\""},
    {ECS_CONVERT_ip, "", IN_UNICODE_STRING, 0, "L'[2001:db8::1]:443'", "\"2001:db8::1\""},
    {ECS_CONVERT_ip, "", IN_UNICODE_STRING, 0, "L'LOCAL'", NULL},
    {ECS_CONVERT_ip, "", IN_UNICODE_STRING, 0, "L'192.0.2.256'", NULL},
    {ECS_CONVERT_ip, "", IN_UINT32, 0, "c0000207", NULL},
    {ECS_CONVERT_ip_type, "", IN_UNICODE_STRING, 0, "L'2001:db8::1'", "\"ipv6\""},
    {ECS_CONVERT_ip_type, "", IN_UNICODE_STRING, 0, "L'::ffff:1.2.3.4'", "\"ipv4\""},
    {ECS_CONVERT_ip_type, "", IN_UNICODE_STRING, 0, "L'PC'", NULL},
    {ECS_CONVERT_host, "", IN_UNICODE_STRING, 0, "L'\\\\PC-7'", "\"PC-7\""},
    {ECS_CONVERT_host, "", IN_UNICODE_STRING, 0, "L'10.0.0.1'", NULL},
    {ECS_CONVERT_host, "", IN_UNICODE_STRING, 0, "L'\\\\10.0.0.1'", NULL},

    {ECS_CONVERT_sid, "", IN_SID, 0, "0101000000000005 12000000", "\"S-1-5-18\""},
    {ECS_CONVERT_sid, "", IN_SID, 0, "0101000000000000 00000000", NULL},
    {ECS_CONVERT_sid, "", IN_UNICODE_STRING, 0, "L'S-1-5-20'", "\"S-1-5-20\""},
    {ECS_CONVERT_sid, "", IN_UNICODE_STRING, 0, "L'Smith'", NULL},
    {ECS_CONVERT_name, "", IN_UNICODE_STRING, 0, "L'NT AUTHORITY\\SYSTEM'", "\"SYSTEM\""},
    {ECS_CONVERT_name, "", IN_UNICODE_STRING, 0, "L'smith'", "\"smith\""},
    {ECS_CONVERT_name, "", IN_UNICODE_STRING, 0, "L'S-1-5-18'", NULL},
    {ECS_CONVERT_domain, "", IN_UNICODE_STRING, 0, "L'NT AUTHORITY\\SYSTEM'", "\"NT AUTHORITY\""},
    {ECS_CONVERT_domain, "", IN_UNICODE_STRING, 0, "L'smith'", NULL},

    /* 2026-11-21T09:30:00.1234567Z */
    {ECS_CONVERT_time, "", IN_FILETIME, 0, "87b234e19a79dd01", "\"2026-11-21T09:30:00.1234567Z\""},
    {ECS_CONVERT_time, "", IN_FILETIME, 0, "0000000000000000", NULL},
    {ECS_CONVERT_time, "", IN_UINT64, 0, "87b234e19a79dd01", NULL},

    {ECS_CONVERT_basename, "", IN_UNICODE_STRING, 0, "L'\\Device\\X\\a.exe'", "\"a.exe\""},
    {ECS_CONVERT_basename, "", IN_UNICODE_STRING, 0, "L'System'", "\"System\""},
    {ECS_CONVERT_basename, "", IN_UNICODE_STRING, 0, "L'C:\\'", NULL},
    {ECS_CONVERT_directory, "", IN_UNICODE_STRING, 0, "L'C:\\a/b.txt'", "\"C:\\\\a\""},
    {ECS_CONVERT_directory, "", IN_UNICODE_STRING, 0, "L'b.txt'", NULL},
    {ECS_CONVERT_extension, "", IN_UNICODE_STRING, 0, "L'C:\\a.d\\b.tar.gz'", "\"gz\""},
    {ECS_CONVERT_extension, "", IN_UNICODE_STRING, 0, "L'C:\\a.d\\b'", NULL},
    {ECS_CONVERT_extension, "", IN_UNICODE_STRING, 0, "L'C:\\.profile'", NULL},
    {ECS_CONVERT_extension, "", IN_UNICODE_STRING, 0, "L'C:\\b.'", NULL},

    {ECS_CONVERT_words, "6=tcp,17=udp", IN_UINT16, 0, "1100", "\"udp\""},
    {ECS_CONVERT_words, "6=tcp,17=udp", IN_UINT16, 0, "0100", NULL},
    {ECS_CONVERT_words, "%%14592=ingress", IN_UNICODE_STRING, 0, "L'%%14592'", "\"ingress\""},
    {ECS_CONVERT_words, "1=egress,0=ingress", IN_BOOLEAN, 0, "01000000", "\"egress\""},
    {ECS_CONVERT_words, "true=egress", IN_UNICODE_STRING, 0, "L'True'", "\"egress\""},
    {ECS_CONVERT_words, "", IN_UINT16, 0, "0100", NULL},

    {ECS_CONVERT_outcome, "", IN_UINT32, 0, "00000000", "\"success\""},
    {ECS_CONVERT_outcome, "", IN_UINT32, 0, "2b230000", "\"failure\""},
    {ECS_CONVERT_outcome, "", IN_UNICODE_STRING, 0, "L'0'", "\"success\""},
    {ECS_CONVERT_outcome, "", IN_UNICODE_STRING, 0, "L'no'", NULL},
    {ECS_CONVERT_outcome, "", IN_UINT64, 0, "0000000001000000", NULL},
    {ECS_CONVERT_code, "", IN_UINT32, 0, "2b230000", "\"9003\""},
    {ECS_CONVERT_code, "", IN_UINT32, 0, "00000000", NULL},
    {ECS_CONVERT_nt_outcome, "", IN_UINT32, OUT_NTSTATUS, "340000c0", "\"failure\""},
    {ECS_CONVERT_nt_outcome, "", IN_UINT32, OUT_NTSTATUS, "03010000", "\"success\""},
    {ECS_CONVERT_nt_outcome, "", IN_INT32, 0, "05400080", "\"failure\""},
    {ECS_CONVERT_nt_code, "", IN_UINT32, OUT_NTSTATUS, "340000c0", "\"0xc0000034\""},
    {ECS_CONVERT_nt_code, "", IN_INT32, 0, "05400080", "\"0x80004005\""},
    {ECS_CONVERT_nt_code, "", IN_UINT32, 0, "03010000", NULL},

    {ECS_CONVERT_hash, "MD5", IN_UNICODE_STRING, 0, "L'SHA1=AB12,MD5=0F,IMPHASH=1'", "\"0f\""},
    {ECS_CONVERT_hash, "SHA256", IN_UNICODE_STRING, 0, "L'SHA1=AB12,MD5=0F'", NULL},
    {ECS_CONVERT_hash, "MD5", IN_UNICODE_STRING, 0, "L'MD5=xyz'", NULL},
    {ECS_CONVERT_hash, "MD5", IN_UNICODE_STRING, 0, "L'MD5='", NULL},
    {ECS_CONVERT_pair, "Host Name", IN_UNICODE_STRING, 0,
        "L'  Severity = I' 0d000a00 L'  Host Name = ConsoleHost' 0d000a00 L'  User = a'",
        "\"ConsoleHost\""},
    {ECS_CONVERT_pair, "Host", IN_UNICODE_STRING, 0, "L'  Host Name = ConsoleHost'", NULL},
    {ECS_CONVERT_pair, "Path", IN_UNICODE_STRING, 0, "L'  Path = ' 0d000a00", NULL},

    {ECS_CONVERT_dns_name, "", IN_UNICODE_STRING, 0, "L'a.example.'", "\"a.example\""},
    {ECS_CONVERT_dns_name, "", IN_UNICODE_STRING, 0, "L'.'", NULL},
    {ECS_CONVERT_dns_type, "", IN_UINT32, 0, "1c000000", "\"AAAA\""},
    {ECS_CONVERT_dns_type, "", IN_UINT32, 0, "d2040000", "\"TYPE1234\""},
    {ECS_CONVERT_dns_type, "", IN_UINT32, 0, "00000100", NULL},
    {ECS_CONVERT_dns_type, "", IN_UINT32, 0, "00000000", NULL},

    {ECS_CONVERT_registry_path, "", IN_UNICODE_STRING, 0, "L'\\Registry\\Machine\\SOFTWARE\\A'",
        "\"HKLM\\\\SOFTWARE\\\\A\""},
    {ECS_CONVERT_registry_path, "", IN_UNICODE_STRING, 0, "L'\\REGISTRY\\USER'", "\"HKU\""},
    {ECS_CONVERT_registry_path, "", IN_UNICODE_STRING, 0, "L'SOFTWARE\\A'", NULL},
    {ECS_CONVERT_registry_path, "", IN_UNICODE_STRING, 0, "L'HKLMX\\A'", NULL},
    {ECS_CONVERT_registry_hive, "", IN_UNICODE_STRING, 0, "L'HKEY_CURRENT_USER\\A'", "\"HKCU\""},
    {ECS_CONVERT_registry_key, "", IN_UNICODE_STRING, 0, "L'HKU\\S-1\\A'", "\"S-1\\\\A\""},
    {ECS_CONVERT_registry_key, "", IN_UNICODE_STRING, 0, "L'HKU'", NULL},
    {ECS_CONVERT_registry_parent, "", IN_UNICODE_STRING, 0, "L'HKLM\\A\\B\\v'", "\"A\\\\B\""},

    {ECS_CONVERT_url, "", IN_UNICODE_STRING, 0, "L'https://x/y'", "\"https://x/y\""},
    {ECS_CONVERT_url, "", IN_UNICODE_STRING, 0, "L'/y'", NULL},
    {ECS_CONVERT_url, "", IN_UNICODE_STRING, 0, "L'://x'", NULL},
    {ECS_CONVERT_url_scheme, "", IN_UNICODE_STRING, 0, "L'HTTP://x'", "\"http\""},
    {ECS_CONVERT_url_domain, "", IN_UNICODE_STRING, 0, "L'http://u:p@Example.ORG:8080/a?b#c'",
        "\"example.org\""},
    {ECS_CONVERT_url_domain, "", IN_UNICODE_STRING, 0, "L'http://[2001:db8::1]:80/'",
        "\"2001:db8::1\""},
    {ECS_CONVERT_url_port, "", IN_UNICODE_STRING, 0, "L'http://[2001:db8::1]:80/'", "80"},
    {ECS_CONVERT_url_port, "", IN_UNICODE_STRING, 0, "L'http://x/'", NULL},
    {ECS_CONVERT_url_port, "", IN_UNICODE_STRING, 0, "L'http://x:99999/'", NULL},
    {ECS_CONVERT_url_path, "", IN_UNICODE_STRING, 0, "L'http://x/a/b?c=/d'", "\"/a/b\""},
    {ECS_CONVERT_url_path, "", IN_UNICODE_STRING, 0, "L'http://x?c'", NULL},
    {ECS_CONVERT_url_query, "", IN_UNICODE_STRING, 0, "L'http://x/a?b=1&c#d'", "\"b=1&c\""},
    {ECS_CONVERT_url_query, "", IN_UNICODE_STRING, 0, "L'http://x/a#b?c'", NULL},

    {ECS_CONVERT_account, "", IN_UNICODE_STRING, 0, "L'smith@CORP.EXAMPLE'", "\"smith\""},
    {ECS_CONVERT_account, "", IN_UNICODE_STRING, 0, "L'smith'", "\"smith\""},
    {ECS_CONVERT_dn_name, "", IN_UNICODE_STRING, 0, "L'CN=Smith\\, J,OU=x,DC=corp,DC=example'",
        "\"Smith\\\\, J\""},
    {ECS_CONVERT_dn_name, "", IN_UNICODE_STRING, 0, "L'-'", NULL},
    {ECS_CONVERT_dn_domain, "", IN_UNICODE_STRING, 0, "L'cn=a,ou=x,dc=corp,dc=example'",
        "\"corp\""},
    {ECS_CONVERT_dn_domain, "", IN_UNICODE_STRING, 0, "L'CN=a,OU=DC'", NULL},
    {ECS_CONVERT_guid, "", IN_GUID, 0, "00010203 0405 0607 0809 0a0b0c0d0e0f",
        "\"{03020100-0504-0706-0809-0a0b0c0d0e0f}\""},
    {ECS_CONVERT_guid, "", IN_UNICODE_STRING, 0, "L'{03020100-0504-0706-0809-0A0B0C0D0E0F}'",
        "\"{03020100-0504-0706-0809-0a0b0c0d0e0f}\""},
    {ECS_CONVERT_guid, "", IN_UNICODE_STRING, 0, "L'{00000000-0000-0000-0000-000000000000}'", NULL},
    {ECS_CONVERT_guid, "", IN_UNICODE_STRING, 0, "L'{'", NULL},
    {ECS_CONVERT_args_count, "", IN_UNICODE_STRING, 0, "L'a  b '", "2"},
    {ECS_CONVERT_args_count, "", IN_UNICODE_STRING, 0, "L''", NULL},
    {ECS_CONVERT_nt_name, "", IN_UNICODE_STRING, 0, "L'0xc000006d'", "\"STATUS_LOGON_FAILURE\""},
    {ECS_CONVERT_nt_name, "", IN_UINT32, 0, "6a0000c0", "\"STATUS_WRONG_PASSWORD\""},
    {ECS_CONVERT_nt_name, "", IN_UINT32, 0, "00000000", NULL},
    {ECS_CONVERT_audit_outcome, "", IN_HEX_INT64, 0, "0000000000002080", "\"success\""},
    {ECS_CONVERT_audit_outcome, "", IN_HEX_INT64, 0, "0000000000001080", "\"failure\""},
    {ECS_CONVERT_audit_outcome, "", IN_HEX_INT64, 0, "0000000000000080", NULL},
    {ECS_CONVERT_truth, "", IN_UNICODE_STRING, 0, "L'True'", "true"},
    {ECS_CONVERT_truth, "", IN_BOOLEAN, 0, "00000000", "false"},
    {ECS_CONVERT_truth, "", IN_UNICODE_STRING, 0, "L'-'", NULL},
    {ECS_CONVERT_is, "Valid", IN_UNICODE_STRING, 0, "L'Valid'", "true"},
    {ECS_CONVERT_is, "Valid", IN_UNICODE_STRING, 0, "L'Unavailable'", NULL},
    {ECS_CONVERT_registry_type, "", IN_UNICODE_STRING, 0, "L'DWORD (0x0000000a)'", "\"REG_DWORD\""},
    {ECS_CONVERT_registry_data, "", IN_UNICODE_STRING, 0, "L'DWORD (0x0000000a)'", "\"10\""},
    {ECS_CONVERT_registry_type, "", IN_UNICODE_STRING, 0, "L'QWORD (0x00000001-0x00000002)'",
        "\"REG_QWORD\""},
    {ECS_CONVERT_registry_data, "", IN_UNICODE_STRING, 0, "L'QWORD (0x00000001-0x00000002)'",
        "\"4294967298\""},
    {ECS_CONVERT_registry_type, "", IN_UNICODE_STRING, 0, "L'Binary Data'", "\"REG_BINARY\""},
    {ECS_CONVERT_registry_type, "", IN_UNICODE_STRING, 0, "L'DWORD (x)'", "\"REG_SZ\""},
    {ECS_CONVERT_registry_data, "", IN_UNICODE_STRING, 0, "L'DWORD (x)'", "\"DWORD (x)\""},
    {ECS_CONVERT_registry_data, "", IN_UNICODE_STRING, 0, "L''", NULL},
};

#define ANSWERS \
    "L'type:  5 a.example;192.0.2.1;::ffff:192.0.2.2;2001:db8::1;192.0.2.1;type:  9;junk;' "

static const struct {
    enum ecs_conversion how;
    const char *payload;
    const char *json; /* elements */
} lists[] = {
    {ECS_CONVERT_dns_ips, ANSWERS, "\"192.0.2.1\",\"192.0.2.2\",\"2001:db8::1\""},
    {ECS_CONVERT_dns_answers, ANSWERS,
        "{\"data\":\"a.example\",\"type\":\"CNAME\"},{\"data\":\"192.0.2.1\",\"type\":\"A\"},"
        "{\"data\":\"192.0.2.2\",\"type\":\"A\"},{\"data\":\"2001:db8::1\",\"type\":\"AAAA\"}"},
    {ECS_CONVERT_dns_ips, "L'type:  5 a.example;'", NULL},
    {ECS_CONVERT_dns_answers, "L'-'", NULL},
    {ECS_CONVERT_dns_answers, "L';;'", NULL},
    {ECS_CONVERT_text, "L'a'", "\"a\""},
    {ECS_CONVERT_dns_hosts, ANSWERS, "\"a.example\""},
    {ECS_CONVERT_dns_hosts, "L'192.0.2.1;'", NULL},
    /* learn.microsoft.com, "Parsing C command-line arguments" */
    {ECS_CONVERT_args, "L'\"C:\\a b\\p.exe\" \"a b c\" d e'",
        "\"C:\\\\a b\\\\p.exe\",\"a b c\",\"d\",\"e\""},
    {ECS_CONVERT_args, "L'p \"ab\\\"c\" \"\\\\\" d'", "\"p\",\"ab\\\"c\",\"\\\\\",\"d\""},
    {ECS_CONVERT_args, "L'p a\\\\\\b d\"e f\"g h'", "\"p\",\"a\\\\\\\\\\\\b\",\"de fg\",\"h\""},
    {ECS_CONVERT_args, "L'p a\\\\\\\"b c d'", "\"p\",\"a\\\\\\\"b\",\"c\",\"d\""},
    {ECS_CONVERT_args, "L'p a\\\\\\\\\"b c\" d e'", "\"p\",\"a\\\\\\\\b c\",\"d\",\"e\""},
    {ECS_CONVERT_args, "L'p \"a\"\"b\" \"\" x x'", "\"p\",\"a\\\"b\",\"\",\"x\",\"x\""},
    {ECS_CONVERT_args, "L'-'", NULL},
    {ECS_CONVERT_details,
        "L'CommandInvocation(Get-Item): \"Get-Item\"' 0a00 "
        "L'ParameterBinding(Get-Item): name=\"Path\"; value=\"C:(x):\"' 0a00 L'other'",
        "{\"type\":\"CommandInvocation\",\"related_command\":\"Get-Item\","
        "\"value\":\"\\\"Get-Item\\\"\"},"
        "{\"type\":\"ParameterBinding\",\"related_command\":\"Get-Item\","
        "\"name\":\"\\\"Path\\\"\",\"value\":\"\\\"C:(x):\\\"\"},{\"value\":\"other\"}"},
    {ECS_CONVERT_details, "0a00", NULL},
};

static bool convert(struct writer_fixture *f, struct event_value_context *context,
    enum ecs_conversion how, const char *parameter, struct ecs_sink *sink)
{
    const struct field *field = &f->fields[0];
    struct ecs_operand operand = {.context = context,
        .value = event_value_of(context, field->schema, span_make(field->data, field->size))};
    return ecs_convert(how, span_text(parameter), &operand, sink);
}

static void check(enum ecs_conversion how, const char *parameter, const struct piece *piece,
    bool is_list, const char *json, size_t row)
{
    struct writer_fixture f;
    struct event_value_context context;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    assert_true(event_value_context_init(&context, NULL, NULL));
    fixture_set_fields(&f, piece, 1);
    struct ecs_sink sink = {.out = &f.out, .is_list = is_list};
    bool made = convert(&f, &context, how, parameter, &sink);
    if (made != (json != NULL)) {
        fail_msg("row %zu: %s", row, made ? "has a value" : "has no value");
    }
    if (made) {
        assert_span(buf_span(&f.out), json);
    }
    event_value_context_fini(&context);
    fixture_fini(&f);
}

static void values_become_what_the_schema_wants(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++) {
        const struct piece piece = {
            "A", scalars[i].in_type, scalars[i].out_type, scalars[i].payload, NULL};
        check(scalars[i].how, scalars[i].parameter, &piece, false, scalars[i].json, i);
    }
}

static void lists_have_each_element_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const struct piece piece = {"A", IN_UNICODE_STRING, 0, lists[i].payload, NULL};
        check(lists[i].how, "", &piece, true, lists[i].json, i);
    }
}

static void every_conversion_has_a_row(void **state)
{
    (void)state;
    bool seen[ECS_CONVERSIONS] = {false};
    for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++) {
        seen[scalars[i].how] = true;
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        seen[lists[i].how] = true;
    }
    for (size_t i = 0; i < ECS_CONVERSIONS; i++) {
        assert_true(seen[i] || i == ECS_CONVERT_same);
    }
}

static void further_elements_join_a_list(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct event_value_context context;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    assert_true(event_value_context_init(&context, NULL, NULL));
    static const struct piece piece = {"A", IN_UNICODE_STRING, 0, "L'B'", NULL};
    fixture_set_fields(&f, &piece, 1);
    struct ecs_sink sink = {.out = &f.out, .is_list = true};
    ecs_convert_constant(span_text("a,b"), &sink);
    assert_true(convert(&f, &context, ECS_CONVERT_lower, "", &sink));
    assert_true(convert(&f, &context, ECS_CONVERT_text, "", &sink));
    assert_span(buf_span(&f.out), "\"a\",\"b\",\"B\"");
    event_value_context_fini(&context);
    fixture_fini(&f);
}

/* What one conversion finds out about a value serves the next one. */
static void conversions_of_one_value_may_share_an_operand(void **state)
{
    (void)state;
    static const struct {
        enum ecs_conversion how;
        const char *json;
    } steps[] = {
        {ECS_CONVERT_args_count, "3"},
        {ECS_CONVERT_args, "\"C:\\\\p.exe\",\"a b\",\"c\""},
        {ECS_CONVERT_args_count, "3"},
        {ECS_CONVERT_text, "\"C:\\\\p.exe \\\"a b\\\" c\""},
        {ECS_CONVERT_extension, "\"exe \\\"a b\\\" c\""},
        {ECS_CONVERT_lower, "\"c:\\\\p.exe \\\"a b\\\" c\""},
    };
    struct writer_fixture f;
    struct event_value_context context;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    assert_true(event_value_context_init(&context, NULL, NULL));
    static const struct piece piece = {"A", IN_UNICODE_STRING, 0, "L'C:\\p.exe \"a b\" c'", NULL};
    fixture_set_fields(&f, &piece, 1);
    const struct field *field = &f.fields[0];
    struct ecs_operand operand = {.context = &context,
        .value = event_value_of(&context, field->schema, span_make(field->data, field->size))};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct ecs_sink sink = {.out = &f.out, .is_list = steps[i].how == ECS_CONVERT_args};
        buf_reset(&f.out);
        assert_true(ecs_convert(steps[i].how, span_text(""), &operand, &sink));
        assert_span(buf_span(&f.out), steps[i].json);
    }
    event_value_context_fini(&context);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_become_what_the_schema_wants),
        cmocka_unit_test(lists_have_each_element_once),
        cmocka_unit_test(every_conversion_has_a_row),
        cmocka_unit_test(further_elements_join_a_list),
        cmocka_unit_test(conversions_of_one_value_may_share_an_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
