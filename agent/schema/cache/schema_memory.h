#ifndef ETWSHIP_SCHEMA_SCHEMA_MEMORY_H
#define ETWSHIP_SCHEMA_SCHEMA_MEMORY_H

#include <stddef.h>

/* How a cache divides its memory, of ${max_bytes} in all (schema_cache_settings; 0: the usual). */
enum {
    SCHEMA_MEMORY_USUAL = 256 * 1024 * 1024,
    SCHEMA_MEMORY_LEARNING_SOURCES = 3, /* shares of what entries and copies leave */
    SCHEMA_MEMORY_TABLE_SHARE = 8,      /* share of entries, and share of copies */
    SCHEMA_MEMORY_LEAST_TABLE = 1024 * 1024,
    SCHEMA_MEMORY_MAX_TABLE = 40 * 1024 * 1024,
};

/* Memory of the entries, and as much of the copies. */
static inline size_t schema_memory_table(size_t max_bytes)
{
    size_t bytes = (max_bytes ? max_bytes : SCHEMA_MEMORY_USUAL) / SCHEMA_MEMORY_TABLE_SHARE;
    bytes = bytes > SCHEMA_MEMORY_MAX_TABLE ? SCHEMA_MEMORY_MAX_TABLE : bytes;
    return bytes < SCHEMA_MEMORY_LEAST_TABLE ? SCHEMA_MEMORY_LEAST_TABLE : bytes;
}

/* Memory of one source that learns from events. */
static inline size_t schema_memory_learned(size_t max_bytes)
{
    size_t tables = 2 * schema_memory_table(max_bytes);
    size_t bytes = max_bytes ? max_bytes : SCHEMA_MEMORY_USUAL;
    return (bytes > 2 * tables ? bytes - tables : bytes / 2) / SCHEMA_MEMORY_LEARNING_SOURCES;
}

#endif
