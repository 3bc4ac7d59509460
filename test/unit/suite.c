#include "test/unit/suite.h"

#include <CUnit/Basic.h>
#include <stdbool.h>

static struct suite *suites;
static unsigned skipped;

void suite_register(struct suite *suite)
{
    suite->next = suites;
    suites = suite;
}

void skip_test(const char *reason)
{
    printf("skipped: %s ", reason);
    skipped++;
}

static void check(bool passed, const char *text, const char *file, int line)
{
    CU_assertImplementation(passed, (unsigned)line, text, file, "", CU_FALSE);
}

void expect_str(const char *actual, const char *expected, const char *note, const char *file,
                int line)
{
    bool same = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;
    char text[2048];

    snprintf(text, sizeof(text), "%s: is \"%s\", expected \"%s\"", note ? note : "",
             actual ? actual : "(null)", expected ? expected : "(null)");
    check(same, text, file, line);
}

void expect_int(long long actual, long long expected, const char *note, const char *file, int line)
{
    char text[512];

    snprintf(text, sizeof(text), "%s: is %lld, expected %lld", note ? note : "", actual, expected);
    check(actual == expected, text, file, line);
}

void expect_true(int condition, const char *what, const char *note, const char *file, int line)
{
    char text[2048];

    snprintf(text, sizeof(text), "%s: %s", note ? note : "", what);
    check(condition, text, file, line);
}

/* Whether an argument is this name. */
static bool is_named(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

static bool has_test(const struct suite *suite, const char *name)
{
    for (size_t i = 0; i < suite->n_tests; i++)
        if (strcmp(suite->tests[i].name, name) == 0)
            return true;
    return false;
}

static bool is_known(const char *name)
{
    for (const struct suite *suite = suites; suite; suite = suite->next)
        if (strcmp(suite->name, name) == 0 || has_test(suite, name))
            return true;
    fprintf(stderr, "%s: there is no such suite or test\n", name);
    return false;
}

static int add_to_registry(const struct suite *suite, int argc, char **argv)
{
    bool is_whole = argc < 2 || is_named(suite->name, argc, argv);
    CU_pSuite registered = NULL;

    for (size_t i = 0; i < suite->n_tests; i++) {
        const struct suite_test *test = &suite->tests[i];

        if (!is_whole && !is_named(test->name, argc, argv))
            continue;
        if (!registered)
            registered = CU_add_suite(suite->name, NULL, NULL);
        if (!registered || !CU_add_test(registered, test->name, test->run))
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned failures, ran, other;

    for (int i = 1; i < argc; i++)
        if (!is_known(argv[i]))
            return 2;
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    for (const struct suite *suite = suites; suite; suite = suite->next)
        if (add_to_registry(suite, argc, argv) < 0) {
            fprintf(stderr, "%s: %s\n", suite->name, CU_get_error_msg());
            return 2;
        }
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    ran = CU_get_number_of_tests_run();
    failures = CU_get_number_of_tests_failed();
    other = failures + skipped; /* a test may be both */
    printf("tests: %u passed, %u failed", ran > other ? ran - other : 0, failures);
    if (skipped)
        printf(", %u skipped", skipped);
    printf("\n");
    CU_cleanup_registry();
    return failures || !ran ? 1 : 0;
}
