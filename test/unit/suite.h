/*
 * A thin frame around CUnit. A test file declares one suite:
 *
 *     static void reads_numbers_as_written(void) { … CU_ASSERT_…; }
 *     SUITE(json_read, TEST(reads_numbers_as_written), TEST(refuses_duplicate_keys))
 *
 * All suites linked into a program register themselves; suite.c has main(),
 * which runs them all, or the suites and tests that the command line names.
 */
#pragma once

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

struct suite_test {
    const char *name;
    void (*run)(void);
};

struct suite {
    const char *name;
    const struct suite_test *tests;
    size_t n_tests;
    struct suite *next;
};

void suite_register(struct suite *suite);

/* Fails with what was compared and a note (the table row, say). */
void expect_str(const char *actual, const char *expected, const char *note, const char *file,
                int line);
void expect_int(long long actual, long long expected, const char *note, const char *file, int line);
void expect_true(int condition, const char *what, const char *note, const char *file, int line);

/* A test that cannot run here says why, and returns; it is counted as skipped, once. */
void skip_test(const char *reason);

#define EXPECT_STR(actual, expected, note) \
    expect_str((actual), (expected), (note), __FILE__, __LINE__)
#define EXPECT_INT(actual, expected, note) \
    expect_int((actual), (expected), (note), __FILE__, __LINE__)
#define EXPECT(condition, note) expect_true(!!(condition), #condition, (note), __FILE__, __LINE__)

#define TEST(function) {#function, function}
#define SUITE(suite_name, ...)                                                                  \
    static const struct suite_test suite_name##_tests[] = {__VA_ARGS__};                        \
    static struct suite suite_name##_suite = {                                                  \
        #suite_name, suite_name##_tests, sizeof(suite_name##_tests) / sizeof(struct suite_test), \
        NULL};                                                                                  \
    __attribute__((constructor)) static void suite_name##_register(void)                        \
    {                                                                                           \
        suite_register(&suite_name##_suite);                                                    \
    }
