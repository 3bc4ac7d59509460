/* One document of a store that is tested, open to write, and what tests do with it. */
#pragma once

#include "engine/store.h"

struct desk {
    struct store *store; /* owned */
    struct store_file *file;
    struct error error;    /* of the last call */
    struct store_call call; /* for all calls */
};

void desk_init(struct desk *desk, struct store *store);
void desk_done(struct desk *desk);
/* The same, without the store. */
void desk_close(struct desk *desk);

/* Each gives the code. */
int desk_write(struct desk *desk, const char *text); /* the open part; the other is "secret" */
int desk_append(struct desk *desk, const char *text);
int desk_remove(struct desk *desk);
/* *ret: the open part and the entries, with blanks between; free(). NULL after an error. */
int desk_read(struct desk *desk, char **ret);
/* The same by a handle of its own. */
int desk_read_in(struct store *store, char **ret, struct error *error);
/* The same by a store of its own, which it frees. */
int desk_read_by(struct store *store, char **ret, struct error *error);
