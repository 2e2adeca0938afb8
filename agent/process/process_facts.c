#include "process/process_facts.h"

#include <stdlib.h>

#include "base/filetime.h"
#include "base/put.h"

/* Length of an image name in the kernel: EPROCESS.ImageFileName has 15 bytes including its NUL. */
enum { SHORT_NAME = 14, MAX_SHEET_BYTES = 1024 * 1024, MAX_KEPT_BYTES = 64 * 1024 };

/* ---- names ----------------------------------------------------------------------------------- */

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

/* True if both may name one image. Either may be truncated. */
static bool is_same_name(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    if (a.size != b.size && size < SHORT_NAME) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (lower(a.data[i]) != lower(b.data[i])) {
            return false;
        }
    }
    return true;
}

/* Windows replaces characters missing in a code page by `?` or others, so such an ANSI name may
 * belong to any image with such characters. */
static bool may_be_garbled(struct span name)
{
    bool is_plain = true;
    for (size_t i = 0; i < name.size && is_plain; i++) {
        is_plain = name.data[i] < 0x80 && name.data[i] != '?';
    }
    return !is_plain;
}

static struct span name_of(struct span path)
{
    size_t at = path.size;
    while (at && path.data[at - 1] != '\\') {
        at--;
    }
    return span_from(path, at);
}

static struct span name_in(const struct process_news *news)
{
    return news->name.size ? news->name : name_of(news->path);
}

/* ---- times ----------------------------------------------------------------------------------- */

uint64_t process_moment(uint64_t told, uint64_t recorded)
{
    uint64_t apart = told > recorded ? told - recorded : recorded - told;
    return apart <= FILETIME_PER_S ? told : recorded;
}

bool process_facts_are_later(const struct process_news *parent, const struct process_news *child)
{
    bool is_later = false;
    for (size_t i = 0; i < PROCESS_LISTS; i++) {
        is_later |= child->listed[i] && parent->listed[i] > child->listed[i];
    }
    return is_later;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static bool differ(uint64_t a, uint64_t b)
{
    return a && b && a != b;
}

bool process_facts_fit(const struct process_facts *facts, const struct process_news *news)
{
    const struct process_news *known = &facts->known;
    struct span name = name_in(known);
    struct span other = name_in(news);
    return !differ(
               known->start_key & PROCESS_SEQUENCE_MASK, news->start_key & PROCESS_SEQUENCE_MASK) &&
           !differ(known->object, news->object) &&
           !(known->has_parent && news->has_parent && known->parent_pid != news->parent_pid) &&
           (name.size == 0 || other.size == 0 || is_same_name(name, other) ||
               (may_be_garbled(name) && may_be_garbled(other)));
}

/* Offsets of the texts in struct process_news. */
static const size_t texts[] = {
    offsetof(struct process_news, name),
    offsetof(struct process_news, path),
    offsetof(struct process_news, image),
    offsetof(struct process_news, command_line),
    offsetof(struct process_news, user),
};

enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

static struct span *text_of(struct process_news *news, size_t index)
{
    return (struct span *)((char *)news + texts[index]);
}

static bool take_number(uint64_t *known, uint64_t news)
{
    if (*known || !news) {
        return false;
    }
    *known = news;
    return true;
}

static bool take_key(uint64_t *known, uint64_t news)
{
    if (news > PROCESS_SEQUENCE_MASK && *known <= PROCESS_SEQUENCE_MASK) {
        *known = news; /* the key with the boot id replaces the one without */
        return true;
    }
    return take_number(known, news);
}

static bool take_choice(bool *has, uint32_t *known, bool news_has, uint32_t news)
{
    if (*has || !news_has) {
        return false;
    }
    *has = true;
    *known = news;
    return true;
}

static bool is_exe(struct span path)
{
    return path.size > 4 && span_equal_nocase(span_from(path, path.size - 4), span_text(".exe"));
}

/* Of two images, the one with the name of the process is its program; before that is known, the one
 * whose file may be one. */
static bool is_better_image(const struct process_news *known, struct span image)
{
    struct span name = name_in(known);
    if (!known->image.size || !image.size) {
        return false;
    }
    return name.size
               ? !is_same_name(name_of(known->image), name) && is_same_name(name_of(image), name)
               : !is_exe(known->image) && is_exe(image);
}

/* Add what ${known} lacks. False if nothing was added. */
static bool take_news(struct process_news *known, const struct process_news *news)
{
    struct process_news more = *news;
    bool any = false;
    any |= take_number(&known->created, news->created);
    any |= take_key(&known->start_key, news->start_key);
    any |= take_key(&known->parent_key, news->parent_key);
    any |= take_number(&known->object, news->object);
    for (size_t i = 0; i < PROCESS_LISTS; i++) {
        any |= take_number(&known->listed[i], news->listed[i]);
    }
    any |= take_choice(&known->has_parent, &known->parent_pid, news->has_parent, news->parent_pid);
    any |= take_choice(
        &known->has_session, &known->session_id, news->has_session, news->session_id);
    any |= take_choice(
        &known->has_integrity, &known->integrity, news->has_integrity, news->integrity);
    for (size_t i = 0; i < TEXTS; i++) {
        struct span *text = text_of(known, i);
        if (text->size == 0 && text_of(&more, i)->size) {
            *text = *text_of(&more, i);
            any = true;
        }
    }
    if (known->name.size < news->name.size) {
        known->name = news->name; /* the complete name */
        any = true;
    }
    if (is_better_image(known, news->image)) {
        known->image = news->image;
        any = true;
    }
    return any;
}

struct process_facts *process_facts_with(
    struct process_facts *facts, const struct process_news *news)
{
    struct process_news known = facts ? facts->known : *news;
    if (facts && !take_news(&known, news)) {
        return facts;
    }
    size_t size = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        size += text_of(&known, i)->size;
    }
    struct process_facts *with = malloc(sizeof(*with) + size);
    if (!with) {
        return NULL;
    }
    *with = (struct process_facts){.users = 1, .bytes = sizeof(*with) + size, .known = known};
    uint8_t *p = with->text;
    for (size_t i = 0; i < TEXTS; i++) {
        struct span *text = text_of(&with->known, i);
        struct span from = *text;
        *text = span_make(p, from.size);
        p = put_span(p, from);
    }
    process_facts_drop(facts);
    return with;
}

