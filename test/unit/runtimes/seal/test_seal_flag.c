/* --state-key and --state-encryption. */
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/seal/seeds.h"
#include "test/unit/suite.h"

static void sources_are_read(void)
{
    static const struct {
        const char *text;
        const char *error; /* NULL: none */
        bool reads_unsealed;
    } rows[] = {
        {"file:/etc/keys", NULL, false},
        {"kms:unix:///run/kms/kms.sock", NULL, false},
        {"kms:unix:/run/kms/kms.sock", NULL, false},
        {"kms:unix:///run/kms.sock,file:/etc/keys,identity", NULL, true},
        {"file:/etc/keys,identity,file:/etc/old", NULL, true},
        {"", "--state-key: \"\" is none of file:DIRECTORY, kms:unix:///PATH", false},
        {"identity", "--state-key: \"identity\" cannot be first", false},
        {"file:", "--state-key: \"file:\" needs an absolute path", false},
        {"file:etc/keys", "needs an absolute path", false},
        {"file:/etc/keys,", "--state-key: \"\" is none of", false},
        {"file:/etc/keys,Identity", "--state-key: \"Identity\" is none of", false},
        {"kms:unix://run/kms.sock", "needs an absolute path: kms:unix:///", false},
        {"kms:unix:////run/kms.sock", "needs an absolute path: kms:unix:///", false},
        {"kms:tcp:127.0.0.1:80", "is none of", false},
        {"file:/1,file:/2,file:/3,file:/4,file:/5,file:/6,file:/7,file:/8,file:/9",
         "\"file:/9\" is one source too many", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(seal_keys_free_p) struct seal_keys *keys = NULL;
        struct error error = {0};
        int r = seal_keys_parse(rows[i].text, &system_clock, &keys, &error);

        EXPECT_INT(r, rows[i].error ? ERR_INVALID : 0, rows[i].text);
        EXPECT(!rows[i].error || strstr(error.message, rows[i].error), error.message);
        EXPECT_STR(error.reason, rows[i].error ? "InvalidFlag" : "", rows[i].text);
        if (keys)
            EXPECT_INT(seal_keys_read_unsealed(keys), rows[i].reads_unsealed, rows[i].text);
    }
}

static void scopes_are_read(void)
{
    static const struct {
        const char *text;
        int r, scope;
    } rows[] = {{"none", 0, SEAL_NONE}, {"secret", 0, SEAL_SECRET}, {"all", 0, SEAL_ALL},
                {"", ERR_INVALID, -1},  {"All", ERR_INVALID, -1},   {"secrets", ERR_INVALID, -1}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        enum seal_scope scope;
        struct error error = {0};

        EXPECT_INT(seal_scope_parse(rows[i].text, &scope, &error), rows[i].r, rows[i].text);
        if (rows[i].r == 0)
            EXPECT_INT(scope, rows[i].scope, rows[i].text);
        else
            EXPECT(strstr(error.message, "neither none, secret nor all"), error.message);
    }
}

SUITE(seal_flag, TEST(sources_are_read), TEST(scopes_are_read))
