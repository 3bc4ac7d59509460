/*
 * A thing behind an API, as one read finds it; and its place, by which it is told apart from
 * others: the path that reads it, and what `where` looks for.
 */
#pragma once

#include "runtimes/http/exchange.h"
#include "runtimes/http/resource/fill.h"

struct rest_thing {
    const struct value *object; /* a reference; NULL: there is none */
    char *etag;                 /* owned; of the path alone that read it; or NULL */
};
void rest_thing_done(struct rest_thing *thing);

/* The path that reads it; free(). *ret NULL: it is not known yet: an attribute or a parameter is
 * not. */
int rest_thing_path(const struct http_description *description, const struct fill *from, char **ret,
                    struct error *error);
/* The place, for a path; free(). */
char *rest_thing_place(const struct http_description *description, const struct value *attributes,
                       const char *path);

/* Reads the thing. ret: zeroed. */
int rest_thing_read(struct rest_server *server, const struct http_description *description,
                    const struct value *attributes, const char *path,
                    const struct runtime_call *call, struct rest_thing *ret, struct error *error);
/* The same in an answer to the path that was read for several things. */
int rest_thing_find(const struct http_description *description, const struct value *attributes,
                    const struct answer *answer, struct rest_thing *ret, struct error *error);

/* The id in an object; free(). NULL: it has none, or none is described. */
char *rest_thing_id(const struct http_description *description, const struct value *object);

/* What State keeps: a reference. id: or NULL. is_unseen: the server said that it was created, and
 * no read has found it yet. */
const struct value *rest_thing_memory(const char *place, const char *id, bool is_unseen);

/* A copy in which the attributes that are described as sensitive are. A reference; NULL stays NULL.
 */
const struct value *rest_thing_mark(const struct value *extensions, const struct value *value);
