#include "process/file_names.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/order.h"

enum {
    FIRST_SLOTS = 1024,
    GAP_BITS = 1 << 16,
    MAX_STATEMENTS = 1024, /* per address; only hostile traces have more known ahead */
    MAX_FORWARD = 256,     /* per address if only recent ones are needed */
    MAX_SHOWN = 256 * 1024,
    MAX_CHAIN = 256, /* addresses per hash; only hostile traces have more */
    ALLOCATION = 16, /* overhead of the allocator */
};

/* A statement about an address at a time. */
struct statement {
    uint64_t time;
    struct file_path *path; /* NULL: an end without a name */
    uint8_t what;           /* enum file_told */
};

struct file_entry {
    struct file_link link; /* the first member */
    struct file_entry *next;
    struct file_key key;
    struct statement *list; /* ascending, in the order of order_of() */
    uint16_t count;
    uint16_t capacity;
    bool lost; /* too many statements: it has no name any more */
};

/* ---- paths ----------------------------------------------------------------------------------- */

void file_path_drop(struct file_path *path)
{
    if (path && atomic_fetch_sub_explicit(&path->users, 1, memory_order_acq_rel) == 1) {
        file_path_drop(path->shown);
        free(path);
    }
}

static size_t path_bytes(const struct file_path *path)
{
    return path ? sizeof(*path) + path->size + ALLOCATION : 0;
}

struct file_path *file_path_make(struct span text)
{
    struct file_path *path = calloc(1, sizeof(*path) + text.size);
    if (path) {
        atomic_init(&path->users, 1);
        path->size = (uint32_t)text.size;
        memcpy(path->text, text.data, text.size);
    }
    return path;
}

static struct span path_text(const struct file_path *path)
{
    return path ? span_make(path->text, path->size) : span_make(NULL, 0);
}

static void drop_shown(struct file_names *names, struct file_path *path)
{
    names->bytes -= path_bytes(path->shown);
    file_path_drop(path->shown);
    path->shown = NULL;
}

/* Release one of the table's uses of a path. The last one frees the memory accounted for it, though
 * readers may keep the path. */
static void release_path(struct file_names *names, struct file_path *path)
{
    if (path && --path->uses == 0) {
        names->bytes -= path_bytes(path) + path_bytes(path->shown);
        file_path_drop(path);
    }
}

struct file_path *file_names_translate(
    const struct volume_map *volumes, uint64_t machine, struct span path)
{
    struct buf text;
    buf_init(&text, MAX_SHOWN);
    volume_map_translate(volumes, machine, path, &text);
    struct file_path *shown = text.failed ? NULL : file_path_make(buf_span(&text));
    buf_fini(&text);
    return shown;
}

