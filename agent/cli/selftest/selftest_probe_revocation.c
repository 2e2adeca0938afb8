#include <inttypes.h>

#include "base/text/base64.h"
#include "cli/selftest/selftest_probes.h"
#include "platform/plat_revocation.h"

/*
 * Which revocation status does Windows report for a certificate of a private authority without a
 * revocation list, such as Elasticsearch's own? libcurl refuses an unknown status unless
 * tls.revocation allows it (outputs/http/README.md).
 *
 * Both certificates were made with openssl for this test (ECDSA with P-256, valid until 2126), and
 * are DER in base64. Their keys were deleted.
 */
static const char issuer[] =
    "MIIBpDCCAUmgAwIBAgIUWNX4z5Dsmg+K2XNr1EzAgRloWS0wCgYIKoZIzj0EAwIwHjEcMBoG"
    "A1UEAwwTZXR3c2hpcCBzZWxmdGVzdCBDQTAgFw0yNjExMjQxNjEyMDdaGA8yMTI2MTAzMTE2"
    "MTIwN1owHjEcMBoGA1UEAwwTZXR3c2hpcCBzZWxmdGVzdCBDQTBZMBMGByqGSM49AgEGCCqG"
    "SM49AwEHA0IABOnFOqnvgqn3i6eRVhKCkkvRtk2lg2ej4oUEJDgIVUmN6zjujouZQ6aIJBol"
    "NlqWDXv9pl5WzKqu7Fm86KROaBejYzBhMB0GA1UdDgQWBBSsnIvJTA6YQB1vebpES0WGqb3j"
    "5zAfBgNVHSMEGDAWgBSsnIvJTA6YQB1vebpES0WGqb3j5zAPBgNVHRMBAf8EBTADAQH/MA4G"
    "A1UdDwEB/wQEAwIBBjAKBggqhkjOPQQDAgNJADBGAiEAkIYfhWYqU71RSrwEb9UFVKKy90ar"
    "8zVpW37kbBlVD/MCIQCskJZglKaAn8mdIdM494x+M5gbekW1+QwJMufFElpDPg==";

/* Of issuer: "CN=etwship selftest", without extensions. */
static const char certificate[] =
    "MIIBNTCB3AIUdBNIv9Rn2E7f1xIv6vK8O7NKld8wCgYIKoZIzj0EAwIwHjEcMBoGA1UEAwwT"
    "ZXR3c2hpcCBzZWxmdGVzdCBDQTAgFw0yNjExMjQxNjEyMDdaGA8yMTI2MTAzMTE2MTIwN1ow"
    "GzEZMBcGA1UEAwwQZXR3c2hpcCBzZWxmdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA"
    "BIz+VTqDcpNVUtObKKa6P6PM479ouxbg1BUk7twND+sJYy8YVAgq5LnGLbsb0z1cZri0PWSM"
    "g/4AAOB7hwij3/AwCgYIKoZIzj0EAwIDSAAwRQIhAJy8UKrfZM7vX+6U6vrr8/EgGPeiDrD5"
    "AmFhJzY9uPsiAiAfQIKmqUjgvxrMk1CZPdUL1UayfWU9nn1J/flN16GbyQ==";

enum { DER_BYTES = 512 };

static bool ask(struct plat_revocation *ret_says, struct error *err)
{
    struct buf leaf;
    struct buf root;
    buf_init(&leaf, DER_BYTES);
    buf_init(&root, DER_BYTES);
    bool good = base64_read(span_text(certificate), &leaf) &&
                base64_read(span_text(issuer), &root) &&
                plat_revocation_ask(buf_span(&leaf), buf_span(&root), ret_says, err);
    buf_fini(&leaf);
    buf_fini(&root);
    return good;
}

void selftest_probe_revocation_run(struct selftest_answer *ret_answer)
{
    struct plat_revocation says;
    struct error err = {0};
    if (!ask(&says, &err)) {
        selftest_probes_answer(ret_answer, SELFTEST_UNKNOWN, "%.300s", err.text);
    } else if (says.simple_chain & PLAT_REVOCATION_STATUS_UNKNOWN) {
        selftest_probes_answer(ret_answer, SELFTEST_AS_EXPECTED,
            "Windows cannot tell whether a certificate of a private authority was revoked (status "
            "0x%" PRIx32 "): tls.revocation best_effort accepts it, strict refuses it",
            says.simple_chain);
    } else if (says.whole_chain & PLAT_REVOCATION_STATUS_UNKNOWN) {
        selftest_probes_answer(ret_answer, SELFTEST_UNKNOWN,
            "Windows notes an unknown revocation where libcurl does not look (status 0x%" PRIx32
            " and 0x%" PRIx32 "), as Wine does",
            says.whole_chain, says.simple_chain);
    } else {
        selftest_probes_answer(ret_answer, SELFTEST_OTHERWISE,
            "Windows accepts a certificate without a revocation list (status 0x%" PRIx32
            "): tls.revocation strict accepts it, too",
            says.simple_chain);
    }
}
