/* What the files of the store share: store.h. */
#ifndef RUNTIMES_FILE_PRIVATE_H
#define RUNTIMES_FILE_PRIVATE_H

#include <sys/types.h>

#include "engine/base/hash.h"
#include "runtimes/file/store.h"

#define FILE_CORRUPT "StateCorrupt" /* the reason that goes with ERR_CORRUPT */
#define ID_SIZE      17             /* 16 hexadecimal digits */

struct file_store {
    struct store base;
    char *directory;
};

/* ---- files.c: one file ---- */

/* The errno of a call that failed, as an error about a path. */
int file_error(const char *what, const char *path, struct error *error);
int file_corrupt(const char *path, const char *how, struct error *error);
/* Adds its bytes. ERR_NOT_FOUND; ERR_CORRUPT: too large to be one of ours. */
int file_read(const char *path, struct buf *to, struct error *error);
/* Makes it, or replaces its bytes; durable, but for its name. */
int file_write(const char *path, mode_t mode, const struct buf *bytes, struct error *error);
/* Bytes at an offset, where the file ends then; durable. */
int file_extend(const char *path, off_t at, const struct buf *bytes, struct error *error);
int file_sync_folder(const char *path, struct error *error);
/* Makes a folder, and those above it as far as the last `levels` go. */
int file_make_folders(const char *path, unsigned levels, struct error *error);
void file_draw_id(char ret[ID_SIZE]);

/* ---- names.c ---- */

/* What all files of a document begin with. The strings are to be freed. */
struct place {
    char *namespace_folder, *folder, *stem;
};
void file_place_of(const char *directory, const struct document_name *name, struct place *ret);
void file_place_done(struct place *place);
/* The path of one of its files: "FOLDER/STEM.SUFFIX", or "FOLDER/STEM.ID.SUFFIX"; free(). */
char *file_place_path(const struct place *place, const char *id, const char *suffix);
/* Text as one word of a head; free(). Back: NULL: it is no such word. */
char *file_name_escape(const char *text);
char *file_name_unescape(const char *word);

/* ---- head.c ---- */

enum part { PART_OPEN, PART_SECRET, PARTS };

/* What a head says. */
struct head {
    struct document_name name; /* of the strings below */
    char *namespace_name, *spec_name, *item;
    char id[ID_SIZE];
    struct {
        bool exists;
        size_t length;
        char checksum[HASH_HEX_SIZE];
    } parts[PARTS];
    bool has_journal;
};
void file_head_done(struct head *head);
void file_head_write(struct buf *to, const struct document_name *name, const struct head *head);
/* false: damaged, or of another version. */
bool file_head_parse(const char *text, size_t length, struct head *ret);

/* ---- journal.c ---- */

/* Adds a frame with an entry: the index-th, from 0, of the write with that id. */
void file_journal_frame(struct buf *to, const char *id, size_t index, const void *bytes, size_t length);
/* Adds the entries of a journal to a document. *ret_length: of what is whole, without a torn end.
 * false: damaged. */
bool file_journal_parse(const struct buf *journal, const char *id, struct document *to,
                   size_t *ret_length);

/* ---- lock.c ---- */

/* *ret_fd: holds the lock while it is open. ERR_CONFLICT StateLocked. */
int file_lock_take(const struct place *place, int *ret_fd, struct error *error);
void file_lock_give(const struct place *place, int fd);

/* ---- list.c ---- */

int file_list(struct store *store, enum document_kind kind, const struct spec_key *spec,
              store_on_name *fn, void *arg, const struct store_call *call, struct error *error);

#endif