/* The path as a program would open it. */
static struct file_path *shown_of(struct file_names *names, const struct volume_map *volumes,
    uint64_t machine, struct file_path *path)
{
    if (path->shown_of != names->generation) {
        drop_shown(names, path);
        path->shown_of = names->generation;
        path->shown = file_names_translate(volumes, machine, path_text(path));
        if (path->shown && span_equal(path_text(path->shown), path_text(path))) {
            file_path_drop(path->shown);
            path->shown = NULL;
        }
        names->bytes += path_bytes(path->shown);
    }
    return path->shown ? path->shown : path;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void enqueue(struct file_link *queue, struct file_link *link)
{
    link->before = queue->before;
    link->behind = queue;
    queue->before->behind = link;
    queue->before = link;
}

static void dequeue(struct file_link *link)
{
    link->before->behind = link->behind;
    link->behind->before = link->before;
}

static void touch(struct file_names *names, const struct file_key *key)
{
    atomic_fetch_add_explicit(&names->stamps[file_names_hash(key) >> 56], 1, memory_order_release);
}

static struct file_entry **slot_of(const struct file_names *names, const struct file_key *key)
{
    struct file_entry **slot = &names->slots[file_names_hash(key) >> 24 & names->mask];
    while (
        *slot && ((*slot)->key.address != key->address || (*slot)->key.machine != key->machine)) {
        slot = &(*slot)->next;
    }
    return slot;
}

static size_t entry_bytes(const struct file_entry *entry)
{
    return sizeof(*entry) + ALLOCATION +
           (entry->capacity ? entry->capacity * sizeof(entry->list[0]) + ALLOCATION : 0);
}

static void drop_statements(struct file_names *names, struct file_entry *entry)
{
    for (uint16_t i = 0; i < entry->count; i++) {
        release_path(names, entry->list[i].path);
    }
    names->bytes -= entry_bytes(entry);
    free(entry->list);
    entry->list = NULL;
    entry->count = 0;
    entry->capacity = 0;
    names->bytes += entry_bytes(entry);
}

static void drop_entry(struct file_names *names, struct file_entry **slot)
{
    struct file_entry *entry = *slot;
    *slot = entry->next;
    drop_statements(names, entry);
    names->bytes -= entry_bytes(entry);
    names->count--;
    dequeue(&entry->link);
    free(entry);
}

static unsigned gap_of(const struct file_key *key)
{
    return (unsigned)(file_names_hash(key) >> 32) % GAP_BITS;
}

static void note_gap(struct file_names *names, const struct file_key *key)
{
    unsigned gap = gap_of(key);
    if (key->machine == names->machine) {
        names->gaps[gap / 8] |= (uint8_t)(1u << gap % 8);
        names->has_gaps = true;
    }
}

/* Gaps belong to the trace being read: it may lack statements that were evicted. */
static void read_machine(struct file_names *names, uint64_t machine)
{
    if (names->machine != machine && names->has_gaps) {
        memset(names->gaps, 0, GAP_BITS / 8);
        names->has_gaps = false;
    }
    names->machine = machine;
}

static void evict(struct file_names *names, struct file_entry **slot)
{
    const struct file_key key = (*slot)->key;
    note_gap(names, &key);
    drop_entry(names, slot);
    touch(names, &key);
    names->evicted++;
}

/* Evict the address that ended first, else the least recently updated one; never ${keep}. False if
 * there is none. */
static bool evict_one(struct file_names *names, const struct file_entry *keep)
{
    struct file_link *const queues[] = {&names->ended, &names->going};
    for (size_t i = 0; i < 2; i++) {
        struct file_link *link = queues[i]->behind;
        link = keep && link == &keep->link ? link->behind : link;
        if (link != queues[i]) {
            evict(names, slot_of(names, &((struct file_entry *)link)->key));
            names->evicted -= i == 0 && names->settings.forward; /* no event uses it any more */
            return true;
        }
    }
    return false;
}

static bool has_gap(const struct file_names *names, const struct file_key *key)
{
    unsigned gap = gap_of(key);
    return names->has_gaps && (names->gaps[gap / 8] >> gap % 8 & 1);
}

/* Double the slots. Failure is harmless. */
static void grow(struct file_names *names)
{
    size_t count = (names->mask + 1) * 2;
    struct file_entry **slots = calloc(count, sizeof(*slots));
    struct file_entry **old = names->slots;
    size_t old_count = names->mask + 1;
    if (!slots) {
        return;
    }
    names->slots = slots;
    names->mask = count - 1;
    names->bytes += (count - old_count) * sizeof(*slots);
    for (size_t i = 0; i < old_count; i++) {
        for (struct file_entry *entry = old[i]; entry;) {
            struct file_entry *next = entry->next;
            struct file_entry **slot = slot_of(names, &entry->key);
            entry->next = NULL;
            *slot = entry;
            entry = next;
        }
    }
    free(old);
}

/* Limit the cost of a step: evict the oldest of a full chain. */
static void shorten_chain(struct file_names *names, const struct file_key *key)
{
    struct file_entry **first = &names->slots[file_names_hash(key) >> 24 & names->mask];
    size_t length = 0;
    for (const struct file_entry *entry = *first; entry; entry = entry->next) {
        length++;
    }
    if (length >= MAX_CHAIN) {
        evict(names, first);
    }
}

/* Find or create the entry of ${key}. NULL: no memory. */
static struct file_entry *entry_of(struct file_names *names, const struct file_key *key)
{
    struct file_entry *entry = *slot_of(names, key);
    if (entry) {
        return entry;
    }
    if (names->count > names->mask) {
        grow(names);
    }
    shorten_chain(names, key);
    entry = calloc(1, sizeof(*entry));
    if (entry) {
        entry->key = *key;
        *slot_of(names, key) = entry;
        enqueue(&names->going, &entry->link);
        names->count++;
        names->bytes += entry_bytes(entry);
    }
    return entry;
}

/* ---- statements ------------------------------------------------------------------------------ */

/* True if the statement comes after a moment. An end still names its own time. */
static bool is_behind(const struct statement *statement, uint64_t time)
{
    return statement->time > time || (statement->time == time && statement->what == FILE_ENDS);
}

/* Order of statements. Two can be equal only if their paths are. */
static int order_of(const struct statement *a, uint64_t time, enum file_told what, struct span path)
{
    struct span text = path_text(a->path);
    int order = order_u64(a->time, time);
    order = order ? order : order_u64(a->what, what);
    order = order ? order : order_u64(text.size, path.size);
    return order || !text.size ? order : memcmp(text.data, path.data, text.size);
}

/* Index of the first statement after ${time}. */
static uint16_t index_behind(const struct file_entry *entry, uint64_t time)
{
    uint16_t low = 0;
    uint16_t high = entry->count;
    while (low < high) {
        uint16_t middle = (uint16_t)(low + (high - low) / 2);
        if (is_behind(&entry->list[middle], time)) {
            high = middle;
        } else {
            low = (uint16_t)(middle + 1);
        }
    }
    return low;
}

/* Take a use of the path as the table has it, shared with an equal neighbour. NULL: no memory. */
static struct file_path *take_path(
    struct file_names *names, const struct file_entry *entry, uint16_t at, struct span text)
{
    struct file_path *path = NULL;
    for (uint16_t i = at > 0 ? at - 1 : 0; i < entry->count && i <= at && !path; i++) {
        bool is_same = span_equal(path_text(entry->list[i].path), text);
        path = is_same ? entry->list[i].path : NULL;
    }
    if (!path) {
        path = file_path_make(text);
        names->bytes += path_bytes(path);
    }
    if (path) {
        path->uses++;
    }
    return path;
}

static bool make_room(struct file_names *names, struct file_entry *entry)
{
    if (entry->count < entry->capacity) {
        return true;
    }
    uint16_t capacity = entry->capacity ? (uint16_t)(entry->capacity * 2) : 1;
    if (!grow_array(&entry->list, capacity, sizeof(*entry->list))) {
        return false;
    }
    names->bytes -= entry_bytes(entry);
    entry->capacity = capacity;
    names->bytes += entry_bytes(entry);
    return true;
}

/* Too many statements about one address: if only recent ones are needed, drop the oldest. */
static bool keep_few(struct file_names *names, struct file_entry *entry)
{
    if (entry->count < (names->settings.forward ? MAX_FORWARD : MAX_STATEMENTS)) {
        return true;
    }
    if (!names->settings.forward) {
        entry->lost = true;
        drop_statements(names, entry);
        return false;
    }
    release_path(names, entry->list[0].path);
    entry->count--;
    memmove(entry->list, entry->list + 1, entry->count * sizeof(entry->list[0]));
    return true;
}

/* False: a duplicate, or no memory. */
static bool insert(struct file_names *names, struct file_entry *entry, enum file_told what,
    uint64_t time, struct span path)
{
    uint16_t at = entry->count;
    while (at > 0 && order_of(&entry->list[at - 1], time, what, path) > 0) {
        at--;
    }
    if (at > 0 && order_of(&entry->list[at - 1], time, what, path) == 0) {
        return false;
    }
    struct file_path *taken = path.size ? take_path(names, entry, at, path) : NULL;
    if ((path.size && !taken) || !make_room(names, entry)) {
        release_path(names, taken);
        return false;
    }
    memmove(
        entry->list + at + 1, entry->list + at, (size_t)(entry->count - at) * sizeof(*entry->list));
    entry->list[at] = (struct statement){.time = time, .path = taken, .what = (uint8_t)what};
    entry->count++;
    return true;
}

void file_names_tell(struct file_names *names, const struct file_key *key, enum file_told what,
    uint64_t time, struct span path)
{
    /* the end of a nameless file adds nothing */
    bool is_nothing = what == FILE_ENDS && names->settings.forward;
    struct file_entry *entry = is_nothing ? *slot_of(names, key) : entry_of(names, key);
    read_machine(names, key->machine);
    if (!entry || entry->lost) {
        return;
    }
    bool changed = keep_few(names, entry) && insert(names, entry, what, time, path);
    if (changed || entry->lost) {
        bool has_ended = entry->count && entry->list[entry->count - 1].what == FILE_ENDS;
        dequeue(&entry->link);
        enqueue(has_ended ? &names->ended : &names->going, &entry->link);
        touch(names, key);
        atomic_store_explicit(&names->knows_any, true, memory_order_release);
    }
    while (names->bytes > names->settings.max_bytes && evict_one(names, entry)) {}
}

void file_names_volumes_changed(struct file_names *names)
{
    names->generation++;
    for (size_t i = 0; i < FILE_STAMPS; i++) {
        atomic_fetch_add_explicit(&names->stamps[i], 1, memory_order_release);
    }
}

/* ---- look-up --------------------------------------------------------------------------------- */

/* Two names apply at ${time}: the one stated for exactly this moment wins, for this moment only. */
static struct file_path *name_of_two(const struct statement *before, const struct statement *after,
    uint64_t time, struct file_answer *answer)
{
    bool is_before = before->time == time;
    bool is_after = after->time == time;
    answer->from = is_before || is_after ? time : before->time + 1;
    answer->to = is_before || is_after ? time : after->time - 1;
    return is_before == is_after ? NULL : is_before ? before->path : after->path;
}

/* The name given by the statements around a moment, or NULL, and how long it is valid. */
static struct file_path *name_between(const struct statement *before, const struct statement *after,
    uint64_t time, struct file_answer *answer)
{
    struct file_path *earlier = before && before->what != FILE_ENDS ? before->path : NULL;
    struct file_path *later = after && after->what != FILE_BEGINS ? after->path : NULL;
    if (before) {
        answer->from = before->time + (before->what == FILE_ENDS);
    }
    if (after) {
        answer->to = after->time - (after->what != FILE_ENDS);
    }
    return earlier && later && !span_equal(path_text(earlier), path_text(later))
               ? name_of_two(before, after, time, answer)
           : earlier ? earlier
                     : later;
}

void file_names_find(struct file_names *names, const struct file_key *key, uint64_t time,
    const struct volume_map *volumes, struct file_answer *ret_answer)
{
    static const struct statement beginning = {.what = FILE_BEGINS};
    const struct file_entry *entry = *slot_of(names, key);
    *ret_answer = (struct file_answer){.to = UINT64_MAX};
    ret_answer->stamp = atomic_load_explicit(
        &names->stamps[file_names_hash(key) >> 56], memory_order_relaxed);
    if (!entry) {
        return;
    }
    uint16_t at = index_behind(entry, time);
    struct statement before = at > 0 ? entry->list[at - 1] : beginning;
    struct statement after = at < entry->count ? entry->list[at] : beginning;
    if (names->settings.forward || (at == 0 && has_gap(names, key))) {
        after.path = NULL; /* later statements name nothing before them */
    }
    struct file_path *path = name_between(
        at > 0 ? &before : NULL, at < entry->count ? &after : NULL, time, ret_answer);
    if (path) {
        path = shown_of(names, volumes, key->machine, path);
        atomic_fetch_add_explicit(&path->users, 1, memory_order_relaxed);
        ret_answer->path = path;
    }
}

/* ---- creation -------------------------------------------------------------------------------- */

bool file_names_init(struct file_names *names, const struct file_names_settings *settings)
{
    *names = (struct file_names){.settings = *settings, .mask = FIRST_SLOTS - 1, .generation = 1};
    names->ended = (struct file_link){.before = &names->ended, .behind = &names->ended};
    names->going = (struct file_link){.before = &names->going, .behind = &names->going};
    names->slots = calloc(FIRST_SLOTS, sizeof(*names->slots));
    names->gaps = calloc(GAP_BITS / 8, 1);
    names->bytes = FIRST_SLOTS * sizeof(*names->slots) + GAP_BITS / 8;
    return names->slots && names->gaps;
}

void file_names_fini(struct file_names *names)
{
    for (size_t i = 0; names->slots && i <= names->mask; i++) {
        while (names->slots[i]) {
            drop_entry(names, &names->slots[i]);
        }
    }
    free(names->slots);
    free(names->gaps);
    names->slots = NULL;
    names->gaps = NULL;
}
