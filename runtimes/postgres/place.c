#include "runtimes/postgres/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/escape.h"
#include "engine/base/str.h"

#define SCHEME             "postgres://"
#define LONG_SCHEME        "postgresql://" /* libpq takes both */
#define DEFAULT_PORT       "5432"
#define DEFAULT_MODE       "verify-full"
#define SYSTEM_AUTHORITIES "/etc/ssl/certs/ca-certificates.crt"
#define PASSWORD_BYTES     4096

/* ---- Parameters ---- */

static const struct parameter {
    const char *name;
    size_t offset; /* in struct postgres_place */
} parameters[] = {
    {"passfile", offsetof(struct postgres_place, passfile)},
    {"sslmode", offsetof(struct postgres_place, sslmode)},
    {"sslrootcert", offsetof(struct postgres_place, sslrootcert)},
    {"sslcert", offsetof(struct postgres_place, sslcert)},
    {"sslkey", offsetof(struct postgres_place, sslkey)},
};

/* Those of libpq that connect without TLS if the server asks for it are not taken. */
static const char *const modes[] = {"verify-full", "verify-ca", "require", "disable"};

static char **value_of(struct postgres_place *place, const struct parameter *parameter)
{
    return (char **)(void *)((char *)place + parameter->offset);
}

static void set_defaults(struct postgres_place *place)
{
    if (!place->port)
        place->port = str_new(DEFAULT_PORT);
    if (!place->sslmode)
        place->sslmode = str_new(DEFAULT_MODE);
    if (!place->sslrootcert && !str_equal(place->sslmode, "require"))
        place->sslrootcert = str_new(SYSTEM_AUTHORITIES);
    place->shown = str_printf("%s:%s/%s", place->host, place->port, place->database);
}

void postgres_place_done(struct postgres_place *place)
{
    free(place->host);
    free(place->port);
    free(place->database);
    free(place->user);
    free(place->shown);
    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
        free(*value_of(place, &parameters[i]));
    *place = (struct postgres_place){0};
}

/* ---- The address ---- */

static int wrong(struct error *error, const char *what)
{
    return err_set(error, ERR_INVALID, POSTGRES_ADDRESS_REASON,
                   "the address of the database %s; it is written "
                   "postgres://USER@HOST:PORT/DATABASE?sslrootcert=FILE&passfile=FILE",
                   what);
}

static bool is_port(const char *text)
{
    int64_t port;

    return str_to_int64(text, &port) && port > 0 && port < 65536;
}

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT" */
static int parse_host(const char *text, size_t length, struct postgres_place *to,
                      struct error *error)
{
    const char *end = text + length, *host = text, *host_end, *colon;

    if (length && *text == '[') {
        host = text + 1;
        host_end = memchr(text, ']', length);
        if (!host_end)
            return wrong(error, "has a '[' without a ']'");
        colon = host_end + 1 < end ? host_end + 1 : NULL;
    } else {
        colon = memchr(text, ':', length);
        host_end = colon ? colon : end;
    }
    if (host == host_end)
        return wrong(error, "names no host");
    to->host = escape_url_read(host, (size_t)(host_end - host));
    if (colon)
        to->port = str_new_n(colon + 1, (size_t)(end - colon - 1));
    if (!to->host || (colon && (*colon != ':' || !is_port(to->port))))
        return wrong(error, "has a wrong host or port");
    return 0;
}

static int parse_parameter(const char *text, size_t length, struct postgres_place *to,
                           struct error *error)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;

    if (name == strlen("password") && memcmp(text, "password", name) == 0)
        return wrong(error, "has a password; write it to a file, and name that by passfile=FILE");
    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
        char **value = value_of(to, &parameters[i]);

        if (strlen(parameters[i].name) != name || memcmp(parameters[i].name, text, name) != 0)
            continue;
        free(*value);
        *value = equals ? escape_url_read(equals + 1, length - name - 1) : NULL;
        return *value && **value ? 0 : wrong(error, "has a parameter without a value");
    }
    return err_set(error, ERR_INVALID, POSTGRES_ADDRESS_REASON,
                   "the address of the database has the parameter '%.*s'; there are passfile, "
                   "sslmode, sslrootcert, sslcert and sslkey",
                   name < 64 ? (int)name : 64, text);
}

static int parse_parameters(const char *text, struct postgres_place *to, struct error *error)
{
    int r = 0;

    while (r == 0 && *text) {
        size_t length = strcspn(text, "&");

        r = parse_parameter(text, length, to, error);
        text += length + (text[length] == '&');
    }
    for (size_t i = 0; r == 0 && to->sslmode && i < ARRAY_SIZE(modes); i++)
        if (str_equal(to->sslmode, modes[i]))
            return 0;
    if (r == 0 && to->sslmode)
        r = wrong(error, "has another sslmode than verify-full, verify-ca, require or disable");
    return r;
}

/* "USER@HOST:PORT/DATABASE?…" */
static int parse(const char *text, struct postgres_place *to, struct error *error)
{
    size_t authority = strcspn(text, "/?"), path;
    const char *at = memchr(text, '@', authority), *database;
    int r;

    if (!at || at == text)
        return wrong(error, "names no user");
    if (memchr(text, ':', (size_t)(at - text)))
        return wrong(error, "has a password; write it to a file, and name that by passfile=FILE");
    to->user = escape_url_read(text, (size_t)(at - text));
    r = parse_host(at + 1, authority - (size_t)(at + 1 - text), to, error);
    if (r < 0)
        return r;
    database = text + authority + (text[authority] == '/');
    path = strcspn(database, "?");
    if (text[authority] != '/' || path == 0 || memchr(database, '/', path))
        return wrong(error, "names no database");
    to->database = escape_url_read(database, path);
    if (!to->user || !to->database)
        return wrong(error, "has a '%' without two hexadecimal digits");
    return parse_parameters(database + path + (database[path] == '?'), to, error);
}

int postgres_place_parse(const char *address, struct postgres_place *ret, struct error *error)
{
    struct postgres_place place = {0};
    int r;

    if (str_has_prefix(address, SCHEME))
        r = parse(address + strlen(SCHEME), &place, error);
    else if (str_has_prefix(address, LONG_SCHEME))
        r = parse(address + strlen(LONG_SCHEME), &place, error);
    else
        r = wrong(error, "does not begin with postgres://");
    if (r < 0) {
        postgres_place_done(&place);
        return r;
    }
    set_defaults(&place);
    *ret = place;
    return 0;
}

/* ---- The password ---- */

int postgres_place_password(const struct postgres_place *place, char **ret, struct error *error)
{
    char bytes[PASSWORD_BYTES + 1];
    ssize_t length;
    int fd, saved;

    if (!place->passfile)
        return 0;
    fd = open(place->passfile, O_RDONLY | O_CLOEXEC);
    length = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    saved = errno;
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return err_set(error, ERR_UNAUTHENTICATED, "StoreRefused",
                       "cannot read the password of %s from %s: %s", place->shown, place->passfile,
                       strerror(saved));
    while (length > 0 && (bytes[length - 1] == '\n' || bytes[length - 1] == '\r'))
        length--;
    if (length == 0 || length > PASSWORD_BYTES || memchr(bytes, '\0', (size_t)length) ||
        memchr(bytes, '\n', (size_t)length)) {
        explicit_bzero(bytes, sizeof(bytes));
        return err_set(error, ERR_UNAUTHENTICATED, "StoreRefused",
                       "%s holds no password of %s: it must be one line", place->passfile,
                       place->shown);
    }
    *ret = str_new_n(bytes, (size_t)length);
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}
