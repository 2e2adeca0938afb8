#include <stdio.h>

#include "base/text/base64.h"
#include "base/utf.h"
#include "cli/options/cli.h"
#include "config/config.h"
#include "config/config_text.h"
#include "platform/plat_file.h"
#include "platform/plat_secret.h"
#include "platform/plat_self.h"
#include "platform/plat_temp.h"

/* `etwship secret`: encrypt secrets for the configuration. */

static const struct cli_option options[] = {{.name = NULL}};

/* DPAPI adds some hundred bytes, and base64 a third; the result must fit a value of the
 * configuration. */
enum { SECRET_MAX_BYTES = CONFIG_MAX_VALUE_BYTES / 2, OUTPUT_MAX_BYTES = 1024 * 1024 };

static bool read_input(struct buf *out, struct error *err)
{
    uint8_t piece[4096];
    size_t size = 0;
    struct plat_file *input = plat_stdin_open(err);
    if (!input) {
        return false;
    }
    bool good;
    while ((good = plat_stdin_read(input, piece, sizeof(piece), &size, err)) && size) {
        buf_add(out, piece, size);
        if (out->failed) {
            good = error_set(
                err, ERR_LIMIT, "the secret has more than %d bytes. shorten it", SECRET_MAX_BYTES);
            break;
        }
    }
    plat_file_close(input);
    return good;
}

/* Remove the last line break, and the byte order mark that PowerShell writes into pipes. */
static struct span trim(struct span text)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (span_is(span_first(text, sizeof(mark) - 1), mark)) {
        text = span_from(text, sizeof(mark) - 1);
    }
    text.size -= text.size && text.data[text.size - 1] == '\n';
    text.size -= text.size && text.data[text.size - 1] == '\r';
    return text;
}

static bool check(struct span secret, struct error *err)
{
    const char *fault = config_text_secret_fault(secret);
    if (fault) {
        return error_set(err, ERR_CONFIG, "the secret %s", fault);
    }
    for (size_t at = 0; at < secret.size;) {
        if (utf8_next(secret, &at) == 0xfffd) {
            return error_set(err, ERR_CONFIG,
                "the secret is not UTF-8. in PowerShell set $OutputEncoding = "
                "[Text.UTF8Encoding]::new(), or type it when asked");
        }
    }
    return !memchr(secret.data, 0, secret.size) ||
           error_set(err, ERR_CONFIG, "the secret holds a NUL character. give it as UTF-8");
}

static bool protect(struct buf *secret, struct buf *bytes, struct error *err)
{
    bool asks = plat_is_terminal(0);
    if (!(asks ? plat_secret_ask("secret (it is not shown): ", secret, err)
               : read_input(secret, err))) {
        return false;
    }
    struct span text = trim(buf_span(secret));
    return check(text, err) && plat_secret_protect(text, bytes, err);
}

static int run(const struct cli_args *args)
{
    struct buf secret;
    struct buf bytes;
    struct buf line;
    struct error err;
    (void)args; /* there is one verb */
    buf_init(&secret, SECRET_MAX_BYTES);
    buf_init(&bytes, OUTPUT_MAX_BYTES);
    buf_init(&line, OUTPUT_MAX_BYTES);
    bool good = protect(&secret, &bytes, &err);
    if (good) {
        buf_add_text(&line, "dpapi:");
        base64_write(&line, buf_span(&bytes));
        buf_add_byte(&line, '\n');
        good = !line.failed || error_set(&err, ERR_MEMORY, "out of memory");
    }
    if (good) {
        fwrite(line.data, 1, line.size, stdout);
    } else {
        cli_error("%s", err.text);
    }
    buf_fini(&secret);
    buf_fini(&bytes);
    buf_fini(&line);
    return good ? EXIT_DONE : EXIT_FAILED;
}

const struct cli_command cmd_secret = {
    .name = "secret",
    .synopsis = "protect",
    .summary = "protect a secret for the configuration of this Windows",
    .description = "Reads a secret from standard input, or asks for it at a terminal, and prints "
                   "it encrypted by Windows (DPAPI): dpapi: and base64 text. It can replace any "
                   "secret in the configuration or in a file that file: names.\n"
                   "Only this machine can decrypt it, and there every account that has the text. "
                   "So it protects copies of the configuration (backups, repositories, mails). On "
                   "the machine itself, only administrators and the agent should have the right to "
                   "read it; an installation sets this up.",
    .options = options,
    .examples = "       etwship secret protect | clip\n"
                "       Get-Content es.key | etwship secret protect\n",
    .verbs = "protect",
    .operands = {"protect", 1, 1},
    .run = run,
};
