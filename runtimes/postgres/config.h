/* The parts of an address: store.h says what each means. */
#ifndef RUNTIMES_POSTGRES_CONFIG_H
#define RUNTIMES_POSTGRES_CONFIG_H

/* All are copied. NULL: as if it was not given. */
struct postgres_config {
    const char *host, *port, *database, *user;
    const char *passfile, *sslmode, *sslrootcert, *sslcert, *sslkey;
};

#endif
