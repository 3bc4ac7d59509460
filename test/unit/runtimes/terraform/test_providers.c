#include "runtimes/terraform/providers.h"

#include "engine/base/str.h"
#include "test/unit/suite.h"

static struct provider *use(struct providers *providers, const char *address, const char *version)
{
    char folder[] = "/copy", h1[] = "h1:", program[] = "/copy/program";
    struct package package = {.folder = folder, .name = "copy", .h1 = h1};
    _cleanup_(source_done) struct source source = {0};
    _cleanup_free_ char *text = str_new(version);
    const struct found found = {.package = &package, .version = text, .program = program};

    CU_ASSERT_FATAL(source_read(address, '/', &source, NULL) == 0);
    return providers_use(providers, &source, &found);
}

static void each_version_of_an_address_is_one(void)
{
    struct providers providers;
    struct provider *first, *same, *newer, *copied;

    providers_init(&providers);
    first = use(&providers, "acme/cloud", "1.0.0");
    same = use(&providers, "acme/cloud", "1.0.0");
    newer = use(&providers, "acme/cloud", "1.1.0");
    copied = use(&providers, "copied/cloud", "1.0.0");
    EXPECT(first == same, "the same");
    EXPECT(first != newer && first != copied && newer != copied, "others");
    EXPECT_STR(newer->name, "acme/cloud 1.1.0", "its name");
    provider_leave(first, 1);
    provider_leave(same, 1);
    provider_leave(newer, 1);
    provider_leave(copied, 1);
    provider_leave(NULL, 1);
    providers_done(&providers);
}

static void what_nobody_uses_is_forgotten(void)
{
    struct providers providers;
    struct provider *old, *used, *again;

    providers_init(&providers);
    old = use(&providers, "acme/cloud", "1.0.0");
    used = use(&providers, "acme/cloud", "1.1.0");
    use(&providers, "acme/cloud", "1.1.0");
    again = use(&providers, "acme/cloud", "1.2.0");
    provider_leave(old, 10);
    provider_leave(used, 10);
    provider_leave(again, 10);
    CU_ASSERT(use(&providers, "acme/cloud", "1.2.0") == again);
    EXPECT(!providers_forget(&providers, 10), "it is not long ago");
    EXPECT(providers_forget(&providers, 11) == old, "it is long ago");
    provider_free(old);
    EXPECT(!providers_forget(&providers, 11), "the others are in use");
    provider_leave(again, 20);
    EXPECT(!providers_forget(&providers, 20), "it was used again");
    EXPECT(providers_forget(&providers, 21) == again, "no more");
    provider_free(again);
    old = use(&providers, "acme/cloud", "1.0.0");
    EXPECT_STR(old->version, "1.0.0", "it is known anew");
    provider_leave(old, 30);
    provider_leave(used, 30);
    providers_done(&providers);
}

SUITE(terraform_providers, TEST(each_version_of_an_address_is_one),
      TEST(what_nobody_uses_is_forgotten))
