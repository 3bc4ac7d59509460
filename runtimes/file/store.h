/*
 * Documents in files below one directory: engine/store.h.
 *
 * Each Spec has a folder, NAMESPACE/NAME; characters that are not safe in a
 * file's name are written %2F, names that are too long end in a checksum. A
 * document called STEM ("state", "plan-web-1") consists of
 *   STEM.head        text: what there is, with lengths and checksums
 *   STEM.ID.open     the open part
 *   STEM.ID.secret   the secret part, if there is one (mode 0600)
 *   STEM.ID.journal  entries, if there are any (mode 0600)
 *   STEM.lock        while it is open to write: flock, and who holds it
 * ID is drawn for each write. A write makes new files, then renames a new head
 * into place: that is the swap. What the head does not name is garbage, which
 * the next write removes. Files and folders are synced before a call returns.
 *
 * An entry that a kill or a power failure tore off at the journal's end was
 * never acknowledged: it is dropped. What is damaged otherwise is ERR_CORRUPT.
 * That the last entries were cut off exactly between two of them cannot be told.
 *
 * The directory must be of a file system with flock() and atomic rename().
 * Calls do not wait, so deadlines are not looked at.
 */
#ifndef RUNTIMES_FILE_STORE_H
#define RUNTIMES_FILE_STORE_H

#include "engine/store.h"

/* The directory is made when the first document is opened to be written. */
struct store *file_store_new(const char *directory);

#endif
