#include "runtimes/terraform/lock_file.h"

#include "engine/base/buf.h"
#include "test/unit/suite.h"

#define H1     "h1:Pvc1RDouhF9X1b6GpnLYLG69b3NJDYkE3OAN1yqsKVU="
#define ZH     "zh:0ea12f21b2a45bedbb14161a2d0cbf63646ed6f8976ca95fc5f0a133bb60d037"
#define RANDOM "registry.terraform.io/hashicorp/random"

/* As OpenTofu writes it. */
static void the_file_of_terraform_is_read(void)
{
    static const char text[] = "# This file is maintained automatically by \"tofu init\".\n"
                               "# Manual edits may be lost in future updates.\n"
                               "\n"
                               "provider \"example.com:8443/a/b\" {\n"
                               "  version = \"1.0.0-rc1\"\n"
                               "  hashes  = [\"" ZH "\"] // one\n"
                               "}\n"
                               "/* and\n   another */\n"
                               "provider \"" RANDOM "\" {\n"
                               "  version     = \"3.6.0\"\n"
                               "  constraints = \"~> 3.6\"\n"
                               "  hashes = [\n"
                               "    \"" H1 "\",\n"
                               "    \"" ZH "\",\n"
                               "  ]\n"
                               "}\n";
    _cleanup_(lock_file_free_p) struct lock_file *file = NULL;
    const struct locked *random;

    CU_ASSERT_FATAL(lock_file_read(text, &file, NULL) == 0);
    CU_ASSERT(file->count == 2);
    random = lock_file_find(file, RANDOM);
    CU_ASSERT_FATAL(random != NULL);
    CU_ASSERT_STRING_EQUAL(random->version, "3.6.0");
    CU_ASSERT_STRING_EQUAL(random->hashes, H1 " " ZH);
    CU_ASSERT_STRING_EQUAL(lock_file_find(file, "example.com:8443/a/b")->version, "1.0.0-rc1");
    CU_ASSERT(!lock_file_find(file, "hashicorp/random"));
    CU_ASSERT(!lock_file_find(NULL, RANDOM));
}

static void an_empty_file_locks_nothing(void)
{
    _cleanup_(lock_file_free_p) struct lock_file *file = NULL;

    CU_ASSERT_FATAL(lock_file_read("# nothing", &file, NULL) == 0);
    CU_ASSERT(file->count == 0);
}

static void what_is_no_lock_file_is_refused(void)
{
#define GOOD(inside) "provider \"" RANDOM "\" {\n" inside "}\n"
#define VERSION      "version = \"3.6.0\"\n"
#define HASHES       "hashes = [\"" H1 "\"]\n"
    static const struct {
        const char *text, *message;
    } table[] = {
        {"resource", "line 1: \"provider\" is expected here"},
        {"provider {", "line 1: a string is expected here"},
        {"provider \"hashicorp/random\" {", "line 1: \"hashicorp/random\" is no provider, as"},
        {"provider \"" RANDOM "@3\" {", "is no provider, as"},
        {"provider \"../../etc\" {", "is no provider, as"},
        {"provider \"" RANDOM "\" [", "line 1: \"{\" is expected here"},
        {"provider \"" RANDOM, "line 1: a string has no end"},
        {GOOD(""), "has no version, or no hashes"},
        {GOOD(VERSION), "has no version, or no hashes"},
        {GOOD(HASHES), "has no version, or no hashes"},
        {GOOD(VERSION "hashes = []\n"), "has no version, or no hashes"},
        {GOOD(VERSION VERSION HASHES),
         "line 3: version, constraints and hashes are expected here, each once"},
        {GOOD(VERSION HASHES HASHES), "line 4: version, constraints and hashes"},
        {GOOD(VERSION HASHES "other = \"a\"\n"), "line 4: version, constraints and hashes"},
        {GOOD("version = \"~> 3\"\n"), "line 3: \"~> 3\" is no version"},
        {GOOD("version = 3\n"), "line 2: a string is expected here"},
        {GOOD("version \"3\"\n"), "line 2: \"=\" is expected here"},
        {GOOD(VERSION "hashes = [\"md5:1\"]\n"), "line 3: \"md5:1\" is no hash"},
        {GOOD(VERSION "hashes = [\"" H1 "\" \"" ZH "\"]\n"), "line 3: \"]\" is expected here"},
        {GOOD(VERSION "hashes = [\"${a}\"]\n"), "line 3: a string has no end, or more than plain"},
        {GOOD(VERSION "hashes = [\"a\\n\"]\n"), "line 3: a string has no end, or more than plain"},
        {GOOD(VERSION "/* hashes"), "a comment has no end"},
        {GOOD(VERSION HASHES) GOOD(VERSION HASHES), "is there twice"},
        {"provider \"" RANDOM "\" {", "version, constraints and hashes are expected here"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct lock_file *file = NULL;
        struct error error = {0};

        EXPECT_INT(lock_file_read(table[i].text, &file, &error), ERR_INVALID, table[i].text);
        EXPECT_STR(error.reason, "InvalidLockFile", table[i].text);
        EXPECT(strstr(error.message, table[i].message), error.message);
        EXPECT(!file, table[i].text);
    }
}

static void a_file_of_too_many_is_refused(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct lock_file *file = NULL;
    struct error error = {0};

    for (int i = 0; i <= LOCK_FILE_PROVIDERS; i++)
        buf_printf(&text, "provider \"a.b/c/d%d\" {" VERSION HASHES "}\n", i);
    CU_ASSERT(lock_file_read(text.data, &file, &error) == ERR_INVALID);
    CU_ASSERT(strstr(error.message, "more than 256 providers") != NULL);
}

SUITE(terraform_lock_file, TEST(the_file_of_terraform_is_read), TEST(an_empty_file_locks_nothing),
      TEST(what_is_no_lock_file_is_refused), TEST(a_file_of_too_many_is_refused))
