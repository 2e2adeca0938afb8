#ifndef ETWSHIP_PIPELINE_BATCH_CODEC_H
#define ETWSHIP_PIPELINE_BATCH_CODEC_H

#include "base/error.h"
#include "pipeline/batch/batch.h"

/*
 * A batch as bytes, for the disk: its records unchanged, then a tail with everything else that its
 * delivery needs. Session numbers are valid in one run only, so the tail has names. What the spool
 * knows of a batch (number, first record, epoch) is not part of it.
 *
 * Layout, little endian: bytes of the records; tail; u32 size of the records' bytes, u32 version.
 * The tail: u8 flags (1 own, 2 positions); u32 records, their ends; u32 sessions, each u16 size and
 * name; u32 segments, each u32 session, u8 cut, u64 last sequence, u32 record end, u64 and u64
 * times; u32 templates, each u32 names, these as u32 size and bytes, and u32 per record;
 * with positions u32 files, each 16 bytes, and per record u32 file (from 1; 0: unknown), u64 and
 * u32 offsets.
 */
enum { BATCH_CODEC_VERSION = 1, BATCH_CODEC_MAX_BYTES = 64 * 1024 * 1024 };

/* The sessions of this run; any thread. */
struct batch_codec {
    const char *const *sessions; /* names by number; borrowed, as is the list */
    size_t session_count;
    uint32_t other; /* the number that sessions get which this run does not have */
};

/*
 * Put the tail after the records of ${batch}, into memory of its piece that does not count as used:
 * nothing else of it changes. ${ret_body}, a view of both, is valid until the batch is changed.
 * False with ${err} set: out of memory, or longer than BATCH_CODEC_MAX_BYTES (ERR_LIMIT). By the
 * batch's owner, before others see it.
 */
bool batch_codec_write(
    const struct batch_codec *codec, struct batch *batch, struct span *ret_body, struct error *err);

/*
 * The batch whose body is ${body}, untrusted bytes that lie somewhere in ${room}. It takes over the
 * memory, and ${room} is empty then; on failure it is as it was. NULL with ${err} set: ERR_FORMAT
 * if no batch was ever written like that, ERR_UNSUPPORTED for a later version, ERR_MEMORY.
 */
struct batch *batch_codec_read(
    const struct batch_codec *codec, struct buf *room, struct span body, struct error *err);

#endif
