/*
 * The bytes of a sealed part, version 1. Numbers are big-endian.
 *
 *   bytes
 *   8    93 4b 55 53 45 41 4c 01: a byte that no text has, "KUSEAL", the version
 *   1    the part: 0 open, 1 secret, 2 an entry
 *   1    flags; of a secret part, 1: the open part is sealed, too. Others are 0
 *   2    length of the block
 *   …    the block: the seed, wrapped. Fields with their length before them (2 bytes): provider
 *        ("file", "kms"), key id, wrapped seed; then the number of annotations (2 bytes), and of
 *        each name and value, in the order in which the source gave them
 *   32   random: the part's own
 *   16   id of the write, random; the same in all parts and entries of one write
 *        of a secret part alone:
 *   32   SHA-256 of the open part as it is stored
 *   4    number of carried entries
 *   8×n  their lengths
 *        of all:
 *   …    the content, encrypted; of a secret part, then the carried entries, one after another
 *   16   tag
 *   8    01 4c 41 45 53 55 4b 93
 *
 * Key of the part = HKDF-SHA256 (RFC 5869) of 32 bytes: input the seed, salt the part's random
 * bytes, info "kusion seal 1". Cipher: AES-256-GCM; the nonce is 12 zero bytes, because the key is
 * used once. Additional data: all bytes before the content, and then
 *
 *   8    the entry's number among those appended since the write, from 0; of parts 0
 *   …    the document's name: kind as a word ("state"), namespace, name, each with its length
 *        before it (2 bytes)
 *   1    1 if it has an item
 *   …    the item, with its length before it; absent if it has none
 *
 * So no part opens in another place. The secret part names the open one by its hash, and entries
 * their write by its id. A document that is sealed always has a secret part: an empty one is
 * sealed, too. Carried entries are those that a rekey found: it writes the document as a whole.
 *
 * The mark at the end tells a sealed part whose first bytes are damaged from one that was never
 * sealed.
 */
#pragma once

#include "engine/base/hash.h"
#include "engine/store.h"
#include "runtimes/seal/cipher.h"
#include "runtimes/seal/source.h"

#define SEAL_WRITE_SIZE 16 /* a write's id */
#define SEAL_MARK_SIZE  8

enum seal_part { SEAL_OPEN_PART, SEAL_SECRET_PART, SEAL_ENTRY, SEAL_PARTS };

/* Where a part belongs. */
struct seal_place {
    const struct document_name *name;
    enum seal_part part;
    uint64_t number; /* of an entry, from 0 */
};

/* ---- Sealing ---- */

struct seal_content {
    const unsigned char *random, *write; /* of their sizes */
    bool open_is_sealed;                 /* of a secret part, as what follows */
    const unsigned char *open_hash;
    const struct buf *carried;
    size_t n_carried;
    const void *bytes;
    size_t length;
};

/* Adds the sealed part to a buffer, which may overflow. */
void seal_format_write(struct buf *to, const unsigned char seed[SEAL_SEED_SIZE],
                       const struct buf *block, const struct seal_place *place,
                       const struct seal_content *content);

/* ---- Opening ---- */

/* Of a part, as its bytes say: nothing of it is proved. Points into them. */
struct seal_view {
    const unsigned char *bytes;
    size_t length;
    bool open_is_sealed;
    const unsigned char *block, *random, *write, *open_hash, *carried_lengths, *content;
    size_t block_length, n_carried, content_length; /* content: without the tag */
};

/* Whether it begins or ends as a sealed part does. */
bool seal_format_has_mark(const struct buf *part);
/* ERR_CORRUPT: it is none, or of another part. ERR_UNSUPPORTED: of a later version. */
int seal_format_view(const struct buf *bytes, enum seal_part part, struct seal_view *ret,
                     struct error *error);
/* Puts the content into *ret, and the carried entries into *entries (n_carried of them,
 * initialised). False: it is not what was sealed at this place; then they are empty. */
bool seal_format_open(const struct seal_view *view, const unsigned char seed[SEAL_SEED_SIZE],
                      const struct seal_place *place, struct buf *ret, struct buf *entries);

/* ---- Blocks ---- */

void seal_block_write(struct buf *to, const struct seal_wrapped *wrapped);
/* *ret: seal_wrapped_done(), also if false: it is no block. */
bool seal_block_read(const void *bytes, size_t length, struct seal_wrapped *ret);
