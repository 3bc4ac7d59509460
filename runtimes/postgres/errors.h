/* What a failure of libpq or of the server means: store.h has the codes and reasons. */
#ifndef RUNTIMES_POSTGRES_ERRORS_H
#define RUNTIMES_POSTGRES_ERRORS_H

#include <libpq-fe.h>

#include "engine/base/error.h"

#define POSTGRES_CORRUPT  "StateCorrupt"
#define POSTGRES_CONFLICT "StateConflict"
#define POSTGRES_SLOW     "StoreSlow"

/* A connection that could not be made, or that was cut. doing: "writing kusion.document"; place:
 * "db.example:5432/kusion". */
int postgres_connection_error(const PGconn *pg, const char *doing, const char *place,
                              struct error *error);
/* An answer that is an error. What it says of rows (its detail) may be secret, and is left out. */
int postgres_result_error(const PGresult *result, const char *doing, const char *place,
                          struct error *error);
/* COMMIT was sent and not answered: *cause says why. */
int postgres_doubt_error(const struct error *cause, struct error *error);

/* What a SQLSTATE means; reason and code. Never NULL. */
struct postgres_meaning {
    const char *state; /* a prefix */
    int code;
    const char *reason;
};
const struct postgres_meaning *postgres_meaning_of(const char *state);

#endif
