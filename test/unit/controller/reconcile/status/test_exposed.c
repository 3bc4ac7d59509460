#include "controller/reconcile/status/exposed.h"

#include <stdlib.h>

#include "engine/value/json.h"
#include "test/unit/suite.h"

#define SECRET(id, fields)                                                                        \
    "{\"id\": \"" id "\", \"attributes\": {\"apiVersion\": \"v1\", \"kind\": \"Secret\", " fields \
    "}}"
#define REMEDY       ". References to a secret store (secretStore, ref://) keep them out of it"
#define IN_CLEAR(id) SECRET(id, "\"data\": {\"a\": \"Yg==\"}")

static void counts_secrets_with_values(void)
{
    static const struct {
        const char *resources, *message; /* after the fixed part; NULL: none */
    } rows[] = {
        {"[]", NULL},
        {"{}", NULL},
        {"[1, null, {}, {\"attributes\": 1}]", NULL},
        {"[{\"attributes\": {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"data\": {\"a\": "
         "\"b\"}}}]",
         NULL},
        {"[{\"attributes\": {\"apiVersion\": \"example.com/v1\", \"kind\": \"Secret\", \"data\": "
         "{\"a\": \"b\"}}}]",
         NULL},
        {"[" SECRET("a", "\"data\": {}") "]", NULL},
        {"[" SECRET("a", "\"data\": [\"b\"]") "]", NULL},
        {"[" SECRET("a", "\"data\": {\"a\": \"\", \"b\": null}") "]", NULL},
        {"[" SECRET("a", "\"stringData\": {\"a\": \"ref://store/key\"}") "]", NULL},
        {"[" SECRET("a", "\"data\": {\"a\": \"$kusion_path.v1:Secret:b.data.a\"}") "]", NULL},
        {"[" SECRET("a", "\"data\": {\"a\": \"cmVmOi8vYS9i\"}") "]", NULL},
        {"[" SECRET("a", "\"stringData\": {\"a\": \"cmVmOi8vYS9i\"}") "]",
         "1 Secret are in clear in this Spec, for all who can read it: a" REMEDY},
        {"[" IN_CLEAR("a") "]",
         "1 Secret are in clear in this Spec, for all who can read it: a" REMEDY},
        {"[" SECRET("a", "\"stringData\": {\"x\": \"ref://b/c\", \"y\": \"z\"}") "]",
         "1 Secret are in clear in this Spec, for all who can read it: a" REMEDY},
        {"[" IN_CLEAR("a\\nto allow it: kubectl") "]",
         "1 Secret are in clear in this Spec, for all who can read it: a to allow it: "
         "kubectl" REMEDY},
        {"[" IN_CLEAR("a") "," IN_CLEAR("b") "]",
         "2 Secrets are in clear in this Spec, for all who can read it: a, b" REMEDY},
        {"[" IN_CLEAR("a") "," IN_CLEAR("b") "," IN_CLEAR("c") "," IN_CLEAR("d") "]",
         "4 Secrets are in clear in this Spec, for all who can read it: a, b, c, and 1 "
         "more" REMEDY},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *text = rows[i].resources, *message = rows[i].message;
        _cleanup_value_ const struct value *resources = NULL;
        _cleanup_free_ char *found = NULL;
        char expected[320];

        json_read(text, strlen(text), &resources, NULL);
        EXPECT(resources, text);
        found = exposed_secrets(resources);
        snprintf(expected, sizeof(expected), "the values of %s", message ? message : "");
        EXPECT_STR(found, message ? expected : NULL, text);
    }
    EXPECT(!exposed_secrets(NULL), "a Spec that cannot be read");
}

SUITE(exposed, TEST(counts_secrets_with_values))
