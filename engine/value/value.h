/*
 * JSON values: immutable, shared between threads, and exactly as they were written.
 *
 * A value lives in a document: an arena with an atomic reference count. value_ref() and
 * value_unref() change the count of the value's document. So any value keeps its whole document
 * alive, and the last reference to any of its values frees it. A builder makes values; when it
 * finishes, they are frozen, and threads read them without locks. A new document may share values
 * of other documents: the builder takes references to those documents.
 *
 * Numbers keep their text (12345678901234567890123, 1.10). value_equal() compares them after
 * normalising -0, trailing zeros and the exponent. Strings are UTF-8, may contain NUL, and are also
 * NUL-terminated. Objects keep the order of their keys, and have no duplicate keys; a lookup in a
 * large object is logarithmic.
 *
 * An unknown value (VALUE_UNKNOWN) stands for a value that is not known before apply. Only a
 * builder makes one; no text is read as one.
 *
 * A sensitive value carries a bit, and so do all values inside it: a getter that finds a value
 * inside a sensitive object or array returns a sensitive value, and callers need no extra care. The
 * bit is kept when a value is shared, copied or changed (a member that is put into a sensitive
 * object becomes sensitive). The bit is not part of the content: value_equal() and text ignore it.
 * value_mark.h converts the bits into lists of pointers, and back.
 *
 * Getters accept NULL and values of another type, for which they return NULL, 0 or the fallback. So
 * value_get(value_get(v, "metadata"), "name") is safe for any v. A returned pointer is borrowed
 * from the value that was asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/cleanup.h"
#include "engine/base/error.h"

enum value_type {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_NUMBER,
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_OBJECT,
    VALUE_UNKNOWN,
};

/* An unknown value in text for people. */
#define VALUE_UNKNOWN_TEXT "(known after apply)"

struct value;

/* ---- Lifetime ---- */

const struct value *value_ref(const struct value *value);
void value_unref(const struct value *value);
DEFINE_CLEANUP(const struct value *, value_unref)
#define _cleanup_value_ _cleanup_(value_unref_p)
/* Replaces the reference in *field with a new one to value (or NULL). */
void value_assign(const struct value **field, const struct value *value);

/* ---- Reading ---- */

enum value_type value_type(const struct value *value); /* NULL: VALUE_NULL */
const char *value_type_name(const struct value *value); /* "object", for messages */

static inline bool value_is(const struct value *value, enum value_type type)
{
    return value && value_type(value) == type;
}

bool value_bool(const struct value *value, bool fallback);
/* The number, if it is whole and fits (1e3 does); the fallback for anything else (1.5, "3"). */
int64_t value_int(const struct value *value, int64_t fallback);
const char *value_number(const struct value *value);               /* its text, or NULL */
const char *value_string(const struct value *value);               /* or NULL */
const char *value_string_n(const struct value *value, size_t *ret_length);

size_t value_count(const struct value *value); /* items or members; 0 for scalars */
const struct value *value_at(const struct value *array, size_t index);

const struct value *value_get(const struct value *object, const char *key);
const struct value *value_get_n(const struct value *object, const char *key, size_t length);
/* value_string(value_get(object, key)) */
const char *value_get_string(const struct value *object, const char *key);

/* Members in the order they were written. */
const char *value_member_key(const struct value *object, size_t index, size_t *ret_length);
const struct value *value_member(const struct value *object, size_t index);
/* An array's value_at(), an object's value_member(). */
const struct value *value_child(const struct value *container, size_t index);

/* Walks down objects: value_path(v, "metadata", "labels", NULL). */
const struct value *value_path(const struct value *value, ...) __attribute__((sentinel));

/* True for the same type and content. The order of an object's keys does not matter; numbers are
 * compared by value. An unknown value equals only an unknown value. */
bool value_equal(const struct value *a, const struct value *b);

/* Number of values in the tree, this one included. */
size_t value_size(const struct value *value);

/* Bytes of the document whose root the value is, without shared parts; 0: the value is not a root.
 * In constant time. */
size_t value_memory(const struct value *value);

