/* Declarations that the files of the store share: store.h. */
#pragma once

#include "runtimes/chain/objects.h"
#include "runtimes/chain/remote.h"
#include "runtimes/webdav/store.h"

/* ---- listing.c: the answer to a PROPFIND with Depth: 1 ---- */

struct webdav_folder {
    char *name;       /* the last segment of its path, unescaped */
    int64_t modified; /* ms since 1970; 0: unknown */
};

struct webdav_listing {
    struct webdav_folder *folders; /* below the one that was asked about */
    size_t count, capacity;
    bool has_files;
};
void webdav_listing_done(struct webdav_listing *listing);

/* ERR_INTERNAL UnexpectedAnswer. */
int webdav_listing_read(const struct buf *body, struct webdav_listing *ret, struct error *error);

/* ---- requests.c ---- */

struct webdav_objects {
    struct objects base;
    struct remote remote;
    char *root;        /* the folder's path: "" or "/a/b" */
    char *credentials; /* a folder; NULL: none */
};

static inline struct webdav_objects *webdav_of(struct objects *objects)
{
    return (struct webdav_objects *)objects;
}

struct webdav_exchange {
    const char *method;
    char *path;             /* owned */
    char *destination;      /* of a MOVE: an address, owned; or NULL */
    const char *headers[3]; /* up to the first NULL */
    const void *body;
    size_t body_length;
    const char *field; /* a header of the response that is wanted; or NULL */
    bool is_change;
    size_t max_response; /* 0: 1 MiB */
};

char *webdav_describe(struct objects *objects, const char *key);
/* A path below the root, escaped; free(). */
char *webdav_path(const struct webdav_objects *webdav, const char *key, const char *suffix);

/* Sends one request, and frees what the exchange owns. 0 for each status. */
int webdav_send(struct webdav_objects *webdav, struct webdav_exchange *exchange,
                const struct store_call *call, struct http_response *response, struct error *error);
/* The status alone, or an error. */
int webdav_status(struct webdav_objects *webdav, struct webdav_exchange exchange,
                  const struct store_call *call, struct error *error);
/* 207 of a change says that a part of it failed. */
bool webdav_is_success(int status);
int webdav_refused(struct webdav_objects *webdav, const char *method, const char *key, int status,
                   struct error *error);

/* Each gives the status, or an error. */
int webdav_make_folder(struct webdav_objects *webdav, const char *key,
                       const struct store_call *call, struct error *error);
int webdav_delete_folder(struct webdav_objects *webdav, const char *key,
                         const struct store_call *call, struct error *error);
int webdav_move_folder(struct webdav_objects *webdav, const char *from, const char *to,
                       const struct store_call *call, struct error *error);

/* A PROPFIND. path: owned by the exchange. */
struct webdav_exchange webdav_find(char *path, const char *depth, size_t max_response);
/* What is in a folder ("v1/state/"): nothing in one that is not there. */
int webdav_read_folder(struct webdav_objects *webdav, const char *folder,
                       const struct store_call *call, struct webdav_listing *ret,
                       struct error *error);
/* 0: the folder of all is there. Else what is absent may be so because that is missing. */
int webdav_check_root(struct webdav_objects *webdav, const struct store_call *call,
                      struct error *error);
/* 0: a folder ("v1/state/") of which a PROPFIND said 404 is not there, and the folder of all is.
 * nginx says 404 to a PROPFIND below a folder that it may not enter, but 403 to a GET. */
int webdav_confirm_absent(struct webdav_objects *webdav, const char *folder,
                          const struct store_call *call, struct error *error);

/* ---- folders.c ---- */

/* prune of the table. */
int webdav_prune(struct objects *objects, const char *folder, const struct store_call *call,
                 struct error *error);

/* ---- objects.c ---- */

/* Parses the place. */
int webdav_objects_new(const char *place, struct objects **ret, struct error *error);
