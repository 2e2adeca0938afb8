#ifndef ETWSHIP_SCHEMA_MESSAGE_TABLE_H
#define ETWSHIP_SCHEMA_MESSAGE_TABLE_H

#include "base/arena.h"
#include "base/error.h"

/*
 * The texts of a program file by number: a resource of type RT_MESSAGETABLE (MESSAGE_RESOURCE_DATA,
 * MESSAGE_RESOURCE_BLOCK and MESSAGE_RESOURCE_ENTRY, winnt.h).
 */
struct message_table_entry {
    uint32_t id;
    uint32_t offset; /* of its MESSAGE_RESOURCE_ENTRY */
};

struct message_table {
    struct span bytes;
    struct message_table_entry *entries; /* ascending by id */
    size_t count;
};

/* Index ${bytes}; the table keeps a view of them. False with ${err} set if they are malformed or
 * too large. Call message_table_fini in either case. */
bool message_table_init(struct message_table *table, struct span bytes, struct error *err);
void message_table_fini(struct message_table *table);

/* Text of ${id} as UTF-8 in ${arena} without its line end. *ret_text is empty if there is none.
 * False if the arena is full. */
bool message_table_text(
    const struct message_table *table, uint32_t id, struct arena *arena, struct span *ret_text);

#endif
