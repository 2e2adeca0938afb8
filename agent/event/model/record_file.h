#ifndef ETWSHIP_EVENT_RECORD_FILE_H
#define ETWSHIP_EVENT_RECORD_FILE_H

#include "base/bytes.h"
#include "event/model/record.h"

/*
 * File information in a record, read without a schema. The kernel identifies a file by two
 * addresses: the file key (FsContext: one per file, as long as the file system knows the file) and
 * the file object (one each time that a file is opened). Some records give the name of such an
 * address, most only use it.
 *
 * Sources of the layouts: the MOF classes FileIo, DiskIo and PageFault_V2 of the NT Kernel Logger
 * (schema/events/kernel_classes.def, which a test compares this with), and the manifests of
 * Microsoft-Windows-Kernel-File and Microsoft-Windows-Kernel-Disk. The field `FileObject` of
 * FileIo_Name, DiskIo_TypeGroup1 and PageFault_HardFault has the file key; where a class has both
 * addresses, its fields are called `FileObject` and `FileKey`.
 */
enum record_file_news {
    RECORD_FILE_NO_NEWS, /* uses the addresses */
    RECORD_FILE_NAMED,   /* `key` has `name` at this time: FileIo/Name, FileRundown */
    RECORD_FILE_CREATED, /* from this time on: FileCreate, NameCreate */
    RECORD_FILE_DELETED, /* up to this time: FileDelete, NameDelete */
    RECORD_FILE_OPENED,  /* `object` has `name` from this time on: Create, CreateNewFile */
    RECORD_FILE_CLOSED,  /* `object` is no file's after this time: Close */
};

struct record_file {
    enum record_file_news news;
    uint64_t key;     /* 0: none */
    uint64_t object;  /* 0: none */
    struct span name; /* UTF-16, in the payload; empty if the record has none */
};

/* False: the record uses no file, or its payload is too short.
 * Never fails otherwise; any thread. */
bool record_file_read(const struct event_record *record, struct record_file *ret_file);

/* True if records of this type have file information. */
bool record_file_uses(const struct event_record *record);

/* True if the record gives the name of a file key (NAMED, CREATED, DELETED). Inputs deliver such
 * records ahead of their time. By its type alone. */
bool record_file_names(const struct event_record *record);

/* True if a kernel record with this hook may be one of them. */
static inline bool record_file_hook(uint16_t hook_id)
{
    enum { NAME = 0x0400, CREATED = 0x0420, DELETED = 0x0423, RUNDOWN = 0x0424 };
    return hook_id == NAME || hook_id == CREATED || hook_id == DELETED || hook_id == RUNDOWN;
}

/* True if it changes what is known of a file (not NO_NEWS). By its type alone. */
bool record_file_tells(const struct event_record *record);

/* False if records of this class or provider never give the name of a file key, by the first 32
 * bits of its GUID. */
static inline bool record_file_may_name(const uint8_t guid[16])
{
    const uint32_t file_io = 0x90cbdc39;
    const uint32_t kernel_file = 0xedd08927;
    uint32_t start = load_le32(guid);
    return start == file_io || start == kernel_file;
}

/* False if the record never uses a file. Cheap, as it is called for every event. */
static inline bool record_file_may(const struct event_record *record)
{
    const uint32_t groups = 1u << 0x01 | 1u << 0x02 | 1u << 0x04; /* DiskIo, PageFault, FileIo */
    const uint32_t disk_io_and_page_fault = 0x3d6fa8d3;           /* and one more */
    const uint32_t kernel_disk = 0xc7bde69a;
    if (record->kind == RECORD_KERNEL) {
        unsigned group = record->hook_id >> 8;
        return group < 32 && (groups >> group & 1);
    }
    uint32_t start = load_le32(record->provider.bytes);
    return record_file_may_name(record->provider.bytes) || start == kernel_disk ||
           start - disk_io_and_page_fault <= 1;
}

#endif
