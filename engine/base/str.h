/*
 * Small helpers over NUL-terminated strings. Strings returned are owned by
 * the caller and freed with free().
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/cleanup.h"

char *str_new(const char *s);                   /* a copy; NULL stays NULL */
char *str_new_n(const char *s, size_t length);  /* a copy of length bytes, terminated */
char *str_printf(const char *format, ...) PRINTF_LIKE(1, 2);
char *str_vprintf(const char *format, va_list args) PRINTF_LIKE(1, 0);
void str_free_secret(char *secret);             /* overwrites it first; NULL: nothing */
DEFINE_CLEANUP(char *, str_free_secret)

bool str_equal(const char *a, const char *b);   /* two NULLs are equal */
bool str_has_prefix(const char *s, const char *prefix);
/* Whether it is written as a variable of the environment: [A-Z_][A-Z0-9_]*. */
bool str_is_variable(const char *s);
bool str_has_suffix(const char *s, const char *suffix);
int str_compare(const void *a, const void *b);  /* of two char ** , for qsort() */

/* Copies as much as fits, NUL-terminated; returns false if the text was cut. A cut is made between
 * UTF-8 characters, and marked with "…" if that fits. */
bool str_copy(char *to, size_t size, const char *from);

/* Reads a decimal integer. False: the text is anything else. */
bool str_to_int64(const char *s, int64_t *ret);

/* True for a lower-case RFC 1123 label or subdomain, as Kubernetes names are. */
bool str_is_dns_label(const char *s);
bool str_is_dns_subdomain(const char *s);
