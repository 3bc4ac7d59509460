#include "runtimes/postgres/place.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

#define SYSTEM "/etc/ssl/certs/ca-certificates.crt"

static void reads_addresses(void)
{
    static const struct {
        const char *address, *user, *host, *port, *database, *sslmode, *sslrootcert, *shown;
    } rows[] = {
        {"postgres://kusion@db.example/state", "kusion", "db.example", "5432", "state",
         "verify-full", SYSTEM, "db.example:5432/state"},
        {"postgresql://kusion@db.example:6432/state?", "kusion", "db.example", "6432", "state",
         "verify-full", SYSTEM, "db.example:6432/state"},
        {"postgres://a%40b%2f%3a@10.0.0.7:1/my%20state?sslrootcert=/etc/ca%26b.crt", "a@b/:",
         "10.0.0.7", "1", "my state", "verify-full", "/etc/ca&b.crt", "10.0.0.7:1/my state"},
        {"postgres://u@[2001:db8::7]:5433/d?sslmode=verify-ca", "u", "2001:db8::7", "5433", "d",
         "verify-ca", SYSTEM, "2001:db8::7:5433/d"},
        {"postgres://u@[::1]/d?sslmode=disable&sslrootcert=x", "u", "::1", "5432", "d", "disable",
         "x", "::1:5432/d"},
        /* libpq takes "require" with authorities for verify-ca. */
        {"postgres://u@h/d?sslmode=require", "u", "h", "5432", "d", "require", NULL, "h:5432/d"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct postgres_place place = {0};
        struct error error = {0};

        EXPECT_INT(postgres_place_parse(rows[i].address, &place, &error), 0, error.message);
        EXPECT_STR(place.user, rows[i].user, rows[i].address);
        EXPECT_STR(place.host, rows[i].host, rows[i].address);
        EXPECT_STR(place.port, rows[i].port, rows[i].address);
        EXPECT_STR(place.database, rows[i].database, rows[i].address);
        EXPECT_STR(place.sslmode, rows[i].sslmode, rows[i].address);
        EXPECT_STR(place.sslrootcert, rows[i].sslrootcert, rows[i].address);
        EXPECT_STR(place.shown, rows[i].shown, rows[i].address);
        postgres_place_done(&place);
    }
}

static void reads_the_files_of_an_address(void)
{
    struct postgres_place place = {0};

    EXPECT_INT(
        postgres_place_parse("postgres://u@h/d?passfile=/p&sslcert=/c&sslkey=/k", &place, NULL), 0,
        "parse");
    EXPECT_STR(place.passfile, "/p", "password");
    EXPECT_STR(place.sslcert, "/c", "certificate");
    EXPECT_STR(place.sslkey, "/k", "key");
    postgres_place_done(&place);
}

static void refuses_wrong_addresses(void)
{
    static const struct {
        const char *address, *message;
    } rows[] = {
        {"", "does not begin with postgres://"},
        {"mysql://u@h/d", "does not begin with postgres://"},
        {"postgres://h/d", "names no user"},
        {"postgres://@h/d", "names no user"},
        {"postgres://u:hunter2@h/d", "has a password"},
        {"postgres://u@h/d?password=hunter2", "has a password"},
        {"postgres://u@/d", "names no host"},
        {"postgres://u@:5432/d", "names no host"},
        {"postgres://u@h:/d", "wrong host or port"},
        {"postgres://u@h:0/d", "wrong host or port"},
        {"postgres://u@h:65536/d", "wrong host or port"},
        {"postgres://u@h:x/d", "wrong host or port"},
        {"postgres://u@[::1/d", "'[' without"},
        {"postgres://u@[::1]x/d", "wrong host or port"},
        {"postgres://u@h%zz/d", "wrong host or port"},
        {"postgres://u@h", "names no database"},
        {"postgres://u@h/", "names no database"},
        {"postgres://u@h/d/e", "names no database"},
        {"postgres://u@h?sslmode=require", "names no database"},
        {"postgres://u%@h/d", "'%' without"},
        {"postgres://u%00@h/d", "'%' without"},
        {"postgres://u@h/d%4", "'%' without"},
        {"postgres://u@h/d?sslmode=prefer", "another sslmode"},
        {"postgres://u@h/d?sslmode=", "without a value"},
        {"postgres://u@h/d?passfile", "without a value"},
        {"postgres://u@h/d?options=-cwork_mem%3d1", "parameter 'options'"},
        {"postgres://u@h/d?passfil=/p", "parameter 'passfil'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct postgres_place place = {0};
        struct error error = {0};

        EXPECT_INT(postgres_place_parse(rows[i].address, &place, &error), ERR_INVALID,
                   rows[i].address);
        EXPECT_STR(error.reason, "InvalidAddress", rows[i].address);
        EXPECT(strstr(error.message, rows[i].message), error.message);
        EXPECT(!strstr(error.message, "hunter2"), error.message);
        EXPECT(!place.host, "nothing is given");
    }
}

static void reads_passwords(void)
{
    static const struct {
        const char *content, *password; /* NULL: refused */
    } rows[] = {
        {"secret", "secret"},
        {"secret\n", "secret"},
        {"secret\r\n", "secret"},
        {" se:cret ", " se:cret "},
        {"", NULL},
        {"\n", NULL},
        {"two\nlines", NULL},
    };
    char path[] = "/tmp/kusion-passfile-XXXXXX";
    struct postgres_place place = {.passfile = path, .shown = path};

    close(mkstemp(path));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *password = NULL;
        struct error error = {0};
        FILE *file = fopen(path, "w");

        fputs(rows[i].content, file);
        fclose(file);
        EXPECT_INT(postgres_place_password(&place, &password, &error),
                   rows[i].password ? 0 : ERR_UNAUTHENTICATED, rows[i].content);
        EXPECT_STR(password, rows[i].password, rows[i].content);
        EXPECT(!strstr(error.message, "two"), error.message);
    }
    unlink(path);
    EXPECT_INT(postgres_place_password(&place, NULL, NULL), ERR_UNAUTHENTICATED,
               "there is no file");
}

SUITE(postgres_place, TEST(reads_addresses), TEST(reads_the_files_of_an_address),
      TEST(refuses_wrong_addresses), TEST(reads_passwords))
