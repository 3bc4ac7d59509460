/*
 * Writes the files of a package into a folder that nobody else writes, and hashes what it writes.
 * Without a folder it only hashes.
 *
 * Paths come from archives of others, so they are checked: a path is relative, and none of its
 * parts is "." or "..". No file is written twice, and no link is ever made, so that nothing is
 * written outside of the folder.
 *
 * After an error only package_writer_done() may be called. All errors are ERR_INVALID
 * ProviderPackageInvalid, but for ERR_UNAVAILABLE (the disk).
 */
#pragma once

#include <stdint.h>

#include "engine/base/error.h"
#include "runtimes/terraform/package/hash.h"

#define PACKAGE_INVALID "ProviderPackageInvalid"

/* Files and folders of one package. */
#define PACKAGE_FILES 10000
/* Bytes of a path, and folders that it is in. */
#define PACKAGE_PATH   512
#define PACKAGE_LEVELS 8

struct package_writer {
    int folder;           /* borrowed; -1: only hash */
    uint64_t most, bytes; /* that may be written, that were */
    unsigned files;
    struct package_hash *all;
    struct hash *one; /* of the file that is open; NULL: none is */
    int fd;
    char path[PACKAGE_PATH];
};

void package_writer_init(struct package_writer *writer, int folder, uint64_t most_bytes);
void package_writer_done(struct package_writer *writer);

/* Makes a folder, if it is not there. */
int package_writer_folder(struct package_writer *writer, const char *path, struct error *error);
int package_writer_begin(struct package_writer *writer, const char *path, bool is_executable,
                         struct error *error);
int package_writer_add(struct package_writer *writer, const void *data, size_t length,
                       struct error *error);
int package_writer_end(struct package_writer *writer, struct error *error);
/* Once, at the end. */
void package_writer_finish(struct package_writer *writer, char ret[PACKAGE_H1_SIZE]);
