/*
 * A store (engine/store.h) in a folder of a WebDAV server (RFC 4918): a chain
 * (runtimes/chain/store.h) of objects.
 *
 * https://HOST[:PORT]/PATH[?OPTION=VALUE&…], or http://…; the folder must exist. Options, values
 * percent-encoded:
 *
 *   credentials  a folder with the files username and password (a mounted Secret of the type
 *                kubernetes.io/basic-auth), or token (sent as Bearer). They are read for each
 *                request, so a rotation needs no restart. Without it: none are sent
 *   ca           a file of CAs in place of the system's
 *
 * What creates only what is absent? Eight clients at once, and each round a new name, on Debian 12:
 *
 *                                   Apache 2.4.71, mod_dav_fs   nginx 1.22.1, dav-ext 3.0.0
 *   PUT, If-None-Match: *           69 of 100 rounds: two won   100 of 100 (it ignores the header)
 *   MOVE of a file, Overwrite: F    39 of 100                   5 of 100
 *   COPY of a file, Overwrite: F    37 of 100                   7 of 100
 *   MKCOL (an empty folder)         0 of 100                    0 of 100
 *   MOVE of a folder, Overwrite: F  0 of 1,000                  0 of 1,000
 *
 * Both look first and act then. But the move of a folder is a rename(2), which never replaces a
 * folder that has something in it. So an object is a folder with one file, `data`:
 *
 *   create  MKCOL unfinished/~RANDOM/, PUT data into it, MOVE it to its key, Overwrite: F. If the
 *           answer to the MOVE is neither success nor 412 (to one that lost, Apache may say 500,
 *           nginx 405), it did not happen if the unfinished folder is still there
 *   delete  MOVE to unfinished/~RANDOM/, then DELETE: no part of it is left at its key
 *   get     GET KEY/data
 *   list    PROPFIND of a folder, Depth: 1, and of each below it. After a 404, GET of what cannot
 *           be in it: nginx says 403 to that, and not to the PROPFIND, where it may not enter
 *
 *   prune   LOCK of a folder, PROPFIND, and DELETE if it is empty. Folders stay where the server
 * has no locks (405), as nginx has none unless dav_ext_lock is set
 *
 * Another server is proved before its first use
 * (chain_store_new()), which may not find a race that is rare: use it only if its MOVE of a folder
 * is a rename.
 *
 * Neither Apache nor nginx waits for the disk. What was acknowledged may be lost if the machine of
 * the server loses power.
 *
 * Errors: those of objects.h.
 */
#pragma once

#include "engine/store.h"

/* Sends nothing. ERR_INVALID InvalidFlag: the place is no such text; ERR_NOT_FOUND, ERR_FORBIDDEN:
 * the file of CAs cannot be read. */
int webdav_store_open(const char *place, struct store **ret, struct error *error);