void process_facts_drop(struct process_facts *facts)
{
    if (facts && --facts->users == 0) {
        free(facts);
    }
}

/* ---- sheets ---------------------------------------------------------------------------------- */

static const char *integrity_name(const struct process_news *known)
{
    static const struct {
        uint32_t from;
        const char *name;
    } levels[] = {/* winnt.h: SECURITY_MANDATORY_*_RID */
        {0x5000, "protected"}, {0x4000, "system"}, {0x3000, "high"}, {0x2000, "medium"},
        {0x1000, "low"}, {0, "untrusted"}};
    for (size_t i = 0; known->has_integrity; i++) {
        if (known->integrity >= levels[i].from) {
            return levels[i].name;
        }
    }
    return NULL;
}

/* Path of the image, in device form. */
static struct span path_of(const struct process_news *known)
{
    if (known->path.size) {
        return known->path;
    }
    bool is_own = known->name.size && known->image.size &&
                  is_same_name(name_of(known->image), known->name);
    return is_own ? known->image : span_make(NULL, 0);
}

/* The name in some events is truncated or garbled; the name in the path never is. */
static struct span shown_name(const struct process_news *known)
{
    struct span of_path = name_of(path_of(known));
    return of_path.size ? of_path : known->name;
}

static uint64_t whole_key(uint64_t key, uint64_t boot_id)
{
    return key > PROCESS_SEQUENCE_MASK ? key : key && boot_id ? boot_id << 48 | key : 0;
}

/* Texts are appended to ${out} and become views into the sheet once its address is known. */
struct sheet_text {
    struct span *to;
    size_t start;
};

struct sheet_texts {
    struct buf *out;
    struct sheet_text list[8];
    size_t count;
};

static void begin_text(struct sheet_texts *sheet, struct span *to)
{
    sheet->list[sheet->count++] = (struct sheet_text){.to = to, .start = sheet->out->size};
}

