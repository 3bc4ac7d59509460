/*
 * A store (engine/store.h) of documents in files below one directory.
 *
 * Each Spec has a folder, NAMESPACE/NAME. Characters that are not safe in file names are escaped
 * (%2F); a name that is too long is cut and ends in a checksum. A document with the name STEM
 * ("state", "plan-web-1") consists of
 *   STEM.head        text: the list of files, with lengths and checksums (mode 0600: a short
 *                    secret can be guessed from its checksum)
 *   STEM.ID.open     the open part
 *   STEM.ID.secret   the secret part, if there is one (mode 0600)
 *   STEM.ID.journal  entries, if there are any (mode 0600)
 *   STEM.lock        while the document is open for writing: flock, and the process that holds it
 * ID is random for each write. A write creates new files and then renames a new head into place;
 * that rename is the swap. Files that the head does not name are garbage; the next write deletes
 * them, or tidy: also where there is no head, because a process was killed while it removed the
 * document or made it. Files and folders are synced before a call returns.
 *
 * A kill or a power failure can leave a torn entry at the journal's end. That entry was never
 * acknowledged, and is dropped. All other damage is ERR_CORRUPT. One case cannot be detected: a
 * journal that was cut exactly between two entries.
 *
 * The file system must support flock() and atomic rename(). Calls never wait, so deadlines are
 * ignored.
 */
#pragma once

#include "engine/store.h"

/* Creates the directory when the first document is opened for writing. */
struct store *file_store_new(const char *directory);
