#include "runtimes/terraform/known.h"

#include "engine/value/json.h"
#include "test/unit/suite.h"

#define A     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define B     "h1:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="
#define C     "h1:CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCA="
#define CLOUD "example.com/acme/cloud"

static const struct value *memory_of(const char *version, const char *h1)
{
    return value_pack("{s:s, s:s, s:s?}", "provider", CLOUD, "version", version, "hash", h1);
}

/* State has 1.0.0 with A (twice), 1.1.0 with B, and 1.2.0 of a time when hashes were not recorded;
 * an object of Kubernetes has no say. */
static struct known *make(const struct value *context)
{
    _cleanup_value_ const struct value *first = memory_of("1.0.0", A),
                                       *third = memory_of("1.1.0", B),
                                       *old = memory_of("1.2.0", NULL),
                                       *other = memory_of("1.0.0", C);
    const struct record records[] = {
        {.id = "a", .type = "Terraform", .memory = first},
        {.id = "b", .type = "Terraform", .memory = first},
        {.id = "c", .type = "Terraform", .memory = third},
        {.id = "d", .type = "Terraform", .memory = old},
        {.id = "e", .type = "Terraform"},
        {.id = "f", .type = "Kubernetes", .memory = other},
    };
    const struct record *all[ARRAY_SIZE(records)];

    for (size_t i = 0; i < ARRAY_SIZE(records); i++)
        all[i] = &records[i];
    return known_new(all, ARRAY_SIZE(all), context);
}

static void a_version_has_to_have_the_hash_that_state_has(void)
{
    static const struct {
        const char *address, *version, *h1;
        bool will_do;
    } table[] = {
        {CLOUD, "1.0.0", A, true},  {CLOUD, "1.0.0", B, false},
        {CLOUD, "1.0.0", C, false}, {CLOUD, "1.1.0", B, true},
        {CLOUD, "1.1.0", A, false}, {CLOUD, "1.2.0", C, true}, /* not recorded yet */
        {CLOUD, "2.0.0", C, true},  {"example.com/acme/other", "1.0.0", C, true},
    };
    _cleanup_(known_unref_p) struct known *known = make(NULL);

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct error error = {0};
        int r = known_check(known, table[i].address, table[i].version, "acme/cloud", table[i].h1,
                            &error);

        EXPECT_INT(r, table[i].will_do ? 0 : ERR_FORBIDDEN, table[i].h1);
        EXPECT_STR(error.reason, table[i].will_do ? "" : "ProviderChanged", table[i].h1);
    }
    CU_ASSERT(known_check(NULL, CLOUD, "1.0.0", "acme/cloud", C, NULL) == 0);
}

static void what_it_was_and_is_is_said(void)
{
    _cleanup_(known_unref_p) struct known *known = make(NULL);
    struct error error = {0};

    known_check(known, CLOUD, "1.0.0", "acme/cloud 1.0.0", B, &error);
    CU_ASSERT_STRING_EQUAL(error.message, "the provider acme/cloud 1.0.0 is another program than "
                                          "the one that was used so far, though "
                                          "of the same version: its hash was " A ", and is " B
                                          ". If that is meant, add the new hash "
                                          "to the Spec's context.terraformProviderHashes, or "
                                          "choose another version; else put the old "
                                          "files back");
}

static void the_context_accepts_others(void)
{
    static const struct {
        const char *json;
        bool accepts;
    } table[] = {
        {"{\"terraformProviderHashes\": \"" C "\"}", true},
        {"{\"terraformProviderHashes\": \"" B " " C "\"}", true},
        {"{\"terraformProviderHashes\": [\"" B "\", \"" C "\"]}", true},
        {"{\"terraformProviderHashes\": [5, null, \"" C "\"]}", true},
        {"{\"terraformProviderHashes\": \"" B "\"}", false},
        {"{\"terraformProviderHashes\": \"h1:\"}", false},
        {"{\"terraformProviderHashes\": {\"a\": \"" C "\"}}", false},
        {"{\"terraformProviderHashes\": true}", false},
        {"{\"other\": \"" C "\"}", false},
        {"{}", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *context = NULL;
        _cleanup_(known_unref_p) struct known *known = NULL;

        CU_ASSERT_FATAL(json_read_str(table[i].json, &context, NULL) == 0);
        known = make(context);
        EXPECT_INT(known_check(known, CLOUD, "1.0.0", "acme/cloud", C, NULL),
                   table[i].accepts ? 0 : ERR_FORBIDDEN, table[i].json);
    }
}

SUITE(terraform_known, TEST(a_version_has_to_have_the_hash_that_state_has),
      TEST(what_it_was_and_is_is_said), TEST(the_context_accepts_others))