static void add_text(struct sheet_texts *sheet, struct span *to, struct span text)
{
    begin_text(sheet, to);
    buf_add_span(sheet->out, text);
}

static void add_path(struct sheet_texts *sheet, struct span *to,
    const struct process_sheet_parts *parts, const struct process_news *known)
{
    begin_text(sheet, to);
    volume_map_translate(parts->volumes, parts->machine, path_of(known), sheet->out);
}

static void add_sid(struct sheet_texts *sheet, struct span *to, struct span sid)
{
    enum { SID_TEXT = 256 };
    begin_text(sheet, to);
    if (sid.size && buf_reserve(sheet->out, SID_TEXT)) {
        uint8_t *end = sheet->out->data + sheet->out->size;
        if (put_sid(&end, sid)) {
            sheet->out->size = (size_t)(end - sheet->out->data);
        }
    }
}

static void add_texts(struct sheet_texts *sheet, struct event_process *process,
    const struct process_sheet_parts *parts)
{
    const struct process_news *known = &parts->facts->known;
    struct plat_account account;
    add_text(sheet, &process->name, shown_name(known));
    add_path(sheet, &process->executable, parts, known);
    add_text(sheet, &process->command_line, known->command_line);
    if (parts->parent) {
        add_text(sheet, &process->parent_name, shown_name(&parts->parent->known));
        add_path(sheet, &process->parent_executable, parts, &parts->parent->known);
    }
    add_sid(sheet, &process->user_id, known->user);
    if (known->user.size && account_names_find(parts->names, known->user, &account)) {
        add_text(sheet, &process->user_name, span_text(account.name));
        add_text(sheet, &process->user_domain, span_text(account.domain));
    }
}

struct process_sheet *process_sheet_make(const struct process_sheet_parts *parts)
{
    const struct process_news *known = &parts->facts->known;
    struct event_process process = {.place = process_place(parts->machine, known->pid),
        .pid = known->pid,
        .start = parts->start,
        .start_key = whole_key(known->start_key, parts->boot_id),
        .has_parent = known->has_parent,
        .parent_pid = known->parent_pid,
        .has_session = known->has_session,
        .session_id = known->session_id,
        .integrity = integrity_name(known)};
    struct buf *out = parts->texts;
    struct sheet_texts gathered = {.out = out};
    buf_reset(out);
    buf_set_max(out, MAX_SHEET_BYTES);
    add_texts(&gathered, &process, parts);
    struct process_sheet *sheet = out->failed ? NULL : malloc(sizeof(*sheet) + out->size);
    if (sheet) {
        for (size_t i = 0; i < gathered.count; i++) {
            size_t end = i + 1 < gathered.count ? gathered.list[i + 1].start : out->size;
            *gathered.list[i].to = span_make(
                sheet->text + gathered.list[i].start, end - gathered.list[i].start);
        }
        sheet->process = process;
        sheet->bytes = sizeof(*sheet) + out->size;
        atomic_init(&sheet->users, 1);
        put_span(sheet->text, buf_span(out));
    }
    if (out->allocated > MAX_KEPT_BYTES) {
        buf_fini(out);
    }
    return sheet;
}

bool process_sheet_equal(const struct process_sheet *a, const struct process_sheet *b)
{
    const struct event_process *p = &a->process;
    const struct event_process *q = &b->process;
    return p->pid == q->pid && p->start == q->start && p->start_key == q->start_key &&
           p->has_parent == q->has_parent && p->parent_pid == q->parent_pid &&
           p->has_session == q->has_session && p->session_id == q->session_id &&
           p->integrity == q->integrity && span_equal(p->name, q->name) &&
           span_equal(p->executable, q->executable) &&
           span_equal(p->command_line, q->command_line) &&
           span_equal(p->parent_name, q->parent_name) &&
           span_equal(p->parent_executable, q->parent_executable) &&
           span_equal(p->user_id, q->user_id) && span_equal(p->user_name, q->user_name) &&
           span_equal(p->user_domain, q->user_domain);
}

void process_sheet_drop(struct process_sheet *sheet)
{
    if (sheet && atomic_fetch_sub_explicit(&sheet->users, 1, memory_order_acq_rel) == 1) {
        free(sheet);
    }
}
