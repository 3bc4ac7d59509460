/* Declarations that the files of the store share: store.h. */
#pragma once

#include <sys/types.h>

#include "engine/base/hash.h"
#include "engine/store/implement.h"
#include "runtimes/file/store.h"

#define ID_SIZE 17 /* 16 hexadecimal digits */

struct file_store {
    struct store base;
    char *directory;
};

/* ---- files.c: one file ---- */

/* Makes an error from the errno of a failed call and its path. */
int file_error(const char *what, const char *path, struct error *error);
int file_corrupt(const char *path, const char *how, struct error *error);
/* Adds the file's bytes to a buffer. ERR_NOT_FOUND. ERR_CORRUPT: the file is larger than this store
 * writes. */
int file_read(const char *path, struct buf *to, struct error *error);
/* Creates the file or replaces its content. The content is durable; its name becomes durable when
 * the folder is synced. */
int file_write(const char *path, mode_t mode, const struct buf *bytes, struct error *error);
/* Writes bytes at an offset and cuts the file after them; durable. */
int file_extend(const char *path, off_t at, const struct buf *bytes, struct error *error);
int file_sync_folder(const char *path, struct error *error);
/* Creates a folder and its parents, up to `levels` folders in all. */
int file_make_folders(const char *path, unsigned levels, struct error *error);
void file_draw_id(char ret[ID_SIZE]);

/* ---- names.c ---- */

/* The folders of a document, and the beginning of the names of its files. */
struct file_paths {
    char *namespace_folder, *folder, *stem;
};
void file_paths_init(const char *directory, const struct document_name *name,
                     struct file_paths *ret);
void file_paths_done(struct file_paths *paths);
/* The path of one file of a document: "FOLDER/STEM.SUFFIX", or "FOLDER/STEM.ID.SUFFIX"; free(). */
char *file_path_of(const struct file_paths *paths, const char *id, const char *suffix);
/* Escapes a text to one word of a head, and back; free(). NULL: the word is not valid. */
char *file_name_escape(const char *text);
char *file_name_unescape(const char *word);

/* ---- head.c ---- */

enum part { PART_OPEN, PART_SECRET, PARTS };

/* The content of a head. */
struct head {
    struct own_name name;
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
/* False: the head is damaged, or of another format. */
bool file_head_parse(const char *text, size_t length, struct head *ret);

/* ---- journal.c ---- */

/* Adds the frame of an entry: number `index` (from 0) of the write with that id. */
void file_journal_frame(struct buf *to, const char *id, size_t index, const void *bytes,
                        size_t length);
/* Adds the entries of a journal to a document. *ret_length: the length of the whole frames, without
 * a torn end. False: damaged. */
bool file_journal_parse(const struct buf *journal, const char *id, struct document *to,
                        size_t *ret_length);

/* ---- lock.c ---- */

/* *ret_fd: holds the lock until it is closed. ERR_CONFLICT StateLocked. */
int file_lock_take(const struct file_paths *paths, int *ret_fd, struct error *error);
void file_lock_give(const struct file_paths *paths, int fd);

/* ---- tidy.c ---- */

/* Removes the files of a document that its head does not name; head NULL: all. Its lock is held.
 * Best effort. */
void file_sweep(const struct file_paths *paths, const struct head *head);
int file_tidy(struct store *store, const struct store_call *call, struct error *error);

/* ---- list.c ---- */

int file_list(struct store *store, enum document_kind kind, const struct spec_key *spec,
              store_on_name *fn, void *arg, const struct store_call *call, struct error *error);