/* True if the value, or any value inside it, is unknown (or sensitive). In constant time. */
bool value_has_unknown(const struct value *value);
bool value_has_sensitive(const struct value *value);
/* True if the whole value is sensitive. */
bool value_is_sensitive(const struct value *value);

/* ---- Making ---- */

/*
 * A builder makes one document from a stream of calls: begin and end, a key before each member, and
 * scalars. Misuse (a member without a key) is a bug and aborts. Errors in the data (a duplicate
 * key, too deep, too many values) are remembered; value_builder_finish() returns the first one.
 */
struct value_builder;

struct value_builder *value_builder_new(void);
void value_builder_free(struct value_builder *builder);
DEFINE_CLEANUP(struct value_builder *, value_builder_free)

void value_begin_object(struct value_builder *b);
void value_end_object(struct value_builder *b);
void value_begin_array(struct value_builder *b);
void value_end_array(struct value_builder *b);
void value_key(struct value_builder *b, const char *key);
void value_key_n(struct value_builder *b, const char *key, size_t length);

void value_add_null(struct value_builder *b);
void value_add_bool(struct value_builder *b, bool v);
void value_add_int(struct value_builder *b, int64_t v);
void value_add_number(struct value_builder *b, const char *text, size_t length); /* JSON's syntax */
void value_add_string(struct value_builder *b, const char *s); /* NULL adds null */
void value_add_string_n(struct value_builder *b, const char *s, size_t length);
void value_add_printf(struct value_builder *b, const char *format, ...) PRINTF_LIKE(2, 3);
void value_add_unknown(struct value_builder *b);
void value_add(struct value_builder *b, const struct value *v); /* shares; NULL adds null */
void value_add_sensitive(struct value_builder *b, const struct value *v); /* the same, sensitive */

/* Begins an array or object of the type of `like`, sensitive if `like` is; value_end() ends it. For
 * copies with changes inside. */
void value_begin_like(struct value_builder *b, const struct value *like);
void value_end(struct value_builder *b);

/* The first error so far, or 0: lets a reader stop early. */
int value_builder_error(const struct value_builder *b);
size_t value_builder_depth(const struct value_builder *b); /* containers that are open */

/* Ends the document; the builder is empty after, and may be used again.
 * ERR_INVALID DuplicateKey, ERR_TOO_LARGE. */
int value_builder_finish(struct value_builder *b, const struct value **ret, struct error *error);
const struct value *value_finish(struct value_builder *b); /* the same; NULL after an error */

/*
 * Makes a value from a format, as jansson's json_pack() does:
 *
 *   n null   u unknown   b int as boolean   i int   I int64_t   s string (NULL: null)
 *   v value, shared (NULL: null)   V value, its reference taken over
 *   {s:…} object   [...] array
 *   ? after s, v, V: leave the member or item out if the argument is NULL
 *
 * Blanks, ':' and ',' are ignored. A wrong format or a duplicate key is a bug and aborts. Here and
 * below, a result past a bound of limits.h is NULL.
 *
 *   value_pack("{s:s, s:{s:i}}", "kind", kind, "spec", "replicas", 3)
 */
const struct value *value_pack(const char *format, ...);

/* The same value, sensitive. A reference; NULL stays NULL. */
const struct value *value_sensitive(const struct value *value);

/* A copy of an object with one member set (in its place, or as the last) or removed. The other
 * members are shared. An `object` that is NULL or of another type counts as {}. */
const struct value *value_with(const struct value *object, const char *key,
                               const struct value *member);
const struct value *value_without(const struct value *object, const char *key);

/* The same for a path of keys; missing objects are created. */
const struct value *value_with_path(const struct value *object, const char *const *keys,
                                    size_t n_keys, const struct value *member);
const struct value *value_without_path(const struct value *object, const char *const *keys,
                                       size_t n_keys);

/* Adds a scalar with its text, which value_add() shares if it is long. */
void value_add_scalar(struct value_builder *b, const struct value *v);
/* Adds a copy that shares nothing with v: v's document is not kept in memory by it. */
void value_add_copy(struct value_builder *b, const struct value *v);

/* The same without the member at the path, as such a copy. */
const struct value *value_copy_without(const struct value *object, const char *const *keys,
                                       size_t n_keys);
