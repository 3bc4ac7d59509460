/* Where the database is, and how it is reached: store.h has the form of its address. */
#pragma once

#include "engine/base/error.h"

#define POSTGRES_ADDRESS_REASON "InvalidAddress"

struct postgres_place {
    char *host, *port, *database, *user;
    char *passfile; /* NULL: no password */
    char *sslmode, *sslrootcert;
    char *sslcert, *sslkey; /* NULL: no certificate of the client */
    char *shown;            /* "db.example:5432/kusion", for messages */
};

void postgres_place_done(struct postgres_place *place);

/* ERR_INVALID InvalidAddress. */
int postgres_place_parse(const char *address, struct postgres_place *ret, struct error *error);

/* Reads the password; str_free_secret(). NULL where there is no passfile.
 * ERR_UNAUTHENTICATED StoreRefused: the file cannot be read, or has none. */
int postgres_place_password(const struct postgres_place *place, char **ret, struct error *error);
