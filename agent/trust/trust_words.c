#include "trust/trust_words.h"

#include <inttypes.h>

static void write_party(const struct trust_verdict *verdict, struct buf *out)
{
    switch (verdict->party) {
    case TRUST_SID:
        sid_write(&verdict->sid, out);
        break;
    case TRUST_USER:
        buf_printf(out, "user %" PRIu32, verdict->id);
        break;
    case TRUST_GROUP:
        buf_printf(out, "group %" PRIu32, verdict->id);
        break;
    case TRUST_ALL:
        buf_add_text(out, "everybody");
        break;
    case TRUST_NONE:
    case TRUST_UNKNOWN:
        buf_add_text(out, "somebody");
        break;
    }
}

static const char *what(const struct trust_finding *finding)
{
    unsigned harms = finding->verdict.harms;
    if (harms & TRUST_HARM_WRITE) {
        return finding->is_folder ? "put files there" : "write it";
    }
    if (harms & TRUST_HARM_APPEND) {
        return finding->is_folder ? "make folders there" : "append to it";
    }
    if (harms & TRUST_HARM_DELETE_CHILD) {
        return "replace files there";
    }
    if (harms & TRUST_HARM_DELETE) {
        return "replace it";
    }
    if (harms & (TRUST_HARM_RIGHTS | TRUST_HARM_OWNER | TRUST_HARM_OWNS)) {
        return "change its permissions";
    }
    return harms & TRUST_HARM_INHERIT ? "write files created there" : "turn it into a link";
}

static bool is_plain(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:@%";
    return path[strspn(path, plain)] == 0;
}

/* Quoted for a shell. */
static void write_argument(const char *path, struct buf *out)
{
    if (is_plain(path)) {
        buf_add_text(out, path);
        return;
    }
    buf_add_text(out, "'");
    for (const char *c = path; *c; c++) {
        if (*c == '\'') {
            buf_add_text(out, "'\\''");
        } else {
            buf_add_byte(out, (uint8_t)*c);
        }
    }
    buf_add_text(out, "'");
}

static void write_chmod(const struct trust_finding *finding, struct buf *out)
{
    buf_add_text(out, finding->verdict.party == TRUST_USER    ? "chown -h root "
                      : finding->verdict.party == TRUST_GROUP ? "chmod g-w "
                                                              : "chmod go-w ");
    write_argument(finding->path, out);
}

static void grant(const struct sid *sid, const char *rights, struct buf *out)
{
    buf_add_text(out, " *");
    sid_write_plain(sid, out);
    buf_printf(out, ":%s", rights);
}

/* icacls takes SIDs after a star, so that its words are the same in all languages. */
static void write_icacls(
    const struct trust_system *system, const struct trust_finding *finding, struct buf *out)
{
    static const struct sid machine = {.authority = 5, .count = 1, .subs = {18}};
    static const struct sid administrators = {.authority = 5, .count = 2, .subs = {32, 544}};
    const struct trust_verdict *verdict = &finding->verdict;
    const char *full = finding->is_folder ? "(OI)(CI)F" : "F";
    buf_printf(out, "icacls \"%s\"", finding->path);
    if (verdict->harms & TRUST_HARM_OWNS) {
        buf_add_text(out, " /setowner *");
        sid_write_plain(&administrators, out);
        return;
    }
    buf_add_text(out, " /inheritance:r /grant:r");
    grant(&machine, full, out);
    grant(&administrators, full, out);
    if (system->own.process && !sid_equal(system->own.process, &machine)) {
        grant(system->own.process, full, out);
    }
    if (verdict->party == TRUST_SID) {
        buf_add_text(out, " /remove:g *");
        sid_write_plain(&verdict->sid, out);
    }
}

/* A user's folder may be the home folder. */
static bool has_command(const struct trust_finding *finding)
{
    return finding->is_own && !(finding->is_folder && finding->verdict.party == TRUST_USER);
}

void trust_words_write(
    const struct trust_system *system, const struct trust_finding *finding, struct buf *out)
{
    buf_printf(out, "%s: ", finding->path);
    if (finding->verdict.party == TRUST_UNKNOWN) {
        buf_printf(
            out, "its permissions cannot be determined: %s. use another place", finding->why);
        return;
    }
    write_party(&finding->verdict, out);
    buf_printf(out, " may %s. ", what(finding));
    if (!has_command(finding)) {
        buf_printf(out, "use a folder of the agent's own: %s",
            system->is_windows ? "%ProgramFiles%\\etwship, %ProgramData%\\etwship"
                               : "/etc/etwship, /var/lib/etwship");
        return;
    }
    buf_add_text(out, "to correct it: ");
    if (system->is_windows) {
        write_icacls(system, finding, out);
    } else {
        write_chmod(finding, out);
    }
}
