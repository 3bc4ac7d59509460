/*
 * Contracts over a real server of objects, whose place an environment's variable has.
 */
#pragma once

#include "runtimes/chain/objects.h"

struct chain_server {
    int (*open)(const char *place, struct objects **ret, struct error *error);
    char *place; /* of a folder of this test alone */
};

/* False: the variable is not set, which is said. ret: chain_server_done(). */
bool chain_server_find(const char *variable,
                       int (*open)(const char *place, struct objects **ret, struct error *error),
                       struct chain_server *ret);
void chain_server_done(struct chain_server *server);

/* arg: the server. Aborts where it cannot. */
struct objects *chain_server_attach(void *arg);
struct store *chain_server_store(void *arg);

/* The contracts of objects (with so many races), stores and histories. */
void chain_server_check_objects(struct chain_server *server, size_t races);
void chain_server_check_store(struct chain_server *server);
void chain_server_check_history(struct chain_server *server);

/* What is refused: a server whose certificate is not trusted, wrong credentials (files of a folder,
 * each with a text that is not the right one), and a place that is not there, of which no document
 * may seem to be removed. gone: that place. */
void chain_server_check_refusals(struct chain_server *server, const char *gone);

/* A certificate that has ended is refused, and one that is valid again is taken. The server
 * is started anew for it. folder: the variable with its folder, which has tls/ and run.pid. */
void chain_server_check_expiry(struct chain_server *server, const char *folder);

/* A disk that is full, rights of the server's process that are withdrawn, and a place that goes
 * while it is in use: nothing is lost. server: its place is new; path: where that is on the
 * server's disk, which becomes a file system of 8 MiB. folder: as above. full, refused: the reasons
 * of the first two; NULL: without the second. */
void chain_server_check_disk(struct chain_server *server, const char *path, const char *folder,
                             const char *full, const char *refused);
